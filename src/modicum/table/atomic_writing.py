"""Write a file, a folder or several files completely or not at all."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from modicum.errors import DataError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield a temporary file next to `path` that replaces it if the block succeeds and is deleted if it fails.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.atomic_writing import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "a.txt"
    ...     with replacing(target) as temporary:
    ...         _ = pathlib.Path(temporary).write_text("done")
    ...     target.read_text()
    'done'
    """
    target = Path(os.path.realpath(path))  # keeps a symbolic link
    ending = "".join(target.suffixes[-2:]).lower() if target.suffix.lower() == ".gz" else target.suffix.lower()
    temporary = target.parent / f".modicum-{secrets.token_hex(8)}{ending}"
    with naming(path):
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield str(temporary)
        with naming(path):
            os.replace(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an `OSError` into a `DataError` that names the target, not the temporary file."""
    try:
        yield
    except OSError as error:
        raise DataError(f"The file {os.fspath(path)!r} cannot be written: {error.strerror}.") from None


# Folders

MayReplace = Callable[[Path], bool]


def check_folder(folder: str | os.PathLike[str], may_replace: MayReplace, what: str = "folder") -> Path:
    """Return the real path of a folder to write; raise a `DataError` if `replacing_folder` could not write it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.atomic_writing import check_folder
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
        raise DataError(f"The {what} {os.fspath(folder)!r} cannot be written: the folder above is not writable.")
    return target


def replacing_folder(
    folder: str | os.PathLike[str], files: Mapping[str, bytes], may_replace: MayReplace, what: str = "folder"
) -> None:
    """Write all files to a new folder, then move it to its place; replace only what `may_replace` allows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.atomic_writing import replacing_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "new"
    ...     replacing_folder(target, {"a.txt": b"done"}, lambda path: False)
    ...     (target / "a.txt").read_text()
    'done'
    """
    with new_folder(folder, may_replace, what) as temporary:
        for name, content in files.items():
            (Path(temporary) / name).write_bytes(content)


@contextmanager
def new_folder(folder: str | os.PathLike[str], may_replace: MayReplace, what: str = "folder") -> Iterator[str]:
    """Yield an empty folder that replaces `folder` if the block succeeds and is deleted if it fails.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.atomic_writing import new_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "new"
    ...     with new_folder(target, lambda path: False) as temporary:
    ...         _ = (pathlib.Path(temporary) / "a.txt").write_text("done")
    ...     (target / "a.txt").read_text()
    'done'
    """
    target = check_folder(folder, may_replace, what)
    temporary = target.parent / f".modicum-{secrets.token_hex(8)}"
    old = temporary.with_name(temporary.name + "-old")
    try:
        temporary.mkdir()
        yield str(temporary)
        if target.exists():
            target.rename(old)
        temporary.rename(target)
    except OSError as error:
        raise DataError(f"The {what} {os.fspath(folder)!r} cannot be written: {error.strerror}.") from None
    finally:
        if old.exists() and not target.exists():  # interrupted between the two renames
            old.rename(target)
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


# Several files at once

AnyPath = str | os.PathLike[str]


def replacing_together(contents: Mapping[AnyPath, bytes]) -> None:
    """Write all files, or leave all of them unchanged if one cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.atomic_writing import replacing_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replacing_together({pathlib.Path(folder) / name: b"done" for name in ("a.html", "a.json")})
    ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
    ['a.html', 'a.json']
    """
    with ExitStack() as stack:  # exits in reverse: all new files are moved before any old one is deleted
        for path in contents:
            stack.enter_context(_restore_on_failure(path))
        for path, content in contents.items():
            temporary = stack.enter_context(replacing(path))
            with naming(path):
                Path(temporary).write_bytes(content)


@contextmanager
def _restore_on_failure(path: AnyPath) -> Iterator[None]:
    """Restore the file at `path` if the block fails."""
    target = Path(os.path.realpath(path))
    with naming(path):
        backup = _back_up_file(target) if target.exists() else None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            target.unlink(missing_ok=True) if backup is None else os.replace(backup, target)
        raise
    finally:
        if backup is not None:
            backup.unlink(missing_ok=True)


def _back_up_file(target: Path) -> Path:
    """Create a hard link to a file, or a copy if links are not possible."""
    backup = target.parent / f".modicum-{secrets.token_hex(8)}{target.suffix}"
    try:
        os.link(target, backup)
    except OSError:
        shutil.copy2(target, backup)
    return backup
