"""A model as bytes and back without pickle: scikit-learn's through skops, anything else as ONNX.

skops builds only objects of types it is told to trust. It trusts scikit-learn's estimators, numpy's and scipy's arrays
by itself; `TRUSTED` adds parts of scikit-learn's trees, networks and calibrated models, and of this library's own
encoder. A model with any other type is refused, when it is saved and when it is loaded.
"""

import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from modicum.errors import ArtifactError, require
from modicum.export.repeatable import repeatable
from modicum.export.sound_trees import check_trees

ModelFormat = Literal["skops", "onnx"]

TRUSTED = (
    "modicum.generalization.encoder._DateSeconds",
    "modicum.generalization.encoder._constant",
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
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
        content = repeatable(skops.io.dumps(model))
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
        model = skops.io.loads(content, trusted=list(TRUSTED))
        check_trees(model)
        return model
    except ArtifactError:
        raise
    except Exception as error:  # damaged in a way of its own
        raise ArtifactError(f"The model cannot be read by skops: {type(error).__name__}.") from error


def _refuse_strangers(content: bytes) -> None:
    import skops.io

    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts.infolist()):
            raise ArtifactError("The model is compressed, so that it could be far larger than it looks; save it again.")
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

    It has either one input per column, by the columns' names (`capital_gain` for `capital-gain`, as converters write
    them), or a single matrix of numbers. Its first output is the prediction; a second one, where there is one, holds
    the probability of each class.
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
        by_input = _columns_by_input(list(self._inputs), list(X.columns))
        if by_input is None:
            ((name, kind),) = self._inputs.items()
            return self._session.run(None, {name: X.to_numpy().astype(_numpy_type(kind))})
        fed = {
            name: X[by_input[name]].astype(object).to_numpy().astype(_numpy_type(kind))[:, None]
            for name, kind in self._inputs.items()
        }
        return self._session.run(None, fed)


def _columns_by_input(inputs: list[str], columns: list[str]) -> dict[str, str] | None:
    """Which column each input is given; None where a single input takes them all as a matrix."""
    written: dict[str, list[str]] = {}
    for column in columns:
        for spelling in {column, re.sub(r"\W", "_", column, flags=re.ASCII)}:
            written.setdefault(spelling, []).append(column)
    found = {name: name if name in columns else written.get(name, []) for name in inputs}
    lacking = next((name for name, own in found.items() if not isinstance(own, str) and len(own) != 1), None)
    if lacking is not None and len(inputs) == 1:
        return None
    if lacking is not None:
        raise ArtifactError(f"The model asks for {lacking!r}, which the artifact does not give it.")
    return {name: own if isinstance(own, str) else own[0] for name, own in found.items()}


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
