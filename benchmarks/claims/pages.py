"""Read the claims about a page from docs/claims.toml, and find them in its text.

    [["merge-path.md".claim]]
    text = 'MergePath is ahead in {} and closes {} of the distance.'   # a sentence of the page, {} for each number
    from = ['beyond_pat:goals.compared - 2', 'given benchmarks/x.py']  # the source of each {}, see below
    holds = ['size(beyond_pat:goals.behind_others) == 0']              # what must be true for the sentence to hold
    every = true                                                       # may appear several times; else exactly once

    [["merge-path.md".table]]
    head = '| data | target |'        # its first line; order distinguishes tables with the same first line
    maker = 'papers.beyond_pat:table' # MODULE:FUNCTION that makes it
    results = 'beyond_pat'            # from the figures of these files
    part = 'datasets'                 # or from a part of them

Sources: `FILE:path|format`, a value of benchmarks/results (see values.py; `word` for words); `Staab24 §8.2`, a figure
of a paper (see cited.py); `given FILE`, a setting of that code, and `given`, a definition (see given.py). A line break
in the text counts as a space.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

_NUMBER = r"([^\s|](?:[^|]{0,60}?[^\s|])?)"  # or a number in words; never across the cells of a table
_ONE_WORD = r"([^\s|]+)"


class Claim(NamedTuple):
    """A sentence, the source of each of its numbers, and what must hold for it."""

    text: str
    sources: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    every: bool = False


class Table(NamedTuple):
    """A generated table: its first line, its maker, its files of results, and the part of them it uses."""

    head: str
    maker: str
    results: tuple[str, ...]
    part: str | None = None


class Page(NamedTuple):
    """The claims and tables of a page."""

    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()


class Place(NamedTuple):
    """The position of a claim: its start, and the start, end and text of each of its numbers."""

    at: int
    numbers: tuple[tuple[int, int, str], ...]


def read(path: Path) -> dict[str, Page]:
    """Return each page's claims and tables, by its name under docs, or README.md."""
    content = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        name: Page(tuple(map(_read_claim, page.get("claim", ()))), tuple(map(_read_table, page.get("table", ()))))
        for name, page in content.items()
    }


def _read_claim(entry: dict[str, Any]) -> Claim:
    text, sources, holds, every = (entry.pop(key, default) for key, default in _CLAIM.items())
    if entry or len(sources) != text.count("{}") or not (sources or holds):
        raise SystemExit(f"docs/claims.toml: {text!r} needs as many sources as numbers, or what holds, and no {entry}")
    return Claim(" ".join(text.split()), tuple(sources), tuple(holds), every)


_CLAIM: dict[str, Any] = {"text": "", "from": (), "holds": (), "every": False}


def _read_table(entry: dict[str, Any]) -> Table:
    return Table(entry["head"], entry["maker"], tuple(entry["results"].split()), entry.get("part"))


def find_places(text: str, claim: Claim) -> list[Place]:
    """Return every place where a claim appears on a page, with any numbers.

    Examples
    --------
    >>> [place.numbers for place in find_places("It keeps\\n84% of its skill.", Claim("It keeps {} of its skill."))]
    [((9, 12, '84%'),)]
    """
    folded, positions = _fold(text)
    found = []
    for match in _compile(claim.text).finditer(folded):
        spans = [match.span(i + 1) for i in range(len(match.groups()))]
        numbers = tuple((positions[start], positions[end - 1] + 1, folded[start:end]) for start, end in spans)
        found.append(Place(positions[match.start()], numbers))
    return found


def find_near(text: str, claim: Claim) -> int:
    """Return the position of the first words of a missing claim; 0 if they are missing too."""
    first = re.search(r"\s+".join(map(re.escape, claim.text.partition("{}")[0].split()[:3])), text)
    return first.start() if first else 0


def _compile(text: str) -> re.Pattern[str]:
    """Compile the sentence; a number at its start or end is one word, because no text marks its end."""
    parts = text.split("{}")
    numbers = [_NUMBER] * (len(parts) - 1)
    if numbers and not parts[-1]:
        numbers[-1] = _ONE_WORD
    if numbers and not parts[0]:
        numbers[0] = rf"(?<!\S){_ONE_WORD}"
    joined = "".join(re.escape(part) + number for part, number in zip(parts, [*numbers, ""], strict=True))
    return re.compile(rf"{joined}(?!\w)")


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the text with one space for each run of white space, and the position of each character."""
    characters = [(match.start(), " " if match[0].isspace() else match[0]) for match in re.finditer(r"\s+|\S", text)]
    return "".join(character for _, character in characters), [at for at, _ in characters]
