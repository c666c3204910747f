"""Hooks for mkdocs: links to files outside docs, notebooks as pages, the command line's help as a page.

A link such as `../src/modicum/table/schema.py` works on GitHub. For the site, the linked file is added under `files/`
(Markdown as a page, Python as a page with its code, a folder as a list, anything else unchanged), and the link points
to it. A notebook becomes a page with its code and its output, and links to the notebook lead to that page.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = "<!-- commands -->"
NOTEBOOK = ".ipynb"
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_CITED = re.compile(r"\[(Staab24|Goldsteen22|Goldsteen21|Barbato25|Mancuhan16)\b[^][<]*\]")
_VERBATIM = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<a .*?</a>|<h\d.*?</h\d>)", flags=re.DOTALL)
_FENCE = re.compile(r"(^[ ]*```.*?^[ ]*```[ ]*$)", flags=re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, every file outside docs that a page links to, and what those link to in turn."""
    for notebook in [file for file in files if file.src_uri.endswith(NOTEBOOK)]:
        page = site_path(f"docs/{notebook.src_uri}")
        files.append(File.generated(config, page, content=notebook_page(ROOT / "docs" / notebook.src_uri)))
    waiting = [f"docs/{page.src_uri}" for page in files.documentation_pages()]
    while waiting:
        source = waiting.pop()
        for target in _outside(source):
            if files.get_file_from_path(site_path(target)) is None:
                files.append(_added(target, config))
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Redirect links to files outside docs, and fill in the commands."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, command_pages())
    return turned(markdown, page.file.src_uri)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link each citation such as [Staab24 §7] to its paper."""
    papers = files.get_file_from_path("papers.md")
    if papers is None or page.file is papers:
        return html
    parts = _VERBATIM.split(html)
    target = get_relative_url(papers.url, page.file.url)
    parts[::2] = [
        _CITED.sub(lambda key: f'<a href="{target}#{key[1].lower()}">{key[0]}</a>', part) for part in parts[::2]
    ]
    return "".join(parts)


def site_path(target: str) -> str:
    """Return the path of a repository file among the site's sources."""
    if target.startswith("docs/"):
        return re.sub(rf"{re.escape(NOTEBOOK)}$", ".md", target.removeprefix("docs/"))
    if (ROOT / target).is_dir():
        return f"files/{target}/index.md"
    return f"files/{target}.md" if target.endswith(".py") else f"files/{target}"


def turned(markdown: str, page: str) -> str:
    """Return a page's text with its links to repository files redirected to the site's pages."""
    source = _repository_path(page)

    def turn(link: re.Match[str]) -> str:
        target = _target(link[2], source)
        if target is None:
            return link[0]
        return f"{link[1]}{relpath(site_path(target), dirname(page) or '.')}{link[3]}"

    parts = _FENCE.split(markdown)
    return "".join(_plain_fence(part) if _FENCE.fullmatch(part) else _LINK.sub(turn, part) for part in parts)


def _plain_fence(block: str) -> str:
    """Remove the marks `notest` and `formula`, which are only for the tests."""
    return re.sub(r"^([ ]*```\w+)[ ]+(?:notest|formula)[ ]*$", r"\1", block, count=1, flags=re.MULTILINE)


def _repository_path(page: str) -> str:
    if not page.startswith("files/"):
        return f"docs/{page}"
    path = page.removeprefix("files/")
    return path if (ROOT / path).exists() else path.removesuffix("/index.md").removesuffix(".md")


def _target(link: str, source: str) -> str | None:
    """Return the repository file that a link in `source` names; None if there is none."""
    if re.match(r"[a-z]+:|/", link):
        return None
    target = normpath(f"{dirname(source)}/{link}") if dirname(source) else normpath(link)
    return target if (ROOT / target).exists() and not target.startswith("..") else None


def _outside(source: str) -> Iterator[str]:
    path = ROOT / source
    if path.suffix != ".md" or not path.is_file():
        return  # a notebook's page is not a file
    for part in _FENCE.split(path.read_text(encoding="utf-8")):
        for link in _LINK.finditer("" if _FENCE.fullmatch(part) else part):
            target = _target(link[2], source)
            if target is not None and not target.startswith("docs/"):
                yield target


def _added(target: str, config: MkDocsConfig) -> File:
    path, uri = ROOT / target, site_path(target)
    options: dict[str, Any] = {"inclusion": InclusionLevel.NOT_IN_NAV}
    if path.is_dir():
        names = sorted(own.name for own in path.iterdir() if own.is_file())
        return File.generated(config, uri, content=_listing(target, names), **options)
    if path.suffix == ".py":
        code = path.read_text(encoding="utf-8")
        return File.generated(config, uri, content=f"# {target}\n\n````python\n{code}````\n", **options)
    return File.generated(config, uri, abs_src_path=str(path), **options)


def _listing(target: str, names: list[str]) -> str:
    return f"# {target}\n\n" + "".join(f"- `{name}`\n" for name in names)


def notebook_page(path: Path) -> str:
    """Return a notebook as Markdown: its text, its code, and the printed output of each cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = [part for cell in cells for part in _cell_parts(cell)]
    itself = f'<a href="{path.name}" download>This page as a notebook</a>, to be run or changed.'
    return "\n\n".join([*parts, itself]) + "\n"


def _cell_parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    printed = "".join(map(_output_text, cell.get("outputs", []))).strip("\n")
    return [f"````python\n{source}\n````", *([f"````text\n{printed}\n````"] if printed else [])]


def _output_text(output: dict[str, Any]) -> str:
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))


def command_pages() -> str:
    """Return the help of every command with its arguments and options, as Markdown."""
    import typer.main

    from modicum.cli.main import app

    group = typer.main.get_command(app)
    return "\n".join(_command(name, command) for name, command in group.commands.items())  # type: ignore[attr-defined]


def _command(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=name)
    records = [one.get_help_record(context) for one in command.params]
    rows = [f"| `{_cell(spelled)}` | {_cell(text)} |" for spelled, text in filter(None, records)]
    return "\n".join([f"## {name}\n", f"{_words(command.help)}\n", "| argument or option | |", "|---|---|", *rows, ""])


def _words(text: str) -> str:
    return re.sub(r"(?<![`\w-])--[a-z][a-z-]*", r"`\g<0>`", text.strip())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
