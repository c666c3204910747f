"""What users rely on has not changed: names, signatures, help texts, and the bytes of artifacts and exports."""

import importlib.metadata
import re
from pathlib import Path

import pytest
from freeze import PARTS, difference

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"


@pytest.mark.parametrize("part", PARTS)
def test_nothing_frozen_has_changed(part):
    if part == "help" and (other := [name for name in ("typer", "click") if installed(name) != pinned(name)]):
        pytest.skip(f"help texts are frozen as the pinned {other[0]} lays them out")
    assert difference(part) == "", "if you mean this change, run make freeze"


def installed(name):
    return importlib.metadata.version(name)


def pinned(name):
    return re.search(rf"^{name}==(.*)$", CONSTRAINTS.read_text(), re.MULTILINE | re.IGNORECASE)[1]
