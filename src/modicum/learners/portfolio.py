"""Choose the strongest of several models for each target, on records that did not train them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from modicum.learners.backoff import Backoff
from modicum.learners.boosting import BoostedTrees
from modicum.learners.inputs import Counts, Inputs, Scores, chunks, count_table
from modicum.learners.network import ARCHITECTURES, MLP, Network
from modicum.typing import Codes, Mask

NETWORK, COUNTS, TREES = "network", "counts", "boosted trees"
TOGETHER, NAIVE = "all together", "naive guess"
MEMBERS = (NETWORK, COUNTS, TREES)
NEURAL = tuple(ARCHITECTURES)  # the larger networks of [Staab24 Appendix G], which need PyTorch
L2 = (0.0, 1e-4, 1e-3)  # the network's, tuned on validation records [Staab24 Appendix F]
_NETWORKS = {NETWORK, *NEURAL}
_VALIDATION = 0.2
_MOST_DRAWN = 10**9  # records up to which exactly a fifth is drawn
_PLENTY = 10_000  # validation records from which training again on all records changes almost nothing


Masking: TypeAlias = Callable[[Any], Mask]  # for some of the distinct rows, which values are possible


class Learner(Protocol):
    """A model of several targets on distinct rows with counts."""

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> Any: ...

    def predict(self, inputs: Inputs) -> list[Scores]: ...


@dataclass(frozen=True)
class LearnerQuestion:
    """One target: each record's value, the number of values, and which values are possible.

    A value that the known data does not have is -1. `mask(rows)` returns for some of the distinct rows which values are
    possible; None if all are. Values may be counted: then `records` is the number of records with each value, and
    `cells` their distinct row.
    """

    values: Codes
    size: int
    mask: Masking | None = None
    cells: Codes | None = None
    records: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Guess:
    """The most likely possible value of each row, and its chance among the possible ones."""

    value: Codes
    chance: Scores


@dataclass(frozen=True)
class Hits:
    """A member's guess for each cell, and the number of the cell's records for which it is right."""

    guess: Codes
    right: npt.NDArray[np.float64]


class Portfolio:
    """The paper's network, counts with back-off, boosted trees, and the average of the three.

    A fifth of the records is set aside for validation: whole persons if `units` are given, otherwise drawn from each
    target's counts, so that the order of the records does not matter. It serves to choose the networks' L2, and the
    member for each target: the first one, unless others are right more often by more than two standard errors of the
    difference (one for the naive guess); then the best of those. Finally the members are trained on all records, except
    if 10,000 or more were set aside.

    Parameters
    ----------
    members : names of models
        By default `MEMBERS`; a single one to measure it alone, or `NEURAL` for the larger networks (PyTorch).
    l2 : member → the strength of its L2, if already chosen

    Attributes
    ----------
    chosen_ : the name of the member chosen for each target
    right_ : the number of validation records that it guesses right
    l2_ : the L2 of each network
    """

    def __init__(
        self, members: Sequence[str] = MEMBERS, random_state: int = 0, *, l2: Mapping[str, float] | None = None
    ) -> None:
        self.members = members
        self.random_state = random_state
        self.l2 = l2

    def fit(
        self, inputs: Inputs, cells: Codes, questions: Sequence[LearnerQuestion], units: Codes | None = None
    ) -> "Portfolio":
        """Train on distinct rows; `cells` is each record's row."""
        self._sizes = [question.size for question in questions]
        train, validation = self._parts(len(inputs), cells, questions, units)
        learners, trial = self._try_members(inputs, train, validation, questions)
        self.chosen_ = [
            _choose_member(list(trial), [hits[i] for hits in trial.values()]) for i in range(len(questions))
        ]
        self.right_ = [float(trial[name][i].right.sum()) for i, name in enumerate(self.chosen_)]
        whole = [a + b for a, b in zip(train, validation, strict=True)]
        needed = [name for name in self.members if TOGETHER in self.chosen_ or name in self.chosen_]
        if min(table.sum() for table in validation) >= _PLENTY:
            self._fitted = {name: learners[name] for name in needed}
        else:
            self._fitted = {name: self._train_member(name, self.l2_.get(name, 0.0), inputs, whole) for name in needed}
        self._naive = _Naive().fit(inputs, whole)
        return self

    def _parts(
        self, rows: int, cells: Codes, questions: Sequence[LearnerQuestion], units: Codes | None
    ) -> tuple[list[Counts], list[Counts]]:
        """Return the counts of the training and of the validation records, target by target."""
        if units is not None:
            aside = set_aside(len(cells), units, self.random_state)
            train, validation = (
                [count_table(cells[part], q.values[part], (rows, q.size)) for q in questions]
                for part in (~aside, aside)
            )
            return train, validation
        random = np.random.default_rng(self.random_state)
        whole = [
            count_table(cells if q.cells is None else q.cells, q.values, (rows, q.size), q.records) for q in questions
        ]
        validation = [_draw_records(table, random) for table in whole]
        return [csr_array(table - part) for table, part in zip(whole, validation, strict=True)], validation

    def guess(self, inputs: Inputs, masks: Sequence[Masking | None]) -> list[Guess]:
        """Return for each target the most likely possible value of every distinct row."""
        found: list[list[Guess]] = [[] for _ in masks]
        for rows in chunks(len(inputs), sum(self._sizes) + inputs.width):
            for i, scores in enumerate(self.predict(inputs[rows])):
                found[i].append(best_guess(scores, masks[i], rows))
        return [join_guesses(parts) for parts in found]

    def predict(self, inputs: Inputs) -> list[Scores]:
        """Return the chosen members' chances of each value, one table per target."""
        scores = {name: learner.predict(inputs) for name, learner in self._fitted.items()}
        if TOGETHER in self.chosen_:
            scores[TOGETHER] = _mean([scores[name] for name in self.members])
        if NAIVE in self.chosen_:
            scores[NAIVE] = self._naive.predict(inputs)
        return [scores[name][i] for i, name in enumerate(self.chosen_)]

    def _try_members(
        self,
        inputs: Inputs,
        train: Sequence[Counts],
        validation: Sequence[Counts],
        questions: Sequence[LearnerQuestion],
    ) -> tuple[dict[str, Learner], dict[str, list[Hits]]]:
        """Return each member with its best L2, and its hits on the validation records, target by target."""
        self.l2_: dict[str, float] = {}
        learners: dict[str, Learner] = {}
        for name in self.members:
            tried = {l2: self._train_member(name, l2, inputs, train) for l2 in self._strengths(name)}
            best = next(iter(tried))
            if len(tried) > 1:
                hits = _hits({str(l2): learner for l2, learner in tried.items()}, inputs, validation, questions)
                best = max(tried, key=lambda l2: sum(h.right.sum() for h in hits[str(l2)]))
            learners[name] = tried[best]
            if name in _NETWORKS:
                self.l2_[name] = best
        trial = _hits(learners, inputs, validation, questions, together=len(learners) > 1)
        naive = _hits({NAIVE: _Naive().fit(inputs, train)}, inputs, validation, questions)
        return learners, trial | naive

    def _strengths(self, name: str) -> Sequence[float]:
        if name not in _NETWORKS:
            return (0.0,)
        return L2 if self.l2 is None or name not in self.l2 else (self.l2[name],)

    def _train_member(self, name: str, l2: float, inputs: Inputs, tables: Sequence[Counts]) -> Learner:
        filled = _find_filled_cells(tables)
        learner: Learner
        if name == NETWORK:
            learner = Network(l2=l2, random_state=self.random_state)
        elif name in NEURAL:
            learner = MLP(name, l2=l2, random_state=self.random_state)
        else:
            learner = Backoff() if name == COUNTS else BoostedTrees()
        learner.fit(inputs[filled], [table[filled] for table in tables])
        return learner


def set_aside(n: int, units: Codes | None, random_state: int) -> npt.NDArray[np.bool_]:
    """Choose a random fifth of n records; whole units (one person's records) if there are several."""
    alone = units is None or int(units.max()) == 0
    of_row: Any = np.arange(n) if alone else units
    n_units = int(of_row.max()) + 1
    drawn = np.random.default_rng(random_state).permutation(n_units)
    return np.asarray((drawn < max(1, round(_VALIDATION * n_units)))[of_row])


def _draw_records(table: Counts, random: np.random.Generator) -> Counts:
    """Draw a random fifth of the records that a table counts."""
    table.sum_duplicates()  # also sorts
    counts = table.data.astype(np.int64)
    total = int(counts.sum())
    if total < _MOST_DRAWN:
        size = min(total, max(1, round(_VALIDATION * total)))
        drawn = random.multivariate_hypergeometric(counts, size, method="marginals")
    else:
        drawn = random.binomial(counts, _VALIDATION)
    return csr_array((drawn.astype(np.float64), table.indices.copy(), table.indptr.copy()), shape=table.shape)


def _hits(
    learners: Mapping[str, Any],
    inputs: Inputs,
    tables: Sequence[Counts],
    questions: Sequence[LearnerQuestion],
    together: bool = False,
) -> dict[str, list[Hits]]:
    """Return the hits of each learner and, if `together`, of their average."""
    filled = _find_filled_cells(tables)
    names = [*learners, *([TOGETHER] if together else [])]
    found: dict[str, list[list[Guess]]] = {name: [[] for _ in questions] for name in names}
    for part in chunks(len(filled), sum(question.size for question in questions) + inputs.width):
        rows = filled[part]
        scores = {name: learner.predict(inputs[rows]) for name, learner in learners.items()}
        if together:
            scores[TOGETHER] = _mean(list(scores.values()))
        for name, i in product(names, range(len(questions))):
            found[name][i].append(best_guess(scores[name][i], questions[i].mask, rows))
    return {
        name: [_count_hits(parts, table, filled) for parts, table in zip(found[name], tables, strict=True)]
        for name in names
    }


def _count_hits(parts: Sequence[Guess], table: Counts, cells: Codes) -> Hits:
    value = join_guesses(parts).value
    return Hits(value, np.asarray(table[cells, value], dtype=np.float64))


def _find_filled_cells(tables: Sequence[Counts]) -> npt.NDArray[np.int64]:
    """Return the cells with at least one record."""
    return np.flatnonzero(np.sum([table.sum(axis=1) for table in tables], axis=0))


def _choose_member(names: Sequence[str], hits: Sequence[Hits]) -> str:
    """Choose the first member, or the best of those that are clearly right more often.

    Clearly means by over two standard errors of the difference; one for the naive guess, since no adversary should be
    worse than it.
    """
    best, lead = names[0], 0.0
    for name, mine in zip(names[1:], hits[1:], strict=True):
        differs = mine.guess != hits[0].guess
        ahead = float((mine.right - hits[0].right).sum())
        margin = (1 if name == NAIVE else 2) * float(np.sqrt(((mine.right + hits[0].right) * differs).sum()))
        if ahead > max(margin, lead):
            best, lead = name, ahead
    return best


class _Naive:
    """Predict the overall shares of the values; no chosen member should be worse."""

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "_Naive":
        self._shares = [np.asarray(table.sum(axis=0), dtype=np.float32) for table in counts]
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        return [np.tile(share / max(1.0, share.sum()), (len(inputs), 1)) for share in self._shares]


def _mean(scores: Sequence[Sequence[Scores]]) -> list[Scores]:
    """Average several learners' chances, target by target."""
    return [np.mean(each, axis=0, dtype=np.float32) for each in zip(*scores, strict=True)]


def best_guess(scores: Scores, mask: Masking | None, rows: Any) -> Guess:
    """Return the most likely value among the possible ones; among all if no possible one is known."""
    if mask is not None:
        allowed = mask(rows)
        scores = np.where(allowed | ~allowed.any(axis=1, keepdims=True), scores, -1.0)
    value = scores.argmax(axis=1)
    total = np.maximum(scores, 0).sum(axis=1)
    top = np.take_along_axis(scores, value[:, None], axis=1)[:, 0]
    return Guess(value, np.divide(top, total, out=np.ones_like(total), where=total > 0))


def join_guesses(parts: Sequence[Guess]) -> Guess:
    """Join the guesses of several chunks."""
    return Guess(np.concatenate([p.value for p in parts]), np.concatenate([p.chance for p in parts]))
