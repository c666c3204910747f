"""Did utility or risk change since a generalization was learned, and must it be learned again? [Staab24 Appendix H]"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.attacks import AttackResult, Reconstruction
from modicum.engines import is_table, table_at
from modicum.engines.buckets import missing_at, number_buckets, target_key
from modicum.engines.counting import count_combinations, histogram, with_keys
from modicum.engines.dispatch import target_of
from modicum.engines.sampling import SAMPLE, in_memory
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError, check_number_is, format_names
from modicum.evaluation._utility import model_on, name_estimator
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition, FullDetail, Groups, Intervals
from modicum.generalization.core import raw_generalization
from modicum.generalization.description import percent
from modicum.learners.portfolio import TREES
from modicum.measures.intervals import LEVEL, MeanChange, change, mark_increases
from modicum.progress import run_all
from modicum.table.codes import FEW
from modicum.table.estimator_input import as_names, attribute_weights, personal_attributes, unit_codes
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.plain_data import PlainResult
from modicum.table.splits import Rows, draw_rows, split_rows
from modicum.table.targets import Labels, Target, label_name, label_values
from modicum.typing import Codes, Floats

# Two periods of the same kind of records: their people and classes, their splits, and how their values changed

FEWEST = 50  # people in each period


@dataclass(frozen=True)
class Period:
    """The training and test records of one period, their classes, and the test records' persons."""

    learn: Any
    y: Codes
    test: Any
    truth: Codes
    units: Codes


def period_frame(g: Generalization, X: Any, when: str) -> Any:
    """Read the records of a period; fail if an attribute is missing."""
    frame = as_frame(X, g.names)
    absent = [name for name in g.names if name not in frame.columns]
    if absent:
        raise DataError(f"The records of {when} lack {format_names(absent)}; add the attributes of the generalization.")
    if not len(frame):
        raise DataError(f"There are no records of {when}.")
    return frame


def period_units(g: Generalization, frames: tuple[Any, Any]) -> tuple[Codes, Codes] | None:
    """Number the persons, the same in both periods; fail with too few people. None without a person column."""
    person = g.schema.person
    has = [person in frame.columns for frame in frames]
    if has[0] != has[1]:
        raise DataError(f"Only one of the two periods has the column {person!r}, which identifies each row's person.")
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
                f"Each period needs at least {FEWEST} {unit} to distinguish a change from chance; {when} has {count}."
            )
    return units


def check_filled(g: Generalization, attributes: Sequence[str], frames: tuple[Any, Any]) -> None:
    """Fail if a personal number or date has no value in a whole period: there is nothing to guess."""
    for when, frame in zip(("then", "now"), frames, strict=True):
        for name in attributes:
            attribute = g.schema[name]
            if not attribute.is_category and np.isnan(numbers(column(frame, name), attribute)).all():
                raise DataError(
                    f"The column {name!r} has no values in the records of {when}. If it is no longer collected, learn "
                    "the generalization again without it; otherwise leave it out of 'personal'."
                )


def split_periods(
    frames: tuple[Any, Any], codes: tuple[Codes, Codes], units: tuple[Codes, Codes] | None, random_state: int
) -> tuple[Period, Period]:
    """Split both periods in the same way by person, with about equally many training records in each."""
    n = len(frames[0])
    everyone = np.arange(n + len(frames[1])) if units is None else np.concatenate(units)
    period = np.arange(len(everyone)) >= n
    classes = np.concatenate(codes) * 2 + period
    parts = split_rows(classes, persons=everyone, validation=0, random_state=random_state)
    learn = [parts.train[period[parts.train] == now] for now in (False, True)]
    test = [parts.test[period[parts.test] == now] for now in (False, True)]
    size = min(map(len, learn))
    periods = []
    for i, when in enumerate(("then", "now")):
        rows = _draw_people(learn[i], everyone[learn[i]], size, random_state) - i * n
        held_out = test[i] - i * n
        if len(np.unique(everyone[test[i]])) < 2:
            raise DataError(f"The records of {when} cannot be split: nearly all of them belong to one person.")
        if len(np.unique(codes[i][rows])) < 2:
            raise DataError(f"Nearly all records of {when} have the same label, so there is nothing to predict.")
        learned, tested = (frames[i][part.tolist()] for part in (rows, held_out))
        periods.append(Period(learned, codes[i][rows], tested, codes[i][held_out], everyone[test[i]]))
    return periods[0], periods[1]


def _draw_people(rows: Rows, units: Codes, size: int, random_state: int) -> Rows:
    """Draw the rows of random people, about `size` rows in all."""
    drawn = draw_rows(len(rows), np.unique(units, return_inverse=True)[1], size, random_state)
    return rows if drawn is None else rows[drawn]


def period_labels(
    frames: tuple[Any, Any], y_then: Any, y_now: Any, bins: int | None
) -> tuple[Labels, tuple[Codes, Codes], Codes]:
    """Return the classes of both periods, each record's class number, and the numbers of the classes new since then."""
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
        raise DataError(f"No class of the label {label_name(y_now)!r} occurs both then and now.")
    both = Labels(np.concatenate([labels.classes, unseen]))
    return both, (both.encode(then), both.encode(now)), np.arange(len(labels), len(both))


def _kind(values: npt.NDArray[Any]) -> str:
    inferred = pd.api.types.infer_dtype(values)
    if inferred in ("integer", "floating", "mixed-integer-float"):
        return "a number"
    return "true or false" if inferred == "boolean" else "text"


@dataclass(frozen=True)
class ValueShift:
    """How one attribute's values changed, as shares of all records of a period.

    Attributes
    ----------
    unseen_then, unseen_now : share with a category that did not occur at fit; NaN for numbers and for attributes that
        are not collected
    missing_then, missing_now : share without a value
    distance : total variation distance between the bucket shares then and now, from 0 (equal) to 1; a number in full
        detail is cut into tenths of then, and an attribute that is not collected has one bucket

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.evaluation._drift import value_shift
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
    """Measure how an attribute's values changed between two frames, or two tables in engines."""
    target = None
    if isinstance(partition, FullDetail):
        target = _tenths(partition, then)
        if target is None:  # every value of now is new
            missing = _spread(partition, now, None).missing
            return ValueShift(float("nan"), float("nan"), 1.0, missing, 1 - missing)
    before, after = (_spread(partition, frame, target) for frame in (then, now))
    size = max(len(before.buckets), len(after.buckets))
    first, second = (np.append(one.buckets, np.zeros(size - len(one.buckets))) for one in (before, after))
    distance = float(np.abs(first / first.sum() - second / second.sum()).sum() / 2)
    return ValueShift(before.unseen, after.unseen, before.missing, after.missing, distance)


@dataclass(frozen=True)
class _Spread:
    """The share of records with a value unseen at fit, the share without a value, and the records per bucket."""

    unseen: float
    missing: float
    buckets: npt.NDArray[np.int64]


def _tenths(partition: FullDetail, then: Any) -> Target | None:
    """Cut a number in full detail into bins; None if it has no value."""
    missing, records = (
        (missing_at(then, partition.attribute), then.rows())
        if isinstance(then, EngineTable)
        else (int(np.isnan(numbers(column(then, partition.name), partition.attribute)).sum()), len(then))
    )
    return None if missing == records else target_of(then, partition.attribute, may_miss=True)


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
        missing = np.isnan(numbers(series, partition.attribute))
        return _Spread(float("nan"), int(missing.sum()) / len(frame), buckets)
    return _spread_of_words(partition, series, np.ones(len(frame), dtype=np.int64), buckets)


def _spread_at(partition: AnyPartition, table: EngineTable, target: Target | None) -> _Spread:
    """Count the same in an engine."""
    attribute = partition.attribute
    if attribute.is_category:
        lazy, keys = with_keys(table, [partition.name])
        words, records = count_combinations(lazy, keys, f"{partition.name!r}")
        series = words[keys[0]]
        codes = partition.encode(series)
        return _spread_of_words(partition, series, records, np.bincount(codes, weights=records).astype(np.int64))
    n = table.rows()
    missing = missing_at(table, attribute) / n
    if isinstance(partition, Intervals):
        return _Spread(float("nan"), missing, number_buckets(table, partition))
    if target is None:
        return _Spread(float("nan"), missing, np.array([n]))
    codes, counts = histogram(table.lazy.select(target_key(table, target).alias("modicum_value")), "modicum_value")
    return _Spread(float("nan"), missing, np.bincount(codes, weights=counts).astype(np.int64))


def _spread_of_words(partition: AnyPartition, series: Any, records: Any, buckets: Any) -> _Spread:
    codes, words = texts(series)
    n = int(records.sum())
    missing = int(records[codes < 0].sum()) / n
    if not isinstance(partition, Groups):
        return _Spread(float("nan"), missing, buckets)
    is_unseen = np.array([word not in partition.code_of for word in words] + [False])
    return _Spread(int(records[is_unseen[codes]].sum()) / n, missing, buckets)


# The comparison of two periods

TOLERANCE = 0.01


@dataclass(frozen=True)
class RiskChange:
    """The adversary A1 then and now: its error, the naive guess's error, and its gain over the naive guess.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "sex"]]
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:2_000], y[:2_000]).generalization_
    >>> then, now = (X[2_000:3_000], y[2_000:3_000]), (X[3_000:4_000], y[3_000:4_000])
    >>> found = md.evaluation.drift(g, *then, *now, personal=["sex"])
    >>> risk = found.by_attribute["sex"]
    >>> abs(risk.gain.now - (risk.naive.now - risk.error.now)) < 1e-9, risk.gain.is_worse
    (True, False)
    """

    error: MeanChange
    naive: MeanChange
    gain: MeanChange


@dataclass(frozen=True)
class Drift(PlainResult):
    """What changed from then to now, and what to do about it.

    Attributes
    ----------
    error, raw_error : error of a model trained and tested within each period, on minimized and on raw data
    gap : error − raw error: the cost of minimizing
    frozen : error of the model trained then, tested then and now
    risk : the adversary A1, weighted mean over the personal attributes
    by_attribute : personal attribute → the same for this attribute
    values : attribute → how its values changed
    new_classes, new_class_records : number of classes that the label did not have then, and of records with them
    learned_from : number of records that each model and adversary learned from, then and now
    tested_on : number of test records, then and now

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "sex"]]
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:2_000], y[:2_000]).generalization_
    >>> then, now = (X[2_000:3_000], y[2_000:3_000]), (X[3_000:4_000], y[3_000:4_000])
    >>> found = md.evaluation.drift(g, *then, *now, personal=["sex"])
    >>> found.learn_anew, found.retrain, sorted(found.values)
    (False, False, ['age', 'education', 'sex'])
    >>> print(found.sentence)
    Nothing got worse beyond chance and the tolerance of 1%: the generalization can stay.
    """

    error: MeanChange
    raw_error: MeanChange
    gap: MeanChange
    frozen: MeanChange
    risk: RiskChange
    by_attribute: dict[str, RiskChange]
    values: dict[str, ValueShift]
    new_classes: int
    new_class_records: int
    learned_from: tuple[int, int]
    tested_on: tuple[int, int]
    level: float
    tolerance: float
    estimator: str
    random_state: int

    _properties = ("learn_anew", "retrain", "reasons", "notes", "sentence")

    @property
    def learn_anew(self) -> bool:
        """Whether to learn the generalization again: minimizing costs more, or the adversary gains more."""
        gains = [self.risk.gain, *(risk.gain for risk in self.by_attribute.values())]
        return self.gap.is_worse or any(gain.is_worse for gain in gains)

    @property
    def retrain(self) -> bool:
        """Whether the model trained then makes more errors now."""
        return self.frozen.is_worse

    @property
    def reasons(self) -> list[str]:
        """What got worse, in words; empty if nothing did."""
        sentences = []
        if self.gap.is_worse:
            sentences.append(f"minimizing costs more than before ({_format_change(self.gap)} of the predictions)")
        if self.risk.gain.is_worse:
            sentences.append(
                f"the adversary gains more over the naive guess on average ({_format_change(self.risk.gain)})"
            )
        worse = {name: risk.gain for name, risk in self.by_attribute.items() if risk.gain.is_worse}
        sentences += [
            f"the adversary gains more about {name!r} ({_format_change(gain)})" for name, gain in worse.items()
        ]
        if self.retrain:
            sentences.append(f"the model trained then makes more errors ({_format_change(self.frozen)})")
        return sentences

    @property
    def notes(self) -> list[str]:
        """Other changes to check: new values and classes, more missing values."""
        sentences = []
        if self.new_classes:
            shown = f"fewer than {FEW}" if self.new_class_records < FEW else f"{self.new_class_records:,}"
            classes = "1 new class" if self.new_classes == 1 else f"{self.new_classes} new classes"
            sentences.append(f"{shown} records have a label that did not occur then ({classes})")
        for name, shift in self.values.items():
            if shift.unseen_now - shift.unseen_then > self.tolerance:
                shares = f"{percent(shift.unseen_then)} → {percent(shift.unseen_now)}"
                sentences.append(f"more records have values of {name!r} that did not occur at fit ({shares})")
            if shift.missing_now - shift.missing_then > self.tolerance:
                shares = f"{percent(shift.missing_then)} → {percent(shift.missing_now)}"
                sentences.append(f"{name!r} is missing more often ({shares})")
        return sentences

    @property
    def sentence(self) -> str:
        """The advice in words."""
        if self.learn_anew:
            return f"Learn the generalization again: {'; '.join(self.reasons)}."
        if self.retrain:
            return (
                f"Train the model again: {self.reasons[0]}. Neither the cost of minimizing nor the risk grew beyond "
                "chance, so the generalization can stay."
            )
        beyond = f" and the tolerance of {100 * self.tolerance:g}%" if self.tolerance else ""
        return f"Nothing got worse beyond chance{beyond}: the generalization can stay."


def _format_change(change: MeanChange) -> str:
    return f"{100 * change.then:.1f}% → {100 * change.now:.1f}%"


def drift(
    g: Generalization,
    X_then: Any,
    y_then: Any,
    X_now: Any,
    y_now: Any,
    *,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    estimator: Any = TREES,
    label_bins: int | None = None,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    sample: int = SAMPLE,
    random_state: int = 0,
    progress: bool = True,
) -> Drift:
    """Test whether utility or risk got worse since `g` was learned, and whether to learn it again.

    As in [Staab24 Appendix H] the generalization is fixed. In each period a model on minimized data, a model on raw
    data and the adversary A1 learn from 70% of the records and are tested on the others. Both periods learn from about
    equally many records: from the larger one a sample is used, because its size would look like a change. The model
    trained then is also tested on now. Rows of one person stay together, even across the two periods.

    Learn the generalization again if the cost of minimizing grew (error on minimized − error on raw data), or if the
    adversary's gain over the naive guess grew, on average or about one attribute. If only the model trained then got
    worse, train it again. A change counts if it exceeds the tolerance by more than chance. Over all these tests (Holm)
    the probability of a false alarm is at most 1 − level. It covers the choice of test records; the choice of training
    records also varies a little, which a tolerance above 0 more than covers.

    Parameters
    ----------
    g : Generalization
    X_then, y_then, X_now, y_now : full records and labels of both periods, not used to learn `g`
        `g` fits the records it was learned from better than later ones.
    personal, weights : what the adversary guesses, and how much each attribute counts
        An attribute of weight 0 raises no alarm.
    estimator, label_bins : as for `utility`; ranges of a numeric label are learned from then.
    tolerance : float
        Growth to ignore, as a share of the records; 0 counts any growth beyond chance.
    level : float
        Level of the intervals, and 1 − the probability of a false alarm.
    sample : int
        About how many records the models and the adversary use from a period in an engine, whose label is the name of
        a column. Changes of the values are counted over all records.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation import drift
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=6).fit(X[:6_000], y[:6_000]).generalization_
    >>> then, now = (X[6_000:8_000], y[6_000:8_000]), (X[8_000:10_000], y[8_000:10_000])
    >>> found = drift(g, *then, *now, personal=["race", "sex"])
    >>> found.learn_anew, found.retrain
    (False, False)
    >>> found.gap.interval[0] < found.gap.difference < found.gap.interval[1]
    True
    """
    _check_parameters(tolerance, level, random_state)
    attributes = personal_attributes(g.schema, as_names(personal))
    shares = attribute_weights(attributes, weights)
    tables = [table_at(X) if is_table(X) else None for X in (X_then, X_now)]
    X_then, y_then = in_memory(g, X_then, y_then, sample, random_state)
    X_now, y_now = in_memory(g, X_now, y_now, sample, random_state)
    frames = period_frame(g, X_then, "then"), period_frame(g, X_now, "now")
    whole = [frame if table is None else table for table, frame in zip(tables, frames, strict=True)]
    check_filled(g, attributes, frames)
    labels, codes, new = period_labels(frames, y_then, y_now, label_bins)
    model_on(g, estimator, len(labels), random_state)  # raises before any work
    units = period_units(g, frames)
    then, now = periods = split_periods(frames, codes, units, random_state)
    raw = [raw_generalization(period.learn, g.schema) for period in periods]
    find_wrong = partial(_wrong, estimator=estimator, classes=len(labels), random_state=random_state)
    adversary = Reconstruction(
        personal=attributes, weights=weights, n_jobs=1, progress=False, random_state=random_state
    )
    tasks: list[Callable[[], Any]] = [
        *(partial(adversary.run, g, known=period.learn, breached=period.test) for period in periods),
        partial(find_wrong, g, then, [then, now]),
        *(partial(find_wrong, one, period, [period]) for one, period in [(g, now), (raw[0], then), (raw[1], now)]),
    ]
    results = run_all(tasks, "Comparing then and now", n_jobs=-1, progress=progress)
    (own_then, frozen), (own_now,), (raw_then,), (raw_now,) = results[2:]
    compare = partial(change, units=None if units is None else (then.units, now.units), level=level)
    risks = _risks(results[:2], shares, compare)
    counted = [name for name in risks if name is None or shares[name] > 0]
    costs = [compare(own_then - raw_then, own_now - raw_now), compare(own_then, frozen)]
    gap, frozen_error, *gains = mark_increases([*costs, *(risks[name].gain for name in counted)], tolerance, level)
    risks |= {name: replace(risks[name], gain=gain) for name, gain in zip(counted, gains, strict=True)}
    return Drift(
        error=compare(own_then, own_now),
        raw_error=compare(raw_then, raw_now),
        gap=gap,
        frozen=frozen_error,
        risk=risks[None],
        by_attribute={name: risks[name] for name in attributes},
        values={p.name: value_shift(p, *whole) for p in g.partitions},
        new_classes=len(new),
        new_class_records=int(np.isin(codes[1], new).sum()),
        learned_from=(len(then.learn), len(now.learn)),
        tested_on=(len(then.test), len(now.test)),
        level=level,
        tolerance=tolerance,
        estimator=name_estimator(estimator),
        random_state=random_state,
    )


def _wrong(
    g: Generalization, learned: Period, tests: list[Period], estimator: Any, classes: int, random_state: int
) -> list[Floats]:
    """Train a model on one period and mark its wrong predictions on the test records of others, 1 or 0."""
    model = model_on(g, estimator, classes, random_state).fit(learned.learn, learned.y)
    return [(model.predict_proba(one.test).argmax(axis=1) != one.truth).astype(np.float64) for one in tests]


def _risks(
    attacks: Sequence[AttackResult], weights: Mapping[str, float], compare: Callable[..., MeanChange]
) -> dict[str | None, RiskChange]:
    """Compare the adversary then and now for each attribute, and for the mean (None)."""
    errors, naive = ([_by_attribute(attack, which, weights) for attack in attacks] for which in ("right", "naive"))
    return {
        name: RiskChange(
            error=compare(*(each[name] for each in errors)),
            naive=compare(*(each[name] for each in naive)),
            gain=compare(*(n[name] - e[name] for n, e in zip(naive, errors, strict=True))),
        )
        for name in errors[0]
    }


def _by_attribute(attack: AttackResult, which: str, weights: Mapping[str, float]) -> dict[str | None, Floats]:
    """Mark the wrong guesses about each attribute, 1 or 0, and compute their weighted mean (None)."""
    wrong: dict[str | None, Floats] = {
        name: 1 - getattr(attack.guesses[name], which).astype(np.float64) for name in weights
    }
    return wrong | {None: np.sum([weight * wrong[name] for name, weight in weights.items()], axis=0)}


def _check_parameters(tolerance: Any, level: Any, random_state: Any) -> None:
    def check(name: str, value: Any, fits: Callable[[Any], bool], wanted: str) -> None:
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not fits(value):
            raise ParameterError(f"The {name!r} parameter of drift must be {wanted}. Got {value!r} instead.")

    check("tolerance", tolerance, lambda value: 0 <= value < 1, "a number from 0 to below 1")
    check("level", level, lambda value: 0 < value < 1, "a number between 0 and 1")
    check_number_is(random_state, "random_state", "drift", 0)
