"""Learn kinds, codes, label classes and targets of a table in its engine.

Each function returns and raises the same as its counterpart in memory does for a pandas frame of the same records. It
reads the records once, or three times if a number has more than 131,072 distinct values
(`modicum.engines.order_statistics`). Inferring the schema takes another pass over floats and datetimes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.engines.counting import LIMIT, Numbers, Words, select_numbers, survey_columns
from modicum.engines.order_statistics import CountBetween, Known, narrow_gaps
from modicum.engines.table import COUNT, Counts, EngineTable, collect_arrow
from modicum.errors import DataError
from modicum.table.codes import (
    MAX_CODES,
    AtRanks,
    CategoryCoding,
    Coder,
    EqualCounts,
    Grouping,
    NumberCoding,
    category_coding,
    no_value,
    number_coding,
    rises,
    too_many_categories,
)
from modicum.table.frames import (
    check_columns,
    check_outside,
    check_words,
    column,
    missing_mask,
    no_categories,
    not_readable,
    readable_numbers,
)
from modicum.table.inference import make_attribute, not_whole
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import (
    BINS,
    MAX_CATEGORIES_OF_LABEL,
    Labels,
    Target,
    build_named_coding,
    check_bins,
    check_classes,
    check_labels,
    label_ranks,
    nothing_to_guess,
)

# Label classes


def labels_at(table: EngineTable, name: str, bins: int | None = None) -> Labels:
    """`Labels.fit` in the engine: the classes of a column, or the ranges of a numeric column.

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
    most = MAX_CATEGORIES_OF_LABEL + 2  # missing may occur twice, as null and as NaN
    lazy, _ = table.select_keys([name])
    key = lazy.collect_schema().names()[0]
    groups = collect_arrow(lazy.group_by(key).agg(nw.len().alias(COUNT)).head(most + 1))
    if len(groups) > most:
        _refuse(table, name)
    values = np.asarray(groups[key].to_native().to_pandas())
    counts = groups[COUNT].to_numpy()
    check_labels(values, int(counts[pd.isna(values)].sum()), repr(name))
    return Labels.fit(values, bins, counts, name)


def _ranges(table: EngineTable, name: str, bins: int) -> Labels:
    attribute = Attribute(name=name, kind="number")
    survey = select_numbers(survey_columns(table, [attribute]))[name]
    check_labels(survey.distinct, survey.missing, repr(name))
    if survey.complete:
        return Labels.of(survey.distinct, survey.counts, bins, name)
    ranks = label_ranks(float(table.rows()), bins).astype(np.int64)
    known = narrow_gaps(table, {name: attribute}, {name: survey}, {name: AtRanks(tuple(ranks.tolist()))})[name]
    return Labels.of(known.distinct, known.abridged, bins, name)


def _refuse(table: EngineTable, name: str) -> None:
    """Raise the error for a label with too many values."""
    (lazy, _), dtype = table.select_keys([name]), table.types[name]
    column = nw.col(lazy.collect_schema().names()[0])
    aggregates: dict[str, nw.Expr] = {
        "absent": missing_mask(column, dtype).cast(nw.Int64).sum(),
        "different": column.n_unique(),
        "largest": column.abs().max() if dtype.is_float() else nw.len(),
    }
    results = collect_arrow(lazy.select(**aggregates))
    check_labels(results["largest"].to_numpy(), int(results["absent"][0]), repr(name))
    check_classes(int(results["different"][0]), dtype.is_numeric(), name)


# Kinds of columns

_DAY = 86_400


@dataclass(frozen=True)
class Uneven:
    """Count each column's values that are not multiples of its unit: 1, or the seconds of a day for datetimes."""

    columns: tuple[str, ...]
    units: tuple[int, ...]

    def empty(self) -> Counts:
        return np.zeros(len(self.columns), dtype=np.int64)

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        for i, (name, unit) in enumerate(zip(self.columns, self.units, strict=True)):
            if not counts[i]:  # one is enough
                attribute = Attribute(name=name, kind="number" if unit == 1 else "date")
                counts[i] = not_whole(readable_numbers(column(frame, name), attribute)[0], unit)


def schema_at(table: EngineTable, names: Sequence[str] | None = None) -> Schema:
    """`Schema.infer` in the engine, for the named columns or all, without suggestions.

    One pass reads all floats and datetimes; for other columns the type is enough.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.coding import schema_at
    >>> table = table_at(duckdb.sql("SELECT 1.0::DOUBLE AS n, true AS yes, DATE '2020-02-03' AS day, 'a' AS word"))
    >>> [(each.kind, each.storage) for each in schema_at(table)]
    [('number', 'integer'), ('category', 'boolean'), ('date', 'date'), ('category', 'text')]
    """
    names = table.columns if names is None else list(names)
    table.check(names)
    if not names:
        raise DataError("The data has no columns.")
    units = {name: unit for name in names if (unit := _unit(table.types[name]))}
    uneven = dict(zip(units, table.fold(Uneven(tuple(units), tuple(units.values()))), strict=True)) if units else {}
    return Schema(attributes=tuple(_attribute(name, table.types[name], bool(uneven.get(name))) for name in names))


def _unit(dtype: Any) -> int | None:
    """The unit to test a column's values for; None if the type alone decides its storage."""
    if isinstance(dtype, nw.Datetime):
        return _DAY
    return 1 if dtype.is_numeric() and not dtype.is_integer() else None


def _attribute(name: str, dtype: Any, uneven: bool) -> Attribute:
    if isinstance(dtype, nw.Enum):
        return Attribute(name=name, kind="ordered", domain=tuple(dtype.categories))
    if dtype == nw.Boolean:
        return make_attribute(name, "boolean")
    if isinstance(dtype, nw.Datetime | nw.Date):
        return make_attribute(name, "datetime" if uneven else "date")
    if dtype.is_numeric():
        return make_attribute(name, "float" if uneven else "integer")
    return make_attribute(name, "text")


_EVERYTHING = 2**62


def coder_at(table: EngineTable, schema: Schema) -> Coder:
    """`Coder.fit` in the engine: learn the codes of the table's features.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.coding import coder_at, schema_at
    >>> table = table_at(duckdb.sql("SELECT range AS n, range % 2 = 0 AS even FROM range(1000)"))
    >>> coder = coder_at(table, schema_at(table))
    >>> coder.sizes
    [256, 2]
    """
    if set(schema.features) - set(table.columns) and not table.rows():
        raise _no_rows()
    check_columns(schema, table.columns)
    read = [attribute for attribute in schema if attribute.name in table.columns and _is_read(attribute, table)]
    surveys = _survey_attributes(table, read)
    if not (any(_has_rows(each) for each in surveys.values()) or table.rows()):
        raise _no_rows()
    for attribute in read:
        _check(table, attribute, surveys[attribute.name])
    chosen = [schema[name] for name in schema.features]
    known = _narrow_open_columns(
        table, [(each, EqualCounts(MAX_CODES)) for each in chosen if not each.is_category], surveys
    )
    return Coder(schema, tuple(_coding(table, each, surveys[each.name], known) for each in chosen))


def numbers_at(
    table: EngineTable, groupings: Mapping[str, Grouping], schema: Schema | None = None
) -> dict[str, NumberCoding]:
    """`group_numbers` in the engine: code numbers and dates by groups of neighbouring values.

    Parameters
    ----------
    table : EngineTable
    groupings : dict of name to Grouping
        `EqualCounts`, `EqualWidths`, `AtEdges` or `AtRanks` of `modicum.table.codes`.
    schema : Schema, optional
        The columns' kinds; inferred by default.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.coding import numbers_at
    >>> from modicum.table.codes import EqualWidths
    >>> table = table_at(duckdb.sql("SELECT range AS n FROM range(1001)"))
    >>> numbers_at(table, {"n": EqualWidths(2)})["n"].edges.tolist()
    [499.5]
    """
    table.check(list(groupings))
    schema = schema_at(table, list(groupings)) if schema is None else schema
    surveys = select_numbers(_survey_attributes(table, [schema[name] for name in groupings]))
    for name in groupings:
        _check_numbers(schema[name], surveys[name], no_value)
    known = _narrow_open_columns(table, [(schema[name], grouping) for name, grouping in groupings.items()], surveys)
    return {name: _number_coding(schema[name], grouping, surveys[name], known) for name, grouping in groupings.items()}


def target_at(
    table: EngineTable,
    attribute: Attribute,
    bins: int = BINS,
    *,
    named: Sequence[str] = (),
    may_miss: bool = False,
) -> Target:
    """`Target.fit` in the engine: the values of an attribute that an adversary guesses.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.coding import schema_at, target_at
    >>> table = table_at(duckdb.sql("SELECT range AS n FROM range(1000)"))
    >>> target_at(table, schema_at(table)["n"]).size
    10
    """
    table.check([attribute.name])
    surveys = _survey_attributes(table, [attribute], words=_EVERYTHING)
    known = surveys[attribute.name]
    if isinstance(known, Words):
        counts = np.array(list(known.counts.values()), dtype=np.int64)
        return Target(build_named_coding(attribute, list(known.counts), counts, known.missing, named), may_miss)
    _check_numbers(attribute, known, nothing_to_guess)
    grouping = EqualCounts(bins)
    return Target(
        _number_coding(attribute, grouping, known, _narrow_open_columns(table, [(attribute, grouping)], surveys)),
        may_miss,
    )


def _survey_attributes(
    table: EngineTable, attributes: Sequence[Attribute], words: int = LIMIT
) -> dict[str, Words | Numbers]:
    for attribute in attributes:
        if table.types[attribute.name].is_nested():
            raise no_categories(attribute.name)
    return survey_columns(table, attributes, words=words)


def _narrow_open_columns(
    table: EngineTable, groupings: Sequence[tuple[Attribute, Grouping]], surveys: Mapping[str, Words | Numbers]
) -> dict[str, Known]:
    """Count further for the numbers that were not counted value by value; `number_coding` refuses infinity later."""
    counted = select_numbers(surveys)
    open_ = [
        (attribute, grouping)
        for attribute, grouping in groupings
        if not counted[attribute.name].complete and np.isfinite(counted[attribute.name].distinct[[0, -1]]).all()
    ]
    attributes = {attribute.name: attribute for attribute, _ in open_}
    return narrow_gaps(
        table, attributes, {name: counted[name] for name in attributes}, {a.name: grouping for a, grouping in open_}
    )


def _no_rows() -> DataError:
    return DataError("The data has no rows.")


def _has_rows(known: Words | Numbers) -> bool:
    return bool(known.missing or len(known.counts) or (isinstance(known, Words) and known.overfull))


def _is_read(attribute: Attribute, table: EngineTable) -> bool:
    """Whether a column must be read, to code it or to check it against the schema."""
    if attribute.collectable or attribute.domain is not None:
        return True
    return not attribute.is_category and not table.types[attribute.name].is_numeric()


def _check(table: EngineTable, attribute: Attribute, known: Words | Numbers) -> None:
    """`check_values` in the engine."""
    if isinstance(known, Words):
        if attribute.domain is not None and known.overfull:
            known = survey_columns(table, [attribute], words=_EVERYTHING)[attribute.name]
        check_words(attribute, known.counts)
        return
    if known.unreadable:
        raise not_readable(attribute, known.unreadable)
    check_inside(table, attribute, known)


def check_inside(table: EngineTable, attribute: Attribute, known: Numbers) -> None:
    """Raise a `SchemaError` if numbers lie outside a declared domain; count them first if only a sample is known."""
    low, high = attribute.bounds
    outside = (known.distinct < low) | (known.distinct > high)
    if outside.any() and known.complete:
        check_outside(attribute, int(known.counts[outside].sum()))
    elif outside.any():
        counts = table.fold(CountBetween((attribute,), (np.array([np.nextafter(low, -np.inf), high]),)))
        check_outside(attribute, int(counts[0] + counts[2]))


def _check_numbers(attribute: Attribute, known: Numbers, absent: Any) -> None:
    if known.unreadable:
        raise not_readable(attribute, known.unreadable)
    if not len(known.distinct):
        raise absent(attribute)


def _coding(
    table: EngineTable, attribute: Attribute, survey: Words | Numbers, known: Mapping[str, Known]
) -> CategoryCoding | NumberCoding:
    if isinstance(survey, Numbers):
        _check_numbers(attribute, survey, no_value)
        return _number_coding(attribute, EqualCounts(MAX_CODES), survey, known)
    if survey.overfull:
        raise too_many_words(table, attribute, survey)
    counts = np.array(list(survey.counts.values()), dtype=np.int64)
    return category_coding(attribute, list(survey.counts), counts, survey.missing)


def too_many_words(table: EngineTable, attribute: Attribute, found: Words) -> DataError:
    """The error for a category with too many values to count one by one; it states their exact number."""
    return too_many_categories(attribute, table.count_distinct(attribute.name) - (found.missing > 0))


def _number_coding(
    attribute: Attribute, grouping: Grouping, survey: Numbers, known: Mapping[str, Known]
) -> NumberCoding:
    if attribute.name not in known:
        return number_coding(attribute, survey.distinct, survey.counts, survey.missing, grouping.starts)
    exact = known[attribute.name]
    return number_coding(attribute, exact.distinct, exact.abridged, survey.missing, partial(rises, grouping))
