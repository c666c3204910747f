"""Categories with many values, looked up in DuckDB's own words.

narwhals would compare a value with one constant after another. DuckDB finds a text among the values of an ENUM by one
hash, and what stands at that place of a list; where a Parquet file keeps the column as a dictionary, only once for each
entry of it.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from modicum.generalization.bins import AnyPartition, Groups
from modicum.generalization.spelling import as_integers, as_spellings
from modicum.table.files import quoted_name, quoted_text

MANY = 16  # values, from which on they are looked up


def looked_up(partition: AnyPartition, dtype: Any, results: Sequence[Any], fixed: Sequence[str] | None) -> str | None:
    """SQL for what stands for each value's bucket, NULL where the value is none of them; None where it is not for this.

    Parameters
    ----------
    partition : the attribute's buckets
    dtype : the column's type
    results : what stands for each bucket
    fixed : the words that all results are among, where they are a type of their own

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md, narwhals as nw
    >>> from modicum.generalization.lazy_lookup import looked_up
    >>> X = pd.DataFrame({"code": [str(i) for i in range(40)]})
    >>> partition = md.Uniform(buckets=2, random_state=1).fit(X).generalization_["code"]
    >>> sql = looked_up(partition, nw.String(), [0, 1, 2, 3], None)
    >>> found = duckdb.sql(f"SELECT {sql} FROM (SELECT unnest(['7', 'x']) AS code)").fetchall()
    >>> found[1], found[0][0] == partition.code_of["7"]
    ((None,), True)
    """
    if not isinstance(partition, Groups):
        return None
    if not isinstance(dtype, nw.String) and not (dtype is not None and dtype.is_integer()):
        return None
    is_text = isinstance(dtype, nw.String)
    pairs = {
        str(key): results[group]
        for group, bucket in enumerate(partition.buckets)
        for value in bucket.values
        for key in (as_spellings(value) if is_text else as_integers(value))
    }
    written = [_literal(result) for result in pairs.values()]
    if len(pairs) < MANY or any("\0" in key for key in pairs) or None in written:
        return None
    column = quoted_name(partition.name)
    place = f"enum_code(TRY_CAST(CAST({column} AS VARCHAR) AS ENUM({', '.join(map(quoted_text, pairs))}))) + 1"
    kind = "" if fixed is None else f"::ENUM({', '.join(map(quoted_text, fixed))})[]"
    return f"list_extract([{', '.join(map(str, written))}]{kind}, {place})"


def _literal(value: Any) -> str | None:
    """A plain value in SQL; None for one that cannot stand in a list of them."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value!r}::DOUBLE"
    return quoted_text(value) if isinstance(value, str) and "\0" not in value else None
