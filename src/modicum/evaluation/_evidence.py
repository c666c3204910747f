"""`evidence` takes any result and measures its cost and its remaining risks."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from modicum.errors import ParameterError, check_choice_is, format_names
from modicum.generalization import CellPartition, Generalization
from modicum.releases import AnatomyRelease, Release

if TYPE_CHECKING:
    from modicum.anatomy import Anatomy
    from modicum.anonymizers.base import Anonymizer
    from modicum.evaluation import (
        AnatomyEvidence,
        Choice,
        Evidence,
        PrismEvidence,
        ReleaseEvidence,
        Study,
        StudyEvidence,
    )
    from modicum.prism import PrismClassifier

Depth = Literal["quick", "full"]
NO_MODEL = "No model was trained, because the evidence is quick (depth='quick')."


@overload
def evidence(
    what: Generalization, X: Any, y: Any, X_test: Any, y_test: Any, *, depth: Depth = ..., **options: Any
) -> "Evidence": ...
@overload
def evidence(what: "Study | Choice", *, depth: Depth = ..., **options: Any) -> "StudyEvidence": ...
@overload
def evidence(
    what: "Anonymizer | Release",
    X: Any,
    y: Any = ...,
    X_test: Any = ...,
    y_test: Any = ...,
    *,
    depth: Depth = ...,
    **options: Any,
) -> "ReleaseEvidence": ...
@overload
def evidence(
    what: "Anatomy | AnatomyRelease",
    X: Any,
    y: Any = ...,
    X_test: Any = ...,
    y_test: Any = ...,
    *,
    depth: Depth = ...,
    **options: Any,
) -> "AnatomyEvidence": ...
@overload
def evidence(
    what: "PrismClassifier", X: Any, y: Any, X_test: Any, y_test: Any, *, depth: Depth = ..., **options: Any
) -> "PrismEvidence": ...


def evidence(
    what: Any,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    depth: Depth = "full",
    **options: Any,
) -> Any:
    """Measure what a result costs, what it leaks and why, on records that were not used to make it.

    Return a small typed object. `md.report` turns it into a document, `to_dict` into plain data.

    Parameters
    ----------
    what : a result
        - `Generalization` → `Evidence`: utility, adversaries, certificates, why each attribute is needed.
        - fitted anonymizer or `Release` → `ReleaseEvidence`: the promise counted again, what a model loses, who stands
          out, what can be inferred.
        - fitted `Anatomy` or `AnatomyRelease` → `AnatomyEvidence`: the same for two tables, and who can be matched.
        - `PrismClassifier` → `PrismEvidence`: why each attribute is asked or left out, and the cost.
        - `Study`, or the result of its `choose` → `StudyEvidence`: the comparison, and the evidence about the chosen
          generalization. A study holds its records, so leave out X and y.
    X, y : full records and labels
        The training records of a generalization or of PriSM; the original records of a release.
    X_test, y_test : full records and labels of other people, for testing
        Optional for a release: by default 30% of X test a second release of the other 70%, made with the same settings.
    depth : "full" or "quick"
        "quick" leaves out slow measurements. A generalization gets utility, the adversary A1 and its certificate. For a
        release no model is trained, for PriSM no adversary guesses, and for a study nothing is measured again.
    **options
        Keyword options of each kind. Generalization: `personal`, `weights`, `by`, `estimator`, `label_bins`,
        `confidence`, `population`, `alternatives`, `model`, `sample`, `n_jobs`, `progress`, `random_state`. Release:
        `sensitive`, `estimator`, `by`, `label_bins`, `population`, `schema`, `random_state`. Anatomy: `estimator`,
        `by`, `population`, `without_value`, `random_state`, `progress`. PriSM: `confidence`, `n_jobs`,
        `random_state`, `progress`. Study: `by`, `population`, `n_jobs`, `progress`.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> train, test = (X[:9_000], y[:9_000]), (X[9_000:12_000], y[9_000:12_000])
    >>> g = md.PrivacyTree(max_leaves=4).fit(*train).generalization_
    >>> found = md.evidence(g, *train, *test, personal=["race", "sex"], depth="quick")
    >>> found.attack.error > 0.15, found.certificate.confidence
    (True, 0.99)
    >>> few = X[["age", "sex", "race", "education"]][:2_000]
    >>> anonymizer = md.Mondrian(k=20, quasi_identifiers=["age", "sex", "race"]).fit(few)
    >>> md.evidence(anonymizer, few, depth="quick").measured.k >= 20
    True
    """
    check_choice_is(depth, "depth", "evidence", ("quick", "full"))
    kind = _find_kind(what)
    given = {"X": X, "y": y, "X_test": X_test, "y_test": y_test}
    if kind.has_records and any(part is not None for part in given.values()):
        raise ParameterError(f"Evidence about {kind.name} uses the study's own records. Leave out X and y.")
    parameters = inspect.signature(kind.gather).parameters.values()
    needs = [each.name for each in parameters if each.default is each.empty][1:]
    known = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.name != "depth"]
    for name in options:
        if name not in known:
            raise ParameterError(
                f"Evidence about {kind.name} has no option {name!r}; it has {format_names(known, limit=len(known))}."
            )
    if depth == "quick":
        unused = [name for name in kind.only_full if options.get(name, given.get(name)) is not None]
        if unused:
            raise ParameterError(f"The {unused[0]!r} parameter needs depth='full'.")
    if kind.has_records:
        return kind.gather(what, depth=depth, **options)
    if any(part is None for part in list(given.values())[: len(needs)]):
        call = ", ".join(["what", *list(given)[: len(needs)]])
        raise ParameterError(f"Evidence about {kind.name} needs full records: md.evidence({call}).")
    return kind.gather(what, X, y, X_test, y_test, depth=depth, **options)


class EvidenceKind(NamedTuple):
    """The kind of result in words, the function that gathers the evidence, and options that need depth="full"."""

    name: str
    gather: Callable[..., Any]
    only_full: tuple[str, ...]
    has_records: bool = False


def _find_kind(what: Any) -> EvidenceKind:
    """Find the kind of a result, importing only the modules that it needs."""
    if isinstance(what, Generalization):
        from modicum.evaluation.evidence.generalization_evidence import generalization_evidence

        return EvidenceKind("a generalization", generalization_evidence, ("population", "model"))
    from modicum.evaluation.study.candidates import Choice
    from modicum.evaluation.study.study_result import Study

    if isinstance(what, Study | Choice):
        from modicum.evaluation.evidence.study_evidence import study_evidence

        return EvidenceKind("a study", study_evidence, ("by", "population"), has_records=True)
    from modicum.anonymizers.base import Anonymizer

    if isinstance(what, Anonymizer | Release):
        from modicum.evaluation.evidence.release_evidence import release_evidence

        of_model = ("X_test", "y_test", "by", "estimator", "label_bins")
        return EvidenceKind("a release", release_evidence, of_model)
    from modicum.anatomy import Anatomy

    if isinstance(what, Anatomy | AnatomyRelease):
        from modicum.evaluation.evidence.anatomy_evidence import anatomy_evidence

        return EvidenceKind("an anatomized release", anatomy_evidence, ("by", "estimator"))
    from modicum.prism import PrismClassifier

    if isinstance(what, PrismClassifier):
        from modicum.evaluation.evidence.prism_evidence import prism_evidence

        return EvidenceKind("a PriSM classifier", prism_evidence, ())
    raise ParameterError(
        "The 'what' parameter must be a Generalization, a fitted anonymizer or Anatomy, a release, a PrismClassifier, "
        f"a study or its choice. Got {type(what).__name__}{_hint(what)}."
    )


def _hint(what: Any) -> str:
    if hasattr(what, "generalization_"):
        return "; pass its generalization_"
    if callable(getattr(what, "evidence", None)):
        return "; call its evidence()"
    return "; use `certify` and `attacks` for cells" if isinstance(what, CellPartition) else ""
