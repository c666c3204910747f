"""What users rely on is as it was frozen: names, signatures, help texts, and the bytes of artifacts and exports."""

import difflib
import importlib.metadata
import re
from pathlib import Path

import pytest
from freeze import FROZEN, PARTS

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


@pytest.mark.parametrize("part", PARTS)
def test_it_is_as_it_was_frozen(part, tmp_path):
    if part == "help" and (other := [name for name in ("typer", "click") if installed(name) != pinned(name)]):
        pytest.skip(f"help texts are frozen as the pinned {other[0]} lays them out")
    PARTS[part](tmp_path)
    made, frozen = files_in(tmp_path), files_in(FROZEN / part)
    assert sorted(made) == sorted(frozen), "files were added or removed; if that is meant, run make freeze"
    changed = [name for name in made if made[name] != frozen[name]]
    assert not changed, f"if this is meant, run make freeze\n{difference(changed[0], frozen, made)}"


def files_in(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def difference(name, frozen, made):
    """The lines of a file that changed."""
    before, after = (files[name].decode(errors="replace").splitlines() for files in (frozen, made))
    return "\n".join(difflib.unified_diff(before, after, f"frozen {name}", f"now {name}", lineterm="", n=1))


def installed(name):
    return importlib.metadata.version(name)


def pinned(name):
    return re.search(rf"^{name}==(.*)$", CONSTRAINTS.read_text(), re.MULTILINE | re.IGNORECASE)[1]
