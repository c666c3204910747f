"""Cells inside an engine: each attribute's bucket, then the cell by the tree's questions, then what the cell tells."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import ArtifactError
from modicum.generalization.lazy import Source, selected
from modicum.generalization.lazy_columns import stepped
from modicum.generalization.representatives import representatives

if TYPE_CHECKING:
    from modicum.generalization.cells import CellPartition

_CELL = "(cell)"
_DEEPEST = 40  # questions one within another


def cells_in_engine(
    X: Any, cells: "CellPartition", output: str, beside: Sequence[str] = (), one_pass: bool = False
) -> Any:
    """A lazy table with what the cells tell, in the given form, behind the columns `beside` as they are."""
    chosen = cells.names if output == "values" else cells.needed
    if not chosen and not beside:
        raise ArtifactError("These cells tell nothing, and an engine has no table without columns.")
    asked = [cells.detail[cells.names[j]] for j in cells.tree.asked]
    kept = [cells.told(name)[0] for name in cells.kept]
    source = Source(X, [*asked, *kept])
    buckets = {f"(bucket {j})": source.bucket(p, "codes") for j, p in zip(cells.tree.asked, asked, strict=True)}
    passed = {f"(beside {i})": nw.col(source.names[name]) for i, name in enumerate(beside)}
    passed |= {_kept(cells, p.name): source.bucket(p, output) for p in kept}
    inner: Any = nw.from_native(selected(source, buckets | passed, [*asked, *kept], one_pass))
    found = inner.select(*passed, _cell(cells, 0 if cells.tree.questions else -1).alias(_CELL))
    told = [
        nw.col(_kept(cells, name)) if name in cells.kept else _told(cells, name, output, source.types.get(name))
        for name in chosen
    ]
    columns = [*(nw.col(f"(beside {i})") for i in range(len(beside))), *told]
    named = zip(columns, [*beside, *chosen], strict=True)
    return found.select(*(column.alias(name) for column, name in named)).to_native()


def _cell(cells: "CellPartition", place: int, depth: int = 1) -> nw.Expr:
    """The number of the cell that a question leads to; a cell's own place is written as its complement."""
    if place < 0:
        return nw.lit(~place)
    if depth > _DEEPEST:
        raise ArtifactError(
            f"These cells ask a record more than {_DEEPEST} questions, which is more than an expression of an engine "
            "holds; a frame in memory has no such limit."
        )
    walk = cells.tree.walk
    left, right = (_cell(cells, int(child), depth + 1) for child in walk.children[place])
    goes_left = np.flatnonzero(np.split(walk.goes_left, walk.starts[1:])[place]).tolist()
    return nw.when(nw.col(f"(bucket {int(walk.columns[place])})").is_in(goes_left)).then(left).otherwise(right)


def _kept(cells: "CellPartition", name: str) -> str:
    return f"(kept {cells.names.index(name)})"


def _told(cells: "CellPartition", name: str, output: str, dtype: Any) -> nw.Expr:
    """What each cell tells of an attribute, by the cell's number."""
    if output == "values":
        own = [cell.values[cells.names.index(name)] for cell in cells.tree.cells]
        values, fitting = representatives(cells.schema[name], own, dtype)
        found = _by_cell(values)
        return found if fitting is None else found.cast(fitting)
    codes = cells.told_by_cell(name).tolist()
    return _by_cell(codes if output == "codes" else [cells.labels(name)[code] for code in codes])


def _by_cell(values: Sequence[Any]) -> nw.Expr:
    ends = [
        i for i in range(len(values) - 1) if values[i] != values[i + 1]
    ]  # the last cells of runs that tell the same
    steps = [nw.lit(values[i]) for i in [*ends, len(values) - 1]]
    return stepped(nw.col(_CELL), ends, steps)
