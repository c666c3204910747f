"""Down a tree of yes/no questions about codes, all records at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.table.values import Codes, Mask


@dataclass(frozen=True)
class Walk:
    """A tree laid flat: question i asks for `columns[i]`, and `goes_left` from `starts[i]` on says which codes go left.

    `children[i]` are the next questions, or the leaf l as ~l.
    """

    columns: Codes
    starts: Codes
    goes_left: Mask
    children: Codes

    @classmethod
    def of(cls, columns: Sequence[int], goes_left: Sequence[Mask], children: Sequence[Sequence[int]]) -> "Walk":
        """Lay a tree flat, the first question its root.

        Examples
        --------
        >>> import numpy as np
        >>> from modicum.generalization.walking import Walk
        >>> walk = Walk.of([1], [np.array([True, False, True])], [[~0, ~1]])
        >>> walk.leaves(np.array([[9, 0], [9, 1], [9, 2]])).tolist()
        [0, 1, 0]
        """
        sizes = [len(flags) for flags in goes_left]
        return cls(
            np.array(columns, dtype=np.int64),
            np.cumsum([0, *sizes])[: len(sizes)].astype(np.int64),
            np.concatenate([*goes_left, np.zeros(0, dtype=bool)]),
            np.array(children, dtype=np.int64).reshape(-1, 2),
        )

    def leaves(self, codes: npt.NDArray[Any]) -> Codes:
        """The leaf of each row of codes."""
        if not len(self.columns):
            return np.zeros(len(codes), dtype=np.int64)
        from modicum.generalization.walk_kernel import walk  # deferred: the compiler takes a second to import

        found: Codes = walk(codes, self.columns, self.starts, self.goes_left, self.children)
        return found
