"""The strongest of several models for each target, chosen on records that did not train them."""

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
_MOST_DRAWN = 10**9  # records of which exactly a fifth is drawn
_PLENTY = 10_000  # records set aside from which on training once more on all would change nothing


Masking: TypeAlias = Callable[[Any], Mask]  # for some of the distinct rows, which values they leave possible


class Learner(Protocol):
    """A model of several targets on distinct rows with counts."""

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> Any: ...

    def predict(self, inputs: Inputs) -> list[Scores]: ...


@dataclass(frozen=True)
class LearnerQuestion:
    """One target: each record's value, how many values there are, and what is possible.

    A value that the known data does not have is -1. `mask(rows)` says for some of the distinct rows which values they
    leave possible; None where all are. Values may be counted: then `records` says how many records have each, and
    `cells` which of the distinct rows they are of.
    """

    values: Codes
    size: int
    mask: Masking | None = None
    cells: Codes | None = None
    records: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Guess:
    """For each row the most likely possible value, and its chance among the possible ones."""

    value: Codes
    chance: Scores


@dataclass(frozen=True)
class Hits:
    """What a member guesses for each cell, and how many of the cell's records that gets right."""

    guess: Codes
    right: npt.NDArray[np.float64]


class Portfolio:
    """The paper's network, counts with back-off, boosted trees, and the average of the three.

    A fifth of the records (whole persons where `units` are given; else for each target anew, drawn from its counts, so
    that neither the order of records matters nor who counts them) is set aside. On it the networks' L2 is chosen, and
    for each target the member: the first one, unless another guesses right more often there by more than two standard
    errors of the difference (the naive guess: one), in which case the best of those. The members are then
    trained on all records; where those set aside are 10,000 or more, the members that the others trained are kept.

    Parameters
    ----------
    members : names of models
        A part of `MEMBERS` to measure a single one; with some of `NEURAL` for the larger networks (PyTorch).
    l2 : member → the strength of its L2, where that is chosen already

    Attributes
    ----------
    chosen_ : the name of the member chosen for each target
    right_ : how many of the records set aside it guesses right
    l2_ : the L2 that each network was trained with
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
        """Train on distinct rows; `cells` says which of them each record is."""
        self._sizes = [question.size for question in questions]
        first, second = self._parts(len(inputs), cells, questions, units)
        learners, trial = self._try_members(inputs, first, second, questions)
        self.chosen_ = [
            _choose_member(list(trial), [hits[i] for hits in trial.values()]) for i in range(len(questions))
        ]
        self.right_ = [float(trial[name][i].right.sum()) for i, name in enumerate(self.chosen_)]
        whole = [a + b for a, b in zip(first, second, strict=True)]
        needed = [name for name in self.members if TOGETHER in self.chosen_ or name in self.chosen_]
        if min(table.sum() for table in second) >= _PLENTY:
            self._fitted = {name: learners[name] for name in needed}
        else:
            self._fitted = {name: self._train_member(name, self.l2_.get(name, 0.0), inputs, whole) for name in needed}
        self._naive = _Naive().fit(inputs, whole)
        return self

    def _parts(
        self, rows: int, cells: Codes, questions: Sequence[LearnerQuestion], units: Codes | None
    ) -> tuple[list[Counts], list[Counts]]:
        """The counts of the records to train on, and of those set aside, target by target."""
        if units is not None:
            aside = set_aside(len(cells), units, self.random_state)
            of_rows = [
                [count_table(cells[part], q.values[part], (rows, q.size)) for q in questions]
                for part in (~aside, aside)
            ]
            return of_rows[0], of_rows[1]
        random = np.random.default_rng(self.random_state)
        whole = [
            count_table(cells if q.cells is None else q.cells, q.values, (rows, q.size), q.records) for q in questions
        ]
        second = [_draw_records(table, random) for table in whole]
        return [csr_array(table - part) for table, part in zip(whole, second, strict=True)], second

    def guess(self, inputs: Inputs, masks: Sequence[Masking | None]) -> list[Guess]:
        """For each target the most likely possible value of every distinct row."""
        found: list[list[Guess]] = [[] for _ in masks]
        for rows in chunks(len(inputs), sum(self._sizes) + inputs.width):
            for i, scores in enumerate(self.predict(inputs[rows])):
                found[i].append(best_guess(scores, masks[i], rows))
        return [join_guesses(parts) for parts in found]

    def predict(self, inputs: Inputs) -> list[Scores]:
        """The chances that the chosen member gives each value, one table per target."""
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
        """Each member with its best L2, and its hits on the validation records, target by target."""
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
        found = _hits(learners, inputs, validation, questions, together=len(learners) > 1)
        naive = _hits({NAIVE: _Naive().fit(inputs, train)}, inputs, validation, questions)
        return learners, found | naive

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
    """A random fifth of n records, of whole units (one person's records) where there are several."""
    alone = units is None or int(units.max()) == 0
    of_row: Any = np.arange(n) if alone else units
    many = int(of_row.max()) + 1
    drawn = np.random.default_rng(random_state).permutation(many)
    return np.asarray((drawn < max(1, round(_VALIDATION * many)))[of_row])


def _draw_records(table: Counts, random: np.random.Generator) -> Counts:
    """A random fifth of the records that a table counts."""
    table.sum_duplicates()  # in order
    counts = table.data.astype(np.int64)
    total = int(counts.sum())
    if total < _MOST_DRAWN:
        many = min(total, max(1, round(_VALIDATION * total)))
        drawn = random.multivariate_hypergeometric(counts, many, method="marginals")
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
    """What each learner gets right, and where asked what their average does."""
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
    """The cells that hold a record."""
    return np.flatnonzero(np.sum([table.sum(axis=1) for table in tables], axis=0))


def _choose_member(names: Sequence[str], hits: Sequence[Hits]) -> str:
    """The first member, or the best of those that are clearly right more often.

    Clearly is by over two standard errors of the difference; by over one for the naive guess, which no adversary should
    fall behind.
    """
    best, lead = names[0], 0.0
    for name, mine in zip(names[1:], hits[1:], strict=True):
        differs = mine.guess != hits[0].guess
        ahead = float((mine.right - hits[0].right).sum())
        doubt = (1 if name == NAIVE else 2) * float(np.sqrt(((mine.right + hits[0].right) * differs).sum()))
        if ahead > max(doubt, lead):
            best, lead = name, ahead
    return best


class _Naive:
    """The shares of the values, whatever is seen: where nothing can be learned, no member should do worse."""

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "_Naive":
        self._shares = [np.asarray(table.sum(axis=0), dtype=np.float32) for table in counts]
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        return [np.tile(share / max(1.0, share.sum()), (len(inputs), 1)) for share in self._shares]


def _mean(scores: Sequence[Sequence[Scores]]) -> list[Scores]:
    """The average of several learners' chances, target by target."""
    return [np.mean(each, axis=0, dtype=np.float32) for each in zip(*scores, strict=True)]


def best_guess(scores: Scores, mask: Masking | None, rows: Any) -> Guess:
    """The most likely value among the possible ones; among all where the known data has no possible one."""
    if mask is not None:
        allowed = mask(rows)
        scores = np.where(allowed | ~allowed.any(axis=1, keepdims=True), scores, -1.0)
    value = scores.argmax(axis=1)
    total = np.maximum(scores, 0).sum(axis=1)
    top = np.take_along_axis(scores, value[:, None], axis=1)[:, 0]
    return Guess(value, np.divide(top, total, out=np.ones_like(total), where=total > 0))


def join_guesses(parts: Sequence[Guess]) -> Guess:
    """The guesses of several chunks, one after the other."""
    return Guess(np.concatenate([p.value for p in parts]), np.concatenate([p.chance for p in parts]))
