"""Run all adversaries against one artifact, each with its baselines."""

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypedDict

from modicum.attacks.breach import ADVERSARY, KNOWLEDGE, Breach, Knowledge, OverlapWarning, warn_of_overlap
from modicum.attacks.linkability import Linkability, LinkResult, people_in
from modicum.attacks.multi_breach import MultiBreach, joint_views
from modicum.attacks.reconstruction import Reconstruction, answer_questions, assemble_result, check_parameters
from modicum.attacks.result import PERCENT, AttackResult, ConfidentResult, check_percent
from modicum.attacks.singling_out import SinglingOut, SinglingOutResult
from modicum.errors import ParameterError
from modicum.generalization import Artifact, Generalization
from modicum.learners.portfolio import MEMBERS
from modicum.measures.certificate import Certificate, certify, check_confidence
from modicum.measures.uniqueness import check_population
from modicum.provenance import EvidenceSources, frame_hash, text_hash, versions
from modicum.table.estimator_input import as_names, attribute_weights
from modicum.table.plain_data import PlainResult
from modicum.table.targets import BINS
from modicum.table.values import plain

# Provenance: hashes of records and artifacts, versions, and every setting.


def suite_provenance(
    breach: Breach, others: Sequence[Generalization], settings: Mapping[str, object]
) -> EvidenceSources:
    """Collect hashes of the records (attributes and person) and artifacts, versions and settings of a suite.

    Parameters
    ----------
    breach : the artifact, the known and the breached records
    others : further generalizations under which the same people were breached
    settings : all parameters that affect the results
    """
    artifact, person = breach.artifact, breach.artifact.schema.person
    names = [*artifact.names, *([person] if person is not None and person in breach.known.columns else [])]
    hashes = {
        "known records": frame_hash(breach.known, names),
        "breached records": frame_hash(breach.breached, [name for name in names if name in breach.breached.columns]),
        "schema": text_hash(artifact.schema.to_dict()),
    }
    if hasattr(artifact, "to_dict"):
        hashes["artifact"] = text_hash(artifact.to_dict())
    hashes |= {f"artifact {i}": text_hash(other.to_dict()) for i, other in enumerate(others, start=2)}
    return {"hashes": hashes, "versions": versions(), "settings": plain({**settings})}


# The suite

CERTIFIED: tuple[Knowledge, ...] = ("nothing", "non_personal", "all_but_one")
Halves = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True)
class SuiteResult(PlainResult):
    """The results of all adversaries.

    Attributes
    ----------
    reconstruction : "A1", "A3", "A4", "A5" and, with several generalizations, "A6" → `AttackResult`
    confident : A2, A1's error on its most confident guesses
    linkability : A7
    singling_out : A8
    certificates : "A1", "A3" and "A4" → the bound on every adversary with that knowledge
    skipped : adversary → why it does not apply
    overlap : the number of breached rows that are also among the known ones; 0 for a meaningful attack
    random_state, seconds : the seed, and the total time
    provenance : hashes, versions and settings

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "race", "sex"]]
    >>> g = md.Uniform(buckets=2).fit(X[:1_000]).generalization_
    >>> found = md.attacks.suite(g, X[:1_000], X[1_000:1_500], personal=["sex"], link=(["age"], ["sex"]))
    >>> sorted(found.reconstruction), sorted(found.certificates)
    (['A1', 'A3', 'A4', 'A5'], ['A1', 'A3', 'A4'])
    >>> found.skipped["A6"]
    'only one generalization was given'
    """

    reconstruction: dict[str, AttackResult]
    confident: list[ConfidentResult]
    linkability: LinkResult | None
    singling_out: SinglingOutResult
    certificates: dict[str, Certificate]
    skipped: dict[str, str]
    overlap: int
    random_state: int
    seconds: float
    provenance: EvidenceSources = field(default_factory=EvidenceSources, repr=False)


class AdversaryOptions(TypedDict):
    """The parameters of every adversary that guesses attributes."""

    bins: int
    members: Sequence[str]
    n_jobs: int | None
    progress: bool
    random_state: int


def suite(
    g: Artifact,
    known: Any,
    breached: Any,
    *,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    others: Sequence[Generalization] = (),
    link: Halves | None = None,
    k: int | None = None,
    population: int | None = None,
    percent: Sequence[float] = PERCENT,
    confidence: float = 0.99,
    orders: int = 2,
    bins: int = BINS,
    members: Sequence[str] = MEMBERS,
    n_jobs: int | None = None,
    progress: bool = True,
    random_state: int = 0,
) -> SuiteResult:
    """Run every adversary that applies, A1 to A8 [Staab24 §5], on the same records.

    Parameters
    ----------
    g : Generalization, or another artifact with `codes` and `possible`
    known : frame with full records, from which the adversaries learn
    breached : frame with full records of other people, who are attacked
    personal, weights, orders, bins, members, n_jobs, progress, random_state : as for `Reconstruction`
    others : further generalizations under which the same people were breached (A6)
    link : two lists of attributes to link (A7); by default the personal and the other attributes, or two halves if all
        are personal
    k : how many people are linked at once, as for `Linkability`
    population : the size of the population (A8), as for `SinglingOut`
    percent : the shares of most confident guesses on which A2 is judged
    confidence : the confidence of each certificate

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:5_000], y[:5_000]).generalization_
    >>> found = md.attacks.suite(g, X[:5_000], X[5_000:8_000], personal=["race", "sex"])
    >>> list(found.reconstruction), sorted(found.skipped)
    (['A1', 'A3', 'A4', 'A5'], ['A6'])
    >>> found.reconstruction["A4"].error < found.reconstruction["A1"].error
    True
    """
    start = time.perf_counter()
    personal = as_names(personal)
    options: AdversaryOptions = {
        "bins": bins,
        "members": members,
        "n_jobs": n_jobs,
        "progress": progress,
        "random_state": random_state,
    }
    attacks = {kind: Reconstruction(kind, personal, weights=weights, orders=orders, **options) for kind in KNOWLEDGE}
    check_parameters(attacks["nothing"])  # all have the same
    percent = check_percent(percent)
    if link is not None and (not isinstance(link, Sequence) or isinstance(link, str) or len(link) != 2):
        raise ParameterError(f"The 'link' parameter must be two lists of attributes. Got {link!r} instead.")
    if not isinstance(others, Sequence):
        raise ParameterError(f"The 'others' parameter must be a list of generalizations. Got {others!r} instead.")
    breach = Breach(g, known, breached, attacks["nothing"].personal, bins, members, random_state)
    shares = attribute_weights(breach.attributes, weights)
    singling_out = SinglingOut(population, random_state=random_state)
    linkability, why_not = _linkability(breach, link, k, random_state)
    skipped = _explain_skipped(breach, others) | why_not
    overlap = warn_of_overlap(breach)
    chosen = {kind: attack for kind, attack in attacks.items() if ADVERSARY[kind] not in skipped}
    certified = [kind for kind in CERTIFIED if kind in chosen]
    check_confidence(confidence)
    if population is not None:
        check_population(population, people_in(g, breach.breached))
    if linkability is not None:
        linkability.check(g, breach.breached)
    bound = partial(
        certify, g, breach.breached, breach.attributes, confidence, weights=weights, known=breach.known, bins=bins
    )
    meanwhile = [
        partial(singling_out.run, g, breach.breached),
        _nothing if linkability is None else partial(linkability.run, g, breach.breached),
        *(partial(bound, knowledge=kind) for kind in certified),
    ]
    steps = {kind: attack.steps(breach) for kind, attack in chosen.items()}
    questions = [step for each in steps.values() for step in each]
    answers, (singled, linked, *certificates) = answer_questions(breach, questions, n_jobs, progress, meanwhile)
    found: dict[str, AttackResult] = {
        ADVERSARY[kind]: assemble_result(breach, kind, each, answers, shares) for kind, each in steps.items()
    }
    if "A6" not in skipped and isinstance(g, Generalization):
        several = MultiBreach(breach.attributes, weights=weights, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OverlapWarning)  # already warned
            found["A6"] = several.run([g, *others], breach.known, breach.breached)
    settings = {
        "personal": breach.attributes,
        "weights": weights,
        "link": None if linkability is None else [linkability.a, linkability.b],
        "k": k,
        "population": population,
        "percent": percent,
        "confidence": confidence,
        "orders": orders,
        "bins": bins,
        "members": members,
        "random_state": random_state,
    }
    return SuiteResult(
        reconstruction=found,
        confident=found["A1"].confident(percent),
        linkability=linked,
        singling_out=singled,
        certificates={ADVERSARY[kind]: bound for kind, bound in zip(certified, certificates, strict=True)},
        skipped=skipped,
        overlap=overlap,
        random_state=random_state,
        seconds=time.perf_counter() - start,
        provenance=suite_provenance(breach, others, settings),
    )


def _nothing() -> None:
    """The result of an adversary that does not apply."""


def _explain_skipped(breach: Breach, others: Sequence[Generalization]) -> dict[str, str]:
    """Return the adversaries that do not apply, with the reasons."""
    names = breach.artifact.names
    reasons = {}
    if set(names) == set(breach.attributes):
        reasons["A3"] = "every attribute is personal, so it would be the same as A1"
    if len(names) == 1:
        reasons |= dict.fromkeys(("A4", "A5"), "there is only one attribute, so the adversary can know no other")
    if not others:
        reasons["A6"] = "only one generalization was given"
    elif isinstance(breach.artifact, Generalization):
        joint_views([breach.artifact, *others])  # refuses incompatible generalizations before any work
    else:
        reasons["A6"] = "this artifact does not generalize attribute by attribute, so breaches cannot be combined"
    return reasons


def _linkability(
    breach: Breach, link: Halves | None, k: int | None, random_state: int
) -> tuple[Linkability | None, dict[str, str]]:
    """Return A7, or the reason why it does not apply."""
    names = breach.artifact.names
    if not isinstance(breach.artifact, Generalization):
        return None, {"A7": "this artifact does not generalize attribute by attribute, so it has no halves to link"}
    if link is None and (len(names) < 2 or people_in(breach.artifact, breach.breached) < 2):
        return None, {"A7": "linking needs at least two attributes and two people"}
    a, b = _default_halves(names, breach.attributes) if link is None else link
    return Linkability(a, b, k, random_state=random_state), {}


def _default_halves(names: Sequence[str], personal: Sequence[str]) -> Halves:
    """Return the personal and the other attributes; if all are personal, every second one."""
    others = [name for name in names if name not in personal]
    return (list(personal), others) if others else (names[::2], names[1::2])
