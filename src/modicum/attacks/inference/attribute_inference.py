"""Attribute inference: what a model reveals about an attribute of its training data [Goldsteen21 §4.2]."""

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

# The results of attribute inference: with the model, without it, and with both.


@dataclass(frozen=True)
class Guessed:
    """The quality of one adversary's guesses.

    Attributes
    ----------
    accuracy : share of records whose value is guessed right
    precision, recall : of the positive value if there are two values, otherwise the mean over the values that occur
    """

    accuracy: Estimate
    precision: Estimate
    recall: Estimate


@dataclass(frozen=True)
class GuessedRecords:
    """All adversaries on the same records.

    Attributes
    ----------
    model : queries the model and knows the frequencies of the values
    imputation : has no model, but learned from others how the attribute relates to all others
    combined : does both
    naive : always guesses the most frequent value
    leak : accuracy of `model` minus that of `imputation`, record by record: what the model reveals beyond correlation
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
    """What an adversary learns about an attribute of the people whose records trained a model.

    Attributes
    ----------
    attribute : its column, or its one-hot columns
    values : the number of possible values
    positive : the value of precision and recall, the rarer of two; None if they are means over values
    baseline : the guessing method of the adversary without the model, the strongest on known records
    members : the attack on records that trained the model
    control : the same attack on as many records that did not
    gap : accuracy of the attack with the model on members minus that on the control
    known : the number of other records from which the adversary learned
    records : the number of attacked members, and of control records
    overlap : the number of others that are also members; 0 for a meaningful control
    random_state, seconds : the seed and the time

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
    """Scores guesses; `size` is the number of values, `positive` the rarer of two."""

    truth: Codes
    size: int
    positive: int | None
    naive: Codes
    random_state: int

    def score_guess(self, guess: Codes) -> Guessed:
        """Compute accuracy, precision and recall, each with that of the naive guess."""
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
        """Compute how much more often one guess is right than the other, paired, with a bootstrap interval."""
        difference = (guess == self.truth).astype(np.float64) - (without == self.truth)
        low, high = bootstrap_interval((difference + 1) / 2, random_state=self.random_state)
        return Estimate(float(difference.mean()), (2 * low - 1, 2 * high - 1), 0.0)

    def _rates(self, guess: Codes, draws: Any = None) -> tuple[float, float]:
        """Compute precision and recall, of the positive value or averaged over occurring values; 0 if never guessed."""
        rightly = np.where(guess == self.truth, guess, -1)  # the count of -1 is dropped
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
    """Subtract two shares of independent records, with Newcombe's interval (1998)."""
    a, b = float(first.value or 0), float(second.value or 0)
    (low_a, high_a), (low_b, high_b) = first.interval or (0.0, 1.0), second.interval or (0.0, 1.0)
    low, high = a - b - np.hypot(a - low_a, high_b - b), a - b + np.hypot(high_a - a, b - low_b)
    return Estimate(a - b, (float(low), float(high)), 0.0)


def _estimate(found: tuple[float, Interval], naive: float, what: str) -> Estimate:
    value, interval = found
    if value != value:
        return Estimate(None, None, naive, f"no {what} is of the positive value")
    return Estimate(value, interval, naive)


# Columns that reveal an attribute without the model: copies, and one-hot columns left in the data.


def check_giveaways(frame: nw.DataFrame[Any], attacked: Sequence[str]) -> None:
    """Refuse an attribute that determines another column or is determined by one: they are one attribute."""
    schema = Schema.infer(frame)
    codes = {name: value_codes(frame, schema, name) for name in frame.columns}
    own = group_rows(np.column_stack([codes[name] for name in attacked]))
    if own.max() == 0:
        raise DataError(
            f"The attacked attribute {format_names(attacked)} has a single value, so there is nothing to guess."
        )
    rest = [name for name in frame.columns if name not in attacked]
    same = [
        name
        for name in rest
        if _determines(codes[name], own) or _determines(own, codes[name]) or _have_same_order(codes[name], own)
    ]
    if len(attacked) == 1 and not same:
        same = _complements(own, {name: codes[name] for name in rest})
    if same:
        raise DataError(
            f"The attacked attribute {format_names(attacked)} can be derived, at least in part, from "
            f"{format_names(same)}, so the attack would not measure the model. List these columns in 'attribute' as "
            "well, or remove them from the data and the model."
        )


def value_codes(frame: nw.DataFrame[Any], schema: Schema, name: str) -> Codes:
    """Number the rows by value, missing being a value like any other; numbers keep their order."""
    series = column(frame, name)
    if schema[name].is_category:
        return texts(series)[0] + 1
    return np.unique(numbers(series, schema[name]), return_inverse=True)[1]


def _determines(source: Codes, target: Codes) -> bool:
    """Whether each source value occurs with a single target value, and not just by chance in small numbers."""
    pairs = np.unique(np.column_stack([source, target]), axis=0)
    distinct = len(np.unique(source))
    if len(pairs) > distinct:
        return False
    counts = np.bincount(target)
    unusual = int(counts.sum() - counts.max())
    return 1 < distinct <= unusual / 2


def _have_same_order(first: Codes, second: Codes) -> bool:
    """Whether both order the records equally or in reverse, with the same ties, like a number in another unit."""
    a, b = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    return bool(a.max() > 1 and (np.array_equal(a, b) or np.array_equal(a, a.max() - b)))


def _complements(own: Codes, others: dict[str, Codes]) -> list[str]:
    """Return the rest of a one-hot encoding: yes/no columns of which exactly one is set if the attacked one is not."""
    if own.max() != 1:
        return []
    shifted = {name: codes - codes.min() for name, codes in others.items()}
    for mine in (own, 1 - own):
        disjoint = {n: c for n, c in shifted.items() if c.max() == 1 and not (c & mine).any()}
        if len(disjoint) < 2:
            continue
        columns = np.column_stack(list(disjoint.values())).astype(np.float64)
        weights = np.linalg.lstsq(columns, 1.0 - mine, rcond=None)[0]
        if np.abs(columns @ weights - (1 - mine)).max() < 1e-6:
            return [name for name, weight in zip(disjoint, weights, strict=True) if abs(weight) > 1e-6]
    return []


# The attack

PRIORS = ("known", "uniform")
OUTPUTS = ("chances", "class")


class AttributeInference:
    """Guess an attribute of people from a model that was trained on their records (Fredrikson et al. 2014, 2015).

    The adversary knows everything else about a person, including the true label, and may query the model. It puts every
    possible value v into the record and chooses

        argmax_v prior(v) · P(y | the model's answer for the record with v)

    P is the chance that the model gives to the true label (``output="chances"``, 2015), or, if the model only returns a
    class, how often records of the true label get that class (``output="class"``, 2014; from a confusion matrix of
    known others). A number is guessed in bins; the model is queried with the value nearest to the bin's typical one.

    Right guesses alone mean little: someone who knows everything else about a person often guesses the attribute
    without a model. So a second adversary, without the model, learns from `others` how the attribute relates to the
    other attributes and the label, in the strongest of four ways (see `Without` in `imputation`). `leak` is what the
    model adds to this. A third adversary combines both: it multiplies its chances without the model by the model's
    chance of the true label. All three attack members and, as a control, as many records that neither the model nor the
    adversary has seen.

    A column that is equivalent to the attacked one, or the rest of a one-hot encoding, is refused.

    Records count as independent; if a person has several, keep only one. A leak below 0 means that the model reveals no
    more than imputation does.

    Parameters
    ----------
    attribute : str, or list of str
        The attacked column (`x0`, `x1`, … of an array), or the one-hot columns of one attribute.
    priors : "known" or "uniform"
        The adversary's prior: the frequencies among known others, or equal chances.
    output : "chances" or "class"
        The part of the model's answer that it uses.
    bins : int
        The number of bins of a number.
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
        others : pair (X, y), other records from the same source; the adversary knows everything about at least half
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
        attacked, control, known = _split_records(*sides, self.random_state)
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
    """The adversary: the model, the values with their prior, and what it learned without the model."""

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
        """Return the model's chance of the true label for each record and value put into it."""
        labels = self.asked.labels(side.y)
        found = [
            self._chances_of_label(self.asked.chances(self.candidates.put(side.X, v)), labels)
            for v in range(self.candidates.size)
        ]
        return np.column_stack(found)

    def _chances_of_label(self, chances: Floats, labels: Codes) -> Floats:
        if self.confusion is None:
            return true_chance(chances, labels)
        return np.where(labels < 0, 0.0, self.confusion[labels, chances.argmax(axis=1)])


def _compute_confusion(asked: AskedModel, known: RecordSide) -> Floats:
    """Estimate how often records of each label get each class, with one pseudo-count each."""
    labels, guesses = asked.labels(known.y), asked.chances(known.X).argmax(axis=1)
    seen = labels >= 0
    counts = confusion(labels[seen], guesses[seen], len(asked.classes)) + 1
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _split_records(
    members: RecordSide, others: RecordSide, random_state: int
) -> tuple[RecordSide, RecordSide, RecordSide]:
    """Draw members to attack and as many others as a control; the remaining others, at least half, are learned from."""
    random = np.random.default_rng(random_state)
    many = min(len(members), len(others) // 2)
    first, second = random.permutation(len(members)), random.permutation(len(others))
    return members.some(np.sort(first[:many])), others.some(np.sort(second[:many])), others.some(np.sort(second[many:]))
