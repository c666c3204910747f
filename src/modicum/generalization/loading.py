"""Load artifacts of any kind; convert them to plain data and back."""

import os
from collections.abc import Mapping
from typing import Any, get_args

from modicum.errors import ArtifactError, ParameterError
from modicum.generalization import storage
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.questionnaire import Questionnaire


def load(path: str | os.PathLike[str]) -> Generalization | CellPartition:
    """Read an artifact of any kind from the file that `save` wrote.

    Examples
    --------
    >>> import os, tempfile, pandas as pd, modicum as md
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     g.save(os.path.join(folder, "g.json"))
    ...     md.load(os.path.join(folder, "g.json")) == g
    True
    """
    return parse_artifact(storage.read_json(path), f"The file {os.fspath(path)!r}")


def parse_artifact(content: Mapping[str, object], where: str) -> Generalization | CellPartition:
    """Read an artifact of any kind from plain data; an error names `where` it comes from."""
    if content["modicum"] == "generalization":
        return Generalization.from_dict(content)
    if content["modicum"] == "cells":
        return CellPartition.from_dict(content)
    raise ArtifactError(f"{where} holds an unknown kind of artifact: {content['modicum']!r}.")


# The three kinds of artifact, by name, as plain data and back.

Collected = Generalization | CellPartition | Questionnaire

_KINDS: dict[str, type[Collected]] = {
    "generalization": Generalization,
    "cells": CellPartition,
    "questionnaire": Questionnaire,
}


def check_collected(artifact: Any, kinds: tuple[type, ...] = get_args(Collected), name: str = "artifact") -> None:
    """Refuse anything except an artifact of these kinds.

    Examples
    --------
    >>> from modicum.generalization.loading import check_collected
    >>> check_collected("x")
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The 'artifact' parameter must be a Generalization, CellPartition or Questionnaire. \
Got str instead.
    """
    if not isinstance(artifact, kinds):
        *others, last = [kind.__name__ for kind in kinds]
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ParameterError(f"The {name!r} parameter must be a {listed}. Got {type(artifact).__name__} instead.")


def kind_of(artifact: Collected) -> str:
    """Return the kind of an artifact: "generalization", "cells" or "questionnaire"."""
    return next(kind for kind, type_ in _KINDS.items() if isinstance(artifact, type_))


def content_of(artifact: Collected) -> storage.PlainArtifact:
    """Convert an artifact to plain data; a questionnaire to its cells.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.loading import content_of, kind_of, with_content
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> with_content(kind_of(g), content_of(g), "The store") == g
    True
    """
    return (artifact.cells if isinstance(artifact, Questionnaire) else artifact).to_dict()


def with_content(kind: str, content: Mapping[str, object], where: str) -> Collected:
    """Read an artifact of this kind from plain data; an error names `where` it comes from."""
    found = parse_artifact(content, where)
    artifact = Questionnaire(found) if kind == "questionnaire" and isinstance(found, CellPartition) else found
    if not isinstance(artifact, _KINDS.get(kind, ())):
        raise ArtifactError(f"{where} holds an artifact of another kind than recorded.")
    return artifact
