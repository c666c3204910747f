"""Write files and folders whole or not at all; several that belong together all or none."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from modicum.errors import DataError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary file beside `path` that takes its place when the block ends well, and vanishes when it does not.

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
    target = Path(os.path.realpath(path))  # a link stays a link
    ending = "".join(target.suffixes[-2:]) if target.suffix == ".gz" else target.suffix
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
    """A failure names the file that was to be written, not the temporary one beside it."""
    try:
        yield
    except OSError as error:
        raise DataError(f"The file {os.fspath(path)!r} cannot be written: {error.strerror}.") from None


# Folders of a few files written whole or not at all.

MayReplace = Callable[[Path], bool]


def check_folder(folder: str | os.PathLike[str], may_replace: MayReplace, what: str = "folder") -> Path:
    """Where a folder is written, a link followed; refused where `replacing_folder` would refuse it.

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
        raise DataError(f"The {what} {os.fspath(folder)!r} cannot be written: the folder above may not be written to.")
    return target


def replacing_folder(
    folder: str | os.PathLike[str], files: Mapping[str, bytes], may_replace: MayReplace, what: str = "folder"
) -> None:
    """Write all files beside, then put them in place together; what `may_replace` does not know is never replaced.

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
    with beside_folder(folder, may_replace, what) as beside:
        for name, content in files.items():
            (Path(beside) / name).write_bytes(content)


@contextmanager
def beside_folder(folder: str | os.PathLike[str], may_replace: MayReplace, what: str = "folder") -> Iterator[str]:
    """An empty folder that takes the place of `folder` when the block ends well, and vanishes when it does not.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.atomic_writing import beside_folder
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


# Several files that belong together: all of them are replaced, or none.

AnyPath = str | os.PathLike[str]


def replacing_together(contents: Mapping[AnyPath, bytes]) -> None:
    """Write every file beside its place, then put all in place; where one cannot be written, all stay as they were.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.atomic_writing import replacing_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replacing_together({pathlib.Path(folder) / name: b"done" for name in ("a.html", "a.json")})
    ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
    ['a.html', 'a.json']
    """
    with ExitStack() as all_of_them:  # left in reverse: files take their places first, and old ones are let go last
        for path in contents:
            all_of_them.enter_context(_restore_on_failure(path))
        for path, content in contents.items():
            temporary = all_of_them.enter_context(replacing(path))
            with naming(path):
                Path(temporary).write_bytes(content)


@contextmanager
def _restore_on_failure(path: AnyPath) -> Iterator[None]:
    """What stands at `path` comes back where the block fails."""
    target = Path(os.path.realpath(path))
    with naming(path):
        kept = _back_up_file(target) if target.exists() else None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            target.unlink(missing_ok=True) if kept is None else os.replace(kept, target)
        raise
    finally:
        if kept is not None:
            kept.unlink(missing_ok=True)


def _back_up_file(target: Path) -> Path:
    """A second name of a file, or a copy where there can be none."""
    kept = target.parent / f".modicum-{secrets.token_hex(8)}{target.suffix}"
    try:
        os.link(target, kept)
    except OSError:
        shutil.copy2(target, kept)
    return kept
