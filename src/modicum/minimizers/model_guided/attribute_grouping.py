"""One attribute's codes in buckets, each with a code that stands for it; or the attribute as it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import keep, middle_code, partition
from modicum.minimizers.model_guided.records import Matrix, Records
from modicum.table.codes import Coding, usual_code
from modicum.typing import Codes

_PARTNERS = 8  # buckets that another one of a category may join, the largest
_WHOLES = 3  # buckets that may stand for the whole attribute


@dataclass(frozen=True)
class AttributeGrouping:
    """`bucket_of` says each code's bucket, from 0 without gaps, and `stands` the code that stands for each bucket.

    Where it is `exact` the model is given the value as it is, and the buckets say nothing.
    """

    bucket_of: Codes
    stands: Codes
    exact: bool = False

    @property
    def n_buckets(self) -> int:
        return len(self.stands)

    @cached_property
    def members(self) -> list[Codes]:
        """The codes of each bucket."""
        return [np.flatnonzero(self.bucket_of == bucket) for bucket in range(self.n_buckets)]

    @cached_property
    def stand_of(self) -> Codes:
        """For each code, the code that stands for its bucket."""
        return self.stands[self.bucket_of]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is collected."""
        return self.n_buckets == 1 and not self.exact

    def merge_buckets(self, one: int, other: int, stand: int) -> "AttributeGrouping":
        """Two buckets made one."""
        low, high = min(one, other), max(one, other)
        bucket_of = np.where(self.bucket_of == high, low, self.bucket_of)
        bucket_of = bucket_of - (bucket_of > high)
        stands = np.delete(self.stands, high)
        stands[low] = stand
        return AttributeGrouping(bucket_of, stands)


Groupings = list[AttributeGrouping]


def whole(coding: Coding, stand: int | None = None) -> AttributeGrouping:
    """Nothing of the attribute."""
    return AttributeGrouping(
        np.zeros(coding.n_codes, dtype=np.int64), np.array([usual_code(coding) if stand is None else stand])
    )


def exactly(coding: Coding) -> AttributeGrouping:
    """The attribute as it is."""
    codes = np.arange(coding.n_codes)
    return AttributeGrouping(codes, codes, exact=True)


def group_codes(coding: Coding, bucket_of: Codes) -> AttributeGrouping:
    """Codes with the same number share a bucket, which its median or most frequent category stands for."""
    _, numbers = np.unique(bucket_of, return_inverse=True)
    stands = []
    for bucket in range(int(numbers.max()) + 1):
        codes = np.flatnonzero(numbers == bucket)
        values = codes[codes < coding.n_values]
        stands.append(middle_code(coding, values) if len(values) else coding.n_values)
    return AttributeGrouping(numbers.astype(np.int64), np.array(stands, dtype=np.int64))


def column_of(grouping: AttributeGrouping, records: Records, attribute: int) -> Codes:
    """One attribute of the records as numbers: what stands for each value, or the value itself."""
    if grouping.exact:
        return records.exact[:, attribute]
    column = grouping.stand_of[records.codes[:, attribute]]
    strange = records.strange[:, attribute]
    return column if grouping.is_whole else np.where(strange >= 0, strange, column)


def numbers_of(groupings: Sequence[AttributeGrouping], records: Records) -> Matrix:
    """The records as numbers."""
    return np.column_stack([column_of(grouping, records, j) for j, grouping in enumerate(groupings)])


def partition_of(coding: Coding, grouping: AttributeGrouping) -> AnyPartition:
    """The partition of an artifact that does the same."""
    if grouping.exact:
        return keep(coding)
    return partition(coding, grouping.bucket_of, dict(enumerate(grouping.stands.tolist())))


def coarser(
    coding: Coding, grouping: AttributeGrouping, counts: Codes
) -> Iterator[tuple[AttributeGrouping, tuple[int, ...]]]:
    """Every next step of an attribute to less detail, and the buckets it touches: of two, the second's stand stays.

    Neighbours of an attribute with an order merge, the larger one's stand kept; a category's buckets join one of the
    largest; a bucket of missing values alone joins any of those; and all may become one at once.
    """
    if grouping.exact:
        finest = group_codes(coding, np.arange(coding.n_codes))
        yield finest, (-1,)
        yield whole(coding), (-1,)
        return
    k = grouping.n_buckets
    if k < 2:
        return
    every = tuple(range(k))
    sizes = np.array([int(counts[codes].sum()) for codes in grouping.members])
    largest = np.argsort(-sizes, kind="stable")
    absent = [b for b in every if grouping.stands[b] >= coding.n_values]
    own = [b for b in every if b not in absent]
    if coding.attribute.has_order:
        own.sort(key=lambda b: int(grouping.stands[b]))
        for one, other in pairwise(own):
            smaller, larger = (other, one) if sizes[one] >= sizes[other] else (one, other)
            yield grouping.merge_buckets(one, other, int(grouping.stands[larger])), (smaller, larger)
    else:
        absent = list(every)
    values = [b for b in largest.tolist() if grouping.stands[b] < coding.n_values][:_PARTNERS]
    for one in absent:
        for other in values:
            if one != other:
                yield grouping.merge_buckets(one, other, int(grouping.stands[other])), (one, other)
    if k > 2:
        for stand in values[: _WHOLES if k <= _PARTNERS else 1]:
            yield whole(coding, int(grouping.stands[stand])), every
