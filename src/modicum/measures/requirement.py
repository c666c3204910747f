"""Requirements on every group of a release: at least k records, and diverse and close sensitive values.

A search checks `Requirement.rule` (with `holds`) before it splits a group. The release is then measured again by
`k_anonymity`, `l_diversity` and `t_closeness`, which share no code with the rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from modicum.measures.closeness import Distance
from modicum.measures.diversity import Diversity
from modicum.typing import Codes, Floats

DIVERSITIES = get_args(Diversity)
DISTANCES = get_args(Distance)


@dataclass(frozen=True)
class Requirement:
    """Conditions on a group of records.

    Parameters
    ----------
    k : the fewest records (or persons) of a group
    l : ℓ-diversity (Machanavajjhala et al. 2007), or None: the fewest distinct sensitive values ("distinct"), entropy
        of at least ln ℓ ("entropy"), or r₁ < c (r_ℓ + … + r_m) for the counts r₁ ≥ r₂ ≥ … ("recursive")
    t : t-closeness (Li et al. 2007), or None: the largest allowed distance from a group's distribution of sensitive
        values to that of all records
    overall : the share of each sensitive value among all records
    parents, heights : for the hierarchical distance, each node's parent (-1 for the root) and its height as a share of
        the root's; values come first, the root last

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.requirement import Requirement
    >>> needs = Requirement(k=2, l=2, overall=np.array([0.5, 0.5]))
    >>> needs.is_met_by(np.array([3, 0])), needs.is_met_by(np.array([2, 1]))
    (False, True)
    """

    k: int
    l: float | None = None
    diversity: Diversity = "distinct"
    c: float = 4.0
    t: float | None = None
    distance: Distance = "equal"
    overall: Floats = field(default_factory=lambda: np.zeros(0))
    parents: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    heights: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def is_plain(self) -> bool:
        """Whether only the number of records matters."""
        return self.l is None and self.t is None

    @property
    def rule(self) -> tuple[Any, ...]:
        """The conditions on sensitive values in the kernel's form."""
        diversity = 0 if self.l is None else 1 + DIVERSITIES.index(self.diversity)
        distance = 0 if self.t is None else 1 + DISTANCES.index(self.distance)
        limits = (diversity, float(self.l or 0), float(self.c), distance, float(self.t or 0))
        return (*limits, self.overall, self.parents, self.heights)

    def is_met_by(self, counts: npt.NDArray[Any]) -> bool:
        """Return whether a group with these counts of sensitive values may be released."""
        from modicum.measures.kernel import holds  # deferred: the compiler takes a second to import

        n = int(counts.sum())
        return n >= self.k and (self.is_plain or bool(holds(np.asarray(counts, dtype=np.float64), n, self.rule)))


PLAIN = Requirement(k=1)


def hierarchy_arrays(chains: Sequence[Sequence[str]], values: Sequence[Sequence[str]]) -> tuple[Codes, Floats]:
    """Return parents and heights of the tree that the ancestors form; the values come first, the root last.

    Parameters
    ----------
    chains : the ancestors of every possible value, nearest first
    values : the ancestors of the values that occur; a value without ancestors is a child of the root

    A node's height is its longest path down to a value, as a share of the root's. If all chains end in the same node,
    that is the root.

    Examples
    --------
    >>> from modicum.measures.requirement import hierarchy_arrays
    >>> parents, heights = hierarchy_arrays([("care",), ("craft",)], [("care",), ("care",), ()])
    >>> parents.tolist(), heights.tolist()
    ([3, 3, 5, 5, 5, -1], [0.0, 0.0, 0.0, 0.5, 0.5, 1.0])
    """
    tops = {chain[-1] for chain in chains if chain}
    root = next(iter(tops)) if len(tops) == 1 else None
    height: dict[str, int] = {}
    for chain in chains:
        for below, name in enumerate(chain):
            height[name] = max(height.get(name, 0), below + 1)
    ordered = sorted(height.keys() - {root}, key=lambda name: (height[name], name))  # children before parents
    place = {name: len(values) + i for i, name in enumerate(ordered)}
    last = len(values) + len(ordered)
    parents = np.full(last + 1, last, dtype=np.int64)
    parents[last] = -1
    for i, chain in [*enumerate(values), *((-1, chain) for chain in chains)]:
        path = [i] * (i >= 0) + [place[name] for name in chain if name in place]
        parents[path[:-1]] = path[1:]
    heights = np.array([0] * len(values) + [height[name] for name in ordered] + [0], dtype=np.float64)
    heights[last] = 1 + heights.max()
    return parents, heights / heights[last]
