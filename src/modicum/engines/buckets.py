"""What a generalization shows of a table in an engine: its buckets as keys to group by, in the engine and out of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.counting import (
    PERSON,
    SIZE,
    alike_value,
    count_combinations,
    groups_at,
    histogram,
    records_of,
    sizes_at,
    with_keys,
    with_person,
)
from modicum.engines.dispatch import table_at
from modicum.engines.table import EngineTable, collect_arrow
from modicum.errors import ParameterError
from modicum.generalization import Artifact, Generalization
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Intervals
from modicum.generalization.description import CountedBuckets
from modicum.generalization.lazy import in_engine, moment
from modicum.table.codes import NumberCoding
from modicum.table.frames import numbers
from modicum.table.schema import Attribute
from modicum.table.targets import Target
from modicum.typing import Codes, Floats

_ALL = "modicum_all"  # there is always a key, also where nothing is collected


@dataclass(frozen=True)
class Seen:
    """A table as a generalization shows it.

    Attributes
    ----------
    lazy : one column per attribute that is collected, and what was asked for beside them
    keys : the columns that are shown
    partitions : of all attributes
    """

    lazy: nw.LazyFrame[Any]
    keys: list[str]
    partitions: Sequence[AnyPartition]

    def codes(self, shown: nw.DataFrame[Any]) -> Codes:
        """What `g.codes` says of records that look like this."""
        found = np.zeros((len(shown), len(self.partitions)), dtype=np.int64)
        for j, partition in enumerate(self.partitions):
            if isinstance(partition, FullDetail):
                found[:, j] = partition.encode(shown[_key(j)])
            elif not isinstance(partition, Dropped):
                found[:, j] = shown[_key(j)].to_numpy()
        return found

    def distinct(self, *beside: str) -> tuple[nw.DataFrame[Any], Codes, Codes]:
        """Every combination that occurs of what is shown and of some columns beside: these, its codes, its records."""
        keys = [*self.keys, *beside]
        found, counts = count_combinations(self.lazy, keys, "buckets and values" if beside else "buckets")
        codes = self.codes(found)
        return found, codes, counts


def buckets_at(table: EngineTable, g: Artifact, beside: Mapping[str, nw.Expr] | None = None) -> Seen:
    """The buckets of a table's records as keys, behind further columns; a number in full detail is its own key.

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md
    >>> from modicum.engines import table_at
    >>> from modicum.engines.buckets import buckets_at
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> _, codes, counts = buckets_at(table_at(duckdb.sql("SELECT * FROM X")), g).distinct()
    >>> sorted(zip(codes.tolist(), counts.tolist()))
    [([0, 0], 2), ([1, 0], 1)]
    """
    if not isinstance(g, Generalization):
        raise ParameterError(
            f"A table in {table.engine} is judged through a Generalization; {type(g).__name__} is judged in memory, "
            "for instance on a sample."
        )
    shown = [(j, p) for j, p in enumerate(g.partitions) if not isinstance(p, Dropped)]
    table.check([p.name for _, p in shown])
    exact = {_key(j): number_key(table, p.attribute) for j, p in shown if isinstance(p, FullDetail)}
    added = {_ALL: nw.lit(0), **exact, **(beside or {})}
    wide = table.lazy.with_columns(*(made.alias(name) for name, made in added.items()))
    chosen = [(j, p) for j, p in shown if not isinstance(p, FullDetail)]
    kept = [*added, *(name for name in [PERSON] if name in table.types)]
    lazy = _select_buckets(wide, chosen, kept)
    return Seen(lazy, [_ALL, *map(_key, (j for j, _ in shown))], g.partitions)


def _select_buckets(wide: nw.LazyFrame[Any], chosen: Sequence[tuple[int, AnyPartition]], kept: Sequence[str]) -> Any:
    """The buckets by place, as a column beside them may have an attribute's name."""
    aside = {name: f"modicum_kept{i}" for i, name in enumerate(kept)}
    wide = wide.with_columns(*(nw.col(name).alias(other) for name, other in aside.items()))
    coded = in_engine(wide.to_native(), [p for _, p in chosen], "codes", beside=list(aside.values()))
    back = [nw.col(other).alias(name) for name, other in aside.items()]
    found = table_at(coded)
    return found.lazy.select(*(found.col(p.name).alias(_key(j)) for j, p in chosen), *back)


def number_key(table: EngineTable, attribute: Attribute) -> nw.Expr:
    """A number or date by which records are alike: null where it is missing, and never -0."""
    value = table.col(attribute.name)
    if attribute.kind == "date":
        return value if _zone(table, attribute) is not None else value.cast(nw.Datetime("us"))
    number = value.cast(nw.Float64)
    return nw.when(~number.is_nan()).then(number + 0.0)


def _zone(table: EngineTable, attribute: Attribute) -> str | None:
    return getattr(table.types[attribute.name], "time_zone", None)


def target_key(table: EngineTable, target: Target) -> nw.Expr:
    """The bin of a personal number, as `target.encode` says it."""
    assert isinstance(target.coding, NumberCoding)
    value = number_key(table, target.attribute)
    edges: list[Any] = target.coding.edges.tolist()
    if target.attribute.kind == "date":
        edges = [moment(edge, _zone(table, target.attribute)) for edge in edges]
    above = [(value > edge).cast(nw.Int64) for edge in edges]
    code = nw.sum_horizontal(*above) if above else nw.lit(0)
    return nw.when(value.is_null()).then(nw.lit(target.missing_code)).otherwise(code)


def bucket_counts(table: EngineTable, g: Generalization) -> dict[str, Codes]:
    """For each attribute how many records each of its buckets holds; nothing for a number in full detail."""
    seen = buckets_at(table, g)
    found = {}
    for j, partition in enumerate(g.partitions):
        size = len(partition.labels)
        if isinstance(partition, Dropped):
            found[partition.name] = np.array([table.rows()])
        elif isinstance(partition, FullDetail):
            found[partition.name] = np.zeros(0, dtype=np.int64)
        else:
            found[partition.name] = _scatter_counts(*histogram(seen.lazy, _key(j)), size)
    return found


def number_buckets(table: EngineTable, partition: Intervals) -> Codes:
    """How many records each range of a number holds."""
    coded = table_at(in_engine(table.lazy.to_native(), [partition], "codes"))
    plain = coded.lazy.select(coded.col(partition.name).alias(_key(0)))
    return _scatter_counts(*histogram(plain, _key(0)), len(partition.labels))


def _scatter_counts(codes: Codes, counts: Codes, size: int) -> Codes:
    found = np.zeros(size, dtype=np.int64)
    found[codes] = counts
    return found


def missing_at(table: EngineTable, attribute: Attribute) -> int:
    """How many records have no value of an attribute."""
    value = alike_value(table, attribute.name) if attribute.is_category else number_key(table, attribute)
    absent = table.lazy.select(value.is_null().cast(nw.Int64).sum().alias(_ALL))
    return int(collect_arrow(absent)[_ALL][0] or 0)


def different_at(table: EngineTable, attribute: Attribute) -> int:
    """How many different values an attribute has, missing not counted."""
    table.check([attribute.name])
    if attribute.is_category:
        lazy, (key,) = with_keys(table, [attribute.name])
    else:
        key = "modicum_value"
        lazy = table.lazy.select(number_key(table, attribute).alias(key))
    values = lazy.select(key).filter(~nw.col(key).is_null()).unique()
    return int(collect_arrow(values.select(nw.len().alias(_ALL)))[_ALL][0])


def ends_at(table: EngineTable, attribute: Attribute) -> Floats:
    """The lowest and the highest finite number or date of an attribute; nothing where it has no value."""
    own = nw.col("modicum_value")
    lazy = table.lazy.select(number_key(table, attribute).alias("modicum_value"))
    if attribute.kind != "date":
        lazy = lazy.filter(own.abs() < float("inf"))
    found = collect_arrow(lazy.select(own.min().alias("modicum_low"), own.max().alias("modicum_high")))
    ends = [numbers(found[name], attribute) for name in ("modicum_low", "modicum_high")]
    return np.concatenate(ends)


def _key(j: int) -> str:
    return f"modicum_z{j}"


# The best guess in hindsight, counted in the engine: Σ over what is seen of its most frequent value.

_VALUE, _MANY = "modicum_value", "modicum_many"


@dataclass(frozen=True)
class Best:
    """How many records the best rule gets right, how many the most frequent value, and how many cells there are."""

    right: int
    naive: int
    groups: int


def best_at(table: EngineTable, g: Artifact, name: str, target: Target | None, side: Sequence[str]) -> Best:
    """What the best rule reaches for one attribute that sees the buckets, and `side` in full detail.

    A category is guessed exactly, a number by its bin in `target`.

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md
    >>> from modicum.engines import table_at
    >>> from modicum.engines.buckets import best_at
    >>> X = pd.DataFrame({"age": [18, 35, 70, 71], "job": ["nurse", "clerk", "nurse", "nurse"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> best_at(table_at(duckdb.sql("SELECT * FROM X")), g, "job", None, [])
    Best(right=3, naive=3, groups=2)
    """
    table.check([name, *side])
    words = [other for other in side if g.schema[other].is_category]
    lazy, keys = with_keys(table, [*words, *([name] if target is None else [])])
    value = nw.col(keys[-1]) if target is None else target_key(table, target)
    numbers = {
        f"modicum_number{i}": number_key(table, g.schema[other]) for i, other in enumerate(side) if other not in words
    }
    beside = {_VALUE: value, **{key: nw.col(key) for key in keys[: len(words)]}, **numbers}
    seen = buckets_at(table_at(lazy.to_native()), g, beside)
    cells = [*seen.keys, *(key for key in beside if key != _VALUE)]
    pairs = seen.lazy.group_by([*cells, _VALUE]).agg(nw.len().alias(_MANY))
    of_cells = pairs.group_by(cells).agg(nw.col(_MANY).max())
    best = collect_arrow(of_cells.select(nw.col(_MANY).sum(), nw.len().alias("modicum_cells")))
    values = seen.lazy.group_by(_VALUE).agg(nw.len().alias(_MANY))  # which takes no buckets
    most = collect_arrow(values.select(nw.col(_MANY).max()))
    return Best(int(best[_MANY][0]), int(most[_MANY][0]), int(best["modicum_cells"][0]))


# What a generalization asks of the records of a table in an engine: shares of buckets and the smallest group.


def count_for_description(g: Generalization, X: Any) -> CountedBuckets:
    """The counts behind a description, by group-bys in the engine.

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md
    >>> from modicum.engines.buckets import count_for_description
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> count_for_description(g, duckdb.sql("SELECT * FROM X")).smallest
    1
    """
    table = with_person(table_at(X), g.schema)
    person = PERSON if PERSON in table.types else None
    seen = buckets_at(table, g)
    sizes, often = sizes_at(seen.lazy, seen.keys, person)
    records, n = bucket_counts(table, g), table.rows()
    persons = n if person is None else int(records_of(table.lazy, person)[1].sum())
    return CountedBuckets(
        buckets=[records[name] for name in g.names],
        persons_in=[_persons(seen, j, records[name], person, persons) for j, name in enumerate(g.names)],
        records=n,
        persons=persons,
        groups=int(often.sum()),
        smallest=int(sizes[0]) if len(sizes) else 0,
    )


def _persons(seen: Seen, j: int, records: Codes, person: str | None, persons: int) -> Codes:
    """How many persons each bucket of an attribute holds."""
    partition = seen.partitions[j]
    if person is None or isinstance(partition, FullDetail):
        return records
    if isinstance(partition, Dropped):
        return np.array([persons])
    found = collect_arrow(groups_at(seen.lazy, [_key(j)], person).select(_key(j), SIZE))
    return _scatter_counts(found[_key(j)].to_numpy(), found[SIZE].to_numpy(), len(records))
