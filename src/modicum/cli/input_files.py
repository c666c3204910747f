"""Read input files, with the roles that the options name or as an artifact describes them."""

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
    from modicum.generalization.loading import Collected
    from modicum.table.schema import Schema


class DeclaredRoles(TypedDict):
    """Arguments of `Schema.declare`, checked against the columns of a file."""

    personal: list[str] | None
    identifiers: list[str] | None
    categories: list[str] | None
    person: str | None


@dataclass(frozen=True)
class Roles:
    """What the options say about columns; an entry of a list may hold several names, separated by commas."""

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
        """The schema in the file of --schema, if there is one."""
        from modicum.table.schema import Schema

        return None if self.schema_file is None else Schema.from_yaml(self.schema_file)

    def parse(self, columns: Sequence[str]) -> DeclaredRoles:
        """Parse the options into arguments for `Schema.declare`; refuse columns that the file lacks."""
        if self.person is not None and self.person not in columns:
            raise DataError(
                f"The column {self.person!r} of --person is not in the file; it has {format_names(columns, limit=8)}."
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
        """Read a file, run `check` on it, and return it with its schema."""
        from modicum.table.files import read_table

        table = read_table(file, missing=self.missing or (), schema=self.schema)
        check(table)
        return table, self._declare_table(table, self.schema)

    def read_task(self, file: Path) -> tuple[pd.DataFrame, pd.Series, Schema]:
        """Read a file as features, label and schema; drop rows without a label and print how many.

        The schema includes the texts of --missing, because its artifact is applied to other files.
        """
        from modicum.table.files import read_table

        assert self.label is not None
        table = drop_unlabelled(read_table(file, missing=self.missing or (), schema=self.schema), self.label)
        table, given = self._leave_out(table)
        schema = self._declare_table(table, given)
        return table.drop(columns=[self.label]), table[self.label], schema.with_missing(self.missing or ())

    @contextmanager
    def open(self, file: Path, engine: str) -> Iterator[EngineTable]:
        """Open a file as a table in an engine."""
        from modicum.engines.file_tables import open_table

        with open_table(file, engine, self.schema, self.missing or ()) as table:
            yield table

    def declare_at(self, table: EngineTable) -> Schema:
        """Return the schema of a table in an engine, with the roles."""
        from modicum.engines.coding import schema_at

        return self.declare(schema_at(table) if self.schema is None else self.schema, table.columns)

    def _declare_table(self, table: pd.DataFrame, given: Schema | None) -> Schema:
        """Add the roles to the given schema, or to one inferred from the table."""
        from modicum.table.schema import Schema

        return self.declare(Schema.infer(table) if given is None else given, list(table.columns))

    def _leave_out(self, table: pd.DataFrame) -> tuple[pd.DataFrame, Schema | None]:
        """Remove the columns of --leave-out from table and schema."""
        unwanted, schema = names(self.leave_out, list(table.columns)) or [], self.schema
        if self.label in unwanted:
            raise ParameterError(f"The label {self.label!r} cannot be left out.")
        if schema is not None and unwanted:
            attributes = tuple(each for each in schema.attributes if each.name not in unwanted)
            schema = schema.model_copy(update={"attributes": attributes})
        return table.drop(columns=unwanted), schema


def check_label(label: str, columns: Sequence[str]) -> None:
    """Refuse a label that is not in the file."""
    if label not in columns:
        raise DataError(f"The label {label!r} is not in the file; it has {format_names(columns, limit=8)}.")


def drop_unlabelled(table: pd.DataFrame, label: str) -> pd.DataFrame:
    """Drop rows without a label and print how many."""
    columns = list(table.columns)
    check_label(label, columns)
    if len(columns) < 2:
        raise DataError(f"The file has only the column {label!r}; there is nothing to minimize.")
    known = table[table[label].notna()]
    _report_unlabelled(len(table) - len(known), len(known), label)
    return table if len(known) == len(table) else known


def drop_unlabelled_at(table: EngineTable, label: str) -> EngineTable:
    """Drop rows without a label from a table in an engine and print how many."""
    from modicum.engines import table_at
    from modicum.table.frames import missing_mask

    check_label(label, table.columns)
    absent = missing_mask(table.col(label), table.types[label])
    known = table_at(table.lazy.filter(~absent).to_native())
    rows = known.rows()
    _report_unlabelled(table.rows() - rows, rows, label)
    return known


def _report_unlabelled(unlabelled: int, left: int, label: str) -> None:
    if unlabelled:
        notes.print(f"{unlabelled:,} rows without a value of {label!r} are left out.", markup=False)
    if not left:
        raise DataError(f"The file has no row with a value of the label {label!r}.")


# Files that an artifact describes


def load_generalization(artifact: Path) -> Generalization:
    """Load a saved generalization; refuse cells."""
    from modicum.generalization import Generalization, load

    found = load(artifact)
    if not isinstance(found, Generalization):
        raise ArtifactError(
            f"The file {os.fspath(artifact)!r} holds cells, which this command cannot use. Use `modicum describe`, "
            "or in Python `md.load(path).transform(X)`."
        )
    return found


def load_collected(artifact: Path, questionnaire: bool) -> Collected:
    """Load an artifact, as a questionnaire if wanted."""
    from modicum.generalization import CellPartition, Questionnaire, load

    found = load(artifact)
    if not questionnaire:
        return found
    if not isinstance(found, CellPartition):
        raise ParameterError(
            f"A questionnaire needs cells, but {os.fspath(artifact)!r} holds a generalization; leave out "
            "--questionnaire."
        )
    return Questionnaire(found)


def read_judged(
    file: Path, g: Generalization, label: str | None, missing: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.Series]:
    """Read a file as features and label; every attribute of the artifact must be in it."""
    X, y = read_labelled(file, g, label, missing)
    absent = [name for name in g.names if name not in X.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} is not in the file; judging needs every attribute in full detail.")
    return X, y


def read_labelled(
    file: Path, g: Generalization, label: str | None, missing: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.Series]:
    """Read a file as features and label: the named label, else the one that the artifact predicts."""
    from modicum.table.files import read_table

    label = label_of(g, label)
    table = drop_unlabelled(read_table(file, missing=missing or (), schema=g.schema), label)
    return table.drop(columns=[label]), table[label]


def label_of(g: Generalization, label: str | None) -> str:
    """Return the named label, else the one that the artifact predicts."""
    label = label or g.schema.label
    if label is None:
        raise DataError("The generalization does not say what it predicts; name the label with --label.")
    if label in g.names:
        raise DataError(f"The column {label!r} is an attribute of this generalization, not a label.")
    return label


def parse_groups(by: Sequence[str] | None, columns: Sequence[str], label: str) -> list[str] | None:
    """Parse the columns of --by; refuse the label."""
    found = names(by, [*(name for name in columns if name != label), label])
    if found and label in found:
        raise ParameterError(f"The column {label!r} is the label; scores by it would only repeat the error.")
    return found
