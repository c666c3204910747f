"""Evidence about an anatomized release: its promise, its measurements, what is lost, and what could still leak."""

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
from modicum.evaluation._utility import count_people, group_names
from modicum.evaluation.evidence.release_learning import (
    NoTrialError,
    ReleasedRecords,
    find_label,
    hold_out,
    making_trial,
)
from modicum.measures.anonymity import count_group_values, number_equal_rows
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

# What a model loses if it learns from anatomized tables, compared with raw records and with no sensitive attributes
#
# All models are the same classifier with the same encoding; only their training data differ.

PRUNED, JOINED, WITHOUT, RAW, MAJORITY = "pruned", "joined", "identifying", "raw", "majority"
_NOTHING = "modicum nothing"


@dataclass(frozen=True)
class LearnedError:
    """A model's share of wrong predictions on the test records, with its interval."""

    error: float
    interval: Interval


@dataclass(frozen=True)
class GroupErrors:
    """A group of test records: their number, the number of people, and training data → error."""

    records: int
    people: int
    errors: dict[str, LearnedError]


@dataclass(frozen=True)
class AnatomyLearned:
    """Errors on test records.

    Attributes
    ----------
    errors : training data ("pruned", "joined", "identifying", "raw", "majority") → error; "identifying" is without the
        sensitive attributes
    by_group : group → its errors
    records, people : number of test records, and of people in them
    trained_on : number of training records
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
    """Learn from a release and from its raw records, and test on others."""
    truth = _words(label_values(y_test, len(test)))
    values = label_values(y, len(raw))
    unhidden = _build_open_release(raw, values, release)
    wrong: dict[str, Floats] = {}
    for kind, source in ((PRUNED, release), (JOINED, release), (WITHOUT, release), (RAW, unhidden)):
        training = WITHOUT if kind == RAW else kind
        model = AnatomyClassifier(estimator, training=training, random_state=random_state).fit_release(source)
        wrong[kind] = (_words(model.predict(test.to_native())) != truth).astype(np.float64)
    names, counts = np.unique(_words(values), return_counts=True)
    wrong[MAJORITY] = (truth != names[counts.argmax()]).astype(np.float64)
    groups = {} if by is None else group_names(by, test, release.schema)
    return AnatomyLearned(
        errors={kind: _error(each, persons) for kind, each in wrong.items()},
        by_group={name: _group(wrong, rows, persons) for name, rows in groups.items()},
        records=len(truth),
        people=count_people(len(truth), persons),
        trained_on=len(raw),
        estimator="LinearSVC" if estimator is None else type(estimator).__name__,
    )


def _words(labels: Any) -> Any:
    """Convert labels to canonical text, so that 1, 1.0 and values read from a file are equal."""
    codes, words = texts(nw.from_native(pd.Series(labels), series_only=True))
    return np.array(words, dtype=object)[codes]


def _group(wrong: dict[str, Floats], rows: Any, persons: Codes | None) -> GroupErrors:
    units = None if persons is None else unit_codes(persons[rows])
    records = int(rows.sum())
    errors = {kind: _error(each[rows], units) for kind, each in wrong.items()}
    return GroupErrors(records, count_people(records, units), errors)


def _error(wrong: Floats, persons: Codes | None) -> LearnedError:
    return LearnedError(float(wrong.mean()), mean_interval(wrong, persons))


def _build_open_release(raw: nw.DataFrame[Any], y: Any, release: AnatomyRelease) -> AnatomyRelease:
    """Arrange the raw records as tables that hide nothing, so that the same classifier can learn from them."""
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


# An anatomized release with its original records, and what a model learns from it

LearnedFrom = tuple[AnatomyRelease, nw.DataFrame[Any], Any]  # the tables, their full records and label
TestedOn = tuple[nw.DataFrame[Any], Any]  # full records and their label


@dataclass(frozen=True)
class AnatomyWork(ReleasedRecords):
    """An anatomized release with its original records.

    Attributes
    ----------
    raw, y, rows, persons, random_state : as for `ReleasedRecords`; the rows are those of the identifying table
    owner : the Anatomy that made the release, if given
    release : the tables
    """

    owner: Anatomy | None
    release: AnatomyRelease

    @classmethod
    def of(cls, given: Any, X: Any, y: Any, random_state: int) -> "AnatomyWork":
        """Link a release to its original records; fail if they do not belong together."""
        owner = given if isinstance(given, Anatomy) else None
        release = getattr(given, "release_", None) if owner is not None else given
        if not isinstance(release, AnatomyRelease):
            raise ParameterError(
                "Evidence about an anatomized release needs a fitted Anatomy that keeps its tables, or an "
                f"AnatomyRelease. Got {type(given).__name__} instead."
            )
        raw = as_frame(X)
        rows = np.arange(len(raw)) if owner is None else owner.rows_
        _check_records(release, raw, rows)
        label = find_label(y, raw, release.label)
        return cls(raw, label, rows, _number_persons(owner, raw), random_state, owner, release)

    @property
    def people(self) -> int:
        """The number of released people."""
        return count_people(self.release.rows, self.released_persons)

    def build_known_records(self, X_test: Any, y_test: Any) -> Any:
        """Add the published class to complete records of other people, as an adversary would know them."""
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
        """Train and test models if possible; otherwise return the reason why not."""
        if depth == "quick":
            return None, {"utility": NO_MODEL}
        if y_test is not None and X_test is None:
            raise ParameterError("The 'y_test' parameter needs 'X_test'; give both.")
        why = self._explain_no_model(y_test)
        if why is not None:
            return None, {"utility": why}
        if y_test is None:
            try:
                learned, tested, persons = self._build_trial()
            except NoTrialError as error:
                return None, {"utility": str(error)}
        else:
            learned = self.release, self.released_raw, label_values(self.y)[self.rows]
            tested = as_frame(X_test), y_test
            persons = _number_persons(self.owner, tested[0])
        found = anatomy_errors(
            *learned, *tested, estimator=estimator, by=by, persons=persons, random_state=self.random_state
        )
        return found, {}

    def _explain_no_model(self, y_test: Any) -> str | None:
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
            return "Only the release was given; a test release of part of the records needs the Anatomy that made it."
        return None

    def _build_trial(self) -> tuple[LearnedFrom, TestedOn, Codes | None]:
        """Release 70% of the records, split by person, to learn from, and keep the others for testing."""
        values = label_values(self.y)
        train, test = hold_out(values, self.persons, self.random_state)
        names = [name for name in self.raw.columns if name != self.release.label]
        raw = self.raw.select(names)[train.tolist()]
        again = self._remake_release(raw, values[train], names)
        learned = again.release_, raw[again.rows_.tolist()], values[train][again.rows_]
        persons = None if self.persons is None else unit_codes(self.persons[test])
        return learned, (self.raw[test.tolist()], values[test]), persons

    def _remake_release(self, raw: nw.DataFrame[Any], y: Any, names: Sequence[str]) -> Anatomy:
        """Anatomize these records with the same settings, except the secret seed, for testing only."""
        assert self.owner is not None
        schema = self.owner.schema
        if schema is not None:
            schema = schema.select([name for name in schema.names if name in names])
        share = 1.0 if self.owner.max_suppressed else 0.0  # a part may need a little more by chance
        again = clone(self.owner).set_params(random_state=self.random_state, schema=schema, max_suppressed=share)
        labels = nw.new_series(str(self.release.label), y.tolist(), backend=raw.implementation).to_native()
        with making_trial():
            return again.fit(raw.to_native(), labels)


def _number_persons(owner: Anatomy | None, frame: nw.DataFrame[Any]) -> Codes | None:
    return None if owner is None or owner.schema is None else person_codes(owner.schema, frame)


def _check_records(release: AnatomyRelease, raw: nw.DataFrame[Any], rows: Codes) -> None:
    if len(raw) != release.rows + release.suppressed or len(rows) != release.rows:
        raise DataError(
            f"X has {len(raw):,} records, but the release was made of {release.rows + release.suppressed:,}."
        )
    absent = [n for n in [*release.identifying_names, *release.sensitive_names] if n not in raw.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} of the release is not in X.")


# An anatomized release counted again, by measures that do not depend on how it was made

IDENTIFYING, WITH_CLASS = "identifying attributes", "every column of the identifying table"


@dataclass(frozen=True)
class SensitiveMeasured:
    """One sensitive attribute in its table, counted again.

    Attributes
    ----------
    l : the largest ℓ such that no value is more than 1/ℓ of any group [Mancuhan16 Definition 9]
    distinct_l : the fewest different values in a group
    highest : the largest share of one value in any group; the promise is at most 1/ℓ
    groups, smallest, largest : number of groups, and of records in the smallest and largest
    values : number of different values
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
    """One column: its role, its table, and its number of different values, which are published exactly."""

    name: str
    role: AnatomyRole
    table: str
    values: int


def measure_sensitive(release: AnatomyRelease, name: str) -> SensitiveMeasured:
    """Measure a sensitive table by itself."""
    table, gid = as_frame(release.sensitive_tables[name]), release.group_column(name)
    found = count_group_values(number_equal_rows(table, [gid]), number_equal_rows(table, [name]))
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
    """List each column with its table; columns without a table were left out.

    `raw` are the full records of the released people: other values would reveal who was left out.
    """
    identifying, attributes = release.identifying_names, []
    for name in [*raw.columns, *([release.label] if release.label and release.label not in raw.columns else [])]:
        role: AnatomyRole = "left out"
        table = "none"
        if name in identifying or name == release.label:
            role, table = "class" if name == release.label else "identifying", "identifying table"
        elif name in release.sensitive_names:
            role, table = "sensitive", f"table of {name}"
        source = raw if name in raw.columns else as_frame(release.identifying)
        attributes.append(AnatomyAttribute(name, role, table, int(source[name].drop_nulls().n_unique())))
    return tuple(attributes)


def crowds(
    release: AnatomyRelease, population: int | None, random_state: int, persons: Codes | None = None
) -> dict[str, Crowd]:
    """Count who is alike in the identifying table, without and with the class."""
    names = release.identifying_names
    found = {IDENTIFYING: crowd(release.identifying, names, persons, population, random_state)}
    if release.label is not None:
        found[WITH_CLASS] = crowd(release.identifying, [*names, release.label], persons)
    return found


# The evidence


@dataclass(frozen=True)
class AnatomyEvidence(PlainResult):
    """Measurements of an anatomized release.

    Attributes
    ----------
    release : the tables
    l : the requested ℓ, if known
    measured : for each sensitive attribute, measurements of its table
    attributes : for each column of the records, its table
    crowds : the columns that an adversary knows → who is alone in the identifying table, and who can be linked
    matching : for each sensitive attribute, how often people are matched to their value
    utility : a model on the release compared with others
    held_out : whether utility was measured on a release of 70% of the records with the same settings
    skipped : measurement that was not possible → why
    label : the class, if there is one
    records : number of records, including those left out
    people : number of released people
    left_out : number of records left out, because a sensitive value is missing or to keep the promise
    repeated : whether a person has several records, which the promise does not cover
    provenance : hashes of the published tables, versions and settings, without the seed of the groups and without a
        hash of the full records, because either could confirm guesses

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
    How well a model learns from it is tested on records outside it: `X_test`, or by default 30% of X, with a second
    release of the other 70%, made with the same settings.

    Parameters
    ----------
    anatomy : fitted Anatomy, or AnatomyRelease
        A release alone must contain the records of X in the same order.
    X, y : the full records, and their class if it is not a column of X
    X_test, y_test : full records that are not in the release, optional; the adversary knows them
    depth : "quick" or "full"
        With "quick" no model is trained.
    estimator : as for `AnatomyClassifier`
    by : as for `utility`; groups of the test records
    population : int, optional
        Number of people from whom the records were drawn, to estimate how many of them stand alone.
    without_value : int
        Number of records already left out because they have no sensitive value; the report states it.
    random_state : int
        Seed of the attack and of the second release. The report prints it; the seed of the release itself stays secret.
    progress : bool
        Show a progress bar on a terminal.

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
    """Hash only what is published: the seed of the groups or the full records would allow testing guesses."""
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
