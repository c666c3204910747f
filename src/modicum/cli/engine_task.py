"""The task of `modicum minimize` where its file is too large to be read: counted in an engine, or on a sample of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from modicum.cli.options import names, notes
from modicum.engines.coding import schema_at
from modicum.engines.file_tables import opened, table_at
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError, quoted
from modicum.generalization import Generalization
from modicum.table.schema import Schema


@dataclass(frozen=True)
class Roles:
    """What the command line says of the columns."""

    label: str
    schema_file: Path | None
    missing: Sequence[str]
    person: str | None
    personal: Sequence[str] | None
    identifiers: Sequence[str] | None
    categories: Sequence[str] | None

    @property
    def given(self) -> Schema | None:
        return None if self.schema_file is None else Schema.from_yaml(self.schema_file)

    def applied(self, schema: Schema, columns: list[str]) -> Schema:
        """The schema with the roles that were given."""
        schema = schema.with_missing(self.missing)
        for name in names(self.categories, columns) or []:
            schema = schema.replace(name, kind="category")
        return schema.with_roles(
            label=self.label,
            person=self.person,
            personal=names(self.personal, columns),
            identifiers=names(self.identifiers, columns),
        )


def check_options(unwanted: dict[str, Any]) -> None:
    """Refuse options that need the records themselves, where they stay in the engine."""
    given = [option for option, value in unwanted.items() if value is not None]
    if given:
        raise ParameterError(
            f"{given[0]} needs the records in memory: leave it out, or draw some of them with --sample."
        )


def fitted_in(
    file: Path, engine: str, roles: Roles, label_bins: int | None, settings: dict[str, Any]
) -> Generalization:
    """PAT's generalization of all records of a file, from counts."""
    from modicum.minimizers import PrivacyTree

    with labelled_in(file, engine, roles) as table:
        given = roles.given
        schema = roles.applied(schema_at(table, table.columns) if given is None else given, table.columns)
        with notes.status("Learning what is needed …"):
            method = PrivacyTree(label_bins=label_bins, schema=schema, **settings).fit(table, roles.label)
    found: Generalization = method.generalization_
    return found


def drawn_in(file: Path, engine: str, roles: Roles, sample: int, seed: int) -> Any:
    """Records drawn by an engine, as features, label and schema; and others to check with."""
    from modicum.minimizers.sample_check import drawn

    with labelled_in(file, engine, roles) as table, notes.status("Drawing records …"):
        learning, other = drawn(table, roles.label, sample, seed)
    X, given = learning.X.to_pandas(), roles.given
    found = Schema.infer(X.assign(**{roles.label: learning.y.to_numpy()})) if given is None else given
    return X, learning.y, roles.applied(found, [*X.columns, roles.label]), other


def checked(g: Generalization, X: Any, y: Any, other: Any, label_bins: int | None) -> Any:
    """Whether what was learned from the records drawn holds on the others."""
    from modicum.minimizers.sample_check import answers_to, compared
    from modicum.table.targets import Labels

    answers = answers_to(g, X, other.X.to_pandas())
    return compared(*answers, Labels.fit(y, label_bins), y, other.y)


@contextmanager
def labelled_in(file: Path, engine: str, roles: Roles) -> Iterator[EngineTable]:
    """The file's records that have a label; how many have none is said."""
    with opened(file, engine, roles.given, roles.missing) as table:
        if roles.label not in table.columns:
            raise DataError(f"The label {roles.label!r} is not in the file; it has {quoted(table.columns, limit=8)}.")
        known = table_at(table.lazy.filter(~nw.col(roles.label).is_null()).to_native())
        rows = known.rows()
        unlabelled = table.rows() - rows
        if unlabelled:
            notes.print(f"{unlabelled:,} rows without a value of {roles.label!r} are left out.", markup=False)
        if not rows:
            raise DataError(f"The file has no row with a value of the label {roles.label!r}.")
        yield known
