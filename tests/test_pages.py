"""Every code block of every page runs: Python in order in one namespace, shell lines as someone would type them.

A page's blocks share one empty folder that holds `people.csv` (the embedded data under other names, with an `id`, a
label `bought` and a sensitive `illness`) and `people/`, the same records as Parquet. What is marked `notest`
is not run. A `text` block shows what the blocks before it printed, and must say the same.
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import modicum as md

ROOT = Path(__file__).parents[1]
QUICK = {"README.md"}
SETTING_UP = (
    "pip ",
    "python3 -m venv",
    "python -m venv",
    "git ",
    "cd ",
    "source ",
    ". .venv",
)  # this machine is set up
ENDLESS = ("modicum serve",)  # tests/test_service_process.py starts it and stops it
TYPED = (*SETTING_UP, "make ", "modicum ")  # how a text block begins that shows commands, not what they print
SHOWN = ("README.md", "docs/start/", "docs/guides/", "docs/how-to/")  # elsewhere text blocks hold formulas as well
GAPS = {"…", "..."}  # a line that stands for others
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
FENCED = r"^[ ]*```(python|sh|text)[ ]*\n(.*?)^[ ]*```[ ]*$"
INDENTED = r"^    (\.venv/bin/modicum [^\n]*)$"
BLOCK = re.compile(f"{FENCED}|{INDENTED}", flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A piece of a page that runs or shows what was printed, and the line on which it begins."""

    language: str
    code: str
    line: int


def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] is None:
            found.append(Block("sh", match[3].removeprefix(".venv/bin/"), line))
        else:
            found.append(Block(match[1], _flush(match[2]), line))
    return found


def _flush(code: str) -> str:
    """A block that stands in a list is indented as a whole."""
    indent = min((len(line) - len(line.lstrip()) for line in code.splitlines() if line.strip()), default=0)
    return "".join(line[indent:] if line.strip() else "\n" for line in code.splitlines(keepends=True))


def run_page(page: str, folder: Path) -> None:
    namespace, printed = {"__name__": "__page__"}, Printed()
    for block in blocks_of(page):
        where = f"{page}, line {block.line}"
        if block.language == "python":
            padded = "\n" * block.line + block.code  # so that a traceback names the page's own line
            with contextlib.redirect_stdout(io.StringIO()) as told:
                exec(compile(padded, str(ROOT / page), "exec"), namespace)
            printed.add(told.getvalue())
        elif block.language == "sh":
            for command in commands_in(block.code):
                printed.add(run_command(command, folder, where))
        elif page.startswith(SHOWN) and not block.code.startswith(TYPED):
            printed.check(block.code, where)


class Printed:
    """What a page's blocks printed so far, as words, and how far of it has been shown."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.shown = 0

    def add(self, text: str) -> None:
        self.words += text.split()

    def check(self, text: str, where: str) -> None:
        """Lines that follow each other must have been printed so, after all that was shown before; a gap may skip."""
        for piece in pieces_of(text):
            found = next((i for i in range(self.shown, len(self.words)) if self._holds(piece, i)), None)
            if found is None:
                told = " ".join(self.words[self.shown :])
                raise AssertionError(f"{where}: this was not printed: {' '.join(piece)}\nWhat was: {told}")
            self.shown = found + len(piece)

    def _holds(self, piece: list[str], start: int) -> bool:
        return self.words[start] == piece[0] and self.words[start : start + len(piece)] == piece


def pieces_of(text: str) -> list[list[str]]:
    """The words of a block, cut where a line stands for others."""
    pieces: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip() in GAPS:
            pieces.append([])
        else:
            pieces[-1] += line.split()
    return [piece for piece in pieces if piece]


def commands_in(code: str) -> list[str]:
    """A block's commands: one a line, a backslash goes on with the next."""
    lines = [line.strip() for line in code.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def run_command(command: str, folder: Path, where: str) -> str:
    """What a command printed. Those of make are only looked up; those that set up a machine are left out."""
    if command.startswith("make "):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{command.split()[1]}:", makefile, flags=re.MULTILINE), f"{where}: {command}"
        return ""
    if command.startswith(SETTING_UP + ENDLESS) or _lacks_java(command):
        return ""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **ONE_CORE, "PATH": path, "COLUMNS": "100"}
    shell = ["bash", "-ec", command]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(shell, cwd=folder, env=environment, text=True, timeout=600, **streams)
    assert done.returncode == 0, f"{where}: {command}\n{done.stdout}"
    return done.stdout


def _lacks_java(command: str) -> bool:
    return "--engine spark" in command and shutil.which("java") is None


def pages() -> list[str]:
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [path.relative_to(ROOT).as_posix() for path in every]
    return [name for name in names if any(block.language != "text" for block in blocks_of(name))]


@pytest.fixture(scope="session")
def people_table() -> pd.DataFrame:
    """3,000 people of the embedded data with an id, a label `bought`, and an illness that depends on age a little."""
    X, y = md.datasets.load_adult(return_X_y=True)
    X, y = X[:3_000], y[:3_000]
    random = np.random.default_rng(0)
    names = np.array(["asthma", "back pain", "diabetes", "flu", "heart disease", "migraine"])
    illness = names[(random.integers(0, 6, len(X)) + (X["age"] > 50) * random.integers(0, 2, len(X))) % 6]
    bought = np.where(y == y.max(), "yes", "no")
    return X.assign(id=np.arange(len(X)) + 100_000, illness=illness, bought=bought)


@pytest.fixture
def folder(tmp_path, monkeypatch, people_table) -> Path:
    """An empty folder, but for the people, to run a page in."""
    people_table.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people").mkdir()
    people_table.drop(columns="id").to_parquet(tmp_path / "people" / "part-0.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [pytest.param(p, marks=() if p in QUICK else pytest.mark.slow) for p in pages()])
def test_what_a_page_shows_runs(page, folder):
    run_page(page, folder)


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_a_notebook_runs_from_top_to_bottom(path, folder):
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    assert any(cell.get("outputs") for cell in notebook.cells)


def test_blocks_are_found_in_lists_and_indented_commands_and_not_where_they_are_marked(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(
        "- one\n  ```python\n  x = 1\n  if x:\n      y = 2\n  ```\n\n```python notest\nraise\n```\n\n```text\nno\n```\n"
        "\n```sh\nmodicum a \\\n  b  # why\n# nothing\n```\n\n    .venv/bin/modicum serve shop\n\n    modicum other\n"
    )
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    found = blocks_of("page.md")
    assert [(block.language, block.line) for block in found] == [("python", 2), ("text", 12), ("sh", 16), ("sh", 22)]
    assert found[0].code == "x = 1\nif x:\n    y = 2\n"
    assert commands_in(found[2].code) == ["modicum a    b  # why"]
    assert found[3].code == "modicum serve shop"


def test_a_block_that_fails_fails_its_page(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    (tmp_path / "other.md").write_text("```sh\ntrue\nfalse\n```\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    with pytest.raises(AssertionError) as error:
        run_page("page.md", tmp_path)
    assert error.traceback[-1].lineno + 1 == 6
    with pytest.raises(AssertionError, match=r"other.md, line 1: false"):
        run_page("other.md", tmp_path)


@pytest.mark.parametrize(
    ("shown", "is_right"),
    [
        ("one  two\nthree", True),
        ("one\n…\nthree\n", True),
        ("one\nthree", False),  # nothing says that a line is left out
        ("three\n...\none", False),  # not in this order
        ("one two four", False),
        ("make it so", True),  # commands, not what they print
    ],
)
def test_a_page_shows_what_its_blocks_printed(tmp_path, monkeypatch, shown, is_right):
    blocks = "```python\nprint('one two')\n```\n\n```sh\necho three >&2\n```\n"
    (tmp_path / "README.md").write_text(f"{blocks}\nIt says:\n\n```text\n{shown}\n```\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    with (
        contextlib.nullcontext() if is_right else pytest.raises(AssertionError, match=r"line 11: this was not printed")
    ):
        run_page("README.md", tmp_path)
