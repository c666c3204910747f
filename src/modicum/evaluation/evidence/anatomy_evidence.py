"""Evidence of an anatomized release: what was promised, what is measured, what is lost, and what could still leak."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.anatomy import Anatomy, AnatomyClassifier
from modicum.attacks import Matching, MatchingResult
from modicum.errors import DataError, ParameterError, check_number_is
from modicum.evaluation._evidence import NO_MODEL, Depth
from modicum.evaluation._utility import group_names
from modicum.evaluation.evidence.release_learning import (
    NoTrialError,
    ReleasedRecords,
    find_label,
    hold_out,
    making_trial,
)
from modicum.measures.anonymity import alike, count_group_values
from modicum.measures.diversity import l_diversity
from modicum.measures.intervals import Interval, mean_interval
from modicum.measures.uniqueness import Crowd, check_population, crowd
from modicum.provenance import EvidenceSources, describe_grouping, describe_settings, frame_hash, text_hash, versions
from modicum.releases.anatomy_release import GID, AnatomyRelease
from modicum.table.estimator_input import person_codes, unit_codes
from modicum.table.frames import as_frame, texts
from modicum.table.inference import not_whole
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import MAX_CLASSES, label_values
from modicum.table.values import plain
from modicum.typing import Codes, Floats

# What a model loses that learns from two anatomized tables, beside models on raw records and without what is hidden.
#
# All models are the same classifier in the same coding; they differ only in what they learned from.

PRUNED, JOINED, WITHOUT, RAW, MAJORITY = "pruned", "joined", "identifying", "raw", "majority"
_NOTHING = "modicum nothing"


@dataclass(frozen=True)
class LearnedError:
    """A model's share of wrong predictions on the test records, with its interval."""

    error: float
    interval: Interval


@dataclass(frozen=True)
class GroupErrors:
    """Some of the test records: how many, of how many people, and what was learned from → error."""

    records: int
    people: int
    errors: dict[str, LearnedError]


@dataclass(frozen=True)
class AnatomyLearned:
    """Errors on test records.

    Attributes
    ----------
    errors : what was learned from ("pruned", "joined", "identifying", "raw", "majority") → error; "identifying" does
        without the sensitive attributes
    by_group : group → its errors
    records, trained_on : how many were tested on, and learned from
    people : how many people were tested on
    estimator : the classifier
    """

    errors: dict[str, LearnedError]
    by_group: dict[str, GroupErrors]
    records: int
    people: int
    trained_on: int
    estimator: str


def anatomy_errors(
    release: AnatomyRelease,
    raw: nw.DataFrame[Any],
    y: Any,
    test: nw.DataFrame[Any],
    y_test: Any,
    *,
    estimator: Any,
    by: Any,
    persons: Codes | None,
    random_state: int,
) -> AnatomyLearned:
    """Learn from a release and from the raw records that it was made of, and test on others."""
    truth = _words(label_values(y_test, len(test)))
    values = label_values(y, len(raw))
    whole = _open(raw, values, release)
    wrong: dict[str, Floats] = {}
    for kind, source in ((PRUNED, release), (JOINED, release), (WITHOUT, release), (RAW, whole)):
        training = WITHOUT if kind == RAW else kind
        model = AnatomyClassifier(estimator, training=training, random_state=random_state).fit_release(source)
        wrong[kind] = (_words(model.predict(test.to_native())) != truth).astype(np.float64)
    names, counts = np.unique(_words(values), return_counts=True)
    wrong[MAJORITY] = (truth != names[counts.argmax()]).astype(np.float64)
    groups = {} if by is None else group_names(by, test, release.schema)
    return AnatomyLearned(
        errors={kind: _error(own, persons) for kind, own in wrong.items()},
        by_group={name: _group(wrong, rows, persons) for name, rows in groups.items()},
        records=len(truth),
        people=len(truth) if persons is None else int(persons.max()) + 1,
        trained_on=len(raw),
        estimator="LinearSVC" if estimator is None else type(estimator).__name__,
    )


def _words(labels: Any) -> Any:
    """Labels as canonical text, so that 1 and 1.0 are the same, and what a table on disk made of them."""
    codes, words = texts(nw.from_native(pd.Series(labels), series_only=True))
    return np.array(words, dtype=object)[codes]


def _group(wrong: dict[str, Floats], rows: Any, persons: Codes | None) -> GroupErrors:
    own = None if persons is None else unit_codes(persons[rows])
    many = int(rows.sum())
    errors = {kind: _error(each[rows], own) for kind, each in wrong.items()}
    return GroupErrors(many, many if own is None else int(own.max()) + 1, errors)


def _error(wrong: Floats, persons: Codes | None) -> LearnedError:
    return LearnedError(float(wrong.mean()), mean_interval(wrong, persons))


def _open(raw: nw.DataFrame[Any], y: Any, release: AnatomyRelease) -> AnatomyRelease:
    """The raw records as tables that hide nothing, so that the same classifier learns from them in the same way."""
    names = [*release.identifying_names, *release.sensitive_names]
    label = str(release.label)
    table = raw.select(names).to_pandas().reset_index(drop=True)
    table[label] = y
    numbers: Codes = np.arange(len(table))
    table[GID] = numbers
    attributes = [release.schema[name].model_copy(update={"roles": ()}) for name in names]
    attributes.append(release.schema[label])
    attributes.append(Attribute(name=_NOTHING, kind="category", roles=("sensitive",)))
    empty = pd.DataFrame({GID: numbers, _NOTHING: "nothing"})
    return AnatomyRelease(table, {_NOTHING: empty}, Schema(attributes=tuple(attributes)))


# An anatomized release beside the records that it was made of, and what a model learns from it.

LearnedFrom = tuple[AnatomyRelease, nw.DataFrame[Any], Any]  # the tables, their full records, and the label of these
TestedOn = tuple[nw.DataFrame[Any], Any]  # full records and their label


@dataclass(frozen=True)
class AnatomyWork(ReleasedRecords):
    """A release beside its records.

    Attributes
    ----------
    raw, y, rows, persons, random_state : as of any release; the rows are those of the identifying table
    owner : the Anatomy that made the release, where it was given
    release : the tables
    """

    owner: Anatomy | None
    release: AnatomyRelease

    @classmethod
    def of(cls, given: Any, X: Any, y: Any, random_state: int) -> "AnatomyWork":
        """Tie a release to its records; what does not belong together is refused."""
        owner = given if isinstance(given, Anatomy) else None
        release = getattr(given, "release_", None) if owner is not None else given
        if not isinstance(release, AnatomyRelease):
            raise ParameterError(
                "Evidence about an anatomized release needs a fitted Anatomy, or the AnatomyRelease of one that keeps "
                f"its tables. Got {type(given).__name__} instead."
            )
        raw = as_frame(X)
        rows = np.arange(len(raw)) if owner is None else owner.rows_
        _check_records(release, raw, rows)
        persons = None if owner is None or owner.schema is None else person_codes(owner.schema, raw)
        return cls(raw, find_label(y, raw, release.label), rows, persons, random_state, owner, release)

    @property
    def people(self) -> int:
        """How many people were released."""
        own = self.released_persons
        return self.release.rows if own is None else int(own.max()) + 1

    def build_known_records(self, X_test: Any, y_test: Any) -> Any:
        """Complete records of other people, as an adversary would have them: with the class, which is published."""
        label = self.release.label
        if X_test is None or y_test is None or label is None:
            return X_test
        frame = as_frame(X_test)
        if label in frame.columns:
            return X_test
        values = label_values(y_test, len(frame)).tolist()
        return frame.with_columns(nw.new_series(label, values, backend=frame.implementation)).to_native()

    def utility(
        self, depth: Depth, X_test: Any, y_test: Any, estimator: Any, by: Any
    ) -> tuple[AnatomyLearned | None, dict[str, str]]:
        """Train and test, where that is asked for and there is something to predict; else why not."""
        if depth == "quick":
            return None, {"utility": NO_MODEL}
        if y_test is not None and X_test is None:
            raise ParameterError("The 'y_test' parameter belongs to 'X_test'.")
        why = self._why_not(y_test)
        if why is not None:
            return None, {"utility": why}
        if y_test is None:
            try:
                learned, tested, persons = self._trial()
            except NoTrialError as error:
                return None, {"utility": str(error)}
        else:
            learned = self.release, self.released_raw, label_values(self.y)[self.rows]
            tested = as_frame(X_test), y_test
            persons = None if self.persons is None else self._persons_of(tested[0])
        found = anatomy_errors(
            *learned, *tested, estimator=estimator, by=by, persons=persons, random_state=self.random_state
        )
        return found, {}

    def _why_not(self, y_test: Any) -> str | None:
        if self.y is None or self.release.label is None:
            return "The release has no class, so no model was trained."
        values = label_values(self.y)
        if len(pd.unique(values)) < 2:
            return "The label has only one value, so there is nothing to predict."
        if values.dtype.kind == "f" and not_whole(values):
            return "The label is a number with fractions, and the classifier predicts classes."
        if values.dtype.kind in "iuf" and len(np.unique(values)) > MAX_CLASSES:
            return "The label is a number of many values, and the classifier predicts classes."
        if self.owner is None and y_test is None:
            return "Only the release was given; a second one of part of the records needs the Anatomy that made it."
        return None

    def _persons_of(self, frame: nw.DataFrame[Any]) -> Codes | None:
        return None if self.owner is None or self.owner.schema is None else person_codes(self.owner.schema, frame)

    def _trial(self) -> tuple[LearnedFrom, TestedOn, Codes | None]:
        """A release of 70% of the records to learn from, and the others to test on; a person's records together."""
        values = label_values(self.y)
        train, test = hold_out(values, self.persons, self.random_state)
        names = [name for name in self.raw.columns if name != self.release.label]
        raw = self.raw.select(names)[train.tolist()]
        again = self._remake_release(raw, values[train], names)
        learned = again.release_, raw[again.rows_.tolist()], values[train][again.rows_]
        persons = None if self.persons is None else unit_codes(self.persons[test])
        return learned, (self.raw[test.tolist()], values[test]), persons

    def _remake_release(self, raw: nw.DataFrame[Any], y: Any, names: Sequence[str]) -> Anatomy:
        """Tables of these records by the same settings, which nobody sees; the seed of the groups has no part."""
        assert self.owner is not None
        schema = self.owner.schema
        if schema is not None:
            schema = schema.select([name for name in schema.names if name in names])
        share = 1.0 if self.owner.max_suppressed else 0.0  # by chance a part may need a little more than the whole
        again = clone(self.owner).set_params(random_state=self.random_state, schema=schema, max_suppressed=share)
        labels = nw.new_series(str(self.release.label), y.tolist(), backend=raw.implementation).to_native()
        with making_trial():
            return again.fit(raw.to_native(), labels)


def _check_records(release: AnatomyRelease, raw: nw.DataFrame[Any], rows: Codes) -> None:
    if len(raw) != release.rows + release.suppressed or len(rows) != release.rows:
        raise DataError(
            f"X has {len(raw):,} records, but the release was made of {release.rows + release.suppressed:,}."
        )
    absent = [n for n in [*release.identifying_names, *release.sensitive_names] if n not in raw.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} of the release is not in X.")


# An anatomized release counted anew, by measures that know nothing of how it was made.

IDENTIFYING, WITH_CLASS = "identifying attributes", "every column of the identifying table"


@dataclass(frozen=True)
class SensitiveMeasured:
    """One sensitive attribute in its table, counted anew.

    Attributes
    ----------
    l : the largest ℓ such that no value is more than 1/ℓ of any group [Mancuhan16 Definition 9]
    distinct_l : the fewest different values in a group
    highest : the largest share that one value has in any group, the promise being at most 1/ℓ
    groups, smallest, largest : how many groups, and how many records they have
    values : how many different values there are
    """

    name: str
    l: int
    distinct_l: int
    highest: float
    groups: int
    smallest: int
    largest: int
    values: int


AnatomyRole = Literal["identifying", "sensitive", "class", "left out"]


@dataclass(frozen=True)
class AnatomyAttribute:
    """One column: its role, in which table it stands, and how many different values it has, all of them exact."""

    name: str
    role: AnatomyRole
    table: str
    values: int


def measure_sensitive(release: AnatomyRelease, name: str) -> SensitiveMeasured:
    """What a sensitive table has, counted on it alone."""
    table, gid = as_frame(release.sensitive_tables[name]), release.group_column(name)
    found = count_group_values(alike(table, [gid]), alike(table, [name]))
    return SensitiveMeasured(
        name=name,
        l=int(l_diversity(table.to_native(), [gid], name, kind="frequency")),
        distinct_l=int(l_diversity(table.to_native(), [gid], name)),
        highest=float((found.count / found.sizes[found.group]).max()),
        groups=len(found.sizes),
        smallest=int(found.sizes.min()),
        largest=int(found.sizes.max()),
        values=int(np.count_nonzero(found.totals)),
    )


def describe_attributes(release: AnatomyRelease, raw: nw.DataFrame[Any]) -> tuple[AnatomyAttribute, ...]:
    """Where each column stands; what is in no table was left out.

    `raw` are the full records of those who were released: values of others would tell of who was left out.
    """
    identifying, found = release.identifying_names, []
    for name in [*raw.columns, *([release.label] if release.label and release.label not in raw.columns else [])]:
        role: AnatomyRole = "left out"
        table = "none"
        if name in identifying or name == release.label:
            role, table = "class" if name == release.label else "identifying", "identifying table"
        elif name in release.sensitive_names:
            role, table = "sensitive", f"table of {name}"
        source = raw if name in raw.columns else as_frame(release.identifying)
        found.append(AnatomyAttribute(name, role, table, int(source[name].drop_nulls().n_unique())))
    return tuple(found)


def crowds(
    release: AnatomyRelease, population: int | None, random_state: int, persons: Codes | None = None
) -> dict[str, Crowd]:
    """Who is alike in the identifying table, without and with the class."""
    names = release.identifying_names
    found = {IDENTIFYING: crowd(release.identifying, names, persons, population, random_state)}
    if release.label is not None:
        found[WITH_CLASS] = crowd(release.identifying, [*names, release.label], persons)
    return found


# The evidence


@dataclass(frozen=True)
class AnatomyEvidence(PlainResult):
    """What is known of an anatomized release.

    Attributes
    ----------
    release : the tables
    l : what was asked for, where that is known
    measured : for each sensitive attribute what its table has
    attributes : for each column of the records, where it stands
    crowds : what an adversary knows → who stands alone in the identifying table, and who is linked
    matching : for each sensitive attribute, how often people are matched to their value
    utility : a model on the release beside others
    held_out : whether it was measured on a release of 70% of the records, made alike
    skipped : what could not be measured → why
    label : the class, where there is one
    records : how many records there were before any was left out
    people : how many people were released
    left_out : how many records were left out, for want of a sensitive value or to keep the promise
    repeated : whether a person has several records, which the promise does not allow for
    provenance : hashes of what is published, versions and settings; neither the seed of the groups nor a hash of the
        full records, with which guesses could be tested

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "sex", "education"]][:600], y[:600]
    >>> anatomy = md.Anatomy(l=2, sensitive="education", random_state=0).fit(X, y)
    >>> found = md.evidence(anatomy, X, y, progress=False)
    >>> found.measured[0].l >= 2
    True
    """

    release: AnatomyRelease
    l: int | None
    measured: tuple[SensitiveMeasured, ...]
    attributes: tuple[AnatomyAttribute, ...]
    crowds: dict[str, Crowd]
    matching: tuple[MatchingResult, ...]
    utility: AnatomyLearned | None
    held_out: bool
    skipped: dict[str, str]
    label: str | None
    records: int
    people: int
    left_out: int
    repeated: bool
    provenance: EvidenceSources = field(repr=False)


def anatomy_evidence(
    anatomy: Anatomy | AnatomyRelease,
    X: Any,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    depth: Depth = "full",
    estimator: Any = None,
    by: Any = None,
    population: int | None = None,
    without_value: int = 0,
    random_state: int = 0,
    progress: bool = False,
) -> AnatomyEvidence:
    """Measure an anatomized release: its promise, what a model loses, and what could still leak.

    Groups, shares, who stands out, and how well people are matched to their values are counted on the release itself.
    How well a model learns from it is tested on records that had no part in it: `X_test`, or where none are given 30%
    of X, with a second release made of the other 70% by the same settings.

    Parameters
    ----------
    anatomy : fitted Anatomy, or AnatomyRelease
        A release alone must have the records of X in their order.
    X, y : the full records, and their class where it is no column of X
    X_test, y_test : full records that are not in the release, optional; whoever knows these is an adversary, too
    depth : "quick" or "full"
        With "quick" no model is trained.
    estimator : as for `AnatomyClassifier`
    by : as for `utility`; of the test records
    population : int, optional
        How many people the records were drawn from; then it is estimated how many of these stand alone.
    without_value : int
        How many records were left out before, because they have no sensitive value; the report tells it.
    random_state : int
        Of the attack and of the second release; it is printed. That of the release itself stays secret.
    progress : bool
        Whether long work shows a bar on a terminal.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "sex", "hours-per-week", "education"]][:1_500], y[:1_500]
    >>> anatomy = md.Anatomy(l=2, sensitive="education", random_state=0).fit(X, y)
    >>> found = md.evidence(anatomy, X, y)
    >>> found.measured[0].l, round(found.measured[0].highest, 3), found.matching[0].records
    (2, 0.5, 1500)
    """
    check_number_is(random_state, "random_state", "evidence", 0)
    check_number_is(without_value, "without_value", "evidence", 0)
    work = AnatomyWork.of(anatomy, X, y, random_state)
    if population is not None:
        check_population(population, work.people)
    release, full = work.release, work.released_raw
    utility, skipped = work.utility(depth, X_test, y_test, estimator, by)
    attack = Matching(known=work.build_known_records(X_test, y_test), random_state=random_state, progress=progress)
    return AnatomyEvidence(
        release=release,
        l=None if work.owner is None else int(work.owner.l),
        measured=tuple(measure_sensitive(release, name) for name in release.sensitive_names),
        attributes=describe_attributes(release, full),
        crowds=crowds(release, population, random_state, work.released_persons),
        matching=tuple(
            attack.run(release, work.released_raw[name].to_native(), name) for name in release.sensitive_names
        ),
        utility=utility,
        held_out=utility is not None and y_test is None,
        skipped=skipped,
        label=release.label,
        records=len(work.raw) + without_value,
        people=work.people,
        left_out=release.suppressed + without_value,
        repeated=work.persons is not None and work.people < release.rows,
        provenance=_provenance(work, estimator, X_test, by, population),
    )


def _provenance(work: AnatomyWork, estimator: Any, X_test: Any, by: Any, population: int | None) -> EvidenceSources:
    """What is published is hashed; neither the seed of the groups nor the full records, which would test guesses."""
    release = work.release
    hashes = {"identifying table": frame_hash(release.identifying), "schema": text_hash(release.schema.to_dict())}
    hashes |= {f"table of {name}": frame_hash(table) for name, table in release.sensitive_tables.items()}
    settings = {} if work.owner is None else describe_settings(work.owner)
    settings.pop("random_state", None)
    settings |= {
        "method": "Anatomy",
        "grouping": release.grouping,
        "estimator": "LinearSVC" if estimator is None else type(estimator).__name__,
        "by": describe_grouping(by, work.raw.columns),
        "population": population,
        "seed of the evidence": work.random_state,
    }
    return {"hashes": hashes, "versions": versions(), "settings": plain(settings)}
