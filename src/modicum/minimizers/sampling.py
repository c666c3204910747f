"""Some records to learn from and as many others to check with, of a table in memory or in an engine."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from modicum.engines import is_table, table_at
from modicum.engines.sampling import Ranks, RecordHash, draw_from
from modicum.table.frames import as_frame, is_array
from modicum.table.targets import label_name, label_values
from modicum.table.values import Codes


@dataclass(frozen=True)
class Sample:
    """Some of the records, and their labels where there are any."""

    X: Any
    y: Any


def drawn(X: Any, y: Any, sample: int, random_state: Any = 0) -> tuple[Sample, Sample]:
    """Records to learn from, and others to check with; the same of a frame and of the same records in an engine.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.minimizers.sampling import drawn
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> learning, other = drawn(X, y, 1_000)
    >>> len(learning.X), len(other.y), len(set(learning.X.index) & set(other.X.index))
    (1000, 1000, 0)
    """
    seed = int(random_state) if isinstance(random_state, int | np.integer) else 0
    if is_table(X) and (y is None or isinstance(y, str)):
        return _drawn_at(X, y, sample, seed)
    X = as_frame(X).to_native() if is_table(X) else X
    frame = as_frame(X)
    columns = [frame[name] for name in frame.columns]
    if y is not None:
        columns.append(as_frame(pd.DataFrame({label_name(y): label_values(y, len(frame))}))[label_name(y)])
    order = np.argsort(RecordHash((), seed).of_series(columns), kind="stable")
    ranks = Ranks.of(len(frame), sample)
    learning, other = (Sample(_rows(X, order[r]), _rows(y, order[r])) for r in (ranks.learning, ranks.other))
    return learning, other


def _drawn_at(X: Any, y: str | None, sample: int, seed: int) -> tuple[Sample, Sample]:
    table = table_at(X)
    table.check([] if y is None else [y])
    learning, other = draw_from(table, sample, seed)
    names = [name for name in table.columns if name != y]
    if y is None:
        return Sample(learning, None), Sample(other, None)
    pair = [Sample(part.select(names), as_frame(part)[y].to_pandas()) for part in (learning, other)]
    return pair[0], pair[1]


def _rows(X: Any, rows: Codes) -> Any:
    if X is None:
        return None
    if isinstance(X, pd.DataFrame | pd.Series):
        return X.iloc[rows]
    return np.asarray(X)[rows] if is_array(X) else as_frame(X)[rows.tolist()].to_native()
