"""How a minimum group size changes singling out and guessing of attributes [Staab24 §9]."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from modicum.attacks.singling_out import SinglingOut, SinglingOutResult
from modicum.errors import DataError
from modicum.evaluation.study.candidates import Choice
from modicum.evaluation.study.judges import judge_generalization, screen_generalization
from modicum.generalization import Generalization
from modicum.generalization.description import count_asked_buckets
from modicum.measures.certificate import Certificate, certify
from modicum.table.frames import as_frame
from modicum.table.plain_data import PlainResult


@dataclass(frozen=True)
class Effect(PlainResult):
    """Two generalizations of the same attributes, compared.

    Attributes
    ----------
    singling_out_before, singling_out_after : results of the adversary A8 on the test records
    certificate_before, certificate_after : upper bounds on how well any adversary guesses
    buckets_before, buckets_after : number of buckets asked
    smallest_before, smallest_after : number of known records (persons) in the smallest group with equal buckets

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=8).fit(X[:3_000], y[:3_000]).generalization_
    >>> coarser = g.coarsen(X[:3_000], y[:3_000], min_group=20)
    >>> found = md.evaluation.effect(g, coarser, X[:3_000], X[3_000:4_000], ["sex"])
    >>> found.smallest_after >= 20, found.singling_out_after.unique <= found.singling_out_before.unique
    (True, True)
    """

    singling_out_before: SinglingOutResult
    singling_out_after: SinglingOutResult
    certificate_before: Certificate
    certificate_after: Certificate
    buckets_before: int
    buckets_after: int
    smallest_before: int
    smallest_after: int

    def _parts(self) -> dict[str, object]:
        return {
            "singling_out": {"before": self.singling_out_before, "after": self.singling_out_after},
            "certificate": {"before": self.certificate_before, "after": self.certificate_after},
            "buckets": {"before": self.buckets_before, "after": self.buckets_after},
            "smallest_group": {"before": self.smallest_before, "after": self.smallest_after},
        }


def effect(
    before: Generalization,
    after: Generalization,
    X_known: Any,
    X_test: Any,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    confidence: float = 0.99,
    population: int | None = None,
) -> Effect:
    """Compare a generalization with a coarser one made by `coarsen`.

    Parameters
    ----------
    before, after : Generalization
    X_known : frame
        Full records that made `after`; used to count the smallest group.
    X_test : frame
        Full records that made neither; used for the attack and the certificate.
    personal, weights, confidence : as for `certify`
    population : as for `attacks.SinglingOut`

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.coarsening_effect import effect
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=10).fit(X[:9_000], y[:9_000]).generalization_
    >>> found = effect(g, g.coarsen(X[:9_000], y[:9_000], min_group=10), X[:9_000], X[9_000:12_000], ["race", "sex"])
    >>> found.smallest_before < 10 <= found.smallest_after, found.buckets_after < found.buckets_before
    (True, True)
    """
    known, test = as_frame(X_known, before.names), as_frame(X_test, before.names)
    personal = None if personal is None else list(personal)
    attack = SinglingOut(population)
    certificates = [certify(g, test, personal, confidence, weights=weights, known=known) for g in (before, after)]
    return Effect(
        singling_out_before=attack.run(before, test),
        singling_out_after=attack.run(after, test),
        certificate_before=certificates[0],
        certificate_after=certificates[1],
        buckets_before=count_asked_buckets(before),
        buckets_after=count_asked_buckets(after),
        smallest_before=SinglingOut().run(before, known).least,
        smallest_after=SinglingOut().run(after, known).least,
    )


def coarsened_choice(choice: Choice, min_group: int) -> Choice:
    """Coarsen a study's choice on the training part, judge it like the others and add it to the study's candidates.

    The result's `coarsening` compares both on the test part.

    Parameters
    ----------
    choice : result of `study.choose`
    min_group : the fewest training records (persons) that may share their buckets

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.coarsening_effect import coarsened_choice
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> grids = {"PrivacyTree": {"privacy": [0.1], "max_leaves": [8]}}
    >>> X, y = X[:3_000], y[:3_000]
    >>> found = md.study(X, y, personal=["race", "sex"], minimizers="PrivacyTree", grids=grids, seeds=1)
    >>> choice = coarsened_choice(found.choose(knee=True), min_group=20)
    >>> choice.candidate.parameters["min_group"], len(choice.study.candidates) - len(found.candidates)
    (20, 1)
    >>> choice.coarsening.smallest_after >= 20
    True
    """
    study, old, settings = choice.study, choice.candidate, choice.study.settings
    if study.data is None:
        raise DataError("The study does not hold its records, so its choice cannot be coarsened.")
    data, before, confidence = study.data.split_by_seed(old.seed), old.generalization, settings["confidence"]
    whole, parts = data.whole, data.parts
    train, validation, test = (whole.frame[rows] for rows in (parts.train, parts.validation, parts.test))
    label = whole.label[parts.train]
    g = before.coarsen(train.to_native(), label, min_group=min_group, label_bins=settings["label_bins"])
    verdict = judge_generalization(g, data, confidence)
    certificate = certify(
        g,
        validation,
        list(study.weights),
        confidence,
        weights=study.weights,
        known=train,
        candidates=len(study.candidates) + 1,
    )
    new = replace(
        old,
        parameters={**old.parameters, "min_group": min_group},
        screened=screen_generalization(g, data),
        judged=verdict,
        certified_error=1 - certificate.mean,
        artifact=g.to_dict(),
    )
    why = f"{choice.why}, then coarsened until every group has at least {min_group:,} training records"
    extended = replace(study, candidates=[*study.candidates, new])
    comparison = effect(before, g, train, test, weights=whole.given_weights, confidence=confidence)
    return Choice(extended, new, why, extended.skill(new), verdict.certificate, comparison)
