"""Count people who are unique in some columns, among the records and in a whole population.

The group sizes of equal records in the sample are modelled as a draw from Pitman's partition model with 0 ≤ α < 1 and
θ > −α, fitted by maximum likelihood (Hoshino, Journal of Official Statistics 17(4), 2001). For n records in D groups
of sizes n_j,

    L = Π_{i=1}^{D−1} (θ + iα) / Π_{i=1}^{n−1} (θ + i) · Π_j Π_{i=1}^{n_j−1} (i − α),

Given the sample, a person who is unique in it is also unique among N people with chance

    s = Π_{i=n}^{N−1} (θ + α + i − 1) / (θ + i),

and each of the other N − n people is unique with chance

    q = (θ + αD) / (θ + N − 1) · Π_{i=n}^{N−2} (θ + α + i) / (θ + i),

the chance that the last of them starts a new group. With u unique people in the sample, the expected number is
u·s + (N − n)·q. It is a rough estimate: on the surveys tested it was more often too high than too low, by up to a
factor of four, and by more where few different records are possible. The interval, from resampling, does not cover
this error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from modicum.errors import ParameterError
from modicum.measures.anonymity import count_group_values, number_equal_rows
from modicum.measures.intervals import LEVEL, Interval, mean_interval
from modicum.table.frames import as_frame
from modicum.table.plain_data import PlainResult
from modicum.typing import Codes, Floats, Ints

_DRAWS = 100
_MOST = 10**12
_STARTS = ([0.0, 3.0], [-2.0, 5.0], [2.0, 1.0])


@dataclass(frozen=True)
class Uniqueness(PlainResult):
    """The expected number of unique people in a population.

    Attributes
    ----------
    population : N
    fraction : the sample's share of the population
    unique : the expected number of the N people who share their record with nobody
    interval : the middle 95% of the estimates when groups are drawn again with replacement; it does not cover an error
        of the model
    of_sample : the expected number of the sample's records that are unique among all N

    Examples
    --------
    >>> from modicum.measures import expected_uniques
    >>> found = expected_uniques([400, 300, 200, 60, 20, 10, 5, 2, 1, 1, 1], population=10_000)
    >>> found.population, found.fraction, found.interval[0] <= found.unique <= found.interval[1]
    (10000, 0.1, True)
    """

    population: int
    fraction: float
    unique: float
    interval: Interval
    of_sample: float


def check_population(population: Any, people: int) -> None:
    """Refuse a population smaller than its sample or larger than 10¹²."""
    if (
        isinstance(population, bool)
        or not isinstance(population, int | np.integer)
        or not people <= population <= _MOST
    ):
        raise ParameterError(
            f"The 'population' parameter must be an int of at least the {people:,} people in the data, and at most "
            f"{_MOST:,}. Got {population!r} instead."
        )


def expected_uniques(sizes: Any, population: int, random_state: int = 0, *, possible: int | None = None) -> Uniqueness:
    """Estimate the number of unique people in a population, from the group sizes in a sample of it.

    Parameters
    ----------
    sizes : the number of people in each group of equal records of the sample
    population : N, at least the number of people in the sample
    possible : the number of different records that can exist, if known; it limits the number of unique people

    Examples
    --------
    >>> from modicum.measures import expected_uniques
    >>> found = expected_uniques([400, 300, 200, 60, 20, 10, 5, 2, 1, 1, 1], population=10_000)
    >>> found.fraction, 0 < found.of_sample < 3, 1 < found.unique < 30
    (0.1, True, True)
    """
    counts = np.asarray(sizes)
    if counts.ndim != 1 or not len(counts) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise ParameterError("The 'sizes' parameter must list how many people each group has, ints ≥ 1.")
    return estimate_uniques(np.unique(counts, return_counts=True), population, random_state, possible)


def estimate_uniques(
    counted: tuple[Ints, Ints], population: int, random_state: int, possible: int | None = None
) -> Uniqueness:
    """Compute the same from the different group sizes and the number of groups of each size.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.uniqueness import estimate_uniques
    >>> estimate_uniques((np.array([1, 5, 400]), np.array([3, 1, 2])), population=808, random_state=0).unique
    3.0
    """
    sizes, often = counted
    n = int((sizes * often).sum())
    check_population(population, n)
    most = population if possible is None else min(possible, population)
    point = _fit_parameters(sizes, often, _STARTS)
    unique, of_sample = (min(most, float(found)) for found in _compute_uniques(sizes, often, point, int(population)))
    random = np.random.default_rng(random_state)
    drawn = [unique]
    for _ in range(_DRAWS if n < population else 0):
        again = random.multinomial(often.sum(), often / often.sum())
        scale = n / (sizes * again).sum()
        fitted = _fit_parameters(sizes, again, [point])
        drawn.append(min(most, scale * _compute_uniques(sizes, again, fitted, round(population / scale))[0]))
    ends = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Uniqueness(
        population=int(population),
        fraction=n / population,
        unique=unique,
        interval=(min(float(ends[0]), unique), max(float(ends[1]), unique)),
        of_sample=of_sample,
    )


def _compute_uniques(sizes: Ints, often: Ints, point: Floats, population: int) -> tuple[float, float]:
    """Return the expected number of unique people among all N, and among those in the sample."""
    from scipy.special import gammaln

    n, groups = int((sizes * often).sum()), int(often.sum())
    alone = int(often[sizes == 1].sum())
    if population <= n:
        return float(alone), float(alone)
    alpha, theta = _parameters(point)
    last = population - 1
    stays = (
        gammaln(theta + alpha + last) - gammaln(theta + alpha + n - 1) - gammaln(theta + last + 1) + gammaln(theta + n)
    )
    grown = gammaln(theta + alpha + last) - gammaln(theta + alpha + n) - gammaln(theta + last) + gammaln(theta + n)
    new = np.exp(np.log(theta + alpha * groups) - np.log(theta + last) + grown)
    of_sample = alone * min(1.0, float(np.exp(stays)))  # at most 1, whatever gammaln loses on large numbers
    return of_sample + (population - n) * float(new), of_sample


def _fit_parameters(size: Ints, often: Ints, starts: Sequence[Any]) -> Floats:
    """Fit α and θ by maximum likelihood; return them as the free numbers of `_parameters`."""
    from scipy.optimize import minimize
    from scipy.special import gammaln

    n, groups = int((size * often).sum()), int(often.sum())

    def unlikely(point: Floats) -> float:
        alpha, theta = _parameters(point)
        started = (groups - 1) * np.log(alpha) + gammaln(theta / alpha + groups) - gammaln(theta / alpha + 1)
        spread = gammaln(theta + n) - gammaln(theta + 1)
        return float(spread - started - np.sum(often * (gammaln(size - alpha) - gammaln(1 - alpha))))

    options = {"xatol": 1e-3, "fatol": 1e-3}
    tried = [minimize(unlikely, start, method="Nelder-Mead", options=options) for start in starts]
    return np.asarray(min(tried, key=lambda found: found.fun).x)


def _parameters(point: Floats) -> tuple[float, float]:
    """Map two free numbers to α between 0 and 1 and θ with θ + α > 0."""
    alpha = float(np.clip(1 / (1 + np.exp(-np.clip(point[0], -30, 30))), 1e-6, 1 - 1e-9))
    return alpha, float(np.exp(np.clip(point[1], -20, 40))) - alpha + 1e-9


# Groups of people with equal records: how many people are alone, and how often a record is linked to the right person.
#
# The adversary knows a person's values in these columns exactly, and knows that the person is in the table.

SIZES = ((1, 1), (2, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, None))


@dataclass(frozen=True)
class Crowd:
    """The groups of records with equal values in some columns.

    Attributes
    ----------
    columns : the columns that the adversary sees
    records, people : their numbers; without a person column each record is a person
    groups, smallest, largest : the number of groups, and the people in the smallest and in the largest
    alone : share of records in a group of one person, with its interval
    linked : expected share of records that are linked to the right person by picking one of the group at random, with
        its interval; [Goldsteen22 equation (4)]
    highest : the chance to pick the right person in the smallest group, 1 / its people
    sizes : people in the group ("1", "2 to 4", …) → share of records
    expected : the expected unique people in a whole population, if its size is known
    """

    columns: tuple[str, ...]
    records: int
    people: int
    groups: int
    smallest: int
    largest: int
    alone: float
    alone_interval: Interval
    linked: float
    linked_interval: Interval
    highest: float
    sizes: dict[str, float]
    expected: Uniqueness | None = field(default=None)


def crowd(
    X: Any,
    columns: Sequence[str],
    persons: Codes | None = None,
    population: int | None = None,
    random_state: int = 0,
) -> Crowd:
    """Count the groups of records with equal values in these columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.measures.uniqueness import crowd
    >>> found = crowd(pd.DataFrame({"age": [31, 31, 40], "job": ["nurse"] * 3}), ["age", "job"])
    >>> found.groups, found.smallest, round(found.alone, 3), round(found.linked, 3)
    (2, 1, 0.333, 0.667)
    """
    groups = number_equal_rows(as_frame(X), list(columns))
    people = np.bincount(groups) if persons is None else np.bincount(count_group_values(groups, persons).group)
    own = people[groups]
    alone = (own == 1).astype(np.float64)
    known = None if population is None else expected_uniques(people, population, random_state)
    return Crowd(
        columns=tuple(columns),
        records=len(groups),
        people=len(groups) if persons is None else int(persons.max()) + 1,
        groups=len(people),
        smallest=int(people.min()),
        largest=int(people.max()),
        alone=float(alone.mean()),
        alone_interval=mean_interval(alone, persons),
        linked=float((1 / own).mean()),
        linked_interval=mean_interval(1 / own, groups if len(people) > 1 else None),
        highest=1 / int(people.min()),
        sizes={_format_size_range(low, high): _share(own, low, high) for low, high in SIZES},
        expected=known,
    )


def _format_size_range(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return str(low) if low == high else f"{low} to {high}"


def _share(own: Codes, low: int, high: int | None) -> float:
    return float(((own >= low) & (own <= (own.max() if high is None else high))).mean())
