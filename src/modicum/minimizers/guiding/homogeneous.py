"""The tree that learns what the model says, until every leaf holds one prediction alone (papers/1 §3.1)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from modicum.progress import Stop
from modicum.table.codes import Coder, all_counts
from modicum.table.counts import Layout, RowCounts
from modicum.trees import Criterion, Tree, grow


def homogeneous_tree(
    coder: Coder,
    codes: npt.NDArray[np.uint16],
    targets: npt.NDArray[np.uint16],
    free: Sequence[int],
    max_depth: int | None,
    stop: Stop,
) -> Tree:
    """A Gini tree on the columns `free`, grown until no split tells predictions apart.

    Parameters
    ----------
    coder : Coder
    codes : array, one row per record
    targets : array, one column per target
        What is learned; several columns for a number, one for each threshold.
    free : the attributes that may be asked for
    max_depth : int, optional
    stop : Stop
    """
    width = codes.shape[1]
    sizes = [int(column.max()) + 1 for column in targets.T]
    layout = Layout(
        splits=tuple(free),
        split_sizes=tuple(coder.sizes[j] for j in free),
        targets=tuple(width + t for t in range(targets.shape[1])),
        target_sizes=tuple(max(2, size) for size in sizes),
    )
    codings = [coder.codings[j] for j in free]
    criterion = Criterion(
        column_weights=np.ones(layout.shape[1]),
        has_order=np.array([c.attribute.has_order for c in codings]),
        missing=np.array([c.n_values if c.missing else -1 for c in codings], dtype=np.int64),
        min_leaf=1,
    )
    return grow(
        RowCounts(np.column_stack([codes, targets]), layout),
        criterion,
        value_counts=[all_counts(c) for c in codings],
        max_depth=max_depth,
        should_stop=lambda: stop.asked,
    )
