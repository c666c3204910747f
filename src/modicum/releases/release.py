"""A published table, tied to one dataset: what was released, and what was measured of it."""

import os
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

from modicum.table.files import write_frame
from modicum.table.plain_data import LEFT_OUT, PlainResult
from modicum.typing import Codes


class ReleaseTerms(TypedDict):
    """What was asked of a release; what was not asked for is left out."""

    k: int
    l: NotRequired[float]
    t: NotRequired[float]
    diversity: NotRequired[Literal["distinct", "entropy", "recursive"]]
    c: NotRequired[float]
    distance: NotRequired[Literal["equal", "ordered", "hierarchical"]]


@dataclass(frozen=True)
class Release(PlainResult):
    """A k-anonymous table and what it lost.

    Attributes
    ----------
    frame : the released records, in the order in which they were given; a lazy table of what was written where an
        engine wrote it (`classes` is then None)
    method : how it was made
    output : "values" (one record of the original domain for each group) or "ranges"
    quasi_identifiers, sensitive : the columns by which people could be recognised, and the one to protect
    asked : what was asked for: k, and where they were ℓ (with diversity and c) and t (with distance)
    k, l, t : what the released table has, measured on it
    classes : for each released record the number of its equivalence class: the records with the same quasi-identifiers
    n_classes : how many there are
    rows : how many records were released
    suppressed : how many were left out
    ncp, ncp_by_attribute : information loss of the groups [Goldsteen22 §2.2]: 0 is full detail, 1 is nothing
    discernibility : Σ |class|², records left out counted as one with everybody (Bayardo and Agrawal 2005)
    classification_metric : share of records whose label is not the most frequent of their class (Iyengar 2002)

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [31, 32, 34, 60, 61], "job": ["nurse", "nurse", "clerk", "clerk", "clerk"]})
    >>> release = md.Mondrian(k=2, output="ranges").fit(X).release_
    >>> release.frame["age"].tolist(), release.k, release.n_classes
    (['31–32', '31–32', '34–61', '34–61', '34–61'], 2, 2)
    """

    frame: Any = field(repr=False, metadata=LEFT_OUT)
    method: str
    output: str
    quasi_identifiers: tuple[str, ...]
    sensitive: str | None
    asked: ReleaseTerms
    k: int
    l: float | None
    t: float | None
    classes: Codes | None = field(repr=False, compare=False, metadata=LEFT_OUT)
    n_classes: int
    rows: int
    suppressed: int
    ncp: float
    ncp_by_attribute: dict[str, float]
    discernibility: int
    classification_metric: float | None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the released table (.csv or .parquet), whole or not at all."""
        write_frame(self.frame, path)
