"""Groups by arithmetic: the records of one sensitive value after another, dealt to the groups in turn.

The values are laid out one after another, each with its records in the order of a secret hash of what they hold, and
the record at place p goes to group p mod ⌊n/ℓ⌋. No value has more than ⌊n/ℓ⌋ records, so that no two of its places fall
into one group; every group has at least ℓ records, all with different values. Where a record goes follows from how many
records each value has and from its number among those of its own value. So the plan is a few numbers for each value,
however many records there are, an engine can carry it out, and the order of the rows does not matter.
"""

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.anatomy.suppression import most_of_a_value
from modicum.engines.sampling import RecordHash
from modicum.table.values import Codes

_FACTORS = 2**20  # below which the factor is drawn that mixes the groups' numbers


@dataclass(frozen=True)
class Deal:
    """Which group each record of a sensitive value goes to.

    Attributes
    ----------
    starts : for each value the place of its first record
    groups : how many groups there are
    most : how many records of a value stay
    factor, shift : how the groups are numbered, so that neighbours in the layout are none in number

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.dealing import Deal
    >>> deal = Deal.of(np.array([2, 2, 1]), 2, np.random.default_rng(0))
    >>> deal.groups, sorted(deal.group(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0])).tolist())
    (2, [0, 0, 0, 1, 1])
    """

    starts: npt.NDArray[np.int64]
    groups: int
    most: int
    factor: int
    shift: int

    @classmethod
    def of(cls, counts: Codes, l: int, random: np.random.Generator) -> "Deal":
        """Plan for values with so many records each, of which the fewest are left out where one is too frequent."""
        most = min(int(counts.max()), most_of_a_value(counts, l))
        stay = np.minimum(counts, most)
        order = random.permutation(len(counts))
        starts = np.empty(len(counts), dtype=np.int64)
        starts[order] = np.cumsum(stay[order]) - stay[order]
        groups = int(stay.sum()) // l
        factor = next(f for f in _drawn_factors(groups, random) if gcd(f, groups) == 1)
        return cls(starts, groups, most, factor, int(random.integers(0, groups)))

    def group(self, codes: Codes, numbers: Codes) -> Codes:
        """The groups, from 0, of records with these values and numbers among the records of their value."""
        found: Codes = self.of_places(self.starts[codes] + numbers)
        return found

    def of_places(self, places: Any) -> Any:
        """The groups of places in the layout: an array, or an expression of an engine."""
        return (places % self.groups * self.factor + self.shift) % self.groups


def _drawn_factors(groups: int, random: np.random.Generator) -> Any:
    """Factors to try, one after another; 1 always does in the end."""
    first = int(random.integers(1, min(groups, _FACTORS) + 1))
    return (*range(first, min(groups, _FACTORS) + 1), 1)


@dataclass(frozen=True)
class Numbering:
    """The order of the records of one value: by two hashes of all that is released of them."""

    first: RecordHash
    second: RecordHash

    @classmethod
    def of(cls, columns: tuple[str, ...], random: np.random.Generator) -> "Numbering":
        """Draw the hashes."""
        one, other = random.integers(0, 2**62, 2).tolist()
        return cls(RecordHash(columns, one), RecordHash(columns, other))

    def hashes(self, frame: Any) -> tuple[Codes, Codes]:
        """Both hashes of each record, as whole numbers."""
        one, other = (each.of(frame).view(np.int64) for each in (self.first, self.second))
        return one, other


def numbers_of(codes: Codes, hashes: tuple[Codes, Codes]) -> Codes:
    """Each record's number, from 0, among those of its value.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.dealing import numbers_of
    >>> numbers_of(np.array([1, 0, 1]), (np.array([5, 7, 2]), np.array([0, 0, 0]))).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((hashes[1], hashes[0], codes))
    counts = np.bincount(codes)
    found = np.empty(len(codes), dtype=np.int64)
    found[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found
