"""Evidence about a study's choice: the comparison, and new measurements of the chosen generalization."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from modicum.evaluation._alternatives import alternatives_of
from modicum.evaluation._evidence import Depth
from modicum.evaluation.evidence.generalization_evidence import Evidence, generalization_evidence
from modicum.evaluation.study.candidates import Choice
from modicum.evaluation.study.study_result import Study
from modicum.table.plain_data import LEFT_OUT, PlainResult


@dataclass(frozen=True)
class StudyEvidence(PlainResult):
    """A study, its choice, and the evidence about the chosen generalization.

    Attributes
    ----------
    study : all candidates
    choice : the chosen candidate; None if no candidate was judged
    evidence : about the chosen generalization, on test records not used to choose; its alternatives are the front
    why_no_evidence : why there is no evidence; None if there is

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> grids = {"PrivacyTree": {"privacy": [0.5], "max_leaves": [4, 8]}}
    >>> study = md.study(X[:1_500], y[:1_500], personal=["sex"], minimizers="PrivacyTree", grids=grids)
    >>> found = md.evidence(study.choose(knee=True), depth="quick")
    >>> found.evidence is None, found.choice.candidate in study.pareto()
    (True, True)
    """

    study: Study = field(metadata=LEFT_OUT)
    choice: Choice | None
    evidence: Evidence | None
    why_no_evidence: str | None

    def _parts(self) -> dict[str, object]:
        return super()._parts() | {"candidates": self.study.candidates}


def study_evidence(
    chosen: Study | Choice,
    *,
    depth: Depth = "full",
    by: Any = None,
    population: int | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> StudyEvidence:
    """Gather the evidence about a study's choice.

    Parameters
    ----------
    chosen : result of `study.choose`; a `Study` means the knee of its front
    depth : "quick" or "full"
        With "quick" nothing is measured again, and the report contains only the comparison.
    by, population, n_jobs, progress : as for evidence about a generalization

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> grids = {"PrivacyTree": {"privacy": [0.5], "max_leaves": [4, 8]}}
    >>> study = md.study(X[:1_500], y[:1_500], personal=["sex"], minimizers="PrivacyTree", grids=grids)
    >>> found = md.evidence(study.choose(max_error=0.25), progress=False)
    >>> found.evidence.alternatives.source, found.evidence.certificate.confidence
    ('study', 0.99)
    """
    study = chosen.study if isinstance(chosen, Choice) else chosen
    choice = chosen if isinstance(chosen, Choice) else study.choose(knee=True) if study.pareto() else None
    why = _explain_no_evidence(study, choice, depth)
    if why is not None or choice is None or study.data is None:
        return StudyEvidence(study, choice, None, why)
    whole, parts = study.data, study.data.split_by_seed(study.seed).parts
    train, test = (
        (whole.frame[rows].to_native(), pd.Series(whole.label[rows], name=whole.name))
        for rows in (parts.train, parts.test)
    )
    found = generalization_evidence(
        choice.generalization,
        *train,
        *test,
        weights=whole.given_weights,
        by=by,
        label_bins=whole.label_bins,
        confidence=study.settings["confidence"],
        population=population,
        alternatives=alternatives_of(choice),
        n_jobs=n_jobs,
        progress=progress,
        random_state=study.seed,
    )
    return StudyEvidence(study, choice, found, None)


def _explain_no_evidence(study: Study, choice: Choice | None, depth: Depth) -> str | None:
    """Explain why the chosen candidate is not measured again; None if it is."""
    if depth == "quick":
        return "No evidence about the chosen candidate was requested."
    if choice is None:
        return "No candidate was judged, so there is no evidence."
    if study.data is None:
        return "The study does not hold its records, so no evidence about the chosen candidate could be gathered."
    return None
