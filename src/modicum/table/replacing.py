"""Files written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from modicum.errors import DataError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary file beside `path` that takes its place when the block ends well, and vanishes when it does not.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.replacing import replacing
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
