"""The pruning of [Mancuhan16 §4 and Appendix B]: keep the candidate of each record that is nearest to a sphere.

The squared norm of a joined row is a + s², where a is the record's part and s² the part of the sensitive values. So the
smallest and largest norm over the join follow from the smallest and largest s² of each group. The expected squared
radius is the middle between them (Figure B.1), and the join itself is not needed.

Definition 13 removes ℓ − 1 of the ℓ candidates, and Theorem 4.1 has N records before and after, so each record keeps
one candidate (`prune_per="record"`). Read literally, Figure B.2 keeps one row of each group of the joined data, one
record in ℓ (`prune_per="group"`). Equally near candidates have the same probability.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from modicum.anatomy.join import Join, code_column, code_sensitive, compute_squared_norms
from modicum.errors import DataError
from modicum.learners.columns import Design, columns_of, encode_column
from modicum.releases.anatomy_release import GroupCandidates
from modicum.table.frames import column
from modicum.typing import Codes, Floats

MOST_COMPUTED_ROWS = 2**31  # rows of the join that are computed one after another
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Radii:
    """The smallest and largest squared norm of the join's rows, and the middle between them."""

    smallest: float
    largest: float

    @property
    def middle(self) -> float:
        """The expected squared radius E[‖R‖²] of Figure B.1."""
        return (self.smallest + self.largest) / 2

    @property
    def slack(self) -> float:
        """How much rounding can change a squared norm."""
        return float(_ROUNDING * self.largest)


@dataclass(frozen=True)
class Chosen:
    """The rows that pruning keeps: rows of the identifying table, and places of their sensitive values in the list."""

    records: Codes
    places: Codes


@dataclass(frozen=True)
class Norms:
    """The parts of the squared norms: one for each record, and one for each sensitive value in the join's list."""

    own: Floats
    squares: Floats

    @classmethod
    def of(cls, join: Join) -> "Norms":
        """Compute the parts in the paper's coding."""
        weights, frame = join.repeats.astype(np.float64), join.identifying
        columns = ((each, code_column(column(frame, each.name), each, weights)) for each in join.identifying_attributes)
        parts = [code_sensitive(join, a) ** 2 for a in range(len(join.candidates))]
        return cls(compute_squared_norms(columns, len(frame)), np.concatenate(parts))

    def radii(self, join: Join) -> Radii:
        """Compute the smallest and the largest over the join (Figure B.1)."""
        low, high = self.own.copy(), self.own.copy()
        for found, offset in zip(join.candidates, join.offsets, strict=True):
            squares = self.squares[offset : offset + len(found.codes)]
            low += np.minimum.reduceat(squares, found.starts[:-1])[found.groups]
            high += np.maximum.reduceat(squares, found.starts[:-1])[found.groups]
        return Radii(float(low.min()), float(high.max()))


def prune_join(join: Join, prune_per: str, random: np.random.Generator) -> Chosen:
    """Keep the rows of the join nearest to the middle radius: one for each record, or one for each group."""
    norms = Norms.of(join)
    radii = norms.radii(join)
    if prune_per == "group":
        return _prune_groups(only_one(join), norms, radii, random)
    draws = random.random(len(norms.own))
    prune = _prune_records if len(join.candidates) == 1 else _prune_combinations
    return prune(join, norms, radii, draws)


def _prune_records(join: Join, norms: Norms, radii: Radii, draws: Floats) -> Chosen:
    from modicum.anatomy.kernel import nearest_in_order  # deferred: numba is slow to import

    found, order = join.candidates[0], _ascending(join.candidates[0], norms.squares)
    wanted = radii.middle - norms.own
    places = nearest_in_order(wanted, norms.squares[order], found.groups, found.starts, draws, radii.slack)
    return Chosen(np.arange(len(wanted)), order[places][:, None])


def _prune_groups(found: GroupCandidates, norms: Norms, radii: Radii, random: np.random.Generator) -> Chosen:
    from modicum.anatomy.kernel import nearest_of_groups  # deferred: numba is slow to import

    order, own = _ascending(found, norms.squares), np.argsort(found.groups, kind="stable")
    draws = random.random(len(found.sizes))
    records, places = nearest_of_groups(
        norms.own, norms.squares[order], own, found.starts, radii.middle, draws, radii.slack
    )
    back = np.argsort(records)  # in the order of the identifying table
    return Chosen(records[back], order[places[back]][:, None])


def _prune_combinations(join: Join, norms: Norms, radii: Radii, draws: Floats) -> Chosen:
    from modicum.anatomy.kernel import nearest_of_combinations  # deferred: numba is slow to import

    join.check_rows(MOST_COMPUTED_ROWS)
    wanted = radii.middle - norms.own
    combination = nearest_of_combinations(wanted, norms.squares, join.first, join.sizes, draws, radii.slack)
    records = np.arange(len(wanted))
    return Chosen(records, join.places(records, combination))


def _ascending(found: GroupCandidates, squares: Floats) -> Codes:
    """Sort the places of the candidates in each group by their squares."""
    own = np.repeat(np.arange(len(found.sizes)), found.sizes)
    of_value = np.zeros(len(found.values))
    of_value[found.codes] = squares
    rank = np.unique(of_value, return_inverse=True)[1]
    return np.argsort(own * len(rank) + rank[found.codes], kind="stable")


def only_one(join: Join) -> GroupCandidates:
    """Return the candidates of the only sensitive attribute; refuse several, which have no common groups."""
    if len(join.candidates) > 1:
        raise DataError(
            "prune_per='group' keeps one row of each group, but each of the "
            f"{len(join.candidates)} sensitive attributes has its own groups; use prune_per='record'."
        )
    return join.candidates[0]


# Pruning in kernel space: squared norms of the joined rows in a Nyström space, around their mean.
#
# [Mancuhan16 §4.1] prunes "in the projected space" if the data is not separable in its own space. With the Gaussian
# kernel exp(−γ‖x − z‖²) every row has norm 1 there, so all candidates would be equally near to a radius. So the mean
# over the joined data is subtracted, as Appendix B does in the space of the attributes.
#
# With landmarks z and their kernel matrix K, a row x with kernel values k(x) has the squared norm (k(x) − m)ᵀ K⁺
# (k(x) − m) in the centred Nyström space, where m is the mean of k over the join. k is the product of a record's part
# and a part of each sensitive value, and rows are computed in batches, so the whole join is never in memory.

_LANDMARKS = 200
_BATCH = 20_000  # rows of the join per batch
_KERNEL_ROUNDING = 1e-9  # rounding of a norm, relative to the largest


@dataclass(frozen=True)
class NystroemPoints:
    """The join as points: scaled columns of the records (computed on request) and of the sensitive values.

    `of_value[a]` has one row for each distinct value of the sensitive attribute a.
    """

    join: Join
    design: Design
    of_value: tuple[Floats, ...]

    @classmethod
    def of(cls, join: Join) -> "NystroemPoints":
        """Scale the columns over the joined data."""
        weights, frame = join.repeats.astype(np.float64), join.identifying
        names = {each.name: (each.name,) for each in join.identifying_attributes}
        design = Design.fit(frame, join.release.schema, names, weights, "place")
        return cls(join, design, tuple(_encode_values(join, a) for a in range(len(join.candidates))))

    @property
    def columns(self) -> int:
        """How many scaled columns there are."""
        return max(1, len(self.design.names) + sum(values.shape[1] for values in self.of_value))

    def records(self, rows: Codes) -> Floats:
        """Return the points of some records."""
        return self.design.encode(self.join.identifying[rows])

    def values(self, a: int, places: Codes) -> Codes:
        """Return the codes of the distinct values at these places in the join's list."""
        return self.join.candidates[a].codes[places - self.join.offsets[a]]


def _encode_values(join: Join, a: int) -> Floats:
    series, weights = join.distinct_values(a)
    columns = columns_of(series, join.sensitive_attributes[a], weights, "place")
    return np.zeros((len(series), 0)) if columns is None else encode_column(columns, series)


class KernelSpace:
    """Squared norms of the joined rows in the centred Nyström space.

    Parameters
    ----------
    points : NystroemPoints
        The join.
    random : Generator
        Chooses the landmarks: at most 200 records, each with one of its candidates.
    gamma : number, optional
        The kernel's parameter; 1 / number of columns by default.
    centred : bool
        Whether to subtract the mean.
    """

    def __init__(
        self,
        points: NystroemPoints,
        random: np.random.Generator,
        gamma: float | None = None,
        centred: bool = True,
    ) -> None:
        join = points.join
        n = len(join.first)
        self._points, self._gamma = points, 1 / points.columns if gamma is None else gamma
        rows = np.sort(random.choice(n, min(_LANDMARKS, n), replace=False))
        places = join.places(rows, (random.random(len(rows)) * join.repeats[rows]).astype(np.int64))
        self._records = points.records(rows)
        self._values = [each[points.values(a, places[:, a])] for a, each in enumerate(points.of_value)]
        values, vectors = np.linalg.eigh(self._kernel(rows, np.arange(len(rows)), places))
        positive = values > 1e-10 * values[-1]
        self._map = vectors[:, positive] / np.sqrt(values[positive])
        self._mean = self._means() if centred else np.zeros(self._map.shape[1])

    def norms(self, order: Codes) -> Floats:
        """Compute the squared norms of the joined rows, record by record in this order."""
        batches = [np.square(batch @ self._map - self._mean).sum(axis=1) for batch in self._batches(order)]
        return np.concatenate(batches)

    def _means(self) -> Floats:
        total = sum(batch.sum(axis=0) for batch in self._batches(np.arange(len(self._points.join.first))))
        return np.asarray(total / self._points.join.repeats.sum() @ self._map)

    def _batches(self, order: Codes) -> Iterator[Floats]:
        """Yield the kernel values of the joined rows in batches, for records in this order."""
        join = self._points.join
        batch = (np.cumsum(join.repeats[order]) - 1) // _BATCH
        for records in np.split(order, np.flatnonzero(np.diff(batch)) + 1):
            own = np.repeat(np.arange(len(records)), join.repeats[records])
            yield self._kernel(records, own, join.rows(records)[1])

    def _kernel(self, records: Codes, own: Codes, places: Codes) -> Floats:
        """Compute the kernel of joined rows and landmarks; `own` are indices into records, `places` those of values."""
        product = self._gaussian(self._points.records(records), self._records)[own]
        for a, (values, landmarks) in enumerate(zip(self._points.of_value, self._values, strict=True)):
            distinct, codes = np.unique(self._points.values(a, places[:, a]), return_inverse=True)
            product *= self._gaussian(values[distinct], landmarks)[codes]
        return product

    def _gaussian(self, points: Floats, others: Floats) -> Floats:
        squared_distances = (
            np.square(points).sum(axis=1)[:, None] + np.square(others).sum(axis=1) - 2 * points @ others.T
        )
        return np.asarray(np.exp(-self._gamma * np.maximum(squared_distances, 0)))


def prune_in_kernel_space(join: Join, prune_per: str, random: np.random.Generator) -> Chosen:
    """Keep the rows of the join nearest to the middle radius of the centred Nyström space."""
    from modicum.anatomy.kernel import nearest_of_segments  # deferred: numba is slow to import

    join.check_rows()
    order = np.argsort((join.candidates[0] if prune_per == "record" else only_one(join)).groups, kind="stable")
    norms = KernelSpace(NystroemPoints.of(join), random).norms(order)
    radii = Radii(float(norms.min()), float(norms.max()))
    ends = np.cumsum(join.repeats[order])
    starts = np.concatenate([[0], ends])
    segments = starts if prune_per == "record" else starts[join.candidates[0].starts]
    draws = random.random(len(segments) - 1)
    chosen = nearest_of_segments(norms, segments, radii.middle, draws, _KERNEL_ROUNDING * radii.largest)
    of_record = np.searchsorted(ends, chosen, side="right")
    records, combination = order[of_record], chosen - starts[of_record]
    back = np.argsort(records, kind="stable")  # in the order of the identifying table
    return Chosen(records[back], join.places(records[back], combination[back]))
