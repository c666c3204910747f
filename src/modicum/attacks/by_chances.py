"""The portfolio as an adversary that guesses a sensitive value from predictors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.attacks.attacked import ACCURACY, AIMS, MCC, Answer, Attacked, always
from modicum.attacks.folds import fold_codes
from modicum.learners.backoff import Backoff
from modicum.learners.boosting import BoostedTrees
from modicum.learners.inputs import count_table
from modicum.learners.network import Network
from modicum.learners.portfolio import COUNTS, MEMBERS, NETWORK, TOGETHER, TREES, Portfolio, Question
from modicum.measures.confusion import best_cut, confusion, matthews
from modicum.table.values import Codes, Floats

POWERS = (0.0, 0.5, 1.0)  # by which the chances of many values are divided by their shares


@dataclass(frozen=True)
class Rule:
    """How chances become a guess that aims at Matthews' correlation: whose chances, and how they are weighed."""

    member: str
    cut: float
    power: float
    expected: float


@dataclass(frozen=True)
class ChanceAdversary:
    """The network, counts with back-off and boosted trees on the predictors in full detail.

    Aiming at accuracy, it is the `Portfolio`, which says the most likely value. Aiming at Matthews' correlation, it
    chooses the member (or their average) together with the cut, on records it learns from, held out in turn: of two
    values, the chance above which the second is said; of many, the power of the values' shares by which their chances
    are divided. All are then trained on everything there is to learn from.
    """

    attacked: Attacked
    cells: Codes
    inner_folds: int
    random_state: int

    def answers(self, train: Codes, test: Codes, random: np.random.Generator) -> dict[str, Answer]:
        """What it guesses of the records `test`, aiming at each figure, after learning from `train`."""
        values, units = self.attacked.values[train], self.attacked.units_of(train)
        if values.min() == values.max():
            return {aim: always(values, len(test), aim) for aim in AIMS}
        folds = fold_codes(values, units, self.inner_folds, random)
        first = self._portfolio(train[folds > 0])
        right = self._chances(first, train[folds == 0]).argmax(axis=1) == values[folds == 0]
        whole = self._portfolio(train, first.l2_)
        found = Answer(
            guess=self._chances(whole, test).argmax(axis=1),
            expected=float(right.mean()),
            settings={"model": whole.chosen_[0]},
            rows=self._distinct(train),
        )
        return {ACCURACY: found, MCC: self._by_rule(train, folds, test, first.l2_[NETWORK])}

    def _by_rule(self, train: Codes, folds: Codes, test: Codes, l2: float) -> Answer:
        values = self.attacked.values[train]
        shares = np.bincount(values, minlength=self.attacked.size) / len(train)
        tried = self._held_out(train, folds, l2)
        rule = max((_rule(name, each, values, shares) for name, each in tried.items()), key=_expected)
        if rule.expected <= 0:
            return always(values, len(test), MCC)
        members = MEMBERS if rule.member == TOGETHER else (rule.member,)
        chances = self._by_member(train, test, members, l2)[rule.member]
        settings = {"model": rule.member} | ({"cut": rule.cut} if self.attacked.size == 2 else {"power": rule.power})
        return Answer(_said(chances, rule, shares), rule.expected, settings, self._distinct(train))

    def _held_out(self, train: Codes, folds: Codes, l2: float) -> dict[str, Floats]:
        """The chances that each member gives the records of each fold after learning from the other folds."""
        found = {name: np.zeros((len(train), self.attacked.size)) for name in (*MEMBERS, TOGETHER)}
        for fold in range(int(folds.max()) + 1):
            out = folds == fold
            for name, chances in self._by_member(train[~out], train[out], MEMBERS, l2).items():
                found[name][out] = chances
        return found

    def _distinct(self, rows: Codes) -> int:
        return len(np.unique(self.cells[rows]))

    def _portfolio(self, rows: Codes, l2: Mapping[str, float] | None = None) -> Portfolio:
        """The portfolio trained on these records; the L2 of its network may be known."""
        distinct, cells = self.attacked.inputs[rows].distinct()
        question = Question(self.attacked.values[rows], self.attacked.size)
        units = self.attacked.units_of(rows)
        units = None if units is None else np.unique(units, return_inverse=True)[1]
        return Portfolio(MEMBERS, self.random_state, l2=l2).fit(distinct, cells, [question], units)

    def _by_member(self, train: Codes, test: Codes, members: tuple[str, ...], l2: float) -> dict[str, Floats]:
        """The chances that each member gives, and where there are several their average."""
        distinct, cells = self.attacked.inputs[train].distinct()
        tables = [count_table(cells, self.attacked.values[train], (len(distinct), self.attacked.size))]
        found = {}
        for name in members:
            found[name] = self._chances(_learner(name, l2, self.random_state).fit(distinct, tables), test)
        if len(members) > 1:
            found[TOGETHER] = np.asarray(np.mean(list(found.values()), axis=0))
        return found

    def _chances(self, learned: Any, rows: Codes) -> Floats:
        """The chances of each record's values."""
        distinct, cells = self.attacked.inputs[rows].distinct()
        return np.asarray(learned.predict(distinct)[0], dtype=np.float64)[cells]


def _learner(name: str, l2: float, random_state: int) -> Any:
    if name == NETWORK:
        return Network(l2=l2, random_state=random_state)
    return {COUNTS: Backoff, TREES: BoostedTrees}[name]()


def _rule(member: str, chances: Floats, truth: Codes, shares: Floats) -> Rule:
    """The cut, or the power, with which a member's chances correlate best."""
    size = chances.shape[1]
    if size == 2:
        cut, found = best_cut(chances[:, 1], truth == 1, np.ones(len(truth)))
        return Rule(member, cut, 0.0, found)
    rules = [Rule(member, 0.0, power, 0.0) for power in POWERS]
    found_by = [matthews(confusion(truth, _said(chances, rule, shares), size)) for rule in rules]
    at = int(np.argmax(found_by))
    return Rule(member, 0.0, POWERS[at], found_by[at])


def _expected(rule: Rule) -> float:
    return rule.expected


def _said(chances: Floats, rule: Rule, shares: Floats) -> Codes:
    if chances.shape[1] == 2:
        return (chances[:, 1] > rule.cut).astype(np.int64)
    return np.asarray((chances / np.maximum(shares, 1e-9) ** rule.power).argmax(axis=1), dtype=np.int64)
