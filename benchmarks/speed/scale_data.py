"""Tables of many million records for `scale.py`: the American Community Survey, resampled with noise by DuckDB.

Every record is one of New York's (the income task), drawn with replacement. Age and hours get noise, so that nearly
every record has a unique age; some hours are missing; some categories come from another record, and most are written
as text. Everything is drawn from a hash of the record's number, so the table does not depend on the number of threads.
"""

from pathlib import Path

import duckdb
from common import ROOT
from data import load_acs

import modicum as md

FOLDER = ROOT / "build" / "scale"
LABEL = "income_over_50000"
_MOVED = 0.02  # the share of categories taken from another record
_MISSING = 0.01  # the share of hours that are missing
_NUMBERS = {
    "AGEP": "own.AGEP + {chance}",
    "WKHP": f"CASE WHEN {{chance}} >= {_MISSING} THEN greatest(1, round(own.WKHP + 4 * {{chance}} - 2, 2)) END",
}
_WHOLE = ("SCHL", "OCCP")  # categories that stay whole numbers


def schema() -> md.Schema:
    """Return the kinds and roles of the income task."""
    known = load_acs("income").schema
    storages = {name: "text" for name in known.features if name not in _WHOLE} | dict.fromkeys(_NUMBERS, "float")
    attributes = [a.model_copy(update={"storage": storages.get(a.name, a.storage)}) for a in known]
    return md.Schema(attributes=tuple(a for a in attributes if a.name in (*known.features, LABEL)))


def people(rows: int) -> Path:
    """Return the Parquet file of the table with this many records; make it if it does not exist."""
    path = FOLDER / f"people-{rows}.parquet"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".making")
        with duckdb.connect() as connection:
            connection.execute("SET memory_limit = '3GB'; SET preserve_insertion_order = false")
            _resample(connection, rows, unfinished)
        unfinished.rename(path)
    return path


def _resample(connection: duckdb.DuckDBPyConnection, rows: int, path: Path) -> None:
    data = load_acs("income")
    features, n = data.schema.features, len(data.X)
    known = data.X.assign(**{LABEL: data.y})[[*features, LABEL]].reset_index(names="row")
    connection.register("known", known)
    columns = []
    for i, name in enumerate(features):
        chance = f"(hash(number, {i}) / 18446744073709551616::DOUBLE)"
        made = f"CASE WHEN {chance} < {_MOVED} THEN other.{name} ELSE own.{name} END"
        if name in _NUMBERS:
            made = _NUMBERS[name].format(chance=chance)
        elif name not in _WHOLE:
            made = f"CAST({made} AS VARCHAR)"
        columns.append(f'{made} AS "{name}"')
    connection.execute(f"""
        COPY (
            SELECT {", ".join(columns)}, own.{LABEL}
            FROM (
                SELECT range AS number, hash(range) % {n} AS own_row, hash(range, 'other') % {n} AS other_row
                FROM range({rows})
            )
            JOIN known AS own ON own.row = own_row
            JOIN known AS other ON other.row = other_row
        ) TO '{path}' (FORMAT parquet)
    """)
