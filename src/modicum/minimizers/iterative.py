"""The Iterative minimizer: fewer and fewer buckets while the error stays low [Staab24 §6, Appendix C]."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError, check_number
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import partition
from modicum.learners.backoff import most_likely
from modicum.learners.inputs import Inputs, count_table
from modicum.learners.portfolio import set_aside
from modicum.minimizers.base import CodedData, Minimizer, enforce_schema, make_guess_codes
from modicum.minimizers.neural.soft_buckets import middle_ranks
from modicum.progress import Stop, stoppable, track_progress
from modicum.table.codes import CategoryCoding, Coding, NumberCoding, equal_starts
from modicum.table.estimator_input import attribute_weights, person_codes
from modicum.table.schema import Schema
from modicum.typing import Codes, Floats

# Values in groups of similar score: the dynamic programme of the Iterative minimizer [Staab24 Appendix C].

_CELLS = 4_000_000  # of the table of variances held at once


def least_variance_groups(scores: Floats, k: int) -> list[Codes]:
    """Find, for every number of groups up to k, the runs of values whose variances of scores have the smallest average.

    With V(b, a) the variance of the scores b..a, the best k' groups of the first a values cost

        C(a, k') = min_b C(b - 1, k' - 1) + V(b, a),

    and the average is C / k'. As in the paper, it is not weighted by the groups' sizes, so a value far from all others
    is soon alone.

    Parameters
    ----------
    scores : one per value, in the order in which neighbours may share a group
    k : the most groups

    Returns
    -------
    for k' = 1, 2, … (no more than there are values) the group of each value

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.minimizers.iterative import least_variance_groups
    >>> [groups.tolist() for groups in least_variance_groups(np.array([0.0, 0.1, 5.0, 5.2]), 3)]
    [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]]
    """
    c = len(scores)
    centred = np.asarray(scores, dtype=np.float64) - np.mean(scores)
    sums, squares = (np.concatenate([[0.0], np.cumsum(centred**power)]) for power in (1, 2))
    cost = _variances(sums, squares, np.arange(c), np.zeros(1, dtype=np.int64))[:, 0]
    starts: list[Codes] = []  # of the last group, for each number of values, with 2, 3, … groups
    found = [np.zeros(c, dtype=np.int64)]
    for groups in range(2, min(k, c) + 1):
        cost, first = _one_more(cost, sums, squares, groups)
        starts.append(first)
        found.append(_assign_groups(starts, c))
    return found


def _one_more(cost: Floats, sums: Floats, squares: Floats, groups: int) -> tuple[Floats, Codes]:
    """The cost of the first a values in one more group than `cost` has, and where the last group starts."""
    c = len(cost)
    best, first = np.full(c, np.inf), np.zeros(c, dtype=np.int64)
    begins = np.arange(groups - 1, c)
    step = max(1, _CELLS // max(1, len(begins)))
    for low in range(groups - 1, c, step):
        ends = np.arange(low, min(c, low + step))
        total = cost[begins - 1] + _variances(sums, squares, ends, begins)
        total[begins[None, :] > ends[:, None]] = np.inf
        chosen = total.argmin(axis=1)
        best[ends], first[ends] = total[np.arange(len(ends)), chosen], begins[chosen]
    return best, first


def _variances(sums: Floats, squares: Floats, ends: Codes, begins: Codes) -> Floats:
    """V(b, a) for every end a (rows) and beginning b (columns); 0 where b > a."""
    n = np.maximum(ends[:, None] - begins[None, :] + 1, 1)
    mean = (sums[ends + 1][:, None] - sums[begins]) / n
    spread = (squares[ends + 1][:, None] - squares[begins]) / n - mean**2
    return np.maximum(spread, 0.0)


def _assign_groups(starts: list[Codes], c: int) -> Codes:
    """The group of each value, read backwards from where the last groups start."""
    groups = np.zeros(c, dtype=np.int64)
    end = c - 1
    for number in range(len(starts), 0, -1):
        begin = int(starts[number - 1][end])
        groups[begin : end + 1] = number
        end = begin - 1
    return groups


# The minimizer

_ENOUGH = 50_000  # records from which the order of the attributes is estimated


@dataclass(frozen=True)
class Impact:
    """How much leaving an attribute out raises the error of the classifier and of the adversary."""

    classifier: float
    adversary: float

    @property
    def difference(self) -> float:
        """Δclf − Δadv: attributes with the smallest are coarsened first."""
        return self.classifier - self.adversary


class Iterative(Minimizer):
    """Start with k buckets per attribute and remove buckets while the error stays below a threshold.

    The start [Staab24 Appendix C]: a number is cut at its k-quantiles; the values of a category are sorted by their
    weight in a logistic regression of the label (with several classes: by its first principal axis) and cut into the k
    groups whose variances of weights have the smallest average (`least_variance_groups`). An ordered category is cut so
    that only neighbours share a group. Missing is a value like others in a category without order, else a bucket of its
    own.

    Attributes are then coarsened in the order of Δclf − Δadv, smallest first. Δclf is what leaving the attribute out of
    all original ones adds to the error of the classifier. Δadv is 0 for an attribute that is not personal, else an
    adversary's error of guessing it from all others, times its weight. Neither sees what the schema forbids. Both see
    what it locks, in full detail, and it is never coarsened. Each attribute loses one bucket at a time as long as the
    classifier's error is at most `max_error`, or does not rise. The paper states only the former; but then no bucket
    would be removed if the error is above the threshold from the start.

    All errors are measured on a fifth of the records (whole persons) that is set aside, with counts of distinct z
    (`learners.backoff`) instead of the paper's network, so a run takes seconds instead of hours.

    Parameters
    ----------
    max_error : float from 0 to 1
        The paper's threshold T.
    buckets : int
        The paper's k, with which every attribute starts.
    personal : list of str, optional
        The attributes to protect; overrides the schema; all if neither names any.
    weights : dict, optional
        Weight of each personal attribute in Δadv, 1 by default.
    label_bins : int, optional
        For a numeric label: predict one of this many ranges of about equal frequency.
    schema : Schema, optional
        Kinds and roles; inferred if not given.
    random_state : int, RandomState or None
        Draws the records set aside.
    progress : bool
        Whether to show a progress bar on a terminal.

    Attributes
    ----------
    generalization_ : Generalization
    impact_ : attribute → `Impact`, in the order in which the attributes were coarsened
    error_ : the classifier's error with `generalization_` on the records set aside

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> found = md.Iterative(max_error=0.2).fit(X[:6_000], y[:6_000])
    >>> found.error_ <= 0.2, found.generalization_.n_buckets < 4 * X.shape[1]
    (True, True)
    """

    def __init__(
        self,
        *,
        max_error: float = 0.2,
        buckets: int = 4,
        personal: Iterable[str] | None = None,
        weights: Mapping[str, float] | None = None,
        label_bins: int | None = None,
        schema: Schema | None = None,
        random_state: int | np.random.RandomState | None = 0,
        progress: bool = True,
    ) -> None:
        self.max_error = max_error
        self.buckets = buckets
        self.personal = personal
        self.weights = weights
        self.label_bins = label_bins
        self.schema = schema
        self.random_state = random_state
        self.progress = progress

    def fit_path(self, X: Any, y: Any, shares: Sequence[float]) -> dict[float, Generalization]:
        """Return threshold → generalization, for thresholds between the two limits of the trade-off (Appendix F).

        A share of 0 is the error at the start, with all buckets; 1 is the error of the majority guess (or of what the
        schema locks). The runs share their preparation; the estimator stays fitted with the last one. After Ctrl-C,
        thresholds that are not reached yet are left out.

        Examples
        --------
        >>> import modicum as md
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> path = md.Iterative().fit_path(X[:6_000], y[:6_000], [0.1, 0.5])
        >>> [g.n_buckets for g in path.values()] == sorted((g.n_buckets for g in path.values()), reverse=True)
        True
        """
        self._check_parameters()
        if not len(shares) or not all(isinstance(share, Real) and 0 <= share <= 1 for share in shares):
            raise ParameterError(f"The path needs shares from 0 to 1, at least one. Got {shares!r} instead.")
        data = self._encode_data(X, y, None)
        search = self._search(data)
        most, least = search.error([1] * len(search.names)), search.error([len(ladder) for ladder in search.ladders])
        found = {}
        with stoppable("taking buckets away") as stop:
            for error in [least + share * (most - least) for share in shares]:
                self.generalization_ = enforce_schema(data.coder, self._coarsen(search, error, stop))
                found[error] = self.generalization_
                if stop.asked:
                    break
        return found

    def _check_parameters(self) -> None:
        check_number(self, "max_error", 0, 1, whole=False)
        check_number(self, "buckets", 1)

    def _partitions(self, data: CodedData) -> Sequence[AnyPartition]:
        search = self._search(data)
        with stoppable("taking buckets away") as stop:
            return self._coarsen(search, self.max_error, stop)

    def _search(self, data: CodedData) -> "_Search":
        return _Search(data, self.buckets, attribute_weights(data.schema.personal, self.weights), self._seed())

    def _coarsen(self, search: "_Search", max_error: float, stop: Stop) -> list[AnyPartition]:
        chosen = [len(ladder) for ladder in search.ladders]
        error = search.error(chosen)
        for j in track_progress(search.impact, "Taking buckets away", progress=self.progress):
            while chosen[j] > 1 and not stop.asked:
                fewer = [k - (i == j) for i, k in enumerate(chosen)]
                tried = search.error(fewer)
                if tried > max(max_error, error):
                    break
                chosen, error = fewer, tried
        self.impact_ = {search.names[j]: impact for j, impact in search.impact.items()}
        self.error_ = error
        return [
            partition(coding, ladder[k - 1])
            for coding, ladder, k in zip(search.codings, search.ladders, chosen, strict=True)
        ]


class _Search:
    """The coded records, each attribute's buckets for every number of them, and errors by counts.

    `ladders[j][k-1]` is the bucket of each code of attribute j when it has k buckets.
    """

    def __init__(self, data: CodedData, k: int, shares: Mapping[str, float], seed: int) -> None:
        assert data.label is not None
        if len(data.codes) < 5:
            raise DataError(
                f"Iterative needs at least 5 records (samples) to learn from and to judge on. Got {len(data.codes)}."
            )
        self.names, self.codings = data.coder.names, data.coder.codings
        self.collected = [j for j, coding in enumerate(self.codings) if not coding.attribute.forbidden]
        self.codes, self.label, self.n_classes = data.codes, data.label, data.n_classes
        self.records = np.ones(len(data.codes)) if data.weights is None else data.weights.astype(np.float64)
        self.aside = set_aside(len(data.codes), person_codes(data.schema, data.frame), seed)
        self.shares, self.seed = shares, seed
        self.sizes = data.coder.sizes
        scores = _label_scores(data, ~self.aside)
        self.ladders = [_ladder(coding, score, k) for coding, score in zip(self.codings, scores, strict=True)]
        self._known: dict[tuple[int, ...], float] = {}

    def error(self, chosen: Sequence[int]) -> float:
        """The classifier's error if each attribute j has chosen[j] buckets."""
        key = tuple(chosen)
        if key not in self._known:
            tables = [(j, self.ladders[j][k - 1]) for j, k in enumerate(chosen)]
            shown = [(j, table) for j, table in tables if table.any()]
            columns = [table[self.codes[:, j]] for j, table in shown]
            sizes = [int(table.max()) + 1 for _, table in shown]
            self._known[key] = self._compute_error(columns, sizes, self.label, self.n_classes, slice(None))
        return self._known[key]

    @cached_property
    def impact(self) -> dict[int, Impact]:
        """For each attribute that may be coarsened, what leaving it out adds to both errors; by rising Δclf − Δadv."""
        random = np.random.default_rng(self.seed)
        rows = np.sort(random.permutation(len(self.codes))[:_ENOUGH])
        columns = {j: self.codes[rows, j].astype(np.int64) for j in self.collected}
        sizes = [self.sizes[j] for j in columns]
        whole = self._compute_error(list(columns.values()), sizes, self.label[rows], self.n_classes, rows)
        free = [j for j in columns if not self.codings[j].attribute.locked]
        found = {j: self._impact(j, columns, rows, whole) for j in free}
        return dict(sorted(found.items(), key=lambda pair: (pair[1].difference, pair[0])))

    def _impact(self, j: int, columns: Mapping[int, Codes], rows: Any, whole: float) -> Impact:
        others = [column for i, column in columns.items() if i != j]
        sizes = [self.sizes[i] for i in columns if i != j]
        without = self._compute_error(others, sizes, self.label[rows], self.n_classes, rows)
        share = self.shares.get(self.names[j], 0.0)
        if not share:
            return Impact(without - whole, 0.0)
        guessed = make_guess_codes(self.codings[j])
        return Impact(
            without - whole,
            share * self._compute_error(others, sizes, guessed[columns[j]], int(guessed.max()) + 1, rows),
        )

    def _compute_error(
        self, columns: Sequence[Codes], sizes: Sequence[int], truth: Codes, n_values: int, rows: Any
    ) -> float:
        """The error, on the records set aside, of counts learned from the others."""
        aside, records = self.aside[rows], self.records[rows]
        if not columns:
            columns, sizes = [np.zeros(len(truth), dtype=np.int64)], [1]
        inputs, cells = Inputs(np.stack(columns, axis=1), tuple(sizes), np.zeros((len(truth), 0))).distinct()
        learned = count_table(cells[~aside], truth[~aside], (len(inputs), n_values), records[~aside])
        guess = most_likely(inputs, [learned])[0]
        return float(np.average(guess[cells[aside]] != truth[aside], weights=records[aside]))


def _ladder(coding: Coding, scores: Floats, k: int) -> list[Codes]:
    """The bucket of each code (missing last) for 1, 2, … k buckets; a single step if the schema locks or forbids."""
    size = coding.n_codes
    if coding.attribute.locked:
        return [np.arange(size)]
    if coding.attribute.forbidden:
        return [np.zeros(size, dtype=np.int64)]
    if isinstance(coding, NumberCoding):
        return _quantiles(coding, k)
    if not coding.attribute.has_order:
        order = np.argsort(scores, kind="stable")
        place = np.argsort(order)
        return [groups[place] for groups in least_variance_groups(scores[order], k)]
    ladder = least_variance_groups(scores[: coding.n_values], k)
    return _with_missing(coding, ladder)


def _quantiles(coding: NumberCoding, k: int) -> list[Codes]:
    most = min(k, coding.n_values)
    found = {n: np.cumsum(equal_starts(coding.counts, n)) - 1 for n in range(1, most + 1)}
    different = {int(groups.max()): groups for groups in found.values()}  # heavy values leave fewer than n groups
    return _with_missing(coding, [different[n] for n in sorted(different)])


def _with_missing(coding: Coding, ladder: list[Codes]) -> list[Codes]:
    """Give missing its own bucket, except in the coarsest step, which collects nothing of the attribute."""
    if not coding.missing:
        return ladder
    everything = np.zeros(coding.n_values + 1, dtype=np.int64)
    return [everything, *(np.append(groups, groups.max() + 1) for groups in ladder)]


def _label_scores(data: CodedData, rows: npt.NDArray[np.bool_]) -> list[Floats]:
    """For each attribute the weight of each of its codes in a logistic regression of the label on all of them."""
    from scipy.sparse import csr_array, hstack
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    label = data.label[rows] if data.label is not None else np.zeros(0)
    codes, n = data.codes[rows].astype(np.int64), int(rows.sum())
    found = [np.zeros(size) for size in data.coder.sizes]
    collected = [(j, c) for j, c in enumerate(data.coder.codings) if not c.attribute.forbidden]
    if len(np.unique(label)) < 2 or not collected:
        return found
    hot = [j for j, c in collected if isinstance(c, CategoryCoding)]
    offsets = np.cumsum([0, *(data.coder.sizes[j] for j in hot)])
    places = codes[:, hot] + offsets[:-1]
    one_hot = csr_array(
        (np.ones(places.size), places.ravel(), np.arange(n + 1) * len(hot)), shape=(n, int(offsets[-1]))
    )
    ranks = [np.append(middle_ranks(c), 0.5)[codes[:, j]] for j, c in collected if isinstance(c, NumberCoding)]
    plain = csr_array(np.stack(ranks, axis=1)) if ranks else csr_array((n, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the order of the weights settles long before their size
        model = LogisticRegression(max_iter=100, tol=1e-3).fit(
            hstack([one_hot, plain], format="csr"),
            label,
            sample_weight=None if data.weights is None else data.weights[rows],
        )
    for j, (low, high) in zip(hot, pairwise(offsets), strict=True):
        found[j] = _along_main_axis(model.coef_[:, low:high])
    return found


def _along_main_axis(weights: Floats) -> Floats:
    """One score per value: its weight, or with several classes the first principal component of its weights."""
    if len(weights) == 1:
        return weights[0]
    centred = weights - weights.mean(axis=1, keepdims=True)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(sizes[0] * axes[0])
