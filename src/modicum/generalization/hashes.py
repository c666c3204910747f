"""Hashes of tables and settings, and the versions of what made the numbers: what all evidence rests on."""

import hashlib
import platform
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from modicum.generalization import storage
from modicum.table.frames import as_frame, texts
from modicum.table.values import plain

PACKAGES = ("modicum", "numpy", "scipy", "scikit-learn", "pandas", "narwhals", "numba")


def frame_hash(X: Any, names: Sequence[str] | None = None) -> str:
    """SHA-256 of a table: names, values and the order of its rows, whichever library holds it.

    With `names` of these columns alone, in that order.

    Examples
    --------
    >>> import pandas as pd, polars as pl
    >>> from modicum.generalization.hashes import frame_hash
    >>> one, other = pd.DataFrame({"age": [31, 40]}), pd.DataFrame({"age": [40, 31]})
    >>> frame_hash(one) == frame_hash(pl.DataFrame({"age": [31, 40]})), frame_hash(one) == frame_hash(other)
    (True, False)
    """
    frame = as_frame(X)
    parts = [f"{str(name)!r} {column_hash(frame[name])}" for name in (frame.columns if names is None else names)]
    return _sha256("\n".join(parts))


def column_hash(series: Any) -> str:
    """SHA-256 of a column: its canonical texts in the order of its rows; a missing value is not the text None."""
    codes, words = texts(series)
    found = hashlib.sha256(repr(words).encode("utf-8", "surrogatepass"))
    found.update(codes.astype("<i8").tobytes())
    return found.hexdigest()


def text_hash(content: Any) -> str:
    """SHA-256 of plain data, as a file of ours holds it: that of an artifact is that of its file.

    Examples
    --------
    >>> from modicum.generalization.hashes import text_hash
    >>> text_hash({"a": 1}) == text_hash({"a": 1}), text_hash({"a": 1}) == text_hash({"a": 2})
    (True, False)
    """
    return _sha256(storage.lines(plain(content)) + "\n")


def versions() -> dict[str, str]:
    """Python and the packages that numbers depend on, with their versions.

    Examples
    --------
    >>> from modicum.generalization.hashes import versions
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
