"""A folder in which a study keeps finished work: one file per piece, written atomically.

If a study is killed, the same study in the same folder continues from the finished pieces. `study.json` identifies the
study by a fingerprint of its data and settings and by the version that wrote it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from modicum.errors import DataError
from modicum.table.atomic_writing import replacing
from modicum.table.plain_data import PlainResult

VERSION = 1
_HEAD = "study.json"
FILES = (_HEAD, "table.csv", ".lock")  # files of the folder, except the pieces

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class StudyHead:
    """The study that a folder belongs to; missing fields are empty."""

    modicum: str = "study"
    version: int = 0
    modicum_version: str = ""
    fingerprint: str = ""


class StudyStore:
    """Finished pieces by name; without a folder they are kept only in memory."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._known: dict[str, object] = {}

    @contextmanager
    def open_folder(self, head: StudyHead) -> Iterator[None]:
        """Create and lock the folder; fail if it holds another study or one that is still running."""
        if self.folder is None:
            yield
            return
        try:
            (self.folder / "pieces").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"The folder {str(self.folder)!r} cannot be created: {error.strerror}.") from None
        with _lock_folder(self.folder):
            self._check(self.folder, head)
            for left in [*self.folder.glob(".modicum-*"), *(self.folder / "pieces").glob(".modicum-*")]:
                left.unlink(missing_ok=True)  # left by a study that was killed while writing
            yield

    def get(self, name: str, kind: type[Kind]) -> Kind | None:
        """Return a finished piece, or None."""
        if name not in self._known and self.folder is not None and (path := self.folder / _file_of(name)).exists():
            self._known[name] = _read(path, kind)
        found = self._known.get(name)
        assert found is None or isinstance(found, kind)  # each name has one kind of piece
        return found

    def put(self, name: str, found: PlainResult) -> None:
        """Keep a finished piece."""
        self._known[name] = found
        if self.folder is not None:
            self.write_json(name, found.to_dict())

    def write_json(self, name: str, content: Mapping[str, object]) -> None:
        """Write plain data to the pieces, if there is a folder."""
        self.write_text(_file_of(name), json.dumps(content, allow_nan=False))

    def write_text(self, name: str, content: str) -> None:
        """Write a file in the folder, if there is one."""
        if self.folder is not None:
            self._write(self.folder / name, content)

    def _check(self, folder: Path, head: StudyHead) -> None:
        if not (folder / _HEAD).exists():
            strange = [path.name for path in folder.iterdir() if path.name not in ("pieces", ".lock")]
            if strange or any((folder / "pieces").iterdir()):
                raise DataError(
                    f"The folder {str(folder)!r} contains files that do not belong to a study; give a new or empty "
                    "folder."
                )
            self._write(folder / _HEAD, json.dumps(asdict(head), indent=1))
            return
        known = _read(folder / _HEAD, StudyHead)
        if (known.version, known.modicum_version) != (head.version, head.modicum_version):
            raise DataError(
                f"The folder {str(folder)!r} holds a study of another version of modicum; give another folder."
            )
        if known.fingerprint != head.fingerprint:
            raise DataError(
                f"The folder {str(folder)!r} holds the results of other data, or of other roles, weights or label "
                "bins; give another folder."
            )

    def _write(self, path: Path, text: str) -> None:
        try:
            with replacing(path) as temporary:
                Path(temporary).write_text(text, encoding="utf-8")
        except OSError as error:
            raise DataError(
                f"The study's folder {str(self.folder)!r} cannot be written: {error.strerror}. Finished work is kept; "
                "run the same study again to continue."
            ) from None


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for one study at a time; the system releases the lock when the process ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(open(folder / ".lock", "w"))
        except OSError as error:
            raise DataError(f"The folder {str(folder)!r} cannot be written: {error.strerror}.") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(f"Another study is running in the folder {str(folder)!r}.") from None
        yield


def _file_of(name: str) -> str:
    return f"pieces/{name}.json"


@cache
def _adapt(kind: type[Kind]) -> TypeAdapter[Kind]:
    return TypeAdapter(kind)


def _read(path: Path, kind: type[Kind]) -> Kind:
    try:
        if content := json.loads(path.read_text(encoding="utf-8")):
            return _adapt(kind).validate_python(content)  # type: ignore[arg-type]  # mypy: a type is not Hashable
    except (OSError, ValueError):
        pass
    raise DataError(f"The file {str(path)!r} of the study cannot be read; remove it, and the study writes it again.")
