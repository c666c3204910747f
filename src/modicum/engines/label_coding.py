"""The classes of a label, learned where its table lives."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.engines.order_statistics import narrowed
from modicum.engines.survey import surveyed
from modicum.engines.table import COUNT, EngineTable, collected
from modicum.table.codes import AtRanks
from modicum.table.schema import Attribute
from modicum.table.targets import MAX_CATEGORIES_OF_LABEL, Labels, check_bins, check_classes, check_labels, label_ranks

_LABEL = "modicum_label"  # DuckDB wants plain names to group by


def labels_at(table: EngineTable, name: str, bins: int | None = None) -> Labels:
    """The classes of a column, or the ranges of a numeric one: `Labels.fit` where the table lives.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.coding import labels_at
    >>> labels_at(table_at(duckdb.sql("SELECT unnest(['no', 'yes', 'no']) AS bought")), "bought").names
    ['no', 'yes']
    """
    check_bins(bins)
    table.check([name])
    if bins is not None and table.types[name].is_numeric():
        return _ranges(table, name, bins)
    most = MAX_CATEGORIES_OF_LABEL + 2  # missing may be there twice, as null and as NaN
    lazy, _ = table.keyed([name])
    key = lazy.collect_schema().names()[0]
    found = collected(lazy.group_by(key).agg(nw.len().alias(COUNT)).head(most + 1))
    if len(found) > most:
        _refuse(table, name)
    values = np.asarray(found[key].to_native().to_pandas())
    counts = found[COUNT].to_numpy()
    check_labels(values, int(counts[pd.isna(values)].sum()), repr(name))
    return Labels.fit(values, bins, counts, name)


def _ranges(table: EngineTable, name: str, bins: int) -> Labels:
    attribute = Attribute(name=name, kind="number")
    found = surveyed(table, [attribute])[name]
    check_labels(found.distinct, found.missing, repr(name))
    if found.complete:
        return Labels.of(found.distinct, found.counts, bins, name)
    ranks = label_ranks(float(table.rows()), bins).astype(np.int64)
    known = narrowed(table, {name: attribute}, {name: found}, {name: AtRanks(tuple(ranks.tolist()))})[name]
    return Labels.of(known.distinct, known.abridged, bins, name)


def _refuse(table: EngineTable, name: str) -> None:
    """Say why a label with so many values cannot be one."""
    (lazy, _), dtype = table.keyed([name]), table.types[name]
    column = nw.col(lazy.collect_schema().names()[0])
    is_float = dtype.is_float()
    absent = column.is_null() | column.is_nan() if is_float else column.is_null()
    asked: dict[str, Any] = {
        "absent": absent.cast(nw.Int64).sum(),
        "different": column.n_unique(),
        "largest": column.abs().max() if is_float else nw.len(),
    }
    found = collected(lazy.select(**asked))
    check_labels(found["largest"].to_numpy(), int(found["absent"][0]), repr(name))
    check_classes(int(found["different"][0]), dtype.is_numeric(), name)
