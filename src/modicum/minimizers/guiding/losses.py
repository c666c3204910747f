"""How much of an attribute is hidden where some of its codes are told apart no more (papers/1 §2.2, §5.1)."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from modicum.errors import ParameterError
from modicum.measures.information_loss import domain_of, share_of_values, share_of_width
from modicum.table.codes import Coder, Coding, NumberCoding, all_counts
from modicum.table.values import Codes, Floats


class Losses:
    """The loss of each set of codes of each attribute, and the records' weighted mean of them.

    Parameters
    ----------
    coder : Coder
    shares : each attribute's weight; they sum to 1
    loss : 'ncp', 'entropy', or a function of an attribute's coding and the codes that are left possible
    """

    def __init__(self, coder: Coder, shares: Sequence[float], loss: Any) -> None:
        self.coder = coder
        self.shares = np.asarray(shares, dtype=np.float64)
        self.counts = [all_counts(coding) for coding in coder.codings]
        self.total = int(self.counts[0].sum())
        self._own = [_loss(loss, coding) for coding in coder.codings]
        self._known: list[dict[bytes, float]] = [{} for _ in coder.codings]

    def of(self, attribute: int, codes: Codes) -> float:
        """The loss where these codes are left: 0 where it is one alone in full detail, 1 where nothing is told."""
        if len(codes) == len(self.counts[attribute]):
            return 1.0
        key = codes.tobytes()
        known = self._known[attribute]
        if key not in known:
            known[key] = self._own[attribute](codes)
        return known[key]

    def part(self, attribute: int, codes: Codes) -> float:
        """What one bucket adds to the weighted mean over all records."""
        records = int(self.counts[attribute][codes].sum())
        return float(self.shares[attribute] * records * self.of(attribute, codes) / self.total)

    def mean(self, attribute: int, buckets: Sequence[Codes]) -> float:
        """The attribute's part in the weighted mean over all records."""
        return sum(self.part(attribute, codes) for codes in buckets)


def _loss(loss: Any, coding: Coding) -> Callable[[Codes], float]:
    if loss == "ncp":
        return _Width(coding) if isinstance(coding, NumberCoding) else _Values(coding)
    if loss == "entropy":
        return _Entropy(coding)
    if callable(loss):
        return lambda codes: _checked(loss(coding, codes))
    raise ParameterError(
        f"The 'loss' parameter of ModelGuided must be 'ncp', 'entropy' or a function. Got {loss!r} instead."
    )


def _checked(value: Any) -> float:
    if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ParameterError(f"The 'loss' function must give a number from 0 to 1. Got {value!r} instead.")
    return float(value)


class _Width:
    """Equation (1): a range's width over the domain's."""

    def __init__(self, coding: NumberCoding) -> None:
        self.coding = coding
        self.ends = np.concatenate([[-np.inf], coding.edges, [np.inf]])

    @cached_property
    def domain(self) -> tuple[float, float]:
        return domain_of(self.coding.attribute, self.coding.typical)

    def __call__(self, codes: Codes) -> float:
        own = codes[codes < self.coding.n_values]
        if not len(own):
            return 0.0
        return share_of_width(self.ends[own.min()], self.ends[own.max() + 1], self.coding.attribute, self.domain)


class _Values:
    """Equation (2): how many of the values are left."""

    def __init__(self, coding: Coding) -> None:
        self.size = coding.n_codes

    def __call__(self, codes: Codes) -> float:
        return share_of_values(len(codes), self.size)


class _Entropy:
    """The entropy that is left of the value where these codes are possible, over that of the attribute.

    H(v | v in G) / H(v), at most 1, from the records' shares: a loss that counts what is rare less than NCP does.
    """

    def __init__(self, coding: Coding) -> None:
        self.counts = all_counts(coding)

    def __call__(self, codes: Codes) -> float:
        whole = _entropy(self.counts)
        return min(1.0, _entropy(self.counts[codes]) / whole) if whole > 0 else 0.0


def _entropy(counts: Any) -> float:
    total = counts.sum()
    if not total:
        return 0.0
    p: Floats = counts[counts > 0] / total
    return float(-(p * np.log(p)).sum())
