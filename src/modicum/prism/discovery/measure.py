"""What a measure of correlation is: for sets of attributes and every label λ a strength, a p-value and a null value."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numba
import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.prism.discovery.attribute_codes import CodedAttributes
from modicum.prism.discovery.sensitive_values import Label, SensitiveAttribute
from modicum.progress import results, track_progress
from modicum.typing import Floats, Ints

# The sets of one size that are left to test: those all of whose subsets one smaller were tested and do not correlate.
#
# papers/3, Figure 4, line 7. Sets are rows of column positions, each row and the rows themselves in ascending order.

MOST_SETS = 5_000_000  # of one size: their positions, with what is found, stay within a few hundred megabytes

Sets = npt.NDArray[np.int32]


def first_candidates(positions: npt.NDArray[Any]) -> Sets:
    """Every attribute alone (Figure 4, line 6)."""
    return np.sort(positions).astype(np.int32).reshape(-1, 1)


def next_candidates(left: Sets) -> Sets:
    """The sets one larger than those left, in which every subset one smaller is left.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.discovery.measure import next_candidates
    >>> next_candidates(np.array([[0, 1], [0, 2], [1, 2], [1, 3]], dtype=np.int32)).tolist()
    [[0, 1, 2]]
    """
    found = _join_sets(left, MOST_SETS, np.empty((0, left.shape[1] + 1), np.int32))
    if found > MOST_SETS:
        raise ParameterError(
            f"More than {MOST_SETS:,} sets of {left.shape[1] + 1} attributes would have to be tested; lower 'max_size' "
            f"to {left.shape[1]}, lower 'threshold', or let one-hot columns be one attribute (groups='attribute')."
        )
    sets = np.empty((found, left.shape[1] + 1), np.int32)
    _join_sets(left, MOST_SETS, sets)
    return sets


@numba.njit(cache=True, nogil=True)
def _join_sets(left, most, sets):  # type: ignore[no-untyped-def]
    """Write the next sets where there is room for them; how many there are, or one too many."""
    m, c = left.shape
    found = 0
    larger = np.empty(c + 1, np.int32)
    for i in range(m):
        larger[:c] = left[i]
        for k in range(i + 1, m):
            if not _same_start(left, i, k):
                break
            larger[c] = left[k, c - 1]
            if not _subsets_are_left(left, larger):
                continue
            if len(sets):
                sets[found] = larger
            found += 1
            if found > most:
                return found
    return found


@numba.njit(cache=True, nogil=True)
def _same_start(left, i, k):  # type: ignore[no-untyped-def]
    same, j = True, 0
    while same and j < left.shape[1] - 1:
        same = left[i, j] == left[k, j]
        j += 1
    return same


@numba.njit(cache=True, nogil=True)
def _subsets_are_left(left, larger):  # type: ignore[no-untyped-def]
    """Whether each subset without one of the attributes before the last two is there; the other two made it."""
    for skip in range(len(larger) - 2):
        low, high = 0, len(left)
        while low < high:
            middle = (low + high) // 2
            if _is_before(left[middle], larger, skip):
                low = middle + 1
            else:
                high = middle
        if low == len(left) or not _is_same(left[low], larger, skip):
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _is_before(row, larger, skip):  # type: ignore[no-untyped-def]
    for j in range(len(row)):
        other = larger[j if j < skip else j + 1]
        if row[j] != other:
            return row[j] < other
    return False


@numba.njit(cache=True, nogil=True)
def _is_same(row, larger, skip):  # type: ignore[no-untyped-def]
    same, j = True, 0
    while same and j < len(row):
        same = row[j] == larger[j if j < skip else j + 1]
        j += 1
    return same


ROUNDING = 1e-12  # by which a strength may miss the threshold: a perfect correlation is one at threshold 1


@dataclass(frozen=True)
class CountedSets:
    """The records that a measure counts: coded attributes, classes of each sensitive attribute, records per row."""

    attributes: CodedAttributes
    sensitive: tuple[SensitiveAttribute, ...]
    weights: Ints

    @property
    def records(self) -> int:
        return int(self.weights.sum())

    @property
    def labels(self) -> tuple[Label, ...]:
        return tuple(label for each in self.sensitive for label in each.labels)

    def signs(self, label: Label) -> npt.NDArray[np.bool_]:
        """λ itself, per row."""
        owner = next(each for each in self.sensitive if each.name == label.sensitive)
        return owner.classes == label.position


@dataclass(frozen=True)
class Assessed:
    """What is known of some sets: arrays with a row per set and a column per λ; cells are -1 where not counted."""

    strength: Floats
    p_value: Floats
    by_chance: Floats
    cells: Ints


class Measure(Protocol):
    """Assesses sets of columns, all of one size, piece by piece in their order.

    Where a set stays below the threshold for some λ, its p-value there may be given as 1 without computing it. No
    p-value is below `smallest_p`. `labels` is how many λ there are.
    """

    name: str
    smallest_p: float
    labels: int

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]: ...


def in_pieces(
    work: Callable[[Sets], Assessed], sets: Sets, size: int, title: str, progress: bool
) -> Iterator[Assessed]:
    """The work on `size` sets at a time, on all cores, in order."""
    pieces = [partial(work, sets[i : i + size]) for i in range(0, len(sets), size)]
    return track_progress(results(pieces, -1), title, total=len(pieces), progress=progress)
