"""Bundles: an artifact and its model in one folder with a manifest of hashes.

A model trained on one generalization must never receive records of another, whose buckets mean something else. The
manifest names the artifact by its identity and both files by their SHA-256; loading the folder checks everything again.
"""

import hashlib
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from modicum.errors import ArtifactError, ParameterError, format_names
from modicum.export.stored_model import model_bytes, model_of
from modicum.generalization import CellPartition, Generalization, Questionnaire, storage
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Scalar
from modicum.generalization.cells import code_of
from modicum.generalization.exports import check_form
from modicum.generalization.loading import Collected, check_collected, content_of, kind_of, with_content
from modicum.generalization.record_format import Inputs, PredictedRecord, RecordFormat, RecordKey, record_format
from modicum.provenance import identity
from modicum.table.atomic_writing import check_folder, replacing_folder
from modicum.table.values import canonical, plain

# Check that a model fits an artifact: the same attributes, and buckets that it knows.

Predict = Callable[[Sequence[RecordKey]], Any]


def check_bound(
    artifact: Collected, format: RecordFormat, model: Any, inputs: Inputs, predict: Predict | None = None
) -> None:
    """Refuse a model that was trained on other attributes or buckets.

    With `predict`, also try it on every bucket, so that no bundle is written that cannot predict.
    """
    if model is None:
        return
    names = list(format.inputs([], inputs).columns)
    trained_on = getattr(model, "feature_names_in_", None)
    if trained_on is not None and list(map(str, trained_on)) != names:
        strange = sorted(set(map(str, trained_on)) ^ set(names))
        what = f"they differ in {format_names(strange)}" if strange else "their order differs"
        raise ArtifactError(f"The model was trained on other attributes than this artifact provides: {what}.")
    if inputs == "labels":
        _check_categories(artifact, model)
    if predict is not None:
        _try_predicting(artifact, predict)


def _check_categories(artifact: Collected, model: Any) -> None:
    """Check that every category of the encoders inside the model is one of the artifact's labels."""
    labels = _labels_by_name(artifact)
    for encoder in _find_encoders(model):
        for name, categories in zip(encoder.feature_names_in_, encoder.categories_, strict=False):
            strange = [each for each in categories if isinstance(each, str) and each not in labels.get(name, ())]
            if name in labels and labels[name] and strange:
                raise ArtifactError(
                    f"The model knows the bucket {strange[0]!r} of {str(name)!r}, which this artifact does not have; "
                    "it belongs to another generalization."
                )


def _labels_by_name(artifact: Collected) -> dict[str, frozenset[str]]:
    if isinstance(artifact, Generalization):
        return {name: frozenset(labels) for name, labels in artifact.buckets.items()}
    cells = artifact.cells if isinstance(artifact, Questionnaire) else artifact
    return {name: frozenset(cells.labels(name)) for name in cells.needed}


def _find_encoders(model: Any) -> Iterator[Any]:
    """Find the fitted one-hot and ordinal encoders inside a pipeline or a column transformer."""
    if hasattr(model, "categories_") and hasattr(model, "feature_names_in_"):
        yield model
    for _, step in getattr(model, "steps", None) or []:
        yield from _find_encoders(step)
    for _, step, _ in getattr(model, "transformers_", None) or []:
        yield from _find_encoders(step)


def _try_predicting(artifact: Collected, predict: Predict) -> None:
    trials = list(_make_trials(artifact))
    try:
        found = predict(trials)
    except ArtifactError:
        raise
    except Exception as error:  # models may raise any type
        raise ArtifactError(
            f"The model cannot predict from this artifact's records ({type(error).__name__}: {error})."
        ) from error
    if len(found) != len(trials):
        raise ArtifactError("The model must give one prediction per record.")


def _make_trials(artifact: Collected) -> Iterator[RecordKey]:
    """Make records in which every bucket (or cell) occurs at least once."""
    if isinstance(artifact, Questionnaire):
        yield from _make_answers(artifact.cells)
    elif isinstance(artifact, CellPartition):
        for cell, kept in _make_cell_trials(artifact):
            yield (cell, *kept.values())
    else:
        partitions = [p for p in artifact.partitions if not isinstance(p, Dropped)]
        for i in range(max([1, *(len(p.labels) for p in partitions)])):
            yield tuple(_trial_value(p, i, p.value) for p in partitions)


def _trial_value(partition: AnyPartition, i: int, value: Scalar) -> float:
    if not isinstance(partition, FullDetail):
        return min(i, len(partition.labels) - 1)
    return 0.0 if value is None else float(partition.as_number(value))


def _make_cell_trials(cells: CellPartition) -> Iterator[tuple[int, dict[str, float]]]:
    """Make pairs of a cell and values of the kept attributes, with every cell and every bucket."""
    kept = {name: cells.code_buckets(name)[0] for name in cells.kept}
    for i in range(max([cells.n_cells, *(len(partition.labels) for partition in kept.values())])):
        cell = i % cells.n_cells
        values = dict(zip(cells.names, cells.tree.cells[cell].values, strict=True))
        yield cell, {name: _trial_value(partition, i, values[name]) for name, partition in kept.items()}


def _make_answers(cells: CellPartition) -> Iterator[RecordKey]:
    """Make answers to a questionnaire that lead to each cell; they may answer more than is asked."""
    for cell, kept in _make_cell_trials(cells):
        values = dict(zip(cells.names, cells.tree.cells[cell].values, strict=True))
        asked = [name for name in cells.needed if name not in kept]
        codes = {name: (max(0, code_of(cells.detail[name], values[name])),) for name in asked}
        yield tuple((name, kept[name] if name in kept else codes[name]) for name in cells.needed)


# The files of a bundle's folder: their names, and reading them with every check.

MANIFEST, ARTIFACT = "manifest.json", "artifact.json"
_FILES = {MANIFEST, ARTIFACT, "model.skops", "model.onnx"}


def document(artifact: Collected) -> bytes:
    """Return the content of the artifact's file."""
    return storage.lines(content_of(artifact)).encode() + b"\n"


def artifact_of(content: bytes, kind: str) -> Collected:
    """Read the artifact from bytes that were checked, because the file may have changed since."""
    return with_content(kind, storage.parse_json(content, repr(ARTIFACT)), f"The file {ARTIFACT!r}")


def versions(format: str | None) -> dict[str, str]:
    """Return the versions that made a bundle; a model may need the same ones."""
    packages = ["modicum", *(["scikit-learn", "skops", "numpy"] if format == "skops" else [])]
    found = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def hash_content(content: bytes) -> str:
    """Return the hash that identifies a file in a manifest."""
    return hashlib.sha256(content).hexdigest()


def section(manifest: Mapping[str, object], name: str, fields: Sequence[str]) -> dict[str, str]:
    """Return a part of the manifest; all its given fields must be texts."""
    found = manifest.get(name)
    if not isinstance(found, dict) or any(not isinstance(found.get(each), str) for each in fields):
        raise ArtifactError(f"The manifest's field {name!r} must have the text fields {', '.join(fields)}.")
    return found


def read_checked_bytes(path: Path, expected: str) -> bytes:
    """Read a file and refuse it if its hash differs from the manifest's."""
    content = plain_bytes(path)
    if hash_content(content) != expected:
        raise ArtifactError(f"The bundle's file {path.name!r} is not the one that its manifest names; save it again.")
    return content


def plain_bytes(path: Path) -> bytes:
    """Read a regular file; refuse a device or a pipe, which may never end."""
    try:
        if path.exists() and not path.is_file():
            raise ArtifactError(f"The bundle's file {path.name!r} cannot be read: it is not a regular file.")
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"The bundle's file {path.name!r} cannot be read: {error.strerror}.") from None


def check_bundle_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that cannot take a bundle, before any other work."""
    check_path(folder)
    check_folder(folder, is_bundle, "bundle")


def check_path(folder: Any) -> None:
    """Refuse anything except a path."""
    if not isinstance(folder, str | os.PathLike) or not isinstance(os.fspath(folder), str):
        raise ParameterError(f"The 'folder' parameter must be a path. Got {type(folder).__name__} instead.")


def is_bundle(folder: Path) -> bool:
    """Whether a folder holds only a bundle: replacing it would delete other files, such as a store."""
    if not {each.name for each in folder.iterdir()} <= _FILES:
        return False
    try:
        return bool(storage.parse_json(plain_bytes(folder / MANIFEST), repr(MANIFEST))["modicum"] == "bundle")
    except ArtifactError:
        return False


# The bundle


@dataclass(frozen=True)
class Bundle:
    """An artifact and its model, as a service needs them.

    Attributes
    ----------
    artifact : Generalization, CellPartition or Questionnaire
    model : the model, or None if nothing is predicted or the artifact itself predicts
    inputs : the model's input, as in `transform`: "labels", "codes" or "values"
    label : the name of the predicted label, or None
    classes : the classes of the label, or None for a number
    identity : the artifact's hash
    format : the format of its generalized records
    manifest : the manifest that was read, or empty

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> bundle = md.Bundle(md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_)
    >>> bundle.kind, bundle.can_predict
    ('generalization', False)
    >>> bundle.format.check({"age": bundle.artifact.buckets["age"][0]})
    (0,)
    """

    artifact: Collected
    model: Any = None
    inputs: Inputs = "labels"
    label: str | None = None
    classes: list[Any] | None = None
    manifest: dict[str, object] = field(default_factory=dict)
    identity: str = field(init=False)
    format: RecordFormat = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", identity(self.artifact))
        object.__setattr__(self, "format", record_format(self.artifact))

    @property
    def kind(self) -> str:
        """The kind of the artifact: "generalization", "cells" or "questionnaire"."""
        return kind_of(self.artifact)

    @property
    def can_predict(self) -> bool:
        """Whether there is a model, or an artifact whose cells hold its predictions."""
        return self.model is not None or _predicts_itself(self.artifact)

    def predict(self, records: Sequence[RecordKey]) -> list[PredictedRecord]:
        """Predict checked records (`format.check`), each with the probabilities of the classes if known.

        Examples
        --------
        >>> import modicum as md
        >>> from modicum.export.model_bundle import Bundle
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> X, y = X[:2000], y[:2000]
        >>> g = md.PrivacyTree(max_leaves=4).fit(X, y).generalization_
        >>> model = make_pipeline(g.encoder(), LogisticRegression()).fit(g.transform(X), y)
        >>> bundle = Bundle(g, model)
        >>> record = bundle.format.check(g.transform(X[:1]).astype(object).to_dict("records")[0])
        >>> bundle.predict([record])[0]["prediction"]
        '<=50K'
        """
        if self.model is None:
            if not self.can_predict:
                raise ArtifactError("This bundle has no model, so it cannot predict.")
            return [{"prediction": self.format.prediction(each), "probabilities": None} for each in records]
        frame = self.format.inputs(records, self.inputs)
        predicted = plain(self.model.predict(frame).tolist())
        if self.classes is None or not hasattr(self.model, "predict_proba"):
            return [{"prediction": each, "probabilities": None} for each in predicted]
        names = [canonical(each) for each in self.classes]
        chances = plain(self.model.predict_proba(frame).tolist())
        return [
            {"prediction": each, "probabilities": dict(zip(names, row, strict=True))}
            for each, row in zip(predicted, chances, strict=True)
        ]


def _predicts_itself(artifact: Collected) -> bool:
    if isinstance(artifact, Generalization):
        return False
    cells = artifact.cells if isinstance(artifact, Questionnaire) else artifact
    return not cells.kept and all(cell.prediction is not None for cell in cells.tree.cells)


def save_bundle(
    folder: str | os.PathLike[str],
    artifact: Collected,
    model: Any = None,
    *,
    inputs: Inputs = "labels",
    label: str | None = None,
    classes: Sequence[Any] | None = None,
) -> Bundle:
    """Write an artifact and its model as a folder that `load_bundle` and `modicum serve` read.

    Parameters
    ----------
    folder : path
        A new folder; an existing bundle is replaced, a folder with any other file is refused.
    artifact : Generalization, CellPartition or Questionnaire
    model : scikit-learn model or ONNX model, optional
        A fitted scikit-learn model, saved by skops (see `modicum.export.stored_model` for the allowed types), or an
        ONNX model as a path that ends in .onnx, as bytes or as a ModelProto. It is tried on every bucket before
        anything is written.
    inputs : "labels", "codes" or "values"
        The training data of the model: the artifact's labels, its codes, or raw data, which one value per bucket then
        represents.
    label : str, optional
        The name of the predicted label; by default the schema's label.
    classes : sequence, optional
        The classes of an ONNX model in the order of its probabilities; other models know theirs.

    Examples
    --------
    >>> import os, tempfile, modicum as md
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[:2000], y[:2000]
    >>> g = md.PrivacyTree(max_leaves=4).fit(X, y).generalization_
    >>> model = make_pipeline(g.encoder(), LogisticRegression()).fit(g.transform(X), y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = md.save_bundle(os.path.join(folder, "income"), g, model, label="income")
    ...     sorted(os.listdir(os.path.join(folder, "income")))
    ['artifact.json', 'manifest.json', 'model.skops']
    """
    check_collected(artifact)
    check_bundle_folder(folder)
    check_form(inputs, "inputs")
    _check_named(label, classes)
    schema = artifact.cells.schema if isinstance(artifact, Questionnaire) else artifact.schema
    known = classes if classes is not None else getattr(model, "classes_", None)
    content, format = (None, None) if model is None else model_bytes(model)
    asked = model if content is None or format == "skops" else model_of(content, "onnx", known)
    bundle = Bundle(
        artifact,
        asked,
        inputs=inputs,
        label=label if label is not None else schema.label,
        classes=None if known is None else plain(list(known)),
    )
    check_bound(bundle.artifact, bundle.format, bundle.model, inputs, predict=bundle.predict)
    files = {ARTIFACT: document(artifact)}
    if content is not None:
        files[f"model.{format}"] = content
    files[MANIFEST] = storage.lines(_manifest(bundle, files, format)).encode() + b"\n"
    replacing_folder(folder, files, is_bundle, "bundle")
    return bundle


def _check_named(label: Any, classes: Any) -> None:
    if not (label is None or isinstance(label, str)):
        raise ParameterError(f"The 'label' parameter must be a text. Got {type(label).__name__} instead.")
    given = classes.tolist() if isinstance(classes, np.ndarray) else classes
    known = str | bool | int | float | np.generic
    if given is not None and not (isinstance(given, list | tuple) and all(isinstance(each, known) for each in given)):
        raise ParameterError("The 'classes' parameter must be a list of texts, numbers or booleans.")


def load_bundle(folder: str | os.PathLike[str]) -> Bundle:
    """Read a bundle; refuse a file that was changed or a model that belongs to another artifact.

    Hashes find damage and mix-ups, not malice: anyone who can write the folder can also write its manifest. No code
    from the bundle is run, and trees with invalid nodes are refused. But compiled code also reads other parts of a
    model, and forged ones can crash the process, so load bundles only from sources that you trust.

    Examples
    --------
    >>> import os, tempfile, pandas as pd, modicum as md
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = md.save_bundle(os.path.join(folder, "b"), g)
    ...     md.load_bundle(os.path.join(folder, "b")).artifact == g
    True
    """
    check_path(folder)
    path = Path(folder)
    if not path.is_dir():
        raise ArtifactError(f"There is no bundle at {os.fspath(folder)!r}: it is not a folder.")
    manifest = storage.parse_json(plain_bytes(path / MANIFEST), repr(os.fspath(path / MANIFEST)))
    if manifest["modicum"] != "bundle":
        raise ArtifactError(f"The file {MANIFEST!r} in {os.fspath(folder)!r} does not describe a bundle.")
    described = section(manifest, "artifact", ("sha256", "identity", "kind"))
    artifact = artifact_of(read_checked_bytes(path / ARTIFACT, described["sha256"]), described["kind"])
    if identity(artifact) != described["identity"]:
        raise ArtifactError("The manifest names another artifact than the one in this bundle.")
    classes, label = manifest.get("classes"), manifest.get("label")
    if not (classes is None or isinstance(classes, list)) or not (label is None or isinstance(label, str)):
        raise ArtifactError("The manifest's fields 'classes' and 'label' must be a list and a text.")
    if manifest.get("model") is None:
        return Bundle(artifact, label=label, classes=classes, manifest=manifest)
    bound = section(manifest, "model", ("sha256", "format", "inputs", "artifact"))
    if bound["artifact"] != described["identity"]:
        raise ArtifactError("The model in this bundle belongs to another generalization; it would misread the buckets.")
    if bound["format"] not in ("skops", "onnx") or bound["inputs"] not in get_args(Inputs):
        raise ArtifactError("The manifest names a model format or inputs that this modicum does not know.")
    content = read_checked_bytes(path / f"model.{bound['format']}", bound["sha256"])
    model = model_of(content, bound["format"], classes)
    inputs = cast(Inputs, bound["inputs"])
    bundle = Bundle(artifact, model, inputs, label, classes, manifest)
    check_bound(artifact, bundle.format, model, bundle.inputs)
    return bundle


def _manifest(bundle: Bundle, files: dict[str, bytes], format: str | None) -> dict[str, object]:
    model = None
    if format is not None:
        model = {
            "format": format,
            "inputs": bundle.inputs,
            "sha256": hash_content(files[f"model.{format}"]),
            "artifact": bundle.identity,
        }
    return {
        "modicum": "bundle",
        "version": storage.VERSION,
        "made_with": versions(format),
        "artifact": {"kind": bundle.kind, "identity": bundle.identity, "sha256": hash_content(files[ARTIFACT])},
        "model": model,
        "label": bundle.label,
        "classes": bundle.classes,
    }
