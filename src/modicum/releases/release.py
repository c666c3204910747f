"""A published table of one dataset, with its measures."""

import os
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

from modicum.table.files import write_frame
from modicum.table.plain_data import LEFT_OUT, PlainResult
from modicum.typing import Codes


class ReleaseTerms(TypedDict):
    """The requested terms of a release, without those that were not requested."""

    k: int
    l: NotRequired[float]
    t: NotRequired[float]
    diversity: NotRequired[Literal["distinct", "entropy", "recursive"]]
    c: NotRequired[float]
    distance: NotRequired[Literal["equal", "ordered", "hierarchical"]]


@dataclass(frozen=True)
class Release(PlainResult):
    """A k-anonymous table and its information loss.

    Attributes
    ----------
    frame : the released records in their original order; a lazy table of the written file if an engine wrote it
        (`classes` is then None)
    method : the method that made it
    output : "values" (one record of the original domain for each group) or "ranges"
    quasi_identifiers, sensitive : the columns by which people could be recognised, and the one to protect
    asked : the requested terms: k, and if requested ℓ (with diversity and c) and t (with distance)
    k, l, t : the terms as measured on the released table
    classes : for each released record the number of its equivalence class: the records with the same quasi-identifiers
    n_classes : number of classes
    rows : number of released records
    suppressed : number of records left out
    ncp, ncp_by_attribute : information loss of the groups [Goldsteen22 §2.2]: 0 is full detail, 1 no detail
    discernibility : Σ |class|², where each record left out counts as much as all records (Bayardo and Agrawal 2005)
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
        """Write the released table (.csv or .parquet), completely or not at all."""
        write_frame(self.frame, path)
