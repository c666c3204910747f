"""A model as bytes and back without pickle: scikit-learn's through skops, anything else as ONNX.

skops builds only objects of types it is told to trust. It trusts scikit-learn's estimators, numpy's and scipy's arrays
by itself; `TRUSTED` adds the compiled parts of scikit-learn's trees and this library's own encoder. A model with any
other type is refused, when it is saved and when it is loaded.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from modicum.errors import ArtifactError, require

ModelFormat = Literal["skops", "onnx"]

TRUSTED = (
    "modicum.generalization.encoder._DateSeconds",
    "modicum.generalization.encoder._constant",
    "sklearn._loss._loss.CyHalfBinomialLoss",
    "sklearn._loss._loss.CyHalfMultinomialLoss",
    "sklearn._loss._loss.CyHalfSquaredError",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.link.IdentityLink",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn._loss.loss.HalfSquaredError",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)


def model_bytes(model: Any) -> tuple[bytes, ModelFormat]:
    """A model as bytes, and in which format: ONNX where it is one (a `.onnx` path, bytes or a ModelProto)."""
    if isinstance(model, bytes):
        return model, "onnx"
    if hasattr(model, "SerializeToString"):
        return bytes(model.SerializeToString()), "onnx"
    if isinstance(model, str | Path):
        return _read(Path(model)), "onnx"
    if not hasattr(model, "predict"):
        raise ArtifactError(f"A model must have the method predict, or be an ONNX model. Got {type(model).__name__}.")
    import skops.io  # deferred: it brings scikit-learn

    try:
        content = skops.io.dumps(model)
    except Exception as error:  # whatever a stranger's estimator may raise when it is taken apart
        raise ArtifactError(f"The model cannot be saved by skops: {type(error).__name__}.") from error
    _refuse_strangers(content)
    return content, "skops"


def model_of(content: bytes, format: str, classes: Sequence[Any] | None = None) -> Any:
    """The model of these bytes."""
    if format == "onnx":
        return OnnxModel(content, classes)
    import skops.io

    try:
        _refuse_strangers(content)
        return skops.io.loads(content, trusted=list(TRUSTED))
    except ArtifactError:
        raise
    except Exception as error:  # damaged in a way of its own
        raise ArtifactError(f"The model cannot be read by skops: {type(error).__name__}.") from error


def _refuse_strangers(content: bytes) -> None:
    import skops.io

    strange = sorted(set(skops.io.get_untrusted_types(data=content)) - set(TRUSTED))
    if strange:
        raise ArtifactError(
            f"The model holds an object of the type {strange[0]!r}, which is not on the list of types that a bundle "
            "may hold; export the model to ONNX instead."
        )


def _read(path: Path) -> bytes:
    if path.suffix.lower() != ".onnx":
        raise ArtifactError(f"A model file must be ONNX and end in .onnx. Got {path.name!r}.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"The file {str(path)!r} cannot be read: {error.strerror}.") from None


class OnnxModel:
    """An ONNX model that is asked like scikit-learn's.

    It has either one input per column, by the columns' names, or a single matrix of numbers. Its first output is the
    prediction; a second one, where there is one, holds the probability of each class.
    """

    def __init__(self, content: bytes, classes: Sequence[Any] | None = None) -> None:
        runtime = require("onnxruntime", extra="serve")
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        try:
            self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has an exception of its own for each reason
            raise ArtifactError(f"The model is not valid ONNX: {type(error).__name__}.") from None
        self._inputs = {each.name: each.type for each in self._session.get_inputs()}
        self.named = list(self._inputs) if len(self._inputs) > 1 or "tensor(string)" in self._inputs.values() else None
        if classes is not None:
            self.classes_ = np.array(list(classes))
        if len(self._session.get_outputs()) > 1 and classes is not None:
            self.predict_proba = self._probabilities

    def predict(self, X: pd.DataFrame) -> Any:
        """The model's first output, one entry per record."""
        return np.asarray(self._run(X)[0]).reshape(-1)

    def _probabilities(self, X: pd.DataFrame) -> Any:
        """The model's second output, one row per record and one column per class."""
        found = self._run(X)[1]
        if isinstance(found, list):  # one dictionary per record
            return np.array([[row[label] for label in self.classes_.tolist()] for row in found])
        return np.asarray(found)

    def _run(self, X: pd.DataFrame) -> Any:
        if self.named is None and len(self._inputs) == 1 and list(self._inputs) != list(X.columns):
            ((name, kind),) = self._inputs.items()
            return self._session.run(None, {name: X.to_numpy().astype(_numpy_type(kind))})
        absent = next((name for name in self._inputs if name not in X.columns), None)
        if absent is not None:
            raise ArtifactError(f"The model asks for {absent!r}, which the artifact does not give it.")
        fed = {
            name: X[name].astype(object).to_numpy().astype(_numpy_type(kind))[:, None]
            for name, kind in self._inputs.items()
        }
        return self._session.run(None, fed)


def _numpy_type(kind: str) -> Any:
    known = {
        "tensor(string)": object,
        "tensor(float)": np.float32,
        "tensor(double)": np.float64,
        "tensor(int64)": np.int64,
        "tensor(int32)": np.int32,
    }
    if kind not in known:
        raise ArtifactError(f"The model has an input of the type {kind}, which a bundle cannot give it.")
    return known[kind]
