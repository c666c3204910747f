"""The format in which generalized records are sent: plain data with one entry per attribute and no finer detail.

- `Generalization`: the bucket label of each needed attribute, as in `transform`; a number or date in full detail as a
  number or ISO text, null if it is missing.
- `CellPartition`: the label of what the record's cell reveals of each needed attribute.
- `Questionnaire`: for each attribute with an answer, a list of the labels of the buckets that remain possible; answers
  that are not needed are left out (`Questionnaire.least`).

A received record may contain anything, so errors never repeat it: a message names attributes of the artifact, never a
value or a name from outside.
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

# One attribute of a generalized record: check it, write it as plain data, pass it to a model.

Inputs = Output
Record = dict[str, Scalar | list[str]]  # attribute → label, value or labels
RecordKey = tuple[Any, ...]  # a checked record as a key, equal for equal records


class AskedAttribute:
    """An attribute that every record has in the same form: as its bucket's label, or in full detail."""

    def __init__(self, partition: AnyPartition) -> None:
        self.partition = partition
        self.name = partition.name
        self._codes = {label: i for i, label in enumerate(partition.labels)}

    def check(self, sent: Any) -> Any:
        """Return the bucket's code; in full detail the number as a float, None if it is missing."""
        if not isinstance(self.partition, FullDetail):
            return bucket_code(self._codes, self.name, sent)
        if sent is None and self.partition.missing == "separate":
            return None
        try:
            return _finite(self.partition.as_number(sent))
        except (ValueError, OverflowError):
            kind = "date" if self.partition.attribute.kind == "date" else "number"
            raise DataError(f"The entry for {self.name!r} must be a {kind}.") from None

    def word(self, own: Any) -> Scalar:
        """Convert a checked entry to plain data."""
        return self._plain(own) if isinstance(self.partition, FullDetail) else self.partition.labels[own]

    def code_in(self, detail: AnyPartition, own: Any) -> int:
        """Return the matching bucket in the partition `detail` of a tree of cells; -1 if it refuses the value."""
        if isinstance(self.partition, FullDetail):
            return code_of(detail, self._plain(own))
        return same_bucket(self.partition, own, detail)

    def answer(self, own: Any) -> Any:
        """Convert a checked entry to an answer to a questionnaire."""
        return self._plain(own) if isinstance(self.partition, FullDetail) else (own,)

    def _plain(self, own: float | None) -> Scalar:
        if own is None:
            return None
        if self.partition.attribute.kind == "date":
            return iso(own)
        return int(own) if own.is_integer() and abs(own) < 2**53 else own


def check_fields(record: Any, needed: Sequence[str], known: Sequence[str], allowed: Sequence[str] = ()) -> None:
    """Refuse a record that lacks a needed attribute or has one that is not collected."""
    if not isinstance(record, dict):
        raise DataError("A record must be an object with one entry per attribute.")
    absent = next((name for name in needed if name not in record), None)
    if absent is not None:
        raise DataError(f"The record has no entry for {absent!r}.")
    extra = [name for name in record if name not in (allowed or needed)]
    uncollected = next((name for name in known if name in extra), None)
    if uncollected is not None:
        raise DataError(f"The record has an entry for {uncollected!r}, which is not collected; leave it out.")
    if extra:
        raise DataError("The record has an entry that the artifact does not know.")


def bucket_code(codes: dict[str, int], name: str, sent: Any) -> int:
    """Return the code of the bucket with the received label."""
    code = codes.get(sent) if isinstance(sent, str) else None
    if code is None:
        raise DataError(f"The entry for {name!r} is not one of its buckets.")
    return code


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("no number")
    return number + 0.0  # -0.0 becomes 0.0


def rows(count: int) -> nw.DataFrame[Any]:
    """Build a frame with this many rows and no columns, for `build_typed_column`."""
    return nw.from_native(pd.DataFrame(index=pd.RangeIndex(count)), eager_only=True)


def column(partition: AnyPartition, own: Any, frame: nw.DataFrame[Any], kind: Inputs) -> Any:
    """Build a model's column from codes or full-detail numbers; `own` is not used if the attribute is dropped."""
    if isinstance(partition, FullDetail):
        return _full_detail(partition, own, kind)
    codes = np.zeros(len(frame), dtype=np.int64) if isinstance(partition, Dropped) else np.array(own, dtype=np.int64)
    return decode_column(partition, codes, frame, kind)


def _full_detail(partition: FullDetail, own: Sequence[float | None], kind: Inputs) -> Any:
    numbers = np.array([math.nan if number is None else number for number in own], dtype=np.float64)
    if kind == "codes":
        raise ArtifactError(
            f"The attribute {partition.name!r} is kept in full detail, so it has no bucket codes; use labels or values."
        )
    if partition.attribute.kind == "date":
        return pd.Series(np.round(numbers * 1e6).astype("datetime64[us]"))  # NaN becomes NaT
    whole = partition.attribute.storage == "integer" and bool(np.all(numbers == np.floor(numbers)))
    return numbers.astype(np.int64) if whole and bool(np.all(np.abs(numbers) < 2**63)) else numbers


def cell_inputs(cells: CellPartition, at: Codes, kept: dict[str, list[Any]], kind: Inputs) -> pd.DataFrame:
    """Build a model's input for records in these cells; `kept` holds the columns of the kept attributes."""
    columns: dict[str, object] = {}
    needed, frame = cells.needed, rows(len(at))
    for j, name in enumerate(cells.names):
        if name in kept:
            columns[name] = column(cells.code_buckets(name)[0], kept[name], frame, kind)
        elif kind == "values":
            values = [cell.values[j] for cell in cells.tree.cells]
            columns[name] = build_typed_column(cells.schema[name], values, at, frame)
        elif name in needed:
            codes = cells.cell_codes(name)[at]
            columns[name] = codes if kind == "codes" else label_codes(codes, cells.labels(name))
    return pd.DataFrame(columns, index=pd.RangeIndex(len(at)))


# Records of a questionnaire: the answers, in no finer buckets than the result needs.


class QuestionnaireRecords:
    """The format of a `Questionnaire`'s records; a key holds pairs of an attribute and its codes or its number."""

    def __init__(self, form: Questionnaire) -> None:
        self.form = form
        self.names = form.cells.needed
        self._kept = form.cells.kept
        self._asked = {name: AskedAttribute(form.cells.code_buckets(name)[0]) for name in self.names}

    def check(self, record: Any) -> RecordKey:
        check_fields(record, self._kept, self.form.cells.names, self.names)
        key = tuple((name, self._own(name, record[name])) for name in self.names if name in record)
        answers = self._answers(key)
        state = self.form.state(answers)
        if not state.decided:
            raise DataError(f"The record does not decide the result: {state.questions[0].name!r} is still needed.")
        least = self.form.least(answers)
        finer = next((name for name in answers if name not in self._kept and answers[name] != least.get(name)), None)
        if finer is not None:
            raise DataError(f"The entry for {finer!r} is finer than the result needs.")
        return key

    def _own(self, name: str, sent: Any) -> Any:
        asked = self._asked[name]
        if name in self._kept:
            return asked.check(sent)
        if not isinstance(sent, list) or not sent:
            raise DataError(f"The entry for {name!r} must be a non-empty list of its buckets.")
        codes = sorted({asked.check(each) for each in sent})
        if len(codes) < len(sent):
            raise DataError(f"The entry for {name!r} names a bucket twice.")
        if len(codes) == len(asked.partition.labels):
            raise DataError(f"The entry for {name!r} names all its buckets, which says nothing; leave it out.")
        return tuple(codes)

    def _answers(self, key: RecordKey) -> dict[str, object]:
        """Convert a key to answers for `Questionnaire.state`."""
        return {name: self._asked[name].answer(own) if name in self._kept else own for name, own in key}

    def record(self, key: RecordKey) -> Record:
        found: Record = {}
        for name, own in key:
            asked = self._asked[name]
            found[name] = asked.word(own) if name in self._kept else [asked.partition.labels[code] for code in own]
        return found

    def inputs(self, keys: Sequence[RecordKey], kind: Inputs) -> pd.DataFrame:
        if kind != "values":
            raise ParameterError(
                "A questionnaire's records have different attributes; use inputs='values' for a model."
            )
        states = [self.form.state(self._answers(key)) for key in keys]
        cells = np.array([state.cells[0] for state in states], dtype=np.int64)
        kept = {name: [dict(key)[name] for key in keys] for name in self._kept}
        return cell_inputs(self.form.cells, cells, kept, kind)

    def prediction(self, key: RecordKey) -> bool | int | float | str | None:
        return self.form.state(self._answers(key)).prediction


# The format of records


class PredictedRecord(TypedDict):
    """The prediction for a record, with the probability of each class if known."""

    prediction: bool | int | float | str | None
    probabilities: dict[str, float] | None


class RecordFormat(Protocol):
    """The format of an artifact's generalized records."""

    @property
    def names(self) -> list[str]:
        """The attributes that a record may have, in order."""
        ...

    def check(self, record: Any) -> RecordKey:
        """Convert a valid record to a key; the error for any other record repeats none of its content."""
        ...

    def record(self, key: RecordKey) -> Record:
        """Convert a key to a record, as plain data in the artifact's order."""
        ...

    def inputs(self, keys: Sequence[RecordKey], kind: Inputs) -> pd.DataFrame:
        """Build a model's input for these records, as `transform` does with this `output`."""
        ...

    def prediction(self, key: RecordKey) -> bool | int | float | str | None:
        """Return the artifact's own prediction; None if a model is needed."""
        ...


def record_format(artifact: Collected) -> RecordFormat:
    """Return the format of an artifact's records.

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
    modicum.errors.DataError: The entry for 'age' is not one of its buckets.
    """
    check_collected(artifact)
    if isinstance(artifact, Questionnaire):
        return QuestionnaireRecords(artifact)
    return _CellRecords(artifact) if isinstance(artifact, CellPartition) else _PlainRecords(artifact)


class _PlainRecords:
    """The format of a `Generalization`'s records; a key holds each needed attribute's code, or its number or None."""

    def __init__(self, g: Generalization) -> None:
        self.generalization = g
        self.names = g.needed
        self._asked = [AskedAttribute(g[name]) for name in self.names]

    def check(self, record: Any) -> RecordKey:
        check_fields(record, self.names, self.generalization.names)
        return tuple(asked.check(record[asked.name]) for asked in self._asked)

    def record(self, key: RecordKey) -> Record:
        return {asked.name: asked.word(own) for asked, own in zip(self._asked, key, strict=True)}

    def inputs(self, keys: Sequence[RecordKey], kind: Inputs) -> pd.DataFrame:
        own = dict(zip(self.names, zip(*keys, strict=True), strict=True)) if keys else dict.fromkeys(self.names, ())
        chosen = self.generalization.names if kind == "values" else self.names
        frame = rows(len(keys))
        columns = {name: column(self.generalization[name], own.get(name), frame, kind) for name in chosen}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(keys)))

    def prediction(self, key: RecordKey) -> None:
        return None


class _CellRecords:
    """The format of a `CellPartition`'s records; a key holds the cell, then each kept attribute's code or number."""

    def __init__(self, cells: CellPartition) -> None:
        self.cells = cells
        self.names = cells.needed
        self._kept = [AskedAttribute(cells.code_buckets(name)[0]) for name in cells.kept]
        self._local = [name for name in self.names if name not in cells.kept]
        self._codes = {name: {label: i for i, label in enumerate(cells.labels(name))} for name in self._local}

    @cached_property
    def _cells_by_codes(self) -> dict[RecordKey, list[int]]:
        """The cells with each combination of codes of the attributes that are not kept."""
        cells_by_codes: dict[RecordKey, list[int]] = {}
        columns = [self.cells.cell_codes(name).tolist() for name in self._local]
        for cell in range(self.cells.n_cells):
            cells_by_codes.setdefault(tuple(column[cell] for column in columns), []).append(cell)
        return cells_by_codes

    def check(self, record: Any) -> RecordKey:
        check_fields(record, self.names, self.cells.names)
        local = tuple(bucket_code(self._codes[name], name, record[name]) for name in self._local)
        kept = tuple(asked.check(record[asked.name]) for asked in self._kept)
        for cell in self._cells_by_codes.get(local, []):
            if all(self._holds(cell, asked, own) for asked, own in zip(self._kept, kept, strict=True)):
                return (cell, *kept)
        raise DataError("The entries of the record together do not match any cell.")

    def _holds(self, cell: int, asked: AskedAttribute, own: Any) -> bool:
        """Whether a cell's box leaves a kept attribute's value possible."""
        j = self.cells.names.index(asked.name)
        mask = self.cells.tree.boxes[cell].get(j)
        if mask is None:
            return True
        code = asked.code_in(self.cells.detail.partitions[j], own)
        return code >= 0 and bool(mask[code])

    def record(self, key: RecordKey) -> Record:
        kept = {asked.name: asked.word(own) for asked, own in zip(self._kept, key[1:], strict=True)}
        return {
            name: kept[name] if name in kept else self.cells.labels(name)[self.cells.cell_codes(name)[key[0]]]
            for name in self.names
        }

    def inputs(self, keys: Sequence[RecordKey], kind: Inputs) -> pd.DataFrame:
        cells = np.array([key[0] for key in keys], dtype=np.int64)
        kept = {a.name: [key[1 + i] for key in keys] for i, a in enumerate(self._kept)}
        return cell_inputs(self.cells, cells, kept, kind)

    def prediction(self, key: RecordKey) -> bool | int | float | str | None:
        return None if self.cells.kept else self.cells.tree.cells[key[0]].prediction
