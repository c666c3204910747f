"""The uniform baseline [Staab24 §6]."""

from collections.abc import Iterable, Sequence

import numpy as np
from sklearn.utils import check_random_state

from modicum.errors import check_number
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import partition
from modicum.minimizers.base import AnyData, CountingMinimizer
from modicum.table.codes import Coding, EqualWidths
from modicum.table.schema import Schema


class Uniform(CountingMinimizer):
    """Put every attribute into at most `buckets` buckets, without looking at the label [Staab24 §6].

    A number x, scaled to [0, 1], goes to bucket ⌊k·x⌋: ranges of equal width, cut between neighbouring values. A
    category's values are put at random into k groups of nearly equal size (the paper draws each value's group by
    itself, which can leave groups empty and merge values even if k is as large as their number). An ordered category is
    cut into k runs of nearly equal length. Missing values, if any, have a bucket of their own.

    Parameters
    ----------
    buckets : int
        The paper's k.
    personal : list of str, optional
        Recorded in the artifact's schema; the method protects nothing in particular.
    schema : Schema, optional
        Kinds and roles; inferred if not given.
    random_state : int, RandomState or None
        Puts categories into groups.

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

    def _partitions(self, data: AnyData) -> Sequence[AnyPartition]:
        random = check_random_state(self.random_state)
        # Ranges are cut by the values themselves: a code may hold many of them.
        ranges = data.regroup_numbers(EqualWidths(self.buckets))
        codings = [ranges.get(coding.attribute.name, coding) for coding in data.coder.codings]
        return [_group(coding, self.buckets, random) for coding in codings]


def _group(coding: Coding, k: int, random: np.random.RandomState) -> AnyPartition:
    if coding.attribute.has_order:
        own = np.arange(coding.n_values) * min(k, coding.n_values) // coding.n_values
    else:
        own = random.permutation(coding.n_values) % k
    return partition(coding, np.append(own, -1))
