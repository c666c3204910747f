"""Attribute inference: what a model gives away of an attribute of its training data [Goldsteen21 §4.2]."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.attacks.inference.imputation import CandidateValues, Viewer, Without, most_likely
from modicum.attacks.membership.two_sides import RecordSide, both_sides, concat_rows, warn_of_shared
from modicum.attacks.result import Estimate
from modicum.errors import DataError, ParameterError, check_choice, check_number, format_names
from modicum.learners.asking import AskedModel, true_chance
from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, bootstrap_interval, share_interval
from modicum.measures.scores import confusion, share_of
from modicum.table.codes import group_rows
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.table.targets import BINS
from modicum.typing import Codes, Floats

# What attribute inference found: with the model, without it, and with both.


@dataclass(frozen=True)
class Guessed:
    """How good the guesses of one adversary are.

    Attributes
    ----------
    accuracy : share of records whose value is guessed
    precision, recall : of the positive value where there are two values, else the mean over the values that occur
    """

    accuracy: Estimate
    precision: Estimate
    recall: Estimate


@dataclass(frozen=True)
class GuessedRecords:
    """All adversaries on the same records.

    Attributes
    ----------
    model : who asks the model and knows how frequent the values are
    imputation : who does not have the model, but learned from others how the attribute goes with all else
    combined : who does both
    naive : who always says the most frequent value
    leak : accuracy of `model` less that of `imputation`, record by record: what the model gives away beyond correlation
    combined_leak : the same for `combined`
    """

    model: Guessed
    imputation: Guessed
    combined: Guessed
    naive: Guessed
    leak: Estimate
    combined_leak: Estimate


@dataclass(frozen=True)
class AttributeInferenceResult(PlainResult):
    """What can be learned of an attribute of the people whose records trained a model.

    Attributes
    ----------
    attribute : its column, or its one-hot columns
    values : how many values there are to choose from
    positive : the value of which precision and recall speak, the rarer of two; None where they are means over values
    baseline : how the adversary without the model guesses, the strongest way on known records
    members : the attack on records that trained the model
    control : the same attack on as many that did not
    gap : accuracy of the attack with the model on members less that on the control: what is known of members alone
    known : from how many other records the adversary learned
    records : how many members were attacked, and as many of the control
    overlap : how many of the others are members as well; none, if the control is to mean something
    random_state, seconds : the seed, and how long it took

    Examples
    --------
    >>> import modicum as md
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "hours-per-week"]].assign(woman=(X["sex"] == "Female").astype(int))
    >>> model = DecisionTreeClassifier(random_state=0).fit(X[:500], y[:500])
    >>> attack = md.attacks.AttributeInference("woman")
    >>> found = attack.run(model, members=(X[:500], y[:500]), others=(X[500:1_500], y[500:1_500]))
    >>> found.attribute, found.values, found.records
    (('woman',), 2, 500)
    >>> found.members.model.accuracy.value > found.members.naive.accuracy.value
    True
    """

    attribute: tuple[str, ...]
    values: int
    positive: str | None
    baseline: str
    members: GuessedRecords
    control: GuessedRecords
    gap: Estimate
    known: int
    records: int
    overlap: int
    random_state: int
    seconds: float


@dataclass(frozen=True)
class Judge:
    """Turns guesses into figures; `size` is how many values there are, `positive` the rarer of two."""

    truth: Codes
    size: int
    positive: int | None
    naive: Codes
    random_state: int

    def score_guess(self, guess: Codes) -> Guessed:
        """Accuracy, precision and recall, each beside what the naive guess reaches."""
        everyone = np.ones(len(guess), dtype=bool)
        accuracy = share_of(guess == self.truth, everyone)
        naive = [float(np.mean(self.naive == self.truth)), *self._rates(self.naive)]
        if self.positive is None:
            precision, recall = self._macro(guess)
        else:
            precision = share_of(self.truth == self.positive, guess == self.positive)
            recall = share_of(guess == self.positive, self.truth == self.positive)
        found = zip((accuracy, precision, recall), naive, ("guess", "guess", "record"), strict=True)
        return Guessed(*(_estimate(value, baseline, what) for value, baseline, what in found))

    def leak(self, guess: Codes, without: Codes) -> Estimate:
        """By how much more often one guess is right than the other, paired, by resampling the records."""
        difference = (guess == self.truth).astype(np.float64) - (without == self.truth)
        low, high = bootstrap_interval((difference + 1) / 2, random_state=self.random_state)
        return Estimate(float(difference.mean()), (2 * low - 1, 2 * high - 1), 0.0)

    def _rates(self, guess: Codes, draws: Any = None) -> tuple[float, float]:
        """Precision and recall, of the positive value or the mean over values that occur; 0 where none is guessed."""
        rightly = np.where(guess == self.truth, guess, -1)  # -1, which is none of the values, is left out
        right, guesses, true = (
            np.bincount(codes + 1, draws, self.size + 1)[1:] for codes in (rightly, guess, self.truth)
        )
        precision = np.divide(right, guesses, out=np.zeros(self.size), where=guesses > 0)
        recall = np.divide(right, true, out=np.zeros(self.size), where=true > 0)
        if self.positive is not None:
            return float(precision[self.positive]), float(recall[self.positive])
        occurs = true > 0
        return (float(precision[occurs].mean()), float(recall[occurs].mean())) if occurs.any() else (0.0, 0.0)

    def _macro(self, guess: Codes) -> list[tuple[float, Interval]]:
        rates, n = self._rates(guess), len(guess)
        ends: list[Interval] = [share_interval(rate * n, n) for rate in rates]
        if n >= ENOUGH_UNITS:
            drawn = Resampling(n, random_state=self.random_state).intervals(lambda draws: self._rates(guess, draws))
            ends = [own if own[0] < own[1] else other for own, other in zip(drawn, ends, strict=True)]
        return list(zip(rates, ends, strict=True))


def difference(first: Estimate, second: Estimate) -> Estimate:
    """One share less another of other records, with the interval that theirs give (Newcombe 1998)."""
    a, b = float(first.value or 0), float(second.value or 0)
    (low_a, high_a), (low_b, high_b) = first.interval or (0.0, 1.0), second.interval or (0.0, 1.0)
    apart = a - b
    low, high = apart - np.hypot(a - low_a, high_b - b), apart + np.hypot(high_a - a, b - low_b)
    return Estimate(apart, (float(low), float(high)), 0.0)


def _estimate(found: tuple[float, Interval], naive: float, what: str) -> Estimate:
    value, interval = found
    if value != value:
        return Estimate(None, None, naive, f"no {what} is of the positive value")
    return Estimate(value, interval, naive)


# Columns that say what an attribute is, whatever the model says: copies, and one-hot columns left in the data.


def check_giveaways(frame: nw.DataFrame[Any], attacked: Sequence[str]) -> None:
    """Refuse an attribute that another column determines, or that determines another column: they are one attribute."""
    schema = Schema.infer(frame)
    codes = {name: value_codes(frame, schema, name) for name in frame.columns}
    own = group_rows(np.column_stack([codes[name] for name in attacked]))
    if own.max() == 0:
        raise DataError(
            f"The attacked attribute {format_names(attacked)} has a single value: there is nothing to guess."
        )
    rest = [name for name in frame.columns if name not in attacked]
    same = [
        name
        for name in rest
        if _tells(codes[name], own) or _tells(own, codes[name]) or _have_same_order(codes[name], own)
    ]
    if len(attacked) == 1 and not same:
        same = _complements(own, {name: codes[name] for name in rest})
    if same:
        raise DataError(
            f"The attacked attribute {format_names(attacked)} can be read off {format_names(same)}, wholly or in "
            "part, so that the attack would say nothing of the model; list these columns in 'attribute' as well, to be "
            "set together, or leave them out of the data and of the model."
        )


def value_codes(frame: nw.DataFrame[Any], schema: Schema, name: str) -> Codes:
    """A number per row, equal where the values are; missing is a value like any other; numbers keep their order."""
    series = column(frame, name)
    if schema[name].is_category:
        return texts(series)[0] + 1
    return np.unique(numbers(series, schema[name]), return_inverse=True)[1]


def _tells(source: Codes, target: Codes) -> bool:
    """Whether each value of one occurs with a single value of the other, and that not by chance of small numbers."""
    pairs = np.unique(np.column_stack([source, target]), axis=0)
    distinct = len(np.unique(source))
    if len(pairs) > distinct:
        return False
    counts = np.bincount(target)
    unusual = int(counts.sum() - counts.max())
    return 1 < distinct <= unusual / 2


def _have_same_order(first: Codes, second: Codes) -> bool:
    """Whether both put the records in the same order, or the reverse, with the same ties: a number in another unit."""
    a, b = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    return bool(a.max() > 1 and (np.array_equal(a, b) or np.array_equal(a, a.max() - b)))


def _complements(own: Codes, others: dict[str, Codes]) -> list[str]:
    """The yes/no columns of which exactly one holds where the attacked one does not: the rest of a one-hot encoding."""
    if own.max() != 1:
        return []
    held = {name: codes - codes.min() for name, codes in others.items()}
    for mine in (own, 1 - own):
        apart = {n: c for n, c in held.items() if c.max() == 1 and not (c & mine).any()}
        if len(apart) < 2:
            continue
        columns = np.column_stack(list(apart.values())).astype(np.float64)
        weights = np.linalg.lstsq(columns, 1.0 - mine, rcond=None)[0]
        if np.abs(columns @ weights - (1 - mine)).max() < 1e-6:
            return [name for name, weight in zip(apart, weights, strict=True) if abs(weight) > 1e-6]
    return []


# The attack

PRIORS = ("known", "uniform")
OUTPUTS = ("chances", "class")


class AttributeInference:
    """Guess an attribute of people from a model that was trained on their records (Fredrikson et al. 2014, 2015).

    The adversary knows all else of a person, the true label included, and may ask the model. It puts every value v that
    the attribute may have into the record and chooses

        argmax_v prior(v) · P(y | what the model says of the record with v)

    with the chance that the model gives the true label (``output="chances"``, 2015), or, where it only shows a class,
    how often records of that label are given that class (``output="class"``, 2014; a confusion matrix of known others).
    A number is guessed in bins; the value nearest to the bin's typical one is put to the model.

    Right guesses alone say little: who knows all else of a person often guesses the attribute without any model. So a
    second adversary, without the model, learns from `others` how the attribute goes with the other attributes and the
    label, in the strongest of four ways (see `Without` in `imputation`), and `leak` is what asking the
    model adds to that. A third combines both: its chances without the model times the chance of the true label that
    the model gives. All three are tried on members and, as a control, on as many records that neither the model nor the
    adversary has seen.

    A column that says the same as the attacked one, or the rest of a one-hot encoding, is refused.

    Records are taken for independent: where one person has several, keep one of each. A leak below 0 means that the
    model tells no more than imputation does.

    Parameters
    ----------
    attribute : str, or list of str
        The attacked column (`x0`, `x1`, … of an array), or the one-hot columns that make one attribute.
    priors : "known" or "uniform"
        How frequent the adversary takes the values to be: as among known others, or all alike.
    output : "chances" or "class"
        What it uses of the model's answer.
    bins : int
        Of a number.
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "hours-per-week", "capital-gain"]].assign(woman=(X["sex"] == "Female").astype(int))
    >>> model = DecisionTreeClassifier(random_state=0).fit(X[:1_000], y[:1_000])
    >>> attack = md.attacks.AttributeInference("woman")
    >>> result = attack.run(model, members=(X[:1_000], y[:1_000]), others=(X[1_000:3_000], y[1_000:3_000]))
    >>> result.positive, result.members.combined_leak.value > result.control.combined_leak.value
    ('1', True)
    """

    def __init__(
        self,
        attribute: str | Sequence[str],
        *,
        priors: str = "known",
        output: str = "chances",
        bins: int = BINS,
        random_state: int = 0,
    ) -> None:
        self.attribute = attribute
        self.priors = priors
        self.output = output
        self.bins = bins
        self.random_state = random_state

    def run(self, model: Any, members: Any, others: Any) -> AttributeInferenceResult:
        """Attack a model.

        Parameters
        ----------
        model : fitted classifier with `predict_proba`, with all its preprocessing
        members : pair (X, y), records that the model was trained on
        others : pair (X, y), records that it was not, drawn alike; of half of them, or more, the adversary knows all
        """
        start = time.perf_counter()
        columns = self._check()
        asked = AskedModel(model)
        sides = both_sides(members, others)
        everyone = as_frame(concat_rows(sides[0].X, sides[1].X))
        for name in columns:
            column(everyone, name)
        check_giveaways(everyone, columns)
        overlap = warn_of_shared(*sides)
        attacked, control, known = _parts(*sides, self.random_state)
        adversary = self._adversary(asked, known, columns)
        found = [self._judge_side(adversary, side) for side in (attacked, control)]
        return AttributeInferenceResult(
            attribute=columns,
            values=adversary.candidates.size,
            baseline=adversary.without.method,
            positive=None if adversary.positive is None else adversary.candidates.name(adversary.positive),
            members=found[0],
            control=found[1],
            gap=difference(found[0].model.accuracy, found[1].model.accuracy),
            known=len(known),
            records=len(attacked),
            overlap=overlap,
            random_state=self.random_state,
            seconds=time.perf_counter() - start,
        )

    def _check(self) -> tuple[str, ...]:
        check_choice(self, "priors", PRIORS)
        check_choice(self, "output", OUTPUTS)
        check_number(self, "bins", 2)
        check_number(self, "random_state", 0)
        given = [self.attribute] if isinstance(self.attribute, str) else self.attribute
        if not isinstance(given, list | tuple) or not given or not all(isinstance(each, str) for each in given):
            raise ParameterError(
                "The 'attribute' parameter of AttributeInference must be a column's name or a list of names. "
                f"Got {self.attribute!r} instead."
            )
        return tuple(dict.fromkeys(given))

    def _adversary(self, asked: AskedModel, known: RecordSide, columns: tuple[str, ...]) -> "Adversary":
        candidates = CandidateValues.of(known.X, columns, self.bins)
        if candidates.size < 2:
            raise DataError(f"The attacked attribute {columns[0]!r} has a single value among the known others.")
        counts = candidates.target.counts
        prior = np.full(candidates.size, 1.0) if self.priors == "uniform" else counts.astype(np.float64)
        viewer = Viewer(known, candidates)
        without = Without(self.random_state).fit(viewer.view(known))
        confused = None if self.output == "chances" else _compute_confusion(asked, known)
        return Adversary(asked, candidates, prior / prior.sum(), confused, viewer, without)

    def _judge_side(self, adversary: "Adversary", side: RecordSide) -> GuessedRecords:
        likelihood = adversary.likelihood(side)
        naive = np.full(len(side), int(adversary.candidates.target.counts.argmax()))
        with_model = most_likely(adversary.prior, likelihood)
        chances = adversary.without.chances(adversary.viewer.view(side))
        without, combined = chances.argmax(axis=1), most_likely(chances, likelihood)
        truth = adversary.candidates.encode(side.X)
        judge = Judge(truth, adversary.candidates.size, adversary.positive, naive, self.random_state)
        return GuessedRecords(
            model=judge.score_guess(with_model),
            imputation=judge.score_guess(without),
            combined=judge.score_guess(combined),
            naive=judge.score_guess(naive),
            leak=judge.leak(with_model, without),
            combined_leak=judge.leak(combined, without),
        )


@dataclass(frozen=True)
class Adversary:
    """What it has: the model, the values and how frequent they are, and what it learned without the model."""

    asked: AskedModel
    candidates: CandidateValues
    prior: Floats
    confusion: Floats | None
    viewer: Viewer
    without: Without

    @property
    def positive(self) -> int | None:
        """The rarer of two values."""
        return int(self.candidates.target.counts.argmin()) if self.candidates.size == 2 else None

    def likelihood(self, side: RecordSide) -> Floats:
        """For each record and value the chance of its label, by what the model says of the record with that value."""
        labels = self.asked.labels(side.y)
        found = [
            self._one(self.asked.chances(self.candidates.put(side.X, v)), labels) for v in range(self.candidates.size)
        ]
        return np.column_stack(found)

    def _one(self, chances: Floats, labels: Codes) -> Floats:
        if self.confusion is None:
            return true_chance(chances, labels)
        return np.where(labels < 0, 0.0, self.confusion[labels, chances.argmax(axis=1)])


def _compute_confusion(asked: AskedModel, known: RecordSide) -> Floats:
    """How often records of each label are given each class, one more of each counted than there are."""
    labels, guesses = asked.labels(known.y), asked.chances(known.X).argmax(axis=1)
    seen = labels >= 0
    counts = confusion(labels[seen], guesses[seen], len(asked.classes)) + 1
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _parts(members: RecordSide, others: RecordSide, random_state: int) -> tuple[RecordSide, RecordSide, RecordSide]:
    """Members to attack, as many others as a control, and the others left to learn from, at least half of them."""
    random = np.random.default_rng(random_state)
    many = min(len(members), len(others) // 2)
    first, second = random.permutation(len(members)), random.permutation(len(others))
    return members.some(np.sort(first[:many])), others.some(np.sort(second[:many])), others.some(np.sort(second[many:]))
