"""Split attributes into sensitive ones and candidates that could reveal them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError, format_names
from modicum.table.frames import column, texts
from modicum.table.schema import Schema

# The columns of each attribute: one-hot columns are chosen, and correlate, together.

_NAMED = re.compile(r"(?P<attribute>[^=<>:]+)[=<>:].+", re.DOTALL)  # job=clerk, age<26, age>=61, marital:married

Groups = str | Mapping[str, Sequence[str]]


def attribute_columns(
    frame: nw.DataFrame[Any], names: Sequence[str], groups: Groups = "attribute"
) -> dict[str, tuple[str, ...]]:
    """Group columns into attributes, in the order of their first columns.

    Several columns of 0 and 1 are one attribute if their names share the part before the sign (`job=clerk`,
    `job=nurse`; also `age<26`, `age>=61`, `marital:married`) and no row has more than one of them. This part is the
    attribute's name. With `groups="column"` every column is an attribute. A mapping lists attributes and their columns;
    any other column is an attribute of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.prism.discovery.sides import attribute_columns
    >>> from modicum.table.frames import as_frame
    >>> frame = as_frame(pd.DataFrame({"age": [31, 45], "job=clerk": [0, 1], "job=nurse": [1, 0]}))
    >>> attribute_columns(frame, frame.columns)
    {'age': ('age',), 'job': ('job=clerk', 'job=nurse')}
    >>> list(attribute_columns(frame, frame.columns, "column"))
    ['age', 'job=clerk', 'job=nurse']
    """
    if isinstance(groups, Mapping):
        return _parse_groups(names, groups)
    if groups not in ("attribute", "column"):
        raise ParameterError(
            f"The 'groups' parameter must be 'attribute', 'column' or a mapping from names to columns. Got {groups!r}."
        )
    if groups == "column":
        return {name: (name,) for name in names}
    alike = _collect_columns(names, {name: stem(name) for name in names})
    owner = {
        each: attribute
        for attribute, columns in alike.items()
        if len(columns) > 1 and attribute not in names and is_one_hot(frame, columns)
        for each in columns
    }
    return _collect_columns(names, owner)


def _parse_groups(names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    owner: dict[str, str] = {}
    for attribute, columns in groups.items():
        if not isinstance(columns, Iterable):
            raise ParameterError(
                f"The 'groups' parameter must map {attribute!r} to a list of columns. Got {columns!r}."
            )
        for each in [columns] if isinstance(columns, str) else columns:
            if each not in names:
                raise DataError(f"The 'groups' parameter names the column {each!r}, which is not in the data.")
            if each in owner:
                raise ParameterError(f"The 'groups' parameter puts the column {each!r} into two attributes.")
            owner[each] = str(attribute)
    clashes = [each for each in names if each not in owner and each in owner.values()]
    if clashes:
        raise ParameterError(
            f"The 'groups' parameter names an attribute {clashes[0]!r}, which is another column's name. Choose another."
        )
    return _collect_columns(names, owner)


def _collect_columns(names: Sequence[str], owner: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for each in names:
        attribute = owner.get(each, each)
        found[attribute] = (*found.get(attribute, ()), each)
    return found


def is_one_hot(frame: nw.DataFrame[Any], columns: Sequence[str]) -> bool:
    """Whether all columns hold only 0 and 1, none is missing, and no row has more than one 1."""
    total = np.zeros(len(frame), dtype=np.int64)
    for each in columns:
        codes, words = texts(column(frame, each))
        if not set(words) <= {"0", "1", "true", "false"} or (codes < 0).any():
            return False
        total += np.isin(np.array(words, dtype=object), ("1", "true"))[codes]
    return bool(total.max(initial=0) <= 1)


def stem(name: str) -> str:
    """Return the attribute in a one-hot column's name, the part before the sign; otherwise the whole name.

    Examples
    --------
    >>> from modicum.prism.discovery.sides import stem
    >>> stem("job=clerk"), stem("age<26"), stem("job")
    ('job', 'age', 'job')
    """
    match = _NAMED.fullmatch(name)
    return name if match is None else match["attribute"]


def value_part(name: str) -> str:
    """Return the value in a one-hot column's name: after `=` or `:`, or the comparison; otherwise the whole name.

    Examples
    --------
    >>> from modicum.prism.discovery.sides import value_part
    >>> value_part("job=clerk"), value_part("age<26"), value_part("age>=61"), value_part("clerk")
    ('clerk', '<26', '>=61', 'clerk')
    """
    rest = name.removeprefix(stem(name))
    if not rest:
        return name
    return rest[1:] if rest[0] in "=:" else rest


# The sides


@dataclass(frozen=True)
class Sides:
    """Candidate and sensitive attributes with their columns, and the attribute of each name.

    A sensitive attribute's values are read from its `own` columns. `sensitive` also lists all others with its name
    (`ill=flu` next to `ill=gout`), since these reveal it too.
    """

    candidates: dict[str, tuple[str, ...]]
    sensitive: dict[str, tuple[str, ...]]
    own: dict[str, tuple[str, ...]]
    attribute_of: dict[str, str]

    def parse_known_sets(self, known: Iterable[Iterable[str] | str] | None) -> list[frozenset[str]]:
        """Return the minimal sets among those that the data owner names."""
        if known is None:
            return []
        _check_list(known, known)
        given = {self._parse_known_set(each, known) for each in known}
        return [each for each in given if not any(other < each for other in given)]

    def _parse_known_set(self, names: Iterable[str] | str, known: Any) -> frozenset[str]:
        if not isinstance(names, str):
            _check_list(names, known)
        listed = [names] if isinstance(names, str) else list(names)
        if not listed:
            raise ParameterError("The 'known' parameter contains an empty set. Name the attributes that correlate.")
        return frozenset(self.candidate(name, "known") for name in listed)

    def candidate(self, name: str, parameter: str) -> str:
        """Return the candidate attribute of a name."""
        attribute = self.attribute_of.get(str(name))
        if attribute in self.sensitive or any(name in columns for columns in self.sensitive.values()):
            raise ParameterError(f"The {parameter!r} parameter names {name!r}, which is sensitive itself.")
        if attribute not in self.candidates:
            raise ParameterError(
                f"The {parameter!r} parameter names {name!r}, which is not a candidate attribute. The candidates are "
                f"{format_names(self.candidates, limit=8)}."
            )
        return attribute


def _check_list(part: Any, known: Any) -> None:
    """Refuse single names and iterators, which can be read only once: an estimator keeps its parameters."""
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
    """Split attributes into sensitive ones and candidates, leaving out excluded ones and labels, persons, identifiers.

    Whatever the groups, no column with the name of a sensitive attribute is a candidate, and no attribute that the
    schema marks as sensitive or forbidden.
    """
    together = attribute_columns(frame, frame.columns, groups)
    owner = {each: attribute for attribute, columns in together.items() for each in columns}
    owner |= {attribute: attribute for attribute in together}
    left_out = _parse_exclude(exclude, owner)
    own = dict(_find_sensitive(together, owner, name, frame) for name in sensitive)
    for attribute, columns in own.items():
        _check_sensitive(attribute, columns, schema, left_out)
    named = {*own, *(each for columns in own.values() for each in columns), *schema.with_role("sensitive")}
    stems = {stem(name) for name in named}
    candidates = {
        attribute: tuple(each for each in columns if _may_reveal(each, schema, stems) and each not in left_out)
        for attribute, columns in together.items()
        if attribute not in named and attribute not in left_out
    }
    candidates = {attribute: columns for attribute, columns in candidates.items() if columns}
    if not candidates:
        raise DataError("The data has no attribute other than the sensitive ones, so nothing can reveal them.")
    listed = {attribute: _add_siblings(attribute, own, frame) for attribute in own}
    return Sides(candidates, listed, own, owner | {attribute: attribute for attribute in own})


def _find_sensitive(
    together: dict[str, tuple[str, ...]], owner: dict[str, str], name: str, frame: nw.DataFrame[Any]
) -> tuple[str, tuple[str, ...]]:
    """Return the attribute of a name and its columns, including one-hot columns that are not grouped."""
    if name in owner:
        return owner[name], together[owner[name]]
    columns = tuple(each for each in frame.columns if stem(each) == name)
    if not columns:
        raise DataError(
            f"The sensitive attribute {name!r} is not in the data; it has {format_names(frame.columns, limit=8)}."
        )
    return name, columns


def _add_siblings(attribute: str, own: dict[str, tuple[str, ...]], frame: nw.DataFrame[Any]) -> tuple[str, ...]:
    """Return the attribute's columns, then others with its name that belong to no other sensitive attribute."""
    stems = {stem(name) for name in (attribute, *own[attribute])}
    taken = {each for columns in own.values() for each in columns}
    return (*own[attribute], *(each for each in frame.columns if stem(each) in stems and each not in taken))


def _may_reveal(name: str, schema: Schema, sensitive: set[str]) -> bool:
    usable = name in schema and schema[name].collectable and not schema[name].forbidden
    return usable and stem(name) not in sensitive


def _parse_exclude(exclude: Any, owner: dict[str, str]) -> list[str]:
    listed = [] if exclude is None else [exclude] if isinstance(exclude, str) else exclude
    if not isinstance(listed, Iterable):
        raise ParameterError(f"The 'exclude' parameter must be a list of names. Got {exclude!r} instead.")
    names = list(listed)
    for name in names:
        if not isinstance(name, str) or name not in owner:
            raise ParameterError(f"The 'exclude' parameter names {name!r}, which is not in the data.")
    return names


def _check_sensitive(attribute: str, columns: Sequence[str], schema: Schema, exclude: Sequence[str]) -> None:
    reserved = [each for each in columns if each in schema and not schema[each].collectable]
    if reserved:
        raise ParameterError(f"The column {reserved[0]!r} cannot be sensitive: it is a label, person or identifier.")
    if {attribute, *columns} & set(exclude):
        raise ParameterError(f"The attribute {attribute!r} is both sensitive and excluded; is it the label?")
