"""Several files that belong together: all of them are replaced, or none."""

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from modicum.table.replacing import naming, replacing

AnyPath = str | os.PathLike[str]


def replacing_together(contents: Mapping[AnyPath, bytes]) -> None:
    """Write every file beside its place, then put all in place; where one cannot be written, all stay as they were.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.replacing_together import replacing_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replacing_together({pathlib.Path(folder) / name: b"done" for name in ("a.html", "a.json")})
    ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
    ['a.html', 'a.json']
    """
    with ExitStack() as all_of_them:  # left in reverse: files take their places first, and old ones are let go last
        for path in contents:
            all_of_them.enter_context(_restored(path))
        for path, content in contents.items():
            temporary = all_of_them.enter_context(replacing(path))
            with naming(path):
                Path(temporary).write_bytes(content)


@contextmanager
def _restored(path: AnyPath) -> Iterator[None]:
    """What stands at `path` comes back where the block fails."""
    target = Path(os.path.realpath(path))
    with naming(path):
        kept = _kept(target) if target.exists() else None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            target.unlink(missing_ok=True) if kept is None else os.replace(kept, target)
        raise
    finally:
        if kept is not None:
            kept.unlink(missing_ok=True)


def _kept(target: Path) -> Path:
    """A second name of a file, or a copy where there can be none."""
    kept = target.parent / f".modicum-{secrets.token_hex(8)}{target.suffix}"
    try:
        os.link(target, kept)
    except OSError:
        shutil.copy2(target, kept)
    return kept
