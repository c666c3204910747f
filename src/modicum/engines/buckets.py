"""The buckets of a table in an engine, as keys to group by."""

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

_ALL = "modicum_all"  # a constant key, so that grouping works even if nothing is collected


@dataclass(frozen=True)
class Seen:
    """A generalized table.

    Attributes
    ----------
    lazy : one column per collected attribute, and the requested extra columns
    keys : the columns to group by
    partitions : the partitions of all attributes
    """

    lazy: nw.LazyFrame[Any]
    keys: list[str]
    partitions: Sequence[AnyPartition]

    def codes(self, shown: nw.DataFrame[Any]) -> Codes:
        """Return the codes of generalized records, as `g.codes` does."""
        codes = np.zeros((len(shown), len(self.partitions)), dtype=np.int64)
        for j, partition in enumerate(self.partitions):
            if isinstance(partition, FullDetail):
                codes[:, j] = partition.encode(shown[_key(j)])
            elif not isinstance(partition, Dropped):
                codes[:, j] = shown[_key(j)].to_numpy()
        return codes

    def distinct(self, *more: str) -> tuple[nw.DataFrame[Any], Codes, Codes]:
        """Each combination of the keys and the columns `more` that occurs, with its codes and number of records."""
        keys = [*self.keys, *more]
        found, counts = count_combinations(self.lazy, keys, "buckets and values" if more else "buckets")
        return found, self.codes(found), counts


def buckets_at(table: EngineTable, g: Artifact, more: Mapping[str, nw.Expr] | None = None) -> Seen:
    """Generalize a table's records; a number in full detail is its own key. `more`: extra columns.

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
            f"A table in {table.engine} can only be judged through a Generalization; "
            f"use a sample in memory for {type(g).__name__}."
        )
    shown = [(j, p) for j, p in enumerate(g.partitions) if not isinstance(p, Dropped)]
    table.check([p.name for _, p in shown])
    exact = {_key(j): number_key(table, p.attribute) for j, p in shown if isinstance(p, FullDetail)}
    added = {_ALL: nw.lit(0), **exact, **(more or {})}
    wide = table.lazy.with_columns(*(value.alias(name) for name, value in added.items()))
    chosen = [(j, p) for j, p in shown if not isinstance(p, FullDetail)]
    extra = [*added, *(name for name in [PERSON] if name in table.types)]
    lazy = _select_buckets(wide, chosen, extra)
    return Seen(lazy, [_ALL, *map(_key, (j for j, _ in shown))], g.partitions)


def _select_buckets(wide: nw.LazyFrame[Any], chosen: Sequence[tuple[int, AnyPartition]], extra: Sequence[str]) -> Any:
    """The buckets under numbered names, because an extra column may have an attribute's name."""
    aside = {name: f"modicum_kept{i}" for i, name in enumerate(extra)}
    wide = wide.with_columns(*(nw.col(name).alias(other) for name, other in aside.items()))
    coded = in_engine(wide.to_native(), [p for _, p in chosen], "codes", unchanged=list(aside.values()))
    back = [nw.col(other).alias(name) for name, other in aside.items()]
    buckets = table_at(coded)
    return buckets.lazy.select(*(buckets.col(p.name).alias(_key(j)) for j, p in chosen), *back)


def number_key(table: EngineTable, attribute: Attribute) -> nw.Expr:
    """A number or date in comparable form: null if it is missing, and never -0."""
    value = table.col(attribute.name)
    if attribute.kind == "date":
        return value if _zone(table, attribute) is not None else value.cast(nw.Datetime("us"))
    number = value.cast(nw.Float64)
    return nw.when(~number.is_nan()).then(number + 0.0)


def _zone(table: EngineTable, attribute: Attribute) -> str | None:
    return getattr(table.types[attribute.name], "time_zone", None)


def target_key(table: EngineTable, target: Target) -> nw.Expr:
    """The bin of a personal number, as `target.encode` returns it."""
    assert isinstance(target.coding, NumberCoding)
    value = number_key(table, target.attribute)
    edges: list[Any] = target.coding.edges.tolist()
    if target.attribute.kind == "date":
        edges = [moment(edge, _zone(table, target.attribute)) for edge in edges]
    above = [(value > edge).cast(nw.Int64) for edge in edges]
    code = nw.sum_horizontal(*above) if above else nw.lit(0)
    return nw.when(value.is_null()).then(nw.lit(target.missing_code)).otherwise(code)


def bucket_counts(table: EngineTable, g: Generalization) -> dict[str, Codes]:
    """Count the records in each bucket of each attribute; an empty array for a number in full detail."""
    seen = buckets_at(table, g)
    counts = {}
    for j, partition in enumerate(g.partitions):
        if isinstance(partition, Dropped):
            counts[partition.name] = np.array([table.rows()])
        elif isinstance(partition, FullDetail):
            counts[partition.name] = np.zeros(0, dtype=np.int64)
        else:
            counts[partition.name] = _scatter_counts(*histogram(seen.lazy, _key(j)), len(partition.labels))
    return counts


def number_buckets(table: EngineTable, partition: Intervals) -> Codes:
    """Count the records in each range of a number."""
    coded = table_at(in_engine(table.lazy.to_native(), [partition], "codes"))
    plain = coded.lazy.select(coded.col(partition.name).alias(_key(0)))
    return _scatter_counts(*histogram(plain, _key(0)), len(partition.labels))


def _scatter_counts(codes: Codes, counts: Codes, size: int) -> Codes:
    scattered = np.zeros(size, dtype=np.int64)
    scattered[codes] = counts
    return scattered


def missing_at(table: EngineTable, attribute: Attribute) -> int:
    """Count the records without a value of an attribute."""
    value = alike_value(table, attribute.name) if attribute.is_category else number_key(table, attribute)
    absent = table.lazy.select(value.is_null().cast(nw.Int64).sum().alias(_ALL))
    return int(collect_arrow(absent)[_ALL][0] or 0)


def different_at(table: EngineTable, attribute: Attribute) -> int:
    """Count an attribute's distinct values, without missing."""
    table.check([attribute.name])
    if attribute.is_category:
        lazy, (key,) = with_keys(table, [attribute.name])
    else:
        key = "modicum_value"
        lazy = table.lazy.select(number_key(table, attribute).alias(key))
    values = lazy.select(key).filter(~nw.col(key).is_null()).unique()
    return int(collect_arrow(values.select(nw.len().alias(_ALL)))[_ALL][0])


def ends_at(table: EngineTable, attribute: Attribute) -> Floats:
    """The lowest and the highest finite number or date of an attribute; NaN if it has no value."""
    own = nw.col("modicum_value")
    lazy = table.lazy.select(number_key(table, attribute).alias("modicum_value"))
    if attribute.kind != "date":
        lazy = lazy.filter(own.abs() < float("inf"))
    ends = collect_arrow(lazy.select(own.min().alias("modicum_low"), own.max().alias("modicum_high")))
    return np.concatenate([numbers(ends[name], attribute) for name in ("modicum_low", "modicum_high")])


def _key(j: int) -> str:
    return f"modicum_z{j}"


# The best guess in hindsight: the sum over all cells of the count of their most frequent value

_VALUE, _MANY = "modicum_value", "modicum_many"


@dataclass(frozen=True)
class Best:
    """The records that the best rule and the most frequent value guess right, and the number of cells."""

    right: int
    naive: int
    groups: int


def best_at(table: EngineTable, g: Artifact, name: str, target: Target | None, side: Sequence[str]) -> Best:
    """Count how often the best rule guesses one attribute from the buckets and from `side` in full detail.

    A category counts as right if the guess is exact, a number if its bin in `target` is right.

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
    more = {_VALUE: value, **{key: nw.col(key) for key in keys[: len(words)]}, **numbers}
    seen = buckets_at(table_at(lazy.to_native()), g, more)
    cells = [*seen.keys, *(key for key in more if key != _VALUE)]
    pairs = seen.lazy.group_by([*cells, _VALUE]).agg(nw.len().alias(_MANY))
    of_cells = pairs.group_by(cells).agg(nw.col(_MANY).max())
    best = collect_arrow(of_cells.select(nw.col(_MANY).sum(), nw.len().alias("modicum_cells")))
    values = seen.lazy.group_by(_VALUE).agg(nw.len().alias(_MANY))  # needs no buckets
    most = collect_arrow(values.select(nw.col(_MANY).max()))
    return Best(int(best[_MANY][0]), int(most[_MANY][0]), int(best["modicum_cells"][0]))


# Counts for the description of a generalization: shares of buckets and the smallest group


def count_for_description(g: Generalization, X: Any) -> CountedBuckets:
    """Count what a description needs, by group-bys in the engine.

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
    """Count the people in each bucket of an attribute."""
    partition = seen.partitions[j]
    if person is None or isinstance(partition, FullDetail):
        return records
    if isinstance(partition, Dropped):
        return np.array([persons])
    sizes = collect_arrow(groups_at(seen.lazy, [_key(j)], person).select(_key(j), SIZE))
    return _scatter_counts(sizes[_key(j)].to_numpy(), sizes[SIZE].to_numpy(), len(records))
