"""The same model as the same bytes: what skops writes, without the traces of one run.

skops names objects and array files by their addresses in memory, lists sets in the order of a random hash and stamps
files with the time. None of it is part of the model, and with it two savings of one model could never be compared.
"""

import io
import itertools
import json
import zipfile
from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

_SCHEMA = "schema.json"
_PLAIN = ("JsonNode", "TypeNode")  # equal ones are the same, whether or not one run held them once


def repeatable(content: bytes) -> bytes:
    """A skops file that loads the same, with objects and parts numbered as they first appear, stored, of a fixed date.

    Examples
    --------
    >>> import skops.io
    >>> from sklearn.linear_model import LinearRegression
    >>> from modicum.export.repeatable import repeatable
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
    return _zipped(named | {_SCHEMA: json.dumps(schema, separators=(",", ":")).encode()})


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
            node = node | {"content": sorted(node["content"], key=_told)}
        return {key: self._entry(key, value, node) for key, value in node.items()}

    def _entry(self, key: str, value: Any, node: dict[str, Any]) -> Any:
        """A node's own number or file is a number or a text; an attribute that is called so is a node again."""
        if key == "__id__" and isinstance(value, int):
            return self.ids[_told(node) if node.get("__loader__") in _PLAIN else value]
        if key == "file" and isinstance(value, str):
            return self.files.setdefault(value, f"{len(self.files)}{PurePosixPath(value).suffix}")
        return self.node(value)


def _told(node: Any) -> str:
    """What a node says, without what it is numbered or where it is kept."""
    return json.dumps(_bare(node), sort_keys=True)


def _bare(node: Any) -> Any:
    if isinstance(node, list):
        return [_bare(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {k: _bare(v) for k, v in node.items() if k not in ("__id__", "file") or isinstance(v, dict)}


def _zipped(parts: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as target:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name)  # dated 1980, as far back as the format goes
            entry.create_system = 3  # wherever it is written
            target.writestr(entry, content)
    return written.getvalue()
