"""Cells in words: one line for each, the same as plain data."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.generalization.describe import percent
from modicum.table.frames import as_frame

_SHOWN = 20  # cells that are printed

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
    kept: dict[str, tuple[str, ...]]
    needed: int
    attributes: int

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)

    @property
    def lines(self) -> list[str]:
        """One text for each of the first cells, then what is told in all of them, and one about all."""
        lines = [self._line(cell) for cell in self.cells[:_SHOWN]]
        rest = self.cells[_SHOWN:]
        if rest:
            share = sum(line.share or 0.0 for line in rest)
            lines.append(f"… {len(rest)} more{'' if rest[0].share is None else f' ({percent(share)} of the records)'}")
        kept = [f"{name}: {' · '.join(labels) or 'exact value'}" for name, labels in self.kept.items()]
        besides = ["", "Told in every cell besides:", *kept] if kept else []
        unit = "cell" if len(self.cells) == 1 else "cells"
        return [*lines, *besides, "", f"{len(self.cells)} {unit}, {self.needed} of {self.attributes} attributes."]

    def _line(self, cell: CellLine) -> str:
        told = ", ".join(f"{name} {label}" for name, label in cell.told.items()) or "any record"
        share = "" if cell.share is None else f"{percent(cell.share):>5}  "
        return f"{share}{told}" + ("" if self.kept else f" → {cell.prediction}")

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
    kept = {name: cells.told(name)[0].labels for name in cells.kept}
    return CellsDescription(tuple(lines), kept, len(cells.needed), len(cells.names))
