"""One run of ai-privacy-toolkit's minimizer, by the Python that has it installed; nothing of modicum is imported.

    python benchmarks/peer/minimize.py arrays.npz found.json

`arrays.npz` holds `model_X`, `model_y` (the forest is fitted to them), `fit_X` (what the minimizer learns from),
`held_X`, `target`, `seed` and `names`. The calls are those of the toolkit's README for minimization. What the toolkit
prints on its way goes to standard output.
"""

import json
import platform
import sys
import time
from importlib.metadata import version

import numpy as np
from apt.minimization import GeneralizeToRepresentative
from apt.utils.models import ModelOutputType, SklearnClassifier
from sklearn.ensemble import RandomForestClassifier

PACKAGES = ("ai-privacy-toolkit", "adversarial-robustness-toolbox", "numpy", "pandas", "scikit-learn", "scipy")


def forest(arrays: dict) -> RandomForestClassifier:
    """The model whose predictions are to be kept."""
    model = RandomForestClassifier(n_estimators=50, max_leaf_nodes=64, random_state=int(arrays["seed"]))
    return model.fit(arrays["model_X"], arrays["model_y"])


def fitted(model: RandomForestClassifier, arrays: dict) -> tuple[GeneralizeToRepresentative, float]:
    """The toolkit's minimizer and the seconds that its `fit` took."""
    wrapped = SklearnClassifier(model, ModelOutputType.CLASSIFIER_PROBABILITIES)
    minimizer = GeneralizeToRepresentative(wrapped, target_accuracy=float(arrays["target"]))
    X, names = arrays["fit_X"], arrays["names"].tolist()
    predictions = model.predict(X)
    start = time.perf_counter()
    minimizer.fit(X, predictions, features_names=names)
    return minimizer, time.perf_counter() - start


def transformed(minimizer: GeneralizeToRepresentative, arrays: dict) -> tuple[np.ndarray, float]:
    """The held-out records as representatives, and the seconds that it took (the toolkit's NCP included)."""
    X, names = arrays["held_X"], arrays["names"].tolist()
    start = time.perf_counter()
    representatives = minimizer.transform(X, features_names=names)  # `dataset=` fails since scikit-learn 1.2
    return representatives, time.perf_counter() - start


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def minimized(arrays: dict) -> dict:
    """What the toolkit found, how long it took, and how often the model says the same of the held-out records."""
    model = forest(arrays)
    minimizer, seconds = fitted(model, arrays)
    representatives, transform_seconds = transformed(minimizer, arrays)
    predictions = model.predict(arrays["held_X"])
    return {
        "seconds": seconds,
        "transform_seconds": transform_seconds,
        "agreement": np.mean(model.predict(representatives) == predictions),
        "cells": len(minimizer.cells),
        "generalizations": minimizer.generalizations,
        "ncp": vars(minimizer.ncp),
        "predictions": predictions.tolist(),
        "versions": versions(),
    }


def main() -> None:
    source, destination = sys.argv[1:]
    with np.load(source) as arrays:
        found = minimized(dict(arrays))
    with open(destination, "w") as file:
        json.dump(found, file, default=lambda number: number.item())


if __name__ == "__main__":
    main()
