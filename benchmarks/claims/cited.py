"""Look up the papers' numbers at the cited place: those on pages, and those that tables print next to ours.

The papers are text files outside the repository: in the folder `papers` next to the folder that MODICUM_DATA names. If
they are absent, nothing is looked up, and the script reports how much was not checked.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from claims.values import ClaimError, value_of

PAPERS = Path(os.environ.get("MODICUM_DATA", Path(__file__).parents[3] / "shared" / "data")).parent / "papers"
KEYS = {"Staab24": "0", "Goldsteen22": "1", "Goldsteen21": "2", "Barbato25": "3", "Mancuhan16": "4"}  # of the files
_OWN = r"(?:[A-Z](?:\.\d+)*|\d+(?:\.\d+)*)"  # 8.4, B, C.1
_PART = rf"(?:§|(?:Table|Figure|Theorem|Definition|Appendix)\s){_OWN}|Abstract"
PLACE = re.compile(rf"\s*({'|'.join(KEYS)})\s+({_PART})\s*$")
# Sources of the papers' figures in the results, for tables that print both: part of the results, paper, place.
HELD = (
    ("reproduce_vdm:section_8_4.figures", "Staab24", "§8.4"),
    ("reproduce_vdm:table_3", "Staab24", "Table 3"),
    ("reproduce_vdm:table_4", "Staab24", "Table 4"),
    ("reproduce_vdm:table_5", "Staab24", "Table 5"),
    ("reproduce_vdm:table_6", "Staab24", "Table 6"),
    ("reproduce_vdm:table_6_adv_train", "Staab24", "Table 6"),
    ("reproduce_apt:table_2.paper.ncp", "Goldsteen22", "Table 2"),
    ("reproduce_apt:table_2.paper.(distinct,records,printed_risk)", "Goldsteen22", "§4.2"),
    ("reproduce_anonymization:membership", "Goldsteen21", "Table 2"),
    ("reproduce_anonymization:attributes", "Goldsteen21", "Table 3"),
    ("reproduce_prism:(synthetic,bank_binarized,bank_balanced,bank_original).paper", "Barbato25", "§5.2"),
)
TESTED = {"adult": "Adult", "bank": "Marketing", "fars": "Fatality", "acs": "IPUMS"}  # [Mancuhan16 Tables 1 and 2]
_HEADING = re.compile(rf"#+\s*\**(?:Appendix\s+)?({_OWN})\.?(?=[\s*])|({_OWN})\s+[A-Z]")
_NUMBER = re.compile(r"(?<![\d.])(\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)\s*(\\?%)?")


@cache
def text_of(key: str) -> str:
    """Return a paper's text; empty if it is not available."""
    found = sorted(PAPERS.glob(f"{KEYS[key]}-*.txt"))
    return found[0].read_text(encoding="utf-8") if found else ""


def why_not(cited: str, said: str) -> str | None:
    """Explain why a number differs from the paper at the cited place; None if it agrees or cannot be looked up."""
    place = PLACE.match(cited)
    if not place:
        return "a paper's figure needs a section or table, as in Staab24 §8.2"
    if not (paper := text_of(place[1])):
        return None
    passage = passage_of(paper, place[2])
    if passage is None:
        return f"{place[1]} has no {place[2]} that can be found"
    there, bare = _values(passage), place[2].startswith("Table")  # whose heads may say that all of a row are %
    missing = [written for written, values in _numbers(said) if not (values if bare else {min(values)}) & there]
    return f"{place[1]} {place[2]} has no {', '.join(missing)}" if missing else None


def passage_of(paper: str, place: str) -> str | None:
    """Return a paper's section or appendix, its table with the caption, or the paragraphs that mention a figure."""
    kind, number = re.fullmatch(r"(§|\w+)\s*(.*)", place).groups()  # type: ignore[union-attr]
    blocks = re.split(r"\n\s*\n", paper)
    if kind in ("§", "Appendix"):
        return _section(paper.split("\n"), number)
    if kind == "Table":
        return _table(blocks, number)
    words = "abstract" if kind == "Abstract" else rf"{kind[:3]}[a-z]*\.?\s+{re.escape(number)}\b"
    mention = re.compile(words, re.IGNORECASE)
    return "\n\n".join(block for block in blocks if mention.search(block)) or None


def _section(lines: list[str], number: str) -> str | None:
    """Return the lines from a section's heading to the next heading outside it."""
    heads = [(i, found[1] or found[2]) for i, line in enumerate(lines) if (found := _HEADING.match(line))]
    starts = [i for i, head in heads if head == number]
    if not starts:
        return None
    ends = [i for i, head in heads if i > starts[0] and head != number and not head.startswith(f"{number}.")]
    return "\n".join(lines[starts[0] + 1 : min(ends, default=len(lines))])


def _table(blocks: list[str], number: str) -> str | None:
    """Return the caption with the rows after it, or before it if none follow; tabs separate cells."""
    for i, block in enumerate(blocks):
        if re.match(rf"\s*\**table {number}:", block, re.IGNORECASE):
            rows = [near for near in (*blocks[i + 1 : i + 2], *blocks[max(i - 1, 0) : i]) if "\t" in near]
            return "\n\n".join([block, *rows[:1]])
    return None


def _numbers(text: str) -> Iterator[tuple[str, set[float]]]:
    """Yield the numbers of a text, each as written and as its possible values: 2% is also 0.02."""
    for match in _NUMBER.finditer(text):
        value = float(match[1].replace(",", ""))
        yield match[1], {value, round(value / 100, 9)} if match[2] else {value}


def _values(text: str) -> set[float]:
    return set().union(*(values for _, values in _numbers(text)))


def list_held() -> list[tuple[str, str, str, Any]]:
    """List the papers' figures in the results: path in the results, paper, place, value (None if it is missing)."""
    found = []
    for path, paper, place in HELD:
        values = _at(path)
        for value in values if isinstance(values, list) else [values]:
            found += [(path, paper, place, one) for one in _of_papers(value, ".paper" in path)] or [
                (path, paper, place, None)
            ]
    for name, row in TESTED.items():
        for model, table in (("SVC", "Table 1"), ("SVM", "Table 2")):
            path = f"reproduce_anatomy:{name}.t_tests.{{model={model}}}.paper"
            found.append((path, "Mancuhan16", table, "\t".join([row, *_at(path)]) if _at(path) else None))
    return found


def _at(path: str) -> Any:
    try:
        return value_of(*path.split(":"))
    except ClaimError:
        return None


def _of_papers(value: Any, within: bool) -> Iterator[Any]:
    """Yield the values under keys that begin with `paper`; a list of numbers is one row."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _of_papers(inner, within or key.startswith("paper"))
    elif isinstance(value, list) and not within:
        for inner in value:
            yield from _of_papers(inner, within)
    elif within and value is not None:
        yield value


def find_held_faults() -> Iterator[str]:
    """Yield a message for each figure of a paper in the results that is not in the paper."""
    for path, paper, place, value in list_held():
        passage = passage_of(text_of(paper), place) if text_of(paper) else ""
        if passage is None or (passage and not _says(passage, value)):
            yield f"{path}: {value!r} is not in {paper} {place}"


def _says(passage: str, value: Any) -> bool:
    """Check whether a passage has a text verbatim, a list as consecutive numbers in a line, or a number anywhere."""
    if isinstance(value, str):
        return value in passage
    if isinstance(value, list):
        rows = [[values for _, values in _numbers(line)] for line in passage.split("\n")]
        return any(
            all(one in there for one, there in zip(value, row[i:], strict=False))
            for row in rows for i in range(len(row) - len(value) + 1)
        )  # fmt: skip
    return value is not None and value in _values(passage)
