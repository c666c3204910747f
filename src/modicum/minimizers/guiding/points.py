"""A point of a path: the buckets that a search came to, and what they keep and hide."""

from dataclasses import dataclass, field
from functools import cached_property

from modicum.generalization import Generalization
from modicum.minimizers.base import obeying
from modicum.minimizers.guiding.grouping import Groupings, partition_of
from modicum.table.codes import Coder


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
        return obeying(self.coder, found)
