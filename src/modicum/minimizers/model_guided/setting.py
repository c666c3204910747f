"""The data that every search gets, and the groupings that it changes.

A search gets the tree, and the records to learn from, to try steps on and to choose on. It changes each attribute's
grouping: its codes in buckets with one representative code each, or the exact attribute.
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

_PARTNERS = 8  # the largest buckets of a category, which others may join
_WHOLES = 3  # buckets that may represent the whole attribute


@dataclass(frozen=True)
class AttributeGrouping:
    """`bucket_of` holds each code's bucket, from 0 without gaps, and `representatives` one code for each bucket.

    If it is `exact`, the model gets the exact value, and the buckets have no effect.
    """

    bucket_of: Codes
    representatives: Codes
    exact: bool = False

    @property
    def n_buckets(self) -> int:
        return len(self.representatives)

    @cached_property
    def members(self) -> list[Codes]:
        """The codes of each bucket."""
        return [np.flatnonzero(self.bucket_of == bucket) for bucket in range(self.n_buckets)]

    @cached_property
    def representative_of(self) -> Codes:
        """For each code, the representative code of its bucket."""
        return self.representatives[self.bucket_of]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is collected."""
        return self.n_buckets == 1 and not self.exact

    def merge_buckets(self, one: int, other: int, representative: int) -> "AttributeGrouping":
        """Merge two buckets."""
        low, high = min(one, other), max(one, other)
        bucket_of = np.where(self.bucket_of == high, low, self.bucket_of)
        bucket_of = bucket_of - (bucket_of > high)
        representatives = np.delete(self.representatives, high)
        representatives[low] = representative
        return AttributeGrouping(bucket_of, representatives)


Groupings = list[AttributeGrouping]


def whole(coding: Coding, representative: int | None = None) -> AttributeGrouping:
    """Return the grouping that collects nothing of the attribute."""
    return AttributeGrouping(
        np.zeros(coding.n_codes, dtype=np.int64),
        np.array([usual_code(coding) if representative is None else representative]),
    )


def exactly(coding: Coding) -> AttributeGrouping:
    """Return the grouping that keeps the attribute exact."""
    codes = np.arange(coding.n_codes)
    return AttributeGrouping(codes, codes, exact=True)


def group_codes(coding: Coding, bucket_of: Codes) -> AttributeGrouping:
    """Group codes with the same number; a bucket's representative is its median or most frequent category."""
    _, numbers = np.unique(bucket_of, return_inverse=True)
    representatives = []
    for bucket in range(int(numbers.max()) + 1):
        codes = np.flatnonzero(numbers == bucket)
        values = codes[codes < coding.n_values]
        representatives.append(middle_code(coding, values) if len(values) else coding.n_values)
    return AttributeGrouping(numbers.astype(np.int64), np.array(representatives, dtype=np.int64))


def finest(coding: Coding) -> AttributeGrouping:
    """Return the grouping with a bucket for each code."""
    return group_codes(coding, np.arange(coding.n_codes))


def column_of(grouping: AttributeGrouping, records: Records, attribute: int) -> Codes:
    """One attribute of the records as numbers: each value's representative, or the value itself."""
    if grouping.exact:
        return records.exact[:, attribute]
    column = grouping.representative_of[records.codes[:, attribute]]
    strange = records.strange[:, attribute]
    return column if grouping.is_whole else np.where(strange >= 0, strange, column)


def numbers_of(groupings: Sequence[AttributeGrouping], records: Records) -> Matrix:
    """The records as numbers."""
    return np.column_stack([column_of(grouping, records, j) for j, grouping in enumerate(groupings)])


def partition_of(coding: Coding, grouping: AttributeGrouping) -> AnyPartition:
    """Return the same grouping as a partition for an artifact."""
    if grouping.exact:
        return keep(coding)
    return partition(coding, grouping.bucket_of, dict(enumerate(grouping.representatives.tolist())))


def coarser(
    coding: Coding, grouping: AttributeGrouping, counts: Codes
) -> Iterator[tuple[AttributeGrouping, tuple[int, ...]]]:
    """Yield every next step of an attribute to less detail, and the buckets it touches.

    Of two buckets, the second keeps its representative. Neighbours of an attribute with an order merge and keep the
    larger one's representative; a category's buckets join one of the largest; a bucket of missing values alone joins
    any of those; and all may become one at once.
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
    absent = [b for b in every if grouping.representatives[b] >= coding.n_values]
    own = [b for b in every if b not in absent]
    if coding.attribute.has_order:
        own.sort(key=lambda b: int(grouping.representatives[b]))
        for one, other in pairwise(own):
            smaller, larger = (other, one) if sizes[one] >= sizes[other] else (one, other)
            yield grouping.merge_buckets(one, other, int(grouping.representatives[larger])), (smaller, larger)
    else:
        absent = list(every)
    values = [b for b in largest.tolist() if grouping.representatives[b] < coding.n_values][:_PARTNERS]
    for one in absent:
        for other in values:
            if one != other:
                yield grouping.merge_buckets(one, other, int(grouping.representatives[other])), (one, other)
    if k > 2:
        for bucket in values[: _WHOLES if k <= _PARTNERS else 1]:
            yield whole(coding, int(grouping.representatives[bucket])), every


# A point of a path: the buckets that a search reached, and what they keep and hide


@dataclass(frozen=True)
class GuidedPoint:
    """One generalization of a path.

    Attributes
    ----------
    agreement : the share of predictions that stay, on the records to choose on
    loss : how much it hides of the records learned from, by the chosen loss (NCP by default)
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
    tried : records to try steps on: some of those to learn from, then all to choose on
    n_sample : how many of them are to learn from
    tree : homogeneous in the model's predictions for these
    free : the attributes that may be minimized; the others are kept exact, or never collected if the schema forbids it
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
        """The path from the whole tree to its root, by its weakest links."""
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

        Many steps are judged by the same records, so the last ones may fit by chance; other records should keep the
        target too.
        """
        n, target = self.n_choose, self.target
        return max(0.0, n * (1 - target) - math.sqrt(n * target * (1 - target))) + 1e-9

    def build_exact_groupings(self) -> Groupings:
        """Return exact groupings for all attributes, except that forbidden ones are not collected."""
        return [whole(c) if c.attribute.forbidden else exactly(c) for c in self.coder.codings]

    def of_tree(self, tree: Tree) -> Groupings:
        """Return the buckets that a tree's questions make of the free attributes [Goldsteen22 §3.1]."""
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
