"""A2: the guesses that an adversary is most confident of (papers/0 §5, §8.1)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import ParameterError, quoted
from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, mean_interval
from modicum.table.values import Codes, plain

PERCENT = (1.0, 5.0, 10.0, 25.0, 50.0, 100.0)  # of the guesses, the most confident first


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

    def some(self, chosen: Codes) -> "Guesses":
        """The chosen ones."""
        return Guesses(self.rows[chosen], self.chance[chosen], self.right[chosen], self.naive[chosen])

    def ranked(self, random_state: int) -> Codes:
        """The guesses from the most to the least confident; equally confident ones in a seeded random order."""
        ties = np.random.default_rng(random_state).permutation(len(self.chance))
        return np.lexsort((ties, -self.chance.astype(np.float64)))


def most_confident(
    guesses: Mapping[str, Guesses],
    weights: Mapping[str, float],
    persons: Codes | None,
    percent: Sequence[float],
    random_state: int,
) -> list[ConfidentResult]:
    """The error on the k% most confident guesses about each attribute, mean over the attributes, for every k."""
    order = {name: each.ranked(random_state) for name, each in guesses.items()}
    total = len(next(iter(order.values())))
    found = []
    for k in percent:
        many = max(1, int(np.ceil(k / 100 * total - 1e-9)))
        chosen = {name: guesses[name].some(ranked[:many]) for name, ranked in order.items()}
        errors = {name: float(np.mean(~each.right)) for name, each in chosen.items()}
        naive = {name: float(np.mean(~each.naive)) for name, each in chosen.items()}
        error = _mean(errors, weights)
        found.append(
            ConfidentResult(
                percent=k,
                records=many,
                people=min(_people(each.rows, persons) for each in chosen.values()),
                error=error,
                interval=_interval(chosen, weights, persons, error, random_state),
                naive=_mean(naive, weights),
                raw=0.0,
                by_attribute=errors,
                naive_by_attribute=naive,
            )
        )
    return found


def most_exposed(guesses: Mapping[str, Guesses], n: int, attribute: str | None, random_state: int) -> pd.DataFrame:
    """The n most confident guesses about one attribute or all, the highest in the rank of their attribute first."""
    if attribute is not None and attribute not in guesses:
        raise ParameterError(f"The attribute {attribute!r} was not guessed, only {quoted(guesses)}.")
    found = []
    for name in guesses if attribute is None else [attribute]:
        each = guesses[name]
        first = each.ranked(random_state)[:n]
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


def _interval(
    chosen: Mapping[str, Guesses], weights: Mapping[str, float], persons: Codes | None, error: float, random_state: int
) -> Interval:
    """By resampling the records (whole persons); that of a plain mean where the resamples agree or are too few."""
    shown = np.unique(np.concatenate([each.rows for each in chosen.values()]))
    units = None if persons is None else np.unique(persons[shown], return_inverse=True)[1]
    taken = _taken(chosen, shown)
    if len(chosen) == 1:
        return mean_interval(taken[:, 1] / taken[:, 0], units)
    shares = np.array([weights[name] for name in chosen])

    def resampled(draws: Any) -> float:
        counted = draws @ taken
        return float(np.sum(shares * counted[1::2] / np.maximum(counted[::2], 1)))

    if _people(shown, persons) >= ENOUGH_UNITS:
        low, high = Resampling(len(shown), units, random_state=random_state).interval(resampled)
        if low < high:
            return low, high
    first = np.unique(next(iter(chosen.values())).rows)  # no more than there are guesses about one attribute
    of_first = None if persons is None else np.unique(persons[first], return_inverse=True)[1]
    return mean_interval(np.full(len(first), error), of_first)


def _taken(chosen: Mapping[str, Guesses], shown: Codes) -> npt.NDArray[np.float64]:
    """For each record shown and each attribute, how many guesses are taken, and how many of them are wrong."""
    table = np.zeros((len(shown), 2 * len(chosen)))
    for i, each in enumerate(chosen.values()):
        place = np.searchsorted(shown, each.rows)
        table[:, 2 * i] = np.bincount(place, minlength=len(shown))
        table[:, 2 * i + 1] = np.bincount(place, weights=~each.right, minlength=len(shown))
    return table
