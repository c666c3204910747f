"""A classifier that learns only from an anatomized release [Mancuhan16 Definitions 14 and 15]."""

import os
from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from modicum.anatomy.anatomy import Anatomy
from modicum.anatomy.training import KINDS, PRUNE_PER, SPACES, TrainingSet, class_of, training_set
from modicum.errors import DataError, ParameterError, check_choice, check_number
from modicum.learners.columns import Design
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.table.estimator_input import frame_of, new_records
from modicum.table.schema import Schema
from modicum.table.targets import label_name, label_values

_ESTIMATOR = 5  # separates the estimator's random numbers from those of groups and ties


def _can(method: str) -> Any:
    """Offer a method only if the fitted estimator, or before fitting the given one, has it."""

    def has_method(self: "AnatomyClassifier") -> bool:
        given = LinearSVC() if self.estimator is None else self.estimator
        getattr(getattr(self, "estimator_", given), method)
        return True

    return available_if(has_method)


class AnatomyClassifier(ClassifierMixin, BaseEstimator):
    """A classifier trained on an identifying and a sensitive table that hide who has which sensitive value.

    `fit` anatomizes the given records and learns only from the release, so that cross-validation anatomizes each
    training fold separately. `fit_release` learns from an existing release. Predictions are for ordinary records,
    neither anatomized nor anonymized.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A linear support vector machine (`LinearSVC`) by default. It gets numeric columns: numbers with mean 0 and
        standard deviation 1, ordered categories as the place in their order [Mancuhan16 Appendix B], others one-hot,
        missing values as separate columns. A `Pipeline`, or a search around one, instead gets frames in the original
        domain with the attributes as columns and encodes them itself; `predict` passes frames to it unchanged.
    l : int
        ℓ of [Mancuhan16 Definition 9]: no sensitive value is more than 1/ℓ of its group.
    sensitive : name or names
        The columns to protect; by default those with that role in the schema.
    grouping : "bucketize" or "random"
        How groups are made: see `Anatomy`.
    max_suppressed : number from 0 to 1
        The largest share of records that may be left out if a value is too frequent for ℓ.
    training : "pruned", "joined" or "identifying"
        The training data to make from the release: see `modicum.anatomy.training_data`. With "joined" each row has the
        weight 1 / |G| if the estimator accepts weights; a pipeline or a search does not. With "identifying" a
        prediction does not need the sensitive attributes. The paper's pruning rarely keeps the most frequent value.
        This hurts a linear model if the sensitive attribute is nominal and one value dominates; then use "joined".
    prune_per : "record" or "group"
        Whether pruning keeps one candidate for each record or for each group.
    space : "input" or "kernel"
        The space in which pruning measures norms.
    schema : Schema, optional
        Kinds and roles of the columns.
    random_state : int, optional
        Seed of the groups, of ties, and of the estimator's unset random states; each has its own stream. By default
        every fit is random. With this number and `release_` an adversary could repeat part of the assignment: keep the
        number, and the model that contains it, as secret as the data.

    Attributes
    ----------
    release_ : AnatomyRelease
        The only data that the model has seen.
    estimator_ : the fitted classifier
    classes_ : the labels
    needed_columns_ : the columns that a prediction needs

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "sex", "hours-per-week", "relationship", "education"]]
    >>> model = md.AnatomyClassifier(l=3, sensitive="education", random_state=0).fit(X[:3_000], y[:3_000])
    >>> model.release_.l, model.predict(X[3_000:3_003]).tolist()
    (3, ['<=50K', '>50K', '<=50K'])
    >>> again = md.AnatomyClassifier(random_state=0).fit_release(model.release_)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """

    classes_: npt.NDArray[Any]

    def __init__(
        self,
        estimator: Any = None,
        l: int = 3,
        sensitive: str | Iterable[str] | None = None,
        *,
        grouping: str = "bucketize",
        max_suppressed: float = 0.0,
        training: str = "pruned",
        prune_per: str = "record",
        space: str = "input",
        schema: Schema | None = None,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.l = l
        self.sensitive = sensitive
        self.grouping = grouping
        self.max_suppressed = max_suppressed
        self.training = training
        self.prune_per = prune_per
        self.space = space
        self.schema = schema
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "AnatomyClassifier":
        """Anatomize these records, and learn from the release.

        Parameters
        ----------
        X : pandas or polars frame, or array
            The records, one per person, including the sensitive columns (an array's columns are called x0, x1, …).
        y : array-like
            The class to predict, which goes into the identifying table.
        """
        self._check_parameters()
        frame = frame_of(self, X)
        if len(frame) < 2 or len(frame.columns) < 2:
            raise DataError(
                "Training needs at least 2 records and one attribute besides the sensitive one; there are n_samples = "
                f"{len(frame)} and n_features = {len(frame.columns)}."
            )
        values = self._values(y, len(frame))
        anatomy = Anatomy(
            self.l,
            self.sensitive,
            grouping=self.grouping,
            max_suppressed=self.max_suppressed,
            schema=self.schema,
            random_state=self.random_state,
        )
        self.fit_release(anatomy.fit(X, y if getattr(y, "ndim", 1) == 1 else values).release_)
        self._columns = list(frame_of(self, X).columns)  # predict expects the same width
        self.classes_ = self.classes_.astype(values.dtype)
        return self

    def fit_release(self, release: AnatomyRelease | str | os.PathLike[str]) -> "AnatomyClassifier":
        """Learn from a release or from the folder where one is saved.

        Parameters
        ----------
        release : AnatomyRelease or path
            Its identifying table must contain the class.
        """
        self._check_parameters()
        if isinstance(release, str | os.PathLike):
            release = AnatomyRelease.load(release)
        if not isinstance(release, AnatomyRelease):
            got = type(release).__name__
            raise ParameterError(f"The 'release' parameter must be an AnatomyRelease or a folder. Got {got} instead.")
        _check_classes(class_of(release))
        self.release_ = release
        training = training_set(
            release, self.training, prune_per=self.prune_per, space=self.space, random_state=self.random_state
        )
        self._columns = self.needed_columns_ = list(training.X.columns)
        self.feature_names_in_ = np.array(self._columns, dtype=object)
        self.n_features_in_ = len(self._columns)
        self._learn(training)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict each record's class. A frame needs the `needed_columns_`, an array the same width as in fit."""
        return np.asarray(self._call_estimator("predict", X)).astype(self.classes_.dtype)

    @_can("decision_function")
    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Return each record's score for the second class; with more than two classes, one column per class."""
        return np.asarray(self._call_estimator("decision_function", X))

    @_can("predict_proba")
    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """Return the probability of each class, one column per class."""
        return np.asarray(self._call_estimator("predict_proba", X))

    def _call_estimator(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        records = new_records(self, X, self._columns, self.needed_columns_)
        if not len(records):  # most estimators refuse an empty input
            is_flat = method == "predict" or (method == "decision_function" and len(self.classes_) == 2)
            return np.zeros((0,) if is_flat else (0, len(self.classes_)))
        return getattr(self.estimator_, method)(self._inputs(records))

    def _learn(self, training: TrainingSet) -> None:
        assert training.y is not None
        y, options = label_values(training.y, name=self.release_.label), {}
        model = LinearSVC(dual=False) if self.estimator is None else clone(self.estimator)
        model.set_params(**self._seeds(model))
        self._design = None if _encodes_frames(model) else _fit_design(training, self.release_.schema)
        if self.training == "joined" and has_fit_parameter(model, "sample_weight"):
            options = {"sample_weight": training.weights}
        self.estimator_ = model.fit(self._inputs(training.X), y, **options)
        self.classes_ = np.asarray(self.estimator_.classes_)

    def _seeds(self, model: Any) -> dict[str, int]:
        """Return a seed for each unset random state of the estimator, different from the seed that made the groups."""
        if self.random_state is None:
            return {}
        unset = [name for name, value in model.get_params().items() if value is None]
        seed = int(np.random.SeedSequence([self.random_state, _ESTIMATOR]).generate_state(1)[0] >> 1)
        return {name: seed for name in unset if name.split("__")[-1] == "random_state"}

    def _inputs(self, frame: nw.DataFrame[Any]) -> Any:
        """Return the estimator's input: the frame for a pipeline, otherwise numeric columns."""
        if self._design is None:
            return frame.select(self.needed_columns_).to_native()
        return self._design.encode(frame)

    def _values(self, y: Any, n: int) -> npt.NDArray[Any]:
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return label_values(column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 else y, n)

    def _check_parameters(self) -> None:
        check_choice(self, "training", KINDS)
        check_choice(self, "prune_per", PRUNE_PER)
        check_choice(self, "space", SPACES)
        if self.random_state is not None:
            check_number(self, "random_state", 0)
        if self.estimator is None:
            return
        if isinstance(self.estimator, type):
            raise ParameterError(
                f"The 'estimator' parameter of {type(self).__name__} must be a scikit-learn classifier, not its class: "
                f"{self.estimator.__name__}() instead of {self.estimator.__name__}."
            )
        if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")):
            raise ParameterError(
                f"The 'estimator' parameter of {type(self).__name__} must be a scikit-learn classifier. "
                f"Got {self.estimator!r} instead."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


def _encodes_frames(model: Any) -> bool:
    """Whether the model is a pipeline or contains one."""
    while model is not None and not isinstance(model, Pipeline):
        model = getattr(model, "estimator", None)
    return model is not None


def _fit_design(training: TrainingSet, schema: Schema) -> Design:
    design = Design.fit(training.X, schema, {name: (name,) for name in training.X.columns}, training.weights, "place")
    if not design.attributes:
        raise DataError(
            "No attribute of the release has more than one value to predict from "
            f"(n_features = {len(training.X.columns)})."
        )
    return design


def _check_classes(series: nw.Series[Any]) -> None:
    values, name = label_values(series), label_name(series)
    try:
        check_classification_targets(values)
    except ValueError:
        what = "numbers with fractions" if values.dtype.kind == "f" else "values of several kinds"
        raise DataError(f"Unknown label type: the class {name!r} contains {what}; use text labels.") from None
    if len(np.unique(values)) < 2:
        raise DataError(f"The class {name!r} is the same for all records, so there is nothing to predict (1 class).")
