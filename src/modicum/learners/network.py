"""Networks with a softmax for each target.

`Network` is the paper's with one hidden layer of 50 units [Staab24 Appendix F], compiled. `MLP` has more layers
(Appendix G) and needs PyTorch.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack
from threadpoolctl import threadpool_limits

from modicum.errors import require
from modicum.learners.inputs import Counts, Frequent, Inputs, Scores, chunks
from modicum.typing import Ints

# One hidden layer on one-hot rows, compiled: a row adds up the weights of its codes instead of multiplying by zeros.
#
# A row's one-hot columns are given by their places; its numbers follow in the next columns. The hidden layer is ReLU,
# the output a softmax within each target's columns.

Floats = npt.NDArray[np.float32]

_FAST = {"reassoc", "contract", "nsz"}


class Weights(NamedTuple):
    """Weights and biases from input to hidden layer and from hidden layer to output."""

    first: Floats
    shift: Floats
    second: Floats
    base: Floats


class Rows(NamedTuple):
    """The one-hot places and the numbers of each row."""

    places: npt.NDArray[np.int32]
    numbers: Floats


class NetworkAnswers(NamedTuple):
    """The share of each value in each row (sparse), and the start of each target's values."""

    ends: Ints
    columns: Ints
    shares: Floats
    starts: Ints


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def hidden_layer(rows: Rows, chosen: Ints, weights: Weights) -> Floats:
    """Return max(0, x · first + shift) for the chosen rows."""
    n, units = len(chosen), weights.shift.size
    plain = weights.first.shape[0] - rows.numbers.shape[1]
    hidden = np.empty((n, units), dtype=np.float32)
    for i in range(n):
        row, sums = chosen[i], hidden[i]
        sums[:] = weights.shift
        for j in range(rows.places.shape[1]):
            unit = weights.first[rows.places[row, j]]
            for u in range(units):
                sums[u] += unit[u]
        for j in range(rows.numbers.shape[1]):
            value, unit = rows.numbers[row, j], weights.first[plain + j]
            for u in range(units):
                sums[u] += value * unit[u]
        for u in range(units):
            sums[u] = max(sums[u], np.float32(0))
    return hidden


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def softmax(scores: Floats, starts: Ints) -> None:
    """Convert scores to chances within each target, in place."""
    for i in range(len(scores)):
        for t in range(len(starts)):
            start = starts[t]
            end = starts[t + 1] if t + 1 < len(starts) else scores.shape[1]
            part = scores[i, start:end]
            top = part.max()
            total = np.float32(0)
            for v in range(part.size):
                part[v] = math.exp(part[v] - top)
                total += part[v]
            for v in range(part.size):
                part[v] /= total


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def gradients(
    rows: Rows, answers: NetworkAnswers, chosen: Ints, portions: Floats, weights: Weights, l2: float
) -> Weights:
    """Return the gradient of the chosen rows' cross-entropy, weighted by `portions`, plus l2/2 · |weights|²."""
    hidden = hidden_layer(rows, chosen, weights)
    error = np.dot(hidden, weights.second)
    for i in range(len(error)):
        error[i] += weights.base
    softmax(error, answers.starts)
    for i in range(len(chosen)):
        row = chosen[i]
        for at in range(answers.ends[row], answers.ends[row + 1]):
            error[i, answers.columns[at]] -= answers.shares[at]
        error[i] *= portions[i]
    back = np.dot(error, weights.second.T)
    strength = np.float32(l2)
    first, shift = strength * weights.first, np.zeros_like(weights.shift)
    plain = weights.first.shape[0] - rows.numbers.shape[1]
    for i in range(len(chosen)):
        row, moved = chosen[i], back[i]
        for u in range(moved.size):
            if hidden[i, u] <= 0:
                moved[u] = 0
            shift[u] += moved[u]
        for j in range(rows.places.shape[1]):
            unit = first[rows.places[row, j]]
            for u in range(moved.size):
                unit[u] += moved[u]
        for j in range(rows.numbers.shape[1]):
            value, unit = rows.numbers[row, j], first[plain + j]
            for u in range(moved.size):
                unit[u] += value * moved[u]
    base = np.zeros_like(weights.base)
    for i in range(len(error)):
        base += error[i]
    return Weights(first, shift, np.dot(hidden.T, error) + strength * weights.second, base)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _adam(weights: Floats, gradient: Floats, mean: Floats, square: Floats, rate: float) -> None:
    """Make one step of Adam (Kingma and Ba 2015) on flat arrays; `rate` includes the bias correction."""
    speed, small = np.float32(rate), np.float32(1e-8)
    for i in range(weights.size):
        mean[i] += np.float32(0.1) * (gradient[i] - mean[i])
        square[i] += np.float32(0.001) * (gradient[i] * gradient[i] - square[i])
        weights[i] -= speed * mean[i] / (math.sqrt(square[i]) + small)


@numba.njit(cache=True, nogil=True)
def _zeros_like(weights: Weights) -> Weights:
    first, shift = np.zeros_like(weights.first), np.zeros_like(weights.shift)
    return Weights(first, shift, np.zeros_like(weights.second), np.zeros_like(weights.base))


@numba.njit(cache=True, nogil=True)
def train(
    rows: Rows, answers: NetworkAnswers, batches: Ints, portions: Floats, rates: Floats, weights: Weights, l2: float
) -> None:
    """Make one step of Adam per rate, on the batches in turn; the weights change in place."""
    means, squares = _zeros_like(weights), _zeros_like(weights)
    for step in range(len(rates)):
        gradient = gradients(rows, answers, batches[step % len(batches)], portions, weights, l2)
        rate = rates[step] * math.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        _adam(weights.first.ravel(), gradient.first.ravel(), means.first.ravel(), squares.first.ravel(), rate)
        _adam(weights.shift, gradient.shift, means.shift, squares.shift, rate)
        _adam(weights.second.ravel(), gradient.second.ravel(), means.second.ravel(), squares.second.ravel(), rate)
        _adam(weights.base, gradient.base, means.base, squares.base, rate)


# The network

FULL_BATCH = 1024  # number of cells up to which every step uses all of them
BATCH = 256
MOST_VALUES = 1024
_LANES = 32  # the hidden layer is padded to whole registers with units of weight 0, which stay 0


class Network:
    """One hidden layer of 50 ReLU units, trained with Adam at rate 0.01, then 0.001 in the second half.

    The paper trains for 20 epochs of batches of 256 records. Here one row is a cell of many records, and an epoch of a
    few hundred cells would be a single step. So the number of gradient steps is fixed instead: up to 1,024 cells, 500
    steps on all cells, weighted by their records; beyond that, 1,500 steps on 256 cells, drawn in proportion to their
    records. A cell's answer is the share of its records with each value: the same loss in expectation with less noise.
    If a target has more than 1,024 values, the rarest share a place.

    Parameters
    ----------
    l2 : l2/2 times the squared weights is added to the loss; choose it on validation data
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
        tables = [frequent.pool_counts(table) for frequent, table in zip(self._frequent, counts, strict=True)]
        sizes = [table.shape[1] for table in tables]
        units = -(-self.hidden // _LANES) * _LANES
        self._weights = Weights(
            _pad_weights(_start(random, inputs.width, self.hidden), (inputs.width, units)),
            np.zeros(units, dtype=np.float32),
            _pad_weights(_start(random, self.hidden, sum(sizes)), (units, sum(sizes))),
            np.log(np.concatenate([f.places for f in self._frequent]) + 1e-6).astype(np.float32),
        )
        shares, self._starts = target_shares(tables)
        answers = NetworkAnswers(
            shares.indptr.astype(np.int64), shares.indices.astype(np.int64), shares.data, self._starts
        )
        batches, portions, rates = schedule(records, random)
        # The matrices are small: threads would wait for each other longer than they work.
        with threadpool_limits(1, user_api="blas"):
            train(self._rows(inputs), answers, batches, portions, rates, self._weights, self.l2)
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """Return the chance of each value, one table per target."""
        hidden = hidden_layer(self._rows(inputs), np.arange(len(inputs)), self._weights)
        scores = hidden @ self._weights.second + self._weights.base
        softmax(scores, self._starts)
        parts = np.split(scores, self._starts[1:], axis=1)
        return [frequent.spread(part) for frequent, part in zip(self._frequent, parts, strict=True)]

    def _rows(self, inputs: Inputs) -> Rows:
        offsets = np.cumsum([0, *inputs.sizes])[:-1]
        return Rows((inputs.codes + offsets).astype(np.int32), scale_numbers(inputs, self._scale))


def schedule(records: npt.NDArray[np.float64], random: np.random.Generator) -> tuple[Any, Floats, Floats]:
    """Return the cells of each step, their weights, and the rate of each step."""
    share = records / records.sum()
    is_full = len(records) <= FULL_BATCH
    steps = 500 if is_full else 1500
    rates = np.where(np.arange(steps) < steps // 2, 0.01, 0.001).astype(np.float32)
    if is_full:
        return np.arange(len(records))[None], share.astype(np.float32), rates
    of_record = np.repeat(np.arange(len(records)), records.astype(np.int64))
    drawn = of_record[random.integers(0, len(of_record), (steps, BATCH))]
    return drawn, np.full(BATCH, 1 / BATCH, dtype=np.float32), rates


def target_shares(tables: Sequence[Counts]) -> tuple[csr_array, npt.NDArray[np.int64]]:
    """Return each cell's share of every value, all targets side by side, and the start of each target."""
    shared = [csr_array(table.multiply(1 / np.maximum(table.sum(axis=1), 1)[:, None])) for table in tables]
    starts = np.cumsum([0, *(table.shape[1] for table in tables[:-1])])
    return csr_array(hstack(shared, format="csr"), dtype=np.float32), starts


def number_scale(numbers: npt.NDArray[np.float64], records: Any) -> tuple[Any, Any]:
    """Return the weighted mean and standard deviation of each number, without missing values."""
    present = ~np.isnan(numbers) * records[:, None]
    total = np.maximum(present.sum(axis=0), 1)
    middle = np.nansum(numbers * present, axis=0) / total
    spread = np.sqrt(np.nansum((numbers - middle) ** 2 * present, axis=0) / total)
    return middle, np.where(spread > 0, spread, 1)


def scale_numbers(inputs: Inputs, scale: tuple[Any, Any]) -> Floats:
    """Return scaled numbers (0 if missing), followed by columns that mark missing values."""
    middle, spread = scale
    scaled = np.clip((inputs.numbers - middle) / spread, -5, 5)
    missing = np.isnan(scaled)
    return np.hstack([np.where(missing, 0, scaled), missing]).astype(np.float32)


def _start(random: np.random.Generator, rows: int, columns: int) -> Floats:
    return (random.standard_normal((rows, columns)) * np.sqrt(2 / max(1, min(rows, 50)))).astype(np.float32)


def _pad_weights(weights: Floats, shape: tuple[int, int]) -> Floats:
    result = np.zeros(shape, dtype=np.float32)
    result[: weights.shape[0], : weights.shape[1]] = weights
    return result


# The larger networks of [Staab24 Appendix G], with PyTorch, on a GPU if there is one.
#
# Only the caller's seed determines the initial weights.


def linear_layer(torch: Any, random: np.random.Generator, inputs: int, outputs: int, scale: float = 1.0) -> Any:
    """Return a linear layer with He's initial weights, times `scale`, and bias 0.

    Numpy draws the weights, since all threads share PyTorch's generator.
    """
    layer = torch.nn.utils.skip_init(torch.nn.Linear, inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(random.standard_normal((outputs, inputs)) * np.sqrt(2 / inputs) * scale))
        layer.bias.zero_()
    return layer


ARCHITECTURES = {"MLP-2": (50,), "MLP-3": (100, 100), "MLP-5": (256, 256, 256, 256)}
_SLOWER = {"MLP-2": 1.0, "MLP-3": 0.3, "MLP-5": 0.1}  # deep networks do not converge at the paper's rate of 0.01
_DENSE = 50_000_000  # answers up to which all are on the device; beyond, each batch copies its own


class MLP:
    """Fully connected ReLU layers and a softmax for each target, trained like `Network`: on cells with counts.

    MLP-2 has one hidden layer of 50 (the paper's adversary), MLP-3 two of 100, MLP-5 four of 256. With the same seed
    the result is the same on one machine; a GPU rounds differently from a CPU.

    Parameters
    ----------
    architecture : "MLP-2", "MLP-3" or "MLP-5"
    l2 : l2/2 times the squared weights is added to the loss
    device : "cpu", "cuda", …; by default a GPU if there is one
    """

    def __init__(
        self, architecture: str = "MLP-3", l2: float = 0.0, random_state: int = 0, device: str | None = None
    ) -> None:
        self.architecture = architecture
        self.l2 = l2
        self.random_state = random_state
        self.device = device

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "MLP":
        torch = require("torch", extra="neural")
        self._device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        random = np.random.default_rng(self.random_state)
        records = np.asarray(counts[0].sum(axis=1), dtype=np.float64)
        self._scale = number_scale(inputs.numbers, records)
        self._frequent = [Frequent(table, MOST_VALUES) for table in counts]
        tables = [frequent.pool_counts(table) for frequent, table in zip(self._frequent, counts, strict=True)]
        shares, self._starts = target_shares(tables)
        batches, portions, rates = schedule(records, random)
        self._layers = self._make_layers(torch, random, inputs.width, sum(table.shape[1] for table in tables))
        self._train(torch, self._rows(torch, inputs), shares, batches, portions, rates)
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """Return the chance of each value, one table per target."""
        torch = require("torch", extra="neural")
        parts: list[list[Any]] = [[] for _ in self._frequent]
        with torch.no_grad():
            for piece in chunks(len(inputs), inputs.width + 256 * len(self._layers)):
                codes, numbers = self._rows(torch, inputs[piece])
                scores = self._scores(torch, codes, numbers)
                for i, score in enumerate(torch.tensor_split(scores, self._starts[1:].tolist(), dim=1)):
                    parts[i].append(torch.softmax(score, dim=1).cpu().numpy())
        return [frequent.spread(np.vstack(part)) for frequent, part in zip(self._frequent, parts, strict=True)]

    def _make_layers(self, torch: Any, random: np.random.Generator, width: int, answers: int) -> list[Any]:
        """Initialize hidden layers as He does, and the output bias with the log of each target's shares."""
        shares = np.log(np.concatenate([f.places for f in self._frequent]) + 1e-6)
        layers: list[Any] = []
        for a, b in pairwise([max(1, width), *ARCHITECTURES[self.architecture], answers]):
            is_last = len(layers) == len(ARCHITECTURES[self.architecture])
            layer = linear_layer(torch, random, a, b, 0.1 if is_last else 1.0)
            if is_last:
                with torch.no_grad():
                    layer.bias.copy_(torch.from_numpy(shares))
            layers.append(layer.to(self._device))
        return layers

    def _rows(self, torch: Any, inputs: Inputs) -> tuple[Any, Any]:
        offsets = np.cumsum([0, *inputs.sizes])[:-1]
        places = torch.from_numpy(np.ascontiguousarray(inputs.codes + offsets))
        numbers = torch.from_numpy(scale_numbers(inputs, self._scale))
        return places.to(self._device), numbers.to(self._device)

    def _scores(self, torch: Any, places: Any, numbers: Any) -> Any:
        """Compute the scores. The first layer sums the weights of one-hot places, without a one-hot matrix."""
        first = self._layers[0]
        columns = first.weight.T
        plain = columns.shape[0] - numbers.shape[1]
        hidden = torch.nn.functional.embedding_bag(places, columns, mode="sum") if places.shape[1] else 0
        hidden = hidden + numbers @ columns[plain:] + first.bias
        for layer in self._layers[1:]:
            hidden = layer(torch.relu(hidden))
        return hidden

    def _train(self, torch: Any, rows: Any, shares: Counts, batches: Any, portions: Any, rates: Any) -> None:
        parameters = [p for layer in self._layers for p in (layer.weight, layer.bias)]
        optimizer = torch.optim.Adam(parameters)
        starts = self._starts[1:].tolist()
        portions = torch.from_numpy(portions).to(self._device)
        drawn = torch.from_numpy(batches).to(self._device)
        is_small = shares.shape[0] * shares.shape[1] <= _DENSE
        answers = torch.from_numpy(shares.toarray()).to(self._device) if is_small else None
        for step, rate in enumerate(rates.tolist()):
            if step < len(batches):  # a single batch of all cells stays the same
                chosen = drawn[step]
                places, numbers = rows[0][chosen], rows[1][chosen]
                own = None if is_small else torch.from_numpy(shares[batches[step]].toarray()).to(self._device)
                wanted = own if answers is None else answers[chosen]
            scores = self._scores(torch, places, numbers)
            chances = [torch.log_softmax(part, dim=1) for part in torch.tensor_split(scores, starts, dim=1)]
            loss = -((torch.cat(chances, dim=1) * wanted).sum(dim=1) * portions).sum()
            loss = loss + self.l2 / 2 * sum((layer.weight**2).sum() for layer in self._layers)
            for group in optimizer.param_groups:
                group["lr"] = rate * _SLOWER[self.architecture]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
