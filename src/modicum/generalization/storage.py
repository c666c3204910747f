"""Artifact files: JSON with a version and one line per bucket, checked on load, written completely or not at all."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from pydantic import ValidationError

from modicum.errors import ArtifactError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals
from modicum.table.atomic_writing import replacing
from modicum.table.plain_data import PlainSchema
from modicum.table.schema import Schema, first_complaint, parse_schema

VERSION = 1
_LARGEST = 256 * 2**20  # bytes; a larger file is no artifact


class PlainArtifact(TypedDict):
    """The content of an artifact file; `kept` and `cells` exist for cells only."""

    modicum: str
    version: int
    schema: PlainSchema
    attributes: list[dict[str, object]]
    kept: NotRequired[list[dict[str, object]]]
    cells: NotRequired[list[dict[str, object]]]


def write_json(document: Mapping[str, object], path: str | os.PathLike[str]) -> None:
    """Write a document so that a reader sees the old file or the new one, never a part."""
    with replacing(path) as temporary:
        Path(temporary).write_text(lines(document) + "\n", encoding="utf-8")


def read_json(path: str | os.PathLike[str]) -> dict[str, object]:
    """Read a modicum document; an error says why a file is not one."""
    where = repr(os.fspath(path))
    try:
        if os.path.getsize(path) > _LARGEST:
            raise ArtifactError(f"The file {where} is too large to be an artifact.")
        content = Path(path).read_bytes()
    except OSError as error:
        raise ArtifactError(f"The file {where} cannot be read: {error.strerror}.") from error
    return parse_json(content, where)


def parse_json(written: bytes, where: str) -> dict[str, object]:
    """Read a modicum document from a file's bytes; an error names `where` they come from."""
    try:
        content = json.loads(written.decode("utf-8"), parse_constant=_refuse_constant)
    except ArtifactError:
        raise
    except (ValueError, RecursionError) as error:
        at = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise ArtifactError(f"The file {where} is not valid JSON{at}; it is damaged or was edited.") from None
    if not isinstance(content, dict) or "modicum" not in content:
        raise ArtifactError(f"The file {where} is not a modicum artifact: the field 'modicum' is missing.")
    check_version(content)
    return content


def _refuse_constant(name: str) -> Any:
    raise ArtifactError(f"The file holds {name}, which is not valid JSON.")


def check_version(content: Mapping[str, object]) -> None:
    """Refuse files of a newer release, which may have another meaning."""
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ArtifactError("The artifact's field 'version' must be a whole number from 1.")
    if version > VERSION:
        raise ArtifactError(
            f"The artifact's field 'version' is {version}; this modicum reads up to {VERSION}. Install a newer modicum."
        )


def lines(value: Any, indent: int = 0) -> str:
    """Write JSON with each innermost record on one line, so that a diff shows the changed bucket.

    Examples
    --------
    >>> from modicum.generalization.storage import lines
    >>> print(lines({"name": "age", "buckets": [{"up_to": 19.5}, {"value": 40}]}))
    {
      "name": "age",
      "buckets": [
        {"up_to": 19.5},
        {"value": 40}
      ]
    }
    """
    entries = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    if not any(isinstance(entry, dict) or _holds_records(entry) for entry in entries):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    pad = "  " * (indent + 1)
    if isinstance(value, dict):
        inner = [f"{json.dumps(k, ensure_ascii=False)}: {lines(v, indent + 1)}" for k, v in value.items()]
        open_, close = "{", "}"
    else:
        inner = [lines(entry, indent + 1) for entry in value]
        open_, close = "[", "]"
    return open_ + "\n" + ",\n".join(pad + entry for entry in inner) + "\n" + "  " * indent + close


def _holds_records(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value)


def dump_partition(partition: AnyPartition) -> dict[str, object]:
    """Convert a partition to plain data: its buckets last, and in each bucket its range or values first."""
    content = partition.model_dump(mode="json", exclude_defaults=True)
    kind: dict[str, bool] = {}
    if isinstance(partition, Dropped):
        kind = {"collected": False}
    elif isinstance(partition, FullDetail):
        kind = {"full_detail": True}
    buckets = {"buckets": [_bucket(b) for b in content.pop("buckets")]} if "buckets" in content else {}
    return {"name": partition.name, **kind, **content, **buckets}


def _bucket(content: dict[str, object]) -> dict[str, object]:
    edge = content.get("up_to")
    if isinstance(edge, float) and edge.is_integer() and abs(edge) < 2**53:
        content["up_to"] = int(edge)
    return {key: content[key] for key in ("up_to", "values", "label", "value", "takes") if key in content}


def parse_partition(content: Any, schema: Schema) -> AnyPartition:
    """Read a partition from plain data and check every rule of `bins`."""
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise ArtifactError("Every entry of the artifact's field 'attributes' needs a 'name'.")
    attribute = schema[content["name"]]
    kind: type[AnyPartition] = Groups if attribute.is_category else Intervals
    if content.get("collected") is False:
        kind = Dropped
    elif content.get("full_detail") is True:
        kind = FullDetail
    fields = {key: value for key, value in content.items() if key != "name"}
    try:
        return kind.model_validate({"attribute": attribute, **fields})
    except ValidationError as error:
        raise ArtifactError(
            f"The attribute {attribute.name!r} is not valid: {first_complaint(error, fields)}."
        ) from None


def parse_artifact_schema(content: Mapping[str, object]) -> Schema:
    """Read the schema of an artifact."""
    try:
        return parse_schema(content["schema"])
    except KeyError:
        raise ArtifactError("The artifact's field 'schema' is missing.") from None
