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
from modicum.typing import Mask


class Reconstruction:
    """The reconstruction adversaries A1, A3, A4 and A5; A2 is a question to their result.

    An adversary knows the artifact and full records of other people (`known`), and sees the buckets of the breached
    ones. It guesses every personal attribute, and the error is the share of wrong guesses, mean over the attributes:

        PR_A1(g) = min_h E[ (1/|P|) Σ_p 1{h(g(x))_p ≠ x_p} ]        [Staab24 §5]

    With side knowledge h also sees the full values of other attributes of the same person: A3 the non-personal ones,
    A4 all but the guessed one, A5 the non-personal ones and those before the guessed one in an order, averaged over
    the places in the order and over several orders.

    The minimum over h is approached by a portfolio: the paper's network, counts per cell with back-off, boosted trees
    and their average. Each may only guess what the artifact leaves possible (Appendix A); the strongest for each
    question is chosen on known records, never on the breached ones. Who sees the raw record reads the value off: `raw`
    is 0.

    Parameters
    ----------
    knowledge : "nothing" (A1), "non_personal" (A3), "all_but_one" (A4) or "prefix" (A5)
        What it knows of the breached people besides their buckets.
    personal : attributes to guess; the schema's personal attributes by default.
    weights : attribute → how much it counts in the mean; an attribute that is not named counts 1.
    orders : int
        For "prefix": in how many orders the attributes become known. They come in pairs, a random one and its reverse.
    bins : int
        A personal number counts as guessed when its bin is right, of so many bins of equal frequency among `known`.
    members : the models of the portfolio
        `MLP-2`, `MLP-3` and `MLP-5` of Appendix G can be added (PyTorch).
    n_jobs : int or None
        How many questions are worked on at once: None for one, -1 for as many as there are cores.
    progress : bool
        Whether long work shows a bar on a terminal.
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
        """Learn from the known records, attack the breached ones.

        Parameters
        ----------
        g : Generalization, or another artifact with `codes` and `possible`
        known, breached : frames with full records; the breached ones are seen through `g` (and the side knowledge)
            alone and used to count right guesses. Tables in an engine (both, and for "nothing" alone) are counted
            there: everything is learned and judged from how many records have each combination of buckets and value,
            and finds the same. What asks for single records then is not there: A2 (`confident`, `exposed`), the warning
            of people who are in both, and persons with several records.
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
        """The breach as it is seen: record by record, or by counts where a table is in an engine."""
        options = self.personal, self.bins, self.members, self.random_state
        if not is_table(known) and not is_table(breached):
            return Breach(g, known, breached, *options)
        if self.knowledge != "nothing":
            raise ParameterError(
                "The 'knowledge' parameter of Reconstruction must be 'nothing' for a table in an engine: whoever knows "
                "full values meets nearly every record alone. Give samples in memory for the others."
            )
        return CountedBreach(g, known, breached, *options)

    def steps(self, breach: Breach) -> list[KnowledgeStep]:
        """The questions about a breach that this adversary answers."""
        return steps_of(self.knowledge, breach.artifact.names, breach.attributes, self.orders, self.random_state)


@dataclass(frozen=True)
class AdversaryAnswer:
    """What is guessed about one attribute, by which model, how often right about known records set aside, how long."""

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
    """Every question answered once, on the cores there are, and the results of what else is to be done meanwhile.

    First come what z alone tells of all personal attributes (A1) and, where there is side knowledge, what z and the
    non-personal ones tell (A3): there the networks' L2 is tuned, which questions about a single attribute then take
    over, and whoever knows more may answer as they do (`assemble_result`).
    """
    plain, base = _first_steps(breach)
    together = list(dict.fromkeys([base, plain] if any(step != plain for step in steps) else [plain]))
    first: list[Callable[[], Any]] = [*(partial(_answers, breach, step, None) for step in together), *meanwhile]
    done = run_all(first, "Guessing", n_jobs=n_jobs, progress=progress)
    found: Answers = {}
    for answers, _ in done[: len(together)]:
        found |= answers
    l2: dict[str, float] = done[0][1]  # A3's, where it is asked
    rest = [step for step in dict.fromkeys(steps) if any((name, step.side) not in found for name in step.targets)]
    pieces = [partial(_answers, breach, step, l2) for step in rest]
    for answers, _ in run_all(pieces, "Guessing with side knowledge", n_jobs=n_jobs, progress=progress):
        found |= answers
    return found, done[len(together) :]


def _first_steps(breach: Breach) -> tuple[KnowledgeStep, KnowledgeStep]:
    """What A1 and A3 ask."""
    names, personal = breach.artifact.names, breach.attributes
    return steps_of("nothing", names, personal, 0, 0)[0], steps_of("non_personal", names, personal, 0, 0)[0]


def _answers(breach: Breach, step: KnowledgeStep, l2: Mapping[str, float] | None) -> tuple[Answers, dict[str, float]]:
    """The answers to one question, and the L2 that its networks have."""
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
    """The result of one adversary from the answers to its questions.

    Who knows more can leave aside what it knows: where A3's or A1's answer was right more often about known records set
    aside than the answer with more side knowledge, it is taken instead.
    """
    less = [step.side for step in _first_steps(breach)]
    asked = [(name, step.side) for step in steps for name in step.targets]
    by_attribute: dict[str, list[AdversaryAnswer]] = {name: [] for name in breach.attributes}
    for name, side in asked:
        own = answers[name, side]
        tried = [own, *(answers[name, other] for other in reversed(less) if set(other) < set(side))]
        best = max(tried, key=lambda answer: answer.right)
        method = best.method if best is own else f"{best.method}, with less knowledge"
        by_attribute[name].append(replace(best, method=method, seconds=own.seconds))
    return result_of(ADVERSARY[knowledge], breach, by_attribute, weights)


def result_of(
    adversary: str,
    breach: Breach,
    answers: Mapping[str, Sequence[AdversaryAnswer]],
    weights: dict[str, float],
) -> AttackResult:
    """Errors with their intervals and baselines; several answers about an attribute are averaged."""
    wrong = {name: np.mean([_wrong(breach, name, a) for a in each], axis=0) for name, each in answers.items()}
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
    alone = next(iter(results.values())) if len(results) == 1 else None  # a single attribute's is a share
    said = {name: each[-1].guess.value for name, each in answers.items()}
    error, interval = (alone.error, alone.interval) if alone else breach.compute_weighted_error(wrong, weights, said)
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


def _wrong(breach: Breach, name: str, answer: AdversaryAnswer) -> Mask:
    return np.asarray(answer.guess.value != breach.values[name])


def _guesses(breach: Breach, name: str, answers: Sequence[AdversaryAnswer]) -> Guesses:
    truth = breach.values[name]
    return Guesses(
        rows=np.tile(np.arange(len(truth)), len(answers)),
        chance=np.concatenate([answer.guess.chance for answer in answers]),
        right=np.concatenate([answer.guess.value == truth for answer in answers]),
        naive=np.tile(truth == breach.naive[name], len(answers)),
    )


def _method(methods: Sequence[str]) -> str:
    """The model, or the one that answered most of several questions."""
    return max(dict.fromkeys(methods), key=list(methods).count)


def check_parameters(attack: Any) -> None:
    """Refuse what an adversary cannot work with, before any work is done."""
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
