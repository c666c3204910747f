"""What an attack found, always beside what it is compared to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import ParameterError, format_names
from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, mean_interval
from modicum.measures.scores import renumber_units
from modicum.table.plain_data import LEFT_OUT, PlainResult
from modicum.typing import Codes, Floats, Mask

# A2: the guesses that an adversary is most confident of [Staab24 §5, §8.1].

PERCENT = (1.0, 5.0, 10.0, 25.0, 50.0, 100.0)  # of the guesses, the most confident first


@dataclass(frozen=True)
class ConfidentResult(PlainResult):
    """The adversary's success on the guesses it is most confident of (A2).

    Attributes
    ----------
    percent : how many of its guesses about each attribute, the most confident first
    records : how many guesses about each attribute that are
    people : of how many people at least, where one has several records
    error, interval : mean share of wrong ones over the attributes, with its 95% interval
    naive, raw : the same mean for the naive guess about the same records, and for raw data
    by_attribute : attribute → error
    naive_by_attribute : attribute → error of the naive guess about the same records

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "race", "sex"]]
    >>> g = md.Uniform(buckets=2).fit(X[:2_000]).generalization_
    >>> found = md.attacks.Reconstruction(personal=["sex"]).run(g, known=X[:2_000], breached=X[2_000:3_000])
    >>> surest = found.confident([1])[0]
    >>> surest.percent, surest.records, surest.error <= found.error
    (1.0, 10, True)
    """

    percent: float
    records: int
    people: int
    error: float
    interval: Interval
    naive: float
    raw: float
    by_attribute: dict[str, float]
    naive_by_attribute: dict[str, float]

    _properties = ("worst",)

    @property
    def worst(self) -> str:
        """The attribute about which these guesses gain most over the naive one."""
        return max(self.by_attribute, key=lambda name: self.naive_by_attribute[name] - self.by_attribute[name])


@dataclass(frozen=True)
class Guesses:
    """Every guess about one attribute: of which record, how sure, and whether it and the naive guess are right."""

    rows: Codes
    chance: npt.NDArray[np.float32]
    right: Mask
    naive: Mask

    def some(self, chosen: Codes) -> "Guesses":
        """The chosen ones."""
        return Guesses(self.rows[chosen], self.chance[chosen], self.right[chosen], self.naive[chosen])

    def rank_guesses(self, random_state: int) -> Codes:
        """The guesses from the most to the least confident; equally confident ones in a seeded random order."""
        ties = np.random.default_rng(random_state).permutation(len(self.chance))
        return np.lexsort((ties, -self.chance.astype(np.float64)))


def most_confident(result: "AttackResult", percent: Sequence[float]) -> list[ConfidentResult]:
    """The error on the k% most confident guesses about each attribute, mean over the attributes, for every k."""
    order = {name: each.rank_guesses(result.random_state) for name, each in result.guesses.items()}
    total = len(next(iter(order.values())))
    found = []
    for k in percent:
        many = max(1, int(np.ceil(k / 100 * total - 1e-9)))
        chosen = {name: result.guesses[name].some(ranked[:many]) for name, ranked in order.items()}
        errors = {name: float(np.mean(~each.right)) for name, each in chosen.items()}
        naive = {name: float(np.mean(~each.naive)) for name, each in chosen.items()}
        error = _mean(errors, result.weights)
        found.append(
            ConfidentResult(
                percent=k,
                records=many,
                people=min(_people(each.rows, result.persons) for each in chosen.values()),
                error=error,
                interval=_interval(result, chosen, error),
                naive=_mean(naive, result.weights),
                raw=0.0,
                by_attribute=errors,
                naive_by_attribute=naive,
            )
        )
    return found


def find_most_exposed(guesses: Mapping[str, Guesses], n: int, attribute: str | None, random_state: int) -> pd.DataFrame:
    """The n most confident guesses about one attribute or all, the highest in the rank of their attribute first."""
    if attribute is not None and attribute not in guesses:
        raise ParameterError(f"The attribute {attribute!r} was not guessed, only {format_names(guesses)}.")
    found = []
    for name in guesses if attribute is None else [attribute]:
        each = guesses[name]
        first = each.rank_guesses(random_state)[:n]
        at_least = np.searchsorted(np.sort(-each.chance), -each.chance[first], side="right")
        columns = {
            "row": each.rows[first],
            "attribute": name,
            "chance": each.chance[first],
            "percent": 100 * at_least / len(each.chance),
            "right": each.right[first],
        }
        found.append(pd.DataFrame(columns))
    everyone = pd.concat(found, ignore_index=True)
    ranked = everyone.sort_values(["percent", "chance"], ascending=[True, False], kind="stable")
    return ranked[:n].reset_index(drop=True)


def check_percent(percent: Sequence[float]) -> list[float]:
    """The percentages as floats; what is none, or beyond 0 and 100, is refused."""
    asked = list(percent) if isinstance(percent, Iterable) and not isinstance(percent, str) else []
    is_number = all(isinstance(k, int | float | np.number) and not isinstance(k, bool) for k in asked)
    if not asked or not is_number or not all(0 < k <= 100 for k in asked):
        raise ParameterError(f"The 'percent' parameter must list numbers above 0, up to 100. Got {percent!r} instead.")
    return [float(k) for k in asked]


def _mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return float(sum(weights[name] * value for name, value in values.items()))


def _people(rows: Codes, persons: Codes | None) -> int:
    return len(np.unique(rows if persons is None else persons[rows]))


def _interval(result: "AttackResult", chosen: Mapping[str, Guesses], error: float) -> Interval:
    """By resampling the records (whole persons); that of a plain mean where the resamples agree or are too few."""
    persons = result.persons
    shown = np.unique(np.concatenate([each.rows for each in chosen.values()]))
    units = renumber_units(persons, shown)
    taken = _count_taken(chosen, shown)
    if len(chosen) == 1:
        return mean_interval(taken[:, 1] / taken[:, 0], units)
    shares = np.array([result.weights[name] for name in chosen])

    def resampled(draws: Any) -> float:
        counted = draws @ taken
        return float(np.sum(shares * counted[1::2] / np.maximum(counted[::2], 1)))

    if _people(shown, persons) >= ENOUGH_UNITS:
        low, high = Resampling(len(shown), units, random_state=result.random_state).interval(resampled)
        if low < high:
            return low, high
    first = np.unique(next(iter(chosen.values())).rows)  # no more than there are guesses about one attribute
    return mean_interval(np.full(len(first), error), renumber_units(persons, first))


def _count_taken(chosen: Mapping[str, Guesses], shown: Codes) -> Floats:
    """For each record shown and each attribute, how many guesses are taken, and how many of them are wrong."""
    table = np.zeros((len(shown), 2 * len(chosen)))
    for i, each in enumerate(chosen.values()):
        place = np.searchsorted(shown, each.rows)
        table[:, 2 * i] = np.bincount(place, minlength=len(shown))
        table[:, 2 * i + 1] = np.bincount(place, weights=~each.right, minlength=len(shown))
    return table


# What an attack found


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


class Aggregate(TypedDict):
    """An error over the attributes and the naive guess's; `attribute` is None for the mean."""

    error: float
    naive: float
    attribute: str | None


@dataclass(frozen=True)
class AttackResult(PlainResult):
    """The adversary's success, mean over attributes and for each.

    Attributes
    ----------
    adversary : which of the paper's adversaries, A1 to A6
    error : mean share of wrong guesses over the attributes [Staab24 §5]; higher is more private
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
    guesses: dict[str, Guesses] = field(repr=False, compare=False, metadata=LEFT_OUT)
    persons: Codes | None = field(repr=False, compare=False, metadata=LEFT_OUT)

    _properties = ("worst", "aggregates")

    @property
    def worst(self) -> str:
        """The attribute about which the adversary gains most over the naive guess, of those that count in the mean."""
        counted = [name for name, weight in self.weights.items() if weight > 0]
        return max(counted, key=lambda name: self.by_attribute[name].gain)

    @property
    def aggregates(self) -> dict[str, Aggregate]:
        """The error as mean, max and min over the attributes [Staab24 §8.2], and whose the latter two are."""
        errors = {name: result.error for name, result in self.by_attribute.items()}
        most, least = max(errors, key=lambda name: errors[name]), min(errors, key=lambda name: errors[name])
        return {
            "mean": {"error": self.error, "naive": self.naive, "attribute": None},
            "max": {"error": errors[most], "naive": self.by_attribute[most].naive, "attribute": most},
            "min": {"error": errors[least], "naive": self.by_attribute[least].naive, "attribute": least},
        }

    def confident(self, percent: Sequence[float] = PERCENT) -> list[ConfidentResult]:
        """The error on the k% guesses of each attribute that the adversary is most confident of (A2, [Staab24 §8.1]).

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
        return most_confident(self, check_percent(percent))

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
        return find_most_exposed(self.guesses, n, attribute, self.random_state)

    def _check_single(self) -> None:
        if not self.guesses:
            raise ParameterError(
                "The breach was counted in an engine, so that there are no single guesses; attack a sample in memory."
            )


# A measured number with its interval and what it is compared to.


@dataclass(frozen=True)
class Estimate:
    """What was found, between which ends it lies at 95%, and what an adversary without any attack would reach.

    Attributes
    ----------
    value : None where the data is too small to tell, or where there is nothing to divide by
    interval : None where there is no value
    naive : the baseline; None where it has none
    reason : why there is no value

    Examples
    --------
    >>> from modicum.attacks import Estimate
    >>> print(Estimate(0.61, (0.58, 0.64), naive=0.5))
    0.610 (0.580 to 0.640; naive 0.500)
    >>> print(Estimate(None, None, reason="too few records"))
    unknown: too few records
    """

    value: float | None
    interval: Interval | None
    naive: float | None = None
    reason: str | None = None

    def __str__(self) -> str:
        if self.value is None or self.interval is None:
            return f"unknown: {self.reason}"
        beside = "" if self.naive is None else f"; naive {self.naive:.3f}"
        return f"{self.value:.3f} ({self.interval[0]:.3f} to {self.interval[1]:.3f}{beside})"
