"""All that is found of one generalization, for the person who must show why it is as it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from modicum.attacks import SuiteResult, suite
from modicum.engines import is_table
from modicum.engines.sampling import SAMPLE, in_memory
from modicum.errors import DataError
from modicum.evaluation._alternatives import Alternatives
from modicum.evaluation._judge import Judgement, assemble_judgement
from modicum.evaluation._necessity import Necessity, necessity
from modicum.evaluation._utility import MOST_GROUPS, RANGES, check_generalization, group_names, model_on, utility
from modicum.generalization import Generalization
from modicum.learners.portfolio import TREES
from modicum.measures.certificate import check_confidence
from modicum.progress import cores
from modicum.provenance import describe_grouping, estimator_settings, generalization_provenance, model_file
from modicum.table.estimator_input import attribute_weights, personal_attributes
from modicum.table.frames import as_frame, column, texts
from modicum.table.targets import Labels, label_name, label_values

MOST_COLUMNS = 8  # by which scores are shown where the caller names none


@dataclass(frozen=True)
class Evidence:
    """What a report rests on.

    Attributes
    ----------
    judgement : what is collected, what the prediction loses, also by group, A1 and the certificate (`judge`)
    attacks : every adversary, A1 to A8 (`attacks.suite`)
    necessity : what each attribute is good for (`evaluation.necessity`)
    alternatives : what else was considered, where it was given (`evaluation.alternatives`, `alternatives_of`)
    provenance : hashes of the records, schema, artifact and model, versions and settings, as plain data; without a
        date, so that the same seed gives the same again

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> train, test = (X[["age", "sex"]][:600], y[:600]), (X[["age", "sex"]][600:1_000], y[600:1_000])
    >>> found = md.evidence(md.Uniform(buckets=2).fit(train[0]).generalization_, *train, *test, progress=False)
    >>> sorted(found.attacks.reconstruction), sorted(found.necessity.attributes)
    (['A1', 'A4', 'A5'], ['age', 'sex'])
    """

    judgement: Judgement
    attacks: SuiteResult
    necessity: Necessity
    alternatives: Alternatives | None
    provenance: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for the team: small counts are in it, which `md.report` leaves out."""
        return {
            "judgement": self.judgement.to_dict(),
            "attacks": self.attacks.to_dict(),
            "necessity": self.necessity.to_dict(),
            "alternatives": None if self.alternatives is None else self.alternatives.to_dict(),
            "provenance": self.provenance,
        }


def evidence(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    by: Any = None,
    estimator: Any = TREES,
    label_bins: int | None = None,
    confidence: float = 0.99,
    population: int | None = None,
    alternatives: Alternatives | None = None,
    model: Any = None,
    sample: int = SAMPLE,
    n_jobs: int | None = None,
    progress: bool = True,
    random_state: int = 0,
) -> Evidence:
    """Gather all that a privacy officer must show of a generalization, on records that had no part in making it.

    It is `judge`, `attacks.suite` and `evaluation.necessity` on the same records, each with the same meaning, but A1
    and its certificate are computed once.

    Parameters
    ----------
    g : Generalization
    X_train, y_train : full records and labels, which the models learn from and the adversaries know
    X_test, y_test : full records and labels of others, on which everything is counted
    personal, weights : what the adversaries guess, and how much each attribute counts in their mean error
    by : column name, list of names, or one value per test record
        Groups whose scores are shown. By default the personal attributes, a number in five ranges; of more than eight
        those with the fewest groups, and none with more than fifty.
    estimator, label_bins : as for `utility`
    confidence : of each certificate
    population : how many people there are in all (A8), as for `attacks.SinglingOut`
    alternatives : what `evaluation.alternatives` or `alternatives_of` found; it is only passed on
    model : the path of a model's file, or its bytes; only its hash is kept.
    sample : int
        Of a table in an engine, whose label is the name of one of its columns, about how many records are drawn: here
        everything rests on them.
    n_jobs, progress, random_state : as for `attacks.suite`

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "race", "sex", "marital-status"]]
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:3_000], y[:3_000]).generalization_
    >>> found = md.evidence(g, X[:3_000], y[:3_000], X[3_000:5_000], y[3_000:5_000], personal=["race", "sex"])
    >>> found.judgement.attack is found.attacks.reconstruction["A1"]
    True
    >>> list(found.necessity.attributes), len(found.provenance["hashes"]["test records"])
    (['age', 'race', 'sex', 'marital-status'], 64)
    """
    check_generalization(g)
    personal = personal_attributes(g.schema, personal)
    attribute_weights(personal, weights)
    check_confidence(confidence)
    cores(n_jobs)
    content = model_file(model)
    by = list(by) if isinstance(by, Iterable) and not isinstance(by, str) else by
    beside = [by] if isinstance(by, str) else by if by is not None and is_table(X_test) else []
    X_train, y_train = in_memory(g, X_train, y_train, sample, random_state)
    X_test, y_test = in_memory(g, X_test, y_test, sample, random_state, beside)
    train, test = as_frame(X_train, g.names), as_frame(X_test, g.names)
    labels = Labels.fit(y_train, label_bins, name=label_name(y_train))
    for y, frame in ((y_train, train), (y_test, test)):
        labels.encode(label_values(y, len(frame)))
    if not len(test):
        raise DataError("The test data has no rows.")
    model_on(g, estimator, len(labels), random_state)
    groups = default_groups(g, test, personal) if by is None else by
    if groups:
        group_names(groups, test, g.schema)
    shared: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "random_state": random_state}
    whose: dict[str, Any] = {"personal": personal, "weights": weights}
    learned: dict[str, Any] = {"estimator": estimator, "label_bins": label_bins}
    attacks = suite(g, train, test, **whose, population=population, confidence=confidence, **shared)
    lost = utility(g, train, y_train, test, y_test, by=groups or None, random_state=random_state, **learned)
    first, certificate = attacks.reconstruction["A1"], attacks.certificates["A1"]
    settings = {
        **whose,
        "by": describe_grouping(groups, test.columns),
        "estimator": estimator_settings(estimator),
        "label_bins": label_bins,
        "confidence": confidence,
        "population": population,
        "random_state": random_state,
    }
    return Evidence(
        judgement=assemble_judgement(g, train, y_train, test, lost, first, certificate, labels),
        attacks=attacks,
        necessity=necessity(g, train, y_train, test, y_test, **whose, **learned, **shared),
        alternatives=alternatives,
        provenance=generalization_provenance(g, (train, y_train), (test, y_test), settings, content),
    )


def default_groups(g: Generalization, test: Any, personal: list[str]) -> list[str]:
    """The personal attributes by which scores are shown: at most eight, those with the fewest groups.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.evidence.generalization_evidence import default_groups
    >>> from modicum.table.frames import as_frame
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.Uniform(buckets=2).fit(X[:500]).generalization_
    >>> default_groups(g, as_frame(X[:500]), ["age", "sex"])
    ['age', 'sex']
    """
    sizes = {name: _groups(column(test, name), g.schema[name]) for name in personal}
    few = [name for name, size in sizes.items() if size <= MOST_GROUPS]
    fewest = sorted(few, key=lambda name: sizes[name])[:MOST_COLUMNS]
    return [name for name in personal if name in fewest]


def _groups(series: Any, attribute: Any) -> int:
    """About how many groups an attribute makes."""
    if not attribute.is_category:
        return RANGES
    codes, words = texts(series)
    return len(words) + int((codes < 0).any())
