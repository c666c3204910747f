"""Every number that README and docs publish, read again from benchmarks/results.

    python benchmarks/claims.py            # one line for each fault; fails where there is one
    python benchmarks/claims.py --write    # writes what the results say into the pages

Marks are comments, which no reader sees:

    <!--f scale:duckdb.runs.0.fit_seconds|.1f-->115.0<!--/-->     a value of the results (see claim_values), its format;
                                                                  in a table's cell \\| instead of |; `word` for words
    <!--holds min(a:x) > max(b:y)-->                              what must be true of the results for the text to be;
                                                                  several, a line each, between two empty lines
    <!--paper 0 §8.2-->0.94<!--/-->                               what a paper says, and where
    <!--given-->0.05<!--/-->                                      a parameter, a law, plain arithmetic: not measured

Tables between `<!-- table: written by benchmarks/X -->` and `<!-- end of Y -->` are made again (see claim_tables).
Every other number in prose that looks measured is a fault.
"""

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import claim_tables
from claim_prose import measured
from claim_values import ClaimError, evaluated, written

ROOT = Path(__file__).parents[1]
PAPERS = Path(os.environ.get("MODICUM_DATA", ROOT.parent / "shared" / "data")).parent / "papers"
MARK = re.compile(r"<!--(f|paper|given)\b(.*?)-->(.*?)<!--/-->", re.DOTALL)
HOLDS = re.compile(r"<!--holds\s(.*?)-->", re.DOTALL)
FIRST_ON_LINE = re.compile(
    r"^[ \t]*(?:[-*+] |\d+\. |> ?)?<!--(?:f|paper|given)\b|(?<=[^\n]\n)<!--holds\b"
    r"|^<!--holds\b(?:(?!-->).)*-->(?!\n\n|\n?\Z)",
    re.MULTILINE | re.DOTALL,
)
PLACE = re.compile(r"\s*([0-4])\s+(?:§|Table|Figure|Theorem|Definition|Appendix|Abstract)")


class Fault(NamedTuple):
    """Where a page and the results differ: the place in the page, what is written, what should be."""

    at: int
    said: str
    why: str


def pages(root: Path = ROOT) -> list[Path]:
    """README and all Markdown under docs."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def faults(text: str, page: str = "") -> list[Fault]:
    """All faults of one page, in order; `page` is its name under docs, for its tables.

    Examples
    --------
    >>> [(fault.said, fault.why) for fault in faults("It is <!--f 1 / 4|.2f-->0.26<!--/-->, or 12%.")]
    [('0.26', 'the results say 0.25'), ('12%', 'no mark says where this comes from')]
    """
    found = [*_values(text), *_papers(text), *_statements(text), *_form(text), *_tables(text, page)]
    found += [Fault(at, said, "no mark says where this comes from") for at, said in measured(text)]
    return sorted(found)


def _values(text: str) -> Iterator[Fault]:
    for match in MARK.finditer(text):
        if match[1] != "f":
            continue
        try:
            value = written(match[2])
        except ClaimError as error:
            yield Fault(match.start(), match[3], str(error))
            continue
        if match[3] != value:
            yield Fault(match.start(), match[3], f"the results say {value}")


def _papers(text: str) -> Iterator[Fault]:
    for match in MARK.finditer(text):
        if match[1] != "paper":
            continue
        place = PLACE.match(match[2])
        if not place:
            yield Fault(match.start(), match[3], "a paper's mark needs its number (0 to 4) and a section or table")
            continue
        paper = _paper(place[1])
        for number in re.findall(r"\d+(?:[.,]\d+)*", match[3]) if paper else []:
            if not _is_in(number, paper):
                yield Fault(match.start(), match[3], f"papers/{place[1]} has no {number}")


def _is_in(number: str, paper: str) -> bool:
    """Whether a number stands in a paper; there 2085 may be written for 2,085, and .5 for 0.5."""
    spellings = {number, number.replace(",", ""), re.sub(r"^0(?=\.)", "", number)}
    return any(re.search(rf"(?<!\d){re.escape(spelling)}(?!\d)", paper) for spelling in spellings)


@cache
def _paper(number: str) -> str:
    """A paper's text, where it is at hand."""
    found = sorted(PAPERS.glob(f"{number}-*.txt"))
    return found[0].read_text(encoding="utf-8") if found else ""


def _statements(text: str) -> Iterator[Fault]:
    for match in HOLDS.finditer(text):
        for statement in match[1].strip().split("\n"):
            try:
                value = evaluated(statement)
            except ClaimError as error:
                yield Fault(match.start(), statement, str(error))
                continue
            if value is not True and not (isinstance(value, list) and all(one is True for one in value)):
                yield Fault(match.start(), statement, "is not true of the results")


def _form(text: str) -> Iterator[Fault]:
    """Marks that would break the page: at the start of a line a comment ends the paragraph."""
    for match in FIRST_ON_LINE.finditer(text):
        yield Fault(match.start(), match[0].strip(), "a mark at the start of a line breaks the paragraph")
    opened, closed = len(MARK.findall(text)), text.count("<!--/-->")
    starts = len(re.findall(r"<!--(?:f|paper|given)\b", text))
    if not opened == closed == starts:
        yield Fault(0, f"{starts} marks", f"{closed} ends of marks, {opened} pairs: one is open or inside another")


def _tables(text: str, page: str) -> Iterator[Fault]:
    for script, (at, table) in claim_tables.found_in(text).items():
        try:
            made = claim_tables.made(page, script)
        except ClaimError as error:
            yield Fault(at, f"table of {script}", str(error))
            continue
        except ModuleNotFoundError as error:
            print(f"{page}: the table of {script} is not checked: {error.name} is not installed", file=sys.stderr)
            continue
        if table != made:
            yield Fault(at, f"table of {script}", claim_tables.first_difference(table, made))
    for script in claim_tables.REGISTRY.get(page, {}):
        if script not in claim_tables.found_in(text):
            yield Fault(0, f"table of {script}", "the page has lost it")


def rewritten(text: str, page: str = "") -> str:
    """The page as the results have it; what cannot be read stays, and stays a fault."""

    def value(match: re.Match[str]) -> str:
        try:
            return f"<!--f{match[2]}-->{written(match[2])}<!--/-->" if match[1] == "f" else match[0]
        except ClaimError:
            return match[0]

    text = MARK.sub(value, text)
    for script in claim_tables.REGISTRY.get(page, {}):
        text = claim_tables.replaced(text, page, script)
    return text


def named(path: Path) -> str:
    """A page's name under docs, or README.md."""
    return path.relative_to(ROOT / "docs").as_posix() if path.is_relative_to(ROOT / "docs") else path.name


def main(arguments: list[str]) -> int:
    """Checks (or writes) every page; 1 where a fault is left."""
    count = 0
    for name in claim_tables.REGISTRY.keys() - {named(path) for path in pages()}:
        print(f"docs/{name}: the page is gone, and its tables with it")
        count += 1
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if "--write" in arguments and (new := rewritten(text, named(path))) != text:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: written")
            text = new
        for fault in faults(text, named(path)):
            line = text.count("\n", 0, fault.at) + 1
            print(f"{path.relative_to(ROOT)}:{line}: {fault.said!r}: {fault.why}")
            count += 1
    print(f"{count} faults" if count else "every number is that of the results")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
