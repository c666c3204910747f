"""What every artifact can be asked: that is all a judge needs to know of it."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from modicum.table.schema import Schema
from modicum.table.targets import Target
from modicum.table.values import Codes, Mask


@runtime_checkable
class Artifact(Protocol):
    """Something that shows records in less detail, by one partition per attribute or by cells over several.

    Attributes
    ----------
    schema, names : the attributes it speaks of
    sizes : how many codes each column of `codes` may have
    """

    @property
    def schema(self) -> Schema: ...

    @property
    def names(self) -> list[str]: ...

    @property
    def sizes(self) -> Sequence[int]: ...

    def codes(self, X: Any) -> Codes:
        """What an adversary sees of the records: one row each, equal rows for records that cannot be told apart."""
        ...

    def possible(self, attribute: str, target: Target, codes: Codes) -> Mask:
        """For each row of codes, which of the target's values it leaves possible."""
        ...
