"""The files of a bundle's folder: how they are called, and how they are read with nothing taken on trust."""

import hashlib
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from modicum.errors import ArtifactError, ParameterError
from modicum.generalization import storage
from modicum.generalization.loading import Collected, content_of, with_content
from modicum.table.atomic_writing import check_folder

MANIFEST, ARTIFACT = "manifest.json", "artifact.json"
_FILES = {MANIFEST, ARTIFACT, "model.skops", "model.onnx"}


def document(artifact: Collected) -> bytes:
    """The artifact as its file holds it."""
    return storage.lines(content_of(artifact)).encode() + b"\n"


def artifact_of(content: bytes, kind: str) -> Collected:
    """The artifact of the bytes that were checked: the file may be another one by now."""
    return with_content(kind, storage.parse_json(content, repr(ARTIFACT)), f"The file {ARTIFACT!r}")


def versions(format: str | None) -> dict[str, str]:
    """What a bundle was made with: a model may need the same again."""
    packages = ["modicum", *(["scikit-learn", "skops", "numpy"] if format == "skops" else [])]
    found = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def hashed(content: bytes) -> str:
    """What a manifest knows a file by."""
    return hashlib.sha256(content).hexdigest()


def section(manifest: dict[str, Any], name: str, fields: Sequence[str]) -> dict[str, str]:
    """A part of the manifest that has these fields, all of them texts."""
    found = manifest.get(name)
    if not isinstance(found, dict) or any(not isinstance(found.get(each), str) for each in fields):
        raise ArtifactError(f"The manifest's field {name!r} must have the texts {', '.join(fields)}.")
    return found


def checked_bytes(path: Path, expected: str) -> bytes:
    """A file's content, refused where the manifest knows another."""
    content = plain_bytes(path)
    if hashed(content) != expected:
        raise ArtifactError(f"The bundle's file {path.name!r} is not the one that its manifest names; save it again.")
    return content


def plain_bytes(path: Path) -> bytes:
    """A file's content; a device or a pipe, which may never end, is not read."""
    try:
        if path.exists() and not path.is_file():
            raise ArtifactError(f"The bundle's file {path.name!r} cannot be read: it is no plain file.")
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"The bundle's file {path.name!r} cannot be read: {error.strerror}.") from None


def check_bundle_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that no bundle can be written to, before any work is done for it."""
    check_path(folder)
    check_folder(folder, is_bundle, "bundle")


def check_path(folder: Any) -> None:
    """Refuse what is no path."""
    if not isinstance(folder, str | os.PathLike) or not isinstance(os.fspath(folder), str):
        raise ParameterError(f"The 'folder' parameter must be a path. Got {type(folder).__name__} instead.")


def is_bundle(folder: Path) -> bool:
    """Whether a folder holds a bundle and nothing else: a store beside the model would be lost with the old bundle."""
    if not {each.name for each in folder.iterdir()} <= _FILES:
        return False
    try:
        return bool(storage.parse_json(plain_bytes(folder / MANIFEST), repr(MANIFEST))["modicum"] == "bundle")
    except ArtifactError:
        return False
