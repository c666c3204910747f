"""Which codes of an attribute lead to the same, whatever is answered besides: decided by random fingerprints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modicum.table.values import Codes, Floats, Mask

_PRIME = 2**31 - 1  # products of two residues fit 64 bits, sums of millions a float64 exactly


@dataclass(frozen=True)
class Equivalence:
    """Which codes of an attribute are equivalent, by fingerprints of what they lead to.

    A code's fingerprint is the sum over all completions x of result(x) · ∏ r(x_b), with random numbers r for each code
    and each result, modulo a prime p. It is a sum over cells, of products over attributes, so that no completion is
    ever listed. Equivalent codes have equal ones; others with a chance of at most (attributes / p)², two being drawn
    (Schwartz–Zippel).

    Attributes
    ----------
    boxes : attribute → array of bool, one row per cell and one column per code
    drawn : attribute → the random numbers of its codes
    results : the random numbers of each cell's result
    """

    boxes: dict[int, Mask]
    drawn: dict[int, Floats]
    results: Codes

    @classmethod
    def of(cls, boxes: dict[int, Mask], results: Codes) -> "Equivalence":
        """Draw the numbers; `results` says which cells give the same."""
        random = np.random.default_rng(0)
        drawn = {a: random.integers(_PRIME, size=(box.shape[1], 2)).astype(float) for a, box in boxes.items()}
        return cls(boxes, drawn, random.integers(_PRIME, size=(len(results), 2))[results])

    def classes(self, boxes: dict[int, Mask], rows: Floats | None = None) -> dict[int, Codes]:
        """For each open attribute: of each code the first one that it is equivalent to, a row for each of `rows`.

        Parameters
        ----------
        boxes : open attribute → which of its codes are possible in each cell
        rows : which cells are possible, a row of 0 and 1 for each case; one case with all of them by default

        Examples
        --------
        >>> import numpy as np
        >>> from modicum.generalization.equivalence import Equivalence
        >>> boxes = {0: np.array([[True, True, False, True], [False, False, True, False]])}
        >>> Equivalence.of(boxes, np.array([0, 1])).classes(boxes)[0].tolist()
        [[0, 0, 2, 0]]
        """
        cases = np.ones((1, len(self.results))) if rows is None else rows
        weights = [(box @ self.drawn[a] % _PRIME).astype(np.int64) for a, box in boxes.items()]
        found = {}
        for (a, box), product in zip(boxes.items(), _products_of_others(self.results, weights), strict=True):
            one, two = ((cases @ (box * each[:, None]) % _PRIME).astype(np.int64) for each in product.T.astype(float))
            found[a] = _first_equal(one << 31 | two)
        return found


def _products_of_others(first: Codes, factors: Sequence[Codes]) -> list[Codes]:
    """For each factor the product of `first` and all the others."""
    found = [first]
    for factor in factors[:-1]:
        found.append(found[-1] * factor % _PRIME)
    after = np.ones_like(first)
    for i in reversed(range(len(factors))):
        found[i] = found[i] * after % _PRIME
        after = after * factors[i] % _PRIME
    return found[: len(factors)]


def _first_equal(keys: Codes) -> Codes:
    """In each row, for each entry the place of the first one that equals it."""
    order = np.argsort(keys, axis=1, kind="stable")
    ranked = np.take_along_axis(keys, order, axis=1)
    starts = np.zeros(keys.shape, dtype=np.int64)
    starts[:, 1:] = np.where(ranked[:, 1:] != ranked[:, :-1], np.arange(1, keys.shape[1]), 0)
    first = np.take_along_axis(order, np.maximum.accumulate(starts, axis=1), axis=1)
    found = np.empty_like(first)
    np.put_along_axis(found, order, first, axis=1)
    return found
