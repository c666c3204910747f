"""How many records nobody else's equals, where nearly every record is a group of its own.

A group-by of whole records holds them all. So they are first grouped by a hash, eight bytes each: who has a hash alone
is alone. Only records that share one, because they are equal or by chance, are compared as they are: the number is
exact.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from modicum.engines.grouped import sizes_at
from modicum.table.files import quoted_name

_HASH = "modicum_hash"


def alone_at(lazy: nw.LazyFrame[Any], keys: Sequence[str]) -> int:
    """How many records have these keys alone.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.alone import alone_at
    >>> alone_at(table_at(duckdb.sql("SELECT unnest(['a', 'b', 'a', 'c']) AS word")).lazy, ["word"])
    2
    """
    hashed = _hashed(lazy, keys)
    if hashed is None:
        return _single(lazy, keys)
    sizes, often = sizes_at(hashed, [_HASH])
    alone = int(often[sizes == 1].sum())
    if (sizes == 1).all():
        return alone
    shared = hashed.group_by(_HASH).agg(nw.len().alias("modicum_size")).filter(nw.col("modicum_size") > 1)
    return alone + _single(hashed.join(shared.select(_HASH), on=_HASH, how="semi"), keys)


def _single(lazy: nw.LazyFrame[Any], keys: Sequence[str]) -> int:
    sizes, often = sizes_at(lazy, keys)
    return int(often[sizes == 1].sum())


def _hashed(lazy: nw.LazyFrame[Any], keys: Sequence[str]) -> nw.LazyFrame[Any] | None:
    """The keys and a hash of them, where the engine has one: DuckDB and Spark."""
    native: Any = lazy.select(list(keys)).to_native()
    if lazy.implementation is nw.Implementation.DUCKDB:
        hashing = f"hash({', '.join(map(quoted_name, keys))})"
        return nw.from_native(native.project(f"*, {hashing} AS {quoted_name(_HASH)}"))
    if str(lazy.implementation).startswith("pyspark"):
        return nw.from_native(native.selectExpr("*", f"xxhash64({', '.join(f'`{key}`' for key in keys)}) AS {_HASH}"))
    return None
