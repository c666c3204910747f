"""A generalization that can be trained: a value belongs to every bucket with some probability [Staab24 Appendix C].

Several generalizations with the same buckets but different aims (`runs`) are trained side by side, so that a sweep
costs little more than one of them. PyTorch's modules are not used: the parameters are plain tensors with the run as
their first or second axis, drawn by numpy, so that they do not depend on PyTorch's generator.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from modicum.table.codes import Coding
from modicum.typing import Codes, Floats

HIDDEN = 16  # units of a monotone network
_EPSILON = 1e-5


class SoftBuckets:
    """For each code of each attribute the probability of each of k buckets.

    A category has one network per attribute on the one-hot value. Whatever its layers, such a network is a table of
    scores, one row per value. So the table itself is trained, with one more row for all values, at temperature τ:

        p_j(x) = softmax_j((score_j(x) + common_j) / τ).

    At the start all values of a category share the first bucket, which amounts to not collecting it: values separate
    only if that gains something. From a random start, buckets that gain nothing would stay random.

    A number (and an ordered category, by its rank) enters as its middle rank among the training records, from 0 to 1,
    which outliers cannot distort. A network M with squared weights, tanh and batch normalization with a squared
    (non-negative) scale maps it monotonically to [0, 1]. With centres c_j = (2j − 1) / (2k)

        p_j(x) = softmax_j(−k² (M(x) − c_j)² / τ).

    The factor k² is not in the paper: it measures distances in bucket widths. Without it, at k = 5 and τ = 0.5, a value
    in the middle of a bucket belongs to it with probability 0.23 to 0.29 only, and training never sees the hard buckets
    that come out. Batch normalization takes its mean and variance over all training records, since every code's
    frequency is known, not over a batch. A missing number has free scores of its own.
    """

    def __init__(
        self, codings: Sequence[Coding], k: int, runs: int, random: np.random.Generator, torch: Any, device: str
    ) -> None:
        self.torch, self.k, self.runs, self._codings = torch, k, runs, codings
        self.sizes = [coding.n_codes for coding in codings]
        self.offsets = np.cumsum([0, *self.sizes])
        graded = [j for j, coding in enumerate(codings) if coding.attribute.has_order]
        self._free_rows = self._positions([_find_free_codes(coding) for coding in codings], device)
        self._graded_rows = self._positions([_find_graded_codes(coding) for coding in codings], device)
        self._rank, self._share, self._place = _pad_ranks([codings[j] for j in graded])
        self._rank, self._share = (torch.from_numpy(x).to(device) for x in (self._rank, self._share))
        self._place = torch.from_numpy(self._place).to(device)

        def drawn(*shape: int, scale: float = 1.0, run_axis: int = 0) -> Any:
            # The same start for every run, so that a run does not depend on how many there are.
            values = np.expand_dims(random.standard_normal(shape).astype(np.float32) * scale, run_axis)
            return torch.from_numpy(np.repeat(values, runs, axis=run_axis)).to(device).requires_grad_()

        a = len(graded)
        self._scores = drawn(len(self._free_rows), k, scale=0.05, run_axis=1)
        self._common = torch.zeros((len(codings), runs, k), device=device)
        self._common[:, :, 0] = 1.0
        self._common.requires_grad_()
        owner = np.repeat(np.arange(len(codings)), [len(_find_free_codes(coding)) for coding in codings])
        self._owner = torch.from_numpy(owner).to(device)
        self._first, self._last = drawn(a, 1, HIDDEN), drawn(a, HIDDEN, 1, scale=HIDDEN**-0.25)
        self._scale, self._shift = (
            torch.full((runs, a, 1, n), 1.0, device=device).requires_grad_() for n in (HIDDEN, 1)
        )
        self._bias, self._centre = drawn(a, 1, HIDDEN), drawn(a, 1, 1, scale=0.1)
        self._centres = ((2 * torch.arange(1, k + 1, device=device) - 1) / (2 * k)).float()

    @property
    def free_parameters(self) -> list[Any]:
        """The parameters of categories and missing values."""
        return [self._scores, self._common]

    @property
    def graded_parameters(self) -> list[Any]:
        """The parameters of numbers."""
        return [self._first, self._last, self._scale, self._shift, self._bias, self._centre]

    def probabilities(self, temperature: float) -> Any:
        """Codes of all attributes × runs × buckets."""
        torch = self.torch
        total = int(self.offsets[-1])
        scores = self._scores.new_empty((total, self.runs, self.k))
        if len(self._graded_rows):
            away = self.k * (self._map_graded_codes()[..., None] - self._centres)
            scores = scores.index_copy(0, self._graded_rows, -(away**2))
        if len(self._free_rows):
            scores = scores.index_copy(0, self._free_rows, self._scores + self._common[self._owner])
        return torch.softmax(scores / temperature, dim=2)

    def _map_graded_codes(self) -> Any:
        """M of every code of every number, as codes × runs."""
        torch = self.torch
        hidden = torch.tanh(self._scale**2 * self._normalize(self._rank @ self._first**2) + self._bias)
        out = self._shift**2 * self._normalize(hidden @ self._last**2) + self._centre
        mapped = (torch.tanh(out) + 1) / 2  # runs × attributes × codes × 1
        return mapped.flatten(1).T[self._place]

    def _normalize(self, values: Any) -> Any:
        mean = (values * self._share).sum(dim=2, keepdim=True)
        variance = ((values - mean) ** 2 * self._share).sum(dim=2, keepdim=True)
        return (values - mean) / (variance + _EPSILON).sqrt()

    def hard(self, run: int) -> list[Codes]:
        """Each code's most likely bucket, one array per attribute: the limit of temperature zero."""
        with self.torch.no_grad():
            chosen = self.probabilities(0.5)[:, run].argmax(dim=1).cpu().numpy()
        found = [chosen[low:high] for low, high in pairwise(self.offsets)]
        for coding, own in zip(self._codings, found, strict=True):
            graded = own[_find_graded_codes(coding)]
            own[_find_graded_codes(coding)] = np.maximum.accumulate(graded)  # M rises, except for rounding
        return found

    def _positions(self, chosen: Sequence[Codes], device: str) -> Any:
        """The rows of some codes of each attribute, in the table of all codes."""
        rows = [offset + own for offset, own in zip(self.offsets[:-1], chosen, strict=True)]
        return self.torch.from_numpy(np.concatenate(rows).astype(np.int64)).to(device)


def _find_graded_codes(coding: Coding) -> Codes:
    """The codes that have a rank."""
    return np.arange(coding.n_values if coding.attribute.has_order else 0)


def _find_free_codes(coding: Coding) -> Codes:
    """The codes without a rank: those of a category, and missing."""
    return np.arange(len(_find_graded_codes(coding)), coding.n_codes)


def middle_ranks(coding: Coding) -> Floats:
    """The share of the records with a smaller value, and half of those with the same, for each value.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.minimizers.neural.soft_buckets import middle_ranks
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"age": [20, 30, 30, 90]})
    >>> middle_ranks(Coder.fit(X, md.Schema.infer(X)).codings[0]).tolist()
    [0.125, 0.5, 0.875]
    """
    ends = np.cumsum(coding.counts)
    return np.asarray((ends - coding.counts / 2) / ends[-1])


def _pad_ranks(codings: Sequence[Coding]) -> tuple[Any, Any, Any]:
    """Ranks and shares of all graded codes as attributes × codes × 1, padded with zeros; and the place of each code."""
    longest = max((coding.n_values for coding in codings), default=0)
    ranks = np.zeros((len(codings), longest, 1), dtype=np.float32)
    shares = np.zeros_like(ranks)
    places = []
    for i, coding in enumerate(codings):
        ranks[i, : coding.n_values, 0] = middle_ranks(coding)
        shares[i, : coding.n_values, 0] = coding.counts / coding.counts.sum()
        places.append(i * longest + np.arange(coding.n_values))
    return ranks, shares, np.concatenate([np.zeros(0, dtype=np.int64), *places]).astype(np.int64)
