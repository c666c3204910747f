"""Evidence about a k-anonymous release: its promise, its measurements, what is lost, and what could still leak."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.anonymizers.base import Anonymizer
from modicum.attacks import MembershipResult
from modicum.errors import DataError, ParameterError, check_number_is
from modicum.evaluation._evidence import NO_MODEL, Depth
from modicum.evaluation._utility import Utility, count_people, name_estimator
from modicum.evaluation.evidence.release_learning import (
    Learned,
    Lesson,
    NoTrialError,
    ReleasedRecords,
    attack_membership,
    find_label,
    hold_out,
    making_trial,
    train_and_compare,
)
from modicum.evaluation.evidence.release_measures import (
    GroupInference,
    Measured,
    PublishedAttribute,
    describe_attributes,
    group_inference,
    measure_release,
    value_targets,
)
from modicum.learners.portfolio import TREES
from modicum.measures.uniqueness import Crowd, check_population, crowd
from modicum.provenance import EvidenceSources, describe_grouping, describe_settings, frame_hash, text_hash, versions
from modicum.releases.release import Release
from modicum.table.estimator_input import as_names, person_codes, schema_of
from modicum.table.frames import as_frame, column
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.table.targets import MAX_CLASSES, label_values
from modicum.table.values import plain
from modicum.typing import Codes

# A k-anonymous release with its original records

QUASI, ALL = "quasi-identifiers", "every published column"


@dataclass(frozen=True)
class ReleaseWork(ReleasedRecords):
    """A k-anonymous release with its original records.

    Attributes
    ----------
    raw, y, rows, persons, random_state : as for `ReleasedRecords`
    owner : the anonymizer that made the release, if given
    release, frame : the release and its table
    schema : kinds and roles
    """

    owner: Anonymizer | None
    release: Release
    frame: nw.DataFrame[Any]
    schema: Schema

    @classmethod
    def of(cls, given: Any, X: Any, y: Any, schema: Schema | None, random_state: int) -> "ReleaseWork":
        """Link a release to its original records; fail if they do not belong together."""
        check_number_is(random_state, "random_state", "evidence", 0)
        release = _release(given)
        raw, frame = as_frame(X), as_frame(release.frame)
        rows = getattr(given, "sample_indices_", np.arange(len(raw)))
        _check_records(release, raw, rows)
        owner = given if isinstance(given, Anonymizer) else None
        known = schema or (schema_of(owner, raw) if owner is not None else Schema.infer(raw))
        y = find_label(y, raw, known.label)
        return cls(raw, y, rows, person_codes(known, raw), random_state, owner, release, frame, known)

    @property
    def label(self) -> str:
        """The label's name; a label without a name is "y", or "the label" if a column is called "y"."""
        named = getattr(self.y, "name", None)
        return str(named or ("the label" if "y" in self.raw.columns else "y"))

    @property
    def label_column(self) -> str | None:
        """The label's name, if it is a column of the records."""
        return self.label if self.y is not None and self.label in self.raw.columns else None

    @property
    def people(self) -> int:
        """The number of people in the full records."""
        return count_people(len(self.raw), self.persons)

    @property
    def features(self) -> Schema:
        """The schema of the columns for a model: the features and the person column."""
        kept = [n for n in self.schema.features if n in self.frame.columns and n != self.label_column]
        person = [self.schema.person] if self.persons is not None and self.schema.person else []
        return self.schema.select([*kept, *person])

    def crowds(self, population: int | None) -> dict[str, dict[str, Crowd]]:
        """Count who shares the quasi-identifiers, and who shares every published column, in the release and before."""
        released, raw = self._with_label(self.frame, self.rows), self._with_label(self.raw, np.arange(len(self.raw)))
        columns = {QUASI: list(self.release.quasi_identifiers), ALL: list(released.columns)}
        return {
            key: {
                "release": crowd(released, names, self.released_persons),
                "raw": crowd(raw, names, self.persons, population if key == QUASI else None, self.random_state),
            }
            for key, names in columns.items()
        }

    def _with_label(self, frame: nw.DataFrame[Any], rows: Codes) -> nw.DataFrame[Any]:
        """Add the label as a column, because it is published with the records."""
        if self.y is None or self.label in frame.columns:
            return frame
        values = label_values(self.y)[rows].tolist()
        return frame.with_columns(nw.new_series(self.label, values, backend=frame.implementation))

    def sensitive(self, given: Any) -> list[str]:
        """Return the attributes to guess: those given, else the sensitive ones, else the label."""
        names = [given] if isinstance(given, str) else as_names(given)
        if names is None:
            own = self.schema.with_role("sensitive") or ([self.release.sensitive] if self.release.sensitive else [])
            names = list(own) or ([self.label] if self.y is not None else [])
        for name in names:
            if name in self.release.quasi_identifiers:
                raise ParameterError(f"The 'sensitive' parameter names {name!r}, which is a quasi-identifier.")
            if name not in self.raw.columns and not (self.y is not None and name == self.label):
                raise DataError(f"The column {name!r}, which the 'sensitive' parameter names, is not in X.")
        return list(dict.fromkeys(names))

    def measure_inference(self, name: str) -> GroupInference | None:
        """Measure how well one attribute is guessed from a person's group; None if all have the same value."""
        if name in self.raw.columns:
            column(self.raw, name)
            values = value_targets(self.raw, name, self.schema[name] if name in self.schema.names else None)
        else:
            native = nw.new_series(name, label_values(self.y).tolist(), backend=self.raw.implementation)
            values = value_targets(native.to_frame().to_native(), name)
        if values[1] < 2:
            return None
        released = (values[0][self.rows], *values[1:])
        return group_inference(name, self.frame, self.released_raw, list(self.release.quasi_identifiers), released)


def _release(given: Any) -> Release:
    is_anonymizer = isinstance(given, Anonymizer)
    release = getattr(given, "release_", None) if is_anonymizer else given
    if not isinstance(release, Release):
        got = f"{type(given).__name__}, which is not fitted" if is_anonymizer else type(given).__name__
        raise ParameterError(f"Evidence about a release needs a fitted anonymizer or its release. Got {got} instead.")
    if release.classes is None:
        raise DataError("This release was written by an engine; evidence needs a release made in memory.")
    return release


def _check_records(release: Release, raw: nw.DataFrame[Any], rows: Codes) -> None:
    absent = [name for name in release.quasi_identifiers if name not in raw.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r}, a quasi-identifier of the release, is not in X.")
    if len(rows) != release.rows or len(raw) != release.rows + release.suppressed:
        raise DataError(
            f"X has {len(raw):,} records, but the release was made of {release.rows + release.suppressed:,}"
            + (". Give the anonymizer, which knows the records left out." if release.suppressed else ".")
        )


# The records that a model learns from to test a release: the release itself, or a trial release of part of the records


def learn_from_release(
    work: ReleaseWork, depth: Depth, X_test: Any, y_test: Any, estimator: Any, by: Any, label_bins: int | None
) -> tuple[Learned | None, dict[str, str]]:
    """Train and test models if possible; otherwise return the reason why not."""
    if depth == "quick":
        return None, {"utility": NO_MODEL}
    if (X_test is None) != (y_test is None):
        raise ParameterError("Give both 'X_test' and 'y_test', or neither.")
    why = _explain_no_model(work, X_test, label_bins)
    if why is not None:
        return None, {"utility": why}
    try:
        lesson = _build_trial_lesson(work) if X_test is None else _build_test_lesson(work, as_frame(X_test), y_test)
    except NoTrialError as error:
        return None, {"utility": str(error)}
    return train_and_compare(lesson, estimator, by, label_bins, work.random_state), {}


def _explain_no_model(work: ReleaseWork, X_test: Any, label_bins: int | None) -> str | None:
    if work.y is None:
        return "No label was given, so no model was trained."
    values = label_values(work.y)
    if len(pd.unique(values)) < 2:
        return "The label has only one value, so there is nothing to predict."
    if values.dtype.kind in "iuf" and len(np.unique(values)) > MAX_CLASSES and label_bins is None:
        return "The label is a number; set 'label_bins' to predict its ranges."
    if work.owner is None and (X_test is None or work.release.output == "ranges"):
        return "Only the release was given; training a model needs the anonymizer that made it."
    return None


def _build_test_lesson(work: ReleaseWork, test: nw.DataFrame[Any], y_test: Any) -> Lesson:
    """Learn from the release itself, and test on other records."""
    frame = work.frame
    if work.release.output == "ranges":
        frame, _ = _remake_release(work.owner, work.raw.to_native(), work.y)
    return _lesson(work, frame, work.raw, label_values(work.y), work.rows, test, y_test)


def _build_trial_lesson(work: ReleaseWork) -> Lesson:
    """Learn from a release of 70% of the records, and test on the others."""
    values = label_values(work.y)
    train, test = hold_out(values, work.persons, work.random_state)
    raw = work.raw[train.tolist()]
    frame, rows = _remake_release(work.owner, raw.to_native(), values[train])
    return _lesson(work, frame, raw, values[train], rows, work.raw[test.tolist()], values[test])


def _lesson(
    work: ReleaseWork, frame: nw.DataFrame[Any], raw: nw.DataFrame[Any], y: Any, rows: Codes, test: Any, y_test: Any
) -> Lesson:
    features = work.features
    names = features.names
    return Lesson(
        released=frame.select([name for name in names if name in frame.columns]),
        released_label=y[rows],
        rows=rows,
        raw=raw.select(names),
        raw_label=y,
        test=test.select(names),
        test_label=y_test,
        schema=features,
        label=work.label,
    )


def _remake_release(owner: Any, X: Any, y: Any) -> tuple[nw.DataFrame[Any], Codes]:
    """Release these records with the same settings, as values to learn from; also return the rows it contains."""
    again = clone(owner).set_params(output="values")
    with making_trial():
        if hasattr(owner, "sample_indices_"):
            again.fit_resample(X, y)
            return as_frame(again.release_.frame), again.sample_indices_
        again.fit(X, y)
    return as_frame(again.release_.frame), np.arange(again.release_.rows)


# The evidence


@dataclass(frozen=True)
class ReleaseEvidence(PlainResult):
    """Measurements of a k-anonymous release.

    Attributes
    ----------
    release : the release, with the requested k, ℓ and t
    measured : k, ℓ, t and groups, counted again on the release
    attributes : for each column its role, how it was published and what it lost
    crowds : the columns that an adversary knows → "release" and "raw" → `Crowd`: who is alone, who can be linked
    inference : for each attribute, how well it is guessed from a person's group
    utility : a model trained on the release (`minimized`) compared with one trained on raw records
    membership : "release" and "raw" → what each model reveals about who was in its training data
    held_out : whether utility and membership were measured on a release of 70% of the records with the same settings
    skipped : measurement that was not possible → why
    label : what is predicted, if a label was given
    records : number of records, including those left out
    people : number of people in these records
    tested : number of people that the models were tested on; 0 without models
    persons : the person column
    provenance : hashes, versions and settings

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "sex", "education"]][:600]
    >>> anonymizer = md.Mondrian(k=20, quasi_identifiers=["age", "sex"]).fit(X)
    >>> found = md.evidence(anonymizer, X)
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
    provenance: EvidenceSources = field(repr=False)


def release_evidence(
    anonymizer: Anonymizer | Release,
    X: Any,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    depth: Depth = "full",
    sensitive: str | Iterable[str] | None = None,
    estimator: Any = TREES,
    by: Any = None,
    label_bins: int | None = None,
    population: int | None = None,
    schema: Schema | None = None,
    random_state: int = 0,
) -> ReleaseEvidence:
    """Measure a k-anonymous release: its promise, what it lost, and what could still leak.

    k, ℓ, t, information loss, and who stands out or can be linked are counted on the release itself. How well a model
    learns from it is tested on records outside it: `X_test`, or by default 30% of X, with a second release of the
    other 70%, made with the same settings.

    Parameters
    ----------
    anonymizer : fitted anonymizer, or Release
        A release alone must contain all records of X in the same order.
    X, y : the full records that were released, and their label
    X_test, y_test : full records that were not released, optional
    depth : "quick" or "full"
        With "quick" no model is trained.
    sensitive : names, optional
        What an adversary wants to know; by default the release's sensitive attribute, else the label.
    estimator : as for `utility`
    by : as for `utility`; groups of the test records
    label_bins : int, optional
        Number of ranges for a numeric label.
    population : int, optional
        Number of people from whom the records were drawn, to estimate how many of them stand alone.
    schema : Schema, optional
        Kinds and roles; by default the anonymizer's.
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "sex", "race", "education"]][:2_000], y[:2_000]
    >>> anonymizer = md.Mondrian(k=20, quasi_identifiers=["age", "sex", "race"]).fit(X, y)
    >>> found = md.evidence(anonymizer, X, y)
    >>> found.measured.k >= 20, found.crowds["quasi-identifiers"]["release"].alone
    (True, 0.0)
    >>> found.inference[0].attribute, found.utility.error < found.utility.majority_error + 0.05
    ('income', True)
    """
    work = ReleaseWork.of(anonymizer, X, y, schema, random_state)
    if population is not None:
        check_population(population, work.people)
    inferred = {name: work.measure_inference(name) for name in work.sensitive(sensitive)}
    learned, skipped = learn_from_release(work, depth, X_test, y_test, estimator, by, label_bins)
    membership, unattacked = _measure_membership(learned, work)
    return ReleaseEvidence(
        release=work.release,
        measured=measure_release(work.release, work.frame, work.schema, work.released_persons),
        attributes=describe_attributes(work.release, work.released_raw, work.frame, work.schema, work.label_column),
        crowds=work.crowds(population),
        inference=tuple(each for each in inferred.values() if each is not None),
        utility=None if learned is None else learned.utility,
        membership=membership,
        held_out=learned is not None and X_test is None,
        skipped={**skipped, **unattacked, **_explain_no_inference(inferred)},
        label=None if work.y is None else work.label,
        records=len(work.raw),
        people=work.people,
        tested=0 if learned is None else learned.lesson.tested,
        persons=None if work.persons is None else work.schema.person,
        provenance=_provenance(work, estimator, X_test, by, label_bins, population),
    )


def _explain_no_inference(inferred: dict[str, GroupInference | None]) -> dict[str, str]:
    """Explain which attributes are not guessed."""
    if not inferred:
        return {"inference": "There is no sensitive attribute and no label, so there is nothing to infer."}
    same = [repr(name) for name, each in inferred.items() if each is None]
    return {"inference": f"All records have the same value of {', '.join(same)}; nothing to guess."} if same else {}


def _measure_membership(
    learned: Learned | None, work: ReleaseWork
) -> tuple[dict[str, MembershipResult] | None, dict[str, str]]:
    if learned is None:
        return None, {"membership": "No model was trained, so none can be attacked."}
    try:
        results = attack_membership(learned, work.random_state)
    except DataError as error:
        return None, {"membership": str(error)}
    return {"release": results["minimized"], "raw": results["raw"]}, {}


def _provenance(
    work: ReleaseWork, estimator: Any, X_test: Any, by: Any, label_bins: int | None, population: int | None
) -> EvidenceSources:
    hashes = {"records": frame_hash(work.raw), "release": frame_hash(work.frame)}
    hashes |= {"schema": text_hash(work.schema.to_dict())}
    if X_test is not None:
        hashes["test records"] = frame_hash(X_test)
    settings = {} if work.owner is None else describe_settings(work.owner)
    settings |= {
        "method": work.release.method,
        "estimator": name_estimator(estimator),
        "by": describe_grouping(by, work.raw.columns),
        "label_bins": label_bins,
        "population": population,
        "seed of the evidence": work.random_state,
    }
    return {"hashes": hashes, "versions": versions(), "settings": plain(settings)}
