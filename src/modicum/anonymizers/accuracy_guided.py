"""Accuracy-guided anonymization: groups in which a model says the same [Goldsteen21 §3, Algorithm 1]."""

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

# Made-up records that the model takes for what they stand for.
#
# The model is asked about every group's medians. Where it says something else than of most of the group, other made-up
# records are tried: some attributes at another quantile, or at another category that at least two records of the group
# have. The one nearest to the medians of which the model says what it should is taken; where there is none, the medians
# stay.

_SHARES = (0.1, 0.25, 0.75, 0.9)
_TRIES = 24
_MOVED = 0.35  # the chance that an attribute is moved in a try

# Lists of values, one per attribute, and the group that each record stands for → what the model says.
Asking = Callable[[Sequence[list[Any]], Codes], Codes]


def find_accepted_records(
    members: Sequence[GroupMembers], usual: Codes, ask: Asking, random_state: int
) -> list[GroupValues]:
    """A record for each group of which the model says what is usual there, where one was found."""
    middle = [median(each) for each in members]
    wrong = np.flatnonzero(ask([each.values for each in middle], np.arange(len(usual))) != usual)
    if not len(wrong):
        return middle
    choices = [_choices(each, own, wrong) for each, own in zip(members, middle, strict=True)]
    random = np.random.default_rng(random_state)
    moved = random.uniform(size=(_TRIES, len(members), len(wrong))) < _MOVED
    which = random.integers(0, 2**31, size=moved.shape) * moved
    tried = [
        [options[which[i, j, g] % len(options)] for i in range(_TRIES) for g, options in enumerate(own)]
        for j, own in enumerate(choices)
    ]
    right = (ask(tried, np.tile(wrong, _TRIES)) == np.tile(usual[wrong], _TRIES)).reshape(_TRIES, len(wrong))
    cost = np.where(right, _distance(middle, tried, wrong), np.inf)
    best = cost.argmin(axis=0)
    found = np.isfinite(cost.min(axis=0))
    for j, own in enumerate(middle):
        for g, group in enumerate(wrong.tolist()):
            if found[g]:
                own.values[group] = tried[j][best[g] * len(wrong) + g]
    return middle


def _choices(members: GroupMembers, middle: GroupValues, groups: Codes) -> list[list[Any]]:
    """For each of some groups the median, then other values that are not one person's."""
    column = members.column
    if column.attribute.has_order:
        others = [median(members, share) for share in _SHARES]
    else:
        common = np.argsort(-np.bincount(column.codes), kind="stable")[:6].tolist()
        tried = [np.full(len(middle.values), code) for code in common]
        others = [of_codes(column, np.where(members.is_shared(code), code, column.missing)) for code in tried]
    return [
        [middle.values[group], *(each.values[group] for each in others if each.values[group] is not None)]
        for group in groups.tolist()
    ]


def _distance(middle: Sequence[GroupValues], tried: Sequence[Sequence[Any]], wrong: Codes) -> Any:
    """How far each try lies from the medians: positions for an order, 1 for another category."""
    total = np.zeros((_TRIES, len(wrong)))
    for own, values in zip(middle, tried, strict=True):
        there = GroupValues(own.column, list(values)).positions.reshape(_TRIES, len(wrong))
        apart = np.abs(there - own.positions[wrong])
        total += apart if own.column.attribute.has_order else apart > 0
    return total


# The model that guides an anonymization: what it says of the records, and of those that are to stand for groups.


class GuidingModel:
    """A model and the columns that it takes.

    Parameters
    ----------
    model : fitted estimator, or function of a frame
    task : Task
        The records; the model takes those columns of them that it was fitted to, else all that may be collected.
    array : bool
        Whether it takes arrays.

    Attributes
    ----------
    said : what the model says of the records
    """

    def __init__(self, model: Any, task: Task, array: bool) -> None:
        self._model = Model(model)
        self._array = array
        known = None if array else getattr(model, "feature_names_in_", None)
        self._columns = task.schema.features if known is None else [str(name) for name in known]
        absent = [name for name in self._columns if name not in task.schema]
        if absent:
            raise DataError(f"The model takes a column {absent[0]!r}, which the data or its schema does not have.")
        self.said = self._ask(task.frame.select(self._columns))

    def stand_ins(self, task: Task, members: Sequence[GroupMembers], random_state: int) -> list[GroupValues]:
        """For each group a made-up record of which the model says what it says of most of the group.

        Columns that are no quasi-identifiers are released as they are; to ask the model, their medians stand for them.
        """
        groups = members[0].groups
        if task.guide is None or class_codes(self.said, len(self.said)) is None:  # numbers, in tenths
            return [median(each) for each in members]
        classes = np.unique(self.said)
        others = [name for name in self._columns if name not in task.names]
        ranked = Ranked.of(task.frame, task.schema, others) if others else Ranked(())
        beside = {each.attribute.name: median(GroupMembers(each, groups)).written for each in ranked.columns}

        def ask(values: Sequence[list[Any]], of: Codes) -> Codes:
            made = {
                name: GroupValues(each.column, own) for name, each, own in zip(task.names, members, values, strict=True)
            }
            placed = {name: own.written for name, own in made.items()}
            placed |= {name: [written[group] for group in of.tolist()] for name, written in beside.items()}
            return pd.Index(classes).get_indexer(pd.Index(self._ask(self._records(task, placed))))

        return find_accepted_records(members, usual_label(groups, task.guide), ask, random_state)

    def _records(self, task: Task, values: dict[str, list[Any]]) -> nw.DataFrame[Any]:
        """Values as records in the types that the data has."""
        columns = {}
        for name in self._columns:
            own = values[name]
            column = build_typed_column(task.schema[name], own, np.arange(len(own)), task.frame)
            columns[name] = nw.from_native(column, series_only=True)
        if isinstance(task.frame.to_native(), pd.DataFrame):
            plain = {name: each.to_native().reset_index(drop=True) for name, each in columns.items()}
            return nw.from_native(pd.DataFrame(plain), eager_only=True)
        return nw.from_dict(columns)

    def _ask(self, frame: nw.DataFrame[Any]) -> Predictions:
        native = frame.to_native()
        return self._model(native.to_numpy() if self._array else native)


# The anonymizer

_BINS = 10  # of predictions that are numbers


class AccuracyGuided(Anonymizer):
    """k-anonymous records that keep a model accurate [Goldsteen21 Algorithm 1].

    A decision tree on the quasi-identifiers learns what a model predicts (or the label, where there is no model); each
    leaf holds at least k records, and all records of a leaf get the same quasi-identifiers. Records that the model
    treats alike are made alike, so that little of what it needs is lost.

    **How this differs from the paper.** The tree grows on the records that are released. The paper grows it on another
    40% of the data, which does not by itself leave k of the released records in every leaf. Categories are split into
    subsets of values, without one-hot columns. Where the model says the same of a whole leaf, the paper stops; by
    default such leaves are split further, so that records stay near to what they were (`refine`). ℓ-diversity and
    t-closeness, which the paper names as extensions, hold at every split. What stands for a leaf is made up by default,
    not a person's record; where a model is given, it is one of which the model says what it says of most of the leaf,
    if such a one is found nearby.

    Parameters
    ----------
    model : fitted estimator or function of a frame, optional
        The model to keep accurate. It is asked about the records in X; without one, y guides.
    refine : bool
        Split the leaves further where the tree has nothing left to learn, as `RPlusTree` does. The paper's algorithm is
        False with `representatives="record"`.
    k : int
        The fewest records (persons, where the schema says whose a record is) that share their quasi-identifiers.
    quasi_identifiers : names
        By which people could be recognised; all attributes but the sensitive one by default.
    l, t, sensitive
        ℓ-diversity and t-closeness of one attribute in every group.
    diversity, c, distance, representatives, output, max_suppressed, schema, random_state
        As in `modicum.anonymizers.base.Anonymizer`; `fit` leaves no record out, whatever `max_suppressed` is.

    Attributes
    ----------
    release_ : Release
        The anonymous table and what was measured of it.

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
        """A new estimator with the same, fitted model; a clone of the model would know nothing."""
        params = self.get_params(deep=False)
        return type(self)(**{n: v if n == "model" else clone(v, safe=False) for n, v in params.items()})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.model is None
        return tags

    def _check_engine(self) -> None:
        if self.model is not None:
            raise ParameterError(
                "AccuracyGuided asks a model about all records at once, in memory; release_to is guided by the label: "
                "write what the model says into a column of the table, and name that column as y."
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
        asked = None if self.model is None else GuidingModel(self.model, task, is_array(X))
        said = label_values(y) if asked is None else asked.said
        return replace(task, guide=_guide(said, len(task.frame)), asked=asked)

    def _groups(self, task: Task) -> Codes:
        assert task.guide is not None
        groups = grow_guided_groups(task, task.guide)
        return split(task.ranked, task.needs, tight=True, groups=groups) if self.refine else groups

    def _values(self, task: Task, groups: Codes) -> list[GroupValues]:
        if task.asked is None or self.representatives != "median":
            return super()._values(task, groups)
        members = [GroupMembers(column, groups, task.needs.persons) for column in task.ranked.columns]
        found: list[GroupValues] = task.asked.stand_ins(task, members, self.random_state)
        return found


def _guide(said: Any, n: int) -> Codes:
    """What the tree learns as class numbers; predictions or labels that are numbers by tenths of the records."""
    codes = class_codes(said, n)
    if codes is None:
        return Labels.fit(said, bins=_BINS).encode(said)
    if codes.max() >= MAX_CATEGORIES_OF_LABEL:
        raise DataError(f"There are {codes.max() + 1:,} classes to keep apart, more than {MAX_CATEGORIES_OF_LABEL:,}.")
    return codes
