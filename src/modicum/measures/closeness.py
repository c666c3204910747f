"""How far a group's sensitive values may be from the whole table's: t-closeness (Li, Li and Venkatasubramanian 2007).

The distance is the least work that turns one distribution into the other, for one of three distances between values:

- **equal**: any two values are 1 apart, which makes it the total variation ½ Σ|p − q|;
- **ordered**: values are as far apart as their places among the m that occur, over m − 1, which makes it
  Σ|cumulative difference| / (m − 1);
- **hierarchical**: height of the nearest common ancestor over the height H of the tree. The paper adds, for each inner
  node N, height(N)/H · min(surplus, deficit) of its children. As min(a, b) = ½ (a + b − |a − b|), that is the same as
  ½ Σ |p(C) − q(C)| · (height of C's parent − height of C)/H over all nodes C below the root, which is what is computed.

Leaves of a tree may lie at different depths: the height of a node is the longest way down from it to a value, of height
0. Where chains of ancestors end in different tops, one root stands above them. A value without ancestors, and missing,
are children of the root.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError
from modicum.measures.alike import Held, Ints, sensitive_column, value_codes
from modicum.measures.value_trees import ValueTree, build_tree
from modicum.table.frames import numbers, texts
from modicum.table.inference import infer_attribute
from modicum.table.schema import Attribute
from modicum.table.values import canonical

Distance = Literal["equal", "ordered", "hierarchical"]
Floats = npt.NDArray[np.float64]

_DIGITS = 9  # sums of shares miss a round figure by a little, and t = 0.5 must be met by half


def t_closeness(
    frame: Any,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    *,
    distance: Distance | None = None,
    order: Sequence[Any] | None = None,
    hierarchy: Mapping[Any, Sequence[str]] | None = None,
) -> float:
    """The largest distance between a group's distribution of sensitive values and the whole table's (to nine decimals).

    Parameters
    ----------
    frame : frame
        What is released. Of a table in an engine the combinations of quasi-identifiers and sensitive value are counted
        there and brought together, of which there may be two million.
    quasi_identifiers : names of columns. Missing values are alike.
    sensitive : the name of another column. Missing is a value of its own: the last of an order, a branch of its own of
        a hierarchy.
    distance : "equal", "ordered" or "hierarchical"; by default ordered for numbers, dates and categories that have an
        order, hierarchical where a hierarchy is given, else equal.
    order : the values of a category from first to last. Those that do not occur do not count.
    hierarchy : value → its ancestors, nearest first, as in `Attribute.hierarchy`. It counts as it is given, also
        values that do not occur.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50"] * 3 + ["≥ 51"] * 3, "pay": [3, 4, 5, 6, 8, 11]})
    >>> round(md.measures.t_closeness(released, ["age"], "pay"), 3)
    0.3
    >>> md.measures.t_closeness(released, ["age"], "pay", distance="equal")
    0.5
    """
    if distance not in (None, "equal", "ordered", "hierarchical"):
        raise ParameterError(
            "The 'distance' parameter of t_closeness must be 'equal', 'ordered' or 'hierarchical'. "
            f"Got {distance!r} instead."
        )
    rows = sensitive_column(frame, quasi_identifiers, sensitive, "sensitive")
    attribute = infer_attribute(rows.column)
    kind = _distance(distance, order, hierarchy, attribute)
    if kind == "ordered":
        return _furthest(_ordered_distances(rows.held(_places(rows.column, order, attribute))))
    if kind == "equal":
        found = rows.held(value_codes(rows.column))
        return _furthest(_tree_distances(found, ValueTree.flat(len(found.totals))))
    codes, words = texts(rows.column)
    return _furthest(_tree_distances(rows.held(codes), build_tree(hierarchy or {}, words, sensitive)))


def _distance(distance: str | None, order: Any, hierarchy: Any, attribute: Attribute) -> str:
    if order is not None and hierarchy is not None:
        raise ParameterError("t_closeness takes 'order' or 'hierarchy', not both.")
    natural = "hierarchical" if hierarchy is not None else "equal"
    if order is not None or (hierarchy is None and attribute.has_order):
        natural = "ordered"
    kind = distance or natural
    for parameter, given, needed in (("order", order, "ordered"), ("hierarchy", hierarchy, "hierarchical")):
        if given is not None and kind != needed:
            raise ParameterError(f"The '{parameter}' parameter of t_closeness is of no use to the distance {kind!r}.")
    if kind == "hierarchical" and hierarchy is None:
        raise ParameterError("The hierarchical distance of t_closeness needs the 'hierarchy' parameter.")
    if kind == "ordered" and order is None and not attribute.has_order:
        raise ParameterError(f"The column {attribute.name!r} has no order of its own; give the 'order' parameter.")
    return kind


def _places(column: Any, order: Sequence[Any] | None, attribute: Attribute) -> Ints:
    """Each record's place in the order of the values that occur; -1 is missing."""
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
    exact = column.dtype.is_integer() and not column.null_count()  # beyond 2**53 floats would merge values
    values = column.to_numpy() if exact else numbers(column, attribute)
    present = ~np.isnan(values)
    places = np.full(len(values), -1, dtype=np.int64)
    places[present] = np.unique(values[present], return_inverse=True)[1]
    return places


def _furthest(distances: Floats) -> float:
    return min(1.0, max(0.0, round(float(distances.max()), _DIGITS)))


def _tree_distances(found: Held, tree: ValueTree) -> Floats:
    """The work of each group: as if it had none of the nodes, then put right for those that it has."""
    n, nodes = int(found.sizes.sum()), len(tree.weight)
    whole = np.zeros(nodes)
    keys, counts = [], []
    for above in tree.ancestors:
        whole += np.bincount(np.maximum(above, 0), weights=np.where(above < 0, 0, found.totals), minlength=nodes) / n
        node = above[found.value]
        keys.append((found.group * nodes + node)[node >= 0])
        counts.append(found.count[node >= 0])
    key, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    count = np.bincount(inverse, weights=np.concatenate(counts))
    group, node = key // nodes, key % nodes
    change = np.abs(count / found.sizes[group] - whole[node]) - whole[node]
    return np.asarray(tree.weight @ whole + np.bincount(group, weights=tree.weight[node] * change))


def _ordered_distances(found: Held) -> Floats:
    """Σ|cumulative difference| / (m − 1) for each group.

    A group's cumulative share is constant between two of its values, and the whole table's grows: each such stretch is
    cut where the one passes the other, and both parts are differences of running sums.
    """
    totals = found.totals[:-1] if not found.totals[-1] else found.totals  # no missing values
    m = len(totals)
    if m == 1:
        return np.zeros(len(found.sizes))
    whole = np.cumsum(totals) / totals.sum()
    sums = np.append(0.0, np.cumsum(whole))
    last = np.append(found.group[1:] != found.group[:-1], True)
    end = np.where(last, m, np.append(found.value[1:], 0))
    running = np.cumsum(found.count)
    before = np.append(0, np.cumsum(found.sizes))[found.group]
    share = (running - before) / found.sizes[found.group]
    cut = np.clip(np.searchsorted(whole, share), found.value, end)
    below = share * (2 * cut - found.value - end) + sums[found.value] + sums[end] - 2 * sums[cut]
    first = found.value[np.append(True, last[:-1])]
    return (np.bincount(found.group, weights=below) + sums[first]) / (m - 1)
