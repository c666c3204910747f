"""What a bucket leaves possible: the values that someone who sees it cannot rule out (papers/0 Appendix A)."""

from typing import Any

import numpy as np

from modicum.errors import ParameterError
from modicum.generalization.bins import AnyPartition, Codes, Dropped, FullDetail, Groups, Intervals
from modicum.table.codes import CategoryCoding, NumberCoding
from modicum.table.targets import Target
from modicum.table.values import Mask


def possible(partition: AnyPartition, target: Target, codes: Codes | None = None) -> Mask:
    """For each bucket code (all of them where none are given), which of the target's values it may hold."""
    if isinstance(partition, FullDetail):
        return _exactly(partition, target, codes)
    if isinstance(partition, Dropped):
        mask = np.ones((1, target.size), dtype=bool)
    elif isinstance(partition, Intervals):
        mask = _overlapping(partition, target)
    else:
        mask = _named(partition, target)
    return mask if codes is None else mask[codes]


def _named(partition: Groups, target: Target) -> Mask:
    assert isinstance(target.coding, CategoryCoding)
    mask = np.zeros((len(partition.labels), target.size), dtype=bool)
    bucket_of = [partition.code_of.get(value, partition.unseen_code) for value in target.coding.values]
    return _marked(mask, [*bucket_of, *[partition.missing_code] * target.has_missing])


def _overlapping(partition: Intervals, target: Target) -> Mask:
    assert isinstance(target.coding, NumberCoding)
    low, high = _ends(partition.edges)
    target_low, target_high = _ends(target.coding.edges)
    overlap = np.maximum(low[:, None], target_low) < np.minimum(high[:, None], target_high)
    mask = np.zeros((len(partition.labels), target.size), dtype=bool)
    mask[: len(low), : target.coding.n_values] = overlap
    if target.has_missing and partition.missing_code >= 0:
        mask[partition.missing_code, target.missing_code] = True
    return mask


def _exactly(partition: FullDetail, target: Target, codes: Codes | None) -> Mask:
    """A number in full detail is known exactly: one value remains."""
    if codes is None:
        raise ParameterError(
            f"The attribute {partition.name!r} is kept in full detail and has no list of buckets; say which codes."
        )
    value = target.encode_numbers(partition.decode(codes))
    mask = np.zeros((len(codes), target.size), dtype=bool)
    mask[np.flatnonzero(value >= 0), value[value >= 0]] = True
    return mask


def _marked(mask: Mask, bucket_of: list[int]) -> Mask:
    buckets: Any = np.array(bucket_of, dtype=np.int64)
    accepted = np.flatnonzero(buckets >= 0)
    mask[buckets[accepted], accepted] = True
    return mask


def _ends(edges: Any) -> tuple[Any, Any]:
    return np.append(-np.inf, edges), np.append(edges, np.inf)
