"""The base class of PriSM's models: find correlations, then train on the best attributes that are allowed."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from modicum.errors import (
    DataError,
    ModicumError,
    ParameterError,
    PrivacyWarning,
    StoppedWarning,
    check_number,
    format_names,
)
from modicum.learners.columns import Design
from modicum.prism.discovery.discovery import Discovery
from modicum.prism.discovery.sides import Groups, attribute_columns
from modicum.prism.solver.supports import largest_support
from modicum.prism.solver.trainer import Problem, Trained, Trainer
from modicum.table.estimator_input import frame_of, new_records, record_counts, schema_of
from modicum.table.schema import Schema
from modicum.table.targets import label_values
from modicum.typing import Floats

# An independent check of the chosen attributes: constraints (5) to (8) of [Barbato25 Figure 5].

_ROUNDING = 1e-6


def check_chosen(
    design: Design,
    found: Trained,
    *,
    sensitive: Sequence[str],
    correlated: Sequence[Sequence[str]],
    most: int | None,
    box: float,
) -> None:
    """Refuse a model that breaks a constraint.

    Parameters
    ----------
    design, found : the available attributes, and the trained model
    sensitive : columns that may not be used
    correlated : sets of attributes that may not be used completely
    most : how many attributes may be used
    box : the largest coefficient
    """
    names = list(design.attributes)
    support = {names[unit] for unit in found.support}
    used = set(np.flatnonzero(np.any(found.coefficients != 0, axis=0)).tolist())
    chosen = {name for name, places in zip(names, design.units, strict=True) if used & set(places)}
    broken = None
    if {part.attribute.name for name in chosen for part in design.attributes[name]} & set(sensitive):
        broken = "a sensitive attribute is used"
    elif not chosen <= support:
        broken = "an attribute that was not chosen is used"
    elif most is not None and len(found.support) > most:
        broken = f"{len(found.support)} attributes are used, more than {most}"
    elif any(set(each) <= support for each in correlated):
        broken = "all attributes of a correlated set are used"
    elif np.abs(found.coefficients).max(initial=0.0) > box * (1 + _ROUNDING):
        broken = "a coefficient lies outside the box"
    if broken is not None:
        raise ModicumError(f"The model breaks a constraint: {broken}. This is an error in modicum; please report it.")


# The models

_HUGE = 1e12


@dataclass(frozen=True)
class PrismTask:
    """The records of a fit: attributes to choose from, the label, and the weight of each row."""

    discovery: Discovery
    design: Design
    columns: Floats
    label: str
    values: Any  # of the label
    weights: Floats


@dataclass(frozen=True)
class PreparedTask:
    """The input of training: the records, a trainer that remembers its solutions, and the forbidden sets."""

    task: PrismTask
    trainer: Trainer
    forbidden: list[tuple[int, ...]]


class LinearModel(BaseEstimator):
    """The base class of PriSM's models: read the data, train on the best attributes, compute scores.

    A subclass defines the targets (`_targets`) and may relax constraints (`_forbidden`, `_train`).
    """

    _loss = "hinge"

    def __init__(
        self,
        sensitive: str | Iterable[str] | None = None,
        *,
        critical_values: Any = None,
        max_predictors: int = 8,
        threshold: float = 0.02,
        encoding: str = "both",
        measure: Any = "cramers_v",
        p_value: float = 0.05,
        max_size: int = 5,
        known: Iterable[Iterable[str]] = (),
        correction: str | None = None,
        groups: Groups = "attribute",
        bins: int = 10,
        C: float = 1.0,
        class_weight: Any = None,
        box: float = 1000.0,
        tol: float = 1e-4,
        time_limit: float | None = None,
        schema: Schema | None = None,
        random_state: int | None = 0,
        progress: bool = True,
    ) -> None:
        self.sensitive = sensitive
        self.critical_values = critical_values
        self.max_predictors = max_predictors
        self.threshold = threshold
        self.encoding = encoding
        self.measure = measure
        self.p_value = p_value
        self.max_size = max_size
        self.known = known
        self.correction = correction
        self.groups = groups
        self.bins = bins
        self.C = C
        self.class_weight = class_weight
        self.box = box
        self.tol = tol
        self.time_limit = time_limit
        self.schema = schema
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn which attributes to ask for, and the model on them.

        Parameters
        ----------
        X : pandas or polars frame, or array
            The records, including the sensitive attribute. It is used to find what reveals it, never to predict. The
            columns of an array are called x0, x1, …
        y : array-like
            The label to predict.
        sample_weight : array-like of int, optional
            How many records each row represents.
        """
        self._train_and_store(self._prepare(X, y, sample_weight))
        return self

    def fit_path(self, X: Any, y: Any, max_predictors: Iterable[int], sample_weight: Any = None) -> list[Any]:
        """Fit one model for each number of predictors; correlations are searched only once.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        max_predictors : one number for each model
        """
        if not isinstance(max_predictors, Iterable):
            raise ParameterError(f"The 'max_predictors' parameter of a path must be a list. Got {max_predictors!r}.")
        models = [clone(self).set_params(max_predictors=most) for most in max_predictors]
        if not models:
            return []
        for model in models:
            model._check_parameters()
        first = clone(self).set_params(max_predictors=max(model.max_predictors for model in models))
        prepared = first._prepare(X, y, sample_weight)
        for model in models:
            model.__dict__ = first.__dict__ | {"max_predictors": model.max_predictors}
            model._train_and_store(prepared)
        return models

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> PreparedTask:
        """Do everything that comes before attributes are chosen."""
        self._check_parameters()
        task = self._task(X, y, sample_weight)
        targets = self._targets(task)
        costs = task.weights * self._cost(task)
        problem = Problem.of(task.columns, targets, costs, task.design.units, self.C, self.box, self._loss)
        return PreparedTask(task, Trainer(problem), self._forbidden(task))

    def _forbidden(self, task: PrismTask) -> list[tuple[int, ...]]:
        """Return the sets of attributes that may not be chosen completely: constraint (8) of [Barbato25 Figure 5]."""
        self.correlations_ = task.discovery.search(
            self.threshold, self.max_size, self.known, self.correction, self.progress
        )
        attributes = list(task.design.attributes)
        forbidden = forbidden_units(self.correlations_.sets, attributes)
        self.max_feasible_predictors_ = largest_support(len(attributes), forbidden)
        if not self.max_feasible_predictors_:
            raise DataError(
                f"Every attribute correlates with {format_names(self.sensitive_)} by itself "
                f"({format_names(attributes, 20)}): no classifier can exist. Raise the threshold "
                f"({self.threshold:g}), lower p_value, or remove a set from 'known'."
            )
        if self.max_feasible_predictors_ < min(self.max_predictors, len(attributes)):
            warnings.warn(
                f"At most {self.max_feasible_predictors_} of {len(attributes)} attributes can be used without "
                f"completing a correlated set, fewer than max_predictors={self.max_predictors}.",
                stacklevel=4,
            )
        return forbidden

    def _train(self, prepared: PreparedTask) -> Trained:
        return prepared.trainer.solve(
            self._support_limit(), prepared.forbidden, gap=self.tol, time_limit=self.time_limit, progress=self.progress
        )

    def _targets(self, task: PrismTask) -> Floats:
        raise ParameterError(f"{type(self).__name__} does not define what it predicts.")

    def _cost(self, task: PrismTask) -> Any:
        """The cost of an error on each record, by class."""
        return 1.0

    def _check_parameters(self) -> None:
        check_number(self, "max_predictors", 1)
        check_number(self, "C", 1e-9, _HUGE, whole=False)
        check_number(self, "box", 1e-9, _HUGE, whole=False)
        check_number(self, "tol", 1e-9, 1, whole=False)
        if self.random_state is not None:
            check_number(self, "random_state", 0)
        if self.time_limit is not None:
            check_number(self, "time_limit", 0, whole=False)

    def _task(self, X: Any, y: Any, sample_weight: Any) -> PrismTask:
        frame = frame_of(self, X)
        self._columns = list(frame.columns)
        if len(frame) < 2 or len(frame.columns) < 2:
            raise DataError(
                f"Training needs at least 2 records and an attribute other than the sensitive one. The data has "
                f"n_samples = {len(frame)} and n_features = {len(frame.columns)}."
            )
        schema = schema_of(self, frame)
        values = self._values(y, len(frame))
        weights = record_counts(sample_weight, len(frame))
        if weights is not None and (weights == 0).any():
            rows = np.flatnonzero(weights > 0)
            frame, values, weights = frame[rows.tolist()], values[rows], weights[rows]
        self.sensitive_ = sensitive_names(self.sensitive, schema)
        label = label_of(y)
        for name in (label, schema.label):
            if name in self.sensitive_:
                raise ParameterError(
                    f"The label {name!r} is the sensitive attribute itself, which must not be predicted. Choose "
                    "another label."
                )
        discovery = Discovery(
            frame,
            schema,
            self.sensitive_,
            critical_values=self.critical_values,
            encoding=self.encoding,
            measure=self.measure,
            p_value=self.p_value,
            bins=self.bins,
            groups=self.groups,
            exclude=attribute_columns(frame, frame.columns).get(label or "", ()),
            weights=weights,
            random_state=self.random_state,
        )
        counts = np.ones(len(frame)) if weights is None else weights.astype(np.float64)
        design = Design.fit(frame, schema, discovery.attributes, counts)
        if not design.attributes:
            raise DataError(
                f"Nothing to predict from: apart from {format_names(self.sensitive_)}, no attribute has more than one "
                f"value (n_features = {len(frame.columns)})."
            )
        classes = pd.factorize(values)[0]
        same = discovery.same_as(classes)
        if same is not None and classes.max() + 1 < len(classes):  # two columns of unique values always match
            raise DataError(f"The label {label or 'y'!r} reveals the sensitive attribute {same!r} exactly.")
        return PrismTask(discovery, design, design.encode(frame), label or "y", values, counts)

    def _values(self, y: Any, n: int) -> Any:
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return label_values(column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 else y, n)

    def _train_and_store(self, prepared: PreparedTask) -> None:
        """Train, check the result, and store it."""
        task, found = prepared.task, self._train(prepared)
        check_chosen(
            task.design,
            found,
            sensitive=[each for columns in task.discovery.sensitive.values() for each in columns],
            correlated=self.correlations_.sets if hasattr(self, "correlations_") else [],
            most=self._support_limit(),
            box=self.box,
        )
        if found.gap > self.tol:
            warnings.warn(
                f"Training ended before the best choice was proven: the gap is {found.gap:.2g}, not {self.tol:.2g}. "
                "Raise 'time_limit', or accept the gap with a larger 'tol'.",
                StoppedWarning,
                stacklevel=4,
            )
        names = list(task.design.attributes)
        self.predictors_ = [names[unit] for unit in found.support]
        self._design = task.design.only(self.predictors_)
        places = [place for unit in found.support for place in task.design.units[unit]]
        self._coefficients, self._intercepts = found.coefficients[:, places], found.intercepts
        self.coef_, self.intercept_ = self._design.in_original_units(self._coefficients, self._intercepts)
        self.columns_ = self._design.names
        self.objective_, self.bound_, self.optimality_gap_ = found.objective, found.bound, found.gap
        self.association_ = task.discovery.assess(self.predictors_)
        self._rescale_to_label()
        self._warn_of_joint_correlation()

    def _warn_of_joint_correlation(self) -> None:
        """Warn if all predictors together correlate, when they are too many for the search (`max_size`)."""
        together = self.association_
        if not hasattr(self, "correlations_") or len(self.predictors_) <= self.max_size:
            return
        if together.strength >= self.threshold and (together.p_value or 0.0) <= self.p_value:
            warnings.warn(
                f"All {len(self.predictors_)} predictors together correlate with {together.sensitive!r} (strength "
                f"{together.strength:.3f}, {together.by_chance or 0.0:.3f} by chance): sets above max_size="
                f"{self.max_size} are not searched. Raise max_size, or allow fewer predictors.",
                PrivacyWarning,
                stacklevel=5,
            )

    def _support_limit(self) -> int | None:
        """How many attributes may be chosen."""
        return self.max_predictors

    def _rescale_to_label(self) -> None:
        """Scale the coefficients back to the label's units; nothing to do for classes."""

    @property
    def needed_columns_(self) -> list[str]:
        """The columns that a prediction needs: those of the predictors."""
        check_is_fitted(self)
        return [part.attribute.name for part in self._design.parts]

    def _scores(self, X: Any) -> Floats:
        """w·x − b for each record and task."""
        check_is_fitted(self)
        records = new_records(self, X, self._columns, self.needed_columns_)
        return self._design.encode(records) @ self._coefficients.T - self._intercepts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


def label_of(y: Any) -> str | None:
    """Return the label's name: that of a series, or the only column of a frame."""
    columns = getattr(y, "columns", None)
    name = getattr(y, "name", None) if columns is None else columns[0] if len(columns) == 1 else None
    return None if name is None else str(name)


def sensitive_names(given: str | Iterable[str] | None, schema: Schema) -> list[str]:
    """Return the sensitive attributes, by default those of the schema."""
    named = schema.with_role("sensitive") if given is None else [given] if isinstance(given, str) else given
    if not isinstance(named, Iterable):
        raise ParameterError(f"The 'sensitive' parameter must be a name or a list of names. Got {given!r} instead.")
    found = list(dict.fromkeys(map(str, named)))
    if not found:
        raise ParameterError(
            "No attribute is sensitive: name one with the 'sensitive' parameter, or give it that role in the schema."
        )
    return found


def forbidden_units(sets: Sequence[Sequence[str]], attributes: Sequence[str]) -> list[tuple[int, ...]]:
    """Convert sets of names to sets of positions; skip a set with an attribute that cannot be chosen anyway."""
    place = {name: i for i, name in enumerate(attributes)}
    return [tuple(place[name] for name in each) for each in sets if all(name in place for name in each)]
