"""LiRA: is what the model says of a record likelier from models that trained on it? (Carlini et al. 2022)"""

from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.attacks.two_sides import taken
from modicum.errors import DataError, ParameterError
from modicum.learners.asking import AskedModel, safe_message, true_chance
from modicum.table.values import Codes, Floats, Mask

ENOUGH = 32  # shadow models on either side from which on each record has a variance of its own
_LOWEST, _HIGHEST = 1e-12, 1e-2  # what a chance of 0 may count as


def likelihood_ratios(
    asked: AskedModel, X: Any, y: Any, shadow: Any, shadows: int, units: Codes | None, random_state: int
) -> Floats:
    """The log likelihood ratio of each record of the pool: above 0 speaks for a member.

    Half of the shadow models train on a random half of the pool and the other half on the records left, so that every
    record is in as many as it is out of.
    """
    random = np.random.default_rng(random_state)
    inside = _halves(len(y), shadows, units, random)
    seeds = random.integers(0, 2**31 - 1, shadows)
    models = [_trained(shadow, X, y, np.flatnonzero(rows), int(seed)) for rows, seed in zip(inside, seeds, strict=True)]
    pairs = np.array([_true_and_rest(model, X, y) for model in [asked, *models]])
    said = _scaled(pairs)
    return _ratio(said[0], said[1:], inside)


def _halves(n: int, shadows: int, units: Codes | None, random: np.random.Generator) -> npt.NDArray[np.bool_]:
    """For each shadow model which records it trains on; of one person all or none."""
    whose = np.arange(n) if units is None else units
    many = int(whose.max()) + 1
    first = np.array([random.permutation(many) < (many + 1) // 2 for _ in range(shadows // 2)])[:, whose]
    return np.vstack([first, ~first])


def _trained(shadow: Any, X: Any, y: Any, rows: Codes, seed: int) -> AskedModel:
    model = seeded(unfitted(shadow), seed)
    try:
        model.fit(taken(X, rows), y[rows])
    except Exception as error:
        raise DataError(f"A shadow model could not be trained: {safe_message(error, X)}") from error
    return AskedModel(model, "The 'shadow' parameter of MembershipInference")


def unfitted(shadow: Any) -> Any:
    """An unfitted copy."""
    from sklearn.base import clone

    try:
        copy = clone(shadow)
    except (TypeError, RuntimeError):
        copy = None
    if copy is None or hasattr(copy, "classes_"):
        raise ParameterError(
            f"The {type(shadow).__name__} cannot be copied unfitted, so that there are no shadow models; give "
            "MembershipInference an unfitted scikit-learn classifier as 'shadow'."
        )
    if not hasattr(copy, "predict_proba"):
        raise ParameterError(
            "The 'shadow' parameter of MembershipInference must be an unfitted classifier with predict_proba. "
            f"Got {type(shadow).__name__}, which has none."
        )
    return copy


def seeded(model: Any, seed: int) -> Any:
    """The model with a number wherever it would draw its own seed."""
    open_ = [k for k, v in model.get_params().items() if k.split("__")[-1] == "random_state" and not isinstance(v, int)]
    return model.set_params(**dict.fromkeys(open_, seed))


def _true_and_rest(model: AskedModel, X: Any, y: Any) -> tuple[Floats, Floats]:
    """The chance of the true class, and of all others together."""
    chances = model.chances(X)
    true = true_chance(chances, model.labels(y))
    return true, np.maximum(chances.sum(axis=1) - true, 0.0)


def _scaled(pairs: Floats) -> Floats:
    """log p/(1−p) of the true class; 0 counts as half of the least chance that any of the models gives.

    A forest of 100 trees says 1 where all agree and 0.99 where one does not: by a fixed tiny number the two would be
    worlds apart.
    """
    given = pairs[pairs > _LOWEST]
    least = np.clip(given.min(initial=1.0) / 2, _LOWEST, _HIGHEST)
    return np.asarray(np.log(np.maximum(pairs[:, 0], least)) - np.log(np.maximum(pairs[:, 1], least)))


def _ratio(target: Floats, shadows: Floats, inside: Mask) -> Floats:
    """The two Gaussians' log densities at what the target model says, in minus out."""
    return _density(target, shadows, inside) - _density(target, shadows, ~inside)


def _density(target: Floats, shadows: Floats, chosen: Mask) -> Floats:
    """With one variance for all records, that around each record's own mean, where there are few shadow models."""
    many = chosen.sum(axis=0)
    middle = np.where(chosen, shadows, 0).sum(axis=0) / many
    squares = (np.where(chosen, shadows - middle, 0) ** 2).sum(axis=0)
    freedom = np.maximum(many - 1, 1)
    variance = squares / freedom if many.min() >= ENOUGH else squares.sum() / freedom.sum()
    variance = np.maximum(variance, 1e-6)
    return np.asarray(-((target - middle) ** 2) / (2 * variance) - np.log(variance) / 2)
