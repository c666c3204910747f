"""Two periods of the same kind of records: their people and classes, split alike, and how the values moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.engines.buckets import missing_at, number_buckets, target_key, target_of
from modicum.engines.counting import counted_few, histogram, with_keys
from modicum.engines.table import EngineTable
from modicum.errors import DataError, quoted
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition, FullDetail, Groups, Intervals
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.roles import unit_codes
from modicum.table.splits import Rows, drawn_rows, split_rows
from modicum.table.targets import Labels, Target, label_name, label_values
from modicum.table.values import Codes

FEWEST = 50  # people in each period


@dataclass(frozen=True)
class Period:
    """The records of one period to learn from and to test on, their classes, and whose the latter are."""

    learn: Any
    y: Codes
    test: Any
    truth: Codes
    units: Codes


def period_frame(g: Generalization, X: Any, when: str) -> Any:
    """The records of a period, with every attribute there."""
    frame = as_frame(X, g.names)
    absent = [name for name in g.names if name not in frame.columns]
    if absent:
        raise DataError(f"The records of {when} lack {quoted(absent)}, which the generalization speaks of.")
    if not len(frame):
        raise DataError(f"There are no records of {when}.")
    return frame


def period_units(g: Generalization, frames: tuple[Any, Any]) -> tuple[Codes, Codes] | None:
    """Whose each row is, the same number for the same person in both periods; too few people are refused."""
    person = g.schema.person
    has = [person in frame.columns for frame in frames]
    if has[0] != has[1]:
        raise DataError(f"Only one of the two periods has the column {person!r}, which says whose each row is.")
    units = None
    if has[0]:
        columns = [np.asarray(frame[person].to_numpy(), dtype=object) for frame in frames]
        codes = unit_codes(np.concatenate(columns))
        units = codes[: len(frames[0])], codes[len(frames[0]) :]
    many = [len(frame) for frame in frames] if units is None else [len(np.unique(each)) for each in units]
    for when, count in zip(("then", "now"), many, strict=True):
        if count < FEWEST:
            unit = "records" if units is None else "people"
            raise DataError(
                f"Each period needs at least {FEWEST} {unit} to tell a change from chance; {when} has {count}."
            )
    return units


def check_filled(g: Generalization, attributes: Sequence[str], frames: tuple[Any, Any]) -> None:
    """Refuse a personal number or date that a whole period does not have: there is nothing to guess of it."""
    for when, frame in zip(("then", "now"), frames, strict=True):
        for name in attributes:
            attribute = g.schema[name]
            if not attribute.is_category and np.isnan(numbers(column(frame, name), attribute)).all():
                raise DataError(
                    f"The column {name!r} holds no value at all in the records of {when}. If it is no longer filled "
                    "in, learn the generalization anew without it; else leave it out of 'personal'."
                )


def split_periods(
    frames: tuple[Any, Any], codes: tuple[Codes, Codes], units: tuple[Codes, Codes] | None, random_state: int
) -> tuple[Period, Period]:
    """Both periods split alike, people together, with about as many records to learn from in each."""
    n = len(frames[0])
    everyone = np.arange(n + len(frames[1])) if units is None else np.concatenate(units)
    period = np.arange(len(everyone)) >= n
    classes = np.concatenate(codes) * 2 + period
    parts = split_rows(classes, persons=everyone, validation=0, random_state=random_state)
    learn = [parts.train[period[parts.train] == now] for now in (False, True)]
    test = [parts.test[period[parts.test] == now] for now in (False, True)]
    size = min(map(len, learn))
    found = []
    for i, when in enumerate(("then", "now")):
        rows = _some(learn[i], everyone[learn[i]], size, random_state) - i * n
        aside = test[i] - i * n
        if len(np.unique(everyone[test[i]])) < 2:
            raise DataError(f"The records of {when} cannot be split: nearly all of them are one person's.")
        if len(np.unique(codes[i][rows])) < 2:
            raise DataError(f"Nearly all records of {when} have the same label, so there is nothing to predict.")
        shown = [frames[i][part.tolist()] for part in (rows, aside)]
        found.append(Period(shown[0], codes[i][rows], shown[1], codes[i][aside], everyone[test[i]]))
    return found[0], found[1]


def _some(rows: Rows, units: Codes, size: int, random_state: int) -> Rows:
    """Rows of whole people drawn at random, no more than `size` where the first does not have more."""
    drawn = drawn_rows(len(rows), np.unique(units, return_inverse=True)[1], size, random_state)
    return rows if drawn is None else rows[drawn]


def period_labels(
    frames: tuple[Any, Any], y_then: Any, y_now: Any, bins: int | None
) -> tuple[Labels, tuple[Codes, Codes], Codes]:
    """The classes of both periods, each record's, and which of the classes nobody had then."""
    then, now = label_values(y_then, len(frames[0])), label_values(y_now, len(frames[1]))
    kinds = _kind(then), _kind(now)
    if kinds[0] != kinds[1]:
        raise DataError(f"The label {label_name(y_now)!r} was {kinds[0]} then and is {kinds[1]} now.")
    labels = Labels.fit(y_then, bins, name=label_name(y_then))
    if bins is not None:
        return labels, (labels.encode(then), labels.encode(now)), np.zeros(0, dtype=np.int64)
    later = Labels.fit(y_now, name=label_name(y_now)).classes
    unseen = later[labels.encode(later) < 0]
    if len(unseen) == len(later):
        raise DataError(f"No class that the label {label_name(y_now)!r} has now was there then.")
    both = Labels(np.concatenate([labels.classes, unseen]))
    return both, (both.encode(then), both.encode(now)), np.arange(len(labels), len(both))


def _kind(values: npt.NDArray[Any]) -> str:
    inferred = pd.api.types.infer_dtype(values)
    names = {
        "boolean": "true or false",
        "integer": "a number",
        "floating": "a number",
        "mixed-integer-float": "a number",
    }
    return names.get(inferred, "text")


@dataclass(frozen=True)
class ValueShift:
    """How one attribute's values moved, as shares of all records of a period.

    Attributes
    ----------
    unseen_then, unseen_now : with a category that the generalization does not name, because nobody had it at fit; NaN
        for a number and where the attribute is not collected
    missing_then, missing_now : without a value
    distance : total variation between the shares of the buckets then and now, from 0 (equal) to 1; a number in full
        detail counts in tenths of then, and what is not collected has one bucket

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.evaluation.periods import value_shift
    >>> from modicum.table.frames import as_frame
    >>> jobs = (["nurse", "nurse", "clerk", "clerk"], ["nurse", "nurse", "nurse", "smith"])
    >>> then, now = (as_frame(pd.DataFrame({"job": job})) for job in jobs)
    >>> g = md.Uniform(buckets=2).fit(then.to_native()).generalization_
    >>> shift = value_shift(g["job"], then, now)
    >>> shift.unseen_then, shift.unseen_now, shift.distance
    (0.0, 0.25, 0.5)
    """

    unseen_then: float
    unseen_now: float
    missing_then: float
    missing_now: float
    distance: float


def value_shift(partition: AnyPartition, then: Any, now: Any) -> ValueShift:
    """How an attribute's values moved between two frames, or two tables in engines."""
    if isinstance(partition, FullDetail):
        target = _tenths(partition, then)
        if target is None:  # all that is there now is new
            gone = _spread(partition, now, None).missing
            return ValueShift(float("nan"), float("nan"), 1.0, gone, 1 - gone)
    else:
        target = None
    before, after = (_spread(partition, frame, target) for frame in (then, now))
    size = max(len(before.buckets), len(after.buckets))
    first, second = (np.append(one.buckets, np.zeros(size - len(one.buckets))) for one in (before, after))
    distance = float(np.abs(first / first.sum() - second / second.sum()).sum() / 2)
    return ValueShift(before.unseen, after.unseen, before.missing, after.missing, distance)


@dataclass(frozen=True)
class _Spread:
    """The shares of records with a value never seen at fit and with none, and how many records each bucket has."""

    unseen: float
    missing: float
    buckets: npt.NDArray[np.int64]


def _tenths(partition: FullDetail, then: Any) -> Target | None:
    """The bins of a number in full detail; None where nobody had one."""
    absent, many = (
        (missing_at(then, partition.attribute), then.rows())
        if isinstance(then, EngineTable)
        else (int(np.isnan(numbers(column(then, partition.name), partition.attribute)).sum()), len(then))
    )
    return None if absent == many else target_of(then, partition.attribute, may_miss=True)


def _spread(partition: AnyPartition, frame: Any, target: Target | None) -> _Spread:
    if isinstance(frame, EngineTable):
        return _spread_at(partition, frame, target)
    series = column(frame, partition.name)
    if isinstance(partition, FullDetail):
        codes = np.zeros(len(frame), dtype=np.int64) if target is None else target.encode(frame)
    else:
        codes = partition.encode(series)
    buckets = np.bincount(codes)
    if not partition.attribute.is_category:
        gone = np.isnan(numbers(series, partition.attribute))
        return _Spread(float("nan"), int(gone.sum()) / len(frame), buckets)
    return _of_words(partition, series, np.ones(len(frame), dtype=np.int64), buckets)


def _spread_at(partition: AnyPartition, table: EngineTable, target: Target | None) -> _Spread:
    """The same counted in an engine."""
    attribute = partition.attribute
    if attribute.is_category:
        lazy, keys = with_keys(table, [partition.name])
        words, records = counted_few(lazy, keys, f"{partition.name!r}")
        series = words[keys[0]]
        codes = partition.encode(series)
        return _of_words(partition, series, records, np.bincount(codes, weights=records).astype(np.int64))
    n = table.rows()
    gone = missing_at(table, attribute) / n
    if isinstance(partition, Intervals):
        return _Spread(float("nan"), gone, number_buckets(table, partition))
    if target is None:
        return _Spread(float("nan"), gone, np.array([n]))
    codes, counts = histogram(table.lazy.select(target_key(table, target).alias("modicum_value")), "modicum_value")
    return _Spread(float("nan"), gone, np.bincount(codes, weights=counts).astype(np.int64))


def _of_words(partition: AnyPartition, series: Any, records: Any, buckets: Any) -> _Spread:
    codes, words = texts(series)
    n = int(records.sum())
    missing = int(records[codes < 0].sum()) / n
    if not isinstance(partition, Groups):
        return _Spread(float("nan"), missing, buckets)
    is_unseen = np.array([word not in partition.code_of for word in words] + [False])
    return _Spread(int(records[is_unseen[codes]].sum()) / n, missing, buckets)
