"""Did utility or risk change since a generalization was learned, and must it be learned anew? (papers/0 Appendix H)"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from modicum.attacks import AttackResult, Reconstruction
from modicum.engines import is_table, table_at
from modicum.engines.sampling import SAMPLE, in_memory
from modicum.errors import ParameterError
from modicum.evaluation.models import model_on
from modicum.evaluation.periods import (
    Period,
    ValueShift,
    check_filled,
    period_frame,
    period_labels,
    period_units,
    split_periods,
    value_shift,
)
from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.generalization.description import percent
from modicum.learners.portfolio import TREES
from modicum.measures.intervals import LEVEL, Change, change, grown
from modicum.progress import run_all
from modicum.table.codes import FEW
from modicum.table.roles import as_names, attribute_weights, personal_attributes
from modicum.table.values import Floats, plain

TOLERANCE = 0.01


@dataclass(frozen=True)
class RiskChange:
    """What the adversary A1 does then and now: its error, the naive guess's, and how much better than that it is.

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

    error: Change
    naive: Change
    gain: Change


@dataclass(frozen=True)
class Drift:
    """What changed from then to now, and what to do about it.

    Attributes
    ----------
    error, raw_error : error of a model trained and tested within each period, on minimized and on raw data
    gap : error − raw error, what minimizing costs
    frozen : error of the model trained then, tested then and now
    risk : the adversary A1, mean over the personal attributes
    by_attribute : personal attribute → the same for it
    values : attribute → how its values moved
    new_classes, new_class_records : how many classes the label has now that nobody had then, and how many records
    learned_from : how many records each model and adversary learned from, then and now
    tested_on : how many records they were tested on, then and now

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
    Nothing got worse beyond chance and the tolerance of 1%: the generalization still serves.
    """

    error: Change
    raw_error: Change
    gap: Change
    frozen: Change
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

    @property
    def learn_anew(self) -> bool:
        """Whether to learn the generalization anew: minimizing costs more, or the adversary gains more."""
        gains = [self.risk.gain, *(risk.gain for risk in self.by_attribute.values())]
        return self.gap.is_worse or any(gain.is_worse for gain in gains)

    @property
    def retrain(self) -> bool:
        """Whether the model trained then errs more often now."""
        return self.frozen.is_worse

    @property
    def reasons(self) -> list[str]:
        """Why, in plain words; empty where nothing got worse."""
        found = []
        if self.gap.is_worse:
            found.append(f"minimizing costs more than it did ({_moved(self.gap)} of the predictions)")
        if self.risk.gain.is_worse:
            found.append(f"the adversary gains more over the naive guess in the mean ({_moved(self.risk.gain)})")
        worse = {name: risk.gain for name, risk in self.by_attribute.items() if risk.gain.is_worse}
        found += [f"the adversary gains more about {name!r} ({_moved(gain)})" for name, gain in worse.items()]
        if self.retrain:
            found.append(f"the model trained then errs more often ({_moved(self.frozen)})")
        return found

    @property
    def notes(self) -> list[str]:
        """What else is worth a look: values and classes that nobody had, more missing values."""
        found = []
        if self.new_classes:
            shown = f"fewer than {FEW}" if self.new_class_records < FEW else f"{self.new_class_records:,}"
            classes = "1 new class" if self.new_classes == 1 else f"{self.new_classes} new classes"
            found.append(f"{shown} records have a label that nobody had then ({classes})")
        for name, shift in self.values.items():
            if shift.unseen_now - shift.unseen_then > self.tolerance:
                moved = f"{percent(shift.unseen_then)} → {percent(shift.unseen_now)}"
                found.append(f"more records have values of {name!r} that nobody had at fit ({moved})")
            if shift.missing_now - shift.missing_then > self.tolerance:
                moved = f"{percent(shift.missing_then)} → {percent(shift.missing_now)}"
                found.append(f"{name!r} is missing more often ({moved})")
        return found

    @property
    def sentence(self) -> str:
        """The advice, to be read by people."""
        if self.learn_anew:
            return f"Learn the generalization anew: {'; '.join(self.reasons)}."
        if self.retrain:
            return (
                f"Train the model anew: {self.reasons[0]}. Neither the cost of minimizing nor the risk grew beyond "
                "chance, so the generalization still serves."
            )
        beyond = f" and the tolerance of {100 * self.tolerance:g}%" if self.tolerance else ""
        return f"Nothing got worse beyond chance{beyond}: the generalization still serves."

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record; a number that does not exist is null."""
        advice = ("learn_anew", "retrain", "reasons", "notes", "sentence")
        return dict(plain(asdict(self) | {name: getattr(self, name) for name in advice}))


def _moved(change: Change) -> str:
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
    """Say whether utility or risk changed for the worse since `g` was learned, and whether to learn it anew.

    As in papers/0 Appendix H the generalization is fixed. In each period a model on minimized data, one on raw data and
    the adversary A1 learn from seven tenths of the records and are tested on the others. Both periods learn from about
    as many records, the larger one from some of its own, or its size would pass for a change. The model trained then is
    also tested on now. Rows of one person stay together, also where the person is in both periods.

    Learn anew where what minimizing costs grew (error on minimized − error on raw data), or what the adversary gains
    over the naive guess, in the mean or about one attribute. Where only the model trained then got worse, training it
    anew is enough. A change counts where it is beyond the tolerance by more than chance; over all these tests together
    (Holm) a false alarm has a chance of at most 1 − level. That is the chance of who is tested: who is learned from
    also varies a little, which a tolerance above 0 more than covers.

    Parameters
    ----------
    g : Generalization
    X_then, y_then, X_now, y_now : full records and labels of both periods, none of which should have made `g`
        What `g` was learned from fits it better than what comes after.
    personal, weights : what the adversary guesses, and how much each counts
        An attribute of weight 0 raises no alarm.
    estimator, label_bins : as for `utility`; ranges of a numeric label are learned then.
    tolerance : float
        A growth that need not be acted upon, as a share of the records; 0 for any growth beyond chance.
    level : float
        Of the intervals, and 1 − the chance of a false alarm.
    sample : int
        Of a period in an engine, whose label is the name of one of its columns, about how many records models and
        adversary see; how the values moved is counted over all of them.

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
    held = [table_at(X) if is_table(X) else None for X in (X_then, X_now)]
    X_then, y_then = in_memory(g, X_then, y_then, sample, random_state)
    X_now, y_now = in_memory(g, X_now, y_now, sample, random_state)
    frames = period_frame(g, X_then, "then"), period_frame(g, X_now, "now")
    whole = [frame if table is None else table for table, frame in zip(held, frames, strict=True)]
    check_filled(g, attributes, frames)
    labels, codes, new = period_labels(frames, y_then, y_now, label_bins)
    model_on(g, estimator, len(labels), random_state)  # refused before any work
    units = period_units(g, frames)
    then, now = periods = split_periods(frames, codes, units, random_state)
    raw = [raw_generalization(period.learn, g.schema) for period in periods]
    learned = partial(_wrong, estimator=estimator, classes=len(labels), random_state=random_state)
    adversary = Reconstruction(
        personal=attributes, weights=weights, n_jobs=1, progress=False, random_state=random_state
    )
    pieces: list[Callable[[], Any]] = [
        *(partial(adversary.run, g, known=period.learn, breached=period.test) for period in periods),
        partial(learned, g, then, [then, now]),
        *(partial(learned, one, period, [period]) for one, period in [(g, now), (raw[0], then), (raw[1], now)]),
    ]
    done = run_all(pieces, "Comparing then and now", progress=progress)
    (own_then, frozen), (own_now,), (raw_then,), (raw_now,) = done[2:]
    compared = partial(change, units=None if units is None else (then.units, now.units), level=level)
    risks = _risks(done[:2], shares, compared)
    counted = [name for name in risks if name is None or shares[name] > 0]
    asked = [compared(own_then - raw_then, own_now - raw_now), compared(own_then, frozen)]
    gap, frozen_error, *gains = grown([*asked, *(risks[name].gain for name in counted)], tolerance, level)
    risks |= {name: replace(risks[name], gain=gain) for name, gain in zip(counted, gains, strict=True)}
    return Drift(
        error=compared(own_then, own_now),
        raw_error=compared(raw_then, raw_now),
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
        estimator=estimator if isinstance(estimator, str) else type(estimator).__name__,
        random_state=random_state,
    )


def _wrong(
    g: Generalization, learned: Period, tests: list[Period], estimator: Any, classes: int, random_state: int
) -> list[Floats]:
    """Which test records of some periods a model of one period gets wrong, 1 or 0."""
    model = model_on(g, estimator, classes, random_state).fit(learned.learn, learned.y)
    return [(model.predict_proba(one.test).argmax(axis=1) != one.truth).astype(np.float64) for one in tests]


def _risks(
    attacks: Sequence[AttackResult], weights: Mapping[str, float], compared: Callable[..., Change]
) -> dict[str | None, RiskChange]:
    """What changed for the adversary about each attribute, and in the mean (None)."""
    errors, naive = ([_by_attribute(attack, which, weights) for attack in attacks] for which in ("right", "naive"))
    return {
        name: RiskChange(
            error=compared(*(each[name] for each in errors)),
            naive=compared(*(each[name] for each in naive)),
            gain=compared(*(n[name] - e[name] for n, e in zip(naive, errors, strict=True))),
        )
        for name in errors[0]
    }


def _by_attribute(attack: AttackResult, which: str, weights: Mapping[str, float]) -> dict[str | None, Floats]:
    """Which guesses about each attribute are wrong, 1 or 0, and the weighted mean over the attributes (None)."""
    wrong: dict[str | None, Floats] = {
        name: 1 - getattr(attack.guesses[name], which).astype(np.float64) for name in weights
    }
    return wrong | {None: np.sum([weight * wrong[name] for name, weight in weights.items()], axis=0)}


def _check_parameters(tolerance: Any, level: Any, random_state: Any) -> None:
    def refuse(parameter: str, wanted: str, got: Any) -> None:
        raise ParameterError(f"The {parameter!r} parameter of drift must be {wanted}. Got {got!r} instead.")

    def is_number(value: Any) -> bool:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)

    if not is_number(tolerance) or not 0 <= tolerance < 1:
        refuse("tolerance", "a number from 0 to below 1", tolerance)
    if not is_number(level) or not 0 < level < 1:
        refuse("level", "a number between 0 and 1", level)
    if not isinstance(random_state, int | np.integer) or isinstance(random_state, bool) or random_state < 0:
        refuse("random_state", "an int ≥ 0", random_state)
