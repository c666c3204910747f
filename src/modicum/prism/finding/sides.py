"""Which attributes are sensitive, and which could tell about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from modicum.errors import DataError, ParameterError, quoted
from modicum.prism.one_hot import Groups, attribute_columns
from modicum.table.schema import Schema


@dataclass(frozen=True)
class Sides:
    """Candidate and sensitive attributes with their columns, and the attribute that each name stands for."""

    candidates: dict[str, tuple[str, ...]]
    sensitive: dict[str, tuple[str, ...]]
    attribute_of: dict[str, str]

    def known_sets(self, known: Iterable[Iterable[str] | str]) -> list[frozenset[str]]:
        """The minimal ones of the sets that the data owner names."""
        if isinstance(known, str):
            raise ParameterError("The 'known' parameter must be a list of sets of names, not a single name.")
        given = {self._known_set([each] if isinstance(each, str) else list(each)) for each in known}
        return [each for each in given if not any(other < each for other in given)]

    def _known_set(self, names: Sequence[str]) -> frozenset[str]:
        if not names:
            raise ParameterError("The 'known' parameter holds an empty set; name the attributes that correlate.")
        return frozenset(self.candidate(name, "known") for name in names)

    def candidate(self, name: str, parameter: str) -> str:
        """The candidate attribute that a name stands for."""
        attribute = self.attribute_of.get(str(name))
        if attribute in self.sensitive:
            raise ParameterError(f"The {parameter!r} parameter names {name!r}, which is sensitive itself.")
        if attribute not in self.candidates:
            raise ParameterError(
                f"The {parameter!r} parameter names {name!r}, which is no attribute to choose from; there are "
                f"{quoted(self.candidates, limit=8)}."
            )
        return attribute


def split_attributes(
    frame: nw.DataFrame[Any], schema: Schema, sensitive: Sequence[str], groups: Groups, exclude: Sequence[str]
) -> Sides:
    """Sensitive attributes whole, and as candidates all others but the excluded ones and those of a role apart."""
    together = attribute_columns(frame, frame.columns, groups)
    owner = {each: attribute for attribute, columns in together.items() for each in columns}
    owner |= {attribute: attribute for attribute in together}
    named = {_owner(owner, name, frame): None for name in sensitive}
    for name in exclude:
        if name not in owner:
            raise ParameterError(f"The 'exclude' parameter names {name!r}, which is not in the data.")
    for attribute in named:
        _check_sensitive(attribute, together[attribute], schema, exclude)
    candidates = {
        attribute: tuple(each for each in columns if _may_tell(each, schema) and each not in exclude)
        for attribute, columns in together.items()
        if attribute not in named and attribute not in exclude
    }
    candidates = {attribute: columns for attribute, columns in candidates.items() if columns}
    if not candidates:
        raise DataError("The data has no attribute besides the sensitive ones, so that nothing can tell about them.")
    return Sides(candidates, {attribute: together[attribute] for attribute in named}, owner)


def _may_tell(name: str, schema: Schema) -> bool:
    return name in schema and schema[name].collectable


def _owner(owner: dict[str, str], name: str, frame: nw.DataFrame[Any]) -> str:
    if name not in owner:
        raise DataError(
            f"The sensitive attribute {name!r} is not in the data; it has {quoted(frame.columns, limit=8)}."
        )
    return owner[name]


def _check_sensitive(attribute: str, columns: Sequence[str], schema: Schema, exclude: Sequence[str]) -> None:
    apart = [each for each in columns if each in schema and not schema[each].collectable]
    if apart:
        raise ParameterError(f"The column {apart[0]!r} cannot be sensitive: it is a label, person or identifier.")
    if {attribute, *columns} & set(exclude):
        raise ParameterError(f"The attribute {attribute!r} is both sensitive and excluded; is it the label?")
