"""A hierarchy of values as arrays: the nodes above each value, and how much a difference at each node weighs."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError
from modicum.measures.alike import Ints
from modicum.table.values import canonical

_ROOT = -1


@dataclass(frozen=True)
class ValueTree:
    """Nodes below the root: first the values (missing the last of them), then those above them.

    Attributes
    ----------
    ancestors : for each step up, the node that stands there above each value; -1 from the root on. The first step is
        the value itself.
    weight : for each node, ½ (height of its parent − its own height) / height of the tree
    """

    ancestors: tuple[Ints, ...]
    weight: npt.NDArray[np.float64]

    @staticmethod
    def flat(values: int) -> "ValueTree":
        """All values right below the root: any two are equally far apart."""
        return ValueTree((np.arange(values),), np.full(values, 0.5))


def build_tree(hierarchy: Mapping[Any, Sequence[str]], words: Sequence[str], name: str) -> ValueTree:
    """The tree above these values, and missing, of a hierarchy that maps each value to its ancestors, nearest first.

    Examples
    --------
    >>> from modicum.measures.value_trees import build_tree
    >>> above = {"flu": ["lungs", "any"], "cold": ["lungs", "any"], "gout": ["any"]}
    >>> tree = build_tree(above, ["gout", "flu"], "illness")
    >>> [step.tolist() for step in tree.ancestors], tree.weight.tolist()
    ([[0, 1, 2], [-1, 3, -1]], [0.5, 0.25, 0.5, 0.25])
    """
    chains = {canonical(value): _chain(above) for value, above in hierarchy.items()}
    lacking = sum(word not in chains for word in words)
    if lacking:
        raise DataError(f"The 'hierarchy' parameter lacks {lacking:,} of the values of the column {name!r}.")
    tops = {chain[-1] for chain in chains.values() if chain}
    if len(tops) == 1:  # the one top is the root itself
        chains = {value: chain[:-1] for value, chain in chains.items()}
    parent = _parents(chains.values())
    height = _heights(chains.values())
    place = {node: len(words) + 1 + i for i, node in enumerate(parent)}
    paths = [[i, *(place[node] for node in chains[word])] for i, word in enumerate(words)] + [[len(words)]]
    steps = max(map(len, paths))
    ancestors = np.array([[*path, *[_ROOT] * (steps - len(path))] for path in paths], dtype=np.int64).T
    tall = 1 + max(height.values(), default=0)
    above = [height[chains[word][0]] if chains[word] else tall for word in words] + [tall]
    above += [(tall if up is None else height[up]) - height[node] for node, up in parent.items()]
    return ValueTree(tuple(ancestors), np.array(above) / (2 * tall))


def _chain(above: Any) -> tuple[str, ...]:
    if isinstance(above, str) or not isinstance(above, Sequence):
        raise ParameterError("The 'hierarchy' parameter must map each value to a list of its ancestors, nearest first.")
    if len(set(above)) < len(above):
        raise ParameterError("The 'hierarchy' parameter names an ancestor of one value twice.")
    return tuple(str(node) for node in above)


def _parents(chains: Any) -> dict[str, str | None]:
    """The node above each node; None is the root. A node has one parent, which also rules out circles."""
    parent: dict[str, str | None] = {}
    for chain in chains:
        for node, up in itertools.zip_longest(chain, chain[1:]):
            if parent.setdefault(node, up) != up:
                raise ParameterError(f"The 'hierarchy' parameter puts {node!r} under more than one ancestor.")
    return parent


def _heights(chains: Any) -> dict[str, int]:
    height: dict[str, int] = {}
    for chain in chains:
        for i, node in enumerate(chain):
            height[node] = max(height.get(node, 0), i + 1)
    return height
