"""An artifact and the model that belongs to it, in one folder with a manifest of hashes.

A model trained on one generalization must never be given records of another: the buckets would mean something else.
The manifest names the artifact by its identity and both files by their SHA-256, and everything is checked again when
the folder is loaded.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from modicum.errors import ArtifactError, ParameterError
from modicum.export.binding import check_bound
from modicum.export.bundle_files import (
    ARTIFACT,
    MANIFEST,
    artifact_of,
    check_bundle_folder,
    check_path,
    checked_bytes,
    document,
    hashed,
    is_bundle,
    plain_bytes,
    section,
    versions,
)
from modicum.export.stored_model import model_bytes, model_of
from modicum.generalization import Generalization, Questionnaire, storage
from modicum.generalization.loading import Collected, check_collected, kind_of
from modicum.generalization.record_format import Inputs, RecordFormat, Told, record_format
from modicum.provenance import identity
from modicum.table.atomic_writing import replacing_folder
from modicum.table.values import canonical, plain


@dataclass(frozen=True)
class Bundle:
    """What a service needs: what is collected, and what predicts from it.

    Attributes
    ----------
    artifact : Generalization, CellPartition or Questionnaire
    model : the model, or None where nothing is predicted or the artifact itself predicts
    inputs : what the model is given, as `transform` has it: "labels", "codes" or "values"
    label : the name of what is predicted, or None
    classes : the values that it may have, or None for a number
    identity : the hash that the artifact is known by
    format : what its generalized records look like
    manifest : the manifest as it was read, or empty

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
    manifest: dict[str, Any] = field(default_factory=dict)
    identity: str = field(init=False)
    format: RecordFormat = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", identity(self.artifact))
        object.__setattr__(self, "format", record_format(self.artifact))

    @property
    def kind(self) -> str:
        """Of which kind the artifact is: "generalization", "cells" or "questionnaire"."""
        return kind_of(self.artifact)

    @property
    def can_predict(self) -> bool:
        """Whether there is a model, or an artifact whose cells say what the model would."""
        return self.model is not None or _predicts_itself(self.artifact)

    def predict(self, told: Sequence[Told]) -> list[dict[str, Any]]:
        """The prediction for checked records (`format.check`), each with the probabilities of the classes if known.

        Examples
        --------
        >>> import modicum as md
        >>> from modicum.export.bundle import Bundle
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> X, y = X[:2000], y[:2000]
        >>> g = md.PrivacyTree(max_leaves=4).fit(X, y).generalization_
        >>> model = make_pipeline(g.encoder(), LogisticRegression()).fit(g.transform(X), y)
        >>> bundle = Bundle(g, model)
        >>> told = bundle.format.check(g.transform(X[:1]).astype(object).to_dict("records")[0])
        >>> bundle.predict([told])[0]["prediction"]
        '<=50K'
        """
        if self.model is None:
            if not self.can_predict:
                raise ArtifactError("This bundle has no model, so that nothing is predicted.")
            return [{"prediction": self.format.prediction(each), "probabilities": None} for each in told]
        frame = self.format.inputs(told, self.inputs)
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
        A new folder; an existing bundle is replaced, a folder that holds any other file is refused.
    artifact : Generalization, CellPartition or Questionnaire
    model : scikit-learn model or ONNX model, optional
        A fitted scikit-learn model is written by skops (see `modicum.export.stored_model` for the types it may hold);
        an ONNX model is given as a path that ends in .onnx, as bytes or as a ModelProto. It is tried on every bucket
        before anything is written.
    inputs : "labels", "codes" or "values"
        What the model was trained on: the artifact's labels, its codes, or raw data, for which one value of each bucket
        stands in.
    label : str, optional
        The name of what is predicted; by default the schema's label.
    classes : sequence, optional
        For an ONNX model the classes, in the order of its probabilities; others say it themselves.

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
    if inputs not in get_args(Inputs):
        raise ParameterError(f"The 'inputs' parameter must be 'labels', 'codes' or 'values'. Got {inputs!r} instead.")
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
    if given is not None and not (isinstance(given, list | tuple) and all(_is_class(each) for each in given)):
        raise ParameterError("The 'classes' parameter must be a list of texts, numbers or truth values.")


def _is_class(value: Any) -> bool:
    return isinstance(value, str | bool | int | float | np.generic)


def load_bundle(folder: str | os.PathLike[str]) -> Bundle:
    """Read a bundle; a file that was changed, or a model that belongs to another artifact, is refused.

    Hashes find damage and mix-ups, not malice: whoever can write the folder can write its manifest too. None of its
    code is run, and trees whose nodes lead nowhere are refused; yet compiled code reads other parts of a model too, and
    forged ones can crash the process, so load bundles only from where you trust.

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
        raise ArtifactError(f"There is no bundle at {os.fspath(folder)!r}: it is no folder.")
    manifest = storage.parse_json(plain_bytes(path / MANIFEST), repr(os.fspath(path / MANIFEST)))
    if manifest["modicum"] != "bundle":
        raise ArtifactError(f"The file {MANIFEST!r} in {os.fspath(folder)!r} does not describe a bundle.")
    described = section(manifest, "artifact", ("sha256", "identity", "kind"))
    artifact = artifact_of(checked_bytes(path / ARTIFACT, described["sha256"]), described["kind"])
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
        raise ArtifactError("The manifest speaks of a model format or inputs that this modicum does not know.")
    content = checked_bytes(path / f"model.{bound['format']}", bound["sha256"])
    model = model_of(content, bound["format"], classes)
    inputs = cast(Inputs, bound["inputs"])
    bundle = Bundle(artifact, model, inputs, label, classes, manifest)
    check_bound(artifact, bundle.format, model, bundle.inputs)
    return bundle


def _manifest(bundle: Bundle, files: dict[str, bytes], format: str | None) -> dict[str, Any]:
    model = None
    if format is not None:
        model = {
            "format": format,
            "inputs": bundle.inputs,
            "sha256": hashed(files[f"model.{format}"]),
            "artifact": bundle.identity,
        }
    return {
        "modicum": "bundle",
        "version": storage.VERSION,
        "made_with": versions(format),
        "artifact": {"kind": bundle.kind, "identity": bundle.identity, "sha256": hashed(files[ARTIFACT])},
        "model": model,
        "label": bundle.label,
        "classes": bundle.classes,
    }
