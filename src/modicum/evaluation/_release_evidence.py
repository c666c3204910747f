"""Evidence of a k-anonymous release: what was promised, what is measured, what is lost, and what could still leak."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from modicum.anonymizers.base import Anonymizer
from modicum.attacks import MembershipResult
from modicum.errors import DataError
from modicum.evaluation._utility import Utility
from modicum.evaluation.group_guesses import GroupInference
from modicum.evaluation.release_learning import members_told
from modicum.evaluation.release_measures import Measured, PublishedAttribute, measured, published
from modicum.evaluation.release_trial import Learning, learning
from modicum.evaluation.release_work import ReleaseWork
from modicum.learners.portfolio import TREES
from modicum.measures.uniqueness import Crowd, check_population
from modicum.provenance import frame_hash, text_hash, told_by, told_settings, versions
from modicum.releases.release import Release
from modicum.table.schema import Schema
from modicum.table.values import plain


@dataclass(frozen=True)
class ReleaseEvidence:
    """What is known of a k-anonymous release.

    Attributes
    ----------
    release : what was released, with what was asked for
    measured : k, ℓ, t and groups, counted anew on the release
    attributes : for each column its role, how it was published and what it lost
    crowds : what an adversary knows → ("release" and "raw" → `Crowd`): who stands alone, who is linked
    inference : for each attribute, how well it is guessed from a person's group
    utility : a model trained on the release beside one trained on raw records; `minimized` there is the release
    membership : "release" and "raw" → what each model tells of who it was trained on
    held_out : whether utility and membership were measured on a release of 70% of the records, made alike
    skipped : what could not be measured → why
    label : what is predicted, where a label was given
    records : how many records there were before any was left out
    people : how many people these are
    tested : how many people the models were tested on; 0 without models
    persons : the column that says whose a record is
    provenance : hashes, versions and settings

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "sex", "education"]][:600]
    >>> anonymizer = md.Mondrian(k=20, quasi_identifiers=["age", "sex"]).fit(X)
    >>> found = md.evaluation.release_evidence(anonymizer, X)
    >>> found.measured.k >= 20, found.utility is None
    (True, True)
    """

    release: Release
    measured: Measured
    attributes: tuple[PublishedAttribute, ...]
    crowds: dict[str, dict[str, Crowd]]
    inference: tuple[GroupInference, ...]
    utility: Utility | None
    membership: dict[str, MembershipResult] | None
    held_out: bool
    skipped: dict[str, str]
    label: str | None
    records: int
    people: int
    tested: int
    persons: str | None
    provenance: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record. For the team: small counts are as they are."""
        content = {
            "release": self.release.to_dict(),
            "measured": asdict(self.measured),
            "attributes": [asdict(each) for each in self.attributes],
            "crowds": {key: {name: asdict(each) for name, each in own.items()} for key, own in self.crowds.items()},
            "inference": [asdict(each) for each in self.inference],
            "utility": None if self.utility is None else self.utility.to_dict(),
            "membership": None
            if self.membership is None
            else {name: each.to_dict() for name, each in self.membership.items()},
        }
        more = ("held_out", "skipped", "label", "records", "people", "tested", "persons", "provenance")
        return dict(plain(content | {name: getattr(self, name) for name in more}))


def release_evidence(
    anonymizer: Anonymizer | Release,
    X: Any,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    sensitive: str | Iterable[str] | None = None,
    estimator: Any = TREES,
    by: Any = None,
    label_bins: int | None = None,
    population: int | None = None,
    schema: Schema | None = None,
    random_state: int = 0,
) -> ReleaseEvidence:
    """Measure a k-anonymous release: its promise, what it lost, and what could still leak.

    k, ℓ, t, information loss, and who stands out or is linked are counted on the release itself. How well a model
    learns from it is tested on records that had no part in it: `X_test`, or where none are given 30% of X, with a
    second release made of the other 70% by the same settings.

    Parameters
    ----------
    anonymizer : fitted anonymizer, or Release
        What `fit`, `fit_transform` or `fit_resample` were called of; or a release of all records of X in their order.
    X, y : the full records that were released, and their label
    X_test, y_test : full records that were not, optional
    sensitive : names, optional
        What an adversary wants to know; the release's sensitive attribute by default, else the label.
    estimator : as for `utility`
    by : as for `utility`; of the test records
    label_bins : int, optional
        Cut a numeric label into ranges.
    population : int, optional
        How many people the records were drawn from; then it is estimated how many of these stand alone.
    schema : Schema, optional
        Kinds and roles; by default the anonymizer's.
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "sex", "race", "education"]][:2_000], y[:2_000]
    >>> anonymizer = md.Mondrian(k=20, quasi_identifiers=["age", "sex", "race"]).fit(X, y)
    >>> found = md.evaluation.release_evidence(anonymizer, X, y)
    >>> found.measured.k >= 20, found.crowds["quasi-identifiers"]["release"].alone
    (True, 0.0)
    >>> found.inference[0].attribute, found.utility.error < found.utility.majority_error + 0.05
    ('income', True)
    """
    work = ReleaseWork.of(anonymizer, X, y, schema, random_state)
    if population is not None:
        check_population(population, work.people)
    inferred = {name: work.inferred(name) for name in work.sensitive(sensitive)}
    found = learning(work, X_test, y_test, estimator, by, label_bins)
    told, skipped = _membership(found, work)
    return ReleaseEvidence(
        release=work.release,
        measured=measured(work.release, work.frame, work.schema, work.released_persons),
        attributes=published(work.release, work.released_raw, work.frame, work.schema, work.label_column),
        crowds=work.crowds(population),
        inference=tuple(each for each in inferred.values() if each is not None),
        utility=None if found.learned is None else found.learned.utility,
        membership=told,
        held_out=found.held_out,
        skipped={**found.skipped, **skipped, **_not_inferred(inferred)},
        label=None if work.y is None else work.label,
        records=len(work.raw),
        people=work.people,
        tested=0 if found.lesson is None else found.lesson.tested,
        persons=None if work.persons is None else work.schema.person,
        provenance=_provenance(work, estimator, X_test, by, label_bins, population),
    )


def _not_inferred(inferred: dict[str, GroupInference | None]) -> dict[str, str]:
    """Why something is not guessed."""
    if not inferred:
        return {"inference": "No sensitive attribute is named and there is no label, so there is nothing to infer."}
    same = [repr(name) for name, each in inferred.items() if each is None]
    return {"inference": f"All records have the same value of {', '.join(same)}: nothing to guess."} if same else {}


def _membership(found: Learning, work: ReleaseWork) -> tuple[dict[str, MembershipResult] | None, dict[str, str]]:
    if found.learned is None or found.lesson is None:
        return None, {"membership": "No model was trained, so there is none to ask."}
    try:
        told = members_told(found.lesson, found.learned, work.random_state)
    except DataError as error:
        return None, {"membership": str(error)}
    return {"release": told["minimized"], "raw": told["raw"]}, {}


def _provenance(
    work: ReleaseWork, estimator: Any, X_test: Any, by: Any, label_bins: int | None, population: int | None
) -> dict[str, Any]:
    hashes = {"records": frame_hash(work.raw), "release": frame_hash(work.frame)}
    hashes |= {"schema": text_hash(work.schema.to_dict())}
    if X_test is not None:
        hashes["test records"] = frame_hash(X_test)
    settings = {} if work.owner is None else told_settings(work.owner)
    settings |= {
        "method": work.release.method,
        "estimator": estimator if isinstance(estimator, str) else type(estimator).__name__,
        "by": told_by(by, work.raw.columns),
        "label_bins": label_bins,
        "population": population,
        "seed of the evidence": work.random_state,
    }
    return {"hashes": hashes, "versions": versions(), "settings": dict(plain(settings))}
