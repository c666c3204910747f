"""A folder in which a study keeps what is finished: one file per piece of work, each written whole or not at all.

A study that is killed leaves finished pieces behind; the same study in the same folder goes on from there. `study.json`
says whose pieces they are: a fingerprint of the data and settings, and the version that made them.
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
FILES = (_HEAD, "table.csv", ".lock")  # of a folder, besides the pieces

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class StudyHead:
    """Which study a folder belongs to; missing fields are empty."""

    modicum: str = "study"
    version: int = 0
    modicum_version: str = ""
    fingerprint: str = ""


class StudyStore:
    """Finished pieces by name; without a folder they are kept in memory alone."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._known: dict[str, object] = {}

    @contextmanager
    def open_folder(self, head: StudyHead) -> Iterator[None]:
        """The folder made and taken; refused where it holds another study or one that still runs."""
        if self.folder is None:
            yield
            return
        try:
            (self.folder / "pieces").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"The folder {str(self.folder)!r} cannot be made: {error.strerror}.") from None
        with _lock_folder(self.folder):
            self._check(self.folder, head)
            for left in [*self.folder.glob(".modicum-*"), *(self.folder / "pieces").glob(".modicum-*")]:
                left.unlink(missing_ok=True)  # half-written by a study that was killed
            yield

    def get(self, name: str, kind: type[Kind]) -> Kind | None:
        """A finished piece, or None."""
        if name not in self._known and self.folder is not None and (path := self.folder / _file_of(name)).exists():
            self._known[name] = _read(path, kind)
        found = self._known.get(name)
        assert found is None or isinstance(found, kind)  # a name stands for one kind of piece
        return found

    def put(self, name: str, found: PlainResult) -> None:
        """Keep a finished piece."""
        self._known[name] = found
        if self.folder is not None:
            self.write_json(name, found.to_dict())

    def write_json(self, name: str, content: Mapping[str, object]) -> None:
        """Write plain data among the pieces, where there is a folder."""
        self.write_text(_file_of(name), json.dumps(content, allow_nan=False))

    def write_text(self, name: str, content: str) -> None:
        """Write a file of the folder, where there is one."""
        if self.folder is not None:
            self._write(self.folder / name, content)

    def _check(self, folder: Path, head: StudyHead) -> None:
        if not (folder / _HEAD).exists():
            strange = [path.name for path in folder.iterdir() if path.name not in ("pieces", ".lock")]
            if strange or any((folder / "pieces").iterdir()):
                raise DataError(
                    f"The folder {str(folder)!r} has files in it that are no study's; give a new or empty folder."
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
                f"The study's folder {str(self.folder)!r} cannot be written: {error.strerror}. What is finished is "
                "kept; run the same study again to go on."
            ) from None


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Only one study at a time works in a folder; the system lets go of the lock when the process ends."""
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
            raise DataError(f"Another study is at work in the folder {str(folder)!r}.") from None
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
    raise DataError(f"The file {str(path)!r} of the study cannot be read; remove it to have it made anew.")
