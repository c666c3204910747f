"""One run of ai-privacy-toolkit's minimizer.

Input: `model_X`, `model_y` (to fit the forest), `fit_X` (to fit the minimizer), `held_X`, `target`, `seed` and `names`.
The calls follow the toolkit's README for minimization. The toolkit's printed output goes to standard output.
"""

import numpy as np
from apt.minimization import GeneralizeToRepresentative
from apt.utils.models import ModelOutputType, SklearnClassifier
from exchange import Arrays, answer, timed
from sklearn.ensemble import RandomForestClassifier

PACKAGES = ("ai-privacy-toolkit", "adversarial-robustness-toolbox", "numpy", "pandas", "scikit-learn", "scipy")


def forest(arrays: Arrays) -> RandomForestClassifier:
    """Fit the model whose predictions should be kept."""
    model = RandomForestClassifier(n_estimators=50, max_leaf_nodes=64, random_state=int(arrays["seed"]))
    return model.fit(arrays["model_X"], arrays["model_y"])


def fitted(model: RandomForestClassifier, arrays: Arrays) -> tuple[GeneralizeToRepresentative, float]:
    """Fit the toolkit's minimizer; return it and the seconds of its `fit`."""
    wrapped = SklearnClassifier(model, ModelOutputType.CLASSIFIER_PROBABILITIES)
    minimizer = GeneralizeToRepresentative(wrapped, target_accuracy=float(arrays["target"]))
    X, names = arrays["fit_X"], arrays["names"].tolist()
    predictions = model.predict(X)
    return timed(lambda: minimizer.fit(X, predictions, features_names=names))


def transformed(minimizer: GeneralizeToRepresentative, arrays: Arrays) -> tuple[np.ndarray, float]:
    """Return the held-out records as representatives, and the seconds (including the toolkit's NCP)."""
    X, names = arrays["held_X"], arrays["names"].tolist()
    # `dataset=` fails since scikit-learn 1.2
    return timed(lambda: minimizer.transform(X, features_names=names))


def minimized(arrays: Arrays, options: dict) -> tuple[dict, Arrays]:
    """Return the toolkit's results, its seconds, and the model's agreement on the held-out records."""
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
    }, {}


if __name__ == "__main__":
    answer(minimized, PACKAGES)
