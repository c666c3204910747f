"""A generalization on records that are already coded: one look-up per attribute, and no value is read again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import ArtifactError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals
from modicum.table.codes import CategoryCoding, Coder, Coding, NumberCoding

_ROWS = 16_384  # at once, so that they stay in the processor's cache


def bucket_tables(partitions: Sequence[AnyPartition], coder: Coder) -> list[npt.NDArray[np.uint16]]:
    """For each attribute, the bucket of each of the coder's codes."""
    codings = {coding.attribute.name: coding for coding in coder.codings}
    absent = [p.name for p in partitions if p.name not in codings]
    if absent:
        raise ArtifactError(f"The coder does not know the attribute {absent[0]!r}.")
    return [_table(p, codings[p.name]) for p in partitions]


def look_up(tables: Sequence[npt.NDArray[np.uint16]], codes: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """The bucket of each record in each attribute."""
    result = np.empty(codes.shape, dtype=np.uint16)
    for start in range(0, len(codes), _ROWS):
        rows = slice(start, start + _ROWS)
        for j, table in enumerate(tables):
            result[rows, j] = table[codes[rows, j]]
    return result


def _table(partition: AnyPartition, coding: Coding) -> npt.NDArray[np.uint16]:
    size = coding.n_codes
    if isinstance(partition, FullDetail):
        raise ArtifactError(f"The attribute {partition.name!r} is kept in full detail, so it has no buckets.")
    if isinstance(partition, Dropped):
        return np.zeros(size, dtype=np.uint16)
    own = _groups(partition, coding) if isinstance(partition, Groups) else _intervals(partition, coding)
    buckets = np.append(own, partition.missing_code)[:size]
    if buckets.min() < 0:
        raise ArtifactError(f"The attribute {partition.name!r} has values that this generalization refuses.")
    return buckets.astype(np.uint16)


def _groups(partition: Groups, coding: Coding) -> npt.NDArray[np.int64]:
    assert isinstance(coding, CategoryCoding)
    return np.array([partition.code_of.get(value, partition.unseen_code) for value in coding.values], dtype=np.int64)


def _intervals(partition: Intervals, coding: Coding) -> npt.NDArray[np.int64]:
    assert isinstance(coding, NumberCoding)
    if not np.isin(partition.edges, coding.edges).all():
        raise ArtifactError(
            f"The attribute {partition.name!r} has an edge where the coder has none, so that one code falls into two "
            "buckets; transform the records themselves."
        )
    return partition.encode_numbers(np.append(coding.edges, np.inf))
