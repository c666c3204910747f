"""The pictures of the concepts are what their script draws, and the pages show them."""

import importlib
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts"
NAMES = ("generalization", "adversaries", "certificate", "anonymity", "anatomy", "correlations")


@pytest.fixture(scope="module")
def pictures() -> Iterator[ModuleType]:
    """Import the script; the modules that it imports are next to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(CONCEPTS)
        patch.setattr(sys, "dont_write_bytecode", True)
        yield importlib.import_module("draw")


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_what_the_script_draws(pictures, name):
    assert pictures.differing([name]) == []


def test_a_picture_that_was_changed_by_hand_is_reported(pictures, tmp_path, monkeypatch):
    drawn = (CONCEPTS / "adversaries.svg").read_text(encoding="utf-8")
    (tmp_path / "adversaries.svg").write_text(drawn.replace("Linkability", "Linking"), encoding="utf-8")
    monkeypatch.setattr(pictures, "HERE", tmp_path)
    assert pictures.differing(["adversaries", "certificate"]) == ["adversaries", "certificate"]  # changed, absent
    with pytest.raises(SystemExit, match="Draw again: adversaries"):
        pictures.main(["--check", "adversaries"])


def test_the_script_draws_all_pictures_of_the_folder(pictures):
    assert tuple(pictures.PICTURES) == NAMES
    assert {path.stem for path in CONCEPTS.glob("*.svg")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_a_picture_is_outside_of_it(name):
    root = ET.fromstring((CONCEPTS / f"{name}.svg").read_text(encoding="utf-8"))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for each in root.iter():
        x, y = (float(each.get(key, each.get(f"c{key}", 0))) for key in "xy")
        wide, tall = (float(each.get(key, 0)) if each.get(key, "") != "100%" else 0.0 for key in ("width", "height"))
        if each.text and each.tag.endswith("text"):
            wide = 0.56 * float(each.attrib["font-size"]) * len(each.text)  # about as wide as DejaVu Sans sets it
            x -= {"start": 0.0, "middle": wide / 2, "end": wide}[each.attrib["text-anchor"]]
        assert 0 <= x <= width - wide, each.text or each.attrib
        assert 0 <= y <= height - tall, each.text or each.attrib


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_its_picture_with_an_alternative_text(name):
    page = (CONCEPTS / f"{name}.md").read_text(encoding="utf-8")
    shown = re.search(rf"!\[([^\]]+)\]\({name}\.svg\)", page)
    assert shown is not None
    assert len(shown[1]) > 40


@pytest.mark.parametrize("name", NAMES)
def test_links_to_the_glossary_and_the_papers_lead_to_an_entry(name):
    page = (CONCEPTS / f"{name}.md").read_text(encoding="utf-8")
    links = re.findall(r"\(\.\./(glossary|papers)\.md#([^)]+)\)", page)
    assert links
    for target, entry in links:
        assert f'<a id="{entry}"></a>' in (CONCEPTS.parent / f"{target}.md").read_text(encoding="utf-8"), entry


def test_every_word_that_the_glossary_refers_to_is_in_it():
    text = (CONCEPTS.parent / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r'<a id="([^"]+)"></a>', text)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(entries)
