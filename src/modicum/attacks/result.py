"""What an attack found, always beside what it is compared to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import ParameterError
from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, mean_interval
from modicum.table.values import Codes, plain

PERCENT = (1.0, 5.0, 10.0, 25.0, 50.0, 100.0)  # of the records, the most confident guesses first


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
class ConfidentResult:
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

    @property
    def worst(self) -> str:
        """The attribute about which these guesses gain most over the naive one."""
        return max(self.by_attribute, key=lambda name: self.naive_by_attribute[name] - self.by_attribute[name])

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return dict(plain(asdict(self) | {"worst": self.worst}))


@dataclass(frozen=True)
class Guesses:
    """Every guess about one attribute: of which record, how sure, and whether it and the naive guess are right."""

    rows: Codes
    chance: npt.NDArray[np.float32]
    right: npt.NDArray[np.bool_]
    naive: npt.NDArray[np.bool_]

    def ranked(self, random_state: int) -> Codes:
        """The guesses from the most to the least confident; equally confident ones in a seeded random order."""
        ties = np.random.default_rng(random_state).permutation(len(self.chance))
        return np.lexsort((ties, -self.chance.astype(np.float64)))


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
        asked = check_percent(percent)
        order = {name: guesses.ranked(self.random_state) for name, guesses in self.guesses.items()}
        return [self._most_confident(k, order) for k in asked]

    def _most_confident(self, percent: float, order: Mapping[str, Codes]) -> ConfidentResult:
        many = max(1, int(np.ceil(percent / 100 * len(next(iter(order.values()))) - 1e-9)))
        chosen = {name: ranked[:many] for name, ranked in order.items()}
        wrong = {name: ~self.guesses[name].right[rows] for name, rows in chosen.items()}
        naive = {name: float(np.mean(~self.guesses[name].naive[rows])) for name, rows in chosen.items()}
        errors = {name: float(hits.mean()) for name, hits in wrong.items()}
        taken = np.zeros((self.records, 2 * len(chosen)))
        for i, (name, rows) in enumerate(chosen.items()):
            of_row = self.guesses[name].rows[rows]
            taken[:, 2 * i] = np.bincount(of_row, minlength=self.records)
            taken[:, 2 * i + 1] = np.bincount(of_row, weights=wrong[name], minlength=self.records)
        return ConfidentResult(
            percent=percent,
            records=many,
            people=min(self._people(self.guesses[name].rows[rows]) for name, rows in chosen.items()),
            error=self._mean(errors),
            interval=self._interval(taken, self._mean(errors)),
            naive=self._mean(naive),
            raw=0.0,
            by_attribute=errors,
            naive_by_attribute=naive,
        )

    def _people(self, rows: Codes) -> int:
        return len(np.unique(rows if self.persons is None else self.persons[rows]))

    def _mean(self, values: Mapping[str, float]) -> float:
        return float(sum(self.weights[name] * value for name, value in values.items()))

    def _interval(self, taken: npt.NDArray[np.float64], error: float) -> Interval:
        """By resampling the records (whole persons); that of a plain mean where the resamples agree or are too few."""
        weights = np.array(list(self.weights.values()))

        def resampled(draws: Any) -> float:
            counted = draws @ taken
            return float(np.sum(weights * counted[1::2] / np.maximum(counted[::2], 1)))

        shown = np.flatnonzero(taken[:, ::2].sum(axis=1))
        persons = None if self.persons is None else np.unique(self.persons[shown], return_inverse=True)[1]
        if len(weights) == 1:
            return mean_interval((taken[shown, 1] / taken[shown, 0]), persons)
        if self._people(shown) >= ENOUGH_UNITS:
            resampling = Resampling(self.records, self.persons, random_state=self.random_state)
            low, high = resampling.interval(resampled)
            if low < high:
                return low, high
        few = shown[: int(taken[:, 0].sum())]  # as many as there are guesses about one attribute
        some = None if self.persons is None else np.unique(self.persons[few], return_inverse=True)[1]
        return mean_interval(np.full(len(few), error), some)

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
        if attribute is not None and attribute not in self.guesses:
            raise ParameterError(f"The attribute {attribute!r} was not guessed; these were: {', '.join(self.guesses)}.")
        found = []
        for name in self.guesses if attribute is None else [attribute]:
            guesses = self.guesses[name]
            first = guesses.ranked(self.random_state)[:n]
            at_least = np.searchsorted(np.sort(-guesses.chance), -guesses.chance[first], side="right")
            found.append(
                pd.DataFrame(
                    {
                        "row": guesses.rows[first],
                        "attribute": name,
                        "chance": guesses.chance[first],
                        "percent": 100 * at_least / len(guesses.chance),
                        "right": guesses.right[first],
                    }
                )
            )
        everyone = pd.concat(found, ignore_index=True)
        return everyone.sort_values(["percent", "chance"], ascending=[True, False], kind="stable")[:n].reset_index(
            drop=True
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        names = [f.name for f in fields(self) if f.name not in ("guesses", "persons", "by_attribute")]
        content = {name: getattr(self, name) for name in names}
        content["by_attribute"] = {name: asdict(result) for name, result in self.by_attribute.items()}
        return dict(plain(content | {"worst": self.worst, "aggregates": self.aggregates}))


def check_percent(percent: Sequence[float]) -> list[float]:
    """The percentages as floats; what is none, or beyond 0 and 100, is refused."""
    asked = list(percent) if isinstance(percent, Iterable) and not isinstance(percent, str) else []
    is_number = all(isinstance(k, int | float | np.number) and not isinstance(k, bool) for k in asked)
    if not asked or not is_number or not all(0 < k <= 100 for k in asked):
        raise ParameterError(f"The 'percent' parameter must list numbers above 0, up to 100. Got {percent!r} instead.")
    return [float(k) for k in asked]
