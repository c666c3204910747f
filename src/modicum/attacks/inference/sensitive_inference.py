"""Guess the sensitive attribute from the predictors that a classifier asks for [Barbato25 §5.2]."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from modicum.attacks.inference.nu_adversary import KernelPoints, NuAdversary
from modicum.attacks.inference.sensitive_result import (
    ACCURACY,
    AIMS,
    MCC,
    Attacked,
    GuessedSensitive,
    SensitiveAnswer,
    SensitiveInferenceResult,
    always,
    count_independent_records,
    fold_codes,
    standard_error,
)
from modicum.attacks.result import Estimate
from modicum.errors import ParameterError, check_number
from modicum.learners.backoff import Backoff
from modicum.learners.boosting import BoostedTrees
from modicum.learners.inputs import count_table
from modicum.learners.network import Network
from modicum.learners.portfolio import COUNTS, MEMBERS, NETWORK, TOGETHER, TREES, LearnerQuestion, Portfolio
from modicum.measures.intervals import mean_interval
from modicum.measures.scores import best_cut, confusion, matthews, matthews_interval, renumber_units
from modicum.progress import run_all
from modicum.table.estimator_input import as_names
from modicum.table.frames import as_frame, column
from modicum.table.schema import Schema
from modicum.table.targets import BINS
from modicum.typing import Codes, Floats

# The portfolio as an adversary that guesses a sensitive value from predictors.

POWERS = (0.0, 0.5, 1.0)  # powers of the values' shares that divide their chances
FEWEST = 10  # records (or persons) needed to hold some out


@dataclass(frozen=True)
class GuessRule:
    """How chances become a guess: the portfolio member, and the cut or power for Matthews' correlation."""

    member: str
    expected: float
    cut: float | None = None
    power: float | None = None

    def to_dict(self) -> dict[str, object]:
        weighting = {"cut": self.cut, "power": self.power}
        return {"model": self.member} | {name: each for name, each in weighting.items() if each is not None}


@dataclass(frozen=True)
class ChanceAdversary:
    """The network, counts with back-off and boosted trees on the predictors in full detail.

    It chooses a member (or their average) by cross-validation on the training records. For accuracy, this is the one
    whose most likely value is right most often, unless the most frequent value is right as often within a standard
    error of the difference. For Matthews' correlation, it chooses the member together with the cut: for two values, the
    chance above which the second is guessed; for more, the power of the values' shares that divides their chances. The
    choice is then trained on all training records. With fewer than ten records (or persons) it guesses the most
    frequent value.
    """

    attacked: Attacked
    cells: Codes
    inner_folds: int
    random_state: int

    def answers(self, train: Codes, test: Codes, random: np.random.Generator) -> dict[str, SensitiveAnswer]:
        """Learn from `train` and guess the records `test`, once for each aim."""
        values, units = self.attacked.values[train], self.attacked.units_of(train)
        found = always(self.attacked, train, test)
        if values.min() == values.max() or len(train if units is None else np.unique(units)) < FEWEST:
            return found
        folds = fold_codes(values, units, self.inner_folds, random)
        l2 = self._tune_l2(train[folds > 0])
        tried = self._predict_held_out(train, folds, l2)
        shares = np.bincount(values, minlength=self.attacked.size) / len(train)
        rules = {ACCURACY: _choose_most_accurate(tried, values), MCC: _choose_most_correlated(tried, values, shares)}
        members = {rule.member for rule in rules.values() if rule is not None}
        needed = tuple(name for name in MEMBERS if name in members or TOGETHER in members)
        chances = self._by_member(train, test, needed, l2)
        distinct = len(np.unique(self.cells[train]))
        for aim, rule in rules.items():
            if rule is not None:
                guess = _decide_values(chances[rule.member], rule, shares)
                many = count_independent_records(aim, values, units)
                found[aim] = SensitiveAnswer(guess, rule.expected, many, rule.to_dict(), distinct)
        return found

    def _predict_held_out(self, train: Codes, folds: Codes, l2: float) -> dict[str, Floats]:
        """Return each member's chances for the records of each fold, learned from the other folds."""
        found = {name: np.zeros((len(train), self.attacked.size)) for name in (*MEMBERS, TOGETHER)}
        for fold in range(int(folds.max()) + 1):
            out = folds == fold
            for name, chances in self._by_member(train[~out], train[out], MEMBERS, l2).items():
                found[name][out] = chances
        return found

    def _tune_l2(self, rows: Codes) -> float:
        """Choose the strength of the network's L2 on a fifth of these records."""
        distinct, cells = self.attacked.inputs[rows].distinct()
        question = LearnerQuestion(self.attacked.values[rows], self.attacked.size)
        units = renumber_units(self.attacked.units, rows)
        return Portfolio((NETWORK,), self.random_state).fit(distinct, cells, [question], units).l2_[NETWORK]

    def _by_member(self, train: Codes, test: Codes, members: tuple[str, ...], l2: float) -> dict[str, Floats]:
        """Return the chances of each of these members, and of their average if all are there."""
        distinct, cells = self.attacked.inputs[train].distinct()
        tables = [count_table(cells, self.attacked.values[train], (len(distinct), self.attacked.size))]
        seen, back = self.attacked.inputs[test].distinct()
        found = {}
        for name in members:
            learned = _make_learner(name, l2, self.random_state).fit(distinct, tables)
            found[name] = np.asarray(learned.predict(seen)[0], dtype=np.float64)[back]
        if len(members) == len(MEMBERS):
            found[TOGETHER] = np.asarray(np.mean(list(found.values()), axis=0))
        return found


def _make_learner(name: str, l2: float, random_state: int) -> Any:
    if name == NETWORK:
        return Network(l2=l2, random_state=random_state)
    return {COUNTS: Backoff, TREES: BoostedTrees}[name]()


def _choose_most_accurate(tried: Mapping[str, Floats], truth: Codes) -> GuessRule | None:
    """Return the member that is right most often; None if the most frequent value does as well."""
    right = {name: chances.argmax(axis=1) == truth for name, chances in tried.items()}
    best = max(right, key=lambda name: int(right[name].sum()))
    ahead = right[best].astype(np.int64) - (truth == np.bincount(truth).argmax())
    return GuessRule(best, float(right[best].mean())) if ahead.sum() > np.sqrt((ahead**2).sum()) else None


def _choose_most_correlated(tried: Mapping[str, Floats], truth: Codes, shares: Floats) -> GuessRule | None:
    """Return the member and the cut, or power, that correlate best; None if no correlation is above 0."""
    best = max((_rule(name, chances, truth, shares) for name, chances in tried.items()), key=lambda one: one.expected)
    return best if best.expected > 0 else None


def _rule(member: str, chances: Floats, truth: Codes, shares: Floats) -> GuessRule:
    """Return the cut, or the power, with which a member's chances correlate best."""
    size = chances.shape[1]
    if size == 2:
        cut, found = best_cut(chances[:, 1], truth == 1, np.ones(len(truth)))
        return GuessRule(member, found, cut=cut)
    rules = [GuessRule(member, 0.0, power=power) for power in POWERS]
    correlations = [matthews(confusion(truth, _decide_values(chances, rule, shares), size)) for rule in rules]
    at = int(np.argmax(correlations))
    return GuessRule(member, correlations[at], power=POWERS[at])


def _decide_values(chances: Floats, rule: GuessRule, shares: Floats) -> Codes:
    if rule.cut is not None:
        return (chances[:, 1] > rule.cut).astype(np.int64)
    weighted = chances / np.maximum(shares, 1e-9) ** (rule.power or 0.0)
    return np.asarray(weighted.argmax(axis=1), dtype=np.int64)


# Both adversaries, in cross-validation.

NU_SVC, PORTFOLIO = ADVERSARIES = ("nu-SVC", "portfolio")

Answers = dict[str, dict[str, SensitiveAnswer]]  # adversary → aim → answer


class SensitiveInference:
    """Predict a sensitive attribute from other attributes, as the operator of a classifier could [Barbato25 §5.2].

    The adversary has full records from the same source as the people it attacks. Records are split into `folds` parts
    (every value in each, a person's records in one), and each part is guessed after learning from the others. There are
    two adversaries:

    - "nu-SVC", the paper's, with nested cross-validation: kernel (linear or RBF), ν and whether values are weighted
      equally are chosen in inner folds of the training records. Categories are one-hot; numbers become their
      standardized rank, without bins. Records with the same predictors and value form one weighted row. If there are
      too many rows, records of each value are drawn at random until there are `max_rows` distinct ones (2,000 for the
      inner folds), with the values as balanced as possible, weighted to preserve their shares. With more than twelve
      values, only the most frequent twelve are distinguished;
    - "portfolio": the strongest of a network, counts with back-off, boosted trees and their average, on all records.

    Each has two separate aims. For *accuracy*, it guesses the most likely value. For *Matthews' correlation*, it
    chooses the setting and the cut with the highest correlation on training records: if 98% of people have one value,
    always guessing it is accurate but reveals nothing about anyone. An adversary that does no better than the most
    frequent value guesses that value.

    For each part, the result uses the portfolio, unless the ν-SVC expects more by over a standard error (as the best of
    32 settings, its expectation is optimistic). The records of the part itself do not influence this choice, so the
    figures are unbiased. Intervals show how far the figures would differ on other people's records, with the same
    guesses for the same predictors. The portfolio needs at least ten records (or persons) to learn from.

    Parameters
    ----------
    sensitive : str
        The column to guess. A number or date with more than 20 values is guessed in bins.
    critical_values : value or list, optional
        Guess only whether the value is one of these; None in a list, or "(missing)", is a missing value. With several,
        each by itself and all together are compared with the rest (multiple and single encoding of [Barbato25 §3.1]).
        The result is the one with the highest expected correlation on training records; it contains the others.
    folds, inner_folds : int
        The numbers of folds; fewer if a value has too few records.
    max_rows : int
        The number of distinct rows on which a ν-SVC is trained.
    bins : int
        The number of bins of equal frequency of a sensitive number.
    schema : Schema, optional
        Kinds of the columns, and the person column; by default inferred.
    n_jobs : int or None
        How many folds run at once: None for one, -1 for one per core.
    random_state : int
    progress : bool
        Show a bar on a terminal.

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame({"cure": random.integers(0, 3, 600), "town": random.integers(0, 4, 600)})
    >>> X["ill"] = np.where(random.random(600) < 0.8, X["cure"] == 2, random.random(600) < 0.3)
    >>> attack = md.attacks.SensitiveInference("ill", folds=3)
    >>> both, town = attack.run(X, predictors=["cure", "town"]), attack.run(X, predictors=["town"])
    >>> both.accuracy.interval[0] > both.class_frequency, both.mcc.value > 0.6
    (True, True)
    >>> abs(town.mcc.value) < 0.2
    True
    """

    def __init__(
        self,
        sensitive: str,
        *,
        critical_values: Any = None,
        folds: int = 5,
        inner_folds: int = 3,
        max_rows: int = 4_000,
        bins: int = BINS,
        schema: Schema | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
        progress: bool = True,
    ) -> None:
        self.sensitive = sensitive
        self.critical_values = as_names(critical_values)
        self.folds = folds
        self.inner_folds = inner_folds
        self.max_rows = max_rows
        self.bins = bins
        self.schema = schema
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def run(
        self, X: Any, predictors: Iterable[str], values: Any = None, persons: Any = None
    ) -> SensitiveInferenceResult:
        """Guess every record's sensitive value.

        Parameters
        ----------
        X : frame with the predictors and the sensitive column; other columns are ignored
        predictors : the columns that the adversary sees; an empty list leaves the naive guess
        values : array-like, optional
            The sensitive value of each record, if no single column holds it (one-hot columns); never binned.
        persons : array-like, optional
            The person of each record, if the schema has no person column.
        """
        start = time.perf_counter()
        names = self._check(X, predictors, values)
        attacked = Attacked.of(
            X, self.sensitive, names, self.schema, self.bins, values, persons, critical=self.critical_values
        )
        results = [self._attack(each, names) for each in attacked]
        strongest = max(results, key=lambda one: one.expected[MCC])
        others = tuple(results) if len(results) > 1 else ()
        return replace(strongest, by_contrast=others, seconds=time.perf_counter() - start)

    def _attack(self, attacked: Attacked, names: Sequence[str]) -> SensitiveInferenceResult:
        """Guess the values of all records."""
        start = time.perf_counter()
        parts = fold_codes(attacked.values, attacked.units, self.folds, np.random.default_rng([self.random_state, 0]))
        distinct, answers = self._answers(attacked, parts)
        chosen = {aim: tuple(_choose_adversary(each, aim) for each in answers) for aim in AIMS}
        best = [{aim: each[chosen[aim][i]][aim] for aim in AIMS} for i, each in enumerate(answers)]
        scores = self._judge_answers(attacked, parts, best)
        return SensitiveInferenceResult(
            sensitive=self.sensitive,
            predictors=tuple(names),
            critical=attacked.critical,
            accuracy=scores.accuracy,
            mcc=scores.mcc,
            expected=scores.expected,
            chosen=chosen,
            by_adversary={
                name: self._judge_answers(attacked, parts, [each[name] for each in answers]) for name in ADVERSARIES
            },
            by_contrast=(),
            values=attacked.size,
            class_frequency=float(attacked.shares.max()),
            records=len(attacked),
            folds=len(answers),
            distinct=distinct,
            random_state=self.random_state,
            seconds=time.perf_counter() - start,
        )

    def _answers(self, attacked: Attacked, parts: Codes) -> tuple[int, list[Answers]]:
        """Return the number of distinct rows, and each adversary's answers for each part."""
        distinct, cells = attacked.inputs.distinct()
        rows = [(np.flatnonzero(parts != part), np.flatnonzero(parts == part)) for part in range(int(parts.max()) + 1)]
        if len(distinct) < 2:
            return len(distinct), [dict.fromkeys(ADVERSARIES, always(attacked, *each)) for each in rows]
        points = KernelPoints(attacked.inputs)
        nu = NuAdversary(attacked, cells, distinct, points, self.inner_folds, self.max_rows)
        chances = ChanceAdversary(attacked, cells, self.inner_folds, self.random_state)
        pieces = [
            partial(adversary.answers, *each, np.random.default_rng([self.random_state, 1, part]))
            for part, each in enumerate(rows)
            for adversary in (nu, chances)
        ]
        done = run_all(pieces, "Guessing the sensitive attribute", n_jobs=self.n_jobs, progress=self.progress)
        return len(distinct), [dict(zip(ADVERSARIES, done[2 * i : 2 * i + 2], strict=True)) for i in range(len(rows))]

    def _judge_answers(
        self, attacked: Attacked, parts: Codes, answers: Sequence[Mapping[str, SensitiveAnswer]]
    ) -> GuessedSensitive:
        """Compute one adversary's figures over all parts."""
        guess = {aim: np.empty(len(attacked), dtype=np.int64) for aim in AIMS}
        for part, answer in enumerate(answers):
            for aim in AIMS:
                guess[aim][parts == part] = answer[aim].guess
        truth, size, units = attacked.values, attacked.size, attacked.units
        right = (guess[ACCURACY] == truth).astype(np.float64)
        interval = matthews_interval(truth, guess[MCC], size, units, self.random_state)
        return GuessedSensitive(
            accuracy=Estimate(float(right.mean()), mean_interval(right, units), float(attacked.shares.max())),
            mcc=Estimate(matthews(confusion(truth, guess[MCC], size)), interval, 0.0),
            settings={aim: tuple(dict(answer[aim].settings) for answer in answers) for aim in AIMS},
            expected={aim: float(np.mean([answer[aim].expected for answer in answers])) for aim in AIMS},
            rows=max(answer[aim].rows for answer in answers for aim in AIMS),
        )

    def _check(self, X: Any, predictors: Any, values: Any) -> list[str]:
        for name, low in {"folds": 2, "inner_folds": 2, "max_rows": 50, "bins": 2, "random_state": 0}.items():
            check_number(self, name, low)
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise self._make_error("schema", "a Schema or None")
        if not isinstance(self.sensitive, str):
            raise self._make_error("sensitive", "a column's name")
        names = as_names(predictors)
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            raise ParameterError(f"The predictors must be a list of column names. Got {predictors!r} instead.")
        if self.sensitive in names:
            raise ParameterError(f"The sensitive column {self.sensitive!r} must not be one of the predictors.")
        frame = as_frame(X)
        for name in names if values is not None else (self.sensitive, *names):
            column(frame, name)
        return list(dict.fromkeys(names))

    def _make_error(self, parameter: str, wanted: str) -> ParameterError:
        got = getattr(self, parameter)
        return ParameterError(
            f"The {parameter!r} parameter of SensitiveInference must be {wanted}. Got {got!r} instead."
        )


def _choose_adversary(answers: Mapping[str, Mapping[str, SensitiveAnswer]], aim: str) -> str:
    """Choose the portfolio, unless the ν-SVC expects more by over a standard error."""
    nu, portfolio = answers[NU_SVC][aim], answers[PORTFOLIO][aim]
    return NU_SVC if nu.expected - portfolio.expected > standard_error(aim, nu) else PORTFOLIO
