"""What the prediction loses if it uses only buckets."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline

from modicum.engines import is_table
from modicum.engines.sampling import SAMPLE, in_memory
from modicum.errors import DataError, ParameterError, format_names
from modicum.generalization import Generalization
from modicum.generalization.bins import FullDetail
from modicum.generalization.build import partition
from modicum.generalization.core import raw_generalization
from modicum.learners.boosting import RecordTrees, all_classes
from modicum.learners.inputs import Inputs, chunks
from modicum.learners.portfolio import NETWORK, NEURAL, TREES, LearnerQuestion, Portfolio
from modicum.measures.intervals import Interval, Resampling, mean_interval
from modicum.measures.scores import Predictions, compute_skill_kept
from modicum.table.codes import FEW, group_rows
from modicum.table.estimator_input import person_codes
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.table.targets import Labels, Target, label_name, label_values
from modicum.typing import Codes, Floats

# Groups of people to score separately: the values of a column, or ranges of a number

RANGES = 5
MOST_GROUPS = 50

Members = npt.NDArray[np.bool_]


def group_names(by: Any, frame: Any, schema: Schema) -> dict[str, Members]:
    """Return each group's name and members; `by` is a column, several columns, or one value per record."""
    if isinstance(by, str):
        return _of_column(by, frame, schema)
    values = list(by) if isinstance(by, Iterable) else []
    if _are_columns(values, frame):
        return {name: members for one in values for name, members in _of_column(one, frame, schema).items()}
    if len(values) != len(frame):
        raise ParameterError(
            f"The 'by' parameter must be a column, a list of columns, or one value for each of the {len(frame):,} "
            "test records."
        )
    return _name_groups("", *pd.factorize(pd.Series(values, dtype=object).astype(str)))


def _are_columns(values: list[Any], frame: Any) -> bool:
    """Whether the values are column names; as many values as records must all be distinct columns."""
    if not values or not all(isinstance(value, str) for value in values):
        return False
    return len(values) != len(frame) or (len(set(values)) == len(values) and set(values) <= set(frame.columns))


def _of_column(name: str, frame: Any, schema: Schema) -> dict[str, Members]:
    series = column(frame, name)
    if name in schema and schema[name].is_identifying:
        raise ParameterError(
            f"The column {name!r} identifies people, so scores by it would name them. Choose another column."
        )
    known = schema[name] if name in schema else Schema.infer(frame.select(name))[name]
    if known.is_category:
        codes, words = texts(series)
        return _name_groups(f"{name}: ", codes, [*words, "(missing)"])
    values = numbers(series, known)
    distinct, codes = np.unique(values, return_inverse=True)  # NaN counts as one value, the last
    if len(distinct) <= RANGES:
        return _name_groups(f"{name}: ", codes, ["(missing)" if v != v else f"{v:g}" for v in distinct])
    target = Target.fit(frame, known, bins=RANGES)
    labels = partition(target.coding, np.arange(target.size)).labels
    return _name_groups(f"{name}: ", target.encode(frame), labels)


def _name_groups(prefix: str, codes: Any, words: Any) -> dict[str, Members]:
    present = np.unique(codes)
    if len(present) > MOST_GROUPS:
        raise DataError(
            f"Scores by {prefix.removesuffix(': ') or 'group'!r} would have {len(present):,} groups, more than "
            f"{MOST_GROUPS}. Combine its values into fewer groups."
        )
    return {f"{prefix}{words[code]}": codes == code for code in present}


# Classifiers that learn from generalized records

# With these parameters a learner counts or splits rows, so distinct rows with weights would train it differently.
_COUNTS_ROWS = {
    "batch_size", "bootstrap", "cv", "early_stopping", "max_samples", "min_samples_leaf", "min_samples_split",
    "n_neighbors", "probability", "subsample", "validation_fraction",
}  # fmt: skip


class BucketModel(Protocol):
    """A model that learns class numbers from records and predicts a probability for each class."""

    def fit(self, X: Any, y: Codes) -> Any: ...

    def predict_proba(self, X: Any) -> Floats: ...


def model_on(g: Generalization, estimator: Any, n_classes: int, random_state: int) -> BucketModel:
    """Wrap the estimator so that it learns from records generalized by `g`."""
    if isinstance(estimator, str):
        if estimator == TREES:
            return RecordTrees(g, n_classes, random_state)
        if estimator in (NETWORK, *NEURAL):
            return _Network(g, estimator, n_classes, random_state)
    elif not isinstance(estimator, type) and hasattr(estimator, "fit") and hasattr(estimator, "predict_proba"):
        return _Pipeline(g, estimator, n_classes)
    raise ParameterError(
        f"The 'estimator' parameter must be {format_names((TREES, NETWORK, *NEURAL), limit=9)}, or a scikit-learn "
        f"classifier with predict_proba. Got {estimator!r} instead."
    )


def name_estimator(estimator: Any) -> str:
    """Return the name of an estimator: the given name, or its class."""
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def counts_rows(estimator: Any) -> bool:
    """Whether a learner needs every record: it takes no weights, or one of its parameters counts rows."""
    parameters = {name.split("__")[-1] for name in estimator.get_params()}
    return "sample_weight" not in inspect.signature(estimator.fit).parameters or bool(_COUNTS_ROWS & parameters)


class _Network:
    """A network trained on distinct z with counts; its L2 is tuned on a fifth of the records [Staab24 Appendix F]."""

    def __init__(self, g: Generalization, member: str, n_classes: int, random_state: int) -> None:
        self.g = g
        self.n_classes = n_classes
        self.portfolio = Portfolio((member,), random_state)

    def fit(self, X: Any, y: Codes) -> "_Network":
        inputs, cells = Inputs.of(self.g, X).distinct()
        self.portfolio.fit(
            inputs, cells, [LearnerQuestion(y, self.n_classes)], person_codes(self.g.schema, as_frame(X))
        )
        return self

    def predict_proba(self, X: Any) -> Floats:
        inputs, cells = Inputs.of(self.g, X).distinct()
        parts = [self.portfolio.predict(inputs[rows])[0] for rows in chunks(len(inputs), inputs.width)]
        return np.vstack(parts)[cells].astype(np.float64)


class _Pipeline:
    """A scikit-learn classifier after `g.encoder()`; trained on distinct (z, y) with counts if that is equivalent."""

    def __init__(self, g: Generalization, estimator: Any, n_classes: int) -> None:
        self.g = g
        self.n_classes = n_classes
        # The encoder's scaling of plain numbers takes no weights.
        self.by_rows = counts_rows(estimator) or any(isinstance(p, FullDetail) for p in g.partitions)
        self.model = make_pipeline(g.encoder(), clone(estimator))

    def fit(self, X: Any, y: Codes) -> "_Pipeline":
        frame = as_frame(X, self.g.names)
        if self.by_rows:
            self.model.fit(self._transform_frame(frame), y)
            return self
        groups = group_rows(np.column_stack([self.g.codes(frame), y]))
        _, first, counts = np.unique(groups, return_index=True, return_counts=True)
        last = self.model.steps[-1][0]
        self.model.fit(self._transform_frame(frame[first.tolist()]), y[first], **{f"{last}__sample_weight": counts})
        return self

    def predict_proba(self, X: Any) -> Floats:
        chances = self.model.predict_proba(self._transform_frame(as_frame(X, self.g.names)))
        return all_classes(chances, self.model.classes_, self.n_classes)

    def _transform_frame(self, frame: Any) -> Any:
        """Transform to a pandas frame, which keeps its rows even if nothing is collected."""
        return self.g.transform(frame.to_pandas())


# Records to learn from and to test on


@dataclass(frozen=True)
class TrainTest:
    """Training and test records, with their labels as class numbers.

    Attributes
    ----------
    train, test : frames with full records
    y, truth : their class numbers; -1 for a class that is not in the training records
    labels : the classes
    """

    train: Any
    y: Codes
    test: Any
    truth: Codes
    labels: Labels

    @classmethod
    def read(
        cls, X_train: Any, y_train: Any, X_test: Any, y_test: Any, label_bins: int | None, names: Any = None
    ) -> "TrainTest":
        """Read and check records and labels; `names` are the columns of arrays."""
        train, test = as_frame(X_train, names), as_frame(X_test, names)
        labels = Labels.fit(y_train, label_bins, name=label_name(y_train))
        y = labels.encode(label_values(y_train, len(train)))
        truth = labels.encode(label_values(y_test, len(test)))
        if not len(test):
            raise DataError("The test data has no rows.")
        return cls(train, y, test, truth, labels)

    def learn_chances(self, g: Generalization, estimator: Any, random_state: int) -> Floats:
        """Train on records generalized by `g`; return the class probabilities of each test record."""
        model = model_on(g, estimator, len(self.labels), random_state).fit(self.train, self.y)
        return model.predict_proba(self.test)

    @property
    def majority_chances(self) -> Floats:
        """The class shares of the training records, repeated for every test record."""
        return repeat_shares(self.y, len(self.labels), len(self.truth))


def count_people(records: int, persons: Codes | None) -> int:
    """Count the people in some records; without persons each record counts as one person."""
    return records if persons is None else len(np.unique(persons))


def repeat_shares(y: Codes, classes: int, many: int) -> Floats:
    """Return the share of each class, repeated for `many` records: the majority guess's probabilities."""
    return np.tile(np.bincount(y, minlength=classes) / len(y), (many, 1))


# Utility

WEAK = 0.02  # a raw model that lowers the majority guess's log-loss by less than this share barely predicts


@dataclass(frozen=True)
class Score:
    """One measure for the minimized data, raw data and the majority guess, with 95% intervals.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "sex"]]
    >>> g = md.PrivacyTree(max_leaves=6).fit(X[:2_000], y[:2_000]).generalization_
    >>> found = md.utility(g, X[:2_000], y[:2_000], X[2_000:3_000], y[2_000:3_000], by="sex")
    >>> auc = found.scores["auc"]
    >>> auc.more_is_better, auc.majority, auc.minimized > 0.7
    (True, 0.5, True)
    """

    minimized: float
    raw: float
    majority: float
    interval: Interval | None = None
    raw_interval: Interval | None = None
    more_is_better: bool = False


@dataclass(frozen=True)
class GroupScore:
    """The error within one group of test records; without a person column each record counts as a person.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "sex"]]
    >>> g = md.PrivacyTree(max_leaves=6).fit(X[:2_000], y[:2_000]).generalization_
    >>> found = md.utility(g, X[:2_000], y[:2_000], X[2_000:3_000], y[2_000:3_000], by="sex")
    >>> group = found.by_group["sex: Female"]
    >>> group.records == group.persons, group.interval[0] < group.error < group.interval[1]
    (True, True)
    """

    records: int
    persons: int
    error: float
    interval: Interval
    raw_error: float
    majority_error: float


@dataclass(frozen=True)
class Utility(PlainResult):
    """How well the label is predicted from minimized data.

    Attributes
    ----------
    error, raw_error, majority_error : share of wrong predictions on minimized data, on raw data, and for always
        predicting the most frequent class of the training data
    interval : 95% interval of the error
    skill_kept, skill_interval : the share of the raw model's log-loss gain over the majority guess that remains; NaN
        if the raw model gains nothing
    scores : "error", "log_loss", "auc" and the measures of `scoring` → `Score`
    rarest : number of records of the rarest class, in the training or the test records, whichever has fewer
    by_group : group → `GroupScore`

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "sex"]]
    >>> g = md.PrivacyTree(max_leaves=6).fit(X[:2_000], y[:2_000]).generalization_
    >>> found = md.utility(g, X[:2_000], y[:2_000], X[2_000:3_000], y[2_000:3_000], by="sex")
    >>> found.error < found.majority_error, found.is_weak, found.worst_group
    (True, False, 'sex: Male')
    """

    error: float
    interval: Interval
    raw_error: float
    majority_error: float
    skill_kept: float
    skill_interval: Interval
    scores: dict[str, Score]
    records: int
    trained_on: int
    estimator: str
    rarest: int
    by_group: dict[str, GroupScore] = field(default_factory=dict)

    _properties = ("raw_skill", "is_weak", "worst_group")

    @property
    def raw_skill(self) -> float:
        """The share of the majority guess's log-loss that the raw model removes."""
        loss = self.scores["log_loss"]
        return 1 - loss.raw / loss.majority if loss.majority else 0.0

    @property
    def is_weak(self) -> bool:
        """Whether even raw data barely predicts the label, so that skill kept means little."""
        return self.raw_skill < WEAK

    @property
    def worst_group(self) -> str | None:
        """The group of at least ten persons with the highest error."""
        large = [name for name, score in self.by_group.items() if score.persons >= FEW]
        return max(large, key=lambda name: self.by_group[name].error, default=None)


def utility(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    estimator: Any = TREES,
    scoring: str | Callable[..., float] | Sequence[str] | None = None,
    by: Any = None,
    label_bins: int | None = None,
    sample: int = SAMPLE,
    random_state: int = 0,
) -> Utility:
    """Train one model on minimized data and one on raw data, and compare both on test records.

    Parameters
    ----------
    g : Generalization
    X_train, y_train, X_test, y_test : full records and labels
    estimator : "boosted trees", "network" or a scikit-learn classifier
        Boosted trees by default: they are strong on raw tables, so a weak comparison does not hide the cost of
        minimizing. "network" is the paper's (one hidden layer of 50, [Staab24 Appendix F]). A classifier is trained
        after `g.encoder()` on distinct (z, y) with counts, or on all records if it takes no weights or one of its
        parameters counts rows.
    scoring : scikit-learn scorer, its name, or a list of names
        Additional measures in `scores`.
    by : column name, list of names, or one value per test record
        Groups to score separately; a number is cut into five ranges.
    label_bins : int, optional
        Number of ranges for a numeric label, with edges learned from `y_train`.
    sample : int
        About how many records to draw from a table in an engine, for training and for testing; the same records in
        every engine. The label is then the name of a column. `trained_on` and `records` hold the exact numbers.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=10).fit(X[:6_000], y[:6_000]).generalization_
    >>> u = md.utility(g, X[:6_000], y[:6_000], X[6_000:9_000], y[6_000:9_000], by="sex")
    >>> u.raw_error < u.majority_error, 0.5 < u.skill_kept < 1.1
    (True, True)
    >>> u.worst_group
    'sex: Male'
    """
    check_generalization(g)
    group_columns = [by] if isinstance(by, str) else by if isinstance(by, list | tuple) and is_table(X_test) else []
    X_train, y_train = in_memory(g, X_train, y_train, sample, random_state, group_columns)
    X_test, y_test = in_memory(g, X_test, y_test, sample, random_state, group_columns)
    data = TrainTest.read(X_train, y_train, X_test, y_test, label_bins, g.names)
    groups = None if by is None else group_names(by, data.test, g.schema)
    inputs = {"minimized": g, "raw": raw_generalization(data.train, g.schema)}
    chances = {name: data.learn_chances(each, estimator, random_state) for name, each in inputs.items()}
    chances["majority"] = data.majority_chances
    return compare_utility(
        chances,
        data.truth,
        persons=person_codes(g.schema, data.test),
        groups=groups,
        trained_on=len(data.train),
        estimator=estimator,
        scoring=scoring,
        random_state=random_state,
    )


def compare_utility(
    chances: dict[str, Floats],
    truth: Codes,
    *,
    persons: Codes | None,
    groups: Mapping[str, Members] | None,
    trained_on: int,
    estimator: Any,
    random_state: int,
    scoring: Any = None,
) -> Utility:
    """Compare three models by their class probabilities on the same test records.

    Parameters
    ----------
    chances : class probabilities of the models "minimized", "raw" and "majority", in this order
    truth : each test record's class
    persons : each test record's person, if one person may have several records
    groups : name → members of the groups to score separately
    """
    predictions = {name: Predictions(c, truth) for name, c in chances.items()}
    classes = chances["majority"].shape[1]
    scores, kept = _scores(predictions, Resampling(len(truth), persons, _draws(len(truth), classes), random_state))
    for name, scorer in _scorers(scoring).items():
        values = {model: _apply_scorer(scorer, name, c, truth) for model, c in chances.items()}
        scores[name] = Score(values["minimized"], values["raw"], values["majority"], more_is_better=True)
    return Utility(
        error=scores["error"].minimized,
        interval=scores["error"].interval or (0.0, 1.0),
        raw_error=scores["error"].raw,
        majority_error=scores["error"].majority,
        skill_kept=compute_skill_kept(*(p.log_loss() for p in predictions.values())),
        skill_interval=kept,
        scores=scores,
        records=len(truth),
        trained_on=trained_on,
        estimator=name_estimator(estimator),
        rarest=_rarest(truth, chances["majority"][0] * trained_on),
        by_group={} if groups is None else _by_group(predictions, groups, persons),
    )


def _rarest(truth: Codes, trained: Floats) -> int:
    """Count the records of the rarest class, in the test or the training records, whichever has fewer."""
    return int(min(np.bincount(truth[truth >= 0], minlength=len(trained)).min(), round(trained.min())))


def check_generalization(g: Any) -> None:
    """Reject anything except a generalization; `certify` and the attacks judge cells."""
    if not isinstance(g, Generalization):
        raise ParameterError(f"The 'g' parameter must be a Generalization. Got {type(g).__name__} instead.")


def _scores(predictions: dict[str, Predictions], resampling: Resampling) -> tuple[dict[str, Score], Interval]:
    """Compute error, log-loss and AUC with their intervals, and the interval of the skill kept."""
    minimized, raw, majority = predictions.values()

    def compute_resampled(draws: Any) -> list[float]:
        values = [f(draws) for p in (minimized, raw) for f in (p.log_loss, p.auc)]
        return [*values, compute_skill_kept(values[0], values[2], majority.log_loss(draws))]

    loss, auc, raw_loss, raw_auc, skill = resampling.intervals(compute_resampled)
    intervals = {
        "error": [mean_interval(p.wrong, resampling.units) for p in (minimized, raw)],
        "log_loss": [loss, raw_loss],
        "auc": [auc, raw_auc],
    }
    scores = {
        name: Score(
            minimized=getattr(minimized, name)(),
            raw=getattr(raw, name)(),
            majority=getattr(majority, name)(),
            interval=interval,
            raw_interval=raw_interval,
            more_is_better=name == "auc",
        )
        for name, (interval, raw_interval) in intervals.items()
    }
    return scores, skill


def _draws(n: int, classes: int) -> int:
    """Choose the number of resamples: fewer for large tables, which have narrow intervals and take long to draw."""
    return int(np.clip(2e7 / (n * classes), 50, 200))


def _by_group(
    predictions: dict[str, Predictions], names: Mapping[str, Members], persons: Codes | None
) -> dict[str, GroupScore]:
    groups = {}
    for name, members in names.items():
        n = int(members.sum())
        errors = [float(p.wrong[members].mean()) for p in predictions.values()]
        units = None if persons is None else np.unique(persons[members], return_inverse=True)[1]
        interval = mean_interval(predictions["minimized"].wrong[members], units)
        groups[name] = GroupScore(n, count_people(n, units), errors[0], interval, errors[1], errors[2])
    return groups


def _scorers(scoring: Any) -> dict[str, Callable[..., float]]:
    if scoring is None:
        return {}
    given = [scoring] if isinstance(scoring, str) or callable(scoring) else list(scoring)
    try:
        return {s if isinstance(s, str) else getattr(s, "__name__", "custom"): get_scorer(s) for s in given}
    except (ValueError, TypeError) as error:
        raise ParameterError(f"The 'scoring' parameter must be a scikit-learn scorer. Got {scoring!r}.") from error


def _apply_scorer(scorer: Callable[..., float], name: str, chances: Floats, truth: Codes) -> float:
    """Return a scorer's value on the records whose class occurs in training."""
    known = truth >= 0
    try:
        return float(scorer(_Scored(chances[known]), None, truth[known]))
    except (ValueError, TypeError) as error:
        raise ParameterError(f"The scorer {name!r} cannot be used here: {error}") from None


class _Scored(ClassifierMixin, BaseEstimator):
    """Ready class probabilities, wrapped as a classifier for scikit-learn's scorers."""

    def __init__(self, chances: Floats) -> None:
        self.chances = chances
        self.classes_ = np.arange(chances.shape[1])

    def fit(self, X: Any, y: Any) -> "_Scored":
        return self

    def predict(self, X: Any) -> Codes:
        return self.chances.argmax(axis=1)

    def predict_proba(self, X: Any) -> Floats:
        return self.chances
