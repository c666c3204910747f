"""Run a page, Python in order in one namespace and shell lines as typed, and compare what it shows with the output.

A `text` block shows what the blocks before it printed; a `json` block shows lines of a file that they made; a `yaml`
block shows attributes of a schema, which must load. A line `…` or `...` represents omitted lines.
Measurements may differ a little (page_numbers.py).
"""

import ast
import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from page_blocks import FORMULA, NOTEST, Block, blocks_of
from page_commands import check_syntax, commands_in, run_command
from page_numbers import same

from modicum.table.schema import Schema

GAPS = {"…", "..."}


def run_page(path: Path, folder: Path, spark: bool = False) -> None:
    """Run the blocks of a page in a folder; `spark` says whether Spark's commands are run as well."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    printed = Printed()
    for block in blocks_of(path):
        where = f"{path.name}, line {block.line}"
        if block.mark == NOTEST:
            check_unrun(block, where)
        elif block.language == "python":
            printed.add(run_python(block, path, namespace))
        elif block.language == "sh":
            for command in commands_in(block.code):
                printed.add(run_command(command, folder, where, spark))
        elif block.language == "json":
            check_excerpt(block.code, folder, where)
        elif block.language == "yaml":
            check_attributes(block.code, where)
        elif block.mark != FORMULA:
            printed.check(block.code, where)


def run_python(block: Block, path: Path, namespace: dict[str, Any]) -> str:
    """Run a block and return what it printed; a traceback names the page's own line."""
    padded = "\n" * block.line + block.code
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(padded, str(path), "exec"), namespace)
    return output.getvalue()


def check_unrun(block: Block, where: str) -> None:
    """Check the syntax of a block that is not run."""
    if block.language == "python":
        ast.parse(block.code)
    elif block.language == "sh":
        check_syntax(block.code, where)


class Printed:
    """The words that a page's blocks printed so far, and how many of them the page has shown."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.shown = 0

    def add(self, text: str) -> None:
        """Add what a block printed."""
        self.words += text.split()

    def check(self, text: str, where: str) -> None:
        """Check that lines were printed in this order, after all shown before; a gap may skip lines."""
        for piece in pieces_of(text):
            words = [word for line in piece for word in line.split()]
            found = place_of(words, self.words, self.shown)
            if found is None:
                unshown = " ".join(self.words[self.shown :])
                raise AssertionError(f"{where}: this was not printed: {' '.join(words)}\nWhat was: {unshown}")
            self.shown = found + len(words)


def check_excerpt(text: str, folder: Path, where: str) -> None:
    """Check that a JSON file of the folder holds these lines in this order."""
    files = sorted(folder.glob("*.json"))
    assert any(_is_excerpt(text, file) for file in files), (
        f"{where}: no file shows these lines; there are {[file.name for file in files]}"
    )


def _is_excerpt(text: str, file: Path) -> bool:
    lines, start = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()], 0
    for piece in pieces_of(text):
        found = place_of(piece, lines, start, alike=str.__eq__)
        if found is None:
            return False
        start = found + len(piece)
    return True


def check_attributes(text: str, where: str) -> None:
    """Check that a schema accepts these attributes."""
    content = yaml.safe_load(text)
    assert isinstance(content, list), f"{where}: this is no list of attributes"
    assert Schema.from_yaml(yaml.safe_dump({"attributes": content})).attributes


def pieces_of(text: str) -> list[list[str]]:
    """Split the lines of a block, without their indentation, at lines that represent omitted ones."""
    pieces: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip() in GAPS:
            pieces.append([])
        elif line.strip():
            pieces[-1].append(line.strip())
    return [piece for piece in pieces if piece]


def place_of(piece: list[str], whole: list[str], start: int, alike: Callable[[str, str], bool] = same) -> int | None:
    """Return the place of a piece in a whole, from `start` on; None if it is not there."""
    last = len(whole) - len(piece)
    return next((i for i in range(start, last + 1) if all(map(alike, piece, whole[i : i + len(piece)]))), None)
