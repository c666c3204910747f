"""A6: attack people who were breached under several generalizations [Staab24 §5, §8.1, Appendix A]."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from modicum.attacks.breach import Breach, KnowledgeStep, warn_of_overlap
from modicum.attacks.reconstruction import AdversaryAnswer, check_parameters, result_of
from modicum.attacks.result import AttackResult
from modicum.errors import DataError, ParameterError
from modicum.generalization import Generalization
from modicum.learners.inputs import chunks
from modicum.learners.portfolio import MEMBERS, Guess, Portfolio, best_guess, join_guesses, set_aside
from modicum.measures.intervals import Interval
from modicum.progress import run_all
from modicum.table.estimator_input import as_names, attribute_weights, person_codes
from modicum.table.targets import BINS
from modicum.typing import Mask

_LEAST_KNOWN = 10
AVERAGED, JOINT = "breaches averaged", "joint refinement"


@dataclass(frozen=True)
class MultiBreachResult(AttackResult):
    """The success of A6, with that of A1 on every single breach, in the given order.

    Attributes
    ----------
    alone : errors of A1
    alone_intervals : their 95% intervals

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "race", "sex"]]
    >>> few, many = (md.Uniform(buckets=k).fit(X[:2_000]).generalization_ for k in (2, 3))
    >>> found = md.attacks.MultiBreach(personal=["age"]).run([few, many], known=X[:2_000], breached=X[2_000:3_000])
    >>> found.adversary, len(found.alone), found.error <= min(found.alone)
    ('A6', 2, True)
    """

    alone: tuple[float, ...] = ()
    alone_intervals: tuple[Interval, ...] = ()


class MultiBreach:
    """The adversary A6, who sees the same people under two or more generalizations.

    It tries two ways to combine them. As in the paper, it trains one adversary per breach, averages their chances and
    keeps only the values that are possible under all breaches. Or it trains one adversary on the joint refinement,
    whose buckets are the intersections. For each attribute, the strongest of these and of the single breaches'
    adversaries on a fifth of the known records attacks the breached ones.

    Parameters
    ----------
    personal, weights, bins, members, n_jobs, progress, random_state : as for `Reconstruction`

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> few, many = (md.Uniform(buckets=k).fit(X[:4_000]).generalization_ for k in (2, 3))
    >>> attack = md.attacks.MultiBreach(personal=["age", "race"])
    >>> result = attack.run([few, many], known=X[:4_000], breached=X[4_000:5_500])
    >>> result.error < min(result.alone)
    True
    """

    def __init__(
        self,
        personal: Iterable[str] | None = None,
        *,
        weights: Mapping[str, float] | None = None,
        bins: int = BINS,
        members: Sequence[str] = MEMBERS,
        n_jobs: int | None = None,
        progress: bool = True,
        random_state: int = 0,
    ) -> None:
        self.personal = as_names(personal)
        self.weights = weights
        self.bins = bins
        self.members = members
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def run(self, generalizations: Sequence[Generalization], known: Any, breached: Any) -> MultiBreachResult:
        """Learn from the known records, and attack the breached ones with all breaches together.

        Parameters
        ----------
        generalizations : two or more, of the same attributes
        known, breached : frames with full records, as for `Reconstruction`
        """
        check_parameters(self)
        views = joint_views(generalizations)
        breaches = self._breaches(views, known, breached)
        whole = breaches[-1]
        if len(whole.known) < _LEAST_KNOWN:
            raise DataError(
                f"The known data has {len(whole.known)} rows; an attack on several breaches needs at least "
                f"{_LEAST_KNOWN}."
            )
        warn_of_overlap(whole)
        start = time.perf_counter()
        weights = attribute_weights(whole.attributes, self.weights)
        chosen = self._strongest(views, whole)
        found = self._guesses(breaches)
        seconds = (time.perf_counter() - start) / len(whole.attributes)
        answers = {
            name: [AdversaryAnswer(found[chosen[name]][name], chosen[name], 0.0, seconds)] for name in whole.attributes
        }
        result = result_of("A6", whole, answers, weights)
        alone = [_measure_single_breach(whole, found[way], weights) for way in list(found)[: len(views) - 1]]
        errors, intervals = tuple(one.error for one in alone), tuple(one.interval for one in alone)
        return MultiBreachResult(**vars(result), alone=errors, alone_intervals=intervals)

    def _breaches(self, views: Sequence[Generalization], known: Any, breached: Any) -> list[Breach]:
        """Return a breach for every view; the last, joint one defines the values to guess."""
        options = (self.personal, self.bins, self.members, self.random_state)
        whole = Breach(views[-1], known, breached, *options)
        return [*(Breach(view, known, breached, *options, whole.targets) for view in views[:-1]), whole]

    def _strongest(self, views: Sequence[Generalization], whole: Breach) -> dict[str, str]:
        """Return for each attribute the way that is right most often on known records held out from training."""
        aside = set_aside(len(whole.known), person_codes(views[0].schema, whole.known), self.random_state)
        training, held_out = (whole.known[np.flatnonzero(rows).tolist()] for rows in (~aside, aside))
        trial = self._breaches(views, training, held_out)
        found = self._guesses(trial)
        hits = {
            way: {name: float(np.mean(guess.value == trial[-1].values[name])) for name, guess in guesses.items()}
            for way, guesses in found.items()
        }
        preferred = [JOINT, AVERAGED, *(way for way in hits if way not in (JOINT, AVERAGED))]
        return {name: max(preferred, key=lambda way: hits[way][name]) for name in whole.attributes}

    def _guesses(self, breaches: Sequence[Breach]) -> dict[str, dict[str, Guess]]:
        """Return the guesses of each way about the breached records: each breach alone, averaged, and joint."""
        step = KnowledgeStep(tuple(breaches[0].attributes))
        pieces = [partial(breach.learn_portfolio, step) for breach in breaches]
        portfolios = run_all(pieces, "Learning from several breaches", n_jobs=self.n_jobs, progress=self.progress)
        guesses = [b.guess_values(step, portfolio) for b, portfolio in zip(breaches, portfolios, strict=True)]
        found = {f"breach {i + 1}": guess for i, guess in enumerate(guesses[:-1])}
        return found | {AVERAGED: _average_guesses(breaches, portfolios), JOINT: guesses[-1]}


def joint_views(generalizations: Any) -> list[Generalization]:
    """Return the generalizations, followed by their intersection."""
    given = list(generalizations) if isinstance(generalizations, Iterable) else []
    if len(given) < 2 or not all(isinstance(g, Generalization) for g in given):
        raise ParameterError("Several breaches need at least two generalizations of the same people.")
    return [*given, reduce(Generalization.intersect, given)]


def _measure_single_breach(whole: Breach, guesses: Mapping[str, Guess], weights: dict[str, float]) -> AttackResult:
    """Return the success of a single breach's adversary."""
    answers = {name: [AdversaryAnswer(guess, "A1", 0.0, 0.0)] for name, guess in guesses.items()}
    return result_of("A1", whole, answers, weights)


def _average_guesses(breaches: Sequence[Breach], portfolios: Sequence[Portfolio]) -> dict[str, Guess]:
    """Guess every breached record from the mean of the breaches' chances, among values possible under all of them."""
    joint, single = breaches[-1], breaches[:-1]
    _, cells = joint.inputs((), 1).distinct()
    first = np.unique(cells, return_index=True)[1]
    inputs = [breach.inputs((), 1)[first] for breach in single]
    names = joint.attributes
    parts: dict[str, list[Guess]] = {name: [] for name in names}
    for rows in chunks(len(first), sum(joint.targets[name].size for name in names)):
        scores = [p.predict(seen[rows]) for p, seen in zip(portfolios, inputs, strict=False)]
        for i, name in enumerate(names):
            mean: Any = np.mean([score[i] for score in scores], axis=0, dtype=np.float32)
            parts[name].append(best_guess(mean, partial(_possible, single, name), first[rows]))
    guesses = {name: join_guesses(each) for name, each in parts.items()}
    return {name: Guess(guess.value[cells], guess.chance[cells]) for name, guess in guesses.items()}


def _possible(breaches: Sequence[Breach], name: str, rows: Any) -> Mask:
    """Mark the values that are possible under all breaches."""
    return np.logical_and.reduce([breach.possible(name, 1, rows) for breach in breaches])
