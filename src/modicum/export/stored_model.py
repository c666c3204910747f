"""A model as bytes and back without pickle: scikit-learn's through skops, anything else as ONNX.

skops builds only objects of types it is told to trust. It trusts scikit-learn's estimators, numpy's and scipy's arrays
by itself; `TRUSTED` adds parts of scikit-learn's trees, networks and calibrated models, and of this library's own
encoder. A model with any other type is refused, when it is saved and when it is loaded.
"""

import io
import itertools
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
import pandas as pd

from modicum.errors import ArtifactError, require

# The same model as the same bytes: what skops writes, without the traces of one run.
#
# skops names objects and array files by their addresses in memory, lists sets in the order of a random hash and stamps
# files with the time. None of it is part of the model, and with it two savings of one model could never be compared.

_SCHEMA = "schema.json"
_PLAIN = ("JsonNode", "TypeNode")  # equal ones are the same, whether or not one run held them once


def repeatable(content: bytes) -> bytes:
    """A skops file that loads the same, with objects and parts numbered as they first appear, stored, of a fixed date.

    Examples
    --------
    >>> import skops.io
    >>> from sklearn.linear_model import LinearRegression
    >>> from modicum.export.stored_model import repeatable
    >>> model = LinearRegression().fit([[0], [1]], [0, 1])
    >>> saved = [repeatable(skops.io.dumps(each)) for each in (model, skops.io.loads(skops.io.dumps(model)))]
    >>> saved[0] == saved[1]
    True
    """
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        found = {part: parts.read(part) for part in parts.namelist()}
    renaming = _Renaming()
    schema = renaming.node(json.loads(found[_SCHEMA]))
    named = {new: found[old] for old, new in renaming.files.items()}
    return _zip_parts(named | {_SCHEMA: json.dumps(schema, separators=(",", ":")).encode()})


class _Renaming:
    """New numbers for the objects of one file, and new names for its parts."""

    def __init__(self) -> None:
        self.ids: defaultdict[Any, int] = defaultdict(itertools.count(1).__next__)  # skops takes 0 for no number
        self.files: dict[str, str] = {}

    def node(self, node: Any) -> Any:
        """A node of the schema with all below it; what is no node stays as it is."""
        if isinstance(node, list):
            return [self.node(each) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("__loader__") == "SetNode":
            node = node | {"content": sorted(node["content"], key=_serialize_node)}
        return {key: self._entry(key, value, node) for key, value in node.items()}

    def _entry(self, key: str, value: Any, node: Mapping[str, object]) -> Any:
        """A node's own number or file is a number or a text; an attribute that is called so is a node again."""
        if key == "__id__" and isinstance(value, int):
            return self.ids[_serialize_node(node) if node.get("__loader__") in _PLAIN else value]
        if key == "file" and isinstance(value, str):
            return self.files.setdefault(value, f"{len(self.files)}{PurePosixPath(value).suffix}")
        return self.node(value)


def _serialize_node(node: Any) -> str:
    """What a node says, without what it is numbered or where it is kept."""
    return json.dumps(_bare(node), sort_keys=True)


def _bare(node: Any) -> Any:
    if isinstance(node, list):
        return [_bare(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {k: _bare(v) for k, v in node.items() if k not in ("__id__", "file") or isinstance(v, dict)}


def _zip_parts(parts: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as target:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name)  # dated 1980, as far back as the format goes
            entry.create_system = 3  # wherever it is written
            target.writestr(entry, content)
    return written.getvalue()


# Whether the trees inside a loaded model lead somewhere: compiled code follows their nodes without looking.


def check_trees(model: Any) -> None:
    """Refuse scikit-learn's trees whose nodes lead outside the tree or back, or ask for a column that there is not.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from modicum.export.stored_model import check_trees
    >>> check_trees(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    """
    if not all(_is_sound(tree, width) for tree, width in _trees(model)):
        raise ArtifactError("The model holds a tree whose nodes lead nowhere; it is damaged or was forged.")


def _trees(model: Any) -> Iterator[tuple[Any, Any]]:
    """Every tree below an object, and how many columns the nearest estimator above it takes."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor  # deferred: only models need it
    from sklearn.tree._tree import Tree

    left: list[tuple[Any, Any]] = [(model, 0)]
    seen: dict[tuple[int, Any], Any] = {}  # holds each object, so that no other one gets its number meanwhile
    while left:
        found, width = left.pop()
        if (id(found), width) in seen:
            continue
        seen[id(found), width] = found
        if isinstance(found, Tree | TreePredictor):
            yield found, width
        else:
            left += _below(found, width)


def _below(found: Any, width: Any) -> list[tuple[Any, Any]]:
    if isinstance(found, list | tuple | set | frozenset):
        return [(each, width) for each in found]
    if isinstance(found, dict):
        return [(each, width) for each in found.values()]
    if isinstance(found, np.ndarray):
        return [(each, width) for each in found.ravel().tolist()] if found.dtype == object else []
    own = getattr(found, "__dict__", None)
    if not isinstance(own, dict):
        return []
    given = own.get("n_features_in_", width)
    width = given if isinstance(given, Real) else 0
    below = [(each, width) for each in own.values()]
    if "n_trees_per_iteration_" in own:  # gradient boosting, which asks its estimators' trees past the estimators
        below += [(each.tree_, width) for each in np.ravel(own.get("estimators_", [])) if hasattr(each, "tree_")]
    return below


def _is_sound(tree: Any, width: Any) -> bool:
    """Whether every node that asks has a column to ask for, and leads to later nodes of its tree."""
    if hasattr(tree, "node_count"):
        if not 0 < tree.node_count <= tree.capacity:
            return False
        asks, column, children = tree.children_left != -1, tree.feature, (tree.children_left, tree.children_right)
    else:  # of histogram gradient boosting
        nodes = tree.nodes
        if not isinstance(nodes, np.ndarray) or nodes.ndim != 1 or not len(nodes):
            return False
        asks, children = nodes["is_leaf"] == 0, (nodes["left"], nodes["right"])
        lost = asks & (nodes["is_categorical"] != 0) & (nodes["bitset_idx"] >= len(tree.raw_left_cat_bitsets))
        column = np.where(lost, -1, nodes["feature_idx"])
    place = np.arange(len(asks))
    later = [(place < child) & (child < len(asks)) for child in children]
    return bool(np.all(~asks | (column >= 0) & (column < width) & later[0] & later[1]))


# The model as bytes

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
