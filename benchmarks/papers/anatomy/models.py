"""The two classifiers of [Mancuhan16], linear and RBF, and the summary and comparison of their errors over folds.

SVC is scikit-learn's LinearSVC, solved in the primal on scaled numbers and one-hot categories; an ordered category is a
number, its place in the order [Mancuhan16 Appendix B], or one-hot too. SVM is the RBF kernel by Nyström's method: the
same landmarks (raw training records) for every kind of training data of a fold, encoded by the original training data's
columns, so that two errors differ only because of the training data. Its weights solve LinearSVC's own problem (squared
hinge, C = 1) by Newton's method, which on a few hundred dense columns takes a fifth of the time. Nothing is tuned.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

import modicum as md
from modicum.learners.columns import Design
from modicum.table.frames import as_frame

C = 1.0
LEVEL = 0.95
SAME = 1e-12  # differences of errors below this count as none
STEPS = 60  # the most steps of Newton's method
CLOSE = 1e-6  # its final gradient, relative to the first


def design_of(X: pd.DataFrame, schema: md.Schema, ordered: Any = "place") -> Design:
    """Fit the encoding of the columns to these records."""
    return Design.fit(as_frame(X), schema, {name: (name,) for name in X.columns}, np.ones(len(X)), ordered)


def linear_error(X: Any, y: Any, schema: md.Schema, test_X: Any, test_y: Any, one_hot: bool = False) -> float:
    """Compute the test error of the linear SVC trained on these records."""
    design = design_of(X, schema, "one-hot" if one_hot else "place")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = LinearSVC(dual=False, C=C, random_state=0).fit(sparse.csr_matrix(design.encode(as_frame(X))), y)
    return 1.0 - float(model.score(sparse.csr_matrix(design.encode(as_frame(test_X))), test_y))


@dataclass(frozen=True)
class Kernel:
    """The RBF kernel with γ = 1/columns, by Nyström's method on fixed landmarks, or exact."""

    design: Design
    landmarks: pd.DataFrame

    @property
    def gamma(self) -> float:
        return 1.0 / len(self.design.names)

    def error(self, X: pd.DataFrame, y: pd.Series, test_X: pd.DataFrame, test_y: pd.Series) -> float:
        """Compute the test error with Nyström's method."""
        marks = self._encoded(self.landmarks)
        space = Nystroem(gamma=self.gamma, n_components=len(marks), random_state=0).fit(marks)
        classes = np.unique(y)
        if len(classes) < 2:
            return float((test_y != classes[0]).mean())
        weights = squared_hinge(space.transform(self._encoded(X)), np.where(y == classes[1], 1.0, -1.0))
        predicted = _bordered(space.transform(self._encoded(test_X))) @ weights > 0
        return float((classes[predicted.astype(int)] != test_y.to_numpy()).mean())

    def exact_error(self, X: pd.DataFrame, y: pd.Series, test_X: pd.DataFrame, test_y: pd.Series) -> float:
        """Compute the test error of libsvm with the exact kernel, for samples."""
        own = self._encoded(X)
        model = SVC(kernel="precomputed", C=C).fit(rbf_kernel(own, gamma=self.gamma), y)
        return 1.0 - float(model.score(rbf_kernel(self._encoded(test_X), own, gamma=self.gamma), test_y))

    def _encoded(self, X: pd.DataFrame) -> Any:
        return self.design.encode(as_frame(X)).astype(np.float32)


def squared_hinge(features: Any, signs: Any) -> Any:
    """Return the weights that minimize |w|²/2 + C Σ max(0, 1 − t w·x)²; the last weight is for a column of ones.

    Newton's method on the records inside the margin; a step is halved until it helps.
    """
    rows = _bordered(features)
    weights = np.zeros(rows.shape[1])
    value, first = _objective(rows, signs, weights), None
    for _ in range(STEPS):
        short = np.maximum(0.0, 1.0 - signs * (rows @ weights))
        gradient = weights - 2 * C * ((signs * short) @ rows)
        first = first or float(np.linalg.norm(gradient))
        if np.linalg.norm(gradient) <= CLOSE * first:
            return weights
        active = rows[short > 0]
        step = np.linalg.solve(np.eye(len(weights)) + 2 * C * (active.T @ active), gradient)
        weights, value = _less(rows, signs, weights, value, step)
    raise SystemExit("Newton's method did not converge.")


def _less(rows: Any, signs: Any, weights: Any, value: float, step: Any) -> tuple[Any, float]:
    for half in range(40):
        tried = weights - step / 2**half
        found = _objective(rows, signs, tried)
        if found <= value:
            return tried, found
    return weights, value


def _objective(rows: Any, signs: Any, weights: Any) -> float:
    return float(weights @ weights / 2 + C * (np.maximum(0.0, 1.0 - signs * (rows @ weights)) ** 2).sum())


def _bordered(features: Any) -> Any:
    return np.hstack([features.astype(np.float64), np.ones((len(features), 1))])


def summarize(errors: Sequence[float]) -> dict[str, Any]:
    """Summarize errors over folds: the quartiles of a boxplot, and the mean with its interval."""
    mean, half = float(np.mean(errors)), half_interval(errors)
    return {
        "errors": [float(error) for error in errors],
        "mean": mean,
        "std": float(np.std(errors, ddof=1)),
        "quartiles": [float(q) for q in np.quantile(errors, [0, 0.25, 0.5, 0.75, 1])],
        "interval": [mean - half, mean + half],
    }


def half_interval(errors: Sequence[float]) -> float:
    """Return half the 95% interval of a mean over folds, with the variance of `compared`'s corrected test."""
    return float(stats.t.ppf((1 + LEVEL) / 2, len(errors) - 1)) * _corrected(np.asarray(errors, dtype=float))


def _corrected(values: Any) -> float:
    """Return the standard deviation of a mean over k folds; any two folds share most of their training data.

    Nadeau and Bengio (2003): the variance of one fold times 1/k + n_test/n_train, here 1/k + 1/(k − 1).
    """
    k = len(values)
    return float(np.std(values, ddof=1) * np.sqrt(1 / k + 1 / (k - 1)))


def compared(original: Sequence[float], other: Sequence[float]) -> dict[str, Any]:
    """Run Student's paired t-test over folds, two-sided at 0.05; "P" or "F" as in [Mancuhan16 Tables 1 and 2]."""
    differences = np.asarray(other) - np.asarray(original)
    p = _two_sided(differences, float(np.std(differences, ddof=1)) / np.sqrt(len(differences)))
    corrected = _two_sided(differences, _corrected(differences))
    return {
        "difference": float(differences.mean()),
        "p": p,
        "corrected_p": corrected,
        "verdict": verdict(p),
        "corrected_verdict": verdict(corrected),
    }


def _two_sided(differences: Any, deviation: float) -> float:
    """Return the p-value of a mean; 0 if all folds differ by the same amount, and 1 if they do not differ."""
    mean = abs(float(differences.mean()))
    if deviation <= SAME:
        return float(mean <= SAME)
    return float(2 * stats.t.sf(mean / deviation, len(differences) - 1))


def verdict(p: float) -> str:
    return "P" if p < 1 - LEVEL else "F"
