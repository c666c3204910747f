"""Check every measured number in README and docs against benchmarks/results.

    python benchmarks/claims/check.py            # prints one line for each fault; fails if there is one
    python benchmarks/claims/check.py --write    # writes the numbers of the results into the pages
    python benchmarks/claims/check.py --code     # also fails if the code behind a result has changed

`docs/claims.toml` names the source of each number (see pages.py). A sentence that is missing or appears twice is a
fault, and so is any other number in prose that looks measured (see prose.py).
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import cited, given, tables
from claims.pages import Claim, Page, find_near, find_places, read
from claims.prose import find_measured
from claims.staleness import find_stale
from claims.values import ClaimError, evaluate_claim, write_value

ROOT = Path(__file__).parents[2]
CLAIMS = ROOT / "docs" / "claims.toml"
NOTHING = Page()


class Fault(NamedTuple):
    """A difference between a page and the results: the position, the page's text, and what is wrong."""

    at: int
    said: str
    why: str


def list_pages(root: Path = ROOT) -> dict[str, Path]:
    """Return README and all Markdown pages under docs, by their names in claims.toml."""
    docs = root / "docs"
    return {"README.md": root / "README.md"} | {
        path.relative_to(docs).as_posix(): path for path in sorted(docs.rglob("*.md"))
    }


def find_faults(text: str, page: Page = NOTHING) -> list[Fault]:
    """Return all faults of one page, in order.

    Examples
    --------
    >>> page = Page((Claim("Of {} cells", ("beyond_pat:goals.compared",)),))
    >>> [(fault.said, fault.why) for fault in find_faults("Of 24 cells, or 12%.", page)]
    [('24', 'the results say 23'), ('12%', 'docs/claims.toml does not say where this comes from')]
    """
    found, known = [], []
    for claim in page.claims:
        places = find_places(text, claim)
        if not places or (len(places) > 1 and not claim.every):
            at = places[1].at if places else find_near(text, claim)
            found.append(Fault(at, claim.text, f"appears {len(places)} times" if places else "missing from the page"))
        for place in places:
            known += [(start, end) for start, end, _ in place.numbers]
            found += _check_numbers(claim, place.numbers)
            found += [Fault(place.at, statement, why) for statement, why in _check_statements(claim)]
    here, odd = tables.find(text, page.tables)
    found += [
        Fault(0, table.head, f"appears {abs(by)} times too {'often' if by > 0 else 'rarely'}") for table, by in odd
    ]
    for own in here:
        known.append((own.at, own.at + len(own.text)))
        found += _check_table(own)
    unknown = "docs/claims.toml does not say where this comes from"
    found += [Fault(at, said, unknown) for at, said in find_measured(text, known)]
    return sorted(found)


def _check_numbers(claim: Claim, numbers: Iterable[tuple[int, int, str]]) -> Iterator[Fault]:
    for source, (at, _, said) in zip(claim.sources, numbers, strict=True):
        if why := why_not(source, said):
            yield Fault(at, said, why)


def why_not(source: str, said: str) -> str | None:
    """Explain why a number differs from its source; None if it agrees or cannot be looked up."""
    kind, _, where = source.partition(" ")
    if kind == "given":
        return given.why_not(where, said)
    if kind in cited.KEYS:
        return cited.why_not(source, said)
    try:
        value = write_value(source)
    except ClaimError as error:
        return str(error)
    return None if said == value else f"the results say {value}"


def _check_statements(claim: Claim) -> Iterator[tuple[str, str]]:
    """Yield the statements of a claim that are false for the results, or cannot be read."""
    for statement in claim.holds:
        try:
            value = evaluate_claim(statement)
        except ClaimError as error:
            yield statement, str(error)
            continue
        if value is not True and not (isinstance(value, list) and all(one is True for one in value)):
            yield statement, "is not true of the results"


def _check_table(own: tables.Found) -> Iterator[Fault]:
    try:
        right = tables.make(own.table)
    except ClaimError as error:
        yield Fault(own.at, own.table.head, str(error))
    except ModuleNotFoundError as error:
        print(f"{own.table.head}: this table is not checked: {error.name} is not installed", file=sys.stderr)
    else:
        if own.text != right:
            yield Fault(own.at, own.table.head, tables.find_difference(own.text, right))


def rewrite(text: str, page: Page) -> str:
    """Return the page with the numbers of the results; numbers that cannot be read stay, and remain faults."""
    new = {(own.at, own.at + len(own.text)): tables.make(own.table)
           for own in tables.find(text, page.tables)[0] if tables.can_make(own.table)}  # fmt: skip
    for claim in page.claims:
        for place in find_places(text, claim):
            for source, (start, end, said) in zip(claim.sources, place.numbers, strict=True):
                if (why_not(source, said) or "").startswith("the results say "):
                    new[start, end] = write_value(source)
    for (start, end), right in sorted(new.items(), reverse=True):
        text = text[:start] + right + text[end:]
    return text


def list_unchecked(known: Iterable[Page]) -> list[str]:
    """List what cannot be checked here: tables without their libraries or results, figures without their papers."""
    known = list(known)
    made = sum(not tables.can_make(table) for page in known for table in page.tables)
    absent = tuple(f"{key} " for key in cited.KEYS if not cited.text_of(key))
    numbers = sum(source.startswith(absent) for page in known for claim in page.claims for source in claim.sources)
    held = sum(f"{paper} " in absent for _, paper, _, _ in cited.list_held()) if absent else 0
    lines = {
        f"not checked, as the papers are not at hand: {numbers} numbers, {held} figures of the results": absent,
        f"not checked, as their libraries or results are not here: {made} tables": made,
    }
    return [line for line, is_so in lines.items() if is_so]


def find_outdated(known: dict[str, Page]) -> Iterator[str]:
    """Yield the claims that depend on results whose code has changed (see staleness.py)."""
    for name, why in find_stale().items():
        own = {page: sum(_rests_on(name, claim) for claim in content.claims) for page, content in known.items()}
        shown = ", ".join(f"{page} ({count})" for page, count in own.items() if count)
        tables_of = sorted(
            {page for page, content in known.items() for table in content.tables if name in table.results}
        )
        rest = [f"sentences of {shown}"] * bool(shown) + [f"tables of {', '.join(tables_of)}"] * bool(tables_of)
        yield f"benchmarks/results/{name}.json: {why}; {' and '.join(rest)} depend on it"


def _rests_on(name: str, claim: Claim) -> bool:
    return any(re.search(rf"\b{name}:", each) for each in (*claim.sources, *claim.holds))


def main() -> int:
    """Check (or write) every page; return 1 if a fault is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the numbers of the results into the pages")
    parser.add_argument("--code", action="store_true", help="also fail if the code behind a result has changed")
    options, known = parser.parse_args(), read(CLAIMS)
    found = [f"docs/claims.toml: there is no page {name}" for name in known.keys() - list_pages().keys()]
    for name, path in list_pages().items():
        text, page = path.read_text(encoding="utf-8"), known.get(name, NOTHING)
        if options.write and (new := rewrite(text, page)) != text:
            path.write_text(text := new, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: written")
        for fault in find_faults(text, page):
            line = text.count("\n", 0, fault.at) + 1
            found.append(f"{path.relative_to(ROOT)}:{line}: {fault.said!r}: {fault.why}")
    found += [f"benchmarks/results: {fault}" for fault in cited.find_held_faults()]
    found += find_outdated(known) if options.code else []
    missing = list_unchecked(known.values())
    print(*found, *missing, sep="\n", end="\n" if found or missing else "")
    whole = "every measured number that was checked" if missing else "every measured number"
    print(f"{len(found)} faults" if found else f"{whole} is that of the results")
    return int(len(found) > 0)


if __name__ == "__main__":
    sys.exit(main())
