"""What a measure of correlation is: for sets of attributes and every label λ a strength, a p-value and a null value."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from modicum.prism.finding.attribute_codes import CodedAttributes, Ints
from modicum.prism.finding.candidates import Sets
from modicum.prism.finding.sensitive_values import Label, SensitiveAttribute
from modicum.progress import results, watched

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12  # by which a strength may miss the threshold: a perfect correlation is one at threshold 1


@dataclass(frozen=True)
class Counted:
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
    return watched(results(pieces), title, total=len(pieces), progress=progress)
