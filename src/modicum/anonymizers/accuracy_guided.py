"""Accuracy-guided anonymization: groups with the same prediction of a model [Goldsteen21 §3, Algorithm 1]."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.group_representatives import (
    GroupMembers,
    GroupValues,
    Representatives,
    median,
    of_codes,
    usual_label,
)
from modicum.anonymizers.out_of_core.cut_tree import Upper
from modicum.anonymizers.out_of_core.upper_guided import grow_guided_groups, grow_guided_parts, guide_at
from modicum.anonymizers.out_of_core.whole_task import WholeTask
from modicum.anonymizers.ranks import Ranked
from modicum.anonymizers.task import Task, class_codes, split
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError
from modicum.generalization.representatives import build_typed_column
from modicum.learners.asking import Model, Predictions
from modicum.measures.closeness import Distance
from modicum.measures.diversity import Diversity
from modicum.table.frames import is_array
from modicum.table.schema import Schema
from modicum.table.targets import MAX_CATEGORIES_OF_LABEL, Labels, label_values
from modicum.typing import Codes

# Find synthetic records for which the model predicts the usual class of their group.
#
# The model first predicts every group's medians. If the prediction is not the usual one of the group, other synthetic
# records are tried, with some attributes at another quantile or at another category that at least two records of the
# group have. Among those with the usual prediction, the one nearest to the medians is used. If there is none, the
# medians stay.

_SHARES = (0.1, 0.25, 0.75, 0.9)
_TRIES = 24
_MOVED = 0.35  # the probability that a try changes an attribute

# Lists of values, one per attribute, and the group that each record represents → the predicted classes.
Predict = Callable[[Sequence[list[Any]], Codes], Codes]


def find_accepted_records(
    members: Sequence[GroupMembers], usual: Codes, predict: Predict, random_state: int
) -> list[GroupValues]:
    """Find a record for each group with the group's usual prediction; fall back to the medians."""
    middle = [median(each) for each in members]
    wrong = np.flatnonzero(predict([each.values for each in middle], np.arange(len(usual))) != usual)
    if not len(wrong):
        return middle
    choices = [_list_choices(each, own, wrong) for each, own in zip(members, middle, strict=True)]
    random = np.random.default_rng(random_state)
    moved = random.uniform(size=(_TRIES, len(members), len(wrong))) < _MOVED
    which = random.integers(0, 2**31, size=moved.shape) * moved
    tried = [
        [options[which[i, j, g] % len(options)] for i in range(_TRIES) for g, options in enumerate(own)]
        for j, own in enumerate(choices)
    ]
    right = (predict(tried, np.tile(wrong, _TRIES)) == np.tile(usual[wrong], _TRIES)).reshape(_TRIES, len(wrong))
    cost = np.where(right, _measure_distance(middle, tried, wrong), np.inf)
    best = cost.argmin(axis=0)
    found = np.isfinite(cost.min(axis=0))
    for j, own in enumerate(middle):
        for g, group in enumerate(wrong.tolist()):
            if found[g]:
                own.values[group] = tried[j][best[g] * len(wrong) + g]
    return middle


def _list_choices(members: GroupMembers, middle: GroupValues, groups: Codes) -> list[list[Any]]:
    """List for each of these groups the median, then other values that more than one person has."""
    column = members.column
    if column.attribute.has_order:
        others = [median(members, share) for share in _SHARES]
    else:
        common = np.argsort(-np.bincount(column.codes), kind="stable")[:6].tolist()
        codes = [np.full(len(middle.values), code) for code in common]
        others = [of_codes(column, np.where(members.is_shared(code), code, column.missing)) for code in codes]
    return [
        [middle.values[group], *(each.values[group] for each in others if each.values[group] is not None)]
        for group in groups.tolist()
    ]


def _measure_distance(middle: Sequence[GroupValues], tried: Sequence[Sequence[Any]], wrong: Codes) -> Any:
    """Measure how far each try is from the medians: by position if ordered, 1 for another category."""
    total = np.zeros((_TRIES, len(wrong)))
    for own, values in zip(middle, tried, strict=True):
        positions = GroupValues(own.column, list(values)).positions.reshape(_TRIES, len(wrong))
        distances = np.abs(positions - own.positions[wrong])
        total += distances if own.column.attribute.has_order else distances > 0
    return total


# The model that guides an anonymization: its predictions for the records and for representatives of groups.


class GuidingModel:
    """A model and the columns that it needs.

    Parameters
    ----------
    model : fitted estimator, or function of a frame
    task : Task
        The records. The model gets the columns it was fitted on, otherwise all that may be collected.
    array : bool
        Whether the model takes arrays.

    Attributes
    ----------
    predictions : the model's predictions for the records
    """

    def __init__(self, model: Any, task: Task, array: bool) -> None:
        self._model = Model(model)
        self._array = array
        names = None if array else getattr(model, "feature_names_in_", None)
        self._columns = task.schema.features if names is None else [str(name) for name in names]
        absent = [name for name in self._columns if name not in task.schema]
        if absent:
            raise DataError(f"The model needs the column {absent[0]!r}, which is not in the data or its schema.")
        self.predictions = self._predict(task.frame.select(self._columns))

    def find_representatives(self, task: Task, members: Sequence[GroupMembers], random_state: int) -> list[GroupValues]:
        """Find a synthetic record for each group with the prediction of most of the group.

        Columns that are not quasi-identifiers are released unchanged; for predictions their medians are used.
        """
        groups = members[0].groups
        if task.guide is None or class_codes(self.predictions, len(self.predictions)) is None:  # numbers, in tenths
            return [median(each) for each in members]
        classes = np.unique(self.predictions)
        others = [name for name in self._columns if name not in task.names]
        ranked = Ranked.of(task.frame, task.schema, others) if others else Ranked(())
        medians = {each.attribute.name: median(GroupMembers(each, groups)).written for each in ranked.columns}

        def predict(values: Sequence[list[Any]], of: Codes) -> Codes:
            columns = {
                name: GroupValues(each.column, own).written
                for name, each, own in zip(task.names, members, values, strict=True)
            }
            columns |= {name: [written[group] for group in of.tolist()] for name, written in medians.items()}
            return pd.Index(classes).get_indexer(pd.Index(self._predict(self._build_records(task, columns))))

        return find_accepted_records(members, usual_label(groups, task.guide), predict, random_state)

    def _build_records(self, task: Task, values: dict[str, list[Any]]) -> nw.DataFrame[Any]:
        """Build records from values in the types of the data."""
        columns = {}
        for name in self._columns:
            own = values[name]
            column = build_typed_column(task.schema[name], own, np.arange(len(own)), task.frame)
            columns[name] = nw.from_native(column, series_only=True)
        if isinstance(task.frame.to_native(), pd.DataFrame):
            plain = {name: each.to_native().reset_index(drop=True) for name, each in columns.items()}
            return nw.from_native(pd.DataFrame(plain), eager_only=True)
        return nw.from_dict(columns)

    def _predict(self, frame: nw.DataFrame[Any]) -> Predictions:
        native = frame.to_native()
        return self._model(native.to_numpy() if self._array else native)


# The anonymizer

_BINS = 10  # for numeric predictions


class AccuracyGuided(Anonymizer):
    """k-anonymous records that keep a model accurate [Goldsteen21 Algorithm 1].

    A decision tree on the quasi-identifiers learns a model's predictions (or the label, without a model). Each leaf
    has at least k records, and all records of a leaf get the same quasi-identifiers. Records with the same prediction
    are grouped, so that little of what the model needs is lost.

    **How this differs from the paper.** The tree grows on the released records. The paper grows it on another 40% of
    the data, which does not guarantee k released records in every leaf. Categories are split into subsets of values,
    without one-hot columns. The paper stops if all records of a leaf have the same prediction; by default such leaves
    are split further, so that records change less (`refine`). ℓ-diversity and t-closeness, which the paper names as
    extensions, hold at every split. By default a leaf's representative is synthetic, not a person's record. With a
    model, it has the prediction of most of the leaf if such a record is found nearby.

    Parameters
    ----------
    model : fitted estimator or function of a frame, optional
        The model to keep accurate. It predicts the records in X; without a model, y guides the tree.
    refine : bool
        Split leaves further once the tree has nothing left to learn, as `RPlusTree` does. The paper's algorithm is
        `refine=False` with `representatives="record"`.
    k : int
        The minimum number of records (persons, if the schema has a person column) with equal quasi-identifiers.
    quasi_identifiers : names
        The attributes that could identify people; by default all except the sensitive one.
    l, t, sensitive
        ℓ-diversity and t-closeness of one attribute in every group.
    diversity, c, distance, representatives, output, max_suppressed, schema, random_state
        As in `modicum.anonymizers.base.Anonymizer`; `fit` ignores `max_suppressed` and leaves no record out.

    Attributes
    ----------
    release_ : Release
        The anonymous table and its measured privacy and loss.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> anonymizer = md.AccuracyGuided(k=100, quasi_identifiers=["age", "sex", "education", "occupation"])
    >>> Z = anonymizer.fit_transform(X[:5_000], y[:5_000])
    >>> len(Z), md.measures.k_anonymity(Z, anonymizer.quasi_identifiers) >= 100
    (5000, True)
    """

    _flags = ("refine",)

    def __init__(
        self,
        k: int = 10,
        quasi_identifiers: Iterable[str] | None = None,
        model: Any = None,
        *,
        refine: bool = True,
        l: float | None = None,
        t: float | None = None,
        sensitive: str | None = None,
        diversity: Diversity = "distinct",
        c: float = 4.0,
        distance: Distance | None = None,
        representatives: Representatives = "median",
        output: str = "values",
        max_suppressed: float = 0.05,
        schema: Schema | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            k,
            quasi_identifiers=quasi_identifiers,
            l=l,
            t=t,
            sensitive=sensitive,
            diversity=diversity,
            c=c,
            distance=distance,
            representatives=representatives,
            output=output,
            max_suppressed=max_suppressed,
            schema=schema,
            random_state=random_state,
        )
        self.model = model
        self.refine = refine

    def __sklearn_clone__(self) -> "AccuracyGuided":
        """Clone the estimator but keep the fitted model, because cloning a model discards its fit."""
        params = self.get_params(deep=False)
        return type(self)(**{n: v if n == "model" else clone(v, safe=False) for n, v in params.items()})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.model is None
        return tags

    def _check_engine(self) -> None:
        if self.model is not None:
            raise ParameterError(
                "AccuracyGuided uses a model only in memory. For release_to, write the model's predictions into a "
                "column of the table and give its name as y."
            )

    def _complete_task(self, table: EngineTable, task: WholeTask, y: str | None) -> WholeTask:
        if y is None:
            raise DataError("AccuracyGuided requires y to be passed: the name of the column that guides it.")
        return replace(task, guide=guide_at(table, task, y, _BINS))

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        return grow_guided_parts(table, task, rows)

    def _task(self, X: Any, y: Any) -> Task:
        self._check_settings()
        if self.model is None and y is None:
            raise DataError("AccuracyGuided requires y to be passed, but the target y is None; or give it a model.")
        task = super()._task(X, y)
        model = None if self.model is None else GuidingModel(self.model, task, is_array(X))
        target = label_values(y) if model is None else model.predictions
        return replace(task, guide=_code_target(target, len(task.frame)), model=model)

    def _groups(self, task: Task) -> Codes:
        assert task.guide is not None
        groups = grow_guided_groups(task, task.guide)
        return split(task.ranked, task.needs, tight=True, groups=groups) if self.refine else groups

    def _values(self, task: Task, groups: Codes) -> list[GroupValues]:
        if task.model is None or self.representatives != "median":
            return super()._values(task, groups)
        members = [GroupMembers(column, groups, task.needs.persons) for column in task.ranked.columns]
        values: list[GroupValues] = task.model.find_representatives(task, members, self.random_state)
        return values


def _code_target(target: Any, n: int) -> Codes:
    """Code the predictions or labels as classes; divide numbers into tenths of the records."""
    codes = class_codes(target, n)
    if codes is None:
        return Labels.fit(target, bins=_BINS).encode(target)
    if codes.max() >= MAX_CATEGORIES_OF_LABEL:
        raise DataError(f"There are {codes.max() + 1:,} classes, more than {MAX_CATEGORIES_OF_LABEL:,}; merge some.")
    return codes
