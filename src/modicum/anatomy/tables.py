"""From groups to the two tables, checked by code that did not make the groups."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.anatomy.checks import AnatomyTask
from modicum.errors import DataError
from modicum.measures.diversity import l_diversity
from modicum.releases.anatomy_release import AnatomyRelease, group_column
from modicum.table.codes import first_rows, values_in_order
from modicum.table.frames import texts
from modicum.table.schema import Attribute, Schema
from modicum.typing import Codes


def value_order(asked: AnatomyTask, name: str) -> tuple[Codes, Codes]:
    """A sensitive column as codes in the order of its values, and for each value a record that has it.

    The order is the schema's where it names the values or says that they have one, else that of canonical texts, so
    that it says nothing of the records' order.
    """
    codes, words = texts(asked.frame[name])
    attribute = asked.schema[name]
    ordered_by = attribute.kind == "ordered" or (attribute.is_category and attribute.domain is not None)
    place = {value: i for i, value in enumerate(values_in_order(attribute, words) if ordered_by else sorted(words))}
    order = sorted(range(len(words)), key=lambda i: place[words[i]])
    rank = np.empty(len(words), dtype=np.int64)
    rank[order] = np.arange(len(words))
    ordered = rank[codes]
    return ordered, first_rows(ordered)


def build_release(
    asked: AnatomyTask,
    ordered: Mapping[str, tuple[Codes, Codes]],
    groups: Mapping[str, Codes],
    rows: Codes,
    l: int,
    grouping: str,
) -> AnatomyRelease:
    """The release of these rows in this order; refused where a group is not ℓ-diverse or a record was lost or doubled.

    Parameters
    ----------
    asked : the records and their columns
    ordered : for each sensitive column what `value_order` says of all records
    groups : for each sensitive column the group of each released row
    rows : the records that are released, in the order of the identifying table
    l : what is asked of every group
    grouping : how they were made
    """
    many = len(groups)
    numbers = {group_column(name, many): own + 1 for name, own in groups.items()}
    identifying = _with(_rows(asked.frame.select(asked.identifying), rows), numbers)
    tables = {name: _sensitive(asked, name, ordered[name], own, rows, many) for name, own in groups.items()}
    release = AnatomyRelease(
        _plain(identifying),
        {name: _plain(table) for name, table in tables.items()},
        _narrow_schema(asked, [identifying, *tables.values()]),
        suppressed=len(asked.frame) - len(rows),
        grouping=grouping,
    )
    for name, table in tables.items():
        _check(asked, table, name, group_column(name, many), rows, l)
    return release


def _check(asked: AnatomyTask, table: nw.DataFrame[Any], name: str, gid: str, rows: Codes, l: int) -> None:
    """Refuse a table that is not ℓ-diverse, or does not hold the values of exactly these records."""
    whole = np.bincount(rows).max() == 1 and len(rows) == len(table)
    before, after = (_count_values(series) for series in (asked.frame[name][rows], table[name]))
    if l_diversity(table, [gid], name, kind="frequency") < l or not whole or before != after:
        raise DataError(f"The groups of {name!r} are not what was asked for, so that nothing is released.")


def _count_values(series: nw.Series[Any]) -> dict[str, int]:
    """How often each value occurs."""
    codes, words = texts(series)
    return dict(zip(words, np.bincount(codes).tolist(), strict=True))


def _sensitive(
    asked: AnatomyTask, name: str, ordered: tuple[Codes, Codes], groups: Codes, rows: Codes, many: int
) -> nw.DataFrame[Any]:
    """The table of one sensitive attribute, by group and value; equal values are written alike."""
    codes, typical = ordered
    pairs = np.sort(groups * len(typical) + codes[rows])
    values = _rows(asked.frame.select([name]), typical[pairs % len(typical)])
    return _with(values, {group_column(name, many): pairs // len(typical) + 1}).select(group_column(name, many), name)


def _rows(frame: nw.DataFrame[Any], rows: Codes) -> nw.DataFrame[Any]:
    """Some rows, numbered anew: a frame's index may tell where a record was, and unused categories who was left out."""
    taken = nw.maybe_reset_index(frame[rows])
    typed = [name for name, dtype in taken.schema.items() if dtype in (nw.Categorical, nw.Enum)]
    return taken.with_columns(*(_drop_unused_categories(taken[name]) for name in typed)) if typed else taken


def _drop_unused_categories(series: nw.Series[Any]) -> nw.Series[Any]:
    """A categorical column whose type names only the values that it has."""
    native = series.to_native()
    if isinstance(native, pd.Series):
        return nw.from_native(native.cat.remove_unused_categories(), series_only=True)
    words = series.cast(nw.String())
    if series.dtype != nw.Enum:
        return words.cast(nw.Categorical())  # numbered anew
    there = set(words.to_list())
    return words.cast(nw.Enum([each for each in series.cat.get_categories().to_list() if each in there]))


def _plain(frame: nw.DataFrame[Any]) -> Any:
    """The frame as its library has it, without what pandas notes beside the values."""
    native = frame.to_native()
    if not isinstance(native, pd.DataFrame):
        return native
    native = native.rename_axis(columns=None)
    native.attrs = {}
    return native


def _narrow_schema(asked: AnatomyTask, tables: Sequence[nw.DataFrame[Any]]) -> Schema:
    """The schema, in which a domain that nobody declared names only values that are released."""
    columns = {name: table[name] for table in tables for name in table.columns}
    return asked.schema.model_copy(
        update={
            "attributes": tuple(
                _narrow_domain(attribute, columns[attribute.name]) if attribute.name in asked.inferred else attribute
                for attribute in asked.schema
            )
        }
    )


def _narrow_domain(attribute: Attribute, series: nw.Series[Any]) -> Attribute:
    if attribute.domain is None:
        return attribute
    there = set(texts(series)[1])
    return attribute.model_copy(update={"domain": tuple(value for value in attribute.domain if value in there)})


def _with(frame: nw.DataFrame[Any], columns: Mapping[str, Codes]) -> nw.DataFrame[Any]:
    made = [nw.new_series(name, values, backend=frame.implementation) for name, values in columns.items()]
    return frame.with_columns(*made)
