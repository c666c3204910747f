"""Random cells over a generalization, for tests of cells and their exports."""

import numpy as np

from modicum.generalization.bins import Groups
from modicum.generalization.cells import Ask, Cell, CellPartition


def value_of(partition, code):
    is_other = isinstance(partition, Groups) and code == partition.unseen_code
    return "never seen" if is_other else partition.representatives[code]


def random_cells(detail, n_cells, random, predictions=2):
    """Build a tree by splitting a random cell by a random question until there are enough."""
    sizes = detail.sizes
    root = {"box": [np.arange(size) for size in sizes]}
    leaves = [root]
    while len(leaves) < n_cells:
        leaf = leaves.pop(int(random.integers(len(leaves))))
        open_ = [a for a, codes in enumerate(leaf["box"]) if len(codes) > 1]
        if not open_:
            leaves.append(leaf)
            break
        a = int(random.choice(open_))
        codes, cut = leaf["box"][a], int(random.integers(1, len(leaf["box"][a])))
        if not detail.partitions[a].attribute.has_order:
            codes = random.permutation(codes)
        sides = [np.sort(codes[:cut]), np.sort(codes[cut:])]
        leaf["ask"] = Ask(ask=detail.names[a], left=tuple(sides[0].tolist()))
        leaf["sides"] = [{"box": [*leaf["box"][:a], side, *leaf["box"][a + 1 :]]} for side in sides]
        leaves += leaf["sides"]
    entries, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if "ask" in node:
            entries.append(node["ask"])
            waiting += node["sides"][::-1]
        else:
            values = [value_of(p, int(box[0])) for p, box in zip(detail.partitions, node["box"], strict=True)]
            entries.append(Cell(prediction=int(random.integers(predictions)), values=tuple(values)))
    return CellPartition(detail, entries)
