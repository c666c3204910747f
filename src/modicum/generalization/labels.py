"""Readable names for buckets: `20–63`, `no degree | high school`."""

import math
from collections.abc import Sequence

from modicum.table.schema import Attribute
from modicum.table.values import iso

_LONGEST = 60
_DAY = 86_400


def number_text(value: float) -> str:
    """A float as a person writes it.

    Examples
    --------
    >>> from modicum.generalization.labels import number_text
    >>> number_text(20.0), number_text(0.25)
    ('20', '0.25')
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))


def interval_label(low: float | None, high: float | None, attribute: Attribute) -> str:
    """The name of the bucket low < x <= high, whole numbers and whole days by their first and last member.

    An attribute stored as whole numbers is taken at its word: with an edge at 20, 21 is the first number above it.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.labels import interval_label
    >>> interval_label(19.5, 63.5, Attribute(name="age", kind="number", storage="integer"))
    '20–63'
    >>> interval_label(1.5, None, Attribute(name="dose", kind="number", storage="float"))
    '> 1.5'
    """
    if low is None and high is None:
        return "any value"
    if attribute.storage in ("integer", "date"):
        named = _whole_label(low, high, attribute)
        if named is not None:
            return named
    text = iso if attribute.kind == "date" else number_text
    if low is None or high is None:
        return f"≤ {text(high)}" if high is not None else f"> {text(low or 0.0)}"
    return _range(text(low), text(high))


def _whole_label(low: float | None, high: float | None, attribute: Attribute) -> str | None:
    """By first and last whole number (or day); None where the bucket holds none."""
    unit = _DAY if attribute.storage == "date" else 1
    first = None if low is None else (math.floor(low / unit) + 1) * unit
    last = None if high is None else math.floor(high / unit) * unit
    text = iso if attribute.kind == "date" else number_text
    if first is None or last is None:
        return f"≥ {text(first)}" if first is not None else f"≤ {text(last or 0)}"
    if first > last:
        return None
    return text(first) if first == last else _range(text(first), text(last))


def _range(low: str, high: str) -> str:
    """A dash between plain numbers; a word where a dash could be read as a minus or part of a date."""
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"


def group_label(values: Sequence[str], attribute: Attribute) -> str:
    """The name of a group of categories: an ancestor's where it is exactly that, a range, or its members.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.labels import group_label
    >>> group_label(["nurse", "doctor"], Attribute(name="job", kind="category"))
    'nurse | doctor'
    >>> group_label(["1", "2", "3"], Attribute(name="school", kind="ordered", domain=["1", "2", "3", "4"]))
    '1–3'
    """
    ancestor = _ancestor(set(values), attribute) if len(values) > 1 else None
    if ancestor is not None:
        return ancestor
    if attribute.kind == "ordered" and len(values) > 2 and _neighbours(values, attribute):
        low, high = values[0], values[-1]
        return _range(low, high) if low.isdigit() and high.isdigit() else f"{low} to {high}"
    label = " | ".join(values)
    if len(label) <= _LONGEST or len(values) < 3:
        return label
    shown = [values[0]]
    while len(" | ".join([*shown, values[len(shown)]])) <= _LONGEST - 12:
        shown.append(values[len(shown)])
    return f"{' | '.join(shown)} | … {len(values) - len(shown)} more"


def _neighbours(values: Sequence[str], attribute: Attribute) -> bool:
    """Whether the values follow each other in the attribute's order."""
    order = attribute.domain or ()
    start = order.index(values[0]) if values[0] in order else len(order)
    return tuple(values) == tuple(order[start : start + len(values)])


def _ancestor(values: set[str], attribute: Attribute) -> str | None:
    if not attribute.hierarchy:
        return None
    below: dict[str, set[str]] = {}
    for value, path in attribute.hierarchy.items():
        for ancestor in path:
            below.setdefault(ancestor, set()).add(value)
    return next((ancestor for ancestor, members in below.items() if members == values), None)


def unique(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels, with a number behind each one that was there before.

    Examples
    --------
    >>> from modicum.generalization.labels import unique
    >>> unique(["a", "b", "a"])
    ('a', 'b', 'a (2)')
    """
    result: dict[str, None] = {}
    for label in labels:
        name, count = label, 1
        while name in result:
            count += 1
            name = f"{label} ({count})"
        result[name] = None
    return tuple(result)
