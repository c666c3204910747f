"""The paper's network: one hidden layer of 50, softmax answers for all targets at once (papers/0 Appendix F)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack
from threadpoolctl import threadpool_limits

from modicum.learners.frequent import Frequent
from modicum.learners.inputs import Counts, Inputs, Scores

Floats = npt.NDArray[np.float32]
_FULL_BATCH = 1024  # up to so many cells every step sees all of them
_DENSE = 50_000_000  # numbers held at once; beyond, each batch is made when it is needed
_WIDE = 500  # columns beyond which one-hot rows are kept sparse
_MOST_VALUES = 1024


class Network:
    """One hidden layer of 50 ReLU units, trained with Adam at rate 0.01, then 0.001 in the second half.

    The paper trains for 20 epochs of batches of 256 records. Here one row is a cell of many records, and an epoch of a
    few hundred cells would be a single step; so the number of gradient steps is fixed instead. Up to 1,024 cells, each
    of 500 steps sees all of them by weight; beyond that, each of 1,500 sees 256 cells drawn by their records. A cell's
    answer is the share of its records with each value: the same loss in expectation with less noise. Of a target with
    more than 1,024 values the rarest share a place.

    Parameters
    ----------
    l2 : the weight of the squared weights in the loss; chosen on validation data by whoever trains it.
    """

    def __init__(self, l2: float = 0.0, hidden: int = 50, random_state: int = 0) -> None:
        self.l2 = l2
        self.hidden = hidden
        self.random_state = random_state

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "Network":
        random = np.random.default_rng(self.random_state)
        records = np.asarray(counts[0].sum(axis=1), dtype=np.float64)
        self._scale = _scale(inputs.numbers, records)
        self._frequent = [Frequent(table, _MOST_VALUES) for table in counts]
        tables = [frequent.pooled(table) for frequent, table in zip(self._frequent, counts, strict=True)]
        answers = [table.shape[1] for table in tables]
        self._starts = np.cumsum([0, *answers[:-1]])
        self._weights = [
            _start(random, inputs.width, self.hidden),
            np.zeros(self.hidden, dtype=np.float32),
            _start(random, self.hidden, sum(answers)),
            np.log(np.concatenate([f.places for f in self._frequent]) + 1e-6).astype(np.float32),
        ]
        # The matrices are small: threads would wait for each other longer than they work.
        with threadpool_limits(1, user_api="blas"):
            self._train(inputs, csr_array(hstack(tables, format="csr")), records / records.sum(), random)
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """The chance of each value, one table per target."""
        first, shift, second, base = self._weights
        hidden = np.maximum(self._features(inputs) @ first + shift, 0)
        parts = np.split(_softmax(hidden @ second + base, self._starts), self._starts[1:], axis=1)
        return [frequent.spread(part) for frequent, part in zip(self._frequent, parts, strict=True)]

    def _features(self, inputs: Inputs) -> Any:
        """One-hot codes, scaled numbers (0 where missing) and whether a number is missing; sparse where wide."""
        n, d = inputs.codes.shape
        middle, spread = self._scale
        scaled = np.clip((inputs.numbers - middle) / spread, -5, 5)
        missing = np.isnan(scaled)
        plain = np.hstack([np.where(missing, 0, scaled), missing]).astype(np.float32)
        offsets = np.cumsum([0, *inputs.sizes])
        places = inputs.codes + offsets[:-1]
        if inputs.width > _WIDE:
            ones = np.ones(n * d, dtype=np.float32)
            hot = csr_array((ones, places.ravel(), np.arange(0, n * d + 1, d or 1)[: n + 1]), shape=(n, offsets[-1]))
            return csr_array(hstack([hot, csr_array(plain)], format="csr")) if d else plain
        features = np.zeros((n, inputs.width), dtype=np.float32)
        features[np.arange(n)[:, None], places] = 1
        features[:, offsets[-1] :] = plain
        return features

    def _train(self, inputs: Inputs, table: csr_array, share: Any, random: np.random.Generator) -> None:
        whole = len(inputs) <= _FULL_BATCH
        steps = 500 if whole else 1500
        drawn: Any = None if whole else random.choice(len(inputs), (steps, 256), p=share)
        even = np.full(256, 1 / 256, dtype=np.float32)
        every = share.astype(np.float32)
        dense = whole or len(inputs) * (table.shape[1] + min(inputs.width, _WIDE)) <= _DENSE
        if dense:
            features, answers = self._features(inputs), self._answers(table)
        optimizer = _Adam(self._weights)
        for step in range(steps):
            rate = 0.01 if step < steps // 2 else 0.001
            if whole:
                batch = (features, answers, every)
            elif dense:
                batch = (features[drawn[step]], answers[drawn[step]], even)
            else:
                batch = (self._features(inputs[drawn[step]]), self._answers(table[drawn[step]]), even)
            optimizer.step(self._gradients(*batch), rate)

    def _answers(self, table: csr_array) -> Floats:
        """Each cell's share of every value, all targets beside each other."""
        counts = table.toarray().astype(np.float32)
        return counts / np.maximum(_totals(counts, self._starts), 1)

    def _gradients(self, features: Any, answers: Floats, share: Floats) -> list[Floats]:
        first, shift, second, base = self._weights
        hidden = np.maximum(features @ first + shift, 0)
        error = (_softmax(hidden @ second + base, self._starts) - answers) * share[:, None]
        back = (error @ second.T) * (hidden > 0)
        return [
            features.T @ back + self.l2 * first,
            back.sum(axis=0),
            hidden.T @ error + self.l2 * second,
            error.sum(axis=0),
        ]


class _Adam:
    """Kingma and Ba (2015)."""

    def __init__(self, weights: list[Floats]) -> None:
        self.weights = weights
        self.mean = [np.zeros_like(w) for w in weights]
        self.square = [np.zeros_like(w) for w in weights]
        self.steps = 0

    def step(self, gradients: list[Floats], rate: float) -> None:
        self.steps += 1
        for w, g, m, v in zip(self.weights, gradients, self.mean, self.square, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            fixed_rate = rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
            w -= np.float32(fixed_rate) * m / (np.sqrt(v) + np.float32(1e-8))


def _start(random: np.random.Generator, rows: int, columns: int) -> Floats:
    return (random.standard_normal((rows, columns)) * np.sqrt(2 / max(1, min(rows, 50)))).astype(np.float32)


def _scale(numbers: npt.NDArray[np.float64], records: Any) -> tuple[Any, Any]:
    """Weighted mean and spread of each number; missing ones do not count."""
    present = ~np.isnan(numbers) * records[:, None]
    total = np.maximum(present.sum(axis=0), 1)
    middle = np.nansum(numbers * present, axis=0) / total
    spread = np.sqrt(np.nansum((numbers - middle) ** 2 * present, axis=0) / total)
    return middle, np.where(spread > 0, spread, 1)


def _totals(table: Floats, starts: npt.NDArray[np.int64]) -> Floats:
    """The sum over each target's values, repeated for each of them."""
    sizes = np.diff(np.append(starts, table.shape[1]))
    return np.repeat(np.add.reduceat(table, starts, axis=1), sizes, axis=1)


def _softmax(scores: Floats, starts: npt.NDArray[np.int64]) -> Floats:
    """Chances within each target; a score beyond ±30 is as sure as float32 can tell."""
    chances = np.exp(np.clip(scores, -30, 30))
    return np.asarray(chances / _totals(chances, starts), dtype=np.float32)
