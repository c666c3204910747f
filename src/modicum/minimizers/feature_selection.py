"""Feature selection as minimization: attributes are kept whole or not at all (papers/0 §6, Appendix E)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError, check_number
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, keep
from modicum.minimizers.base import CodedData, Minimizer
from modicum.table.codes import Coding, NumberCoding
from modicum.table.schema import Schema
from modicum.table.values import Floats

Score = Literal["anova", "mutual_information", "chi2", "stepwise"]


class FeatureSelection(Minimizer):
    """Keep the attributes that tell most about the label, drop the others (papers/0 §6, Appendix E).

    All scores come from the counts n_vc of value v and class c (numbers at the resolution of their codes).

    Parameters
    ----------
    keep : int
        How many attributes to keep; what the schema locks is among them.
    score : "anova", "mutual_information", "chi2" or "stepwise"
        `anova`: F of a one-way analysis of variance between and within the classes, of a number (an ordered category
        by its rank) or, for a category, the largest among the indicators of its values;
        `mutual_information`: I(attribute; label) in nats; `chi2`: the χ² statistic of the contingency table;
        `stepwise`: one attribute is removed at a time, each time the one whose removal costs a linear model on
        P(label | value) least, so that an attribute that repeats another goes first.
    personal : list of str, optional
        Recorded in the artifact's schema.
    label_bins : int, optional
        For a numeric label: predict one of this many ranges of about equal frequency.
    schema : Schema, optional
        Kinds and roles; inferred where it is not given.

    Attributes
    ----------
    scores_ : dict
        Each attribute's score; for `stepwise` the order of removal, last removed or kept highest.
    generalization_ : Generalization

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> md.FeatureSelection(keep=2).fit(X, y).generalization_.needed
    ['marital-status', 'relationship']
    """

    def __init__(
        self,
        *,
        keep: int = 8,
        score: Score = "anova",
        personal: Iterable[str] | None = None,
        label_bins: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.keep = keep
        self.score = score
        self.personal = personal
        self.label_bins = label_bins
        self.schema = schema

    def _check_parameters(self) -> None:
        check_number(self, "keep", 0)
        if self.score not in (*_SCORES, "stepwise"):
            known = ", ".join(repr(name) for name in (*_SCORES, "stepwise"))
            raise ParameterError(
                f"The 'score' parameter of FeatureSelection must be one of {known}. Got {self.score!r} instead."
            )

    def _partitions(self, data: CodedData) -> Sequence[AnyPartition]:
        tables = [_table(data, j) for j in range(len(data.coder.codings))]
        if self.score == "stepwise":
            scores = _removal_order(data, tables)
        else:
            score = _SCORES[self.score]
            scores = np.array([score(t, _sizes(c)) for t, c in zip(tables, data.coder.codings, strict=True)])
        self.scores_ = dict(zip(data.coder.names, scores.tolist(), strict=True))
        chosen = set(self._chosen(data, scores))
        return [keep(c) if j in chosen else drop(c) for j, c in enumerate(data.coder.codings)]

    def _chosen(self, data: CodedData, scores: Floats) -> list[int]:
        """The best `keep`, locked attributes before all others, forbidden ones never; ties go to the earlier column."""
        attributes = [data.schema[name] for name in data.coder.names]
        allowed = [j for j, a in enumerate(attributes) if not a.forbidden]
        return sorted(allowed, key=lambda j: (not attributes[j].locked, -scores[j], j))[: self.keep]


def _table(data: CodedData, column: int) -> Floats:
    """Counts of value × class."""
    assert data.label is not None
    pairs = data.codes[:, column].astype(np.int64) * data.n_classes + data.label
    size = data.coder.sizes[column] * data.n_classes
    return np.bincount(pairs, weights=data.weights, minlength=size).reshape(-1, data.n_classes).astype(np.float64)


def _sizes(coding: Coding) -> Floats | None:
    """The number that each value stands for: itself, or its rank; None for a category without order."""
    if isinstance(coding, NumberCoding):
        return coding.typical
    return np.arange(coding.n_values, dtype=np.float64) if coding.attribute.has_order else None


def anova(table: Floats, sizes: Floats | None = None) -> float:
    """F = (SS between classes / (c-1)) / (SS within / (n-c)): of the numbers `sizes`, missing left out; for a category
    the largest F among the indicators of its values.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.minimizers.feature_selection import anova
    >>> round(anova(np.array([[30.0, 10.0], [10.0, 30.0]])), 3)
    26.0
    >>> round(anova(np.array([[30.0, 10.0], [10.0, 30.0]]), np.array([1.0, 2.0])), 3)
    26.0
    """
    table = table if sizes is None else table[: len(sizes)]
    table = table[:, table.sum(0) > 0]
    of_value, of_class, n, classes = table.sum(1), table.sum(0), table.sum(), table.shape[1]
    if classes < 2 or n <= classes:
        return 0.0
    if sizes is None:  # each value's indicator, centred: its sum in each class, and its sum of squares
        sums, squares = table - np.outer(of_value, of_class) / n, of_value - of_value**2 / n
    else:
        centred = sizes - (sizes @ of_value) / n
        sums, squares = (centred @ table)[None, :], np.array([centred**2 @ of_value])
    between = (sums**2 / of_class).sum(1)
    within = np.maximum(squares - between, 1e-12 * squares + 1e-300)
    ratio = (between / (classes - 1)) / (within / (n - classes))
    return float(ratio.max())


def mutual_information(table: Floats, sizes: Floats | None = None) -> float:
    """I(value; class) in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.minimizers.feature_selection import mutual_information
    >>> round(mutual_information(np.array([[50.0, 0.0], [0.0, 50.0]])), 4)
    0.6931
    """
    joint = table / table.sum()
    expected = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    filled = joint > 0
    return float((joint[filled] * np.log(joint[filled] / expected[filled])).sum())


def chi2(table: Floats, sizes: Floats | None = None) -> float:
    """The χ² statistic of independence.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.minimizers.feature_selection import chi2
    >>> chi2(np.array([[30.0, 10.0], [10.0, 30.0]]))
    20.0
    """
    table = table[table.sum(1) > 0]
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


_SCORES: dict[str, Callable[[Floats, Floats | None], float]] = {
    "anova": anova,
    "mutual_information": mutual_information,
    "chi2": chi2,
}


def _removal_order(data: CodedData, tables: Sequence[Floats]) -> Floats:
    """Each attribute's rank: 0 is removed first. The cost of a removal is the rise in squared error it brings."""
    gram, target = _moments(data, tables)
    left = list(range(len(tables)))
    rank = np.zeros(len(tables))
    for turn in range(len(tables)):
        cost = _removal_costs(gram[np.ix_(left, left)], target[left])
        rank[left.pop(int(np.argmin(cost)))] = turn
    return rank


def _moments(data: CodedData, tables: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Second moments of the attributes' profiles P(class | value), and with the class indicators; classes summed."""
    weights = np.ones(len(data.codes)) if data.weights is None else data.weights.astype(np.float64)
    d, classes = len(tables), data.n_classes
    gram, target = np.zeros((d, d)), np.zeros(d)
    for c in range(classes):
        profiles = [table[:, c] / np.maximum(table.sum(1), 1) for table in tables]
        columns = np.stack([profile[data.codes[:, j]] for j, profile in enumerate(profiles)], axis=1)
        indicator = (cast(npt.NDArray[np.int64], data.label) == c).astype(np.float64)
        share = np.average(indicator, weights=weights)
        columns -= share
        gram += columns.T @ (columns * weights[:, None])
        target += columns.T @ ((indicator - share) * weights)
    return gram, target


def _removal_costs(gram: Floats, target: Floats) -> Floats:
    """b_j² / (G⁻¹)_jj: the rise in squared error when attribute j leaves the linear model.

    The small ridge makes the cost of one of two equal attributes nearly zero, as it is.
    """
    ridge = 1e-8 * max(float(np.trace(gram)), 1e-300)
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    return (inverse @ target) ** 2 / np.diag(inverse)
