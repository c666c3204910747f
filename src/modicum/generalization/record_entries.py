"""One attribute of a generalized record: how it is checked, written as plain data and given to a model."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import ArtifactError, DataError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Scalar
from modicum.generalization.cell_tree import code_of, same_bucket
from modicum.generalization.representatives import typed_column
from modicum.table.values import iso

Inputs = Literal["labels", "codes", "values"]
Told = tuple[Any, ...]  # a checked record, ready to be a key: equal where records tell the same


class Asked:
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

    def word(self, own: Any) -> Any:
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
    """A frame of this many rows and no column, as `typed_column` asks for."""
    return nw.from_native(pd.DataFrame(index=pd.RangeIndex(count)), eager_only=True)


def labelled(codes: Any, labels: Sequence[str]) -> Any:
    """Codes as a column of labels, as `transform` gives them."""
    return pd.Categorical.from_codes(np.asarray(codes, dtype=np.int64), categories=pd.Index(labels), ordered=True)


def column(partition: AnyPartition, own: Any, count: int, kind: Inputs) -> Any:
    """A column for a model, of codes or full-detail numbers; `own` is not used where the attribute is dropped."""
    if isinstance(partition, FullDetail):
        return _full_detail(partition, own, kind)
    codes = np.zeros(count, dtype=np.int64) if isinstance(partition, Dropped) else np.array(own, dtype=np.int64)
    if kind == "values":
        return typed_column(partition.attribute, partition.representatives, codes, rows(count))
    return codes if kind == "codes" else labelled(codes, partition.labels)


def _full_detail(partition: FullDetail, own: Sequence[float | None], kind: Inputs) -> Any:
    numbers = np.array([math.nan if number is None else number for number in own], dtype=np.float64)
    if kind == "codes":
        raise ArtifactError(f"The attribute {partition.name!r} is told in full detail, which has no bucket codes.")
    if partition.attribute.kind == "date":
        return pd.Series(np.round(numbers * 1e6).astype("datetime64[us]"))  # NaN becomes NaT
    whole = partition.attribute.storage == "integer" and bool(np.all(numbers == np.floor(numbers)))
    return numbers.astype(np.int64) if whole and bool(np.all(np.abs(numbers) < 2**63)) else numbers
