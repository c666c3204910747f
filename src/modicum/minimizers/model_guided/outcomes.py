"""What it means to keep a prediction: the same class, a number close by, or little squared error overall.

This determines what a tree learns, and the figures of an artifact on held-out records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError
from modicum.generalization import CellPartition, Generalization
from modicum.generalization.core import DistinctColumns
from modicum.learners.asking import Predictions
from modicum.measures.information_loss import InformationLoss, ncp
from modicum.measures.intervals import Interval, Resampling, mean_interval
from modicum.table.codes import Coder, group_rows
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.typing import Codes, Floats

STEPS = 16  # thresholds by which a tree learns a number
_FEW_NUMBERS = 32  # up to so many different ones are classes


@dataclass(frozen=True)
class Outcomes:
    """How predictions on less detail are compared with those on full records.

    `kind` is "same" (each record's class stays), "r2" (one minus squared differences over the variance) or "tolerance"
    (no further off than that). A record's *miss* is 0 or 1, or for "r2" its part of the squared error; agreement is one
    minus the mean miss.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.minimizers.model_guided.outcomes import Outcomes
    >>> outcomes = Outcomes.of(np.array(["no", "yes", "no"]), "auto", None)
    >>> outcomes.kind, outcomes.misses(np.array(["no", "no", "no"]), np.arange(3)).tolist()
    ('same', [0.0, 1.0, 0.0])
    """

    kind: str
    tolerance: float
    original: Predictions  # of every record, in the form that is compared
    classes: Predictions | None
    scale: float

    @classmethod
    def of(cls, predictions: Predictions, agreement: Any, model: Any) -> "Outcomes":
        """Build from the model's predictions on full records; `agreement` is the parameter of ModelGuided."""
        kind, tolerance = _kind(predictions, agreement, model)
        if kind == "same":
            classes, codes = np.unique(predictions, return_inverse=True)
            _check_many(len(classes), predictions)
            return cls(kind, 0.0, codes.astype(np.int64), classes, 1.0)
        if predictions.dtype.kind not in "iufb":
            raise DataError(f"Agreement as {agreement!r} needs a model that predicts numbers.")
        numbers = predictions.astype(np.float64)
        _check_many(len(np.unique(numbers)), predictions)
        return cls(kind, tolerance, numbers, None, float(numbers.var()))

    def misses(self, predictions: Predictions, rows: Codes) -> Floats:
        """How far each prediction is from the one on the full record in this row."""
        if self.classes is not None:
            place = np.minimum(np.searchsorted(self.classes, predictions), len(self.classes) - 1)
            same = (place == self.original[rows]) & (self.classes[place] == predictions)
            return 1.0 - same
        off = np.abs(predictions.astype(np.float64) - self.original[rows])
        return off**2 / self.scale if self.kind == "r2" else (off > self.tolerance).astype(np.float64)

    @cached_property
    def constant_agreement(self) -> float:
        """The agreement of one prediction for everyone: the most frequent class's share; 0 for R²."""
        if self.classes is not None:
            return float(np.bincount(self.original).max() / len(self.original))
        if self.kind == "r2":
            return 0.0
        values = np.sort(self.original)
        within = np.searchsorted(values, values + 2 * self.tolerance, side="right") - np.arange(len(values))
        return float(within.max() / len(values))

    def by_class(self, misses: Floats, rows: Codes) -> dict[str, float]:
        """For each class the share of predictions that stay; empty for numbers."""
        if self.classes is None:
            return {}
        own = self.original[rows]
        return {
            str(name): 1 - float(misses[own == k].mean()) for k, name in enumerate(self.classes) if (own == k).any()
        }

    @cached_property
    def guide(self) -> npt.NDArray[Any]:
        """What a tree node predicts: the class, the number ("r2"), or the range that holds the number."""
        return self.targets().sum(axis=1).astype(np.int64) if self.kind == "tolerance" else self.original

    def targets(self) -> npt.NDArray[np.uint16]:
        """What a tree learns, one column per target: the class, or for a number whether it exceeds each threshold."""
        if self.classes is not None:
            return self.original[:, None].astype(np.uint16)
        return (self.original[:, None] > self._thresholds()).astype(np.uint16)

    def _thresholds(self) -> Floats:
        low, high = float(self.original.min()), float(self.original.max())
        if self.kind == "tolerance" and self.tolerance > 0:
            even = np.arange(low + self.tolerance, high, 2 * self.tolerance)
            if len(even) <= STEPS:
                return even if len(even) else np.array([(low + high) / 2])
        steps = np.unique(np.quantile(self.original, np.arange(1, STEPS) / STEPS))
        return steps[steps < high] if (steps < high).any() else np.array([(low + high) / 2])

    def plain(self, prediction: Any) -> Any:
        """Return a prediction as plain data."""
        value = prediction.item() if isinstance(prediction, np.generic) else prediction
        return value if isinstance(value, bool | int | float | str) else str(value)


def _check_many(different: int, predictions: Predictions) -> None:
    if different < 2:
        raise DataError(
            f"The model predicts the same for all {len(predictions):,} records, so it needs no data; give it other "
            "records or another model."
        )


def _kind(predictions: Predictions, agreement: Any, model: Any) -> tuple[str, float]:
    if isinstance(agreement, Real) and not isinstance(agreement, bool) and 0 <= float(agreement) < np.inf:
        return "tolerance", float(agreement)
    if agreement in ("same", "r2"):
        return str(agreement), 0.0
    if agreement != "auto":
        raise ParameterError(
            "The 'agreement' parameter of ModelGuided must be 'auto', 'same', 'r2' or a tolerance ≥ 0. "
            f"Got {agreement!r} instead."
        )
    from sklearn.base import is_classifier, is_regressor

    if hasattr(model, "predict") and is_classifier(model):
        return "same", 0.0
    numbers = predictions.dtype.kind == "f" and len(np.unique(predictions)) > _FEW_NUMBERS
    return ("r2", 0.0) if numbers or (hasattr(model, "predict") and is_regressor(model)) else ("same", 0.0)


# Groups of similar records to learn, where a tree on predictions alone may be too simple [Goldsteen22 §5.2].

CLUSTERS = 8  # for each prediction
_MOST_CATEGORIES = 20  # of one attribute that have a column of their own


def groups_of(
    generalizer: Any, frame: Any, predictions: Codes, coder: Coder, codes: Any, seed: int
) -> npt.NDArray[np.uint16]:
    """Return a group for each record, which the tree learns besides the prediction.

    `generalizer` is 'clusters', or a function of the records and their predictions (as numbers from 0) that returns a
    group for each.
    """
    if callable(generalizer):
        return _number_groups(generalizer, frame, predictions)
    if generalizer == "clusters":
        return _clusters(_points(coder, codes), predictions, seed)
    raise ParameterError(
        f"The 'generalizer' parameter of ModelGuided must be 'tree', 'clusters' or a function. Got {generalizer!r}."
    )


def _number_groups(generalizer: Callable[[Any, Codes], Any], frame: Any, predictions: Codes) -> npt.NDArray[np.uint16]:
    found = np.asarray(generalizer(frame, predictions))
    if found.shape != predictions.shape:
        raise DataError(
            f"The generalizer gave {found.shape} groups for {len(predictions):,} records; it must give one for each."
        )
    return np.unique(found, return_inverse=True)[1].astype(np.uint16)


def _points(coder: Coder, codes: Any) -> npt.NDArray[np.float64]:
    """Records as points: ranks of numbers, a column for each of the most frequent categories."""
    columns = []
    for j, coding in enumerate(coder.codings):
        own = codes[:, j].astype(np.int64)
        if coding.attribute.has_order:
            columns.append(own[:, None] / max(1, coding.n_codes - 1))
        else:
            largest = np.argsort(-np.bincount(own, minlength=coding.n_codes), kind="stable")[:_MOST_CATEGORIES]
            columns.append((own[:, None] == largest) / np.sqrt(2))  # two categories are 1 apart
    return np.concatenate(columns, axis=1)


def _clusters(points: npt.NDArray[np.float64], predictions: Codes, seed: int) -> npt.NDArray[np.uint16]:
    """k-means among the records of each prediction."""
    from sklearn.cluster import MiniBatchKMeans

    found = np.zeros(len(predictions), dtype=np.int64)
    for value in np.unique(predictions):
        own = np.flatnonzero(predictions == value)
        k = min(CLUSTERS, len(np.unique(points[own], axis=0)))
        if k > 1:
            kmeans = MiniBatchKMeans(n_clusters=k, n_init=3, random_state=seed, batch_size=4096)
            found[own] = kmeans.fit_predict(points[own])
    return found.astype(np.uint16)


# The figures of an artifact on held-out records, through its own `transform`


@dataclass(frozen=True)
class HeldOut(PlainResult):
    """The figures of an artifact on records that were used neither to learn nor to choose.

    Attributes
    ----------
    agreement, interval : the share of predictions that stay (R² for a number), and its 95% interval
    constant_agreement : the same for one prediction for everyone (0 for R²), to compare with
    by_class : each class that the model predicts → the share of those predictions that stay
    loss : NCP of each attribute and their mean, GCP
    distinct, raw_distinct, records : how many different generalized and full records there are, and how many in all
    disclosure_risk, raw_disclosure_risk : [Goldsteen22 equation (4)], with all attributes as quasi-identifiers
    """

    agreement: float
    interval: Interval
    constant_agreement: float
    by_class: dict[str, float]
    loss: InformationLoss
    distinct: int
    raw_distinct: int
    records: int

    _properties = ("disclosure_risk", "raw_disclosure_risk")

    @property
    def disclosure_risk(self) -> float:
        return self.distinct / self.records

    @property
    def raw_disclosure_risk(self) -> float:
        return self.raw_distinct / self.records


@dataclass(frozen=True)
class Reported:
    """The held-out records as attributes, with their places among all records and their persons.

    `ask` returns the model's predictions for attributes.
    """

    ask: Callable[[Any], Predictions]
    outcomes: Outcomes
    attributes: nw.DataFrame[Any]
    schema: Schema
    rows: Codes
    persons: Codes | None
    weights: Mapping[str, float] | None

    def measure(self, g: Generalization | CellPartition) -> HeldOut:
        """Return the figures of one artifact."""
        native = self.attributes.to_native()
        misses = self.outcomes.misses(self.ask(g.transform(native, output="values")), self.rows)
        return HeldOut(
            agreement=1.0 - float(misses.mean()),
            interval=_interval(misses, self.persons),
            constant_agreement=self.outcomes.constant_agreement,
            by_class=self.outcomes.by_class(misses, self.rows),
            loss=ncp(g, native, weights=self.weights),
            distinct=int(group_rows(g.codes(native)).max()) + 1,
            raw_distinct=self.raw_distinct,
            records=len(self.rows),
        )

    @cached_property
    def raw_distinct(self) -> int:
        """How many different records there are."""
        return int(group_rows(np.column_stack(DistinctColumns.of(self.attributes, self.schema).places)).max()) + 1


def _interval(misses: Floats, units: Codes | None) -> Interval:
    """The interval of the agreement: exact for shares, by resampling if a miss exceeds 1."""
    if misses.max(initial=0.0) <= 1:
        low, high = mean_interval(misses, units)
    else:
        low, high = Resampling(len(misses), units).interval(lambda draws: float(np.average(misses, weights=draws)))
    return 1 - high, 1 - low
