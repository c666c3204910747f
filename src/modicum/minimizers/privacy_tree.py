"""PAT, the privacy-aware tree [Staab24 §7]."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from modicum.errors import DataError, ParameterError, check_number
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, partition
from modicum.minimizers.base import AnyData, CountingMinimizer, enforce_schema
from modicum.progress import stoppable
from modicum.table.codes import all_counts
from modicum.table.counts import Layout
from modicum.table.estimator_input import attribute_weights
from modicum.table.frames import as_frame
from modicum.table.schema import Schema
from modicum.trees import Criterion, grow
from modicum.typing import Codes

_MOST_CELLS = 2**27  # of one histogram: half a gigabyte


class PrivacyTree(CountingMinimizer):
    """PAT: collect what a tree needs that predicts the label well and personal attributes badly [Staab24 §7].

    The tree lowers, at every split,

        PGini = (1 - α) σ_y Gini_y + α (1 - Σ_p w_p σ_p Gini_p),

    equation (2) with σ_y = c/(c-1) for c classes (2 for two), σ_p = |p|/(|p|-1) and weights w_p that sum to 1. The
    partition of an attribute is the union of all its splits: two values share a bucket exactly when no split that
    either can reach separates them (for values that are absent at a node see `modicum.trees.tree`). So a record and its
    generalization reach the same leaf. A number counts, in Gini_p and as a split, at the resolution
    of its codes (exact up to 256 distinct values). Missing is a value like any other.

    Parameters
    ----------
    max_leaves : int
        The paper's k*: more leaves, more detail.
    privacy : float from 0 to 1
        The paper's α: 0 is an ordinary Gini tree, 1 collects nothing.
    min_leaf : int
        The fewest records in a leaf. A leaf of 100 is not a group of 100: see `generalization_.describe(X)`.
    personal : list of str, optional
        The attributes to protect; overrides the schema; all if neither names any.
    weights : dict, optional
        Weight of each personal attribute, 1 by default.
    label_bins : int, optional
        For a numeric label: predict one of this many ranges of about equal frequency.
    schema : Schema, optional
        Kinds and roles; inferred if not given.

    Attributes
    ----------
    generalization_ : Generalization
    tree_ : Tree
        The grown tree, on codes of `coder_`.
    coder_ : Coder

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> pat = md.PrivacyTree(max_leaves=6, privacy=0.3).fit(X, y)
    >>> len(pat.generalization_.needed) < X.shape[1]
    True
    >>> [g.n_buckets for g in pat.path([2, 6])] == sorted(g.n_buckets for g in pat.path([2, 6]))
    True
    """

    def __init__(
        self,
        *,
        max_leaves: int = 20,
        privacy: float = 0.5,
        min_leaf: int = 100,
        personal: Iterable[str] | None = None,
        weights: Mapping[str, float] | None = None,
        label_bins: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.max_leaves = max_leaves
        self.privacy = privacy
        self.min_leaf = min_leaf
        self.personal = personal
        self.weights = weights
        self.label_bins = label_bins
        self.schema = schema

    def path(self, sizes: Sequence[int]) -> list[Generalization]:
        """Return the generalizations of the nested trees with these numbers of leaves, all from the tree of `fit`."""
        check_is_fitted(self)
        beyond = [size for size in sizes if not 1 <= size <= self._grown_to]
        if beyond:
            raise ParameterError(f"The path reaches from 1 to {self._grown_to} leaves (max_leaves). Got {beyond[0]}.")
        return [enforce_schema(self.coder_, self._from_tree(size)) for size in sizes]

    def _check_parameters(self) -> None:
        check_number(self, "max_leaves", 1)
        check_number(self, "min_leaf", 1)
        check_number(self, "privacy", 0, 1, whole=False)

    def _partitions(self, data: AnyData) -> Sequence[AnyPartition]:
        layout = _layout(data)
        self._check_size(data, layout)
        self._grown_to = self.max_leaves
        weights = attribute_weights(data.schema.personal, self.weights)
        source = data.counts(layout)
        with stoppable("growing the tree") as stop:
            self.tree_ = grow(
                source,
                _criterion(data, layout, self.privacy, weights, self.min_leaf),
                max_leaves=self.max_leaves,
                value_counts=[all_counts(data.coder.codings[column]) for column in layout.splits],
                should_stop=lambda: stop.asked,
            )
        self.coder_ = data.coder
        return self._from_tree(self.max_leaves)

    def _check_size(self, data: AnyData, layout: Layout) -> None:
        if self.max_leaves > 1 and data.records < 2 * self.min_leaf:
            raise DataError(
                f"PrivacyTree cannot split {data.records:,} records (samples) into leaves of at least {self.min_leaf}; "
                "lower min_leaf or give it more data."
            )
        cells = layout.shape[0] * layout.shape[1]
        if cells > _MOST_CELLS:
            widest = max(data.coder.names, key=lambda name: data.coder.sizes[data.coder.names.index(name)])
            raise DataError(
                f"Counting {layout.shape[0]:,} values against {layout.shape[1]:,} personal ones takes too much memory; "
                f"group the values of {widest!r} first, or do not count it as personal."
            )

    def _leaves(self, X: Any) -> Codes:
        return self.tree_.apply(self.coder_.encode(as_frame(X, self._columns)))

    def _from_tree(self, n_leaves: int) -> list[AnyPartition]:
        found: dict[int, Any] = dict(zip(self.tree_.layout.splits, self.tree_.buckets(n_leaves), strict=True))
        return [partition(c, found[j]) if j in found else drop(c) for j, c in enumerate(self.coder_.codings)]


def _layout(data: AnyData) -> Layout:
    """Splits: every attribute that may be collected. Targets: the personal ones, then the label (the last column)."""
    names, sizes = data.coder.names, data.coder.sizes
    splits = [j for j, name in enumerate(names) if not data.schema[name].forbidden]
    targets = [names.index(name) for name in data.schema.personal]
    return Layout(
        splits=tuple(splits),
        split_sizes=tuple(sizes[j] for j in splits),
        targets=(*targets, len(names)),
        target_sizes=(*(sizes[j] for j in targets), data.n_classes),
    )


def _criterion(data: AnyData, layout: Layout, alpha: float, weights: Mapping[str, float], min_leaf: int) -> Criterion:
    """PGini as column weights: c_label = (1-α) σ_y, c_p = -α w_p σ_p."""
    names = data.coder.names
    shares = [-alpha * weights[names[j]] for j in layout.targets[:-1]]
    blocks = [share * _sigma(size) for share, size in zip([*shares, 1 - alpha], layout.target_sizes, strict=True)]
    attributes = [data.schema[names[j]] for j in layout.splits]
    codings = [data.coder.codings[j] for j in layout.splits]
    return Criterion(
        column_weights=np.repeat(blocks, layout.target_sizes),
        has_order=np.array([a.has_order for a in attributes]),
        missing=np.array([c.n_values if c.missing else -1 for c in codings], dtype=np.int64),
        min_leaf=min_leaf,
    )


def _sigma(size: int) -> float:
    return size / (size - 1) if size > 1 else 0.0
