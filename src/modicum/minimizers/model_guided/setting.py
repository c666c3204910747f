"""What every search is given, and what it changes.

Given are the records to learn from, to try steps on and to choose on, and the tree. What changes is each attribute's
grouping: its codes in buckets, each with a code that stands for it; or the attribute as it is.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import keep, middle_code, partition
from modicum.minimizers.base import enforce_schema
from modicum.minimizers.model_guided.guiding_tree import Losses, Nodes, Pruned, node_costs, weakest_links
from modicum.minimizers.model_guided.records import Matrix, Records
from modicum.progress import Stop
from modicum.table.codes import CodeArray, Coder, Coding, usual_code
from modicum.trees import Tree
from modicum.typing import Codes

# One attribute's codes in buckets.

_PARTNERS = 8  # buckets that another one of a category may join, the largest
_WHOLES = 3  # buckets that may stand for the whole attribute


@dataclass(frozen=True)
class AttributeGrouping:
    """`bucket_of` says each code's bucket, from 0 without gaps, and `stands` the code that stands for each bucket.

    Where it is `exact` the model is given the value as it is, and the buckets say nothing.
    """

    bucket_of: Codes
    stands: Codes
    exact: bool = False

    @property
    def n_buckets(self) -> int:
        return len(self.stands)

    @cached_property
    def members(self) -> list[Codes]:
        """The codes of each bucket."""
        return [np.flatnonzero(self.bucket_of == bucket) for bucket in range(self.n_buckets)]

    @cached_property
    def stand_of(self) -> Codes:
        """For each code, the code that stands for its bucket."""
        return self.stands[self.bucket_of]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is collected."""
        return self.n_buckets == 1 and not self.exact

    def merge_buckets(self, one: int, other: int, stand: int) -> "AttributeGrouping":
        """Two buckets made one."""
        low, high = min(one, other), max(one, other)
        bucket_of = np.where(self.bucket_of == high, low, self.bucket_of)
        bucket_of = bucket_of - (bucket_of > high)
        stands = np.delete(self.stands, high)
        stands[low] = stand
        return AttributeGrouping(bucket_of, stands)


Groupings = list[AttributeGrouping]


def whole(coding: Coding, stand: int | None = None) -> AttributeGrouping:
    """Nothing of the attribute."""
    return AttributeGrouping(
        np.zeros(coding.n_codes, dtype=np.int64), np.array([usual_code(coding) if stand is None else stand])
    )


def exactly(coding: Coding) -> AttributeGrouping:
    """The attribute as it is."""
    codes = np.arange(coding.n_codes)
    return AttributeGrouping(codes, codes, exact=True)


def group_codes(coding: Coding, bucket_of: Codes) -> AttributeGrouping:
    """Codes with the same number share a bucket, which its median or most frequent category stands for."""
    _, numbers = np.unique(bucket_of, return_inverse=True)
    stands = []
    for bucket in range(int(numbers.max()) + 1):
        codes = np.flatnonzero(numbers == bucket)
        values = codes[codes < coding.n_values]
        stands.append(middle_code(coding, values) if len(values) else coding.n_values)
    return AttributeGrouping(numbers.astype(np.int64), np.array(stands, dtype=np.int64))


def finest(coding: Coding) -> AttributeGrouping:
    """Every code in a bucket of its own."""
    return group_codes(coding, np.arange(coding.n_codes))


def column_of(grouping: AttributeGrouping, records: Records, attribute: int) -> Codes:
    """One attribute of the records as numbers: what stands for each value, or the value itself."""
    if grouping.exact:
        return records.exact[:, attribute]
    column = grouping.stand_of[records.codes[:, attribute]]
    strange = records.strange[:, attribute]
    return column if grouping.is_whole else np.where(strange >= 0, strange, column)


def numbers_of(groupings: Sequence[AttributeGrouping], records: Records) -> Matrix:
    """The records as numbers."""
    return np.column_stack([column_of(grouping, records, j) for j, grouping in enumerate(groupings)])


def partition_of(coding: Coding, grouping: AttributeGrouping) -> AnyPartition:
    """The partition of an artifact that does the same."""
    if grouping.exact:
        return keep(coding)
    return partition(coding, grouping.bucket_of, dict(enumerate(grouping.stands.tolist())))


def coarser(
    coding: Coding, grouping: AttributeGrouping, counts: Codes
) -> Iterator[tuple[AttributeGrouping, tuple[int, ...]]]:
    """Every next step of an attribute to less detail, and the buckets it touches: of two, the second's stand stays.

    Neighbours of an attribute with an order merge, the larger one's stand kept; a category's buckets join one of the
    largest; a bucket of missing values alone joins any of those; and all may become one at once.
    """
    if grouping.exact:
        yield finest(coding), (-1,)
        yield whole(coding), (-1,)
        return
    k = grouping.n_buckets
    if k < 2:
        return
    every = tuple(range(k))
    sizes = np.array([int(counts[codes].sum()) for codes in grouping.members])
    largest = np.argsort(-sizes, kind="stable")
    absent = [b for b in every if grouping.stands[b] >= coding.n_values]
    own = [b for b in every if b not in absent]
    if coding.attribute.has_order:
        own.sort(key=lambda b: int(grouping.stands[b]))
        for one, other in pairwise(own):
            smaller, larger = (other, one) if sizes[one] >= sizes[other] else (one, other)
            yield grouping.merge_buckets(one, other, int(grouping.stands[larger])), (smaller, larger)
    else:
        absent = list(every)
    values = [b for b in largest.tolist() if grouping.stands[b] < coding.n_values][:_PARTNERS]
    for one in absent:
        for other in values:
            if one != other:
                yield grouping.merge_buckets(one, other, int(grouping.stands[other])), (one, other)
    if k > 2:
        for stand in values[: _WHOLES if k <= _PARTNERS else 1]:
            yield whole(coding, int(grouping.stands[stand])), every


# A point of a path: the buckets that a search came to, and what they keep and hide.


@dataclass(frozen=True)
class GuidedPoint:
    """One generalization of a path.

    Attributes
    ----------
    agreement : how many predictions stay, on the records that the choice was made on
    loss : what it hides of the records that made it, by the loss that was asked for (NCP by default)
    generalization : what is collected
    """

    agreement: float
    loss: float
    groupings: Groupings = field(repr=False)
    coder: Coder = field(repr=False)

    @cached_property
    def generalization(self) -> Generalization:
        found = [partition_of(c, g) for c, g in zip(self.coder.codings, self.groupings, strict=True)]
        return enforce_schema(self.coder, found)


# The setting


@dataclass(frozen=True)
class Setting:
    """A search's data.

    Attributes
    ----------
    coder, losses : of the records to learn from
    codes, rows : of the records to learn from, as the tree has them, and their places among all
    tried : records that steps are tried on, some of those to learn from and then all to choose on
    n_sample : how many of them are to learn from
    tree : homogeneous in what the model says of these
    free : the attributes that may be minimized; the others are kept, or never collected where the schema forbids it
    target : the agreement to reach on the records to choose on
    """

    coder: Coder
    losses: Losses
    codes: CodeArray
    rows: Codes
    tried: Records
    n_sample: int
    tree: Tree
    free: Sequence[int]
    target: float
    stop: Stop

    @cached_property
    def nodes(self) -> Nodes:
        return Nodes(self.tree, self.losses)

    @cached_property
    def pruned(self) -> Pruned:
        """The way from the whole tree to its root, by its weakest links."""
        start, outcomes = self.n_sample, self.tried.outcomes
        leaves, at = self.tree.apply(self.codes), self.tree.apply(self.tried.codes[start:])
        costs = node_costs(self.nodes, outcomes, self.rows, leaves, self.tried.rows[start:], at)
        return weakest_links(self.nodes, *costs)

    @property
    def n_choose(self) -> int:
        return len(self.tried) - self.n_sample

    @property
    def allowed(self) -> float:
        """How much the records to choose on may miss in all: a standard error less than the target allows.

        Many steps are judged by the same records, so that the last ones that fit owe it to chance; other records are to
        keep the target too.
        """
        n, target = self.n_choose, self.target
        return max(0.0, n * (1 - target) - math.sqrt(n * target * (1 - target))) + 1e-9

    def build_exact_groupings(self) -> Groupings:
        """Everything as it is, but what is forbidden."""
        return [whole(c) if c.attribute.forbidden else exactly(c) for c in self.coder.codings]

    def of_tree(self, tree: Tree) -> Groupings:
        """The buckets that a tree's questions make of the free attributes [Goldsteen22 §3.1]."""
        found = self.build_exact_groupings()
        for j, buckets in zip(tree.layout.splits, tree.buckets(), strict=True):
            found[j] = group_codes(self.coder.codings[j], buckets)
        return found

    def point(self, groupings: Groupings, agreement: float) -> GuidedPoint:
        """These buckets as a point of a path, with the information loss of all records."""
        hidden = sum(self.losses.mean(a, g.members) for a, g in enumerate(groupings) if not g.exact)
        return GuidedPoint(agreement, hidden, groupings, self.coder)

    def loss_of(self, attribute: int, grouping: AttributeGrouping) -> float:
        """One attribute's information loss, by itself."""
        lost = sum(int(self.losses.counts[attribute][c].sum()) * self.losses.of(attribute, c) for c in grouping.members)
        return 0.0 if grouping.exact else lost / self.losses.total
