"""Prepare docstrings for the reference: `error : share of wrong guesses` in a list of attributes is text, not a type.

Result classes describe each attribute in one line; the types are in the class itself. numpydoc would read the
description as a type, so each line becomes a name with a description before griffe parses it.
"""

import re
from collections.abc import Iterator
from typing import Any

import griffe

_LIST = re.compile(r"(?<=\nAttributes\n----------\n)(.*?)(?=\n\n|\Z)", flags=re.DOTALL)
_ITEM = re.compile(r"^(\w[\w, ]*) : (.+)(\n[ ]+[A-Z`].*)?$", flags=re.MULTILINE)
_TYPE = re.compile(r"int|str|float|bool|dict|[A-Z]\w+|(array|list|tuple|dict) of .*")


class Results(griffe.Extension):
    """Turn one-line attributes into names with descriptions."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Read every class of the package once, before a page is rendered."""
        for found in classes(pkg):
            if found.docstring is not None:
                found.docstring.value = as_text(found.docstring.value)


def classes(parent: griffe.Module | griffe.Class) -> Iterator[griffe.Class]:
    """Yield all classes defined in a module or class, at any depth."""
    for member in parent.members.values():
        if not member.is_alias and (member.is_module or member.is_class):
            if member.is_class:
                yield member
            yield from classes(member)


def as_text(docstring: str) -> str:
    """Return the docstring with each attribute `name : words` as a name with the words below it."""
    return _LIST.sub(lambda found: _ITEM.sub(_described, found[0]), docstring)


def _described(item: re.Match[str]) -> str:
    is_type = item[3] is not None or _TYPE.fullmatch(item[2]) is not None
    return item[0] if is_type else f"{item[1]}\n    {item[2]}"
