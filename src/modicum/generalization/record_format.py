"""Generalized records as they travel: plain data with one entry per attribute, admitted only if it is no finer.

- Of a `Generalization`: each needed attribute's bucket by its label, as `transform` gives it; a number or date in full
  detail as a number or ISO text, null where it is missing.
- Of a `CellPartition`: what the record's cell tells of each needed attribute, by its label.
- Of a `Questionnaire`: for each attribute that was asked the labels of the buckets that are left possible, a list; what
  need not be told is left out (`Questionnaire.least`).

What is sent may be anything, so that no complaint repeats it: a message names attributes of the artifact, never a value
or a name that came from outside.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from modicum.errors import DataError
from modicum.generalization.cells import CellPartition
from modicum.generalization.collected import Collected, check_collected
from modicum.generalization.core import Generalization
from modicum.generalization.questionnaire import Questionnaire
from modicum.generalization.questionnaire_records import QuestionnaireRecords
from modicum.generalization.record_entries import Asked, bucket_code, check_fields, column, labelled, rows
from modicum.generalization.record_entries import Inputs as Inputs
from modicum.generalization.record_entries import Told as Told
from modicum.generalization.representatives import typed_column


class RecordFormat(Protocol):
    """What a generalized record of one artifact looks like."""

    @property
    def names(self) -> list[str]:
        """The attributes that a record may tell, in order."""
        ...

    def check(self, record: Any) -> Told:
        """A record that tells what it should and nothing finer, as a key; else one sentence that repeats nothing."""
        ...

    def record(self, told: Told) -> dict[str, Any]:
        """The record of a key, as plain data in the artifact's order."""
        ...

    def inputs(self, told: Sequence[Told], kind: Inputs) -> pd.DataFrame:
        """What a model is given for these records: as `transform` has it with this `output`."""
        ...

    def prediction(self, told: Told) -> bool | int | float | str | None:
        """What the artifact itself predicts; None where a model must."""
        ...


def record_format(artifact: Collected) -> RecordFormat:
    """The format of an artifact's records.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.record_format import record_format
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"]})
    >>> format = record_format(md.Uniform(buckets=2).fit(X).generalization_)
    >>> format.check({"age": "≥ 51", "job": "nurse"})
    (1, 1)
    >>> format.check({"age": 52, "job": "nurse"})
    Traceback (most recent call last):
    ...
    modicum.errors.DataError: What is sent about 'age' is not one of its buckets.
    """
    check_collected(artifact)
    if isinstance(artifact, Questionnaire):
        return QuestionnaireRecords(artifact)
    return _CellRecords(artifact) if isinstance(artifact, CellPartition) else _Records(artifact)


class _Records:
    """Records of a `Generalization`; a key holds each needed attribute's code, or its number (None if missing)."""

    def __init__(self, g: Generalization) -> None:
        self.generalization = g
        self.names = g.needed
        self._asked = [Asked(g[name]) for name in self.names]

    def check(self, record: Any) -> Told:
        check_fields(record, self.names, self.generalization.names)
        return tuple(asked.check(record[asked.name]) for asked in self._asked)

    def record(self, told: Told) -> dict[str, Any]:
        return {asked.name: asked.word(own) for asked, own in zip(self._asked, told, strict=True)}

    def inputs(self, told: Sequence[Told], kind: Inputs) -> pd.DataFrame:
        own = dict(zip(self.names, zip(*told, strict=True), strict=True)) if told else dict.fromkeys(self.names, ())
        chosen = self.generalization.names if kind == "values" else self.names
        columns = {name: column(self.generalization[name], own.get(name), len(told), kind) for name in chosen}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(told)))

    def prediction(self, told: Told) -> None:
        return None


class _CellRecords:
    """Records of a `CellPartition`; a key holds the cell, then each kept attribute's code or number."""

    def __init__(self, cells: CellPartition) -> None:
        self.cells = cells
        self.names = cells.needed
        self._kept = [Asked(cells.told(name)[0]) for name in cells.kept]
        self._local = [name for name in self.names if name not in cells.kept]
        self._codes = {name: {label: i for i, label in enumerate(cells.labels(name))} for name in self._local}

    @cached_property
    def _cells_that_tell(self) -> dict[Told, list[int]]:
        """The cells that tell these codes of the attributes that are told by cell."""
        found: dict[Told, list[int]] = {}
        columns = [self.cells.told_by_cell(name).tolist() for name in self._local]
        for cell in range(self.cells.n_cells):
            found.setdefault(tuple(column[cell] for column in columns), []).append(cell)
        return found

    def check(self, record: Any) -> Told:
        check_fields(record, self.names, self.cells.names)
        local = tuple(bucket_code(self._codes[name], name, record[name]) for name in self._local)
        kept = tuple(asked.check(record[asked.name]) for asked in self._kept)
        for cell in self._cells_that_tell.get(local, []):
            if all(self._holds(cell, asked, own) for asked, own in zip(self._kept, kept, strict=True)):
                return (cell, *kept)
        raise DataError("What is sent about the attributes together is not what one of the cells tells.")

    def _holds(self, cell: int, asked: Asked, own: Any) -> bool:
        """Whether a cell's box leaves a kept attribute's value possible."""
        j = self.cells.names.index(asked.name)
        mask = self.cells.tree.boxes[cell].get(j)
        if mask is None:
            return True
        code = asked.code_in(self.cells.detail.partitions[j], own)
        return code >= 0 and bool(mask[code])

    def record(self, told: Told) -> dict[str, Any]:
        kept = {asked.name: asked.word(own) for asked, own in zip(self._kept, told[1:], strict=True)}
        return {
            name: kept[name] if name in kept else self.cells.labels(name)[self.cells.told_by_cell(name)[told[0]]]
            for name in self.names
        }

    def inputs(self, told: Sequence[Told], kind: Inputs) -> pd.DataFrame:
        cells = np.array([each[0] for each in told], dtype=np.int64)
        kept = {a.name: [each[1 + i] for each in told] for i, a in enumerate(self._kept)}
        columns: dict[str, Any] = {}
        for j, name in enumerate(self.cells.names):
            if name in kept:
                columns[name] = column(self.cells.told(name)[0], kept[name], len(told), kind)
            elif kind == "values":
                values = [cell.values[j] for cell in self.cells.tree.cells]
                columns[name] = typed_column(self.cells.schema[name], values, cells, rows(len(told)))
            elif name in self.names:
                codes = self.cells.told_by_cell(name)[cells]
                columns[name] = codes if kind == "codes" else labelled(codes, self.cells.labels(name))
        return pd.DataFrame(columns, index=pd.RangeIndex(len(told)))

    def prediction(self, told: Told) -> bool | int | float | str | None:
        return None if self.cells.kept else self.cells.tree.cells[told[0]].prediction
