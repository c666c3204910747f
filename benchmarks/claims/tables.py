"""Generated tables: which page has which, and what makes them from benchmarks/results.

A page names a table by the script (and its argument) that writes it: `reproduce_anatomy.py errors`. What makes it is a
function of the figures of one file of results. Modules are read only when their table is asked for.
"""

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from claims.values import ClaimError, figures_of

TABLE = re.compile(r"<!-- table: written by benchmarks/([^>]*?) -->\n\n(.*?)\n\n<!-- end of [^>]*? -->", re.DOTALL)


class Source(NamedTuple):
    """A table's maker as MODULE:FUNCTION, the file of results it reads (or several), and a part of its figures."""

    maker: str
    stem: str
    part: str | None = None


def _several(maker: str, stem: str, *marks: str) -> dict[str, Source]:
    """Tables of one file of results, by the script's argument."""
    return {f"{stem}.py {mark}": Source(maker.format(mark), stem) for mark in marks}


_PEERS = {
    "against_peers.py table": Source("peers.against_peers:summary", "against_peers"),
    "against_ai_privacy_toolkit.py table": Source(
        "peers.against_ai_privacy_toolkit:table", "against_ai_privacy_toolkit"
    ),
    "dp_on_minimized.py table": Source("papers.dp_on_minimized:table", "dp_on_minimized"),
}
REGISTRY: dict[str, dict[str, Source]] = {
    "anatomy.md": {
        **_several("papers.anatomy.tables:TABLES.{}", "reproduce_anatomy", "errors", "t-tests", "releases", "exact"),
        "anatomy_speed.py table": Source("papers.anatomy.tables:speed_table", "anatomy_speed"),
    },
    "anonymization.md": {
        **_several("papers.anonymization.tables:TABLES.{}.1", "reproduce_anonymization", "accuracy", "verdict",
                   "labels", "selection", "many attributes", "membership", "attributes"),
        "dp_on_minimized.py table": _PEERS["dp_on_minimized.py table"],
        "against_peers.py table": _PEERS["against_peers.py table"],
    },
    "collecting.md": {"serve_speed.py": Source("speed.serve_speed:table", "serve_speed")},
    "comparison.md": _PEERS,
    "engines.md": {
        "scale.py": Source("speed.scale:speed", "scale"),
        "scale.py cost": Source("speed.scale:cost", "scale"),
    },
    "merge-path.md": {"beyond_pat.py table": Source("papers.beyond_pat:table", "beyond_pat", "datasets")},
    "model-guided.md": {
        "reproduce_apt.py table": Source("papers.reproduce_apt:table", "reproduce_apt"),
        "against_ai_privacy_toolkit.py table": _PEERS["against_ai_privacy_toolkit.py table"],
        "reproduce_apt.py orders": Source("papers.reproduce_apt:orders_table", "reproduce_apt", "orders"),
    },
    "prism.md": {
        "reproduce_prism.py accuracy": Source("papers.prism.tables:accuracy_table", "reproduce_prism"),
        "reproduce_prism.py adversaries": Source("papers.prism.tables:adversary_table", "reproduce_prism"),
        "reproduce_prism.py beside the paper": Source("papers.prism.tables:paper_table", "reproduce_prism"),
        "prism_speed.py table": Source("papers.prism.tables:speed_table", "prism_speed"),
    },
    "results.md": {
        **{f"claims.py vdm {name.replace('_', ' ')}": Source(f"papers.vdm.tables:{name}", "reproduce_vdm")
           for name in ("one_generalization", "surest", "side_knowledge", "breaches", "linking", "rarest",
                        "by_attribute", "networks")},
        **{f"claims.py study_acs {name}": Source(f"papers.vdm.study_tables:{name}", "study_acs")
           for name in ("reached", "seeds", "sizes", "protected", "selections")},
        "claims.py study_more reached": Source("papers.vdm.study_tables:reached", "study_more"),
        "claims.py drift": Source("papers.vdm.study_tables:drifts", "drift"),
        "claims.py quality": Source("papers.vdm.study_tables:quality", "quality"),
        "claims.py suite": Source("papers.vdm.study_tables:adversaries", "suite"),
        "claims.py attack": Source("papers.vdm.study_tables:portfolio", "attack"),
        "claims.py neural": Source("papers.vdm.study_tables:neural", "neural"),
        "claims.py targets": Source("claims.target_tables:targets", "pat transform attack suite study_speed beyond_pat "
                                    "against_ai_privacy_toolkit guided_speed anonymizers_speed prism_speed "
                                    "anatomy_speed serve_speed scale"),
    },
}  # fmt: skip


def found_in(text: str) -> list[tuple[str, int, str]]:
    """The tables of a page, each as often as it stands there: its script, where it begins, and what stands there."""
    return [(match[1], match.start(), match[2]) for match in TABLE.finditer(text)]


def unread_in(text: str) -> list[int]:
    """Where a page says that a table begins or ends, and none is read: no empty line, no script, no end."""
    read = {at for match in TABLE.finditer(text) for at in (match.start(), match.end())}
    begun = [match.start() for match in re.finditer(r"<!--\s*table\b", text) if match.start() not in read]
    return begun + [match.start() for match in re.finditer(r"<!--\s*end of\b[^>]*-->", text) if match.end() not in read]


@cache
def made(page: str, script: str) -> str:
    """The table as the results have it."""
    if script not in REGISTRY.get(page, {}):
        raise ClaimError(f"nothing is known to make the table of {script} in {page}")
    source = REGISTRY[page][script]
    stems = source.stem.split()
    figures = figures_of(source.stem) if len(stems) == 1 else {stem: figures_of(stem) for stem in stems}
    return str(_function(source.maker)(figures if source.part is None else figures[source.part]))


def _function(maker: str) -> Callable[[Any], str]:
    module, path = maker.split(":")
    name, *keys = path.split(".")
    found = getattr(importlib.import_module(module), name)
    for key in keys:
        found = found[int(key) if key.isdigit() else key]
    return found


def can_make(page: str, script: str) -> bool:
    """Whether what the table's benchmark imports is installed here, and its results are there."""
    try:
        made(page, script)
    except (ModuleNotFoundError, ClaimError):
        return False
    return True


def first_difference(table: str, right: str) -> str:
    """The first line in which two tables differ, told."""
    lines, wanted = table.split("\n"), right.split("\n")
    pairs = [pair for pair in zip(lines, wanted, strict=False) if pair[0] != pair[1]]
    if not pairs:
        return f"{len(lines)} lines, the results make {len(wanted)}"
    return f"{pairs[0][0]} is, by the results, {pairs[0][1]}"


def replaced(text: str, page: str) -> str:
    """The page with every table made anew that can be made here."""

    def anew(match: re.Match[str]) -> str:
        if match[1] not in REGISTRY.get(page, {}) or not can_make(page, match[1]):
            return match[0]
        start, end = match.start(2) - match.start(), match.end(2) - match.start()
        return f"{match[0][:start]}{made(page, match[1])}{match[0][end:]}"

    return TABLE.sub(anew, text)
