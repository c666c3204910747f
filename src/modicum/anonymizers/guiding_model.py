"""The model that guides an anonymization: what it says of the records, and of those that are to stand for groups."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.anonymizers.accepted import accepted
from modicum.anonymizers.ranks import Ranked
from modicum.anonymizers.stand_ins import Members, Values, median, usual_label
from modicum.anonymizers.task import Task, class_codes
from modicum.errors import DataError
from modicum.generalization.representatives import typed_column
from modicum.learners.asking import Model, Predictions
from modicum.table.values import Codes


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

    def stand_ins(self, task: Task, members: Sequence[Members], random_state: int) -> list[Values]:
        """For each group a made-up record of which the model says what it says of most of the group.

        Columns that are no quasi-identifiers are released as they are; to ask the model, their medians stand for them.
        """
        groups = members[0].groups
        if task.guide is None or class_codes(self.said, len(self.said)) is None:  # numbers, in tenths
            return [median(each) for each in members]
        classes = np.unique(self.said)
        others = [name for name in self._columns if name not in task.names]
        ranked = Ranked.of(task.frame, task.schema, others) if others else Ranked(())
        beside = {each.attribute.name: median(Members(each, groups)).written for each in ranked.columns}

        def ask(values: Sequence[list[Any]], of: Codes) -> Codes:
            made = {name: Values(each.column, own) for name, each, own in zip(task.names, members, values, strict=True)}
            placed = {name: own.written for name, own in made.items()}
            placed |= {name: [written[group] for group in of.tolist()] for name, written in beside.items()}
            return pd.Index(classes).get_indexer(pd.Index(self._ask(self._records(task, placed))))

        return accepted(members, usual_label(groups, task.guide), ask, random_state)

    def _records(self, task: Task, values: dict[str, list[Any]]) -> nw.DataFrame[Any]:
        """Values as records in the types that the data has."""
        empty = task.frame[:0]
        columns = {}
        for name in self._columns:
            own = np.arange(len(values[name]))
            column = typed_column(task.schema[name], values[name], own, task.frame if len(own) else empty)
            columns[name] = nw.from_native(column, series_only=True)
        if isinstance(task.frame.to_native(), pd.DataFrame):
            plain = {name: each.to_native().reset_index(drop=True) for name, each in columns.items()}
            return nw.from_native(pd.DataFrame(plain), eager_only=True)
        return nw.from_dict(columns)

    def _ask(self, frame: nw.DataFrame[Any]) -> Predictions:
        native = frame.to_native()
        return self._model(native.to_numpy() if self._array else native)
