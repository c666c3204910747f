"""Check the arguments of an anonymizer before any work: columns by purpose, and requirements on groups."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anonymizers.ranks import Ranked, RankedColumn
from modicum.errors import DataError, ParameterError, SchemaError, check_choice, check_number
from modicum.measures.requirement import DISTANCES, DIVERSITIES, Requirement, hierarchy_arrays
from modicum.table.codes import MAX_CATEGORIES, Coder
from modicum.table.estimator_input import person_codes
from modicum.table.frames import check_values, column
from modicum.table.schema import Schema
from modicum.table.targets import MAX_CLASSES, label_values
from modicum.typing import Codes

# The input of a partition: ranked quasi-identifiers and the requirements on every group.

_NOBODY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Needs:
    """The requirement on every group, and the columns it needs: sensitive values and persons.

    Parameters
    ----------
    requirement : Requirement
    sensitive : RankedColumn, optional
    persons : array, optional
        The person of each record, numbered from 0; then k counts persons.
    """

    requirement: Requirement
    sensitive: RankedColumn | None = None
    persons: Codes | None = None

    @property
    def sensitive_codes(self) -> Codes:
        return _NOBODY if self.sensitive is None else self.sensitive.codes.astype(np.int64)

    @property
    def n_sensitive(self) -> int:
        """How many sensitive values there are, including missing."""
        return 0 if self.sensitive is None else len(self.requirement.overall)

    @property
    def n_persons(self) -> int:
        """How many persons the records belong to, or 0 if unknown."""
        return 0 if self.persons is None else int(self.persons.max()) + 1

    @property
    def is_plain(self) -> bool:
        """Whether only the number of records matters."""
        return self.requirement.is_plain and self.persons is None

    def for_kernel(self) -> tuple[Any, ...]:
        """Return the arguments of `kernel`."""
        persons = _NOBODY if self.persons is None else self.persons
        columns = (self.sensitive_codes, self.n_sensitive, persons, self.n_persons)
        return (self.requirement.k, self.requirement.rule, not self.requirement.is_plain, *columns)

    def is_feasible(self) -> bool:
        """Whether one group of all records meets the requirement; otherwise no release can."""
        counts = np.bincount(self.sensitive_codes, minlength=self.n_sensitive) if self.n_sensitive else None
        enough = self.persons is None or self.n_persons >= self.requirement.k
        return enough and (counts is None or self.requirement.is_met_by(counts))


def split(ranked: Ranked, needs: Needs, *, tight: bool, relaxed: bool = False, groups: Codes | None = None) -> Codes:
    """Split all records, or groups of them, by one attribute at a time as long as both sides may be groups.

    Parameters
    ----------
    tight : choose the attribute whose two sides lose least instead of the widest
    relaxed : let equal values go to both sides
    groups : initial groups, numbered from 0; by default one group of all records
    """
    from modicum.anonymizers.kernel import split_groups  # deferred: numba takes a second to import

    start = np.zeros(len(ranked.columns[0].codes), dtype=np.int64) if groups is None else groups
    leaves: Codes = split_groups(ranked.for_kernel(), needs.for_kernel(), relaxed, tight, start)
    return leaves


# The task


@dataclass(frozen=True)
class Task:
    """The records to release, and the requirements on the release.

    Parameters
    ----------
    frame : the records
    schema : kinds and roles
    ranked : the quasi-identifiers
    needs : the requirements on every group
    label : each record's class, if the label has classes
    guide : each record's class that a guided method learns
    model : the model that predicts the guide, if any
    coding : for a part of a larger table, the coder of the whole table's quasi-identifiers and its number of classes
    """

    frame: nw.DataFrame[Any]
    schema: Schema
    ranked: Ranked
    needs: Needs
    label: Codes | None
    guide: Codes | None = None
    model: Any = None
    coding: tuple[Coder, int] | None = None

    @property
    def names(self) -> list[str]:
        """The quasi-identifiers."""
        return [each.attribute.name for each in self.ranked.columns]

    def some(self, rows: Codes) -> "Task":
        """Select some of the records."""
        needs = replace(
            self.needs,
            sensitive=None if self.needs.sensitive is None else self.needs.sensitive.some(rows),
            persons=None if self.needs.persons is None else self.needs.persons[rows],
        )
        ranked = Ranked(tuple(each.some(rows) for each in self.ranked.columns))
        label, guide = (None if codes is None else codes[rows] for codes in (self.label, self.guide))
        return Task(self.frame[rows], self.schema, ranked, needs, label, guide, self.model)

    @property
    def published(self) -> list[str]:
        """The released columns: all except those that identify a person."""
        return [name for name in self.frame.columns if name not in self.schema or not self.schema[name].is_identifying]


def parts_of(owner: Any, schema: Schema) -> tuple[list[str], str | None]:
    """Return the quasi-identifiers and the sensitive attribute, from the anonymizer or the schema."""
    check_number(owner, "k", 2)
    sensitive = _find_sensitive(owner, schema)
    return _find_quasi_identifiers(owner, schema, sensitive), sensitive


def task_of(owner: Any, frame: nw.DataFrame[Any], schema: Schema, y: Any) -> Task:
    """Check the arguments of an anonymizer.

    Parameters
    ----------
    owner : the anonymizer, with k, quasi_identifiers, l, diversity, c, t, distance and sensitive
    frame : the records
    schema : their schema
    y : the label, or None
    """
    names, sensitive = parts_of(owner, schema)
    if not len(frame):
        raise DataError("The data has 0 rows, so there is nothing to release.")
    for name in [*names, *([] if sensitive is None else [sensitive])]:
        check_values(schema[name], column(frame, name))
    if owner.k > len(frame):
        many = "is only 1 sample" if len(frame) == 1 else f"are only {len(frame):,} records"
        raise DataError(f"The 'k' parameter of {type(owner).__name__} is {owner.k:,}, but there {many}.")
    ranked = Ranked.of(frame, schema, names)
    return Task(frame, schema, ranked, _build_needs(owner, frame, schema, sensitive), class_codes(y, len(frame)))


def _find_sensitive(owner: Any, schema: Schema) -> str | None:
    given = owner.sensitive
    if given is None:
        declared = schema.with_role("sensitive")
        if owner.l is None and owner.t is None:
            return declared[0] if len(declared) == 1 else None
        given = declared
    named = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not named and (owner.l is not None or owner.t is not None):
        raise ParameterError("With l or t, the 'sensitive' parameter must name the attribute to protect.")
    if len(named) > 1:
        raise ParameterError("The 'sensitive' parameter must name one attribute; join several into one column first.")
    _check_names(named, schema, "sensitive")
    if named and not schema[named[0]].collectable and schema[named[0]].roles != ("label",):
        role = schema[named[0]].roles[0]
        raise SchemaError(f"The attribute {named[0]!r} has the role {role!r}, so it cannot be sensitive.")
    return str(named[0]) if named else None


def _find_quasi_identifiers(owner: Any, schema: Schema, sensitive: str | None) -> list[str]:
    given = owner.quasi_identifiers
    if isinstance(given, str) or (given is not None and not isinstance(given, Iterable)):
        raise ParameterError(f"The 'quasi_identifiers' parameter must be a list of names. Got {given!r} instead.")
    declared = schema.with_role("quasi-identifier") or [
        n for n in schema.features if n not in schema.with_role("sensitive")
    ]
    names = declared if given is None else list(dict.fromkeys(map(str, given)))
    _check_names(names, schema, "quasi_identifiers")
    if sensitive is not None and given is None:
        names = [name for name in names if name != sensitive or name in schema.with_role("quasi-identifier")]
    if sensitive in names:
        raise ParameterError(f"The attribute {sensitive!r} cannot be both a quasi-identifier and sensitive.")
    if not names:
        raise ParameterError("No attribute is a quasi-identifier; name at least one.")
    refused = [name for name in names if not schema[name].collectable]
    if refused:
        role = schema[refused[0]].roles[0]
        raise SchemaError(f"The attribute {refused[0]!r} has the role {role!r}, so it cannot be a quasi-identifier.")
    return names


def _check_names(names: Sequence[Any], schema: Schema, parameter: str) -> None:
    for name in names:
        if name not in schema:
            raise ParameterError(f"The {parameter!r} parameter names {name!r}, which is not in the data.")


def _build_needs(owner: Any, frame: nw.DataFrame[Any], schema: Schema, sensitive: str | None) -> Needs:
    persons = person_codes(schema, frame)
    if owner.l is None and owner.t is None:
        needs = Needs(Requirement(owner.k), None, persons)
    else:
        check_limits(owner)
        ranked = RankedColumn.of(column(frame, str(sensitive)), schema[str(sensitive)])
        needs = Needs(requirement_of(owner, ranked, np.bincount(ranked.codes)), ranked, persons)
    if not needs.is_feasible():
        raise DataError(why_not(owner, needs, sensitive))
    return needs


def check_limits(owner: Any) -> None:
    """Refuse invalid values of l, t and their options."""
    if owner.l is not None:
        check_choice(owner, "diversity", DIVERSITIES)
        check_number(owner, "l", 1 if owner.diversity == "entropy" else 2, whole=owner.diversity != "entropy")
        if owner.diversity == "recursive":
            check_number(owner, "c", 1e-9, 1e9, whole=False)
    if owner.t is not None:
        check_number(owner, "t", 0, 1, whole=False)
        if owner.distance is not None:
            check_choice(owner, "distance", DISTANCES)


def requirement_of(owner: Any, sensitive: RankedColumn, counts: Codes) -> Requirement:
    """Build the requirement on every group; `counts` are the records of each sensitive value, missing last.

    The default distance follows the attribute: by hierarchy, by order, or all values equally distant.
    """
    many = len(sensitive.values) + int(counts[len(sensitive.values) :].any())
    if many > MAX_CATEGORIES:
        raise DataError(
            f"The sensitive attribute {sensitive.attribute.name!r} has {many:,} different values, more than "
            f"{MAX_CATEGORIES:,}; group them into ranges first."
        )
    overall = np.append(counts, np.zeros(max(0, many - len(counts)), dtype=np.int64))[:many] / counts.sum()
    name, tree, distance = sensitive.attribute.name, sensitive.attribute.hierarchy, owner.distance
    if distance is None:
        distance = "hierarchical" if tree else "ordered" if sensitive.attribute.has_order else "equal"
    if owner.t is not None and distance == "ordered" and not sensitive.attribute.has_order:
        raise ParameterError(f"The ordered distance needs an order of {name!r}; add it to the schema.")
    parents, heights = np.zeros(0, dtype=np.int64), np.zeros(0)
    if distance == "hierarchical":
        if not tree:
            raise ParameterError(f"The hierarchical distance needs a hierarchy of {name!r}; add it to the schema.")
        absent = sum(value not in tree for value in sensitive.values)
        if absent:
            raise SchemaError(f"The hierarchy of {name!r} lacks {absent:,} of its values; add them to the schema.")
        values = [tree[value] for value in sensitive.values]
        parents, heights = hierarchy_arrays(list(tree.values()), values + [()] * (many - len(values)))
    return Requirement(owner.k, owner.l, owner.diversity, owner.c, owner.t, distance, overall, parents, heights)


def why_not(owner: Any, needs: Needs, sensitive: str | None) -> str:
    """Explain why these records cannot be released even as one group."""
    if needs.persons is not None and needs.n_persons < owner.k:
        many = needs.n_persons
        return f"The 'k' parameter of {type(owner).__name__} is {owner.k:,}, but there are only {many:,} persons."
    if owner.l > needs.n_sensitive:
        many = needs.n_sensitive
        return f"The sensitive attribute {sensitive!r} has {many:,} different values, fewer than l = {owner.l}."
    return (
        f"Even all records together are not {owner.diversity} l-diverse in {sensitive!r} with l = {owner.l}: one value "
        "is too frequent."
    )


def class_codes(y: Any, n: int) -> Codes | None:
    """Code the label as class numbers; None without a label, or for a number with many values.

    Examples
    --------
    >>> from modicum.anonymizers.task import class_codes
    >>> class_codes(["no", "yes", "no"], 3).tolist()
    [0, 1, 0]
    """
    if y is None:
        return None
    values = label_values(y, n)
    distinct, codes = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
    return None if values.dtype.kind in "iuf" and len(distinct) > MAX_CLASSES else codes
