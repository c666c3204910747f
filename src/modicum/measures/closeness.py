"""t-closeness: the distance of a group's sensitive values to the whole table's (Li, Li and Venkatasubramanian 2007).

The distance is the least work that turns one distribution into the other, for one of three distances between values:

- **equal**: any two values have distance 1. The result is the total variation ½ Σ|p − q|;
- **ordered**: the difference of the values' places among the m that occur, over m − 1. The result is
  Σ|cumulative difference| / (m − 1);
- **hierarchical**: height of the nearest common ancestor over the height H of the tree. The paper adds, for each inner
  node N, height(N)/H · min(surplus, deficit) of its children. As min(a, b) = ½ (a + b − |a − b|), this equals
  ½ Σ |p(C) − q(C)| · (height of C's parent − height of C)/H over all nodes C below the root, which is computed here.

Leaves of a tree may lie at different depths: the height of a node is its longest path down to a value, which has height
0. If chains of ancestors end in different nodes, a root is added above them. A value without ancestors, and missing,
are children of the root.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from modicum.errors import DataError, ParameterError, check_choice_is
from modicum.measures.anonymity import Held, sensitive_column, value_codes
from modicum.table.frames import numbers, texts
from modicum.table.inference import infer_attribute
from modicum.table.schema import Attribute
from modicum.table.values import canonical
from modicum.typing import Floats, Ints

# A hierarchy of values as arrays: the nodes above each value, and the weight of a difference at each node.

_ROOT = -1


@dataclass(frozen=True)
class ValueTree:
    """Nodes below the root: first the values (missing is the last of them), then their ancestors.

    Attributes
    ----------
    ancestors : for each step up, the node above each value; -1 from the root on. The first step is the value itself.
    weight : for each node, ½ (height of its parent − its own height) / height of the tree
    """

    ancestors: tuple[Ints, ...]
    weight: Floats

    @staticmethod
    def flat(values: int) -> "ValueTree":
        """Put all values directly below the root, so that any two have the same distance."""
        return ValueTree((np.arange(values),), np.full(values, 0.5))


def build_tree(hierarchy: Mapping[Any, Sequence[str]], words: Sequence[str], name: str) -> ValueTree:
    """Build the tree above these values and missing; `hierarchy` maps each value to its ancestors, nearest first.

    Examples
    --------
    >>> from modicum.measures.closeness import build_tree
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
    if len(tops) == 1:  # this node is the root
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
    """Map each node to its parent; None is the root. Since a node has one parent, there are no cycles."""
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


# t-closeness

Distance = Literal["equal", "ordered", "hierarchical"]

_DIGITS = 9  # removes rounding errors of sums of shares: a distance of one half must meet t = 0.5


def t_closeness(
    frame: Any,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    *,
    distance: Distance | None = None,
    order: Sequence[Any] | None = None,
    hierarchy: Mapping[Any, Sequence[str]] | None = None,
) -> float:
    """Return the largest distance from a group's distribution of sensitive values to the table's, to nine decimals.

    Parameters
    ----------
    frame : frame
        The released records. A table in an engine is counted there; its combinations of quasi-identifiers and
        sensitive value are fetched, at most two million.
    quasi_identifiers : names of columns. Missing values are equal to each other.
    sensitive : the name of another column. Missing counts as one more value: the last of an order, or a child of the
        root of a hierarchy.
    distance : "equal", "ordered" or "hierarchical"; by default hierarchical if a hierarchy is given, ordered for
        numbers, dates and categories with an order, else equal.
    order : the values of a category from first to last. Values that do not occur do not count.
    hierarchy : value → its ancestors, nearest first, as in `Attribute.hierarchy`. Values that do not occur count for
        the heights.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50"] * 3 + ["≥ 51"] * 3, "pay": [3, 4, 5, 6, 8, 11]})
    >>> round(md.measures.t_closeness(released, ["age"], "pay"), 3)
    0.3
    >>> md.measures.t_closeness(released, ["age"], "pay", distance="equal")
    0.5
    """
    if distance is not None:
        check_choice_is(distance, "distance", "t_closeness", get_args(Distance))
    rows = sensitive_column(frame, quasi_identifiers, sensitive)
    attribute = infer_attribute(rows.column)
    kind = _distance(distance, order, hierarchy, attribute)
    if kind == "ordered":
        return _furthest(_compute_ordered_distances(rows.count_values(_places(rows.column, order, attribute))))
    if kind == "equal":
        held = rows.count_values(value_codes(rows.column))
        return _furthest(_tree_distances(held, ValueTree.flat(len(held.totals))))
    codes, words = texts(rows.column)
    return _furthest(_tree_distances(rows.count_values(codes), build_tree(hierarchy or {}, words, sensitive)))


def _distance(distance: str | None, order: Any, hierarchy: Any, attribute: Attribute) -> str:
    if order is not None and hierarchy is not None:
        raise ParameterError("t_closeness takes 'order' or 'hierarchy', not both.")
    natural = "hierarchical" if hierarchy is not None else "equal"
    if order is not None or (hierarchy is None and attribute.has_order):
        natural = "ordered"
    kind = distance or natural
    for parameter, given, needed in (("order", order, "ordered"), ("hierarchy", hierarchy, "hierarchical")):
        if given is not None and kind != needed:
            raise ParameterError(f"The '{parameter}' parameter of t_closeness does not apply to the distance {kind!r}.")
    if kind == "hierarchical" and hierarchy is None:
        raise ParameterError("The hierarchical distance of t_closeness needs the 'hierarchy' parameter.")
    if kind == "ordered" and order is None and not attribute.has_order:
        raise ParameterError(f"The column {attribute.name!r} has no natural order; give the 'order' parameter.")
    return kind


def _places(column: Any, order: Sequence[Any] | None, attribute: Attribute) -> Ints:
    """Return each record's place in the order of the values that occur; -1 is missing."""
    if order is None and not attribute.is_category:
        return _by_size(column, attribute)
    listed = attribute.domain if order is None else order
    place = {canonical(value): i for i, value in enumerate(listed or ())}
    codes, words = texts(column)
    lacking = sum(word not in place for word in words)
    if lacking:
        raise DataError(f"The 'order' parameter lacks {lacking:,} of the values of the column {attribute.name!r}.")
    ranks = np.argsort(np.argsort([place[word] for word in words], kind="stable"), kind="stable")
    return np.append(ranks, -1).astype(np.int64)[codes]


def _by_size(column: Any, attribute: Attribute) -> Ints:
    exact = column.dtype.is_integer() and not column.null_count()  # floats would merge integers beyond 2**53
    values = column.to_numpy() if exact else numbers(column, attribute)
    present = ~np.isnan(values)
    places = np.full(len(values), -1, dtype=np.int64)
    places[present] = np.unique(values[present], return_inverse=True)[1]
    return places


def _furthest(distances: Floats) -> float:
    return min(1.0, max(0.0, round(float(distances.max()), _DIGITS)))


def _tree_distances(held: Held, tree: ValueTree) -> Floats:
    """Return the work of each group: first as if it had none of the nodes, then corrected for those that it has."""
    n, nodes = int(held.sizes.sum()), len(tree.weight)
    whole = np.zeros(nodes)
    keys, counts = [], []
    for above in tree.ancestors:
        whole += np.bincount(np.maximum(above, 0), weights=np.where(above < 0, 0, held.totals), minlength=nodes) / n
        node = above[held.value]
        keys.append((held.group * nodes + node)[node >= 0])
        counts.append(held.count[node >= 0])
    key, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    count = np.bincount(inverse, weights=np.concatenate(counts))
    group, node = key // nodes, key % nodes
    change = np.abs(count / held.sizes[group] - whole[node]) - whole[node]
    return np.asarray(tree.weight @ whole + np.bincount(group, weights=tree.weight[node] * change))


def _compute_ordered_distances(held: Held) -> Floats:
    """Return Σ|cumulative difference| / (m − 1) for each group.

    Between two of a group's values its cumulative share is constant, while the whole table's increases. Each such
    stretch is cut where they cross; both parts are differences of running sums.
    """
    totals = held.totals[:-1] if not held.totals[-1] else held.totals  # no missing values
    m = len(totals)
    if m == 1:
        return np.zeros(len(held.sizes))
    whole = np.cumsum(totals) / totals.sum()
    sums = np.append(0.0, np.cumsum(whole))
    last = np.append(held.group[1:] != held.group[:-1], True)
    end = np.where(last, m, np.append(held.value[1:], 0))
    running = np.cumsum(held.count)
    before = np.append(0, np.cumsum(held.sizes))[held.group]
    share = (running - before) / held.sizes[held.group]
    cut = np.clip(np.searchsorted(whole, share), held.value, end)
    below = share * (2 * cut - held.value - end) + sums[held.value] + sums[end] - 2 * sums[cut]
    first = held.value[np.append(True, last[:-1])]
    return (np.bincount(held.group, weights=below) + sums[first]) / (m - 1)
