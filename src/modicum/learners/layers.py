"""One hidden layer on one-hot rows, compiled: a row adds up the weights of its codes instead of multiplying zeros.

A row's one-hot columns are given by their places; its numbers stand in the columns after them. The hidden layer is
ReLU, the output a softmax within each target's columns.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_FAST = {"reassoc", "contract", "nsz"}


class Weights(NamedTuple):
    """Input to hidden and hidden to output, each with its shift."""

    first: Floats
    shift: Floats
    second: Floats
    base: Floats


class Rows(NamedTuple):
    """One-hot places and numbers of each row."""

    places: npt.NDArray[np.int32]
    numbers: Floats


class Answers(NamedTuple):
    """The share of each value in each row (sparse), and where each target's values start."""

    ends: Ints
    columns: Ints
    shares: Floats
    starts: Ints


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def hidden_layer(rows: Rows, chosen: Ints, weights: Weights) -> Floats:
    """max(0, x · first + shift) for the chosen rows."""
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
    """Scores become chances within each target, in place."""
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
def gradients(rows: Rows, answers: Answers, chosen: Ints, portions: Floats, weights: Weights, l2: float) -> Weights:
    """The gradient of the cross-entropy of the chosen rows, each counting for its portion, and of l2/2 · |weights|²."""
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
    """Kingma and Ba (2015), on flat arrays; the rate has the correction for the first steps in it."""
    speed, small = np.float32(rate), np.float32(1e-8)
    for i in range(weights.size):
        mean[i] += np.float32(0.1) * (gradient[i] - mean[i])
        square[i] += np.float32(0.001) * (gradient[i] * gradient[i] - square[i])
        weights[i] -= speed * mean[i] / (math.sqrt(square[i]) + small)


@numba.njit(cache=True, nogil=True)
def train(
    rows: Rows, answers: Answers, batches: Ints, portions: Floats, rates: Floats, weights: Weights, l2: float
) -> None:
    """One step of Adam per rate, on the batches in turn; the weights change in place."""
    means = Weights(
        np.zeros_like(weights.first),
        np.zeros_like(weights.shift),
        np.zeros_like(weights.second),
        np.zeros_like(weights.base),
    )
    squares = Weights(
        np.zeros_like(weights.first),
        np.zeros_like(weights.shift),
        np.zeros_like(weights.second),
        np.zeros_like(weights.base),
    )
    for step in range(len(rates)):
        found = gradients(rows, answers, batches[step % len(batches)], portions, weights, l2)
        rate = rates[step] * math.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        _adam(weights.first.ravel(), found.first.ravel(), means.first.ravel(), squares.first.ravel(), rate)
        _adam(weights.shift, found.shift, means.shift, squares.shift, rate)
        _adam(weights.second.ravel(), found.second.ravel(), means.second.ravel(), squares.second.ravel(), rate)
        _adam(weights.base, found.base, means.base, squares.base, rate)
