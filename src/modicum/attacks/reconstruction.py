"""A1 and A3–A5: guess the personal attributes of breached records [Staab24 §5, Appendices A and F]."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from modicum.attacks.breach import (
    ADVERSARY,
    KNOWLEDGE,
    Breach,
    CountedBreach,
    Knowledge,
    KnowledgeStep,
    steps_of,
    warn_of_overlap,
)
from modicum.attacks.result import AttackResult, AttributeResult, Guesses
from modicum.engines import is_table
from modicum.errors import ParameterError, format_names
from modicum.generalization import Artifact
from modicum.learners.portfolio import MEMBERS, NEURAL, Guess
from modicum.progress import run_all
from modicum.table.estimator_input import as_names, attribute_weights
from modicum.table.targets import BINS


class Reconstruction:
    """The reconstruction adversaries A1, A3, A4 and A5; A2 is computed from their result.

    An adversary knows the artifact and full records of other people (`known`), and sees the buckets of the breached
    ones. It guesses every personal attribute. The error is the share of wrong guesses, averaged over the attributes:

        PR_A1(g) = min_h E[ (1/|P|) Σ_p 1{h(g(x))_p ≠ x_p} ]        [Staab24 §5]

    With side knowledge, h also sees the full values of other attributes of the same person: A3 the non-personal ones,
    A4 all except the guessed one, A5 the non-personal ones and those before the guessed one in an order, averaged over
    the positions in the order and over several orders.

    A portfolio approximates the minimum over h: the paper's network, counts per cell with back-off, boosted trees and
    their average. Each guesses only values that the artifact leaves possible (Appendix A). The strongest for each
    question is chosen on known records, never on the breached ones. On raw records the value is visible, so `raw` is 0.

    Parameters
    ----------
    knowledge : "nothing" (A1), "non_personal" (A3), "all_but_one" (A4) or "prefix" (A5)
        The adversary's knowledge about the breached people besides their buckets.
    personal : attributes to guess; by default the schema's personal attributes.
    weights : attribute → its weight in the mean; by default 1.
    orders : int
        For "prefix": the number of orders in which attributes become known. They come in pairs, a random one and its
        reverse.
    bins : int
        The number of bins of equal frequency among `known`; a guess of a personal number is right if its bin is right.
    members : the models of the portfolio
        `MLP-2`, `MLP-3` and `MLP-5` of Appendix G can be added (PyTorch).
    n_jobs : int or None
        How many questions run at once: None for one, -1 for one per core.
    progress : bool
        Show a bar on a terminal.
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:4_000], y[:4_000]).generalization_
    >>> attack = md.attacks.Reconstruction(personal=["race", "sex"])
    >>> result = attack.run(g, known=X[:4_000], breached=X[4_000:5_500])
    >>> result.raw <= result.error <= result.naive + 0.02
    True
    >>> knows_more = md.attacks.Reconstruction("all_but_one", personal=["race", "sex"])
    >>> knows_more.run(g, known=X[:4_000], breached=X[4_000:5_500]).error < result.error
    True
    """

    def __init__(
        self,
        knowledge: Knowledge = "nothing",
        personal: Iterable[str] | None = None,
        *,
        weights: Mapping[str, float] | None = None,
        orders: int = 2,
        bins: int = BINS,
        members: Sequence[str] = MEMBERS,
        n_jobs: int | None = None,
        progress: bool = True,
        random_state: int = 0,
    ) -> None:
        self.knowledge = knowledge
        self.personal = as_names(personal)
        self.weights = weights
        self.orders = orders
        self.bins = bins
        self.members = members
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def run(self, g: Artifact, known: Any, breached: Any) -> AttackResult:
        """Learn from the known records, and attack the breached ones.

        Parameters
        ----------
        g : Generalization, or another artifact with `codes` and `possible`
        known, breached : frames with full records. The adversary sees the breached ones only through `g` (and the side
            knowledge); their values serve to count right guesses. With knowledge "nothing", both may be tables in an
            engine, which counts the records of each combination of buckets and value; the result is the same. Results
            for single records are then missing: A2 (`confident`, `exposed`), the warning about people in both tables,
            and persons with several records.
        """
        check_parameters(self)
        breach = self._breach(g, known, breached)
        weights = attribute_weights(breach.attributes, self.weights)
        if not breach.counted:
            warn_of_overlap(breach)
        steps = self.steps(breach)
        answers, _ = answer_questions(breach, steps, 1 if breach.counted else self.n_jobs, self.progress)
        return assemble_result(breach, self.knowledge, steps, answers, weights)

    def _breach(self, g: Artifact, known: Any, breached: Any) -> Breach:
        """Read the breach, record by record or as counts from an engine."""
        options = self.personal, self.bins, self.members, self.random_state
        if not is_table(known) and not is_table(breached):
            return Breach(g, known, breached, *options)
        if self.knowledge != "nothing":
            raise ParameterError(
                "The 'knowledge' parameter of Reconstruction must be 'nothing' for a table in an engine: with full "
                "values nearly every record is unique. Give samples in memory for the other adversaries."
            )
        return CountedBreach(g, known, breached, *options)

    def steps(self, breach: Breach) -> list[KnowledgeStep]:
        """Return the questions about a breach that this adversary answers."""
        return steps_of(self.knowledge, breach.artifact.names, breach.attributes, self.orders, self.random_state)


@dataclass(frozen=True)
class AdversaryAnswer:
    """The guesses about one attribute, the model, its hit rate on held-out known records, and the time."""

    guess: Guess
    method: str
    right: float
    seconds: float


Answers = dict[tuple[str, tuple[str, ...]], AdversaryAnswer]  # attribute and side knowledge → answer


def answer_questions(
    breach: Breach,
    steps: Sequence[KnowledgeStep],
    n_jobs: int | None,
    progress: bool,
    meanwhile: Sequence[Callable[[], Any]] = (),
) -> tuple[Answers, list[Any]]:
    """Answer every question once, in parallel; return the answers and the results of the calls in `meanwhile`.

    A1's question comes first, about all personal attributes from z alone, together with A3's if any adversary has side
    knowledge. These tune the networks' L2, which the questions about single attributes reuse. Adversaries that know
    more may fall back on their answers (`assemble_result`).
    """
    plain, base = _first_steps(breach)
    together = list(dict.fromkeys([base, plain] if any(step != plain for step in steps) else [plain]))
    first: list[Callable[[], Any]] = [*(partial(_answers, breach, step, None) for step in together), *meanwhile]
    done = run_all(first, "Guessing", n_jobs=n_jobs, progress=progress)
    found: Answers = {}
    for answers, _ in done[: len(together)]:
        found |= answers
    l2: dict[str, float] = done[0][1]  # A3's if it ran, otherwise A1's
    rest = [step for step in dict.fromkeys(steps) if any((name, step.side) not in found for name in step.targets)]
    pieces = [partial(_answers, breach, step, l2) for step in rest]
    for answers, _ in run_all(pieces, "Guessing with side knowledge", n_jobs=n_jobs, progress=progress):
        found |= answers
    return found, done[len(together) :]


def _first_steps(breach: Breach) -> tuple[KnowledgeStep, KnowledgeStep]:
    """Return the questions of A1 and A3."""
    names, personal = breach.artifact.names, breach.attributes
    return steps_of("nothing", names, personal, 0, 0)[0], steps_of("non_personal", names, personal, 0, 0)[0]


def _answers(breach: Breach, step: KnowledgeStep, l2: Mapping[str, float] | None) -> tuple[Answers, dict[str, float]]:
    """Answer one question; return the answers and the L2 of the networks."""
    start = time.perf_counter()
    portfolio = breach.learn_portfolio(step, l2)
    guesses = breach.guess_values(step, portfolio)
    seconds = (time.perf_counter() - start) / len(step.targets)
    answers = {
        (name, step.side): AdversaryAnswer(guesses[name], method, right, seconds)
        for name, method, right in zip(step.targets, portfolio.chosen_, portfolio.right_, strict=True)
    }
    return answers, portfolio.l2_


def assemble_result(
    breach: Breach, knowledge: Knowledge, steps: Sequence[KnowledgeStep], answers: Answers, weights: dict[str, float]
) -> AttackResult:
    """Combine the answers to the questions of one adversary into its result.

    An adversary may ignore side knowledge: if A3's or A1's answer was right more often on held-out known records, it
    replaces the answer with more knowledge.
    """
    less = [step.side for step in _first_steps(breach)]
    by_attribute: dict[str, list[AdversaryAnswer]] = {name: [] for name in breach.attributes}
    for step in steps:
        for name in step.targets:
            own = answers[name, step.side]
            weaker = [answers[name, other] for other in reversed(less) if set(other) < set(step.side)]
            best = max([own, *weaker], key=lambda answer: answer.right)
            method = best.method if best is own else f"{best.method}, with less knowledge"
            by_attribute[name].append(replace(best, method=method, seconds=own.seconds))
    return result_of(ADVERSARY[knowledge], breach, by_attribute, weights)


def result_of(
    adversary: str,
    breach: Breach,
    answers: Mapping[str, Sequence[AdversaryAnswer]],
    weights: dict[str, float],
) -> AttackResult:
    """Compute errors, intervals and baselines; average several answers about an attribute."""
    wrong = {
        name: np.mean([answer.guess.value != breach.values[name] for answer in each], axis=0)
        for name, each in answers.items()
    }
    naive = {name: breach.mean(name, breach.values[name] != breach.naive[name]) for name in answers}
    results = {
        name: AttributeResult(
            error=breach.mean(name, wrong[name]),
            interval=breach.interval(name, wrong[name]),
            naive=naive[name],
            raw=0.0,
            values=breach.targets[name].size,
            method=_method([answer.method for answer in each]),
        )
        for name, each in answers.items()
    }
    if len(results) == 1:
        (only,) = results.values()
        error, interval = only.error, only.interval
    else:
        values = {name: each[-1].guess.value for name, each in answers.items()}
        error, interval = breach.compute_weighted_error(wrong, weights, values)
    return AttackResult(
        adversary=adversary,
        error=error,
        interval=interval,
        naive=float(sum(weights[name] * error for name, error in naive.items())),
        raw=0.0,
        by_attribute=results,
        weights=weights,
        records=breach.records[1],
        known=breach.records[0],
        random_state=breach.random_state,
        seconds=sum(answer.seconds for each in answers.values() for answer in each),
        guesses={} if breach.counted else {name: _guesses(breach, name, each) for name, each in answers.items()},
        persons=breach.persons,
    )


def _guesses(breach: Breach, name: str, answers: Sequence[AdversaryAnswer]) -> Guesses:
    truth = breach.values[name]
    return Guesses(
        rows=np.tile(np.arange(len(truth)), len(answers)),
        chance=np.concatenate([answer.guess.chance for answer in answers]),
        right=np.concatenate([answer.guess.value == truth for answer in answers]),
        naive=np.tile(truth == breach.naive[name], len(answers)),
    )


def _method(methods: Sequence[str]) -> str:
    """Return the model that answered most questions."""
    return max(dict.fromkeys(methods), key=list(methods).count)


def check_parameters(attack: Any) -> None:
    """Refuse invalid parameters of an adversary before any work."""
    name = type(attack).__name__

    def refuse(parameter: str, wanted: str) -> None:
        got = getattr(attack, parameter)
        raise ParameterError(f"The {parameter!r} parameter of {name} must {wanted}. Got {got!r} instead.")

    if getattr(attack, "knowledge", "nothing") not in KNOWLEDGE:
        refuse("knowledge", f"be one of {format_names(KNOWLEDGE)}")
    if not isinstance(attack.bins, int) or attack.bins < 2:
        refuse("bins", "be an int ≥ 2")
    orders = getattr(attack, "orders", 1)
    if not isinstance(orders, int) or orders < 1:
        refuse("orders", "be an int ≥ 1")
    if not isinstance(attack.random_state, int | np.integer) or attack.random_state < 0:
        refuse("random_state", "be an int ≥ 0")
    if isinstance(attack.members, str) or not isinstance(attack.members, Sequence):
        refuse("members", "be a list of names")
    if not attack.members or any(member not in (*MEMBERS, *NEURAL) for member in attack.members):
        refuse("members", f"name some of {format_names((*MEMBERS, *NEURAL), limit=9)}")
