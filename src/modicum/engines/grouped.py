"""Records that are alike, counted in the engine: group-bys of group-bys, so that groups themselves stay there.

Two values are alike as in memory: NaN is missing and missing equals missing, -0 is 0, and texts are compared in Unicode
normal form C (but for Ibis over other engines than DuckDB).
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.engines.spark_words import formed
from modicum.engines.table import COUNT, EngineTable, collected
from modicum.errors import DataError, require
from modicum.table.files import normalised, quoted_name
from modicum.table.schema import Schema

MOST_DISTINCT = 2_000_000  # combinations that may reach the driver

Ints = npt.NDArray[np.int64]

_SIZE = "modicum_size"  # DuckDB wants plain names to group by
_WHO = "modicum_who"
PERSON = "modicum_person"


def with_keys(table: EngineTable, columns: Sequence[str]) -> tuple[nw.LazyFrame[Any], list[str]]:
    """The table with one more column for each of these, by which records are alike, and how those are called."""
    table.check(columns)
    lazy, keys = table.lazy, [f"modicum_alike{i}" for i in range(len(columns))]
    words = [(name, key) for name, key in zip(columns, keys, strict=True) if table.types[name] == nw.String]
    numbers = [(name, key) for name, key in zip(columns, keys, strict=True) if table.types[name] != nw.String]
    if numbers:
        lazy = lazy.with_columns(*(alike_value(table, name).alias(key) for name, key in numbers))
    return (_with_words(table, lazy, words) if words else lazy), keys


def alike_value(table: EngineTable, name: str) -> nw.Expr:
    """A value that is equal where two records' values are alike."""
    value, dtype = table.col(name), table.types[name]
    if dtype.is_float():
        return nw.when(~value.is_nan()).then(value + 0.0)
    return value.cast(nw.String) if isinstance(dtype, nw.Categorical | nw.Enum) else value


def _with_words(table: EngineTable, lazy: nw.LazyFrame[Any], words: Sequence[tuple[str, str]]) -> nw.LazyFrame[Any]:
    """Texts in normal form C beside the others; narwhals has no function for that."""
    if lazy.implementation is nw.Implementation.POLARS:
        polars = nw.get_native_namespace(lazy)
        added = [polars.col(name).str.normalize("NFC").alias(key) for name, key in words]
        return nw.from_native(lazy.to_native().with_columns(*added))
    if lazy.implementation is nw.Implementation.DUCKDB:
        made = ", ".join(f"{normalised(name)} AS {quoted_name(key)}" for name, key in words)
        return nw.from_native(lazy.to_native().project(f"*, {made}"))
    if lazy.implementation is nw.Implementation.IBIS and lazy.to_native().get_backend().name == "duckdb":
        return nw.from_native(_ibis_words(lazy.to_native(), words))
    names = [name for name, _ in words]
    columns = formed(table, names) if table.engine == "spark" else [table.col(name) for name in names]
    return lazy.with_columns(*(column.alias(key) for column, (_, key) in zip(columns, words, strict=True)))


def _ibis_words(native: Any, words: Sequence[tuple[str, str]]) -> Any:
    ibis = require("ibis", "scale")

    @ibis.udf.scalar.builtin
    def nfc_normalize(text: str) -> str:  # type: ignore[empty-body]
        """DuckDB's own."""

    def formed(text: Any) -> Any:
        return ibis.cases((text.contains("\0"), text), else_=nfc_normalize(text))

    return native.mutate(**{key: formed(native[name]) for name, key in words})


def with_person(table: EngineTable, schema: Schema) -> EngineTable:
    """The table with a column `PERSON` that says whose a record is, null where nothing does, if there is such a one."""
    if schema.person is None or schema.person not in table.types:
        return table
    return type(table)(table.lazy.with_columns(alike_value(table, schema.person).alias(PERSON)).to_native())


def people_at(table: EngineTable, schema: Schema) -> int:
    """How many people the records are of; one that does not say whose it is stands for itself."""
    own = with_person(table, schema)
    return own.rows() if PERSON not in own.types else int(records_of(own.lazy, PERSON)[1].sum())


def sizes_at(lazy: nw.LazyFrame[Any], keys: Sequence[str], person: str | None = None) -> tuple[Ints, Ints]:
    """The sizes of the groups of equal keys, from small to large, and how many groups have each.

    With a person column persons are counted; a record that does not say whose it is stands for itself.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.grouped import sizes_at
    >>> lazy = table_at(duckdb.sql("SELECT unnest(['a', 'b', 'a', 'c']) AS word")).lazy
    >>> [found.tolist() for found in sizes_at(lazy, ["word"])]
    [[1, 2], [2, 1]]
    """
    return histogram(groups_at(lazy, keys, person), _SIZE)


def groups_at(lazy: nw.LazyFrame[Any], keys: Sequence[str], person: str | None = None) -> nw.LazyFrame[Any]:
    """The groups of equal keys with their size, in persons where there is such a column."""
    if person is None:
        return lazy.group_by(list(keys)).agg(nw.len().alias(_SIZE))
    pairs = lazy.group_by([*keys, person]).agg(nw.len().alias(_SIZE))
    own = nw.when(nw.col(person).is_null()).then(nw.col(_SIZE)).otherwise(nw.lit(1)).alias(_SIZE)
    one = nw.col(person).alias(_WHO)
    return pairs.select(*keys, one, own).group_by(list(keys)).agg(nw.col(_SIZE).sum(), nw.col(_WHO).max())


def histogram(lazy: nw.LazyFrame[Any], column: str) -> tuple[Ints, Ints]:
    """The different whole numbers of a column, from small to large, and how often each occurs."""
    found = collected(lazy.group_by(column).agg(nw.len().alias(COUNT)))
    values, often = (found[name].to_numpy().astype(np.int64) for name in (column, COUNT))
    order = np.argsort(values)
    return values[order], often[order]


def persons_alone(lazy: nw.LazyFrame[Any], keys: Sequence[str], person: str) -> int:
    """How many persons have a group to themselves."""
    single = groups_at(lazy, keys, person).filter(nw.col(_SIZE) == 1)
    each = single.group_by(_WHO).agg(nw.len().alias(COUNT))
    known, nobody = nw.col(_WHO).is_null(), nw.col(COUNT)
    counted = nw.when(known).then(nobody).otherwise(nw.lit(1)).alias(_SIZE)
    return int(collected(each.select(counted).select(nw.col(_SIZE).sum()))[_SIZE][0] or 0)


def rarest(lazy: nw.LazyFrame[Any], keys: Sequence[str], person: str | None, least: int) -> nw.DataFrame[Any]:
    """The first of the groups of this size, in the order of its keys, missing last."""
    small = groups_at(lazy, keys, person).filter(nw.col(_SIZE) == least).select(*keys)
    return collected(small.sort(*keys, nulls_last=True).head(1))


def records_of(lazy: nw.LazyFrame[Any], person: str) -> tuple[Ints, Ints]:
    """How many records persons have, and how many persons have so many; without a name each record is a person."""
    named = lazy.filter(~nw.col(person).is_null())
    sizes, often = sizes_at(named, [person])
    nobody = int(collected(lazy.select(nw.col(person).is_null().cast(nw.Int64).sum().alias(COUNT)))[COUNT][0] or 0)
    return (np.append(sizes, 1), np.append(often, nobody)) if nobody else (sizes, often)


def counted_few(lazy: nw.LazyFrame[Any], keys: Sequence[str], what: str) -> tuple[nw.DataFrame[Any], Ints]:
    """Every combination of the keys and its number of records, where they are few enough to be looked at one by one."""
    groups = lazy.group_by(list(keys)).agg(nw.len().alias(COUNT))
    found = collected(groups.head(MOST_DISTINCT + 1))
    if len(found) > MOST_DISTINCT:
        raise DataError(
            f"There are more than {MOST_DISTINCT:,} different combinations of {what}, too many to be counted one by "
            "one; give a sample of the table, or fewer attributes."
        )
    return found.select(*keys), found[COUNT].to_numpy().astype(np.int64)
