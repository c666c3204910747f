"""What a model loses that learns from two anatomized tables, beside models on raw records and without what is hidden.

All models are the same classifier in the same coding; they differ only in what they learned from.
"""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.anatomy import AnatomyClassifier
from modicum.evaluation.grouping import group_names
from modicum.measures.intervals import Interval, mean_interval
from modicum.releases.anatomy_release import GID, AnatomyRelease
from modicum.table.frames import texts
from modicum.table.roles import unit_codes
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import label_values
from modicum.table.values import Codes, Floats

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
