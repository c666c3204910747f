"""What attribute inference found: with the model, without it, and with both."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from modicum.attacks.result import Estimate
from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, bootstrap_interval, share_interval
from modicum.measures.scores import share_of
from modicum.table.values import plain
from modicum.typing import Codes, Floats


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
class AttributeInferenceResult:
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

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        return dict(plain(asdict(self)))


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
        right, guesses, true = (self._counts(codes, draws) for codes in (self._right(guess), guess, self.truth))
        precision = np.divide(right, guesses, out=np.zeros(self.size), where=guesses > 0)
        recall = np.divide(right, true, out=np.zeros(self.size), where=true > 0)
        if self.positive is not None:
            return float(precision[self.positive]), float(recall[self.positive])
        occurs = true > 0
        return (float(precision[occurs].mean()), float(recall[occurs].mean())) if occurs.any() else (0.0, 0.0)

    def _right(self, guess: Codes) -> Codes:
        return np.where(guess == self.truth, guess, -1)

    def _counts(self, codes: Codes, draws: Any) -> Floats:
        """How many records have each value; -1, which is none of them, is left out."""
        weights = None if draws is None else np.asarray(draws, dtype=np.float64)
        return np.bincount(codes + 1, weights, self.size + 1)[1:].astype(np.float64)

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
