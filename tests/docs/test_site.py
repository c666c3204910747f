"""The site builds without a warning, every link and anchor in it leads somewhere, and nothing loads from outside."""

import json
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from test_reference import PUBLIC

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The links of a page, what it loads, its anchors and its classes."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.classes: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        self.classes |= set((given.get("class") or "").split())
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif given.get("href") or given.get("src"):
            self.loads.append(given.get("href") or given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.resolve().rglob("*.html"))}  # as links are resolved


def is_outside(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc) and not address.startswith("data:")


def test_every_link_and_anchor_leads_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if is_outside(link) or link.startswith("data:") or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            fragment = unquote(parts.fragment)
            if not target.exists() or (fragment and target.suffix == ".html" and fragment not in pages[target].anchors):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_a_citation_leads_to_its_paper(site, pages):
    for path in ("merge-path.html", "reference/attacks.html"):
        cited = [link for link in pages[site.resolve() / path].links if "papers.html#staab24" in link]
        assert cited
    page = (site / "merge-path.html").read_text(encoding="utf-8")
    assert '<a href="papers.html#staab24">[Staab24 §7]</a>' in page


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_a_notebook_is_a_page_with_its_output(site, notebook):
    cells = [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    shown = words_of((site / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8"))
    printed = ["".join(output["text"]) for cell in cells for output in cell["outputs"]]
    texts = ["".join(cell["source"]) for cell in cells] + printed
    assert printed
    assert [text for text in texts if "".join(text.split()) not in shown] == []


def words_of(page: str) -> str:
    """The text of a page, without its tags and without blanks."""
    return "".join(unescape(re.sub(r"<[^>]*>", "", page)).split())


def test_guides_lead_to_the_pages_of_their_notebooks(site, pages):
    for notebook in NOTEBOOKS:
        links = pages[site.resolve() / "guides" / f"{notebook.stem}.html"].links
        assert f"../notebooks/{notebook.stem}.html" in links
        assert not any(link.endswith(".ipynb") for link in links)


def test_nothing_is_loaded_from_outside(site, pages):
    assert [load for page in pages.values() for load in page.loads if is_outside(load)] == []
    assert not any("mermaid" in page.classes for page in pages.values())  # the theme would fetch a script for it
    sheets = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.css")}
    outside = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")
    assert [path.name for path, text in sheets.items() if outside.search(text)] == []


def test_every_public_name_can_be_linked_to(pages):
    anchors = set().union(*(page.anchors for page in pages.values()))
    names: dict[int, set[str]] = {}
    for name, value in PUBLIC.items():
        names.setdefault(id(value), {f"{value.__module__}.{value.__qualname__}"}).add(name)
    assert [sorted(each) for each in names.values() if not each & anchors] == []
