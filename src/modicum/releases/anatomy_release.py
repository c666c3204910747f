"""Two published tables of the same people, identifying and sensitive, linked only by the number of a group."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError, SchemaError, format_names
from modicum.table.codes import group_rows
from modicum.table.frames import as_frame, column, missing_values, texts
from modicum.table.inference import infer_attribute
from modicum.table.schema import Schema, require_schema
from modicum.typing import Codes

if TYPE_CHECKING:
    from modicum.releases.anatomy_files import WrittenAnatomy

GID = "GID"  # the column that links the tables, as [Mancuhan16 Definition 10] calls it


@dataclass(frozen=True, eq=False)
class GroupCandidates:
    """The sensitive values that the two tables leave possible: those of each record's group.

    Attributes
    ----------
    groups : for each row of the identifying table the number of its group, from 0 without gaps
    starts : the position in `codes` of each group's first value, and the length of `codes` at the end
    codes : the values of all groups one after another, as positions in `values`, in the order of the sensitive table
    values : the distinct values, as canonical texts
    rows : for each of `codes` its row in the sensitive table
    """

    groups: Codes
    starts: Codes
    codes: Codes
    values: tuple[str, ...]
    rows: Codes = field(repr=False)

    @property
    def sizes(self) -> Codes:
        """The number of records in each group."""
        return np.diff(self.starts)


class GroupFigures(TypedDict):
    """The figures of one sensitive attribute's groups, as plain data."""

    l: int
    groups: int
    smallest_group: int
    largest_group: int
    values: int


class AnatomyFigures(TypedDict):
    """The figures of a release, as plain data."""

    rows: int
    suppressed: int
    grouping: str | None
    l: int
    label: str | None
    identifying: list[str]
    sensitive: dict[str, GroupFigures]


@dataclass(frozen=True, eq=False)
class AnatomyRelease:
    """An identifying table and a sensitive one, as [Mancuhan16 Definition 10] publishes them.

    All values are exact. What is hidden is who in a group has which of its sensitive values.

    Attributes
    ----------
    identifying : the identifying table IT: what others may know of a person, the class, and the number of the group
    sensitive_tables : for each sensitive attribute its table ST: the number of the group and the value, in an order
        that reveals nothing
    schema : kinds and roles of all columns except the group numbers
    suppressed : number of records left out
    grouping : the grouping method, if known

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [31, 45, 62, 27], "illness": ["flu", "cold", "gout", "flu"]})
    >>> release = md.Anatomy(l=2, sensitive="illness", random_state=0).fit(X).release_
    >>> list(release.identifying.columns), list(release.sensitive.columns), release.l
    (['age', 'GID'], ['GID', 'illness'], 2)
    """

    identifying: Any = field(repr=False)
    sensitive_tables: Mapping[str, Any] = field(repr=False)
    schema: Schema = field(repr=False)
    suppressed: int = 0
    grouping: str | None = None

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def from_tables(
        cls, identifying: Any, sensitive: Any, *, label: str | None = None, schema: Schema | None = None
    ) -> "AnatomyRelease":
        """Build a release from two tables of any origin that share a column GID."""
        if schema is not None:
            require_schema(schema)
        tables = [as_frame(identifying), as_frame(sensitive)]
        names = [name for name in tables[1].columns if name != GID]
        if GID not in tables[0].columns or GID not in tables[1].columns or len(names) != 1:
            raise DataError("Both tables need the column 'GID', and the sensitive table exactly one other column.")
        if schema is not None:
            schema = schema.with_roles(sensitive=names, label=label)
        else:
            attributes = {
                name: infer_attribute(table[name]) for table in tables for name in table.columns if name != GID
            }
            schema = Schema(attributes=tuple(attributes.values())).with_roles(sensitive=names, label=label)
        return cls(identifying, {names[0]: sensitive}, schema)

    @property
    def sensitive(self) -> Any:
        """The sensitive table; for several sensitive attributes use `sensitive_tables`."""
        if len(self.sensitive_tables) > 1:
            names = format_names(self.sensitive_tables)
            raise DataError(f"The release has a sensitive table for each of {names}; use one of `sensitive_tables`.")
        return next(iter(self.sensitive_tables.values()))

    @property
    def sensitive_names(self) -> list[str]:
        """The sensitive attributes."""
        return list(self.sensitive_tables)

    @property
    def label(self) -> str | None:
        """The class column of the identifying table, if it has one."""
        return self.schema.label

    @property
    def identifying_names(self) -> list[str]:
        """The attributes of the identifying table, without the class and the group numbers."""
        taken = {self.label, *map(self.group_column, self.sensitive_tables)}
        return [str(name) for name in as_frame(self.identifying).columns if name not in taken]

    def group_column(self, sensitive: str) -> str:
        """Return the column that links this sensitive attribute's table to the identifying one."""
        return group_column(sensitive, len(self.sensitive_tables))

    @property
    def rows(self) -> int:
        """The number of released records."""
        return len(as_frame(self.identifying))

    def candidates(self, sensitive: str | None = None) -> GroupCandidates:
        """Return the sensitive values that each record may have."""
        name = self.sensitive_names[0] if sensitive is None else sensitive
        if name not in self.sensitive_tables:
            raise DataError(
                f"The release has no sensitive attribute {name!r}; it has {format_names(self.sensitive_names)}."
            )
        gid, table = self.group_column(name), as_frame(self.sensitive_tables[name])
        groups = group_rows(group_numbers(as_frame(self.identifying), gid)[:, None])
        own = group_rows(group_numbers(table, gid)[:, None])  # `_check` made sure that the numbers are the same
        order = np.argsort(own, kind="stable")
        codes, words = texts(column(table, name))
        starts = np.concatenate([[0], np.cumsum(np.bincount(own))]).astype(np.int64)
        return GroupCandidates(groups, starts, codes[order], tuple(words), order)

    @property
    def n_groups(self) -> int:
        """The number of groups of the first sensitive attribute."""
        return len(self.candidates().sizes)

    @property
    def l(self) -> int:  # noqa: E743 ([Mancuhan16] calls it ℓ, as do the parameters of Anatomy)
        """The largest ℓ for which no value is more than 1/ℓ of any group [Mancuhan16 Definition 9]."""
        return min(_diversity(self.candidates(name)) for name in self.sensitive_tables)

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns of each table, by a readable name of the table."""
        tables = {"identifying table": self.identifying}
        tables |= {f"table of {name}": table for name, table in self.sensitive_tables.items()}
        return {name: [str(column) for column in as_frame(table).columns] for name, table in tables.items()}

    def to_dict(self) -> AnatomyFigures:
        """Return the figures of the release as plain data, without any record."""
        return describe_tables(self, {name: _measure_groups(self.candidates(name)) for name in self.sensitive_tables})

    def save(self, folder: str | os.PathLike[str], *, format: str = "csv") -> None:
        """Write the tables and a description to a new folder, completely or not at all; `load` reads it."""
        from modicum.releases.anatomy_files import save_release

        save_release(self, folder, format)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "AnatomyRelease":
        """Read what `save` wrote; refuse tables that were changed or do not belong together."""
        from modicum.releases.anatomy_files import load_release

        return load_release(folder)


def _measure_groups(candidates: GroupCandidates) -> GroupFigures:
    return {
        "l": _diversity(candidates),
        "groups": len(candidates.sizes),
        "smallest_group": int(candidates.sizes.min()),
        "largest_group": int(candidates.sizes.max()),
        "values": len(candidates.values),
    }


def describe_tables(release: "AnatomyRelease | WrittenAnatomy", groups: dict[str, GroupFigures]) -> AnatomyFigures:
    """Collect the figures of a release, with the groups of each sensitive attribute."""
    return {
        "rows": release.rows,
        "suppressed": release.suppressed,
        "grouping": release.grouping,
        "l": min(each["l"] for each in groups.values()),
        "label": release.label,
        "identifying": release.identifying_names,
        "sensitive": groups,
    }


def group_column(sensitive: str, many: int) -> str:
    """Name the column of group numbers: GID, or one name each for several sensitive attributes.

    Examples
    --------
    >>> from modicum.releases.anatomy_release import group_column
    >>> group_column("illness", 1), group_column("illness", 2)
    ('GID', 'GID illness')
    """
    return GID if many == 1 else f"{GID} {sensitive}"


def _diversity(candidates: GroupCandidates) -> int:
    sizes = candidates.sizes
    pairs = np.repeat(np.arange(len(sizes)), sizes) * len(candidates.values) + candidates.codes
    pair, count = np.unique(pairs, return_counts=True)
    return int((sizes[pair // len(candidates.values)] // count).min())


def _check(release: AnatomyRelease) -> None:
    """Refuse tables that do not belong together, or a schema that does not fit them."""
    require_schema(release.schema)
    if not isinstance(release.sensitive_tables, Mapping):
        got = type(release.sensitive_tables).__name__
        raise ParameterError(
            f"The 'sensitive_tables' parameter of AnatomyRelease must be a dict of tables. Got {got} instead."
        )
    if not release.sensitive_tables:
        raise DataError("A release needs at least one sensitive table.")
    identifying = as_frame(release.identifying)
    if not len(identifying):
        raise DataError("The identifying table has no rows.")
    for name, table in release.sensitive_tables.items():
        _check_pair(identifying, as_frame(table), name, release.group_column(name))
    _check_schema(release, identifying.columns)


def _check_pair(identifying: nw.DataFrame[Any], table: nw.DataFrame[Any], name: str, gid: str) -> None:
    if name in identifying.columns:
        raise DataError(
            f"The identifying table has the sensitive column {name!r}; remove it, or the release hides nothing."
        )
    if set(table.columns) != {gid, name}:
        raise DataError(f"The sensitive table of {name!r} must have exactly the columns {gid!r} and {name!r}.")
    absent = missing_values(table[name])
    if absent:
        raise DataError(f"The sensitive table has {absent:,} rows without a value of {name!r}.")
    groups, sensitive_groups = (
        np.unique(group_numbers(each, gid), return_counts=True) for each in (identifying, table)
    )
    if not all(map(np.array_equal, groups, sensitive_groups)):
        raise DataError(
            f"The identifying table and the sensitive table of {name!r} do not belong together: their groups "
            f"(column {gid!r}) have different numbers or sizes."
        )


def _check_schema(release: AnatomyRelease, columns: Sequence[str]) -> None:
    schema, label = release.schema, release.label
    unknown = [n for n in [*release.identifying_names, *release.sensitive_tables] if n not in schema]
    if unknown or (label is not None and label not in columns):
        absent = unknown[0] if unknown else label
        raise SchemaError(f"The schema and the tables of the release disagree about the column {absent!r}.")
    kept_back = [n for n in release.identifying_names if schema[n].is_identifying or schema[n].forbidden]
    if kept_back:
        raise SchemaError(
            f"The identifying table has the column {kept_back[0]!r}, which the schema does not allow to publish."
        )


def group_numbers(table: nw.DataFrame[Any], gid: str) -> Codes:
    """Return the group number of each row; it must be a whole number.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.releases.anatomy_release import group_numbers
    >>> from modicum.table.frames import as_frame
    >>> group_numbers(as_frame(pd.DataFrame({"GID": [2, 1, 2]})), "GID").tolist()
    [2, 1, 2]
    """
    series = column(table, gid)
    absent = missing_values(series)
    if absent:
        raise DataError(f"The column {gid!r} has {absent:,} missing values; every row needs the number of its group.")
    values = series.to_numpy() if series.dtype.is_integer() else np.zeros(0)
    if values.dtype.kind not in "iu" or (values.dtype.kind == "u" and values.max(initial=0) > np.iinfo(np.int64).max):
        raise DataError(f"The column {gid!r} must hold whole numbers: the group of each row.")
    return values.astype(np.int64)
