"""What a release of two tables would tell all the same, in one sentence each."""

from collections.abc import Iterator, Mapping
from typing import Any

import narwhals.stable.v2 as nw

from modicum.anatomy.asked import Asked
from modicum.anatomy.determined import determining
from modicum.errors import quoted
from modicum.table.roles import person_codes
from modicum.table.schema import Schema
from modicum.table.values import Codes


def leaks(asked: Asked, values: Mapping[str, Codes]) -> Iterator[str]:
    """What should be changed before the tables are given away.

    Parameters
    ----------
    asked : the records and their columns
    values : for each sensitive column each record's value as a code from 0
    """
    for name, codes in values.items():
        kind = asked.schema[name].kind
        if kind in ("number", "date"):
            yield f"The sensitive column {name!r} is a {kind}: different ones may lie close; cut it into ranges."
        others = [other for other in values if other != name]
        found = determining(asked.frame, asked.schema, [*asked.identifying, *others], codes)
        told = [each for each in found if not set(each) & set(others)]
        if told:
            yield (
                f"The identifying table tells {name!r} by {_listed(told)}, whatever the groups hide; leave it out "
                "(--identifier)."
            )
        if len(told) < len(found):
            yield (
                f"The sensitive column {name!r} is told by another sensitive one, so that the groups "
                "of both leave fewer values; drop one, or join them in one column."
            )


def repeated_persons(frame: nw.DataFrame[Any], schema: Schema) -> Iterator[str]:
    """That a person has several records, which papers/4 Definition 1 excludes."""
    persons = person_codes(schema, frame)
    if persons is not None and int(persons.max()) + 1 < len(persons):
        yield "Some persons have several records; whoever knows which can intersect their groups. Keep one of each."


def _listed(found: list[tuple[str, ...]]) -> str:
    """Columns and pairs of them as a person would list them."""
    singles = [each[0] for each in found if len(each) == 1]
    pairs = [" with ".join(map(repr, each)) for each in found if len(each) > 1]
    shown = ([quoted(singles)] if singles else []) + pairs[:3]
    return " and by ".join(shown) + (f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else "")
