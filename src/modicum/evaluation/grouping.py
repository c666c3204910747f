"""Groups of people for whom scores are shown: the values of a column, or ranges of a number."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.generalization.build import partition
from modicum.table.frames import column, numbers, texts
from modicum.table.schema import Schema
from modicum.table.targets import Target

RANGES = 5
MOST_GROUPS = 50

Members = npt.NDArray[np.bool_]


def group_names(by: Any, frame: Any, schema: Schema) -> dict[str, Members]:
    """Each group's name and members: `by` is a column, several columns, or one value per record."""
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
    return _named("", *pd.factorize(pd.Series(values, dtype=object).astype(str)))


def _are_columns(values: list[Any], frame: Any) -> bool:
    """Whether these are names of columns; as many as there are records only where all of them are, each once."""
    if not values or not all(isinstance(value, str) for value in values):
        return False
    return len(values) != len(frame) or (len(set(values)) == len(values) and set(values) <= set(frame.columns))


def _of_column(name: str, frame: Any, schema: Schema) -> dict[str, Members]:
    series = column(frame, name)
    if name in schema and schema[name].is_identifying:
        raise ParameterError(f"The column {name!r} identifies people, so scores by it would name them.")
    known = schema[name] if name in schema else Schema.infer(frame.select(name))[name]
    if known.is_category:
        codes, words = texts(series)
        return _named(f"{name}: ", codes, [*words, "(missing)"])
    values = numbers(series, known)
    distinct, codes = np.unique(values, return_inverse=True)  # every NaN is one value, the last
    if len(distinct) <= RANGES:
        return _named(f"{name}: ", codes, ["(missing)" if v != v else f"{v:g}" for v in distinct])
    target = Target.fit(frame, known, bins=RANGES)
    labels = partition(target.coding, np.arange(target.size)).labels
    return _named(f"{name}: ", target.encode(frame), labels)


def _named(prefix: str, codes: Any, words: Any) -> dict[str, Members]:
    found = np.unique(codes)
    if len(found) > MOST_GROUPS:
        raise DataError(
            f"Scores by {prefix.removesuffix(': ') or 'group'!r} would have {len(found):,} groups, more than "
            f"{MOST_GROUPS}; group its values first."
        )
    return {f"{prefix}{words[code]}": codes == code for code in found}
