"""Count in the engine: groups of equal records, and the records with each value of a column.

Values are compared as in memory: NaN is missing and missing equals missing, -0 is 0, and texts are compared in Unicode
normal form C (except for Ibis on engines other than DuckDB).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.engines.spark import normalize_texts
from modicum.engines.table import COUNT, EngineTable, collect_arrow
from modicum.errors import DataError, require
from modicum.table.files import normalize_column, quote_name
from modicum.table.frames import column, readable_numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.typing import Floats, Ints, Mask

MOST_DISTINCT = 2_000_000  # combinations that may reach the driver

SIZE = "modicum_size"  # DuckDB can group only by plain names
_WHO = "modicum_who"
PERSON = "modicum_person"


def with_keys(table: EngineTable, columns: Sequence[str]) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Add a comparable copy of each column; return the table and the names of the copies."""
    table.check(columns)
    lazy, keys = table.lazy, [f"modicum_alike{i}" for i in range(len(columns))]
    words = [(name, key) for name, key in zip(columns, keys, strict=True) if table.types[name] == nw.String]
    numbers = [(name, key) for name, key in zip(columns, keys, strict=True) if table.types[name] != nw.String]
    if numbers:
        lazy = lazy.with_columns(*(alike_value(table, name).alias(key) for name, key in numbers))
    return (_with_words(table, lazy, words) if words else lazy), keys


def alike_value(table: EngineTable, name: str) -> nw.Expr:
    """An expression for a column's values in comparable form: NaN as null, -0 as 0, categories as text."""
    value, dtype = table.col(name), table.types[name]
    if dtype.is_float():
        return nw.when(~value.is_nan()).then(value + 0.0)
    return value.cast(nw.String) if isinstance(dtype, nw.Categorical | nw.Enum) else value


def _with_words(table: EngineTable, lazy: nw.LazyFrame[Any], words: Sequence[tuple[str, str]]) -> nw.LazyFrame[Any]:
    """Add the text columns in normal form C; narwhals has no function for it."""
    if lazy.implementation is nw.Implementation.POLARS:
        polars = nw.get_native_namespace(lazy)
        added = [polars.col(name).str.normalize("NFC").alias(key) for name, key in words]
        return nw.from_native(lazy.to_native().with_columns(*added))
    if lazy.implementation is nw.Implementation.DUCKDB:
        normalized = ", ".join(f"{normalize_column(name)} AS {quote_name(key)}" for name, key in words)
        return nw.from_native(lazy.to_native().project(f"*, {normalized}"))
    if lazy.implementation is nw.Implementation.IBIS and lazy.to_native().get_backend().name == "duckdb":
        return nw.from_native(_ibis_words(lazy.to_native(), words))
    names = [name for name, _ in words]
    columns = normalize_texts(table, names) if table.engine == "spark" else [table.col(name) for name in names]
    return lazy.with_columns(*(column.alias(key) for column, (_, key) in zip(columns, words, strict=True)))


def _ibis_words(native: Any, words: Sequence[tuple[str, str]]) -> Any:
    ibis = require("ibis", "scale")

    @ibis.udf.scalar.builtin
    def nfc_normalize(text: str) -> str:  # type: ignore[empty-body]
        """DuckDB's function."""

    def normalize(text: Any) -> Any:
        return ibis.cases((text.contains("\0"), text), else_=nfc_normalize(text))

    return native.mutate(**{key: normalize(native[name]) for name, key in words})


def with_person(table: EngineTable, schema: Schema) -> EngineTable:
    """Add the column `PERSON`, null for records without an ID, if the table has a person column."""
    if schema.person is None or schema.person not in table.types:
        return table
    return type(table)(table.lazy.with_columns(alike_value(table, schema.person).alias(PERSON)).to_native())


def people_at(table: EngineTable, schema: Schema) -> int:
    """Count the people in the records; a record without an ID counts as one person."""
    table = with_person(table, schema)
    return table.rows() if PERSON not in table.types else int(records_of(table.lazy, PERSON)[1].sum())


def sizes_at(lazy: nw.LazyFrame[Any], keys: Sequence[str], person: str | None = None) -> tuple[Ints, Ints]:
    """The sizes of the groups of equal keys, in ascending order, and the number of groups of each size.

    With a person column, sizes count people; a record without an ID counts as one person.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.counting import sizes_at
    >>> lazy = table_at(duckdb.sql("SELECT unnest(['a', 'b', 'a', 'c']) AS word")).lazy
    >>> [found.tolist() for found in sizes_at(lazy, ["word"])]
    [[1, 2], [2, 1]]
    """
    return histogram(groups_at(lazy, keys, person), SIZE)


def groups_at(lazy: nw.LazyFrame[Any], keys: Sequence[str], person: str | None = None) -> nw.LazyFrame[Any]:
    """The groups of equal keys with their size, counted in people if there is a person column."""
    if person is None:
        return lazy.group_by(list(keys)).agg(nw.len().alias(SIZE))
    pairs = lazy.group_by([*keys, person]).agg(nw.len().alias(SIZE))
    own = nw.when(nw.col(person).is_null()).then(nw.col(SIZE)).otherwise(nw.lit(1)).alias(SIZE)
    one = nw.col(person).alias(_WHO)
    return pairs.select(*keys, one, own).group_by(list(keys)).agg(nw.col(SIZE).sum(), nw.col(_WHO).max())


def histogram(lazy: nw.LazyFrame[Any], column: str) -> tuple[Ints, Ints]:
    """A column's distinct whole numbers in ascending order, and the number of rows with each."""
    counts = collect_arrow(lazy.group_by(column).agg(nw.len().alias(COUNT)))
    values, often = (counts[name].to_numpy().astype(np.int64) for name in (column, COUNT))
    order = np.argsort(values)
    return values[order], often[order]


def persons_alone(lazy: nw.LazyFrame[Any], keys: Sequence[str], person: str) -> int:
    """Count the people who are alone in a group."""
    single = groups_at(lazy, keys, person).filter(nw.col(SIZE) == 1)
    owners = single.group_by(_WHO).agg(nw.len().alias(COUNT))
    people = nw.when(nw.col(_WHO).is_null()).then(nw.col(COUNT)).otherwise(nw.lit(1)).alias(SIZE)
    return int(collect_arrow(owners.select(people).select(nw.col(SIZE).sum()))[SIZE][0] or 0)


def rarest(lazy: nw.LazyFrame[Any], keys: Sequence[str], person: str | None, least: int) -> nw.DataFrame[Any]:
    """The first group of this size in the order of its keys; missing values come last."""
    small = groups_at(lazy, keys, person).filter(nw.col(SIZE) == least).select(*keys)
    return collect_arrow(small.sort(*keys, nulls_last=True).head(1))


def records_of(lazy: nw.LazyFrame[Any], person: str) -> tuple[Ints, Ints]:
    """Numbers of records per person, and how many people have each; a record without an ID counts as one person."""
    named = lazy.filter(~nw.col(person).is_null())
    sizes, often = sizes_at(named, [person])
    no_id = int(collect_arrow(lazy.select(nw.col(person).is_null().cast(nw.Int64).sum().alias(COUNT)))[COUNT][0] or 0)
    return (np.append(sizes, 1), np.append(often, no_id)) if no_id else (sizes, often)


def count_combinations(lazy: nw.LazyFrame[Any], keys: Sequence[str], what: str) -> tuple[nw.DataFrame[Any], Ints]:
    """Each combination of the keys with its number of records; raise a `DataError` if there are too many."""
    groups = lazy.group_by(list(keys)).agg(nw.len().alias(COUNT))
    combinations = collect_arrow(groups.head(MOST_DISTINCT + 1))
    if len(combinations) > MOST_DISTINCT:
        raise DataError(
            f"There are more than {MOST_DISTINCT:,} different combinations of {what}, too many to count one by one; "
            "use a sample of the table or fewer attributes."
        )
    return combinations.select(*keys), combinations[COUNT].to_numpy().astype(np.int64)


# Value counts of a column, as a small summary
#
# A column of texts is counted text by text. A number is counted value by value up to a limit. Beyond it, the summary
# keeps only a sample of the values, with exact counts: those with the smallest hashes (Bar-Yossef et al., "Counting
# distinct elements in a data stream", RANDOM 2002, §2.3), and the smallest and the largest value. The sample does not
# depend on the order of the records: every part has counted each value that remains.

Weights = npt.NDArray[np.int64]
NO_LIMIT = np.iinfo(np.int64).max


@dataclass
class Words:
    """The texts of a column and the number of records with each; empty (`overfull`) above the limit."""

    limit: int
    counts: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    overfull: bool = False

    def add(self, words: Sequence[str], counts: Weights) -> None:
        if self.overfull:
            return
        for word, n in zip(words, counts.tolist(), strict=True):
            self.counts[word] = self.counts.get(word, 0) + n
        if len(self.counts) > self.limit:
            self.counts, self.overfull = {}, True


@dataclass
class Numbers:
    """The distinct numbers of a column in order and the number of records with each: all, or a sample by hash."""

    limit: int
    distinct: Floats = field(default_factory=lambda: np.empty(0))
    counts: Weights = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    missing: int = 0
    unreadable: int = 0
    seen_below: int = NO_LIMIT  # all values with a smaller hash are included
    waiting: list[tuple[Floats, Weights]] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all values are included."""
        return self.seen_below == NO_LIMIT

    def add(self, values: Floats) -> None:
        """Count values, without missing ones."""
        self._take(*np.unique(values[self._choose_values(values)], return_counts=True))

    def merge(self, distinct: Floats, counts: Weights, seen_below: int) -> None:
        self.seen_below = min(self.seen_below, seen_below)
        self._take(distinct, counts)

    def settle(self) -> None:
        """Merge the waiting counts into the rest, and reduce them to the limit."""
        if self.waiting:
            parts = [(self.distinct, self.counts), *self.waiting]
            self.distinct, self.counts = _merge_counts(*(np.concatenate(each) for each in zip(*parts, strict=True)))
            self.waiting.clear()
        if len(self.distinct) > self.limit:
            smallest = np.partition(_hashes(self.distinct), self.limit)[self.limit]
            self.seen_below = min(self.seen_below, int(smallest))
        chosen = self._choose_values(self.distinct)
        self.distinct, self.counts = self.distinct[chosen], self.counts[chosen]

    def _take(self, distinct: Floats, counts: Weights) -> None:
        self.waiting.append((distinct, counts))
        if sum(len(each) for each, _ in self.waiting) > self.limit:
            self.settle()

    def _choose_values(self, values: Floats) -> Mask:
        """Mark the values with a small enough hash, and the smallest and largest value so far."""
        if self.complete or not len(values):
            return np.ones(len(values), dtype=bool)
        low, high = self._extremes(values)
        return (_hashes(values) < self.seen_below) | (values <= low) | (values >= high)

    def _extremes(self, values: Floats) -> tuple[float, float]:
        known = self.distinct if len(self.distinct) else values
        return min(known[0], values.min()), max(known[-1], values.max())


def _merge_counts(values: Floats, counts: Weights) -> tuple[Floats, Weights]:
    """Sort the values and add up the counts of equal ones."""
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    return values[starts], np.add.reduceat(counts, starts) if len(starts) else counts


def _hashes(values: Floats) -> npt.NDArray[np.int64]:
    """Hash numbers, so that the hashes show no pattern of the data."""
    mixed = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return (mixed >> np.uint64(1)).view(np.int64)


# Value counts of a table's columns, in one pass over all columns

LIMIT = 131_072  # distinct values to count one by one
_VALUE, _MISSING, _UNREADABLE, _SEEN_BELOW, _OVERFULL = range(5)  # the meaning of a row of the packed summary


@dataclass(frozen=True)
class Survey:
    """A digest that counts the values of several columns.

    `within` restricts some numbers to values strictly between lows and highs: two arrays per column.
    """

    attributes: tuple[Attribute, ...]
    limits: tuple[int, ...]
    within: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def schema(self) -> Any:
        pa = require("pyarrow", "scale")
        return pa.schema(
            [
                ("part", pa.int32()),
                ("says", pa.int32()),
                ("text", pa.string()),
                ("number", pa.float64()),
                ("n", pa.int64()),
            ]
        )

    def empty(self) -> list[Words | Numbers]:
        return [
            Words(limit) if attribute.is_category else Numbers(limit)
            for attribute, limit in zip(self.attributes, self.limits, strict=True)
        ]

    def add(self, summary: list[Words | Numbers], frame: nw.DataFrame[Any]) -> None:
        for attribute, known in zip(self.attributes, summary, strict=True):
            series = column(frame, attribute.name)
            if isinstance(known, Words):
                codes, words = texts(series)
                counts = np.bincount(codes + 1, minlength=len(words) + 1)
                known.missing += int(counts[0])
                known.add(words, counts[1:])
            else:
                values, unreadable = readable_numbers(series, attribute)
                known.unreadable += unreadable
                self._add_numbers(known, attribute.name, values)

    def _add_numbers(self, known: Numbers, name: str, values: Floats) -> None:
        absent = np.isnan(values)
        known.missing += int(absent.sum())
        values = values[~absent] + 0.0  # -0.0 is 0.0
        known.add(values[_inside(values, *self.within[name])] if name in self.within else values)

    def merge(self, summary: list[Words | Numbers], sent: Any) -> None:
        part, says, number, n = (sent.column(name).to_numpy() for name in ("part", "says", "number", "n"))
        for i, known in enumerate(summary):
            rows = part == i
            amounts = {meaning: n[rows & (says == meaning)] for meaning in range(5)}
            known.missing += int(amounts[_MISSING].sum())
            if isinstance(known, Words):
                known.overfull |= bool(len(amounts[_OVERFULL]))
                chosen = np.flatnonzero(rows & (says == _VALUE))
                known.add(sent.column("text").take(chosen).to_pylist(), amounts[_VALUE])
            else:
                known.unreadable += int(amounts[_UNREADABLE].sum())
                seen_below = int(amounts[_SEEN_BELOW].min(initial=NO_LIMIT))
                known.merge(number[rows & (says == _VALUE)], amounts[_VALUE], seen_below)

    def pack_summary(self, summary: list[Words | Numbers]) -> Any:
        pa = require("pyarrow", "scale")
        return pa.concat_tables([self.schema.empty_table(), *(self._part(i, known) for i, known in enumerate(summary))])

    def _part(self, i: int, known: Words | Numbers) -> Any:
        pa = require("pyarrow", "scale")
        values: Any
        if isinstance(known, Words):
            name, values, counts = "text", list(known.counts), np.array(list(known.counts.values()), dtype=np.int64)
            extra = [(_MISSING, known.missing), *([(_OVERFULL, 1)] if known.overfull else [])]
        else:
            known.settle()
            name, values, counts = "number", known.distinct, known.counts
            extra = [(_MISSING, known.missing), (_UNREADABLE, known.unreadable), (_SEEN_BELOW, known.seen_below)]
        size, form = len(values) + len(extra), self.schema
        columns = {each: pa.nulls(size, form.field(each).type) for each in ("text", "number")}
        columns[name] = pa.concat_arrays([pa.array(values, form.field(name).type), columns[name][len(values) :]])
        columns["part"] = np.full(size, i, dtype=np.int32)
        columns["says"] = np.append(np.full(len(values), _VALUE), [meaning for meaning, _ in extra])
        columns["n"] = np.append(counts, [n for _, n in extra])
        return pa.table(columns).select(form.names).cast(form)


def survey_columns(
    table: EngineTable,
    attributes: Sequence[Attribute],
    limit: int = LIMIT,
    within: Mapping[str, tuple[Floats, Floats]] | None = None,
    words: int = LIMIT,
) -> dict[str, Words | Numbers]:
    """Count the columns' values in one pass; by name, `Words` for categories and `Numbers` for numbers and dates.

    Examples
    --------
    >>> import duckdb
    >>> from modicum import Attribute
    >>> from modicum.engines import table_at
    >>> from modicum.engines.counting import survey_columns
    >>> table = table_at(duckdb.sql("SELECT unnest([3, 1, 3, NULL]) AS n"))
    >>> found = survey_columns(table, [Attribute(name="n", kind="number")])["n"]
    >>> found.distinct.tolist(), found.counts.tolist(), found.missing
    ([1.0, 3.0], [1, 2], 1)
    """
    if not attributes:
        return {}
    limits = tuple(words if attribute.is_category else limit for attribute in attributes)
    work = Survey(tuple(attributes), limits, within or {})
    summaries: dict[str, Words | Numbers] = dict(zip(work.columns, table.digest(work), strict=True))
    for summary in select_numbers(summaries).values():
        summary.settle()
    return summaries


def select_numbers(found: Mapping[str, Words | Numbers]) -> dict[str, Numbers]:
    """Keep the columns of numbers and dates."""
    return {name: known for name, known in found.items() if isinstance(known, Numbers)}


def _inside(values: Floats, low: Floats, high: Floats) -> Mask:
    """Mark the values strictly between a low and its high; the pairs are in order and do not overlap."""
    nearest = np.searchsorted(low, values, side="left") - 1
    return (nearest >= 0) & (values < high[nearest])


# Unique records, if nearly every record is unique
#
# A group-by of whole records keeps all of them in memory. So the engine first groups by a hash of eight bytes: a record
# with a unique hash is unique. Only records that share a hash are compared in full, so the number is exact.

_HASH = "modicum_hash"


def count_lone_records(lazy: nw.LazyFrame[Any], keys: Sequence[str]) -> int:
    """Count the records whose combination of keys is unique.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.counting import count_lone_records
    >>> count_lone_records(table_at(duckdb.sql("SELECT unnest(['a', 'b', 'a', 'c']) AS word")).lazy, ["word"])
    2
    """
    hashed = _hash_keys(lazy, keys)
    if hashed is None:
        return _count_single(lazy, keys)
    sizes, often = sizes_at(hashed, [_HASH])
    alone = int(often[sizes == 1].sum())
    if (sizes == 1).all():
        return alone
    shared = hashed.group_by(_HASH).agg(nw.len().alias(SIZE)).filter(nw.col(SIZE) > 1)
    return alone + _count_single(hashed.join(shared.select(_HASH), on=_HASH, how="semi"), keys)


def _count_single(lazy: nw.LazyFrame[Any], keys: Sequence[str]) -> int:
    sizes, often = sizes_at(lazy, keys)
    return int(often[sizes == 1].sum())


def _hash_keys(lazy: nw.LazyFrame[Any], keys: Sequence[str]) -> nw.LazyFrame[Any] | None:
    """Add a hash of the keys; None for engines other than DuckDB and Spark."""
    native: Any = lazy.select(list(keys)).to_native()
    if lazy.implementation is nw.Implementation.DUCKDB:
        hashing = f"hash({', '.join(map(quote_name, keys))})"
        return nw.from_native(native.project(f"*, {hashing} AS {quote_name(_HASH)}"))
    if str(lazy.implementation).startswith("pyspark"):
        return nw.from_native(native.selectExpr("*", f"xxhash64({', '.join(f'`{key}`' for key in keys)}) AS {_HASH}"))
    return None
