"""Artifacts from files, whatever kind they are."""

import os
from typing import Any

from modicum.errors import ArtifactError
from modicum.generalization import storage
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization


def load(path: str | os.PathLike[str]) -> Generalization | CellPartition:
    """Read any artifact that modicum has saved.

    Examples
    --------
    >>> import os, tempfile, pandas as pd, modicum as md
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     g.save(os.path.join(folder, "g.json"))
    ...     md.load(os.path.join(folder, "g.json")) == g
    True
    """
    return parsed(storage.read_json(path), f"The file {os.fspath(path)!r}")


def parsed(content: dict[str, Any], where: str) -> Generalization | CellPartition:
    """The artifact of a document, whatever kind it is; `where` it is from is said where that kind is unknown."""
    if content["modicum"] == "generalization":
        return Generalization.from_dict(content)
    if content["modicum"] == "cells":
        return CellPartition.from_dict(content)
    raise ArtifactError(f"{where} holds an unknown kind of artifact: {content['modicum']!r}.")
