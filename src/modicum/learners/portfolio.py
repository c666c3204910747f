"""The strongest of several models for each target, chosen on records that did not train them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from modicum.generalization.possible import Mask
from modicum.learners.backoff import Backoff
from modicum.learners.boosting import BoostedTrees
from modicum.learners.inputs import Codes, Counts, Inputs, Scores, chunks, count_table
from modicum.learners.network import Network

NETWORK, COUNTS, TREES = "network", "counts", "boosted trees"
TOGETHER, NAIVE = "all together", "naive guess"
MEMBERS = (NETWORK, COUNTS, TREES)
L2 = (0.0, 1e-4, 1e-3)  # the network's, tuned on validation records (papers/0 Appendix F)
_VALIDATION = 0.2


class Learner(Protocol):
    """A model of several targets on distinct rows with counts."""

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> Any: ...

    def predict(self, inputs: Inputs) -> list[Scores]: ...


@dataclass(frozen=True)
class Question:
    """One target: each record's value, how many values there are, and what is possible.

    A value that the known data does not have is -1. `mask(rows)` says for some of the distinct rows which values they
    leave possible; None where all are.
    """

    values: Codes
    size: int
    mask: Callable[[Any], Mask] | None = None


@dataclass(frozen=True)
class Hits:
    """What a member guesses for each cell, and how many of the cell's records that gets right."""

    guess: Codes
    right: npt.NDArray[np.float64]


class Portfolio:
    """The paper's network, counts with back-off, boosted trees, and the average of the three.

    A fifth of the records (whole persons where `units` are given) is set aside. On it the network's L2 is chosen, and
    for each target the member: the first one, unless another guesses right more often there by more than two standard
    errors of the difference (the naive guess: one), in which case the best of those. The members are then
    trained on all records. `members` may name a part of the portfolio, which is how a single one is measured.

    Attributes
    ----------
    chosen_ : the name of the member chosen for each target
    """

    def __init__(self, members: Sequence[str] = MEMBERS, random_state: int = 0) -> None:
        self.members = members
        self.random_state = random_state

    def fit(
        self, inputs: Inputs, cells: Codes, questions: Sequence[Question], units: Codes | None = None
    ) -> "Portfolio":
        """Train on distinct rows; `cells` says which of them each record is."""
        self._sizes = [question.size for question in questions]
        aside = self._set_aside(len(cells), units)
        first, second = (
            [count_table(cells[rows], q.values[rows], (len(inputs), q.size)) for q in questions]
            for rows in (~aside, aside)
        )
        kept, trial = self._tried(inputs, first, second, questions)
        self.chosen_ = [_preferred(list(trial), [hits[i] for hits in trial.values()]) for i in range(len(questions))]
        whole = [a + b for a, b in zip(first, second, strict=True)]
        needed = self.members if TOGETHER in self.chosen_ else set(self.chosen_)
        self._fitted = {name: self._trained(name, kept[name], inputs, whole) for name in self.members if name in needed}
        self._naive = _Naive().fit(inputs, whole)
        return self

    def guess(self, inputs: Inputs, masks: Sequence[Callable[[Any], Mask] | None]) -> list[Codes]:
        """For each target the most likely possible value of every distinct row."""
        found: list[list[Codes]] = [[] for _ in masks]
        for rows in chunks(len(inputs), sum(self._sizes) + inputs.width):
            for i, scores in enumerate(self.predict(inputs[rows])):
                found[i].append(best_guess(scores, masks[i], rows))
        return [np.concatenate(parts) for parts in found]

    def predict(self, inputs: Inputs) -> list[Scores]:
        """The chances that the chosen member gives each value, one table per target."""
        scores = {name: learner.predict(inputs) for name, learner in self._fitted.items()}
        if TOGETHER in self.chosen_:
            scores[TOGETHER] = [_mean(each) for each in zip(*(scores[name] for name in self.members), strict=True)]
        if NAIVE in self.chosen_:
            scores[NAIVE] = self._naive.predict(inputs)
        return [scores[name][i] for i, name in enumerate(self.chosen_)]

    def _set_aside(self, n: int, units: Codes | None) -> npt.NDArray[np.bool_]:
        alone = units is None or int(units.max()) == 0
        of_row: Any = np.arange(n) if alone else units
        many = int(of_row.max()) + 1
        drawn = np.random.default_rng(self.random_state).permutation(many)
        return (drawn < max(1, round(_VALIDATION * many)))[of_row]

    def _tried(
        self, inputs: Inputs, train: Sequence[Counts], validation: Sequence[Counts], questions: Sequence[Question]
    ) -> tuple[dict[str, float], dict[str, list[Hits]]]:
        """Each member's L2, and its hits on the validation records, target by target."""
        kept: dict[str, float] = {}
        learners: dict[str, Learner] = {}
        hits: dict[str, list[Hits]] = {}
        for name in self.members:
            tried = {l2: self._trained(name, l2, inputs, train) for l2 in (L2 if name == NETWORK else (0.0,))}
            found = {l2: _hits(learner, inputs, validation, questions) for l2, learner in tried.items()}
            kept[name] = max(tried, key=lambda l2: sum(h.right.sum() for h in found[l2]))
            learners[name], hits[name] = tried[kept[name]], found[kept[name]]
        if len(self.members) > 1:
            hits[TOGETHER] = _hits(_Average(list(learners.values())), inputs, validation, questions)
        hits[NAIVE] = _hits(_Naive().fit(inputs, train), inputs, validation, questions)
        return kept, hits

    def _trained(self, name: str, l2: float, inputs: Inputs, tables: Sequence[Counts]) -> Learner:
        filled = _filled(tables)
        learner: Learner
        if name == NETWORK:
            learner = Network(l2=l2, random_state=self.random_state)
        else:
            learner = Backoff() if name == COUNTS else BoostedTrees()
        learner.fit(inputs[filled], [table[filled] for table in tables])
        return learner


def _hits(learner: Any, inputs: Inputs, tables: Sequence[Counts], questions: Sequence[Question]) -> list[Hits]:
    filled = _filled(tables)
    found: list[list[Codes]] = [[] for _ in questions]
    for part in chunks(len(filled), sum(question.size for question in questions) + inputs.width):
        rows = filled[part]
        for i, scores in enumerate(learner.predict(inputs[rows])):
            found[i].append(best_guess(scores, questions[i].mask, rows))
    guesses = [np.concatenate(parts) for parts in found]
    return [
        Hits(guess, np.asarray(table[filled, guess], dtype=np.float64))
        for table, guess in zip(tables, guesses, strict=True)
    ]


def _filled(tables: Sequence[Counts]) -> npt.NDArray[np.int64]:
    """The cells that hold a record."""
    return np.flatnonzero(np.sum([table.sum(axis=1) for table in tables], axis=0))


def _preferred(names: Sequence[str], hits: Sequence[Hits]) -> str:
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


class _Average:
    """Several fitted learners as one."""

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners = learners

    def predict(self, inputs: Inputs) -> list[Scores]:
        return [_mean(scores) for scores in zip(*(learner.predict(inputs) for learner in self.learners), strict=True)]


def _mean(scores: Sequence[Scores]) -> Scores:
    return np.mean(scores, axis=0, dtype=np.float32)


def best_guess(scores: Scores, mask: Callable[[Any], Mask] | None, rows: Any) -> Codes:
    """The most likely value among the possible ones; among all where the known data has no possible one."""
    if mask is None:
        return scores.argmax(axis=1)
    allowed = mask(rows)
    none = ~allowed.any(axis=1, keepdims=True)
    return np.where(allowed | none, scores, -1.0).argmax(axis=1)
