"""Groups of people for whom scores are shown: the values of a column, or ranges of a number."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError
from modicum.generalization.build import partition
from modicum.table.frames import column, is_array, texts
from modicum.table.schema import Schema
from modicum.table.targets import Target

RANGES = 5
MOST_GROUPS = 50

Members = npt.NDArray[np.bool_]


def group_names(by: Any, frame: Any, schema: Schema) -> dict[str, Members]:
    """Each group's name and members: `by` is a column, several columns, or one value per record."""
    if isinstance(by, str):
        return _of_column(by, frame, schema)
    values = list(by) if is_array(by) or isinstance(by, pd.Series) else by
    if isinstance(values, list) and values and all(isinstance(v, str) and v in frame.columns for v in values):
        return {name: members for one in values for name, members in _of_column(one, frame, schema).items()}
    values = np.asarray(by, dtype=object)
    if values.shape != (len(frame),):
        raise DataError(f"The groups in 'by' have {len(values):,} values for {len(frame):,} test records.")
    return _named("", *pd.factorize(pd.Series(values).astype(str)))


def _of_column(name: str, frame: Any, schema: Schema) -> dict[str, Members]:
    series = column(frame, name)
    known = schema[name] if name in schema else Schema.infer(frame.select(name))[name]
    if known.is_category:
        codes, words = texts(series)
        return _named(f"{name}: ", codes, [*words, "(missing)"])
    target = Target.fit(frame, known, bins=RANGES)
    labels = partition(target.coding, np.arange(target.size)).labels if target.size > 1 else ("all",)
    return _named(f"{name}: ", target.encode(frame), labels)


def _named(prefix: str, codes: Any, words: Any) -> dict[str, Members]:
    found = np.unique(codes)
    if len(found) > MOST_GROUPS:
        raise DataError(
            f"Scores by {prefix.removesuffix(': ') or 'group'!r} would have {len(found):,} groups, more than "
            f"{MOST_GROUPS}; group its values first."
        )
    return {f"{prefix}{words[code]}": codes == code for code in found}
