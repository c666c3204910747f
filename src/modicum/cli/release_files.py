"""Read and write files for `modicum anonymize` and `anatomize`; other columns stay unchanged."""

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.cli.input_files import Roles
from modicum.cli.options import names
from modicum.errors import DataError, ParameterError, PrivacyWarning, format_names
from modicum.table.atomic_writing import replacing
from modicum.table.files import (
    file_format,
    open_connection,
    quote_name,
    scan_table,
    scan_typed,
    write_table,
)
from modicum.table.schema import Schema

if TYPE_CHECKING:
    from modicum.anonymizers.base import Anonymizer
    from modicum.engines.table import EngineTable
    from modicum.releases import Release


_KEPT = "\1kept"  # not the name of a column in any file


def read_records(file: Path, roles: Roles) -> tuple[pd.DataFrame, Schema]:
    """Read a file with its schema; refuse columns that no release can hold."""
    return roles.read(file, _check_columns)


def _check_columns(table: pd.DataFrame) -> None:
    folded = [str(name).casefold() for name in table.columns]
    for name, own in zip(table.columns, folded, strict=True):
        if folded.count(own) > 1:
            raise DataError(f"The column {name!r} appears more than once (case is ignored); rename one.")
        first = table[name].dropna().head(1)
        if table[name].dtype == object and len(first) and isinstance(first.iloc[0], list | dict | np.ndarray):
            raise DataError(f"The column {name!r} holds lists or similar values; remove it from the file.")


def parse_quasi_identifiers(given: Sequence[str] | None, columns: Sequence[str], schema: Schema) -> list[str] | None:
    """Parse --quasi-identifiers; the schema must describe them all."""
    found = names(given, columns)
    unknown = [name for name in found or [] if name not in schema]
    if unknown:
        raise DataError(f"The schema does not describe the column {unknown[0]!r}.")
    return found


def check_release_options(
    table: pd.DataFrame, schema: Schema, by: Sequence[str] | None, population: int | None
) -> list[str] | None:
    """Check the options of a release's report; return the columns of --by."""
    from modicum.measures.uniqueness import check_population
    from modicum.reporting.disclosure import check_people

    people = check_people(schema, table, "records")
    if population is not None:
        check_population(population, people)
    if by and schema.label is None:
        raise ParameterError("The option --by shows a model's error by group: name what it predicts with --label.")
    return names(by, schema.features, "the model's features")


def write_records(file: Path, output: Path, release: "Release", schema: Schema, rows: Any) -> None:
    """Write a release; other columns are copied from the file, from CSV to CSV as exactly the same text."""
    released = _narrow_types(release.frame[list(release.quasi_identifiers)].reset_index(drop=True), schema, output)
    with open_connection() as connection, replacing(output) as temporary:
        connection.execute("SET threads = 1")  # rows stay in their order
        as_text = file_format(output) == "csv"
        source = scan_table(connection, file, Schema(attributes=())) if as_text else scan_typed(connection, file)
        if rows is not None:
            whole = pd.DataFrame(index=range(len(source)))
            whole[_KEPT] = np.isin(np.arange(len(source)), rows)
            released = whole.join(released.set_axis(rows))
        chosen = [
            f"{'released' if name in released.columns else 'source'}.{quote_name(name)}"
            for name in release.frame.columns
        ]
        where = "" if rows is None else f" WHERE released.{quote_name(_KEPT)}"
        sql = f"SELECT {', '.join(chosen)} FROM source POSITIONAL JOIN released{where}"
        write_table(connection.sql(sql), temporary)


def _narrow_types(released: pd.DataFrame, schema: Schema, output: Path) -> pd.DataFrame:
    """Convert whole numbers and days back, if the file was read with wider types."""
    for name, values in released.items():
        kind = schema[str(name)].storage if schema[str(name)].kind != "date" else "date"
        if kind == "integer" and pd.api.types.is_float_dtype(values.dtype) and (values.dropna() % 1 == 0).all():
            released[name] = values.astype("Int64")
        elif pd.api.types.is_datetime64_any_dtype(values.dtype) and file_format(output) == "csv":
            days = values.dropna()
            if (days == days.dt.normalize()).all():
                released[name] = values.dt.date
    return released


def anonymize_in_engine(
    file: Path,
    output: Path,
    engine: str,
    roles: Roles,
    anonymizer: "Anonymizer",
    rows_at_once: int | None,
    quasi_identifiers: Sequence[str] | None,
) -> "tuple[Release, float | None]":
    """Anonymize files in an engine; return the release and the share of the most frequent label."""
    from modicum.anonymizers.task import parts_of

    with roles.open(file, engine) as table:
        schema = roles.declare_at(table)
        named = parse_quasi_identifiers(quasi_identifiers, table.columns, schema)
        anonymizer.set_params(quasi_identifiers=named, schema=schema)
        quasi, sensitive = parts_of(anonymizer, schema)
        typed = _type_whole_numbers(table, schema, [*quasi, *([] if sensitive is None else [sensitive])])
        write = partial(anonymizer.release_to, typed, output, schema.label)
        release = (write() if rows_at_once is None else write(rows_at_once=rows_at_once)).release_
        return release, None if schema.label is None else _most_frequent(table, schema.label)


def _type_whole_numbers(table: "EngineTable", schema: Schema, names: Sequence[str]) -> "EngineTable":
    """Convert whole numbers back, if the table was read with wider types because of the schema."""
    from modicum.engines import table_at
    from modicum.engines.table import collect_arrow
    from modicum.table.frames import missing_mask

    wide = [
        name
        for name in names
        if schema[name].kind == "number" and schema[name].storage == "integer" and table.types[name].is_float()
    ]
    if not wide:
        return table
    known = {name: nw.when(~missing_mask(nw.col(name), table.types[name])).then(nw.col(name)) for name in wide}
    odd = collect_arrow(table.lazy.select(*((known[name] % 1 != 0).cast(nw.Int64).sum().alias(name) for name in wide)))
    decimals = [name for name in wide if odd[name][0]]
    if decimals:
        raise DataError(f"The column {decimals[0]!r} holds decimals, but the schema says whole numbers; correct it.")
    return table_at(table.lazy.with_columns(*(known[name].cast(nw.Int64).alias(name) for name in wide)).to_native())


def _most_frequent(table: "EngineTable", label: str) -> float:
    from modicum.engines.table import COUNT

    counts = table.count_by([label])[COUNT].to_numpy()
    return float(counts.max() / counts.sum())


def anatomize_in_engine(
    file: Path,
    output: Path,
    engine: str,
    roles: Roles,
    anatomy: Any,
    sensitive: Sequence[str] | None,
    format: str,
    drop_missing: bool,
) -> tuple[int, list[str]]:
    """Anatomize files in an engine; return how many rows lack a sensitive value, and the warnings."""
    with roles.open(file, engine) as table, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        schema = roles.declare_at(table)
        protected = parse_sensitive(sensitive, schema, table.columns)
        there, unknown = _drop_missing_values(table, protected, schema.label, drop_missing)
        anatomy.set_params(sensitive=protected, schema=schema).release_to(there, output, format=format)
    return unknown, [str(each.message) for each in caught if issubclass(each.category, PrivacyWarning)]


def parse_sensitive(given: Sequence[str] | None, schema: Schema, columns: Sequence[str]) -> list[str]:
    """Return the columns to protect: those named, else the schema's."""
    found = schema.with_role("sensitive") if given is None else list(dict.fromkeys(names(given, columns) or []))
    if not found:
        raise ParameterError("Name the column to protect with --sensitive, or in the schema.")
    if schema.label in found:
        raise ParameterError(f"The column {schema.label!r} cannot be both the class and sensitive.")
    return found


def _drop_missing_values(
    table: "EngineTable", sensitive: list[str], label: str | None, drop: bool
) -> "tuple[EngineTable, int]":
    """Return the rows with a label and all sensitive values, and how many lack a sensitive value."""
    from modicum.engines import table_at
    from modicum.engines.table import COUNT, collect_arrow
    from modicum.table.frames import missing_mask

    absent = {name: missing_mask(nw.col(name), table.types[name]) for name in [*sensitive, *([label] if label else [])]}
    lazy = table.lazy if label is None else table.lazy.filter(~absent[label])
    lacking = nw.any_horizontal(*(absent[name] for name in sensitive), ignore_nulls=False)
    many = int(collect_arrow(lazy.filter(lacking).select(nw.len().alias(COUNT)))[COUNT][0])
    if many and not drop:
        raise DataError(
            f"{many:,} rows have no value of {format_names(sensitive)}; leave them out with --drop-missing."
        )
    return table_at(lazy.filter(~lacking).to_native()), many
