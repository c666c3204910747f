"""Two periods of the same kind of records: their people and classes, split alike, and how the values moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError, quoted
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition, FullDetail, Groups
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.labels import Labels, label_name, label_values
from modicum.table.roles import unit_codes
from modicum.table.splits import Rows, split_rows
from modicum.table.targets import Target
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
    if len(rows) <= size:
        return rows
    whose = np.unique(units, return_inverse=True)[1]
    order = np.random.default_rng(random_state).permutation(int(whose.max()) + 1)
    drawn = max(1, int(np.searchsorted(np.cumsum(np.bincount(whose)[order]), size, side="right")))
    return rows[np.isin(whose, order[:drawn])]


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
    """

    unseen_then: float
    unseen_now: float
    missing_then: float
    missing_now: float
    distance: float


def value_shift(partition: AnyPartition, then: Any, now: Any) -> ValueShift:
    shares = [_shares(partition, column(frame, partition.name)) for frame in (then, now)]
    return ValueShift(shares[0][0], shares[1][0], shares[0][1], shares[1][1], _distance(partition, then, now))


def _shares(partition: AnyPartition, series: Any) -> tuple[float, float]:
    """The shares of records with a value never seen at fit, and with none."""
    if not partition.attribute.is_category:
        return float("nan"), float(np.isnan(numbers(series, partition.attribute)).mean())
    codes, words = texts(series)
    if not isinstance(partition, Groups):
        return float("nan"), float(np.mean(codes < 0))
    is_unseen = np.array([word not in partition.code_of for word in words] + [False])
    return float(is_unseen[codes].mean()), float(np.mean(codes < 0))


def _distance(partition: AnyPartition, then: Any, now: Any) -> float:
    """Half the sum of how far the buckets' shares are apart."""
    if isinstance(partition, FullDetail):
        if np.isnan(numbers(column(then, partition.name), partition.attribute)).all():
            return float(np.mean(~np.isnan(numbers(column(now, partition.name), partition.attribute))))
        target = Target.fit(then, partition.attribute, may_miss=True)
        buckets = [target.encode(frame) for frame in (then, now)]
    else:
        buckets = [partition.encode(column(frame, partition.name)) for frame in (then, now)]
    size = max(int(each.max()) for each in buckets) + 1
    first, second = (np.bincount(each, minlength=size) / len(each) for each in buckets)
    return float(np.abs(first - second).sum() / 2)
