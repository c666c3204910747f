"""Where evidence comes from: hashes of what it rests on, versions and settings; nothing of it changes with the day."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.evaluation.told_settings import told
from modicum.generalization import Generalization
from modicum.generalization.hashes import frame_hash, text_hash, versions
from modicum.generalization.identity import identity
from modicum.table.frames import as_frame
from modicum.table.schema import Schema
from modicum.table.targets import label_values
from modicum.table.values import plain


def provenance(
    g: Generalization,
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    settings: dict[str, Any],
    model: bytes | None = None,
) -> dict[str, Any]:
    """What evidence about a generalization rests on, as plain data.

    Parameters
    ----------
    g : Generalization
    train, test : records and labels
    settings : what the results depend on besides
    model : the bytes of a model's file, where there is one
    """
    hashes = {
        "training records": data_hash(*train, g.schema),
        "test records": data_hash(*test, g.schema),
        "schema": text_hash(g.schema.to_dict()),
        "artifact": text_hash(g.to_dict()),
        "buckets": identity(g),
    }
    if model is not None:
        hashes["model"] = hashlib.sha256(model).hexdigest()
    sizes = {"training_records": len(train[0]), "test_records": len(test[0])}
    return {"hashes": hashes, "versions": versions(), "settings": plain(settings | sizes)}


def data_hash(X: Any, y: Any, schema: Schema) -> str:
    """The SHA-256 of records and their labels, in their order, whatever library holds them.

    Values count as canonical text, columns in the schema's order: the attributes that may be collected, the person
    where there is one, and the label; other columns do not matter, nor does the order of the columns.

    Examples
    --------
    >>> import pandas as pd, polars as pl, modicum as md
    >>> from modicum.evaluation.provenance import data_hash
    >>> columns = {"age": [18, 35, None], "job": ["nurse", None, "clerk"]}
    >>> X = pd.DataFrame(columns)
    >>> schema = md.Schema.infer(X)
    >>> data_hash(X, [0, 1, 1], schema) == data_hash(pl.DataFrame(columns), [0, 1, 1], schema)
    True
    >>> data_hash(X, [0, 1, 1], schema) == data_hash(X, [0, 1, 0], schema)
    False
    """
    frame = as_frame(X, schema.features)
    person = [] if schema.person is None or schema.person not in frame.columns else [schema.person]
    label = pd.DataFrame({"y": pd.Series(label_values(y, len(frame)))})
    return text_hash([frame_hash(frame, [*schema.features, *person]), frame_hash(label)])


def model_file(model: Any) -> bytes | None:
    """The content of a model's file, given by its path or as it is."""
    if model is None or isinstance(model, bytes):
        return model
    if not isinstance(model, str | os.PathLike):
        raise ParameterError(
            f"The 'model' parameter must be the path of a model's file, or its bytes. Got {type(model).__name__} "
            "instead."
        )
    try:
        return Path(model).read_bytes()
    except OSError as error:
        raise DataError(f"The model's file {os.fspath(model)!r} cannot be read: {error.strerror}.") from None


def estimator_settings(estimator: Any) -> Any:
    """What an estimator is set to, as far as that is plain data."""
    if isinstance(estimator, str):
        return estimator
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return {"name": type(estimator).__name__, "parameters": told(parameters)}
