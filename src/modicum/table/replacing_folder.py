"""Folders of a few files written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from modicum.errors import DataError

MayReplace = Callable[[Path], bool]


def check_folder(folder: str | os.PathLike[str], may_replace: MayReplace, what: str = "folder") -> Path:
    """Where a folder is written, a link followed; refused where `replacing_folder` would refuse it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.replacing_folder import check_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_folder(pathlib.Path(folder) / "new", lambda path: False).name
    'new'
    """
    target = Path(os.path.realpath(folder))
    try:
        if target.exists() and not target.is_dir():
            raise DataError(f"The {what} {os.fspath(folder)!r} cannot be written: there is a file of that name.")
        if target.is_dir() and any(target.iterdir()) and not may_replace(target):
            raise DataError(f"The folder {os.fspath(folder)!r} holds other files; name a new folder for the {what}.")
        if not target.parent.is_dir():
            raise DataError(f"The {what} {os.fspath(folder)!r} cannot be written: the folder above does not exist.")
    except OSError as error:
        raise DataError(f"The {what} {os.fspath(folder)!r} cannot be written: {error.strerror}.") from None
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise DataError(f"The {what} {os.fspath(folder)!r} cannot be written: the folder above may not be written to.")
    return target


def replacing_folder(
    folder: str | os.PathLike[str], files: Mapping[str, bytes], may_replace: MayReplace, what: str = "folder"
) -> None:
    """Write all files beside, then put them in place together; what `may_replace` does not know is never replaced.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.replacing_folder import replacing_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "new"
    ...     replacing_folder(target, {"a.txt": b"done"}, lambda path: False)
    ...     (target / "a.txt").read_text()
    'done'
    """
    with beside_folder(folder, may_replace, what) as beside:
        for name, content in files.items():
            (Path(beside) / name).write_bytes(content)


@contextmanager
def beside_folder(folder: str | os.PathLike[str], may_replace: MayReplace, what: str = "folder") -> Iterator[str]:
    """An empty folder that takes the place of `folder` when the block ends well, and vanishes when it does not.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.replacing_folder import beside_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "new"
    ...     with beside_folder(target, lambda path: False) as beside:
    ...         _ = (pathlib.Path(beside) / "a.txt").write_text("done")
    ...     (target / "a.txt").read_text()
    'done'
    """
    target = check_folder(folder, may_replace, what)
    beside = target.parent / f".modicum-{secrets.token_hex(8)}"
    old = beside.with_name(beside.name + "-old")
    try:
        beside.mkdir()
        yield str(beside)
        if target.exists():
            target.rename(old)
        beside.rename(target)
    except OSError as error:
        raise DataError(f"The {what} {os.fspath(folder)!r} cannot be written: {error.strerror}.") from None
    finally:
        if old.exists() and not target.exists():  # stopped between the two renames
            old.rename(target)
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
