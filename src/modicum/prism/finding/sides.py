"""Which attributes are sensitive, and which could tell about them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from modicum.errors import DataError, ParameterError, quoted
from modicum.prism.one_hot import Groups, attribute_columns, stem
from modicum.table.schema import Schema


@dataclass(frozen=True)
class Sides:
    """Candidate and sensitive attributes with their columns, and the attribute that each name stands for.

    A sensitive attribute's values are read from its `own` columns; `sensitive` lists with them all others that bear
    its name (`ill=flu` beside `ill=gout`), since these tell of it too.
    """

    candidates: dict[str, tuple[str, ...]]
    sensitive: dict[str, tuple[str, ...]]
    own: dict[str, tuple[str, ...]]
    attribute_of: dict[str, str]

    def known_sets(self, known: Iterable[Iterable[str] | str] | None) -> list[frozenset[str]]:
        """The minimal ones of the sets that the data owner names."""
        if known is None:
            return []
        _check_list(known, known)
        given = {self._known_set(each, known) for each in known}
        return [each for each in given if not any(other < each for other in given)]

    def _known_set(self, names: Iterable[str] | str, known: Any) -> frozenset[str]:
        if not isinstance(names, str):
            _check_list(names, known)
        listed = [names] if isinstance(names, str) else list(names)
        if not listed:
            raise ParameterError("The 'known' parameter holds an empty set; name the attributes that correlate.")
        return frozenset(self.candidate(name, "known") for name in listed)

    def candidate(self, name: str, parameter: str) -> str:
        """The candidate attribute that a name stands for."""
        attribute = self.attribute_of.get(str(name))
        if attribute in self.sensitive or any(name in columns for columns in self.sensitive.values()):
            raise ParameterError(f"The {parameter!r} parameter names {name!r}, which is sensitive itself.")
        if attribute not in self.candidates:
            raise ParameterError(
                f"The {parameter!r} parameter names {name!r}, which is no attribute to choose from; there are "
                f"{quoted(self.candidates, limit=8)}."
            )
        return attribute


def _check_list(part: Any, known: Any) -> None:
    """A set or list, not what can be read only once: an estimator keeps what it was given."""
    if isinstance(part, str) or not isinstance(part, Iterable) or isinstance(part, Iterator):
        kind = "a single name" if isinstance(known, str) else f"{type(part).__name__}"
        raise ParameterError(f"The 'known' parameter must be a list of sets of names. Got {kind} instead.")


def split_attributes(
    frame: nw.DataFrame[Any],
    schema: Schema,
    sensitive: Sequence[str],
    groups: Groups,
    exclude: Sequence[str] | str | None,
) -> Sides:
    """Sensitive attributes whole, and as candidates all others but the excluded ones and those of a role apart.

    Whatever the groups, no column that bears the name of a sensitive attribute is a candidate, and none of an attribute
    that the schema calls sensitive or forbidden.
    """
    together = attribute_columns(frame, frame.columns, groups)
    owner = {each: attribute for attribute, columns in together.items() for each in columns}
    owner |= {attribute: attribute for attribute in together}
    left_out = _excluded(exclude, owner)
    own = dict(_own(together, owner, name, frame) for name in sensitive)
    for attribute, columns in own.items():
        _check_sensitive(attribute, columns, schema, left_out)
    named = {*own, *(each for columns in own.values() for each in columns), *schema.with_role("sensitive")}
    stems = {stem(name) for name in named}
    candidates = {
        attribute: tuple(each for each in columns if _may_tell(each, schema, stems) and each not in left_out)
        for attribute, columns in together.items()
        if attribute not in named and attribute not in left_out
    }
    candidates = {attribute: columns for attribute, columns in candidates.items() if columns}
    if not candidates:
        raise DataError("The data has no attribute besides the sensitive ones, so that nothing can tell about them.")
    listed = {attribute: _with_siblings(attribute, own, frame) for attribute in own}
    return Sides(candidates, listed, own, owner | {attribute: attribute for attribute in own})


def _own(
    together: dict[str, tuple[str, ...]], owner: dict[str, str], name: str, frame: nw.DataFrame[Any]
) -> tuple[str, tuple[str, ...]]:
    """The attribute that a name stands for with its columns: also that of one-hot columns which are not grouped."""
    if name in owner:
        return owner[name], together[owner[name]]
    columns = tuple(each for each in frame.columns if stem(each) == name)
    if not columns:
        raise DataError(
            f"The sensitive attribute {name!r} is not in the data; it has {quoted(frame.columns, limit=8)}."
        )
    return name, columns


def _with_siblings(attribute: str, own: dict[str, tuple[str, ...]], frame: nw.DataFrame[Any]) -> tuple[str, ...]:
    """The attribute's columns, then others that bear its name and are not another sensitive attribute's."""
    stems = {stem(name) for name in (attribute, *own[attribute])}
    taken = {each for columns in own.values() for each in columns}
    return (*own[attribute], *(each for each in frame.columns if stem(each) in stems and each not in taken))


def _may_tell(name: str, schema: Schema, sensitive: set[str]) -> bool:
    usable = name in schema and schema[name].collectable and not schema[name].forbidden
    return usable and stem(name) not in sensitive


def _excluded(exclude: Any, owner: dict[str, str]) -> list[str]:
    listed = [] if exclude is None else [exclude] if isinstance(exclude, str) else exclude
    if not isinstance(listed, Iterable):
        raise ParameterError(f"The 'exclude' parameter must be a list of names. Got {exclude!r} instead.")
    names = list(listed)
    for name in names:
        if not isinstance(name, str) or name not in owner:
            raise ParameterError(f"The 'exclude' parameter names {name!r}, which is not in the data.")
    return names


def _check_sensitive(attribute: str, columns: Sequence[str], schema: Schema, exclude: Sequence[str]) -> None:
    apart = [each for each in columns if each in schema and not schema[each].collectable]
    if apart:
        raise ParameterError(f"The column {apart[0]!r} cannot be sensitive: it is a label, person or identifier.")
    if {attribute, *columns} & set(exclude):
        raise ParameterError(f"The attribute {attribute!r} is both sensitive and excluded; is it the label?")
