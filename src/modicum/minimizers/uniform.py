"""The uniform baseline (papers/0 §6)."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import partition
from modicum.minimizers.base import CodedData, Minimizer, check_number
from modicum.table.codes import CategoryCoding, Coding, NumberCoding
from modicum.table.schema import Schema


class Uniform(Minimizer):
    """Every attribute into at most `buckets` buckets, without looking at the label (papers/0 §6).

    A number x, scaled to [0, 1], goes to bucket ⌊k·x⌋: ranges of equal width, cut between neighbouring codes. A
    category's values are dealt at random into k groups of nearly equal size (the paper draws each value's group alone,
    which can leave groups empty and merge values even where k is as large as their number). An ordered category is
    cut into k runs of nearly equal length. Missing values, where there are any, have a bucket of their own.

    Parameters
    ----------
    buckets : int
        The paper's k.
    personal : list of str, optional
        Recorded in the artifact's schema; the method protects nothing in particular.
    schema : Schema, optional
        Kinds and roles; inferred where it is not given.
    random_state : int, RandomState or None
        Deals the categories.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.Uniform(buckets=3).fit(X).generalization_
    >>> g.buckets["age"]
    ('≤ 41', '42–65', '≥ 66', '(missing)')
    """

    _needs_label = False

    def __init__(
        self,
        *,
        buckets: int = 3,
        personal: Iterable[str] | None = None,
        schema: Schema | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.buckets = buckets
        self.personal = personal
        self.schema = schema
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number(self, "buckets", 1)

    def _partitions(self, data: CodedData) -> Sequence[AnyPartition]:
        random = check_random_state(self.random_state)
        return [partition(coding, self._buckets_of(coding, random)) for coding in data.coder.codings]

    def _buckets_of(self, coding: Coding, random: np.random.RandomState) -> npt.NDArray[np.int64]:
        k = self.buckets
        if isinstance(coding, NumberCoding):
            own = _equal_width(coding.typical, k)
        elif coding.attribute.has_order:
            own = np.arange(coding.n_values) * k // coding.n_values
        else:
            own = _dealt(coding, k, random)
        return np.append(own, -1) if coding.missing else own


def _equal_width(values: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]:
    low, high = values[0], values[-1]
    if high == low:
        return np.zeros(len(values), dtype=np.int64)
    return np.minimum(k - 1, np.floor(k * ((values - low) / (high - low)))).astype(np.int64)


def _dealt(coding: CategoryCoding, k: int, random: np.random.RandomState) -> npt.NDArray[np.int64]:
    return random.permutation(coding.n_values) % k
