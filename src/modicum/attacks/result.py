"""What an attack found, always beside what it is compared to."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pandas as pd

from modicum.attacks.confidence import PERCENT, ConfidentResult, Guesses, check_percent, most_confident, most_exposed
from modicum.errors import ParameterError
from modicum.measures.intervals import Interval
from modicum.table.values import Codes, plain


@dataclass(frozen=True)
class AttributeResult:
    """The adversary's success on one attribute.

    Attributes
    ----------
    error : share of records whose value it guesses wrong
    interval : 95% interval of the error
    naive : the error of always guessing the most frequent known value
    raw : the error on raw data
    values : how many values there are to choose from
    method : the model that was strongest on known data

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "race", "sex"]]
    >>> g = md.Uniform(buckets=2).fit(X[:2_000]).generalization_
    >>> found = md.attacks.Reconstruction(personal=["sex"]).run(g, known=X[:2_000], breached=X[2_000:3_000])
    >>> sex = found.by_attribute["sex"]
    >>> sex.raw, sex.gain == sex.naive - sex.error
    (0.0, True)
    """

    error: float
    interval: Interval
    naive: float
    raw: float
    values: int
    method: str

    @property
    def gain(self) -> float:
        """How many more records it gets right than the naive guess, as a share of all."""
        return self.naive - self.error


@dataclass(frozen=True)
class AttackResult:
    """The adversary's success, mean over attributes and for each.

    Attributes
    ----------
    adversary : which of the paper's adversaries, A1 to A6
    error : mean share of wrong guesses over the attributes (papers/0 §5); higher is more private
    interval : 95% interval of the error
    naive, raw : the same mean for the naive guess and for raw data
    by_attribute : attribute → `AttributeResult`
    weights : attribute → its share in the mean
    records : how many breached records were attacked
    known : how many records the adversary learned from
    random_state, seconds : the seed, and how long the work took, added up over the questions

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "race", "sex"]]
    >>> g = md.Uniform(buckets=2).fit(X[:2_000]).generalization_
    >>> found = md.attacks.Reconstruction(personal=["age"]).run(g, known=X[:2_000], breached=X[2_000:3_000])
    >>> found.adversary, found.worst, found.records, found.known
    ('A1', 'age', 1000, 2000)
    >>> found.raw < found.error < found.naive
    True
    """

    adversary: str
    error: float
    interval: Interval
    naive: float
    raw: float
    by_attribute: dict[str, AttributeResult]
    weights: dict[str, float]
    records: int
    known: int
    random_state: int
    seconds: float
    guesses: dict[str, Guesses] = field(repr=False, compare=False)
    persons: Codes | None = field(repr=False, compare=False)

    @property
    def worst(self) -> str:
        """The attribute about which the adversary gains most over the naive guess, of those that count in the mean."""
        counted = [name for name, weight in self.weights.items() if weight > 0]
        return max(counted, key=lambda name: self.by_attribute[name].gain)

    @property
    def aggregates(self) -> dict[str, dict[str, Any]]:
        """The error as mean, max and min over the attributes (papers/0 §8.2), and whose the latter two are."""
        errors = {name: result.error for name, result in self.by_attribute.items()}
        most, least = max(errors, key=lambda name: errors[name]), min(errors, key=lambda name: errors[name])
        return {
            "mean": {"error": self.error, "naive": self.naive, "attribute": None},
            "max": {"error": errors[most], "naive": self.by_attribute[most].naive, "attribute": most},
            "min": {"error": errors[least], "naive": self.by_attribute[least].naive, "attribute": least},
        }

    def confident(self, percent: Sequence[float] = PERCENT) -> list[ConfidentResult]:
        """The error on the k% guesses of each attribute that the adversary is most confident of (A2, papers/0 §8.1).

        The confidence of a guess is its chance among the values that are possible, and counts relative to all guesses
        about that attribute: the k% highest are taken, ⌈k% · n⌉ of n. Records with the same buckets have the same
        chance; those that tie at the limit are taken in a random order that the seed fixes.

        Parameters
        ----------
        percent : numbers above 0, up to 100

        Examples
        --------
        >>> import modicum as md
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> g = md.PrivacyTree(max_leaves=4).fit(X[:9_000], y[:9_000]).generalization_
        >>> result = md.attacks.Reconstruction(personal=["race", "sex"]).run(g, X[:9_000], X[9_000:12_000])
        >>> sure, all_of_them = result.confident([10, 100])
        >>> sure.error < all_of_them.error, sure.records
        (True, 300)
        """
        self._check_single()
        return most_confident(self.guesses, self.weights, self.persons, check_percent(percent), self.random_state)

    def exposed(self, n: int = 10, attribute: str | None = None) -> pd.DataFrame:
        """The guesses that the adversary is most confident of: whose they are, and about what.

        For the team alone: rows are never named in a report.

        Parameters
        ----------
        n : int
        attribute : one attribute; all of them by default

        Returns
        -------
        frame with `row` (position among the breached records), `attribute`, `chance` (that the guess is right, as the
        adversary sees it), `percent` (so many of its guesses about that attribute are at least as confident) and
        `right`; sorted by `percent`, then by chance.
        """
        self._check_single()
        return most_exposed(self.guesses, n, attribute, self.random_state)

    def _check_single(self) -> None:
        if not self.guesses:
            raise ParameterError(
                "The breach was counted in an engine, so that there are no single guesses; attack a sample in memory."
            )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        names = [f.name for f in fields(self) if f.name not in ("guesses", "persons", "by_attribute")]
        content = {name: getattr(self, name) for name in names}
        content["by_attribute"] = {name: asdict(result) for name, result in self.by_attribute.items()}
        return dict(plain(content | {"worst": self.worst, "aggregates": self.aggregates}))
