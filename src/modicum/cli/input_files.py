"""Read files: with the roles that options name, which meet the schema here alone, or as an artifact describes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from modicum.cli.options import names, notes
from modicum.errors import ArtifactError, DataError, ParameterError, format_names

if TYPE_CHECKING:
    import pandas as pd

    from modicum.engines.table import EngineTable
    from modicum.generalization import Generalization
    from modicum.table.schema import Schema


class DeclaredRoles(TypedDict):
    """What `Schema.declare` takes of columns that are there."""

    personal: list[str] | None
    identifiers: list[str] | None
    categories: list[str] | None
    person: str | None


@dataclass(frozen=True)
class Roles:
    """What the options say about columns; lists of names may hold commas."""

    label: str | None = None
    schema_file: Path | None = None
    missing: Sequence[str] | None = None
    person: str | None = None
    personal: Sequence[str] | None = None
    identifiers: Sequence[str] | None = None
    categories: Sequence[str] | None = None
    leave_out: Sequence[str] | None = None

    @cached_property
    def schema(self) -> Schema | None:
        """The schema of --schema."""
        from modicum.table.schema import Schema

        return None if self.schema_file is None else Schema.from_yaml(self.schema_file)

    def parse(self, columns: Sequence[str]) -> DeclaredRoles:
        """Parse the options into roles and categories for `Schema.declare`; refuse a column that is not there."""
        if self.person is not None and self.person not in columns:
            there = format_names(columns, limit=8)
            raise DataError(
                f"The column {self.person!r}, which says whose a row is, is not in the file; it has {there}."
            )
        return {
            "personal": names(self.personal, columns),
            "identifiers": names(self.identifiers, columns),
            "categories": names(self.categories, columns),
            "person": self.person,
        }

    def declare(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """Add the roles to a schema."""
        if self.label is not None:
            check_label(self.label, columns)
        return schema.declare(label=self.label, **self.parse(columns))

    def read(self, file: Path, check: Callable[[pd.DataFrame], None]) -> tuple[pd.DataFrame, Schema]:
        """Read a file, refuse what `check` does, and find its schema."""
        from modicum.table.files import read_table

        table = read_table(file, missing=self.missing or (), schema=self.schema)
        check(table)
        return table, self._declare_table(table, self.schema)

    def read_task(self, file: Path) -> tuple[pd.DataFrame, pd.Series, Schema]:
        """Read a file as features and label with its schema; leave out rows without a label, and say how many.

        The schema holds the texts of --missing: what is learned is applied to other files.
        """
        from modicum.table.files import read_table

        assert self.label is not None
        table = drop_unlabelled(read_table(file, missing=self.missing or (), schema=self.schema), self.label)
        table, given = self._leave_out(table)
        schema = self._declare_table(table, given)
        return table.drop(columns=[self.label]), table[self.label], schema.with_missing(self.missing or ())

    @contextmanager
    def open(self, file: Path, engine: str) -> Iterator[EngineTable]:
        """Open a file in an engine."""
        from modicum.engines.file_tables import open_table

        with open_table(file, engine, self.schema, self.missing or ()) as table:
            yield table

    def declare_at(self, table: EngineTable) -> Schema:
        """Find the schema of a table in an engine."""
        from modicum.engines.coding import schema_at

        return self.declare(schema_at(table) if self.schema is None else self.schema, table.columns)

    def _declare_table(self, table: pd.DataFrame, given: Schema | None) -> Schema:
        """Add the roles to the schema that is given, or to what a table looks like."""
        from modicum.table.schema import Schema

        return self.declare(Schema.infer(table) if given is None else given, list(table.columns))

    def _leave_out(self, table: pd.DataFrame) -> tuple[pd.DataFrame, Schema | None]:
        """Take the columns of --leave-out from table and schema."""
        unwanted, schema = names(self.leave_out, list(table.columns)) or [], self.schema
        if self.label in unwanted:
            raise ParameterError(f"The label {self.label!r} cannot be left out.")
        if schema is not None and unwanted:
            kept = tuple(attribute for attribute in schema.attributes if attribute.name not in unwanted)
            schema = schema.model_copy(update={"attributes": kept})
        return table.drop(columns=unwanted), schema


def check_label(label: str, columns: Sequence[str]) -> None:
    """Refuse a label that is not in the file."""
    if label not in columns:
        raise DataError(f"The label {label!r} is not in the file; it has {format_names(columns, limit=8)}.")


def drop_unlabelled(table: pd.DataFrame, label: str) -> pd.DataFrame:
    """Keep the rows with a label, and say how many are left out."""
    columns = list(table.columns)
    check_label(label, columns)
    if len(columns) < 2:
        raise DataError(f"The file has only the column {label!r}; there is nothing to minimize.")
    known = table[table[label].notna()]
    _say_unlabelled(len(table) - len(known), len(known), label)
    return table if len(known) == len(table) else known


def drop_unlabelled_at(table: EngineTable, label: str) -> EngineTable:
    """Keep the rows with a label of a table in an engine, and say how many are left out."""
    from modicum.engines import table_at
    from modicum.table.frames import missing_mask

    check_label(label, table.columns)
    absent = missing_mask(table.col(label), table.types[label])
    known = table_at(table.lazy.filter(~absent).to_native())
    rows = known.rows()
    _say_unlabelled(table.rows() - rows, rows, label)
    return known


def _say_unlabelled(unlabelled: int, left: int, label: str) -> None:
    if unlabelled:
        notes.print(f"{unlabelled:,} rows without a value of {label!r} are left out.", markup=False)
    if not left:
        raise DataError(f"The file has no row with a value of the label {label!r}.")


# As an artifact describes them


def load_generalization(artifact: Path) -> Generalization:
    """A saved generalization; cells, which are another kind of artifact, are refused."""
    from modicum.generalization import Generalization, load

    found = load(artifact)
    if not isinstance(found, Generalization):
        raise ArtifactError(
            f"The file {os.fspath(artifact)!r} holds cells, which this command does not take; `modicum describe` does, "
            "and in Python `md.load(path).transform(X)`."
        )
    return found


def read_judged(
    file: Path, g: Generalization, label: str | None, missing: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.Series]:
    """A file as the features and label that an artifact speaks of, all of them in full detail."""
    X, y = read_labelled(file, g, label, missing)
    absent = [name for name in g.names if name not in X.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} is not in the file; judging needs every attribute in full detail.")
    return X, y


def read_labelled(
    file: Path, g: Generalization, label: str | None, missing: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.Series]:
    """A file as records and the label that an artifact predicts, or the one that is named."""
    from modicum.table.files import read_table

    label = label_of(g, label)
    table = drop_unlabelled(read_table(file, missing=missing or (), schema=g.schema), label)
    return table.drop(columns=[label]), table[label]


def label_of(g: Generalization, label: str | None) -> str:
    """The label that is named, or the one that an artifact predicts."""
    label = label or g.schema.label
    if label is None:
        raise DataError("The generalization does not say what it predicts; name the label with --label.")
    if label in g.names:
        raise DataError(f"The column {label!r} is an attribute of this generalization, not a label.")
    return label


def parse_groups(by: Sequence[str] | None, columns: Sequence[str], label: str) -> list[str] | None:
    """Find the columns by which scores are shown; refuse the label, before any work is done."""
    found = names(by, [*(name for name in columns if name != label), label])
    if found and label in found:
        raise ParameterError(f"The column {label!r} is the label; scores by it would only repeat the error.")
    return found
