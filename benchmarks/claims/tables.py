"""Find the generated tables of a page, and make them again from benchmarks/results.

A table's maker is a function of the figures of one file of results, or of several files by name. Its module is imported
only when the table is needed.
"""

import importlib
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from claims.pages import Table
from claims.values import ClaimError, figures_of


class Found(NamedTuple):
    """A table on a page: its entry in claims.toml, its position, and its lines."""

    table: Table
    at: int
    text: str


def find(text: str, tables: Iterable[Table]) -> tuple[list[Found], list[tuple[Table, int]]]:
    """Return a page's tables, and the tables that it has too often or too rarely, with the difference.

    Order distinguishes tables with the same first line.
    """
    by_head: dict[str, list[Table]] = {}
    for table in tables:
        by_head.setdefault(table.head, []).append(table)
    found, odd = [], []
    for head, own in by_head.items():
        starts = _find_starts(text, head)
        found += [
            Found(table, at, text[at:].partition("\n\n")[0].rstrip("\n"))
            for table, at in zip(own, starts, strict=False)
        ]
        odd += [(own[0], len(starts) - len(own))] if len(starts) != len(own) else []
    return found, odd


def _find_starts(text: str, head: str) -> list[int]:
    """Return the positions of lines equal to this one."""
    found, at = [], 0
    for line in text.split("\n"):
        found += [at] if line == head else []
        at += len(line) + 1
    return found


@cache
def make(table: Table) -> str:
    """Return the table made from the results."""
    figures = {stem: figures_of(stem) for stem in table.results}
    own = figures if len(figures) > 1 else figures[table.results[0]]
    module, path = table.maker.split(":")
    name, *keys = path.split(".")
    maker = getattr(importlib.import_module(module), name)
    for key in keys:
        maker = maker[int(key) if key.isdigit() else key]
    return str(maker(own if table.part is None else own[table.part]))


def can_make(table: Table) -> bool:
    """Check whether the libraries and the results that a table needs are available."""
    try:
        make(table)
    except (ModuleNotFoundError, ClaimError):
        return False
    return True


def find_difference(table: str, right: str) -> str:
    """Describe the first line in which two tables differ."""
    lines, wanted = table.split("\n"), right.split("\n")
    pairs = [pair for pair in zip(lines, wanted, strict=False) if pair[0] != pair[1]]
    if not pairs:
        return f"{len(lines)} lines, the results make {len(wanted)}"
    return f"{pairs[0][0]} is, by the results, {pairs[0][1]}"
