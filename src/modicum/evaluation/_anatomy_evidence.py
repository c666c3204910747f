"""Evidence of an anatomized release: what was promised, what is measured, what is lost, and what could still leak."""

from dataclasses import asdict, dataclass, field
from typing import Any

from modicum.anatomy import Anatomy
from modicum.attacks import Matching, MatchingResult
from modicum.errors import check_number_is
from modicum.evaluation.anatomy_learning import AnatomyLearned
from modicum.evaluation.anatomy_measures import AnatomyAttribute, SensitiveMeasured, crowds, measured, published
from modicum.evaluation.anatomy_work import AnatomyWork
from modicum.measures.uniqueness import Crowd, check_population
from modicum.provenance import frame_hash, text_hash, told_by, told_settings, versions
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.table.values import plain


@dataclass(frozen=True)
class AnatomyEvidence:
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
    >>> found = md.evaluation.anatomy_evidence(anatomy, X, y, progress=False)
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
    provenance: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record. For the team: small counts are as they are."""
        content = {
            "release": self.release.to_dict(),
            "measured": [asdict(each) for each in self.measured],
            "attributes": [asdict(each) for each in self.attributes],
            "crowds": {name: asdict(each) for name, each in self.crowds.items()},
            "matching": [each.to_dict() for each in self.matching],
            "utility": None if self.utility is None else asdict(self.utility),
        }
        more = ("l", "held_out", "skipped", "label", "records", "people", "left_out", "repeated", "provenance")
        return dict(plain(content | {name: getattr(self, name) for name in more}))


def anatomy_evidence(
    anatomy: Anatomy | AnatomyRelease,
    X: Any,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
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
    >>> found = md.evaluation.anatomy_evidence(anatomy, X, y)
    >>> found.measured[0].l, round(found.measured[0].highest, 3), found.matching[0].records
    (2, 0.5, 1500)
    """
    check_number_is(random_state, "random_state", "anatomy_evidence", 0)
    check_number_is(without_value, "without_value", "anatomy_evidence", 0)
    work = AnatomyWork.of(anatomy, X, y, random_state)
    if population is not None:
        check_population(population, work.people)
    release, full = work.release, work.released_raw
    utility, held_out, skipped = work.utility(X_test, y_test, estimator, by)
    attack = Matching(known=work.known(X_test, y_test), random_state=random_state, progress=progress)
    return AnatomyEvidence(
        release=release,
        l=None if work.owner is None else int(work.owner.l),
        measured=tuple(measured(release, name) for name in release.sensitive_names),
        attributes=published(release, full),
        crowds=crowds(release, population, random_state, work.released_persons),
        matching=tuple(
            attack.run(release, work.released_raw[name].to_native(), name) for name in release.sensitive_names
        ),
        utility=utility,
        held_out=held_out,
        skipped=skipped,
        label=release.label,
        records=len(work.raw) + without_value,
        people=work.people,
        left_out=release.suppressed + without_value,
        repeated=work.persons is not None and work.people < release.rows,
        provenance=_provenance(work, estimator, X_test, by, population),
    )


def _provenance(work: AnatomyWork, estimator: Any, X_test: Any, by: Any, population: int | None) -> dict[str, Any]:
    """What is published is hashed; neither the seed of the groups nor the full records, which would test guesses."""
    release = work.release
    hashes = {"identifying table": frame_hash(release.identifying), "schema": text_hash(release.schema.to_dict())}
    hashes |= {f"table of {name}": frame_hash(table) for name, table in release.sensitive_tables.items()}
    settings = {} if work.owner is None else told_settings(work.owner)
    settings.pop("random_state", None)
    settings |= {
        "method": "Anatomy",
        "grouping": release.grouping,
        "estimator": "LinearSVC" if estimator is None else type(estimator).__name__,
        "by": told_by(by, work.raw.columns),
        "population": population,
        "seed of the evidence": work.random_state,
    }
    return {"hashes": hashes, "versions": versions(), "settings": dict(plain(settings))}
