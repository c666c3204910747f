"""Turn groups into a table: each record gets its group's representative, and the result is measured independently."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.anonymizers.group_representatives import GroupMembers, GroupValues
from modicum.anonymizers.ranks import RankedColumn
from modicum.anonymizers.task import Task
from modicum.errors import DataError
from modicum.generalization.bins import number_text
from modicum.generalization.representatives import build_typed_column
from modicum.measures.anonymity import (
    classification_metric,
    discernibility,
    k_anonymity,
    number_equal_rows,
    resolve_columns,
)
from modicum.measures.closeness import t_closeness
from modicum.measures.diversity import l_diversity
from modicum.measures.information_loss import category_widths, group_ncp, number_widths
from modicum.measures.requirement import Requirement
from modicum.releases.release import Release, ReleaseTerms
from modicum.table.frames import as_frame
from modicum.table.values import canonical, iso
from modicum.typing import Codes, Floats

# Describe a group: a range for a number, a list of values for a category [Goldsteen21 §3].

MISSING = "(missing)"


def range_labels(members: GroupMembers) -> list[str]:
    """Describe the values of each group's records.

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> from modicum.anonymizers.publishing import range_labels
    >>> from modicum.anonymizers.ranks import Ranked
    >>> from modicum.anonymizers.group_representatives import GroupMembers
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"age": [31, 34, 60], "job": ["nurse", "clerk", None]})
    >>> age, job = Ranked.of(as_frame(X), md.Schema.infer(X), ["age", "job"]).columns
    >>> groups = np.array([0, 0, 1])
    >>> range_labels(GroupMembers(age, groups)), range_labels(GroupMembers(job, groups))
    (['31–34', '60'], ['clerk | nurse', '(missing)'])
    """
    column = members.column
    return _list_values(members) if column.attribute.is_category else _list_intervals(members)


def _list_intervals(members: GroupMembers) -> list[str]:
    column = members.column
    text = iso if column.attribute.kind == "date" else number_text
    ends = np.column_stack([members.at(0.0), members.at(1.0), members.present, members.sizes - members.present])
    kinds, which = np.unique(np.minimum(ends, [np.iinfo(np.int64).max] * 2 + [1, 1]), axis=0, return_inverse=True)
    labels = [_format_interval(column, text, *kind) for kind in kinds.tolist()]
    return [labels[i] for i in which.ravel().tolist()]


def _format_interval(
    column: RankedColumn, text: Callable[[float], str], low: int, high: int, has_value: int, has_missing: int
) -> str:
    if not has_value:
        return MISSING
    first, last = text(float(column.values[low])), text(float(column.values[high]))
    dash = " to " if "-" in first + last else "–"
    named = first if low == high else f"{first}{dash}{last}"
    return f"{named} or {MISSING}" if has_missing else named


def _list_values(members: GroupMembers) -> list[str]:
    column = members.column
    size = len(column.values) + 1
    keys = np.unique(members.groups * size + column.codes)
    groups, codes = keys // size, keys % size
    starts = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(keys)).tolist()
    words = [*column.values, MISSING]
    labels: dict[bytes, str] = {}
    found = []
    for start, end in pairwise(starts):
        own: Codes = codes[start:end]
        key = own.tobytes()
        if key not in labels:
            labels[key] = " | ".join(words[code] for code in own.tolist())
        found.append(labels[key])
    return found


# The released table

_ROUNDING = 1e-9
_LABEL, _PERSON, _SENSITIVE = "\0label", "\0person", "\0sensitive"  # names that no data has


def replace_values(task: Task, groups: Codes, values: Sequence[GroupValues] | None) -> Any:
    """Replace each quasi-identifier by its group's value, or by ranges without values.

    Every other column stays unchanged; columns that identify a person are left out.
    """
    columns = {}
    for j, ranked in enumerate(task.ranked.columns):
        if values is None:
            labels = np.array(range_labels(GroupMembers(ranked, groups)), dtype=object)
            columns[ranked.attribute.name] = labels[groups]
        else:
            column = build_typed_column(ranked.attribute, values[j].written, groups, task.frame)
            columns[ranked.attribute.name] = _cast_like(column, task.frame[ranked.attribute.name])
    return _replace_columns(task, columns)


def _cast_like(column: Any, given: nw.Series[Any]) -> Any:
    """Cast representatives to the exact type of the given column: units of dates, categories, unusual objects."""
    native = given.to_native()
    if not isinstance(column, pd.Series):
        return nw.from_native(column, series_only=True).cast(given.dtype).to_native()
    if column.dtype == native.dtype and native.dtype != object:
        return column
    if native.dtype == object:
        originals = {canonical(value): value for value in native.dropna().unique() if not isinstance(value, str)}
        return column.map(lambda value: originals.get(canonical(value), value), na_action="ignore").astype(object)
    return column.astype(native.dtype)


def _replace_columns(task: Task, columns: Mapping[str, pd.Series | npt.NDArray[np.object_]]) -> Any:
    native = task.frame.to_native()
    if isinstance(native, pd.DataFrame):
        frame = native[task.published].copy(deep=False)
        for name, values in columns.items():
            frame[name] = values if isinstance(values, pd.Series) else pd.Series(values, index=frame.index)
        return frame
    series = [_build_series(name, values, task.frame) for name, values in columns.items()]
    return task.frame.select(task.published).with_columns(series).to_native()


def _build_series(name: str, values: Any, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
    if isinstance(values, np.ndarray):
        return nw.new_series(name, values.tolist(), nw.String, backend=frame.implementation)
    return nw.from_native(values, series_only=True).alias(name)


def widths_of(task: Task, groups: Codes) -> list[Floats]:
    """Compute the NCP of each group, attribute by attribute."""
    widths = []
    for ranked in task.ranked.columns:
        if ranked.attribute.is_category:
            widths.append(category_widths(ranked.codes, groups, ranked.n_possible))
        else:
            values = np.append(ranked.values, np.nan)[ranked.codes]
            widths.append(number_widths(values, groups, ranked.domain))
    return widths


def release(
    task: Task,
    groups: Codes,
    values: Sequence[GroupValues] | None,
    *,
    method: str,
    terms: ReleaseTerms,
    suppressed: int,
) -> Release:
    """Build the table of these groups and measure it; refuse it if it does not meet the terms."""
    frame = replace_values(task, groups, values)
    information_loss = group_ncp(task.names, widths_of(task, groups), groups)
    names, k, diversity, closeness = task.names, *measure_anonymity(task, frame)
    refuse_broken(terms, k, diversity, closeness)
    label = None
    if task.label is not None:
        quasi = as_frame(frame).select(names).with_columns(_codes(_LABEL, task.label, task.frame))
        label = classification_metric(quasi, names, _LABEL, suppressed=suppressed)
    classes = number_equal_rows(*resolve_columns(frame, names))
    return Release(
        frame=frame,
        method=method,
        output="ranges" if values is None else "values",
        quasi_identifiers=tuple(names),
        sensitive=None if task.needs.sensitive is None else task.needs.sensitive.attribute.name,
        asked=terms,
        k=k,
        l=diversity,
        t=closeness,
        classes=classes,
        n_classes=int(classes.max()) + 1,
        rows=len(groups),
        suppressed=suppressed,
        ncp=information_loss.gcp,
        ncp_by_attribute=information_loss.by_attribute,
        discernibility=discernibility(frame, names, suppressed=suppressed),
        classification_metric=label,
    )


def measure_anonymity(task: Task, frame: Any) -> tuple[int, float | None, float | None]:
    """Measure k, ℓ and t of a released table, independently of how it was made."""
    names, needs = task.names, task.needs
    table = as_frame(frame).select(names)
    if needs.persons is not None:
        table = table.with_columns(_codes(_PERSON, needs.persons, task.frame))
    k = k_anonymity(table, names, person=None if needs.persons is None else _PERSON)
    if needs.sensitive is None:
        return k, None, None
    sensitive, own = needs.sensitive, _codes(_SENSITIVE, needs.sensitive.codes, task.frame)
    if needs.requirement.t is not None and needs.requirement.distance == "hierarchical":
        words = np.array([*sensitive.values, None], dtype=object)[sensitive.codes].tolist()
        own = nw.new_series(_SENSITIVE, words, nw.String, backend=task.frame.implementation)
    table = table.select(names).with_columns(own)
    hierarchy = sensitive.attribute.hierarchy
    return k, *measure_protection(needs.requirement, table, names, _SENSITIVE, hierarchy=hierarchy)


def measure_protection(
    requirement: Requirement,
    frame: Any,
    names: Sequence[str],
    sensitive: str,
    *,
    order: Sequence[Any] | None = None,
    hierarchy: Mapping[str, Sequence[str]] | None = None,
) -> tuple[float | None, float | None]:
    """Measure the required ℓ and t of a released table, with the order or hierarchy that the distance needs."""
    diversity = closeness = None
    if requirement.l is not None:
        c = requirement.c if requirement.diversity == "recursive" else None
        diversity = l_diversity(frame, names, sensitive, kind=requirement.diversity, c=c)
    if requirement.t is not None:
        order = order if requirement.distance == "ordered" else None
        tree = hierarchy if requirement.distance == "hierarchical" else None
        closeness = t_closeness(frame, names, sensitive, distance=requirement.distance, order=order, hierarchy=tree)
    return diversity, closeness


def _codes(name: str, codes: Any, like: nw.DataFrame[Any]) -> nw.Series[Any]:
    series = nw.new_series(name, np.asarray(codes, dtype=np.int64), backend=like.implementation)
    native = like.to_native()
    if isinstance(native, pd.DataFrame):
        series = nw.from_native(series.to_native().set_axis(native.index), series_only=True)
    return series


def refuse_broken(terms: ReleaseTerms, k: int, diversity: float | None, closeness: float | None) -> None:
    """Refuse a release that does not meet its terms."""
    broken = [
        name
        for name, is_kept in (
            ("k", k >= terms["k"]),
            ("l", diversity is None or diversity >= terms["l"] - _ROUNDING),
            ("t", closeness is None or closeness <= terms["t"] + _ROUNDING),
        )
        if not is_kept
    ]
    if broken:
        raise DataError(f"The table does not meet the requested {broken[0]}, so it is not released.")
