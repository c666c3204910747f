"""Everything that is judged of one generalization: utility, the adversary, the certificate."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.attacks import AttackResult, Reconstruction
from modicum.engines import is_table, table_at
from modicum.engines.buckets import different_at
from modicum.engines.coding import labels_at
from modicum.engines.sampling import SAMPLE, label_column
from modicum.engines.table import EngineTable
from modicum.evaluation._utility import Utility, check_generalization, utility
from modicum.generalization import Generalization
from modicum.generalization.description import Description
from modicum.learners.portfolio import TREES
from modicum.measures.certificate import Certificate, certify
from modicum.table.estimator_input import personal_attributes
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.targets import Labels, label_name


@dataclass(frozen=True)
class Judgement:
    """What a generalization asks for, what it costs, what it leaks, and what is certain.

    Attributes
    ----------
    generalization : the artifact that was judged
    description : what it asks, with the shares of the test records
    utility : what the prediction loses
    attack : what the adversary A1 still guesses
    certificate : what no adversary can exceed
    values : attribute → how many different values it has in the training records
    label, classes : what is predicted

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "sex"]]
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:2_000], y[:2_000]).generalization_
    >>> judged = md.judge(g, X[:2_000], y[:2_000], X[2_000:3_000], y[2_000:3_000], personal=["sex"])
    >>> judged.label, judged.classes, judged.values["sex"]
    ('income', ('<=50K', '>50K'), 2)
    >>> 1 - judged.attack.by_attribute["sex"].error < judged.certificate.bounds["sex"]
    True
    """

    generalization: Generalization
    description: Description
    utility: Utility
    attack: AttackResult
    certificate: Certificate
    values: dict[str, int]
    label: str
    classes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for the team: small counts are in it, which `md.report` leaves out."""
        return {
            "generalization": self.generalization.to_dict(),
            "description": self.description.to_dict(),
            "utility": self.utility.to_dict(),
            "attack": self.attack.to_dict(),
            "certificate": self.certificate.to_dict(),
            "values": self.values,
            "label": self.label,
            "classes": list(self.classes),
        }


def judge(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    estimator: Any = TREES,
    by: Any = None,
    label_bins: int | None = None,
    confidence: float = 0.99,
    sample: int = SAMPLE,
    random_state: int = 0,
) -> Judgement:
    """Judge a generalization on records that had no part in making it.

    The training records are what the classifier learns from and what the adversary knows; utility, attack and
    certificate are counted on the test records. See `utility`, `attacks.Reconstruction` and `certify` for each;
    `weights` says how much each attribute counts in the means of the latter two. Of tables in an engine, whose label is
    the name of one of their columns, all is counted there but the utility, which rests on about `sample` records.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:9_000], y[:9_000]).generalization_
    >>> judged = md.judge(g, X[:9_000], y[:9_000], X[9_000:12_000], y[9_000:12_000], personal=["race", "sex"])
    >>> judged.attack.error > 0.15, judged.certificate.confidence
    (True, 0.99)
    """
    check_generalization(g)
    personal = personal_attributes(g.schema, personal)
    train, test = (table_at(X) if is_table(X) else as_frame(X, g.names) for X in (X_train, X_test))
    # What is quick comes first, and with it what may be refused.
    certificate = certify(g, test, personal, confidence, weights=weights, known=train)
    labels = _labels(train, y_train, label_bins)
    adversary = Reconstruction(personal=personal, weights=weights, random_state=random_state)
    attack = adversary.run(g, known=train, breached=test)
    options: dict[str, Any] = {"estimator": estimator, "by": by, "label_bins": label_bins, "sample": sample}
    found = utility(g, train, y_train, test, y_test, random_state=random_state, **options)
    return assemble_judgement(g, train, y_train, test, found, attack, certificate, labels)


def assemble_judgement(
    g: Generalization,
    train: Any,
    y_train: Any,
    test: Any,
    found: Utility,
    attack: AttackResult,
    certificate: Certificate,
    labels: Labels,
) -> Judgement:
    """The judgement whose parts are known: what was found beside what the records and the artifact say."""
    return Judgement(
        generalization=g,
        description=g.describe(test),
        utility=found,
        attack=attack,
        certificate=certificate,
        values={p.name: _distinct(train, p.attribute) for p in g.partitions},
        label=str(y_train if isinstance(y_train, str) else getattr(y_train, "name", None) or _label(g)),
        classes=tuple(labels.names),
    )


def _label(g: Generalization) -> str:
    return g.schema.label or "the label"


def _labels(train: Any, y: Any, bins: int | None) -> Labels:
    if isinstance(train, EngineTable):
        return labels_at(train, label_column(train, y), bins)
    return Labels.fit(y, bins, name=label_name(y))


def _distinct(train: Any, attribute: Any) -> int:
    """How many different values a column has, missing not counted."""
    if isinstance(train, EngineTable):
        return different_at(train, attribute)
    series = column(train, attribute.name)
    if attribute.is_category:
        return len(texts(series)[1])
    values = numbers(series, attribute)
    return len(np.unique(values[~np.isnan(values)]))
