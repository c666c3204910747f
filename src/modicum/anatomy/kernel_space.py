"""Pruning where a kernel looks: squared norms of the joined rows in a Nyström space, around their mean.

papers/4 §4.1 prunes "in the projected space" where the data is not separable in its own. For the Gaussian kernel
exp(−γ‖x − z‖²) every row has norm 1 there, so that no candidate would be nearer to a radius than another: the mean over
the joined data has to be subtracted, as Appendix B does in the space of the attributes.

With landmarks z and K their kernel matrix, a row x with kernel values k(x) has the squared norm (k(x) − m)ᵀ K⁺
(k(x) − m) in the centred Nyström space, where m is the mean of k over the join. k is a product of a record's part and
a part of each sensitive value, and rows are made in batches, so that the join is never whole in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from modicum.anatomy.joining import Join
from modicum.anatomy.pruning import Chosen, Radii, only_one
from modicum.learners.columns import Design, columns_of, encoded
from modicum.table.values import Codes, Floats

LANDMARKS = 200
_BATCH = 20_000  # rows of the join at once
_ROUNDING = 1e-9  # of a norm, relative to the largest


@dataclass(frozen=True)
class Points:
    """The join as points: scaled columns of the records (made when asked for) and of each sensitive attribute's values.

    `of_value[a]` holds one row for each distinct value of the sensitive attribute a.
    """

    join: Join
    design: Design
    of_value: tuple[Floats, ...]

    @classmethod
    def of(cls, join: Join) -> "Points":
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
    return np.zeros((len(series), 0)) if columns is None else encoded(columns, series)


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
        points: Points,
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


def pruned_in_kernel_space(join: Join, keep: str, random: np.random.Generator) -> Chosen:
    """The rows of the join nearest to the middle radius of the centred Nyström space."""
    from modicum.anatomy.prune_kernel import nearest_of_segments  # deferred: numba loads slowly

    join.check_rows()
    order = np.argsort((join.candidates[0] if keep == "record" else only_one(join)).groups, kind="stable")
    norms = KernelSpace(Points.of(join), random).norms(order)
    radii = Radii(float(norms.min()), float(norms.max()))
    ends = np.cumsum(join.repeats[order])
    starts = np.concatenate([[0], ends])
    segments = starts if keep == "record" else starts[join.candidates[0].starts]
    draws = random.random(len(segments) - 1)
    chosen = nearest_of_segments(norms, segments, radii.middle, draws, _ROUNDING * radii.largest)
    of_record = np.searchsorted(ends, chosen, side="right")
    records, combination = order[of_record], chosen - starts[of_record]
    back = np.argsort(records, kind="stable")  # as they stand in the identifying table
    return Chosen(records[back], join.places(records[back], combination[back]))
