"""Generalized records as they travel: plain data with one entry per attribute, admitted only if it is no finer.

- Of a `Generalization`: each needed attribute's bucket by its label, as `transform` gives it; a number or date in full
  detail as a number or ISO text, null where it is missing.
- Of a `CellPartition`: what the record's cell tells of each needed attribute, by its label.
- Of a `Questionnaire`: for each attribute that was asked the labels of the buckets that are left possible, a list; what
  need not be told is left out (`Questionnaire.least`).

What is sent may be anything, so that no complaint repeats it: a message names attributes of the artifact, never a value
or a name that came from outside.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol, TypedDict

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import ArtifactError, DataError, ParameterError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Scalar
from modicum.generalization.cells import CellPartition, code_of, same_bucket
from modicum.generalization.core import Generalization
from modicum.generalization.exports import Output
from modicum.generalization.loading import Collected, check_collected
from modicum.generalization.questionnaire import Questionnaire
from modicum.generalization.representatives import build_typed_column, decode_column, label_codes
from modicum.table.values import iso
from modicum.typing import Codes

# One attribute of a generalized record: how it is checked, written as plain data and given to a model.

Inputs = Output
Record = dict[str, Scalar | list[str]]  # what is told of each attribute
Told = tuple[Any, ...]  # a checked record, ready to be a key: equal where records tell the same


class AskedAttribute:
    """One attribute told the same way in every record: by its bucket's label, or in full detail."""

    def __init__(self, partition: AnyPartition) -> None:
        self.partition = partition
        self.name = partition.name
        self._codes = {label: i for i, label in enumerate(partition.labels)}

    def check(self, sent: Any) -> Any:
        """The bucket's code; in full detail the number as a float, None where it is missing."""
        if not isinstance(self.partition, FullDetail):
            return bucket_code(self._codes, self.name, sent)
        if sent is None and self.partition.missing == "separate":
            return None
        try:
            return _finite(self.partition.as_number(sent))
        except (ValueError, OverflowError):
            kind = "date" if self.partition.attribute.kind == "date" else "number"
            raise DataError(f"What is sent about {self.name!r} must be a {kind}.") from None

    def word(self, own: Any) -> Scalar:
        """The same as plain data."""
        return self._plain(own) if isinstance(self.partition, FullDetail) else self.partition.labels[own]

    def code_in(self, detail: AnyPartition, own: Any) -> int:
        """The bucket of the same attribute in the tree of some cells; -1 where it is refused there."""
        if isinstance(self.partition, FullDetail):
            return code_of(detail, self._plain(own))
        return same_bucket(self.partition, own, detail)

    def answer(self, own: Any) -> Any:
        """The same as an answer to a questionnaire."""
        return self._plain(own) if isinstance(self.partition, FullDetail) else (own,)

    def _plain(self, own: float | None) -> Scalar:
        if own is None:
            return None
        if self.partition.attribute.kind == "date":
            return iso(own)
        return int(own) if own.is_integer() and abs(own) < 2**53 else own


def check_fields(record: Any, needed: Sequence[str], known: Sequence[str], allowed: Sequence[str] = ()) -> None:
    """Refuse a record that lacks what is needed, or tells what is not collected."""
    if not isinstance(record, dict):
        raise DataError("A record must be an object with one entry per attribute.")
    absent = next((name for name in needed if name not in record), None)
    if absent is not None:
        raise DataError(f"The record says nothing about {absent!r}.")
    extra = [name for name in record if name not in (allowed or needed)]
    uncollected = next((name for name in known if name in extra), None)
    if uncollected is not None:
        raise DataError(f"The record tells {uncollected!r}, which is not collected.")
    if extra:
        raise DataError("The record has an entry that the artifact does not know.")


def bucket_code(codes: dict[str, int], name: str, sent: Any) -> int:
    """The code of a bucket that is sent by its label."""
    code = codes.get(sent) if isinstance(sent, str) else None
    if code is None:
        raise DataError(f"What is sent about {name!r} is not one of its buckets.")
    return code


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("no number")
    return number + 0.0  # -0.0 becomes 0.0


def rows(count: int) -> nw.DataFrame[Any]:
    """A frame of this many rows and no column, as `build_typed_column` asks for."""
    return nw.from_native(pd.DataFrame(index=pd.RangeIndex(count)), eager_only=True)


def column(partition: AnyPartition, own: Any, frame: nw.DataFrame[Any], kind: Inputs) -> Any:
    """A column for a model, of codes or full-detail numbers; `own` is not used where the attribute is dropped."""
    if isinstance(partition, FullDetail):
        return _full_detail(partition, own, kind)
    codes = np.zeros(len(frame), dtype=np.int64) if isinstance(partition, Dropped) else np.array(own, dtype=np.int64)
    return decode_column(partition, codes, frame, kind)


def _full_detail(partition: FullDetail, own: Sequence[float | None], kind: Inputs) -> Any:
    numbers = np.array([math.nan if number is None else number for number in own], dtype=np.float64)
    if kind == "codes":
        raise ArtifactError(f"The attribute {partition.name!r} is told in full detail, which has no bucket codes.")
    if partition.attribute.kind == "date":
        return pd.Series(np.round(numbers * 1e6).astype("datetime64[us]"))  # NaN becomes NaT
    whole = partition.attribute.storage == "integer" and bool(np.all(numbers == np.floor(numbers)))
    return numbers.astype(np.int64) if whole and bool(np.all(np.abs(numbers) < 2**63)) else numbers


def cell_inputs(cells: CellPartition, at: Codes, kept: dict[str, list[Any]], kind: Inputs) -> pd.DataFrame:
    """What a model is given for records in these cells; `kept` holds what is told in every cell besides."""
    columns: dict[str, object] = {}
    needed, frame = cells.needed, rows(len(at))
    for j, name in enumerate(cells.names):
        if name in kept:
            columns[name] = column(cells.told(name)[0], kept[name], frame, kind)
        elif kind == "values":
            values = [cell.values[j] for cell in cells.tree.cells]
            columns[name] = build_typed_column(cells.schema[name], values, at, frame)
        elif name in needed:
            codes = cells.told_by_cell(name)[at]
            columns[name] = codes if kind == "codes" else label_codes(codes, cells.labels(name))
    return pd.DataFrame(columns, index=pd.RangeIndex(len(at)))


# Records of a questionnaire as they travel: what was asked, in no finer buckets than the result needs.


class QuestionnaireRecords:
    """Records of a `Questionnaire`; a key holds pairs of an attribute and its codes, or its kept code or number."""

    def __init__(self, form: Questionnaire) -> None:
        self.form = form
        self.names = form.cells.needed
        self._kept = form.cells.kept
        self._asked = {name: AskedAttribute(form.cells.told(name)[0]) for name in self.names}

    def check(self, record: Any) -> Told:
        check_fields(record, self._kept, self.form.cells.names, self.names)
        told = tuple((name, self._own(name, record[name])) for name in self.names if name in record)
        answers = self._answers(told)
        state = self.form.state(answers)
        if not state.decided:
            raise DataError(f"The record does not say enough: {state.questions[0].name!r} is still asked.")
        least = self.form.least(answers)
        finer = next((name for name in answers if name not in self._kept and answers[name] != least.get(name)), None)
        if finer is not None:
            raise DataError(f"What is sent about {finer!r} is finer than it need be.")
        return told

    def _own(self, name: str, sent: Any) -> Any:
        asked = self._asked[name]
        if name in self._kept:
            return asked.check(sent)
        if not isinstance(sent, list) or not sent:
            raise DataError(f"What is sent about {name!r} must be a list of its buckets.")
        codes = sorted({asked.check(each) for each in sent})
        if len(codes) < len(sent):
            raise DataError(f"What is sent about {name!r} names a bucket twice.")
        if len(codes) == len(asked.partition.labels):
            raise DataError(f"What is sent about {name!r} names all its buckets, which tells nothing; leave it out.")
        return tuple(codes)

    def _answers(self, told: Told) -> dict[str, object]:
        """The key as `Questionnaire.state` takes it."""
        return {name: self._asked[name].answer(own) if name in self._kept else own for name, own in told}

    def record(self, told: Told) -> Record:
        found: Record = {}
        for name, own in told:
            asked = self._asked[name]
            found[name] = asked.word(own) if name in self._kept else [asked.partition.labels[code] for code in own]
        return found

    def inputs(self, told: Sequence[Told], kind: Inputs) -> pd.DataFrame:
        if kind != "values":
            raise ParameterError("A questionnaire's records differ in what they tell; a model is given their values.")
        states = [self.form.state(self._answers(each)) for each in told]
        cells = np.array([state.cells[0] for state in states], dtype=np.int64)
        kept = {name: [dict(each)[name] for each in told] for name in self._kept}
        return cell_inputs(self.form.cells, cells, kept, kind)

    def prediction(self, told: Told) -> bool | int | float | str | None:
        return self.form.state(self._answers(told)).prediction


# The format of records


class PredictedRecord(TypedDict):
    """What is predicted of a record, and where it is known how likely each class is."""

    prediction: bool | int | float | str | None
    probabilities: dict[str, float] | None


class RecordFormat(Protocol):
    """What a generalized record of one artifact looks like."""

    @property
    def names(self) -> list[str]:
        """The attributes that a record may tell, in order."""
        ...

    def check(self, record: Any) -> Told:
        """A record that tells what it should and nothing finer, as a key; else one sentence that repeats nothing."""
        ...

    def record(self, told: Told) -> Record:
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
    return _CellRecords(artifact) if isinstance(artifact, CellPartition) else _PlainRecords(artifact)


class _PlainRecords:
    """Records of a `Generalization`; a key holds each needed attribute's code, or its number (None if missing)."""

    def __init__(self, g: Generalization) -> None:
        self.generalization = g
        self.names = g.needed
        self._asked = [AskedAttribute(g[name]) for name in self.names]

    def check(self, record: Any) -> Told:
        check_fields(record, self.names, self.generalization.names)
        return tuple(asked.check(record[asked.name]) for asked in self._asked)

    def record(self, told: Told) -> Record:
        return {asked.name: asked.word(own) for asked, own in zip(self._asked, told, strict=True)}

    def inputs(self, told: Sequence[Told], kind: Inputs) -> pd.DataFrame:
        own = dict(zip(self.names, zip(*told, strict=True), strict=True)) if told else dict.fromkeys(self.names, ())
        chosen = self.generalization.names if kind == "values" else self.names
        frame = rows(len(told))
        columns = {name: column(self.generalization[name], own.get(name), frame, kind) for name in chosen}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(told)))

    def prediction(self, told: Told) -> None:
        return None


class _CellRecords:
    """Records of a `CellPartition`; a key holds the cell, then each kept attribute's code or number."""

    def __init__(self, cells: CellPartition) -> None:
        self.cells = cells
        self.names = cells.needed
        self._kept = [AskedAttribute(cells.told(name)[0]) for name in cells.kept]
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

    def _holds(self, cell: int, asked: AskedAttribute, own: Any) -> bool:
        """Whether a cell's box leaves a kept attribute's value possible."""
        j = self.cells.names.index(asked.name)
        mask = self.cells.tree.boxes[cell].get(j)
        if mask is None:
            return True
        code = asked.code_in(self.cells.detail.partitions[j], own)
        return code >= 0 and bool(mask[code])

    def record(self, told: Told) -> Record:
        kept = {asked.name: asked.word(own) for asked, own in zip(self._kept, told[1:], strict=True)}
        return {
            name: kept[name] if name in kept else self.cells.labels(name)[self.cells.told_by_cell(name)[told[0]]]
            for name in self.names
        }

    def inputs(self, told: Sequence[Told], kind: Inputs) -> pd.DataFrame:
        cells = np.array([each[0] for each in told], dtype=np.int64)
        kept = {a.name: [each[1 + i] for each in told] for i, a in enumerate(self._kept)}
        return cell_inputs(self.cells, cells, kept, kind)

    def prediction(self, told: Told) -> bool | int | float | str | None:
        return None if self.cells.kept else self.cells.tree.cells[told[0]].prediction
