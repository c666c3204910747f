"""Every measured number that README and docs publish, read again from benchmarks/results.

    python benchmarks/claims/check.py            # one line for each fault; fails where there is one
    python benchmarks/claims/check.py --write    # writes what the results say into the pages

Marks are comments, which no reader sees:

    <!--f scale:duckdb.runs.0.fit_seconds|.1f-->115.0<!--/-->     a value of the results (see claim_values), its format;
                                                                  in a table's cell \\| instead of |; `word` for words
    <!--holds min(a:x) > max(b:y)-->                              what must be true of the results for the text to be;
                                                                  several, a line each, between two empty lines
    <!--paper 0 §8.2-->0.94<!--/-->                               what a paper says, and where (see claim_papers)
    <!--given src/modicum/x.py-->0.02<!--/-->                     a setting of this code, not measured (see claim_given)
    <!--given-->0.5<!--/-->                                       a definition, plain arithmetic: round numbers alone

Tables between `<!-- table: written by benchmarks/X -->` and `<!-- end of Y -->` are made again (see claim_tables).
Every other number in prose that looks measured (see claim_prose) is a fault.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import re
from collections.abc import Iterator
from typing import NamedTuple

from claims import cited as claim_papers
from claims import given as claim_given
from claims import tables as claim_tables
from claims.prose import measured
from claims.values import ClaimError, claimed, written

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"<!--(f|paper|given)\b(.*?)-->(.*?)<!--/-->", re.DOTALL)
HOLDS = re.compile(r"<!--holds\s(.*?)-->", re.DOTALL)
FIRST_ON_LINE = re.compile(
    r"^[ \t]*(?:[-*+] |\d+\. |> ?)?<!--(?:f|paper|given)\b|(?<=[^\n]\n)<!--holds\b"
    r"|^<!--holds\b(?:(?!-->).)*-->(?!\n\n|\n?\Z)",
    re.MULTILINE | re.DOTALL,
)


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
    >>> [(fault.said, fault.why) for fault in faults("Of <!--f beyond_pat:goals.compared-->24<!--/-->, or 12%.")]
    [('24', 'the results say 23'), ('12%', 'no mark says where this comes from')]
    """
    found = [*_values(text), *_unmeasured(text), *_statements(text), *_form(text), *_tables(text, page)]
    unmarked = measured(text, printed=_is_printed(text))
    found += [Fault(at, said, "no mark says where this comes from") for at, said in unmarked]
    return sorted(found)


def _is_printed(text: str) -> bool:
    """Whether there is code to print the page's blocks of text: tests/test_pages.py compares them."""
    return bool(re.search(r"^ *```(?:python|sh) *$", text, re.MULTILINE))


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


def _unmeasured(text: str) -> Iterator[Fault]:
    """Numbers that come from a paper or are given."""
    checks = {"paper": claim_papers.why_not, "given": claim_given.why_not}
    for match in MARK.finditer(text):
        if match[1] in checks and (why := checks[match[1]](match[2], match[3])):
            yield Fault(match.start(), match[3], why)


def _statements(text: str) -> Iterator[Fault]:
    for match in HOLDS.finditer(text):
        for statement in match[1].strip().split("\n"):
            try:
                value = claimed(statement)
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
    for script, at, table in claim_tables.found_in(text):
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
    for at in claim_tables.unread_in(text):
        yield Fault(at, text[at:].split("\n")[0], "no table is read here: a script, an empty line, an end")
    for script in claim_tables.REGISTRY.get(page, {}).keys() - {script for script, _, _ in claim_tables.found_in(text)}:
        yield Fault(0, f"table of {script}", "the page has lost it")


def rewritten(text: str, page: str = "") -> str:
    """The page as the results have it; what cannot be read stays, and stays a fault."""

    def value(match: re.Match[str]) -> str:
        try:
            return f"<!--f{match[2]}-->{written(match[2])}<!--/-->" if match[1] == "f" else match[0]
        except ClaimError:
            return match[0]

    return claim_tables.replaced(MARK.sub(value, text), page)


def named(path: Path) -> str:
    """A page's name under docs, or README.md."""
    return path.relative_to(ROOT / "docs").as_posix() if path.is_relative_to(ROOT / "docs") else path.name


def unchecked(texts: list[str]) -> list[str]:
    """What cannot be compared here, told: tables whose libraries, and figures whose papers are not at hand."""
    pairs = [(page, script) for page, own in claim_tables.REGISTRY.items() for script in own]
    tables = sum(not claim_tables.can_make(*pair) for pair in pairs)
    absent = tuple(number for number in "01234" if not claim_papers.text_of(number))
    cited = [match[2].strip() for text in texts for match in MARK.finditer(text) if match[1] == "paper"]
    marks = sum(place.startswith(absent) for place in cited)
    held = sum(paper in absent for _, paper, _, _ in claim_papers.held()) if absent else 0
    told = {
        f"not checked, as the papers are not at hand: {marks} marks, {held} figures of the results": absent,
        f"not checked, as their libraries or results are not here: {tables} tables": tables,
    }
    return [line for line, is_so in told.items() if is_so]


def main(arguments: list[str]) -> int:
    """Checks (or writes) every page; 1 where a fault is left."""
    found = [f"docs/{name}: the page is gone, and its tables with it"
             for name in claim_tables.REGISTRY.keys() - {named(path) for path in pages()}]  # fmt: skip
    for path in pages() if "--write" in arguments else []:
        text = path.read_text(encoding="utf-8")
        if (new := rewritten(text, named(path))) != text:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: written")
    texts = {path: path.read_text(encoding="utf-8") for path in pages()}
    for path, text in texts.items():
        for fault in faults(text, named(path)):
            line = text.count("\n", 0, fault.at) + 1
            found.append(f"{path.relative_to(ROOT)}:{line}: {fault.said!r}: {fault.why}")
    found += [f"benchmarks/results: {told}" for told in claim_papers.held_faults()]
    missing = unchecked(list(texts.values()))
    for told in (*found, *missing):
        print(told)
    whole = "every measured number that was checked" if missing else "every measured number"
    print(f"{len(found)} faults" if found else f"{whole} is that of the results")
    return int(len(found) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
