"""Guess the sensitive attribute from the predictors that a classifier asks for (papers/3 §5.2)."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from modicum.attacks.inference.chance_adversary import ChanceAdversary
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
    fold_codes,
    standard_error,
)
from modicum.attacks.result import Estimate
from modicum.errors import ParameterError, check_number
from modicum.measures.intervals import mean_interval
from modicum.measures.scores import confusion, matthews, matthews_interval
from modicum.progress import run_all
from modicum.table.estimator_input import as_names
from modicum.table.frames import as_frame, column
from modicum.table.schema import Schema
from modicum.table.targets import BINS
from modicum.typing import Codes

NU_SVC, PORTFOLIO = ADVERSARIES = ("nu-SVC", "portfolio")
SEARCH_ROWS = 2_000  # distinct rows on which settings are tried

Answers = dict[str, dict[str, SensitiveAnswer]]  # adversary → aim → answer


class SensitiveInference:
    """Predict a sensitive attribute from other attributes, as who runs a classifier could (papers/3 §5.2).

    The adversary has full records from the same source as the people it attacks. Records are split into `folds` parts
    (every value in each, a person's records in one), and the value of each record is guessed after learning from the
    other parts. Two adversaries try:

    - "nu-SVC", the paper's, with nested cross-validation: kernel (linear or RBF), ν and whether values are weighted
      alike are chosen in inner folds of the records to learn from. Categories are one-hot, numbers their standardized
      rank, not binned. Records with the same predictors and the same value are one row with a weight. Where these rows
      are too many, records of each value are drawn at random until `max_rows` distinct ones are there (2,000 for the
      inner folds), as many of each value as possible, weighted so that the values keep their shares. Of more than
      twelve values the most frequent twelve are told apart;
    - "portfolio": the strongest of a network, counts with back-off, boosted trees and their average, on everything.

    Each aims at two figures, separately. For *accuracy* it says the most likely value. For *Matthews' correlation* it
    chooses, on records it learns from, the setting and the cut with the highest correlation: where 98% of the people
    have one value, who wants to be right always says that one, and learns nothing of anybody. An adversary that does no
    better than the most frequent value says it.

    The result's own figures take, for each part, the portfolio, unless the ν-SVC expects more by over a standard error
    (it is the best of 32 settings, which flatters it). Only records that the part is not among have a say in this, so
    that the figures are honest ones. Intervals say how far they would differ on other people's records, with the same
    guesses for the same predictors. From fewer than ten records (or persons) the portfolio does not learn.

    Parameters
    ----------
    sensitive : str
        The column to guess. A number or date with more than 20 values is guessed in bins.
    critical_values : value or list, optional
        Guess only whether the value is one of these; None in a list, or "(missing)", is a missing value. Of several,
        each by itself and all together are told from the rest (multiple and single encoding of papers/3 §3.1): the
        result is that of the highest correlation expected from records learned from, and holds the others.
    folds, inner_folds : int
        Fewer are made where a value has too few records.
    max_rows : int
        On how many distinct rows a ν-SVC is trained.
    bins : int
        Of a sensitive number, of equal frequency.
    schema : Schema, optional
        What the columns mean, and who is one person; inferred where there is none.
    n_jobs : int or None
        How many folds are worked on at once: None for one, -1 for as many as there are cores.
    random_state : int
    progress : bool
        Whether long work shows a bar on a terminal.

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame({"cure": random.integers(0, 3, 600), "town": random.integers(0, 4, 600)})
    >>> X["ill"] = np.where(random.random(600) < 0.8, X["cure"] == 2, random.random(600) < 0.3)
    >>> attack = md.attacks.SensitiveInference("ill", folds=3)
    >>> told, little = attack.run(X, predictors=["cure", "town"]), attack.run(X, predictors=["town"])
    >>> told.accuracy.interval[0] > told.class_frequency, told.mcc.value > 0.6
    (True, True)
    >>> abs(little.mcc.value) < 0.2
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
        X : frame with the predictors and the sensitive column; others are not looked at
        predictors : the columns that the adversary sees; none leaves the naive guess
        values : array-like, optional
            The sensitive value of each record, where no one column holds it (one-hot columns); never put into bins.
        persons : array-like, optional
            Whose each record is, where the schema does not say.
        """
        start = time.perf_counter()
        names = self._check(X, predictors, values)
        attacked = Attacked.of(
            X, self.sensitive, names, self.schema, self.bins, values, persons, critical=self.critical_values
        )
        told = [self._attack(each, names) for each in attacked]
        strongest = max(told, key=lambda one: one.expected[MCC])
        others = tuple(told) if len(told) > 1 else ()
        return replace(strongest, by_contrast=others, seconds=time.perf_counter() - start)

    def _attack(self, attacked: Attacked, names: Sequence[str]) -> SensitiveInferenceResult:
        """Guess the values of all records."""
        start = time.perf_counter()
        parts = fold_codes(attacked.values, attacked.units, self.folds, np.random.default_rng([self.random_state, 0]))
        distinct, answers = self._answers(attacked, parts)
        chosen = {aim: tuple(_choose_adversary(each, aim) for each in answers) for aim in AIMS}
        best = [{aim: each[chosen[aim][i]][aim] for aim in AIMS} for i, each in enumerate(answers)]
        judged = self._judge_answers(attacked, parts, best)
        return SensitiveInferenceResult(
            sensitive=self.sensitive,
            predictors=tuple(names),
            critical=attacked.critical,
            accuracy=judged.accuracy,
            mcc=judged.mcc,
            expected=judged.expected,
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
        """How many distinct rows there are, and for each part what each adversary guesses of it."""
        distinct, cells = attacked.inputs.distinct()
        rows = [(np.flatnonzero(parts != part), np.flatnonzero(parts == part)) for part in range(int(parts.max()) + 1)]
        if len(distinct) < 2:
            return len(distinct), [_naive(attacked, *each) for each in rows]
        points = KernelPoints(attacked.inputs)
        nu = NuAdversary(
            attacked, cells, distinct, points, self.inner_folds, self.max_rows, min(SEARCH_ROWS, self.max_rows)
        )
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
        """One adversary's figures over all parts."""
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
            raise ParameterError(f"The predictors must be a list of columns' names. Got {predictors!r} instead.")
        if self.sensitive in names:
            raise ParameterError(f"The sensitive column {self.sensitive!r} is one of the predictors, and tells itself.")
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
    """The portfolio, unless the ν-SVC expects more by over a standard error."""
    nu, portfolio = answers[NU_SVC][aim], answers[PORTFOLIO][aim]
    return NU_SVC if nu.expected - portfolio.expected > standard_error(aim, nu) else PORTFOLIO


def _naive(attacked: Attacked, train: Codes, test: Codes) -> Answers:
    """What both adversaries say of records of which nothing is seen."""
    values, units = attacked.values[train], attacked.units_of(train)
    return {name: {aim: always(values, units, len(test), aim) for aim in AIMS} for name in ADVERSARIES}
