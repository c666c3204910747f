"""Whether the trees inside a loaded model lead somewhere: compiled code follows their nodes without looking."""

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from modicum.errors import ArtifactError


def check_trees(model: Any) -> None:
    """Refuse scikit-learn's trees whose nodes lead outside the tree or back, or ask for a column that there is not.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from modicum.export.sound_trees import check_trees
    >>> check_trees(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    """
    if not all(_is_sound(tree, width) for tree, width in _trees(model)):
        raise ArtifactError("The model holds a tree whose nodes lead nowhere; it is damaged or was forged.")


def _trees(model: Any) -> Iterator[tuple[Any, Any]]:
    """Every tree below an object, and how many columns the nearest estimator above it takes."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor  # deferred: only models need it
    from sklearn.tree._tree import Tree

    left: list[tuple[Any, Any]] = [(model, 0)]
    seen: dict[tuple[int, Any], Any] = {}  # holds each object, so that no other one gets its number meanwhile
    while left:
        found, width = left.pop()
        if (id(found), width) in seen:
            continue
        seen[id(found), width] = found
        if isinstance(found, Tree | TreePredictor):
            yield found, width
        else:
            left += _below(found, width)


def _below(found: Any, width: Any) -> list[tuple[Any, Any]]:
    if isinstance(found, list | tuple | set | frozenset):
        return [(each, width) for each in found]
    if isinstance(found, dict):
        return [(each, width) for each in found.values()]
    if isinstance(found, np.ndarray):
        return [(each, width) for each in found.ravel().tolist()] if found.dtype == object else []
    own = getattr(found, "__dict__", None)
    if not isinstance(own, dict):
        return []
    given = own.get("n_features_in_", width)
    width = given if isinstance(given, Real) else 0
    below = [(each, width) for each in own.values()]
    if "n_trees_per_iteration_" in own:  # gradient boosting, which asks its estimators' trees past the estimators
        below += [(each.tree_, width) for each in np.ravel(own.get("estimators_", [])) if hasattr(each, "tree_")]
    return below


def _is_sound(tree: Any, width: Any) -> bool:
    return _lead_on(*_nodes(tree), width) if _is_whole(tree) else False


def _is_whole(tree: Any) -> bool:
    """Whether the nodes that are counted are there."""
    if not hasattr(tree, "node_count"):  # of histogram gradient boosting
        return isinstance(tree.nodes, np.ndarray) and tree.nodes.ndim == 1 and len(tree.nodes) > 0
    return 0 < tree.node_count <= tree.capacity


def _nodes(tree: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Which nodes ask, for which column, and where they lead."""
    if hasattr(tree, "node_count"):
        return tree.children_left != -1, tree.feature, tree.children_left, tree.children_right
    nodes = tree.nodes
    asks = nodes["is_leaf"] == 0
    lost = asks & (nodes["is_categorical"] != 0) & (nodes["bitset_idx"] >= len(tree.raw_left_cat_bitsets))
    return asks, np.where(lost, -1, nodes["feature_idx"]), nodes["left"], nodes["right"]


def _lead_on(asks: np.ndarray, column: np.ndarray, left: np.ndarray, right: np.ndarray, width: Any) -> bool:
    """Whether every node that asks has a column to ask for, and leads to later nodes of its tree."""
    place = np.arange(len(asks))
    later = [(place < child) & (child < len(asks)) for child in (left, right)]
    return bool(np.all(~asks | (column >= 0) & (column < width) & later[0] & later[1]))
