"""What an interior point step does to each row, in one pass: margins, pulls, directions, the room that is left."""

import numba
import numpy as np

from modicum.table.values import Floats

_SMALLEST = 1e-290


@numba.njit(cache=True, nogil=True)
def measured(
    y: Floats,
    f: Floats,
    b: float,
    cost: Floats,
    s: Floats,
    z: Floats,
    alpha: Floats,
    beta: Floats,
    weight: Floats,
    off: Floats,
    signed: Floats,
) -> tuple[float, float, float]:
    """Sets each row's weight, how far its margin is off and its signed multiplier.

    Gives the sum of complementary products, the loss and the balance of the classes.
    """
    products, loss, balance = 0.0, 0.0, 0.0
    for i in range(len(y)):
        margin = y[i] * (f[i] - b)
        off[i] = margin + z[i] - 1.0 - s[i]
        weight[i] = 1.0 / (s[i] / alpha[i] + z[i] / beta[i])
        signed[i] = y[i] * alpha[i]
        products += alpha[i] * s[i] + beta[i] * z[i]
        loss += cost[i] * max(0.0, 1.0 - margin)
        balance += signed[i]
    return products, loss, balance


@numba.njit(cache=True, nogil=True)
def pulled(
    y: Floats,
    weight: Floats,
    off: Floats,
    s: Floats,
    z: Floats,
    alpha: Floats,
    beta: Floats,
    target: float,
    ds: Floats,
    dz: Floats,
    dalpha: Floats,
    rest: Floats,
    pull: Floats,
) -> float:
    """Sets each row's right-hand side; `ds`, `dz`, `dalpha` are the predictor's (or 0), for their second order."""
    total = 0.0
    for i in range(len(y)):
        of_s = (target - dalpha[i] * ds[i]) / alpha[i] - s[i]
        of_z = (target + dalpha[i] * dz[i]) / beta[i] - z[i]
        rest[i] = of_s - of_z - off[i]
        pull[i] = y[i] * rest[i] * weight[i]
        total += pull[i]
    return total


@numba.njit(cache=True, nogil=True)
def directed(
    y: Floats,
    weight: Floats,
    rest: Floats,
    df: Floats,
    db: float,
    s: Floats,
    z: Floats,
    alpha: Floats,
    beta: Floats,
    target: float,
    ds: Floats,
    dz: Floats,
    dalpha: Floats,
) -> float:
    """Replaces the predictor's direction by the new one; gives how far one may go, at most 1."""
    room = 1.0
    for i in range(len(y)):
        of_s = (target - dalpha[i] * ds[i]) / alpha[i] - s[i]
        of_z = (target + dalpha[i] * dz[i]) / beta[i] - z[i]
        a = (rest[i] - y[i] * (df[i] - db)) * weight[i]
        dalpha[i] = a
        ds[i] = of_s - s[i] / alpha[i] * a
        dz[i] = of_z + z[i] / beta[i] * a
        if ds[i] < 0.0:
            room = min(room, -s[i] / ds[i])
        if dz[i] < 0.0:
            room = min(room, -z[i] / dz[i])
        if a < 0.0:
            room = min(room, -alpha[i] / a)
        if a > 0.0:
            room = min(room, beta[i] / a)
    return room


@numba.njit(cache=True, nogil=True)
def ahead(
    s: Floats, z: Floats, alpha: Floats, beta: Floats, ds: Floats, dz: Floats, dalpha: Floats, step: float
) -> float:
    """The sum of complementary products after a step."""
    total = 0.0
    for i in range(len(s)):
        total += (alpha[i] + step * dalpha[i]) * (s[i] + step * ds[i])
        total += (beta[i] - step * dalpha[i]) * (z[i] + step * dz[i])
    return total


@numba.njit(cache=True, nogil=True)
def moved(
    s: Floats, z: Floats, alpha: Floats, beta: Floats, ds: Floats, dz: Floats, dalpha: Floats, step: float
) -> None:
    """Takes the step; no value leaves the numbers that can be divided by."""
    for i in range(len(s)):
        s[i] = max(s[i] + step * ds[i], _SMALLEST)
        z[i] = max(z[i] + step * dz[i], _SMALLEST)
        alpha[i] = max(alpha[i] + step * dalpha[i], _SMALLEST)
        beta[i] = max(beta[i] - step * dalpha[i], _SMALLEST)


def empty_rows(n: int, how_many: int) -> list[Floats]:
    """Arrays of one number for each row."""
    return [np.zeros(n) for _ in range(how_many)]
