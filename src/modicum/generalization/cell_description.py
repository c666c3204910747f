"""Cells in words: one line for each, the same as plain data."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.generalization.describe import percent
from modicum.table.frames import as_frame

if TYPE_CHECKING:
    from modicum.generalization.cells import CellPartition


@dataclass(frozen=True)
class CellLine:
    """One cell: what its records tell of each attribute that is told, what the model predicts, its share of records."""

    told: dict[str, str]
    prediction: Any
    share: float | None = None


@dataclass(frozen=True)
class CellsDescription:
    """What cells ask of a person; `str()` gives a list, `to_dict()` plain data."""

    cells: tuple[CellLine, ...]
    kept: tuple[str, ...]
    needed: int
    attributes: int

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)

    @property
    def lines(self) -> list[str]:
        """One text for each cell, then one about all of them."""
        lines = []
        for line in self.cells:
            told = ", ".join(f"{name} {label}" for name, label in line.told.items()) or "any record"
            share = "" if line.share is None else f"{percent(line.share):>5}  "
            lines.append(f"{share}{told}" + ("" if self.kept else f" → {line.prediction}"))
        besides = f"; in every cell also {', '.join(self.kept)}" if self.kept else ""
        unit = "cell" if len(self.cells) == 1 else "cells"
        return [*lines, "", f"{len(self.cells)} {unit}, {self.needed} of {self.attributes} attributes{besides}."]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def describe_cells(cells: "CellPartition", X: Any = None) -> CellsDescription:
    """The description of cells, with shares where records are given: then the largest cell comes first."""
    order = np.arange(cells.n_cells)
    shares = None
    if X is not None:
        counts = np.bincount(cells.cells(X), minlength=cells.n_cells)
        shares = counts / max(1, len(as_frame(X, cells.names)))
        order = np.argsort(-counts, kind="stable")
    lines = [
        CellLine(
            cells.cell_labels(cell),
            cells.tree.cells[cell].prediction,
            None if shares is None else round(float(shares[cell]), 6),
        )
        for cell in order.tolist()
    ]
    return CellsDescription(tuple(lines), tuple(cells.kept), len(cells.needed), len(cells.names))
