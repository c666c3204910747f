"""The results of an attack, with their baselines."""

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

# A2: the adversary's most confident guesses [Staab24 §5, §8.1].

PERCENT = (1.0, 5.0, 10.0, 25.0, 50.0, 100.0)  # of the guesses, the most confident first


@dataclass(frozen=True)
class ConfidentResult(PlainResult):
    """The adversary's success on its most confident guesses (A2).

    Attributes
    ----------
    percent : the share of guesses about each attribute, most confident first
    records : the number of these guesses, for each attribute
    people : the smallest number of people for any attribute, if people have several records
    error, interval : the share of wrong guesses, averaged over the attributes, with its 95% interval
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
        """The attribute on which these guesses gain most over the naive guess."""
        return max(self.by_attribute, key=lambda name: self.naive_by_attribute[name] - self.by_attribute[name])


@dataclass(frozen=True)
class Guesses:
    """Every guess about one attribute: the record, its chance, and whether it and the naive guess are right."""

    rows: Codes
    chance: npt.NDArray[np.float32]
    right: Mask
    naive: Mask

    def some(self, chosen: Codes) -> "Guesses":
        """Return the chosen guesses."""
        return Guesses(self.rows[chosen], self.chance[chosen], self.right[chosen], self.naive[chosen])

    def rank_guesses(self, random_state: int) -> Codes:
        """Order the guesses from most to least confident, ties in a seeded random order."""
        ties = np.random.default_rng(random_state).permutation(len(self.chance))
        return np.lexsort((ties, -self.chance.astype(np.float64)))


def most_confident(result: "AttackResult", percent: Sequence[float]) -> list[ConfidentResult]:
    """Compute the error on the k% most confident guesses about each attribute, averaged over attributes, for each k."""
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
    """Return the n most confident guesses about one attribute or all, ordered by their rank within the attribute."""
    if attribute is not None and attribute not in guesses:
        raise ParameterError(f"The attribute {attribute!r} was not attacked. Choose one of {format_names(guesses)}.")
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
    """Convert the percentages to floats; refuse anything that is not a number above 0, up to 100."""
    values = list(percent) if isinstance(percent, Iterable) and not isinstance(percent, str) else []
    is_number = all(isinstance(k, int | float | np.number) and not isinstance(k, bool) for k in values)
    if not values or not is_number or not all(0 < k <= 100 for k in values):
        raise ParameterError(f"The 'percent' parameter must list numbers above 0, up to 100. Got {percent!r} instead.")
    return [float(k) for k in values]


def _mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return float(sum(weights[name] * value for name, value in values.items()))


def _people(rows: Codes, persons: Codes | None) -> int:
    return len(np.unique(rows if persons is None else persons[rows]))


def _interval(result: "AttackResult", chosen: Mapping[str, Guesses], error: float) -> Interval:
    """Resample the records (whole persons); if resamples agree or are too few, use the interval of a plain mean."""
    persons = result.persons
    rows = np.unique(np.concatenate([each.rows for each in chosen.values()]))
    units = renumber_units(persons, rows)
    counts = _count_guesses(chosen, rows)
    if len(chosen) == 1:
        return mean_interval(counts[:, 1] / counts[:, 0], units)
    shares = np.array([result.weights[name] for name in chosen])

    def resampled(draws: Any) -> float:
        totals = draws @ counts
        return float(np.sum(shares * totals[1::2] / np.maximum(totals[::2], 1)))

    if _people(rows, persons) >= ENOUGH_UNITS:
        low, high = Resampling(len(rows), units, random_state=result.random_state).interval(resampled)
        if low < high:
            return low, high
    first = np.unique(next(iter(chosen.values())).rows)  # at most the guesses about one attribute
    return mean_interval(np.full(len(first), error), renumber_units(persons, first))


def _count_guesses(chosen: Mapping[str, Guesses], rows: Codes) -> Floats:
    """Count the chosen guesses, and the wrong ones, for each of these records and each attribute."""
    table = np.zeros((len(rows), 2 * len(chosen)))
    for i, each in enumerate(chosen.values()):
        place = np.searchsorted(rows, each.rows)
        table[:, 2 * i] = np.bincount(place, minlength=len(rows))
        table[:, 2 * i + 1] = np.bincount(place, weights=~each.right, minlength=len(rows))
    return table


# The result of an attack


@dataclass(frozen=True)
class AttributeResult:
    """The adversary's success on one attribute.

    Attributes
    ----------
    error : share of records whose value it guesses wrong
    interval : 95% interval of the error
    naive : the error of always guessing the most frequent known value
    raw : the error on raw data
    values : the number of possible values
    method : the strongest model on known data

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
        """The share of records that it guesses right beyond the naive guess."""
        return self.naive - self.error


class Aggregate(TypedDict):
    """An error over the attributes, with that of the naive guess; `attribute` is None for the mean."""

    error: float
    naive: float
    attribute: str | None


@dataclass(frozen=True)
class AttackResult(PlainResult):
    """The adversary's success, for each attribute and on average.

    Attributes
    ----------
    adversary : which of the paper's adversaries, A1 to A6
    error : mean share of wrong guesses over the attributes [Staab24 §5]; higher is more private
    interval : 95% interval of the error
    naive, raw : the same mean for the naive guess and for raw data
    by_attribute : attribute → `AttributeResult`
    weights : attribute → its share in the mean
    records : the number of attacked records
    known : the number of records that the adversary learned from
    random_state, seconds : the seed, and the work time summed over the questions

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
        """The attribute, with a weight above 0, on which the adversary gains most over the naive guess."""
        counted = [name for name, weight in self.weights.items() if weight > 0]
        return max(counted, key=lambda name: self.by_attribute[name].gain)

    @property
    def aggregates(self) -> dict[str, Aggregate]:
        """The mean, max and min error over the attributes [Staab24 §8.2], with the attributes of max and min."""
        errors = {name: result.error for name, result in self.by_attribute.items()}
        most, least = max(errors, key=lambda name: errors[name]), min(errors, key=lambda name: errors[name])
        return {
            "mean": {"error": self.error, "naive": self.naive, "attribute": None},
            "max": {"error": errors[most], "naive": self.by_attribute[most].naive, "attribute": most},
            "min": {"error": errors[least], "naive": self.by_attribute[least].naive, "attribute": least},
        }

    def confident(self, percent: Sequence[float] = PERCENT) -> list[ConfidentResult]:
        """Compute the error on the k% most confident guesses about each attribute (A2, [Staab24 §8.1]).

        The confidence of a guess is its chance among the possible values. For each attribute, the ⌈k% · n⌉ highest of n
        guesses count. Records with the same buckets have the same chance; ties at the limit are broken in a seeded
        random order.

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
        """Return the most confident guesses, with their records and attributes.

        For the team only: reports never name rows.

        Parameters
        ----------
        n : int
        attribute : one attribute; by default all

        Returns
        -------
        frame with `row` (position among the breached records), `attribute`, `chance` (the adversary's estimate that the
        guess is right), `percent` (the share of its guesses about that attribute that are at least as confident) and
        `right`; sorted by `percent`, then by chance.
        """
        self._check_single()
        return find_most_exposed(self.guesses, n, attribute, self.random_state)

    def _check_single(self) -> None:
        if not self.guesses:
            raise ParameterError(
                "The breach was counted in an engine, so there are no single guesses. Attack a sample in memory."
            )


# A measured number with its interval and baseline.


@dataclass(frozen=True)
class Estimate:
    """A measured value, its 95% interval, and the value without any attack.

    Attributes
    ----------
    value : None if the data is too small, or if there is nothing to divide by
    interval : None if there is no value
    naive : the baseline, or None
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
        naive = "" if self.naive is None else f"; naive {self.naive:.3f}"
        return f"{self.value:.3f} ({self.interval[0]:.3f} to {self.interval[1]:.3f}{naive})"
