"""What docs/claims.toml says of a page, and where that stands in its text.

    [["merge-path.md".claim]]
    text = 'MergePath is ahead in {} and closes {} of the distance.'   # a sentence of the page, {} for each number
    from = ['beyond_pat:goals.compared - 2', 'given benchmarks/x.py']  # where each {} comes from, see below
    holds = ['size(beyond_pat:goals.behind_others) == 0']              # what must be true for the sentence to be
    every = true                                                       # it may stand several times; else exactly once

    [["merge-path.md".table]]
    head = '| data | target |'        # its first line; tables with the same one are told apart by their order
    maker = 'papers.beyond_pat:table' # MODULE:FUNCTION that makes it
    results = 'beyond_pat'            # of the figures of these files
    part = 'datasets'                 # or of a part of them

Sources: `FILE:path|format`, a value of benchmarks/results (see values.py; `word` for words); `Staab24 §8.2`, what a
paper says there (see cited.py); `given FILE`, a setting of that code, and `given`, a definition (see given.py). A line
break of the text is a space.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

_NUMBER = r"([^\s|](?:[^|]{0,60}?[^\s|])?)"  # or words that stand for one; never across the cells of a table
_ONE_WORD = r"([^\s|]+)"


class Claim(NamedTuple):
    """A sentence, the source of each of its numbers, and what must hold for it."""

    text: str
    sources: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    every: bool = False


class Table(NamedTuple):
    """A generated table: its first line, what makes it, the files of results it is made of, and a part of them."""

    head: str
    maker: str
    results: tuple[str, ...]
    part: str | None = None


class Page(NamedTuple):
    """What is claimed on a page."""

    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()


class Place(NamedTuple):
    """Where a claim stands: its start, and the start, end and text of each of its numbers."""

    at: int
    numbers: tuple[tuple[int, int, str], ...]


def read(path: Path) -> dict[str, Page]:
    """Each page's claims and tables, by its name under docs, or README.md."""
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
    """Every place of a page where a claim stands, whatever its numbers are there.

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
    """Where the first words of a claim stand that the page has lost; its start where they do not."""
    first = re.search(r"\s+".join(map(re.escape, claim.text.partition("{}")[0].split()[:3])), text)
    return first.start() if first else 0


def _compile(text: str) -> re.Pattern[str]:
    """The sentence; a number at its start or end is one word, as nothing says where it would stop."""
    parts = text.split("{}")
    numbers = [_NUMBER] * (len(parts) - 1)
    if numbers and not parts[-1]:
        numbers[-1] = _ONE_WORD
    if numbers and not parts[0]:
        numbers[0] = rf"(?<!\S){_ONE_WORD}"
    joined = "".join(re.escape(part) + number for part, number in zip(parts, [*numbers, ""], strict=True))
    return re.compile(rf"{joined}(?!\w)")


def _fold(text: str) -> tuple[str, list[int]]:
    """The text with one space for each run of white space, and where each of its signs stands."""
    kept = [(match.start(), " " if match[0].isspace() else match[0]) for match in re.finditer(r"\s+|\S", text)]
    return "".join(sign for _, sign in kept), [at for at, _ in kept]
