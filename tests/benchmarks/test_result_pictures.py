"""The pictures of the benchmarks agree with benchmarks/results, and a page shows each of them."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAMES = ("model-guided", "model-guided-speed", "anonymization", "prism", "anatomy")


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_picture", DOCS / "picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_agrees_with_the_results(pictures, name):
    assert pictures.differing([name]) == []


def test_all_drawings_are_compared(pictures):
    assert tuple(pictures.DRAWN) == NAMES
    assert {path.stem for path in DOCS.glob("*.svg")} == set(NAMES)


def test_a_drawing_of_other_results_or_changed_by_hand_is_reported(pictures, tmp_path, monkeypatch):
    figures = json.loads((pictures.RESULTS / "guided_speed.json").read_text(encoding="utf-8"))
    next(iter(figures["figures"]["runs"].values()))["seconds"] *= 2
    (tmp_path / "guided_speed.json").write_text(json.dumps(figures), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(pictures, "RESULTS", tmp_path)
        assert pictures.differing(["model-guided-speed"]) == ["model-guided-speed"]
    drawn = (DOCS / "prism.svg").read_text(encoding="utf-8")
    (tmp_path / "prism.svg").write_text(drawn.replace("SVM", "Our SVM"), encoding="utf-8")
    monkeypatch.setattr(pictures, "HERE", tmp_path)
    with pytest.raises(SystemExit, match=r"Draw again: prism, anatomy\."):  # changed, absent
        pictures.main(["--check", "prism", "anatomy"])


def test_every_picture_is_shown_by_a_page():
    shown = set()
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            shown.add((page.parent / target).resolve())
    assert {path for ending in ("png", "svg") for path in DOCS.rglob(f"*.{ending}")} - shown == set()
