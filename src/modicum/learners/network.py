"""The paper's network: one hidden layer of 50, softmax answers for all targets at once (papers/0 Appendix F)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack
from threadpoolctl import threadpool_limits

from modicum.learners.frequent import Frequent
from modicum.learners.inputs import Counts, Inputs, Scores
from modicum.learners.layers import Answers, Floats, Rows, Weights, hidden_layer, softmax, train

FULL_BATCH = 1024  # up to so many cells every step sees all of them
BATCH = 256
MOST_VALUES = 1024
_LANES = 32  # hidden units are filled up with units of weight 0, which stay 0, to whole registers


class Network:
    """One hidden layer of 50 ReLU units, trained with Adam at rate 0.01, then 0.001 in the second half.

    The paper trains for 20 epochs of batches of 256 records. Here one row is a cell of many records, and an epoch of a
    few hundred cells would be a single step; so the number of gradient steps is fixed instead. Up to 1,024 cells, each
    of 500 steps sees all of them by weight; beyond that, each of 1,500 sees 256 cells drawn by their records. A cell's
    answer is the share of its records with each value: the same loss in expectation with less noise. Of a target with
    more than 1,024 values the rarest share a place.

    Parameters
    ----------
    l2 : l2/2 times the squared weights is added to the loss; chosen on validation data by whoever trains it.
    """

    def __init__(self, l2: float = 0.0, hidden: int = 50, random_state: int = 0) -> None:
        self.l2 = l2
        self.hidden = hidden
        self.random_state = random_state

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "Network":
        random = np.random.default_rng(self.random_state)
        records = np.asarray(counts[0].sum(axis=1), dtype=np.float64)
        self._scale = number_scale(inputs.numbers, records)
        self._frequent = [Frequent(table, MOST_VALUES) for table in counts]
        tables = [frequent.pooled(table) for frequent, table in zip(self._frequent, counts, strict=True)]
        sizes = [table.shape[1] for table in tables]
        units = -(-self.hidden // _LANES) * _LANES
        self._weights = Weights(
            _padded(_start(random, inputs.width, self.hidden), (inputs.width, units)),
            np.zeros(units, dtype=np.float32),
            _padded(_start(random, self.hidden, sum(sizes)), (units, sum(sizes))),
            np.log(np.concatenate([f.places for f in self._frequent]) + 1e-6).astype(np.float32),
        )
        shares, self._starts = target_shares(tables)
        answers = Answers(shares.indptr.astype(np.int64), shares.indices.astype(np.int64), shares.data, self._starts)
        batches, portions, rates = schedule(records, random)
        # The matrices are small: threads would wait for each other longer than they work.
        with threadpool_limits(1, user_api="blas"):
            train(self._rows(inputs), answers, batches, portions, rates, self._weights, self.l2)
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """The chance of each value, one table per target."""
        hidden = hidden_layer(self._rows(inputs), np.arange(len(inputs)), self._weights)
        scores = hidden @ self._weights.second + self._weights.base
        softmax(scores, self._starts)
        parts = np.split(scores, self._starts[1:], axis=1)
        return [frequent.spread(part) for frequent, part in zip(self._frequent, parts, strict=True)]

    def _rows(self, inputs: Inputs) -> Rows:
        offsets = np.cumsum([0, *inputs.sizes])[:-1]
        return Rows((inputs.codes + offsets).astype(np.int32), scaled_numbers(inputs, self._scale))


def schedule(records: npt.NDArray[np.float64], random: np.random.Generator) -> tuple[Any, Floats, Floats]:
    """The cells of each step, what each of them counts, and the rate of each step."""
    share = records / records.sum()
    whole = len(records) <= FULL_BATCH
    steps = 500 if whole else 1500
    rates = np.where(np.arange(steps) < steps // 2, 0.01, 0.001).astype(np.float32)
    if whole:
        return np.arange(len(records))[None], share.astype(np.float32), rates
    of_record = np.repeat(np.arange(len(records)), records.astype(np.int64))
    drawn = of_record[random.integers(0, len(of_record), (steps, BATCH))]
    return drawn, np.full(BATCH, 1 / BATCH, dtype=np.float32), rates


def target_shares(tables: Sequence[Counts]) -> tuple[csr_array, npt.NDArray[np.int64]]:
    """Each cell's share of every value, all targets beside each other, and where each target starts."""
    shared = [csr_array(table.multiply(1 / np.maximum(table.sum(axis=1), 1)[:, None])) for table in tables]
    starts = np.cumsum([0, *(table.shape[1] for table in tables[:-1])])
    return csr_array(hstack(shared, format="csr"), dtype=np.float32), starts


def number_scale(numbers: npt.NDArray[np.float64], records: Any) -> tuple[Any, Any]:
    """Weighted mean and spread of each number; missing ones do not count."""
    present = ~np.isnan(numbers) * records[:, None]
    total = np.maximum(present.sum(axis=0), 1)
    middle = np.nansum(numbers * present, axis=0) / total
    spread = np.sqrt(np.nansum((numbers - middle) ** 2 * present, axis=0) / total)
    return middle, np.where(spread > 0, spread, 1)


def scaled_numbers(inputs: Inputs, scale: tuple[Any, Any]) -> Floats:
    """Scaled numbers (0 where missing), and beside them whether each is missing."""
    middle, spread = scale
    scaled = np.clip((inputs.numbers - middle) / spread, -5, 5)
    missing = np.isnan(scaled)
    return np.hstack([np.where(missing, 0, scaled), missing]).astype(np.float32)


def _start(random: np.random.Generator, rows: int, columns: int) -> Floats:
    return (random.standard_normal((rows, columns)) * np.sqrt(2 / max(1, min(rows, 50)))).astype(np.float32)


def _padded(weights: Floats, shape: tuple[int, int]) -> Floats:
    result = np.zeros(shape, dtype=np.float32)
    result[: weights.shape[0], : weights.shape[1]] = weights
    return result
