"""The portfolio as an adversary that guesses a sensitive value from predictors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.attacks.inference.sensitive_result import (
    ACCURACY,
    AIMS,
    MCC,
    Attacked,
    SensitiveAnswer,
    always,
    count_independent_records,
    fold_codes,
)
from modicum.learners.backoff import Backoff
from modicum.learners.boosting import BoostedTrees
from modicum.learners.inputs import count_table
from modicum.learners.network import Network
from modicum.learners.portfolio import COUNTS, MEMBERS, NETWORK, TOGETHER, TREES, LearnerQuestion, Portfolio
from modicum.measures.scores import best_cut, confusion, matthews
from modicum.typing import Codes, Floats

POWERS = (0.0, 0.5, 1.0)  # by which the chances of many values are divided by their shares


FEWEST = 10  # records (or persons) to learn from, below which nothing can be held out of them


@dataclass(frozen=True)
class GuessRule:
    """How chances become a guess: whose chances, and how they are weighed where Matthews' correlation is aimed at."""

    member: str
    expected: float
    cut: float | None = None
    power: float | None = None

    def to_dict(self) -> dict[str, object]:
        weighed = {"cut": self.cut, "power": self.power}
        return {"model": self.member} | {name: each for name, each in weighed.items() if each is not None}


@dataclass(frozen=True)
class ChanceAdversary:
    """The network, counts with back-off and boosted trees on the predictors in full detail.

    It chooses a member (or their average) by the chances of records it learns from, held out in turn. Aiming at
    accuracy, the one whose most likely value is right most often, unless always saying the most frequent value is right
    as often but for a standard error of the difference. Aiming at Matthews' correlation, it chooses the member together
    with the cut: of two values, the chance above which the second is said; of many, the power of the values' shares by
    which their chances are divided. What was chosen is then trained on everything there is to learn from. Of fewer than
    ten records (or persons) nothing can be held out, and it says the most frequent value.
    """

    attacked: Attacked
    cells: Codes
    inner_folds: int
    random_state: int

    def answers(self, train: Codes, test: Codes, random: np.random.Generator) -> dict[str, SensitiveAnswer]:
        """What it guesses of the records `test`, aiming at each figure, after learning from `train`."""
        values, units = self.attacked.values[train], self.attacked.units_of(train)
        found = {aim: always(values, units, len(test), aim) for aim in AIMS}
        if values.min() == values.max() or len(train if units is None else np.unique(units)) < FEWEST:
            return found
        folds = fold_codes(values, units, self.inner_folds, random)
        l2 = self._l2(train[folds > 0])
        tried, shares = (
            self._predict_held_out(train, folds, l2),
            np.bincount(values, minlength=self.attacked.size) / len(train),
        )
        rules = {ACCURACY: _most_right(tried, values), MCC: _choose_most_correlated(tried, values, shares)}
        members = {rule.member for rule in rules.values() if rule is not None}
        needed = tuple(name for name in MEMBERS if name in members or TOGETHER in members)
        chances = self._by_member(train, test, needed, l2)
        for aim, rule in rules.items():
            if rule is not None:
                guess, tried_ = (
                    _decide_values(chances[rule.member], rule, shares),
                    count_independent_records(aim, values, units),
                )
                found[aim] = SensitiveAnswer(guess, rule.expected, tried_, rule.to_dict(), self._distinct(train))
        return found

    def _predict_held_out(self, train: Codes, folds: Codes, l2: float) -> dict[str, Floats]:
        """The chances that each member gives the records of each fold after learning from the other folds."""
        found = {name: np.zeros((len(train), self.attacked.size)) for name in (*MEMBERS, TOGETHER)}
        for fold in range(int(folds.max()) + 1):
            out = folds == fold
            for name, chances in self._by_member(train[~out], train[out], MEMBERS, l2).items():
                found[name][out] = chances
        return found

    def _distinct(self, rows: Codes) -> int:
        return len(np.unique(self.cells[rows]))

    def _l2(self, rows: Codes) -> float:
        """The strength of the network's L2, chosen on a fifth of these records."""
        distinct, cells = self.attacked.inputs[rows].distinct()
        question = LearnerQuestion(self.attacked.values[rows], self.attacked.size)
        units = self.attacked.units_of(rows)
        units = None if units is None else np.unique(units, return_inverse=True)[1]
        return Portfolio((NETWORK,), self.random_state).fit(distinct, cells, [question], units).l2_[NETWORK]

    def _by_member(self, train: Codes, test: Codes, members: tuple[str, ...], l2: float) -> dict[str, Floats]:
        """The chances that each of these members gives, and where they are all their average."""
        distinct, cells = self.attacked.inputs[train].distinct()
        tables = [count_table(cells, self.attacked.values[train], (len(distinct), self.attacked.size))]
        found = {}
        for name in members:
            found[name] = self._chances(_learner(name, l2, self.random_state).fit(distinct, tables), test)
        if len(members) == len(MEMBERS):
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


def _most_right(tried: Mapping[str, Floats], truth: Codes) -> GuessRule | None:
    """The member that is right most often; None where always saying one value does as well."""
    right = {name: chances.argmax(axis=1) == truth for name, chances in tried.items()}
    best = max(right, key=lambda name: int(right[name].sum()))
    ahead = right[best].astype(np.int64) - (truth == np.bincount(truth).argmax())
    return GuessRule(best, float(right[best].mean())) if ahead.sum() > np.sqrt((ahead**2).sum()) else None


def _choose_most_correlated(tried: Mapping[str, Floats], truth: Codes, shares: Floats) -> GuessRule | None:
    """The member and the cut, or power, that correlate best; None where none does."""
    best = max((_rule(name, chances, truth, shares) for name, chances in tried.items()), key=lambda one: one.expected)
    return best if best.expected > 0 else None


def _rule(member: str, chances: Floats, truth: Codes, shares: Floats) -> GuessRule:
    """The cut, or the power, with which a member's chances correlate best."""
    size = chances.shape[1]
    if size == 2:
        cut, found = best_cut(chances[:, 1], truth == 1, np.ones(len(truth)))
        return GuessRule(member, found, cut=cut)
    rules = [GuessRule(member, 0.0, power=power) for power in POWERS]
    found_by = [matthews(confusion(truth, _decide_values(chances, rule, shares), size)) for rule in rules]
    at = int(np.argmax(found_by))
    return GuessRule(member, found_by[at], power=POWERS[at])


def _decide_values(chances: Floats, rule: GuessRule, shares: Floats) -> Codes:
    if rule.cut is not None:
        return (chances[:, 1] > rule.cut).astype(np.int64)
    weighed = chances / np.maximum(shares, 1e-9) ** (rule.power or 0.0)
    return np.asarray(weighed.argmax(axis=1), dtype=np.int64)
