"""The most private generalization that still predicts well enough, found on validation records.

Candidates are PAT's nested trees over a grid of `privacy` and sizes [Staab24 Appendix F]. A quick model on distinct z
with counts excludes those far from the target. The others are attacked, then tried with the real model, the most
private first. Smaller leaves are tried only if no candidate with larger ones is within the target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from modicum.errors import DataError, ParameterError
from modicum.evaluation._utility import TrainTest
from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.learners.backoff import Backoff
from modicum.learners.boosting import BoostedTrees
from modicum.learners.inputs import Inputs, count_table
from modicum.learners.portfolio import TREES
from modicum.measures.scores import Predictions, compute_skill_kept
from modicum.minimizers import PrivacyTree
from modicum.progress import track_progress
from modicum.table.schema import Schema
from modicum.table.targets import Target

PRIVACY = tuple(round(0.1 * i, 1) for i in range(10))
SIZES = (1, 2, 4, 6, 8, 10, 20, 50, 100, 200)  # [Staab24 Appendix F], plus 1: collect nothing
MIN_LEAF = (100, 20)
_NEAR = 0.15  # the quick model may be this much worse than the real one


@dataclass(frozen=True)
class SearchChoice:
    """The chosen generalization, how it was made, and its scores on validation records.

    Attributes
    ----------
    generalization : the chosen generalization
    privacy, max_leaves, min_leaf : parameters of the tree
    considered : number of candidates
    error, skill_kept, adversary_error : on validation records
    raw_error, majority_error : the two ends of the trade-off
    """

    generalization: Generalization
    privacy: float
    max_leaves: int
    min_leaf: int
    considered: int
    error: float
    skill_kept: float
    adversary_error: float
    raw_error: float
    majority_error: float

    @property
    def why(self) -> str:
        """How it was made, in words."""
        return f"privacy {self.privacy:g}, {self.max_leaves} leaves of at least {self.min_leaf} records"


class _Candidate(NamedTuple):
    g: Generalization
    privacy: float
    max_leaves: int


def most_private(
    X_train: Any,
    y_train: Any,
    X_validation: Any,
    y_validation: Any,
    *,
    schema: Schema,
    keep: float | None = None,
    max_error: float | None = None,
    privacy: Sequence[float] = PRIVACY,
    sizes: Sequence[int] = SIZES,
    min_leaf: Sequence[int] = MIN_LEAF,
    label_bins: int | None = None,
    random_state: int = 0,
    progress: bool = False,
) -> SearchChoice:
    """Choose the candidate with the highest adversary error within the target, on validation records.

    Parameters
    ----------
    keep : float, from 0 to 1
        The share of the raw model's skill to keep (`Utility.skill_kept`).
    max_error : float, from 0 to 1
        Or: the highest error to accept. Give exactly one of the two.
    privacy, sizes : the grid
    min_leaf : the fewest records in a leaf; each value is tried only if the one before finds nothing
    progress : show a progress bar on a terminal

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.search import most_private
    >>> adult = md.datasets.load_adult()
    >>> X, y = adult.X, adult.y
    >>> parts = X[:6_000], y[:6_000], X[6_000:8_000], y[6_000:8_000]
    >>> found = most_private(*parts, schema=adult.schema, keep=0.8, privacy=[0.3, 0.6], sizes=[4, 8, 16])
    >>> found.skill_kept >= 0.8
    True
    """
    _check(keep, max_error)
    if not len(sizes) or not len(privacy) or not len(min_leaf):
        raise ParameterError("The search needs at least one value of 'privacy', 'sizes' and 'min_leaf'.")
    if not len(X_validation):
        raise DataError("There are no validation records to choose on; provide more rows or more persons.")
    data = TrainTest.read(X_train, y_train, X_validation, y_validation, label_bins)
    judge = _Judge(data, schema, keep, max_error, random_state)
    if keep is not None and judge.majority.log_loss() <= judge.raw.log_loss():
        raise DataError(
            "Even raw data predicts the validation records no better than the majority guess, so there is no skill to "
            "keep; use max_error, or provide more rows."
        )
    best: SearchChoice | None = None
    considered = 0
    for leaf in min_leaf:
        # With too few records to split, collecting nothing is still possible.
        fitting = [size for size in sizes if size == 1 or 2 * leaf <= len(X_train)]
        candidates = list(_make_candidates(X_train, y_train, schema, privacy, fitting, leaf, label_bins))
        considered += len(candidates)
        tried = track_progress(candidates, "Trying candidates", total=len(candidates), progress=progress)
        near = [c for c in tried if judge.within(_predict_quickly(c.g, data), _NEAR)]
        attacked = track_progress(near, "Attacking candidates", total=len(near), progress=progress)
        ranked = [(c, _adversary_error(c.g, data)) for c in attacked]
        ranked.sort(key=lambda pair: (-pair[1], pair[0].g.n_buckets))
        for c, adversary_error in track_progress(
            ranked, "Checking the most private first", total=len(ranked), progress=progress
        ):
            p = judge.predict(c.g)
            choice = SearchChoice(
                generalization=c.g,
                privacy=c.privacy,
                max_leaves=c.max_leaves,
                min_leaf=leaf,
                considered=considered,
                error=p.error(),
                skill_kept=judge.skill(p),
                adversary_error=adversary_error,
                raw_error=judge.raw.error(),
                majority_error=judge.majority.error(),
            )
            if judge.within(p):
                return choice
            best = choice if best is None or judge.is_better(choice, best) else best
    raise DataError(_out_of_reach(best, keep, judge.raw))


class _Judge:
    """The target, with the raw model and the majority guess to compare against."""

    def __init__(
        self, data: TrainTest, schema: Schema, keep: float | None, max_error: float | None, random_state: int
    ) -> None:
        self.data, self.random_state = data, random_state
        self.keep, self.max_error = keep, max_error
        self.raw = self.predict(raw_generalization(data.train, schema))
        self.majority = Predictions(data.majority_chances, data.truth)

    def predict(self, g: Generalization) -> Predictions:
        return Predictions(self.data.learn_chances(g, TREES, self.random_state), self.data.truth)

    def skill(self, p: Predictions) -> float:
        return compute_skill_kept(p.log_loss(), self.raw.log_loss(), self.majority.log_loss())

    def is_better(self, one: SearchChoice, other: SearchChoice) -> bool:
        return one.skill_kept > other.skill_kept if self.keep is not None else one.error < other.error

    def within(self, p: Predictions, slack: float = 0.0) -> bool:
        if self.keep is not None:
            return self.skill(p) >= self.keep - slack
        return self.max_error is not None and p.error() <= self.max_error + slack


def _check(keep: float | None, max_error: float | None) -> None:
    if (keep is None) == (max_error is None):
        raise ParameterError("Give either the share of skill to keep (keep) or the highest error (max_error).")
    name, value = ("keep", keep) if keep is not None else ("max_error", max_error)
    if value is None or not 0 <= value <= 1:
        raise ParameterError(f"The {name!r} parameter must be a number from 0 to 1. Got {value!r} instead.")


def _out_of_reach(best: SearchChoice | None, keep: float | None, raw: Predictions) -> str:
    if best is None:
        return (
            f"No candidate comes near the target; raw data has an error of {raw.error():.3f}. Set an easier target, or "
            "allow smaller leaves (min_leaf)."
        )
    if keep is not None:
        wanted, reached = f"keeps {keep:.0%} of the raw model's skill", f"keeps {best.skill_kept:.0%}"
    else:
        wanted, reached = "is within that error", f"has an error of {best.error:.3f} (raw data: {raw.error():.3f})"
    return (
        f"No candidate {wanted}; the best, with privacy {best.privacy:g} and {best.max_leaves} leaves, {reached}. "
        "Set an easier target."
    )


def _make_candidates(
    X: Any,
    y: Any,
    schema: Schema,
    privacy: Sequence[float],
    sizes: Sequence[int],
    min_leaf: int,
    label_bins: int | None,
) -> Iterator[_Candidate]:
    """Yield every distinct generalization of the grid."""
    seen: set[str] = set()
    for alpha in privacy if sizes else ():
        pat = PrivacyTree(
            max_leaves=max(sizes), privacy=alpha, min_leaf=min_leaf, label_bins=label_bins, schema=schema
        ).fit(X, y)
        for size, g in zip(sizes, pat.path(sizes), strict=True):
            key = repr(g.to_dict())
            if key not in seen:
                seen.add(key)
                yield _Candidate(g, alpha, size)


def _predict_quickly(g: Generalization, data: TrainTest) -> Predictions:
    """Predict the label with a quick model on distinct z with counts."""
    inputs, cells = Inputs.of(g, data.train).distinct()
    table = count_table(cells, data.y, (len(inputs), len(data.labels)))
    seen, seen_cells = Inputs.of(g, data.test).distinct()
    chances = BoostedTrees(steps=20).fit(inputs, [table]).predict(seen)[0]
    return Predictions(chances[seen_cells].astype(np.float64), data.truth)


def _adversary_error(g: Generalization, data: TrainTest) -> float:
    """Compute the mean error of the counting adversary: quick, and close to the portfolio's if z is coarse."""
    inputs, cells = Inputs.of(g, data.train).distinct()
    seen, seen_cells = Inputs.of(g, data.test).distinct()
    targets = [Target.fit(data.train, g.schema[name]) for name in g.schema.personal]
    tables = [count_table(cells, t.encode(data.train), (len(inputs), t.size)) for t in targets]
    guesses = [scores.argmax(axis=1) for scores in Backoff().fit(inputs, tables).predict(seen)]
    wrong = [np.mean(guess[seen_cells] != t.encode(data.test)) for t, guess in zip(targets, guesses, strict=True)]
    return float(np.mean(wrong))
