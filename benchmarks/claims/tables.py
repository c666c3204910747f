"""Generated tables: where a page has them, and what they are by benchmarks/results.

What makes a table is a function of the figures of one file of results, or of several by their names. Modules are read
only when their table is asked for.
"""

import importlib
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from claims.pages import Table
from claims.values import ClaimError, figures_of


class Found(NamedTuple):
    """A table of a page: what is known of it, where it begins, and its lines."""

    table: Table
    at: int
    text: str


def find(text: str, tables: Iterable[Table]) -> tuple[list[Found], list[tuple[Table, int]]]:
    """The tables that a page has, and those that stand there too rarely or too often, with how often they should not.

    Tables with the same first line are told apart by their order.
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
    """Where lines begin that are this one."""
    found, at = [], 0
    for line in text.split("\n"):
        found += [at] if line == head else []
        at += len(line) + 1
    return found


@cache
def make(table: Table) -> str:
    """The table as the results have it."""
    figures = {stem: figures_of(stem) for stem in table.results}
    own = figures if len(figures) > 1 else figures[table.results[0]]
    module, path = table.maker.split(":")
    name, *keys = path.split(".")
    maker = getattr(importlib.import_module(module), name)
    for key in keys:
        maker = maker[int(key) if key.isdigit() else key]
    return str(maker(own if table.part is None else own[table.part]))


def can_make(table: Table) -> bool:
    """Whether what the table's benchmark imports is installed here, and its results are there."""
    try:
        make(table)
    except (ModuleNotFoundError, ClaimError):
        return False
    return True


def find_difference(table: str, right: str) -> str:
    """The first line in which two tables differ."""
    lines, wanted = table.split("\n"), right.split("\n")
    pairs = [pair for pair in zip(lines, wanted, strict=False) if pair[0] != pair[1]]
    if not pairs:
        return f"{len(lines)} lines, the results make {len(wanted)}"
    return f"{pairs[0][0]} is, by the results, {pairs[0][1]}"
