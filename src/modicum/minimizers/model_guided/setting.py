"""What every search is given: the records to learn from, to try steps on and to choose on, and the tree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from modicum.generalization import Generalization
from modicum.minimizers.base import enforce_schema
from modicum.minimizers.model_guided.attribute_grouping import (
    AttributeGrouping,
    Groupings,
    exactly,
    group_codes,
    partition_of,
    whole,
)
from modicum.minimizers.model_guided.guiding_tree import Losses, Nodes, Pruned, node_costs, weakest_links
from modicum.minimizers.model_guided.records import Records
from modicum.progress import Stop
from modicum.table.codes import CodeArray, Coder
from modicum.trees import Tree
from modicum.typing import Codes

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
    def leaves(self) -> Codes:
        """The leaf of each record to learn from."""
        return self.tree.apply(self.codes)

    @cached_property
    def pruned(self) -> Pruned:
        """The way from the whole tree to its root, by its weakest links."""
        start, outcomes = self.n_sample, self.tried.outcomes
        at = self.tree.apply(self.tried.codes[start:])
        costs = node_costs(self.nodes, outcomes, self.rows, self.leaves, self.tried.rows[start:], at)
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
        """The buckets that a tree's questions make of the free attributes (papers/1 §3.1)."""
        found = self.build_exact_groupings()
        for j, buckets in zip(tree.layout.splits, tree.buckets(), strict=True):
            found[j] = group_codes(self.coder.codings[j], buckets)
        return found

    def hidden(self, groupings: Sequence[AttributeGrouping]) -> float:
        """The information loss of all records, as the losses count it."""
        return sum(self.losses.mean(a, g.members) for a, g in enumerate(groupings) if not g.exact)

    def point(self, groupings: Groupings, agreement: float) -> GuidedPoint:
        """These buckets as a point of a path."""
        return GuidedPoint(agreement, self.hidden(groupings), groupings, self.coder)

    def loss_of(self, attribute: int, grouping: AttributeGrouping) -> float:
        """One attribute's information loss, by itself."""
        lost = sum(int(self.losses.counts[attribute][c].sum()) * self.losses.of(attribute, c) for c in grouping.members)
        return 0.0 if grouping.exact else lost / self.losses.total

    def finest(self, attribute: int) -> AttributeGrouping:
        coding = self.coder.codings[attribute]
        return group_codes(coding, np.arange(coding.n_codes))
