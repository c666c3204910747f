"""The site builds without a warning, every link and anchor in it leads somewhere, and nothing loads from outside."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from test_reference import PUBLIC

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to."""

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
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


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
            found = target.exists() and (not fragment or target not in pages or fragment in pages[target].anchors)
            if not found:
                broken.append(f"{path.name}: {link}")
    assert broken == []


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
