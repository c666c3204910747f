"""From groups to a table: each record gets what stands for its group, and what comes out is measured anew."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from modicum.anonymizers.ranges import range_labels
from modicum.anonymizers.stand_ins import Members, Values
from modicum.anonymizers.task import Task
from modicum.errors import DataError
from modicum.generalization.release import Release
from modicum.generalization.representatives import typed_column
from modicum.measures.anonymity import k_anonymity
from modicum.measures.closeness import t_closeness
from modicum.measures.diversity import l_diversity
from modicum.measures.group_costs import classification_metric, discernibility
from modicum.measures.group_loss import category_widths, group_ncp, number_widths
from modicum.measures.information_loss import InformationLoss
from modicum.table.frames import as_frame, is_array
from modicum.table.groups import group_rows
from modicum.table.values import Codes, Floats

_ROUNDING = 1e-9


def replaced(task: Task, groups: Codes, values: Sequence[Values] | None) -> Any:
    """The records with each quasi-identifier replaced: by a value for each group, or where there are none by ranges.

    Every other column stays as it is; columns that name a person are left out.
    """
    columns = {}
    for j, ranked in enumerate(task.ranked.columns):
        if values is None:
            labels = np.array(range_labels(Members(ranked, groups)), dtype=object)
            columns[ranked.attribute.name] = labels[groups]
        else:
            columns[ranked.attribute.name] = typed_column(ranked.attribute, values[j].values, groups, task.frame)
    return _with_columns(task, columns)


def _with_columns(task: Task, columns: dict[str, Any]) -> Any:
    native = task.frame.to_native()
    if isinstance(native, pd.DataFrame):
        found = native[task.published].copy(deep=False)
        for name, values in columns.items():
            found[name] = values if isinstance(values, pd.Series) else pd.Series(values, index=found.index)
        return found
    import narwhals.stable.v2 as nw

    made = [nw.new_series(n, v.tolist() if isinstance(v, np.ndarray) else v, backend=task.frame.implementation)
            for n, v in columns.items()]
    return task.frame.select(task.published).with_columns(made).to_native()


def loss(task: Task, groups: Codes) -> tuple[InformationLoss, Floats]:
    """NCP of the groups, and each group's own sum over the attributes."""
    widths = []
    for ranked in task.ranked.columns:
        if ranked.attribute.is_category:
            widths.append(category_widths(ranked.codes, groups))
        else:
            values = np.append(ranked.values, np.nan)[ranked.codes]
            widths.append(number_widths(values, groups, ranked.domain))
    return group_ncp(task.names, widths, groups), np.sum(widths, axis=0)
