"""The sources of evidence: hashes of tables, artifacts and settings, and versions of the packages."""

import hashlib
import json
import os
import platform
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.generalization import Generalization, storage
from modicum.generalization.loading import Collected, check_collected, content_of
from modicum.generalization.questionnaire import Questionnaire
from modicum.table.frames import as_frame, texts
from modicum.table.schema import Schema
from modicum.table.targets import label_values
from modicum.table.values import plain

PACKAGES = ("modicum", "numpy", "scipy", "scikit-learn", "pandas", "narwhals", "numba")


def frame_hash(X: Any, names: Sequence[str] | None = None) -> str:
    """Return the SHA-256 of a table's names, values and row order. It does not depend on the frame's library.

    `names` selects columns, in that order; by default all.

    Examples
    --------
    >>> import pandas as pd, polars as pl
    >>> from modicum.provenance import frame_hash
    >>> one, other = pd.DataFrame({"age": [31, 40]}), pd.DataFrame({"age": [40, 31]})
    >>> frame_hash(one) == frame_hash(pl.DataFrame({"age": [31, 40]})), frame_hash(one) == frame_hash(other)
    (True, False)
    """
    frame = as_frame(X)
    parts = [f"{str(name)!r} {column_hash(frame[name])}" for name in (frame.columns if names is None else names)]
    return _sha256("\n".join(parts))


def column_hash(series: Any) -> str:
    """Return the SHA-256 of a column's canonical texts in row order; a missing value differs from the text None."""
    codes, words = texts(series)
    digest = hashlib.sha256(repr(words).encode("utf-8", "surrogatepass"))
    digest.update(codes.astype("<i8").tobytes())
    return digest.hexdigest()


def text_hash(content: Any) -> str:
    """Return the SHA-256 of plain data as this package writes it. An artifact has the hash of its file.

    Examples
    --------
    >>> from modicum.provenance import text_hash
    >>> text_hash({"a": 1}) == text_hash({"a": 1}), text_hash({"a": 1}) == text_hash({"a": 2})
    (True, False)
    """
    return _sha256(storage.lines(plain(content)) + "\n")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on.

    Examples
    --------
    >>> from modicum.provenance import versions
    >>> list(versions())[:2]
    ['Python', 'modicum']
    """
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# The identity of an artifact: a hash of everything that decides a record's buckets and their representative values.

_DECIDING = ("name", "kind", "storage", "domain", "hierarchy")  # fields of an attribute; labels follow from these


def identity(artifact: Collected) -> str:
    """Return the SHA-256 of an artifact's buckets. Two artifacts share it if they map every record to the same output.

    The representative values of buckets, which a model may receive, count too. Roles, question texts, help texts and
    the domain of a number or date do not change what is collected, so editing them keeps the identity.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.provenance import identity
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> len(identity(g)), identity(g) == identity(g.drop("age"))
    (64, False)
    """
    check_collected(artifact)
    kind = "questionnaire" if isinstance(artifact, Questionnaire) else "artifact"
    content = content_of(artifact)
    deciding = [_deciding(attribute) for attribute in content["schema"]["attributes"]]
    written = storage.lines({**content, "schema": deciding})
    return _sha256(f"{kind}\n{written}")


def _deciding(attribute: Mapping[str, object]) -> dict[str, object]:
    fields = [field for field in _DECIDING if field != "domain" or attribute["kind"] == "ordered"]
    return {field: attribute[field] for field in fields if field in attribute}


# The settings that evidence reports: plain data, without schemas, models and values of records.

_ELSEWHERE = ("schema", "progress")  # a schema is hashed; a progress bar changes nothing


def describe_settings(owner: Any) -> dict[str, object]:
    """Return an estimator's parameters as plain data; functions and estimators by name.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.provenance import describe_settings
    >>> describe_settings(md.Mondrian(k=7, quasi_identifiers=["age"]))["quasi_identifiers"]
    ['age']
    """
    return describe_parameters(
        {name: value for name, value in owner.get_params(deep=False).items() if name not in _ELSEWHERE}
    )


def describe_parameters(parameters: Mapping[str, object]) -> dict[str, object]:
    """Return parameters as plain data; functions and estimators by name.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from modicum.provenance import describe_parameters
    >>> describe_parameters({"k": np.int64(5), "names": pd.Index(["age", "sex"]), "measure": max})
    {'k': 5, 'names': ['age', 'sex'], 'measure': 'max'}
    """
    return {name: _describe_value(value) for name, value in parameters.items()}


def describe_grouping(by: Any, columns: Collection[str]) -> Any:
    """Describe the `by` setting of group results, without values of records.

    Examples
    --------
    >>> from modicum.provenance import describe_grouping
    >>> describe_grouping("sex", ["sex"]), describe_grouping(["sex", "race"], ["age", "race", "sex"])
    ('sex', ['sex', 'race'])
    >>> describe_grouping(["a", "b"], ["sex"])
    'one value per test record'
    """
    if by is None or isinstance(by, str):
        return by
    return list(by) if all(isinstance(each, str) and each in columns for each in by) else "one value per test record"


def _describe_value(value: Any) -> Any:
    value = sorted(value, key=str) if isinstance(value, set | frozenset) else value
    value = plain(value.tolist() if hasattr(value, "tolist") else value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return str(getattr(value, "__name__", type(value).__name__))
    return value


# The sources of evidence. None of them contains a date or time.


class EvidenceSources(TypedDict, total=False):
    """The sources of evidence as plain data: hashes of records and artifacts, versions, and settings."""

    hashes: dict[str, str]
    versions: dict[str, str]
    settings: dict[str, object]


def generalization_provenance(
    g: Generalization,
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    settings: Mapping[str, object],
    model: bytes | None = None,
) -> EvidenceSources:
    """Collect the sources of evidence about a generalization.

    Parameters
    ----------
    g : Generalization
    train, test : records and labels
    settings : everything else that the results depend on
    model : the bytes of a model's file, if any
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
    return {"hashes": hashes, "versions": versions(), "settings": plain({**settings, **sizes})}


def data_hash(X: Any, y: Any, schema: Schema) -> str:
    """Return the SHA-256 of records and labels in row order. It does not depend on the frame's library.

    It covers the canonical texts of the attributes that may be collected, of the person column if there is one, and of
    the label. Other columns and the order of the columns do not matter.

    Examples
    --------
    >>> import pandas as pd, polars as pl, modicum as md
    >>> from modicum.provenance import data_hash
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
    """Return the bytes of a model's file, from its path or from the bytes themselves."""
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
    """Return an estimator's name and parameters as plain data."""
    if isinstance(estimator, str):
        return estimator
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return {"name": type(estimator).__name__, "parameters": describe_parameters(parameters)}
