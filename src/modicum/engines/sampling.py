"""Draw samples in the engine, the same ones however the records are partitioned.

A sample consists of the records at evenly spaced ranks in the order of a hash of their values. So it depends only on
the records and the seed, and equal records, which have equal hashes, appear in proportion to their share. To find a
rank, the engine counts the records per hash prefix, and extends the prefixes that too many records share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.engines.dispatch import is_table, table_at
from modicum.engines.table import Counts, EngineTable, collect_arrow
from modicum.errors import DataError, ParameterError, require
from modicum.generalization import Generalization
from modicum.table.frames import column, numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.typing import Codes, Mask

# A hash of each record that depends only on its values

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class RecordHash:
    """Hash records by their values in these columns and a seed.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.engines.sampling import RecordHash
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"age": [31, 45, 31], "job": ["nurse", "clerk", "nurse"]})
    >>> first, other, again = RecordHash(("age", "job")).of(as_frame(X))
    >>> bool(first == again), bool(first == other)
    (True, False)
    """

    columns: tuple[str, ...]
    seed: int = 0

    def of(self, frame: nw.DataFrame[Any]) -> Hashes:
        """Hash each record; the order of the columns does not matter."""
        return self.of_series([column(frame, name) for name in self.columns])

    def of_series(self, columns: Sequence[nw.Series[Any]]) -> Hashes:
        """Hash each row of columns that need not be in one frame."""
        total = np.zeros(len(columns[0]), dtype=np.uint64)
        for series in columns:
            total += _mix_bits(_of_values(series) ^ _mix_bits(_of_words([f"{self.seed} {series.name}"])))
        return _mix_bits(total)


def _of_values(series: nw.Series[Any]) -> Hashes:
    if series.dtype.is_numeric() or series.dtype in (nw.Date, nw.Datetime):
        attribute = Attribute(name=series.name, kind="number" if series.dtype.is_numeric() else "date")
        values = numbers(series, attribute) + 0.0  # -0.0 is 0.0
        values[np.isnan(values)] = np.nan  # one bit pattern for all NaN
        return values.view(np.uint64)
    codes, words = texts(series)
    return _of_words([*words, "(missing)"])[codes]


def _of_words(words: Sequence[str]) -> Hashes:
    digests = b"".join(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _mix_bits(values: Hashes) -> Hashes:
    """Mix the bits, so that similar values have very different hashes."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31))


# Draw samples

SAMPLE = 200_000  # default sample size
_BITS = 22  # bits of the hash that one pass counts
_DEEP_ENOUGH = 44  # records that share so many bits are assumed to be equal
_EACH, _MORE = 20, 100_000  # records read per drawn record, and in addition
_HASH, _MANY = "modicum_hash", "modicum_many"


@dataclass(frozen=True)
class Ranks:
    """The ranks of the drawn records in hash order: records to learn from, and others to check with."""

    learning: Codes
    other: Codes

    @classmethod
    def of(cls, records: int, sample: int) -> "Ranks":
        """Choose `sample` evenly spaced ranks, and as many others (or all the rest) to check with.

        Examples
        --------
        >>> from modicum.engines.sampling import Ranks
        >>> ranks = Ranks.of(10, 3)
        >>> ranks.learning.tolist(), ranks.other.tolist()
        ([0, 4, 7], [2, 5, 9])
        """
        _check(sample)
        if sample >= records:
            raise DataError(
                f"A sample of {sample:,} records cannot be drawn from {records:,} with others left to check it; "
                "leave out the 'sample' parameter to learn from all of them."
            )
        others = min(int(sample), records - int(sample))
        many = int(sample) + others
        numbers = np.arange(many, dtype=np.int64)
        ranks = (2 * numbers + 1) * records // (2 * many)
        is_other = np.diff((np.arange(many + 1, dtype=np.int64) * others) // many) > 0
        return cls(ranks[~is_other], ranks[is_other])


def draw_from(table: EngineTable, sample: int, seed: int = 0) -> tuple[Any, Any]:
    """Draw records to learn from and as many others to check with, as Arrow tables in hash order.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.sampling import draw_from
    >>> learning, other = draw_from(table_at(duckdb.sql("SELECT range AS n FROM range(1000)")), sample=10)
    >>> len(learning), len(other), len(set(learning["n"].to_pylist()) & set(other["n"].to_pylist()))
    (10, 10, 0)
    """
    counting, counts = _first_bits(table, seed)
    ranks = Ranks.of(int(counts.sum()), sample)
    drawn = _at_ranks(table, counting, counts, np.concatenate([ranks.learning, ranks.other]))
    return drawn.slice(0, len(ranks.learning)), drawn.slice(len(ranks.learning))


def draw_records(table: EngineTable, columns: Sequence[str], sample: int = SAMPLE, seed: int = 0) -> nw.DataFrame[Any]:
    """Draw at most `sample` records, in hash order.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.sampling import draw_records
    >>> found = draw_records(table_at(duckdb.sql("SELECT range AS n FROM range(10000)")), ["n"], 100)
    >>> len(found), len(set(found["n"].to_list()))
    (100, 100)
    """
    _check(sample)
    table.check(columns)
    only = table.part(columns)
    counting, counts = _first_bits(only, seed)
    records = int(counts.sum())
    many = min(int(sample), records)
    ranks = (2 * np.arange(many, dtype=np.int64) + 1) * records // (2 * max(1, many))
    return nw.from_native(_at_ranks(only, counting, counts, ranks), eager_only=True)


def _check(sample: Any) -> None:
    if not isinstance(sample, int | np.integer) or isinstance(sample, bool) or sample < 1:
        raise ParameterError(f"The 'sample' parameter must be an int ≥ 1. Got {sample!r} instead.")


def _first_bits(table: EngineTable, seed: int) -> "tuple[CellCounts, Counts]":
    table.check_free([_HASH, _MANY])
    counting = CellCounts(RecordHash(tuple(table.columns), seed), np.zeros(1, dtype=np.uint64), 0, _BITS)
    return counting, table.fold(counting)


def _at_ranks(table: EngineTable, counting: "CellCounts", counts: Counts, wanted: Codes) -> Any:
    """Return the records at these ranks as an Arrow table."""
    hashing = counting.hashing
    inside, within, looked_at = _locate_ranks(counting, counts, wanted)
    used = _BITS
    while looked_at > _EACH * len(wanted) + _MORE and used < _DEEP_ENOUGH:
        chosen, cell = np.unique(inside, return_inverse=True)
        counting = CellCounts(hashing, chosen, used, max(1, _BITS - len(chosen).bit_length()))
        counts = table.fold(counting)
        before = (np.cumsum(counts) - counts)[:: 2**counting.bits]
        inside, within, looked_at = _locate_ranks(counting, counts, before[cell] + within)
        used += counting.bits
    return _take_records(table, hashing, inside, used, within)


def _locate_ranks(counting: "CellCounts", counts: Counts, ranks: Codes) -> tuple[Hashes, Codes, int]:
    """Each rank's hash prefix, its rank within that prefix, and the number of records with one of these prefixes."""
    reached = np.cumsum(counts)
    cell = np.searchsorted(reached, ranks, side="right")
    inside = counting.beginnings(cell)
    return inside, ranks - (reached - counts)[cell], int(counts[np.unique(cell)].sum())


def _take_records(table: EngineTable, hashing: RecordHash, inside: Hashes, used: int, within: Codes) -> Any:
    """Take the record of each rank from all records with these hash prefixes."""
    schema = collect_arrow(table.lazy.head(0)).to_native().schema
    picked = table.gather(Picked(hashing, np.unique(inside), used, schema))
    order = np.argsort(picked[_HASH].to_numpy().view(np.uint64), kind="stable")
    hashes = picked[_HASH].to_numpy().view(np.uint64)[order]
    reached = np.cumsum(picked[_MANY].to_numpy()[order])
    first = np.searchsorted(hashes >> np.uint64(64 - used), inside, side="left")
    before = np.append(0, reached)[first]
    rows = np.searchsorted(reached, before + within, side="right")
    return picked.select(table.columns).take(order[rows])


@dataclass(frozen=True)
class _Beginnings:
    """Records whose hash has one of the prefixes `inside`, of `used` bits each."""

    hashing: RecordHash
    inside: Hashes
    used: int

    @property
    def columns(self) -> tuple[str, ...]:
        return self.hashing.columns

    def match_hashes(self, hashes: Hashes) -> tuple[Codes, Mask]:
        """The position of each hash's prefix in `inside`, and whether it is there."""
        if not self.used:
            return np.zeros(len(hashes), dtype=np.int64), np.ones(len(hashes), dtype=bool)
        begins = hashes >> np.uint64(64 - self.used)
        place = np.minimum(np.searchsorted(self.inside, begins), len(self.inside) - 1)
        return place, self.inside[place] == begins


@dataclass(frozen=True)
class CellCounts(_Beginnings):
    """Count the records for each value of the next `bits` of the hash after each prefix."""

    bits: int

    def empty(self) -> Counts:
        return np.zeros(len(self.inside) << self.bits, dtype=np.int64)

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        hashes = self.hashing.of(frame)
        place, is_in = self.match_hashes(hashes)
        following = (hashes[is_in] << np.uint64(self.used)) >> np.uint64(64 - self.bits)
        np.add.at(counts, (place[is_in] << self.bits) + following.astype(np.int64), 1)

    def beginnings(self, cells: npt.NDArray[np.int64]) -> Hashes:
        """The hash prefix of each cell."""
        following = (cells & ((1 << self.bits) - 1)).astype(np.uint64)
        return (self.inside[cells >> self.bits] << np.uint64(self.bits)) | following


@dataclass(frozen=True)
class Picked(_Beginnings):
    """Select the records with these prefixes; equal records of a batch appear once, with their number."""

    records: Any  # the Arrow schema of the table

    @cached_property
    def schema(self) -> Any:
        pyarrow = require("pyarrow", "scale")
        return self.records.append(pyarrow.field(_HASH, pyarrow.int64())).append(pyarrow.field(_MANY, pyarrow.int64()))

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        hashes = self.hashing.of(frame)
        rows = np.flatnonzero(self.match_hashes(hashes)[1])
        distinct, first, many = np.unique(hashes[rows], return_index=True, return_counts=True)
        table = frame.select(self.records.names).to_native().take(rows[first])
        table = table.append_column(_HASH, [distinct.view(np.int64)]).append_column(_MANY, [many])
        return table.cast(self.schema)


# Samples in memory for methods that learn from single records


def in_memory(
    g: Generalization, X: Any, y: Any, sample: int, random_state: int, extra_columns: Sequence[str] = ()
) -> tuple[Any, Any]:
    """Return records and labels unchanged, or a `sample` of them in memory if X is a table in an engine.

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md
    >>> from modicum.engines.sampling import in_memory
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"], "ill": ["no", "no", "yes"]})
    >>> g = md.Uniform(buckets=2).fit(X[["age", "job"]]).generalization_
    >>> records, y = in_memory(g, duckdb.sql("SELECT * FROM X"), "ill", 100, 0)
    >>> len(records), sorted(y)
    (3, ['no', 'no', 'yes'])
    """
    if not is_table(X):
        return X, y
    table = table_at(X)
    person = [g.schema.person] if g.schema.person is not None and g.schema.person in table.types else []
    drawn = _draw_labelled(table, [*g.schema.features, *person, *extra_columns], y, sample, random_state)
    return drawn.drop(y), drawn[y].to_native().to_pandas().rename(y)


def sample_if_table(X: Any, y: Any, schema: Schema | None, sample: int) -> tuple[Any, Any]:
    """Return records and labels unchanged, or a sample of a table in an engine, with all columns of the schema.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines.sampling import sample_if_table
    >>> X, y = sample_if_table(duckdb.sql("SELECT range AS n, range % 2 AS odd FROM range(100)"), "odd", None, 10)
    >>> X.columns.tolist(), y.name, len(y)
    (['n'], 'odd', 10)
    """
    if not is_table(X):
        return X, y
    table = table_at(X)
    columns = table.columns if schema is None else [name for name in schema.names if name in table.types]
    drawn = _draw_labelled(table, columns, y, sample).to_pandas()
    return drawn.drop(columns=y), drawn[y]


def _draw_labelled(table: EngineTable, columns: Sequence[str], y: Any, sample: int, seed: int = 0) -> nw.DataFrame[Any]:
    """Draw records with these columns, each once, and their label."""
    return draw_records(table, list(dict.fromkeys([*columns, label_column(table, y)])), sample, seed)


def label_column(table: EngineTable, y: Any) -> str:
    """Return the label's column name; raise if the table has no such column."""
    if not isinstance(y, str):
        raise ParameterError(
            f"The label of a table in {table.engine} must be the name of one of its columns. "
            f"Got {type(y).__name__} instead."
        )
    table.check([y])
    return y
