"""The pruning mechanism of [Mancuhan16 §4 and Appendix B]: of each record's candidates, the one nearest to a sphere.

The squared norm of a joined row is a + s², where a is the record's own part and s² that of the sensitive values. So the
smallest and the largest over the join follow from each group's smallest and largest s², the expected squared radius is
the middle between them (Figure B.1), and nothing needs the join itself.

Definition 13 eliminates ℓ − 1 of the ℓ candidates, and Theorem 4.1 has N records before and after: so each record keeps
one candidate (`prune_per="record"`). Figure B.2, read literally, keeps one row of each group of the joined data,
which is one record in ℓ (`prune_per="group"`). Candidates that are equally near are drawn from with the same chance
each.
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

MOST_LOOKED_AT = 2**31  # rows of the join, one after another
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Radii:
    """The squared norms that rows of the join can have: the smallest, the largest, and the middle between them."""

    smallest: float
    largest: float

    @property
    def middle(self) -> float:
        """The expected squared radius E[‖R‖²] of Figure B.1."""
        return (self.smallest + self.largest) / 2

    @property
    def slack(self) -> float:
        """How much rounding can move a squared norm."""
        return float(_ROUNDING * self.largest)


@dataclass(frozen=True)
class Chosen:
    """What pruning keeps: rows of the identifying table, and where their sensitive values stand in the join's list."""

    records: Codes
    places: Codes


@dataclass(frozen=True)
class Norms:
    """The parts of the squared norms: each record's own, and that of each sensitive value in the join's list."""

    own: Floats
    squares: Floats

    @classmethod
    def of(cls, join: Join) -> "Norms":
        """In the paper's coding."""
        weights, frame = join.repeats.astype(np.float64), join.identifying
        columns = ((each, code_column(column(frame, each.name), each, weights)) for each in join.identifying_attributes)
        parts = [code_sensitive(join, a) ** 2 for a in range(len(join.candidates))]
        return cls(compute_squared_norms(columns, len(frame)), np.concatenate(parts))

    def radii(self, join: Join) -> Radii:
        """The smallest and the largest over the join (Figure B.1)."""
        low, high = self.own.copy(), self.own.copy()
        for found, offset in zip(join.candidates, join.offsets, strict=True):
            squares = self.squares[offset : offset + len(found.codes)]
            low += np.minimum.reduceat(squares, found.starts[:-1])[found.groups]
            high += np.maximum.reduceat(squares, found.starts[:-1])[found.groups]
        return Radii(float(low.min()), float(high.max()))


def prune_join(join: Join, prune_per: str, random: np.random.Generator) -> Chosen:
    """The rows of the join nearest to the middle radius: one for each record, or one for each group."""
    norms = Norms.of(join)
    radii = norms.radii(join)
    if prune_per == "group":
        return _of_groups(only_one(join), norms, radii, random)
    draws = random.random(len(norms.own))
    return _of_records(join, norms, radii, draws) if len(join.candidates) == 1 else _of_all(join, norms, radii, draws)


def _of_records(join: Join, norms: Norms, radii: Radii, draws: Floats) -> Chosen:
    from modicum.anatomy.kernel import nearest_in_order  # deferred: numba loads slowly

    found, order = join.candidates[0], _ascending(join.candidates[0], norms.squares)
    wanted = radii.middle - norms.own
    places = nearest_in_order(wanted, norms.squares[order], found.groups, found.starts, draws, radii.slack)
    return Chosen(np.arange(len(wanted)), order[places][:, None])


def _of_groups(found: GroupCandidates, norms: Norms, radii: Radii, random: np.random.Generator) -> Chosen:
    from modicum.anatomy.kernel import nearest_of_groups  # deferred: numba loads slowly

    order, own = _ascending(found, norms.squares), np.argsort(found.groups, kind="stable")
    draws = random.random(len(found.sizes))
    records, places = nearest_of_groups(
        norms.own, norms.squares[order], own, found.starts, radii.middle, draws, radii.slack
    )
    back = np.argsort(records)  # as they stand in the identifying table
    return Chosen(records[back], order[places[back]][:, None])


def _of_all(join: Join, norms: Norms, radii: Radii, draws: Floats) -> Chosen:
    from modicum.anatomy.kernel import nearest_of_combinations  # deferred: numba loads slowly

    join.check_rows(MOST_LOOKED_AT)
    wanted = radii.middle - norms.own
    combination = nearest_of_combinations(wanted, norms.squares, join.first, join.sizes, draws, radii.slack)
    records = np.arange(len(wanted))
    return Chosen(records, join.places(records, combination))


def _ascending(found: GroupCandidates, squares: Floats) -> Codes:
    """The places of the candidates, in each group from the smallest square to the largest."""
    own = np.repeat(np.arange(len(found.sizes)), found.sizes)
    of_value = np.zeros(len(found.values))
    of_value[found.codes] = squares
    rank = np.unique(of_value, return_inverse=True)[1]
    return np.argsort(own * len(rank) + rank[found.codes], kind="stable")


def only_one(join: Join) -> GroupCandidates:
    """The candidates of the one sensitive attribute; with several there are no groups of joined rows."""
    if len(join.candidates) > 1:
        raise DataError(
            "prune_per='group' keeps one row of each group, but each of the "
            f"{len(join.candidates)} sensitive attributes has groups of its own; use prune_per='record'."
        )
    return join.candidates[0]


# Pruning where a kernel looks: squared norms of the joined rows in a Nyström space, around their mean.
#
# [Mancuhan16 §4.1] prunes "in the projected space" where the data is not separable in its own. For the Gaussian kernel
# exp(−γ‖x − z‖²) every row has norm 1 there, so that no candidate would be nearer to a radius than another: the mean
# over the joined data has to be subtracted, as Appendix B does in the space of the attributes.
#
# With landmarks z and K their kernel matrix, a row x with kernel values k(x) has the squared norm (k(x) − m)ᵀ K⁺
# (k(x) − m) in the centred Nyström space, where m is the mean of k over the join. k is a product of a record's part and
# a part of each sensitive value, and rows are made in batches, so that the join is never whole in memory.

LANDMARKS = 200
_BATCH = 20_000  # rows of the join at once
_KERNEL_ROUNDING = 1e-9  # of a norm, relative to the largest


@dataclass(frozen=True)
class NystroemPoints:
    """The join as points: scaled columns of the records (made when asked for) and of each sensitive attribute's values.

    `of_value[a]` holds one row for each distinct value of the sensitive attribute a.
    """

    join: Join
    design: Design
    of_value: tuple[Floats, ...]

    @classmethod
    def of(cls, join: Join) -> "NystroemPoints":
        """Columns are scaled over the joined data."""
        weights, frame = join.repeats.astype(np.float64), join.identifying
        names = {each.name: (each.name,) for each in join.identifying_attributes}
        design = Design.fit(frame, join.release.schema, names, weights, "place")
        return cls(join, design, tuple(_of_values(join, a) for a in range(len(join.candidates))))

    @property
    def columns(self) -> int:
        """How many there are."""
        return max(1, len(self.design.names) + sum(values.shape[1] for values in self.of_value))

    def records(self, rows: Codes) -> Floats:
        """The points of some records."""
        return self.design.encode(self.join.identifying[rows])

    def values(self, a: int, places: Codes) -> Codes:
        """Which distinct value stands at these places of the join's list."""
        return self.join.candidates[a].codes[places - self.join.offsets[a]]


def _of_values(join: Join, a: int) -> Floats:
    series, weights = join.distinct_values(a)
    columns = columns_of(series, join.sensitive_attributes[a], weights, "place")
    return np.zeros((len(series), 0)) if columns is None else encode_column(columns, series)


class KernelSpace:
    """Squared norms of the joined rows in the centred Nyström space.

    Parameters
    ----------
    points : Points
        The join.
    random : Generator
        Draws the landmarks: records, each with one of its candidates.
    landmarks : int
        How many, at most as many as there are records.
    gamma : number, optional
        Of the kernel; 1 / number of columns where none is given.
    centred : bool
        Whether the mean is subtracted.
    """

    def __init__(
        self,
        points: NystroemPoints,
        random: np.random.Generator,
        landmarks: int = LANDMARKS,
        gamma: float | None = None,
        centred: bool = True,
    ) -> None:
        join = points.join
        n = len(join.first)
        self._points, self._gamma = points, 1 / points.columns if gamma is None else gamma
        rows = np.sort(random.choice(n, min(landmarks, n), replace=False))
        places = join.places(rows, (random.random(len(rows)) * join.repeats[rows]).astype(np.int64))
        self._records = points.records(rows)
        self._values = [each[points.values(a, places[:, a])] for a, each in enumerate(points.of_value)]
        values, vectors = np.linalg.eigh(self._kernel(rows, np.arange(len(rows)), places))
        kept = values > 1e-10 * values[-1]
        self._map = vectors[:, kept] / np.sqrt(values[kept])
        self._mean = self._means() if centred else np.zeros(self._map.shape[1])

    def norms(self, order: Codes) -> Floats:
        """The squared norms of the records' joined rows, record after record in this order."""
        batches = [np.square(batch @ self._map - self._mean).sum(axis=1) for batch in self._batches(order)]
        return np.concatenate(batches)

    def _means(self) -> Floats:
        total = sum(batch.sum(axis=0) for batch in self._batches(np.arange(len(self._points.join.first))))
        return np.asarray(total / self._points.join.repeats.sum() @ self._map)

    def _batches(self, order: Codes) -> Iterator[Floats]:
        """The kernel values of the joined rows of the records in this order, some at a time."""
        join = self._points.join
        batch = (np.cumsum(join.repeats[order]) - 1) // _BATCH
        for records in np.split(order, np.flatnonzero(np.diff(batch)) + 1):
            own = np.repeat(np.arange(len(records)), join.repeats[records])
            yield self._kernel(records, own, join.rows(records)[1])

    def _kernel(self, records: Codes, own: Codes, places: Codes) -> Floats:
        """The kernel between joined rows (which of the records, and where its values stand) and the landmarks."""
        found = self._near(self._points.records(records), self._records)[own]
        for a, (values, landmarks) in enumerate(zip(self._points.of_value, self._values, strict=True)):
            distinct, codes = np.unique(self._points.values(a, places[:, a]), return_inverse=True)
            found *= self._near(values[distinct], landmarks)[codes]
        return found

    def _near(self, points: Floats, others: Floats) -> Floats:
        apart = np.square(points).sum(axis=1)[:, None] + np.square(others).sum(axis=1) - 2 * points @ others.T
        return np.asarray(np.exp(-self._gamma * np.maximum(apart, 0)))


def prune_in_kernel_space(join: Join, prune_per: str, random: np.random.Generator) -> Chosen:
    """The rows of the join nearest to the middle radius of the centred Nyström space."""
    from modicum.anatomy.kernel import nearest_of_segments  # deferred: numba loads slowly

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
    back = np.argsort(records, kind="stable")  # as they stand in the identifying table
    return Chosen(records[back], join.places(records[back], combination[back]))
