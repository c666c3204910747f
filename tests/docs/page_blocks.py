"""Read the code blocks of a page, and refuse blocks that are written wrongly.

A block is a fence of three backticks with one of the languages below, and nothing else: an indented block, another
language, `~~~` or a fence within a quotation would be a block that nobody runs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = {"python", "sh", "text", "json", "yaml"}
NOTEST = "notest"  # not run; the paragraph before it says so, in the words below
SAYS_SO = re.compile(r"\bnot\s+run\b")
FORMULA = "formula"  # a `text` block that is not output
SIGNS = re.compile(r"[=≤≈⇝Σ]|sqrt\(")  # what a formula has
COMMAND = re.compile(
    r"(?:\$ |%|>>> )|(?:\.venv/bin/|env/bin/)?(?:modicum|make|pip|python3?|git|cd|spark-submit|docker|curl)\b"
    r"|(?:import|from|def|class|print|for|with|assert)\b|[\w.]+(?:\(| = )"
)
_FENCE = re.compile(r"( *)```([^`]*)")
_ITEM = re.compile(r" *(?:[-*+]|\d+\.) ")


class BadBlock(AssertionError):
    """A block that could not be run because of how it is written."""


@dataclass(frozen=True)
class Block:
    """A piece of a page, the line on which it begins, and whether it is marked as `notest` or `formula`."""

    language: str
    code: str
    line: int
    mark: str = ""


def blocks_of(path: Path) -> list[Block]:
    """Return the blocks of a page in order; raise `BadBlock` for a block of unknown form."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(_read(lines, path.name))


def _read(lines: list[str], page: str) -> Iterator[Block]:
    fence, inside, start = None, [], 0
    for number, line in enumerate(lines, 1):
        where = f"{page}, line {number}"
        if fence is None:
            fence, start, inside = _opened(line, where), number, []
            if fence is None:
                _check_prose(line, lines[: number - 1], where)
        elif line.strip() == "```":
            yield _block(fence, inside, start, lines[: start - 1], f"{page}, line {start}")
            fence = None
        else:
            inside.append(line)
    if fence is not None:
        raise BadBlock(f"{page}, line {start}: this block is never closed.")


def _opened(line: str, where: str) -> str | None:
    """Return the text after the backticks that open a block; None if no block begins here."""
    if match := _FENCE.fullmatch(line):
        return match[2].strip()
    if "```" in line or "~~~" in line or "<pre" in line:
        raise BadBlock(f"{where}: a block begins with three backticks on a line of their own. Got {line!r}.")
    return None


def _block(fence: str, inside: list[str], line: int, before: list[str], where: str) -> Block:
    language, _, mark = fence.partition(" ")
    if language not in LANGUAGES or mark not in ("", NOTEST) + ((FORMULA,) if language == "text" else ()):
        raise BadBlock(f"{where}: no test knows what to do with a block {fence!r}.")
    block = Block(language, _flush(inside), line, mark)
    if mark == NOTEST and not SAYS_SO.search(_paragraph(before)):
        raise BadBlock(f"{where}: the paragraph before this block must say that it is not run, and why.")
    if mark == FORMULA and not SIGNS.search(block.code):
        raise BadBlock(f"{where}: this is no formula.")
    return block


def _paragraph(before: list[str]) -> str:
    """The last paragraph of some lines, as one line."""
    return " ".join("\n".join(before).strip().rsplit("\n\n", 1)[-1].split())


def _check_prose(line: str, before: list[str], where: str) -> None:
    """Refuse indented code: any indented block outside of lists, and what looks like code within them."""
    continues = before and before[-1].strip()  # a paragraph
    if not line.startswith(("    ", "\t")) or not line.strip() or continues:
        return
    if not _in_list(before) or COMMAND.match(line.strip()):
        raise BadBlock(f"{where}: this is a block by its indentation, which nobody runs; make it a fence.")


def _in_list(before: list[str]) -> bool:
    """Return whether indented lines continue the item of a list."""
    for line in reversed(before):
        if _ITEM.match(line):
            return True
        if line.strip() and not line.startswith(" "):
            return False
    return False


def _flush(lines: list[str]) -> str:
    """Remove the indentation that all lines share, as those of a block in a list."""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "".join(f"{line[indent:]}\n" for line in lines)
