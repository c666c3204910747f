"""Evidence about one generalization, for the person who must justify it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

import numpy as np

from modicum.attacks import AttackResult, Reconstruction, SuiteResult, suite
from modicum.engines import is_table, table_at
from modicum.engines.buckets import different_at
from modicum.engines.coding import labels_at
from modicum.engines.sampling import SAMPLE, in_memory, label_column
from modicum.engines.table import EngineTable
from modicum.evaluation._alternatives import Alternatives
from modicum.evaluation._evidence import Depth
from modicum.evaluation._necessity import Necessity, necessity
from modicum.evaluation._utility import (
    MOST_GROUPS,
    RANGES,
    TrainTest,
    Utility,
    check_generalization,
    group_names,
    model_on,
    utility,
)
from modicum.generalization import Generalization
from modicum.generalization.description import Description
from modicum.learners.portfolio import TREES
from modicum.measures.certificate import Certificate, certify, check_confidence
from modicum.progress import cores
from modicum.provenance import (
    EvidenceSources,
    describe_grouping,
    estimator_settings,
    generalization_provenance,
    model_file,
)
from modicum.table.estimator_input import attribute_weights, personal_attributes
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.plain_data import PlainResult
from modicum.table.targets import Labels, label_name

MOST_COLUMNS = 8  # most columns to score groups by default


@dataclass(frozen=True)
class Evidence(PlainResult):
    """What a generalization asks for, costs and leaks, what is certified, and why each attribute is needed.

    With depth="quick", `attacks`, `necessity` and `provenance` are None.

    Attributes
    ----------
    generalization : the artifact
    description : what it asks, with the shares of the test records
    utility : what the prediction loses, also by group
    attack : what the adversary A1 still guesses
    certificate : an upper bound for every adversary
    values : attribute → number of different values in the training records
    label, classes : what is predicted
    attacks : every adversary, A1 to A8 (`attacks.suite`)
    necessity : why each attribute is needed (`evaluation.necessity`)
    alternatives : other generalizations that were considered, if given (`evaluation.alternatives`)
    provenance : hashes of the records, schema, artifact and model, versions and settings, as plain data; without a
        date, so that the same seed gives the same result

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> train, test = (X[["age", "sex"]][:600], y[:600]), (X[["age", "sex"]][600:1_000], y[600:1_000])
    >>> found = md.evidence(md.Uniform(buckets=2).fit(train[0]).generalization_, *train, *test, progress=False)
    >>> found.label, found.classes, found.values["sex"]
    ('income', ('<=50K', '>50K'), 2)
    >>> sorted(found.attacks.reconstruction), sorted(found.necessity.attributes)
    (['A1', 'A4', 'A5'], ['age', 'sex'])
    """

    generalization: Generalization
    description: Description
    utility: Utility
    attack: AttackResult
    certificate: Certificate
    values: dict[str, int]
    label: str
    classes: tuple[str, ...]
    attacks: SuiteResult | None = None
    necessity: Necessity | None = None
    alternatives: Alternatives | None = None
    provenance: EvidenceSources | None = None


class AttackOptions(TypedDict):
    """Options shared by `suite`, `necessity` and A1."""

    personal: list[str]
    weights: Mapping[str, float] | None
    n_jobs: int | None
    progress: bool
    random_state: int


def generalization_evidence(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    depth: Depth = "full",
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
    """Gather evidence about a generalization on records that were not used to make it.

    Parameters
    ----------
    g : Generalization
    X_train, y_train : full records and labels that the models learn from and the adversaries know
    X_test, y_test : full records and labels of other people, for testing
    depth : "quick" or "full"
        Quick: utility, the adversary A1 and its certificate. Full: also all adversaries (`attacks.suite`), why each
        attribute is needed (`evaluation.necessity`), and hashes.
    personal, weights : what the adversaries guess, and how much each attribute counts in their mean error
    by : column name, list of names, or one value per test record
        Groups to score separately. With depth="full" the default is the personal attributes, numbers in five ranges; at
        most eight, those with the fewest groups, and none with more than fifty groups.
    estimator, label_bins : as for `utility`
    confidence : of each certificate
    population : number of people in the population (A8), as for `attacks.SinglingOut`; only with depth="full"
    alternatives : result of `evaluation.alternatives`, only passed on
    model : the path of a model's file, or its bytes; only its hash is kept. Only with depth="full".
    sample : int
        About how many records to draw from a table in an engine, whose label is the name of a column. With
        depth="quick" only the utility uses the sample; with depth="full" everything does.
    n_jobs, progress, random_state : as for `attacks.suite`

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "race", "sex", "marital-status"]]
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:3_000], y[:3_000]).generalization_
    >>> found = md.evidence(g, X[:3_000], y[:3_000], X[3_000:5_000], y[3_000:5_000], personal=["race", "sex"])
    >>> found.attack is found.attacks.reconstruction["A1"]
    True
    >>> list(found.necessity.attributes), len(found.provenance["hashes"]["test records"])
    (['age', 'race', 'sex', 'marital-status'], 64)
    """
    check_generalization(g)
    personal = personal_attributes(g.schema, personal)
    options: AttackOptions = {
        "personal": personal,
        "weights": weights,
        "n_jobs": n_jobs,
        "progress": progress,
        "random_state": random_state,
    }
    measure = partial(utility, estimator=estimator, label_bins=label_bins, random_state=random_state)
    if depth == "quick":
        given = X_train, y_train, X_test, y_test
        measure = partial(measure, by=by, sample=sample)
        return _quick_evidence(g, *given, options, measure, label_bins, confidence, alternatives)
    attribute_weights(personal, weights)
    check_confidence(confidence)
    cores(n_jobs)
    content = model_file(model)
    by = list(by) if isinstance(by, Iterable) and not isinstance(by, str) else by
    group_columns = [by] if isinstance(by, str) else by if by is not None and is_table(X_test) else []
    X_train, y_train = in_memory(g, X_train, y_train, sample, random_state)
    X_test, y_test = in_memory(g, X_test, y_test, sample, random_state, group_columns)
    data = TrainTest.read(X_train, y_train, X_test, y_test, label_bins, g.names)
    train, test = data.train, data.test
    model_on(g, estimator, len(data.labels), random_state)
    groups = default_groups(g, test, personal) if by is None else by
    if groups:
        group_names(groups, test, g.schema)
    attacks = suite(g, train, test, population=population, confidence=confidence, **options)
    settings = {
        "personal": personal,
        "weights": weights,
        "by": describe_grouping(groups, test.columns),
        "estimator": estimator_settings(estimator),
        "label_bins": label_bins,
        "confidence": confidence,
        "population": population,
        "random_state": random_state,
    }
    return Evidence(
        generalization=g,
        description=g.describe(test),
        values=_count_values(g, train),
        label=_name_label(g, y_train),
        classes=tuple(data.labels.names),
        utility=measure(g, train, y_train, test, y_test, by=groups or None),
        attack=attacks.reconstruction["A1"],
        certificate=attacks.certificates["A1"],
        attacks=attacks,
        necessity=necessity(g, train, y_train, test, y_test, estimator=estimator, label_bins=label_bins, **options),
        alternatives=alternatives,
        provenance=generalization_provenance(g, (train, y_train), (test, y_test), settings, content),
    )


def _quick_evidence(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    options: AttackOptions,
    measure: Callable[[Generalization, Any, Any, Any, Any], Utility],
    label_bins: int | None,
    confidence: float,
    alternatives: Alternatives | None,
) -> Evidence:
    """Measure utility, A1 and the certificate; for tables in an engine only the utility uses a sample."""
    train, test = (table_at(X) if is_table(X) else as_frame(X, g.names) for X in (X_train, X_test))
    # The quick parts come first, because they may raise errors.
    certificate = certify(g, test, options["personal"], confidence, weights=options["weights"], known=train)
    labels = _fit_labels(train, y_train, label_bins)
    return Evidence(
        attack=Reconstruction(**options).run(g, known=train, breached=test),
        utility=measure(g, train, y_train, test, y_test),
        certificate=certificate,
        alternatives=alternatives,
        generalization=g,
        description=g.describe(test),
        values=_count_values(g, train),
        label=_name_label(g, y_train),
        classes=tuple(labels.names),
    )


def _count_values(g: Generalization, train: Any) -> dict[str, int]:
    return {p.name: _count_distinct(train, p.attribute) for p in g.partitions}


def _name_label(g: Generalization, y: Any) -> str:
    return str(y if isinstance(y, str) else getattr(y, "name", None) or g.schema.label or "the label")


def _fit_labels(train: Any, y: Any, bins: int | None) -> Labels:
    if isinstance(train, EngineTable):
        return labels_at(train, label_column(train, y), bins)
    return Labels.fit(y, bins, name=label_name(y))


def _count_distinct(train: Any, attribute: Any) -> int:
    """Count the different values of a column, without missing ones."""
    if isinstance(train, EngineTable):
        return different_at(train, attribute)
    series = column(train, attribute.name)
    if attribute.is_category:
        return len(texts(series)[1])
    values = numbers(series, attribute)
    return len(np.unique(values[~np.isnan(values)]))


def default_groups(g: Generalization, test: Any, personal: list[str]) -> list[str]:
    """Choose the personal attributes to score groups by: at most eight, those with the fewest groups.

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
    sizes = {name: _count_groups(column(test, name), g.schema[name]) for name in personal}
    few = [name for name, size in sizes.items() if size <= MOST_GROUPS]
    fewest = sorted(few, key=lambda name: sizes[name])[:MOST_COLUMNS]
    return [name for name in personal if name in fewest]


def _count_groups(series: Any, attribute: Any) -> int:
    """Estimate the number of groups of an attribute."""
    if not attribute.is_category:
        return RANGES
    codes, words = texts(series)
    return len(words) + int((codes < 0).any())
