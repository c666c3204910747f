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

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [18, 35, 52, 70], "job": ["nurse", "clerk", "nurse", "smith"]})
    >>> artifact = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> artifact.names, artifact.sizes, artifact.codes(X).tolist()
    (['age', 'job'], (3, 1), [[0, 0], [0, 0], [1, 0], [1, 0]])
    """

    @property
    def schema(self) -> Schema:
        """Kinds, roles and domains of the attributes."""
        ...

    @property
    def names(self) -> list[str]:
        """The attributes it speaks of."""
        ...

    @property
    def sizes(self) -> Sequence[int]:
        """How many codes each column of `codes` may have."""
        ...

    def codes(self, X: Any) -> Codes:
        """What an adversary sees of the records: one row each, equal rows for records that cannot be told apart."""
        ...

    def possible(self, attribute: str, target: Target, codes: Codes) -> Mask:
        """For each row of codes, which of the target's values it leaves possible."""
        ...
