"""Convert a model to bytes and back without pickle: scikit-learn models through skops, all others as ONNX.

skops only builds objects of trusted types. By default it trusts scikit-learn's estimators and the arrays of numpy and
scipy; `TRUSTED` adds parts of scikit-learn's trees, networks and calibrated models, and of this library's encoder. A
model with any other type is refused when it is saved and when it is loaded.
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

# Write the same model as the same bytes, without the traces of one run in a skops file.
#
# skops names objects and array files by memory addresses, lists sets in the order of a random hash and adds the time to
# files. These are not part of the model, and they would make two files of one model differ.

_SCHEMA = "schema.json"
_PLAIN = ("JsonNode", "TypeNode")  # equal nodes get one number, even if a run had several objects


def repeatable(content: bytes) -> bytes:
    """Rewrite a skops file with objects and parts numbered by first appearance, uncompressed, with a fixed date.

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
    """Assign new numbers to the objects of a file, and new names to its parts."""

    def __init__(self) -> None:
        self.ids: defaultdict[Any, int] = defaultdict(itertools.count(1).__next__)  # skops reads 0 as no number
        self.files: dict[str, str] = {}

    def node(self, node: Any) -> Any:
        """Renumber a node of the schema and all below it; leave other values unchanged."""
        if isinstance(node, list):
            return [self.node(each) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("__loader__") == "SetNode":
            node = node | {"content": sorted(node["content"], key=_serialize_node)}
        return {key: self._entry(key, value, node) for key, value in node.items()}

    def _entry(self, key: str, value: Any, node: Mapping[str, object]) -> Any:
        """Renumber an entry: a node's number is an int and its file a text; an attribute of that name is a node."""
        if key == "__id__" and isinstance(value, int):
            return self.ids[_serialize_node(node) if node.get("__loader__") in _PLAIN else value]
        if key == "file" and isinstance(value, str):
            return self.files.setdefault(value, f"{len(self.files)}{PurePosixPath(value).suffix}")
        return self.node(value)


def _serialize_node(node: Any) -> str:
    """Write a node without its numbers and file names."""
    return json.dumps(_strip_node(node), sort_keys=True)


def _strip_node(node: Any) -> Any:
    if isinstance(node, list):
        return [_strip_node(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {k: _strip_node(v) for k, v in node.items() if k not in ("__id__", "file") or isinstance(v, dict)}


def _zip_parts(parts: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as target:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name)  # dated 1980, the earliest date of the format
            entry.create_system = 3  # the same on every system
            target.writestr(entry, content)
    return written.getvalue()


# Check the trees inside a loaded model: compiled code follows their nodes without checks.


def check_trees(model: Any) -> None:
    """Refuse scikit-learn trees with nodes that lead outside the tree or back, or use a column that does not exist.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from modicum.export.stored_model import check_trees
    >>> check_trees(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    """
    if not all(_is_sound(tree, width) for tree, width in _find_trees(model)):
        raise ArtifactError("The model has a tree with invalid nodes; it is damaged or was forged.")


def _find_trees(model: Any) -> Iterator[tuple[Any, Any]]:
    """Find every tree below an object, and the number of columns of the nearest estimator above it."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor  # deferred: only models need it
    from sklearn.tree._tree import Tree

    left: list[tuple[Any, Any]] = [(model, 0)]
    seen: dict[tuple[int, Any], Any] = {}  # keeps each object alive, so that its id stays unique
    while left:
        found, width = left.pop()
        if (id(found), width) in seen:
            continue
        seen[id(found), width] = found
        if isinstance(found, Tree | TreePredictor):
            yield found, width
        else:
            left += _list_children(found, width)


def _list_children(found: Any, width: Any) -> list[tuple[Any, Any]]:
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
    if "n_trees_per_iteration_" in own:  # gradient boosting uses the trees directly
        below += [(each.tree_, width) for each in np.ravel(own.get("estimators_", [])) if hasattr(each, "tree_")]
    return below


def _is_sound(tree: Any, width: Any) -> bool:
    """Whether every inner node has a valid column and leads to later nodes of its tree."""
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
    """Return a model as bytes and their format: ONNX for a `.onnx` path, bytes or a ModelProto, else skops."""
    if isinstance(model, bytes):
        return model, "onnx"
    if hasattr(model, "SerializeToString"):
        return bytes(model.SerializeToString()), "onnx"
    if isinstance(model, str | Path):
        return _read_onnx(Path(model)), "onnx"
    if not hasattr(model, "predict"):
        raise ArtifactError(
            f"The model must be an ONNX model or have the method predict. Got {type(model).__name__} instead."
        )
    import skops.io  # deferred: it brings scikit-learn

    try:
        content = repeatable(skops.io.dumps(model))
    except Exception as error:  # an estimator may raise any type
        raise ArtifactError(f"The model cannot be saved by skops: {type(error).__name__}.") from error
    _refuse_strangers(content)
    return content, "skops"


def model_of(content: bytes, format: str, classes: Sequence[Any] | None = None) -> Any:
    """Load the model from its bytes."""
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
    except Exception as error:  # damage may raise any type
        raise ArtifactError(f"The model cannot be read by skops: {type(error).__name__}.") from error


def _refuse_strangers(content: bytes) -> None:
    import skops.io

    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts.infolist()):
            raise ArtifactError("The model is compressed and could be far larger than its file; save it again.")
    strange = sorted(set(skops.io.get_untrusted_types(data=content)) - set(TRUSTED))
    if strange:
        raise ArtifactError(
            f"The model holds an object of the type {strange[0]!r}, which a bundle must not hold; export the model to "
            "ONNX instead."
        )


def _read_onnx(path: Path) -> bytes:
    if path.suffix.lower() != ".onnx":
        raise ArtifactError(f"A model file must be ONNX and end in .onnx. Got {path.name!r} instead.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"The file {str(path)!r} cannot be read: {error.strerror}.") from None


class OnnxModel:
    """An ONNX model with the interface of scikit-learn.

    It has either one input per column with the column's name (`capital_gain` for `capital-gain`, as converters write
    it), or a single matrix of numbers. Its first output is the prediction; an optional second one is the probability of
    each class.
    """

    def __init__(self, content: bytes, classes: Sequence[Any] | None = None) -> None:
        runtime = require("onnxruntime", extra="serve")
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        try:
            self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has an exception for each reason
            raise ArtifactError(f"The model is not valid ONNX: {type(error).__name__}.") from None
        self._inputs = {each.name: each.type for each in self._session.get_inputs()}
        if classes is not None:
            self.classes_ = np.array(list(classes))
        if len(self._session.get_outputs()) > 1 and classes is not None:
            self.predict_proba = self._probabilities

    def predict(self, X: pd.DataFrame) -> Any:
        """Return the model's first output, one entry per record."""
        return np.asarray(self._run(X)[0]).reshape(-1)

    def _probabilities(self, X: pd.DataFrame) -> Any:
        """Return the model's second output, one row per record and one column per class."""
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
    """Return the column for each input; None if a single input takes all columns as a matrix."""
    written: dict[str, list[str]] = {}
    for column in columns:
        for spelling in {column, re.sub(r"\W", "_", column, flags=re.ASCII)}:
            written.setdefault(spelling, []).append(column)
    found = {name: name if name in columns else written.get(name, []) for name in inputs}
    lacking = next((name for name, own in found.items() if not isinstance(own, str) and len(own) != 1), None)
    if lacking is not None and len(inputs) == 1:
        return None
    if lacking is not None:
        raise ArtifactError(f"The model needs the input {lacking!r}, which the artifact does not provide.")
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
        raise ArtifactError(f"The model has an input of the type {kind}, which a bundle cannot provide.")
    return known[kind]
