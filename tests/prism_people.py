"""Invented people with an illness that two attributes reveal together, and PriSM's models of them."""

import warnings

import numpy as np
import pandas as pd

import modicum as md

N = 3_000


def make_people(n=N, seed=0):
    """`a` and `b` together reveal `ill`, and so does `proxy` alone; the label needs all of them and `d`."""
    random = np.random.default_rng(seed)
    a, b, d = random.integers(0, 2, (3, n))
    ill = np.where(random.random(n) < 0.9, a ^ b, random.integers(0, 2, n))
    proxy = np.where(random.random(n) < 0.8, ill, random.integers(0, 2, n))
    age = random.integers(20, 80, n)
    score = a + 0.8 * b + proxy + 0.6 * d + (age - 50) / 30 + random.logistic(scale=0.4, size=n)
    X = pd.DataFrame(
        {
            "a": np.where(a, "yes", "no"),
            "b": np.where(b, "up", "down"),
            "proxy": np.where(proxy, "x", "y"),
            "d": d,
            "age": age.astype(float),
            "flat": "same",
            "ill": np.where(ill, "ill", "well"),
        }
    )
    return X, pd.Series(np.where(score > np.median(score), "good", "bad"), name="label")


def fitted(X, y, kind=md.PrismClassifier, **settings):
    settings = {"sensitive": "ill", "threshold": 0.3, "progress": False} | settings
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="At most")
        return kind(**settings).fit(X, y)
