"""Every link of the pages in the root leads to a file or heading; test_site.py checks the links of the site."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.name for path in ROOT.glob("*.md"))
_LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)|<(?:a|img)\s[^>]*?(?:href|src)=[\"']([^\"']+)", re.MULTILINE)
_FENCE = re.compile(r"^ *```.*?^ *```", flags=re.DOTALL | re.MULTILINE)


def links_of(text: str) -> list[str]:
    """Return the links of a page within the project."""
    found = ["".join(match) for match in _LINK.findall(_FENCE.sub("", text))]
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors_of(text: str) -> set[str]:
    """Return the anchors of headings on GitHub and on the site, and anchors written as HTML."""
    text = _FENCE.sub("", text)
    headings = re.findall(r"^#+ (.*?)(?: \{#([\w-]+)\})?$", text, flags=re.MULTILINE)
    written = re.findall(r"<a (?:id|name)=[\"']([\w-]+)", text)
    return {own or slug(heading) for heading, own in headings} | set(written)


def slug(heading: str) -> str:
    """A heading as an anchor."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain))


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in links_of(page.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        is_there = target.exists() and page.parent.resolve() in [target.resolve(), *target.resolve().parents]
        if not is_there or (anchor and anchor not in anchors_of(target.read_text(encoding="utf-8"))):
            found.append(link)
    return found


def test_the_pages_of_the_root_are_checked():
    assert {"CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"} <= set(PAGES)
    assert "docs/start/tutorial.md" in links_of((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_in_the_root_leads_somewhere(page):
    assert broken_links(ROOT / page) == []


def test_links_that_lead_nowhere_are_found(tmp_path):
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# Its name\n\n## `code`, and *more*\n\n```sh\n# no heading\n```\n")
    right = ["other.md", "other.md#its-name", "other.md#code-and-more", "#here", "https://example.org/x"]
    wrong = ["none.md", "none.png", "other.md#none", "other.md#no-heading", "#nowhere", "../outside.md", "kept.md"]
    (tmp_path.parent / "outside.md").write_text("outside of the project\n")
    links = "".join(f"[a]({link}) " for link in [*right, *wrong[:-1]])
    page.write_text(f"# Here\n\n{links}\n\n```sh\n[a](not/a/link)\n```\n\n[kept]: kept.md\n")
    assert broken_links(page) == wrong
