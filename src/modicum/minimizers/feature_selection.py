"""Feature selection as minimization: attributes are kept whole or not at all [Staab24 §6, Appendix E]."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from modicum.errors import ParameterError, check_number
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, keep
from modicum.minimizers.base import AnyData, CountingMinimizer
from modicum.table.codes import Coding, NumberCoding
from modicum.table.counts import Layout
from modicum.table.schema import Schema
from modicum.typing import Floats

_CELLS = 2**25  # of the pairs counted at once: a quarter of a gigabyte

Score = Literal["anova", "mutual_information", "chi2", "stepwise"]


class FeatureSelection(CountingMinimizer):
    """Keep the attributes that say most about the label, drop the others [Staab24 §6, Appendix E].

    All scores come from the counts n_vc of value v and class c (numbers at the resolution of their codes).

    Parameters
    ----------
    k : int
        How many attributes to keep, including those that the schema locks.
    score_func : "anova", "mutual_information", "chi2" or "stepwise"
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
        Kinds and roles; inferred if not given.

    Attributes
    ----------
    scores_ : dict
        Each attribute's score; for `stepwise` the order of removal, last removed or kept highest.
    generalization_ : Generalization

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> md.FeatureSelection(k=2).fit(X, y).generalization_.needed
    ['marital-status', 'relationship']
    """

    def __init__(
        self,
        *,
        k: int = 8,
        score_func: Score = "anova",
        personal: Iterable[str] | None = None,
        label_bins: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.k = k
        self.score_func = score_func
        self.personal = personal
        self.label_bins = label_bins
        self.schema = schema

    def _check_parameters(self) -> None:
        check_number(self, "k", 0)
        if self.score_func not in (*_SCORES, "stepwise"):
            known = ", ".join(repr(name) for name in (*_SCORES, "stepwise"))
            raise ParameterError(
                f"The 'score_func' parameter of FeatureSelection must be one of {known}. "
                f"Got {self.score_func!r} instead."
            )

    def _partitions(self, data: AnyData) -> Sequence[AnyPartition]:
        tables = _tables(data)
        if self.score_func == "stepwise":
            scores = _removal_order(data, tables)
        else:
            score = _SCORES[self.score_func]
            scores = np.array([score(t, _sizes(c)) for t, c in zip(tables, data.coder.codings, strict=True)])
        self.scores_ = dict(zip(data.coder.names, scores.tolist(), strict=True))
        chosen = set(self._choose_attributes(data, scores))
        return [keep(c) if j in chosen else drop(c) for j, c in enumerate(data.coder.codings)]

    def _choose_attributes(self, data: AnyData, scores: Floats) -> list[int]:
        """The best `k`, locked attributes before all others, forbidden ones never; ties go to the earlier column."""
        attributes = [data.schema[name] for name in data.coder.names]
        allowed = [j for j, a in enumerate(attributes) if not a.forbidden]
        return sorted(allowed, key=lambda j: (not attributes[j].locked, -scores[j], j))[: self.k]


def _tables(data: AnyData) -> list[Floats]:
    """Counts of value × class, for each attribute."""
    sizes = data.coder.sizes
    layout = Layout(tuple(range(len(sizes))), tuple(sizes), (len(sizes),), (data.n_classes,))
    histogram = data.counts(layout).root().histogram.astype(np.float64)
    return np.split(histogram, layout.split_starts[1:])


def _sizes(coding: Coding) -> Floats | None:
    """The number of each value: itself, or its rank; None for a category without order."""
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


def _removal_order(data: AnyData, tables: Sequence[Floats]) -> Floats:
    """Each attribute's rank: 0 is removed first. The cost of a removal is the rise in squared error it brings."""
    gram, target = _moments(data, tables)
    left = list(range(len(tables)))
    rank = np.zeros(len(tables))
    for turn in range(len(tables)):
        cost = _removal_costs(gram[np.ix_(left, left)], target[left])
        rank[left.pop(int(np.argmin(cost)))] = turn
    return rank


def _moments(data: AnyData, tables: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Second moments of the attributes' profiles P(class | value), and with the class indicators; classes summed.

    With N_jk the counts of pairs of values, G_jk = Σ_c (p_jc - s_c)ᵀ N_jk (p_kc - s_c), and the target's j-th entry is
    Σ_c (p_jc - s_c)ᵀ (n_jc - s_c n_j), where n_jc counts values in class c, n_j = Σ_c n_jc, and s_c is a class's share.
    """
    shares = tables[0].sum(0) / tables[0].sum()
    profiles = [table / np.maximum(table.sum(1, keepdims=True), 1) - shares for table in tables]
    pairs = [(p, table - np.outer(table.sum(1), shares)) for p, table in zip(profiles, tables, strict=True)]
    target = np.array([(profile * above).sum() for profile, above in pairs])
    return _gram(data, profiles), target


def _gram(data: AnyData, profiles: Sequence[Floats]) -> Floats:
    """G of all attributes, from the pairs of their values: as many attributes at a time as memory allows."""
    sizes = data.coder.sizes
    gram = np.zeros((len(sizes), len(sizes)))
    for some in _runs(sizes, _CELLS // sum(sizes)):
        for others in _runs(sizes, _CELLS // sum(sizes[j] for j in some)):
            layout = Layout(tuple(some), tuple(sizes[j] for j in some), tuple(others), tuple(sizes[k] for k in others))
            counts = np.split(data.counts(layout).root().histogram.astype(np.float64), layout.split_starts[1:])
            facing = np.concatenate([profiles[k] for k in others])
            for j, of_one in zip(some, counts, strict=True):
                met = (of_one.T @ profiles[j] * facing).sum(1)
                gram[j, others] = np.add.reduceat(met, layout.target_starts)
    return (gram + gram.T) / 2


def _runs(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Split the attributes into runs with at most `most` values together, or of one attribute each."""
    runs: list[list[int]] = []
    room = 0
    for j, size in enumerate(sizes):
        if size > room:
            runs.append([])
            room = most
        runs[-1].append(j)
        room -= size
    return runs


def _removal_costs(gram: Floats, target: Floats) -> Floats:
    """b_j² / (G⁻¹)_jj: the rise in squared error when attribute j leaves the linear model.

    A small ridge allows for equal attributes: the cost of one of two is then nearly zero, as it should be.
    """
    ridge = 1e-8 * max(float(np.trace(gram)), 1e-300)
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    return (inverse @ target) ** 2 / np.diag(inverse)
