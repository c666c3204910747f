"""Compute buckets inside an engine: narwhals expressions for attributes and cells, evaluated where the data is.

This works for all lazy tables of narwhals: DuckDB relations, polars LazyFrames, Spark and Ibis tables.
"""

import datetime as dt
import importlib
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import ArtifactError, DataError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals
from modicum.generalization.representatives import representatives
from modicum.table.files import normalize_column, quote_name, quote_text
from modicum.table.frames import missing_mask
from modicum.table.values import canonical

if TYPE_CHECKING:
    from modicum.generalization.cells import CellPartition


# Convert a category's canonical text to the type of a column: integers, floats, text in both normal forms.
#
# A column of numbers is compared as numbers, because engines write numbers as text in different ways.


def as_integers(value: str) -> list[int]:
    """Convert a text that is written as an integer (not `01` or `1e3`); else return an empty list.

    Examples
    --------
    >>> from modicum.generalization.lazy import as_integers
    >>> as_integers("7"), as_integers("07")
    ([7], [])
    """
    whole = value.removeprefix("-")
    is_plain = whole.isascii() and whole.isdigit() and len(whole) < 20 and str(int(value)) == value
    return [int(value)] if is_plain and -(2**63) <= int(value) < 2**63 else []


def as_numbers(value: str) -> list[float]:
    """Convert the canonical text of a finite number; else return an empty list.

    Examples
    --------
    >>> from modicum.generalization.lazy import as_numbers
    >>> as_numbers("0.5"), as_numbers("0.50"), as_numbers("half")
    ([0.5], [], [])
    """
    try:
        number = float(value)
    except ValueError:
        return []
    return [number] if math.isfinite(number) and canonical(number) == value else []


def as_spellings(value: str) -> list[str]:
    """Return a text in normal forms C and D, for engines that cannot normalise text.

    Examples
    --------
    >>> from modicum.generalization.lazy import as_spellings
    >>> [len(spelling) for spelling in as_spellings("é")]
    [1, 2]
    """
    return list(dict.fromkeys([value, unicodedata.normalize("NFD", value)]))


# The bucket of one attribute as an expression that engines evaluate cheaply.
#
# Numbers, dates and integer categories are compared with constants of their own type by binary search:
# `CASE WHEN x <= 39 THEN CASE WHEN x <= 19 …`. Text is looked up. In engines with an enum type (DuckDB, polars),
# labels have that type, so they are stored as numbers, not as text.

_EXACT = 2**53  # integers up to here are exact as float64
FEW = 64  # at most so many labels become an enum, and so many groups get a membership test each


@dataclass(frozen=True)
class Results:
    """The output of each bucket: `values`, the members of their enum type if any, and the type to cast to if any."""

    values: list[Any]
    fixed: list[str] | None = None
    fitting: Any = None

    @property
    def constants(self) -> list[nw.Expr]:
        """The values as expressions."""
        if self.fixed is None:
            return [nw.lit(value) for value in self.values]
        return [nw.lit(value).cast(nw.Enum(self.fixed)) for value in self.values]


def results_of(partition: Dropped | Intervals | Groups, dtype: Any, output: str, words: bool) -> Results:
    """Return labels, codes or representative values; `words` says whether the engine has an enum type."""
    if output == "values":
        values, fitting = representatives(partition.attribute, partition.representatives, dtype)
        return Results(values, fitting=fitting)
    labels = list(partition.labels)
    if output == "codes":
        return Results(list(range(len(labels))))
    return Results(labels, labels if words and _plain(labels) else None)


def refuses(partition: AnyPartition) -> bool:
    """Whether the artifact refuses some values of an attribute."""
    return -1 in (getattr(partition, "missing_code", 0), getattr(partition, "unseen_code", 0))


def _plain(labels: Sequence[str]) -> bool:
    """Whether the labels can be an enum: narwhals writes them to SQL as Python literals, which must need no escapes."""
    return 2 <= len(labels) <= FEW and all(repr(label) == f"'{label}'" for label in labels)


def _at(constants: Sequence[nw.Expr], code: int) -> nw.Expr:
    return nw.lit(None) if code < 0 else constants[code]


def _interval_column(partition: Intervals, column: nw.Expr, dtype: Any, constants: Sequence[nw.Expr]) -> nw.Expr:
    if partition.attribute.kind == "date":
        column, edges = _date_edges(column, dtype, partition.edges.tolist())
        absent = column.is_null()
    else:
        column, edges, absent = _number_edges(column, dtype, partition.edges.tolist())
    buckets = list(constants[: len(edges) + 1])
    found = select_step(column, edges, buckets)
    return nw.when(absent).then(_at(constants, partition.missing_code)).otherwise(found)


def _number_edges(column: nw.Expr, dtype: Any, edges: list[float]) -> tuple[nw.Expr, list[Any], nw.Expr]:
    """Return the column, its edges and when it is missing; integers are compared with edges rounded down."""
    if dtype.is_integer() and all(abs(edge) < _EXACT for edge in edges):
        return column, [math.floor(edge) for edge in edges], column.is_null()
    number = column if dtype == nw.Float64 else column.cast(nw.Float64)
    return number, edges, missing_mask(number, nw.Float64())


def _date_edges(column: nw.Expr, dtype: Any, edges: list[float]) -> tuple[nw.Expr, list[Any]]:
    zone = getattr(dtype, "time_zone", None)
    column = column if zone is not None or dtype == nw.Datetime("us") else column.cast(nw.Datetime("us"))
    return column, [moment(edge, zone) for edge in edges]


def moment(edge: float, zone: str | None) -> dt.datetime:
    """Return the last microsecond not after an edge in seconds, in the column's time zone, as polars requires.

    Values are compared in float64, where far from 1970 several microseconds equal the edge.

    Examples
    --------
    >>> from modicum.generalization.lazy import moment
    >>> moment(0.5, None), moment(0.0, "Europe/Berlin").hour
    (datetime.datetime(1970, 1, 1, 0, 0, 0, 500000), 1)
    """
    micros = round(edge * 1e6)
    while micros / 1e6 > edge:
        micros -= 1
    while (micros + 1) / 1e6 <= edge:
        micros += 1
    start = dt.datetime(1970, 1, 1, tzinfo=None if zone is None else dt.UTC)
    found = start + dt.timedelta(microseconds=micros)
    return found if zone is None else found.astimezone(ZoneInfo(zone))


def select_step(column: nw.Expr, edges: Sequence[Any], results: Sequence[nw.Expr]) -> nw.Expr:
    """Select `results[i]` where `edges[i-1] < x <= edges[i]`, by binary search."""
    if not edges:
        return results[0]
    middle = len(edges) // 2
    below = select_step(column, edges[:middle], results[: middle + 1])
    above = select_step(column, edges[middle + 1 :], results[middle + 1 :])
    return nw.when(column <= edges[middle]).then(below).otherwise(above)


def _group_column(partition: Groups, column: nw.Expr, dtype: Any, results: Results, found: nw.Expr | None) -> nw.Expr:
    column, absent, spell = _comparable(partition.name, column, dtype)
    spelled = [[s for value in bucket.values for s in spell(value)] for bucket in partition.buckets]
    constants = results.constants
    unseen = _at(constants, partition.unseen_code)
    if found is not None:
        found = nw.when(found.is_null()).then(unseen).otherwise(found)
    elif spell is as_integers:
        found = _whole_numbers(column, spelled, constants, unseen)
    elif len(spelled) <= FEW:
        found = _few_groups(column, spelled, constants, unseen)
    else:
        found = _many_groups(column, spelled, results.values, unseen)
    return nw.when(absent).then(_at(constants, partition.missing_code)).otherwise(found)


def _whole_numbers(column: nw.Expr, spelled: list[list[int]], constants: Sequence[nw.Expr], unseen: nw.Expr) -> nw.Expr:
    """Select by steps: each run of numbers of one group, and each gap between known numbers."""
    edges: list[int] = []
    steps: list[nw.Expr] = []
    for low, high, group in _runs(spelled):
        if (not edges or low > edges[-1] + 1) and low > -(2**63):
            edges.append(low - 1)
            steps.append(unseen)
        edges.append(high)
        steps.append(constants[group])
    return select_step(column, edges, [*steps, unseen])


def _runs(spelled: list[list[int]]) -> list[tuple[int, int, int]]:
    """Find the runs of consecutive integers in one group: first, last and group."""
    found: list[tuple[int, int, int]] = []
    for value, group in sorted((value, group) for group, values in enumerate(spelled) for value in values):
        if found and found[-1][1:] == (value - 1, group):
            found[-1] = (found[-1][0], value, group)
        else:
            found.append((value, value, group))
    return found


def _few_groups(column: nw.Expr, spelled: list[list[Any]], constants: Sequence[nw.Expr], unseen: nw.Expr) -> nw.Expr:
    """Test membership in each group."""
    found = unseen
    for values, constant in reversed(list(zip(spelled, constants, strict=False))):
        if values:
            found = nw.when(column.is_in(values)).then(constant).otherwise(found)
    return found


def _many_groups(column: nw.Expr, spelled: list[list[Any]], results: Sequence[Any], unseen: nw.Expr) -> nw.Expr:
    """Look values up in a table, except values that are their own label, as in a kept attribute."""
    pairs = [(value, result) for values, result in zip(spelled, results, strict=False) for value in values]
    same = [value for value, result in pairs if value == result and isinstance(value, str)]
    rest = [(value, result) for value, result in pairs if not (value == result and isinstance(value, str))]
    found = unseen
    if rest:
        old, new = zip(*rest, strict=True)
        looked_up = column.replace_strict(list(old), list(new), default=None)
        found = nw.when(column.is_in(list(old))).then(looked_up).otherwise(unseen)
    return nw.when(column.is_in(same)).then(column).otherwise(found) if same else found


def _comparable(name: str, column: nw.Expr, dtype: Any) -> tuple[nw.Expr, nw.Expr, Any]:
    """Return the column to compare, when it is missing, and how to convert a canonical text to its type."""
    if isinstance(dtype, nw.Date | nw.Datetime | nw.Time | nw.Decimal):
        raise DataError(
            f"The column {name!r} is a category but has the type {dtype} in the engine; cast it to text first."
        )
    if dtype is not None and dtype.is_integer():
        return column, column.is_null(), as_integers
    if dtype is not None and dtype.is_numeric():
        number = column if dtype == nw.Float64 else column.cast(nw.Float64)
        return number, missing_mask(number, nw.Float64()), as_numbers
    if dtype == nw.Boolean:
        return column.cast(nw.String), column.is_null(), lambda value: [value]
    text = column if dtype == nw.String else column.cast(nw.String)
    return text, column.is_null(), as_spellings


# Look up categories with many values in DuckDB's SQL.
#
# narwhals would compare a value with one constant after another. DuckDB finds a text in an ENUM by one hash and takes
# the list entry at its position, only once per dictionary entry of a Parquet file.

MANY = 16  # values needed for a look-up


def build_lookup(partition: Groups, dtype: Any, results: Sequence[Any], fixed: Sequence[str] | None) -> str | None:
    """Write SQL that maps values to their buckets' outputs, NULL if unknown; None if a look-up does not apply.

    Parameters
    ----------
    partition : the attribute's buckets
    dtype : the column's type
    results : the output of each bucket
    fixed : the members of the results' enum type, if they have one

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md, narwhals as nw
    >>> from modicum.generalization.lazy import build_lookup
    >>> X = pd.DataFrame({"code": [str(i) for i in range(40)]})
    >>> partition = md.Uniform(buckets=2, random_state=1).fit(X).generalization_["code"]
    >>> sql = build_lookup(partition, nw.String(), [0, 1, 2, 3], None)
    >>> found = duckdb.sql(f"SELECT {sql} FROM (SELECT unnest(['7', 'x']) AS code)").fetchall()
    >>> found[1], found[0][0] == partition.code_of["7"]
    ((None,), True)
    """
    is_text = isinstance(dtype, nw.String)
    if not is_text and not (dtype is not None and dtype.is_integer()):
        return None
    pairs = {
        str(key): results[group]
        for group, bucket in enumerate(partition.buckets)
        for value in bucket.values
        for key in (as_spellings(value) if is_text else as_integers(value))
    }
    written = [_literal(result) for result in pairs.values()]
    if len(pairs) < MANY or any("\0" in key for key in pairs) or None in written:
        return None
    column = quote_name(partition.name)
    place = f"enum_code(TRY_CAST(CAST({column} AS VARCHAR) AS ENUM({', '.join(map(quote_text, pairs))}))) + 1"
    kind = "" if fixed is None else f"::ENUM({', '.join(map(quote_text, fixed))})[]"
    return f"list_extract([{', '.join(map(str, written))}]{kind}, {place})"


def _literal(value: Any) -> str | None:
    """Write a plain value in SQL; None if it cannot be an item of a list."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value!r}::DOUBLE"
    return quote_text(value) if isinstance(value, str) and "\0" not in value else None


# Generalizations in an engine

_SPARK = (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT, nw.Implementation.SQLFRAME)
_WORDS = (nw.Implementation.DUCKDB, nw.Implementation.POLARS)  # engines with an enum type


def in_engine(
    X: Any, partitions: Sequence[AnyPartition], output: str, unchanged: Sequence[str] = (), one_pass: bool = False
) -> Any:
    """Return a lazy table with the columns `unchanged` as they are, then the partitions' columns in the given form.

    If an attribute refuses values, a pass over the data looks for them at once. With `one_pass`, in engines that can
    (DuckDB, Spark), the evaluation of the result fails instead.
    """
    source = Source(X, partitions)
    columns = {name: nw.col(source.names[name]) for name in unchanged}
    columns |= {partition.name: source.bucket(partition, output) for partition in partitions}
    return select_columns(source, columns, partitions, one_pass)


def select_columns(
    source: "Source", columns: Mapping[str, nw.Expr], partitions: Sequence[AnyPartition], one_pass: bool
) -> Any:
    """Select columns by name and make sure that no value is refused."""
    named = [column.alias(name) for name, column in columns.items()]
    strict = [p for p in partitions if refuses(p)]
    if strict and one_pass and source.frame.implementation in (nw.Implementation.DUCKDB, *_SPARK):
        return _failing(source, strict, named, list(columns))
    if strict:
        _refuse(source, strict)
    return source.frame.select(*named).to_native()


class Source:
    """A lazy table prepared for narwhals: any column names, categories in normal form C.

    narwhals cannot normalise text, so this uses functions of DuckDB and polars; other engines recognise text in normal
    forms C and D. Spark reads a dot in a name as syntax, so its columns are then renamed.
    """

    def __init__(self, X: Any, partitions: Sequence[AnyPartition]) -> None:
        given: nw.LazyFrame[Any] = nw.from_native(X)
        types = given.collect_schema()
        self.types = dict(types.items())
        self.names = {name: name for name in self.types}
        words = [p.name for p in partitions if isinstance(p, Groups) and self.types.get(p.name) == nw.String]
        if given.implementation in _SPARK and any(set(".`") & set(name) for name in self.names):
            self.names = {name: f"c{i}" for i, name in enumerate(self.names)}
            X = X.toDF(*self.names.values())
        self.frame: nw.LazyFrame[Any] = nw.from_native(_normalize_texts(X, words, given) if words else X)

    def bucket(self, partition: AnyPartition, output: str) -> nw.Expr:
        """Return the attribute's label, code or representative value; a number in full detail is unchanged."""
        if not isinstance(partition, Dropped) and partition.name not in self.names:
            raise DataError(f"The column {partition.name!r} is not in the data.")
        dtype = self.types.get(partition.name)
        if isinstance(partition, FullDetail):
            if output == "codes":
                raise DataError(
                    f"The attribute {partition.name!r} is kept in full detail, so it has no bucket codes; use labels "
                    "or values."
                )
            return nw.col(self.names[partition.name])
        results = results_of(partition, dtype, output, words=self.frame.implementation in _WORDS)
        if isinstance(partition, Dropped):
            bucket = results.constants[0]
        elif isinstance(partition, Intervals):
            bucket = _interval_column(partition, nw.col(self.names[partition.name]), dtype, results.constants)
        else:
            found = self._add_lookup(partition, output, results)
            bucket = _group_column(partition, nw.col(self.names[partition.name]), dtype, results, found)
        return bucket if results.fitting is None else bucket.cast(results.fitting)

    def _add_lookup(self, partition: Groups, output: str, results: Results) -> nw.Expr | None:
        """Add a column with DuckDB's look-up of a category with many values, NULL for unknown values.

        Return None if a look-up does not apply.
        """
        if self.frame.implementation is not nw.Implementation.DUCKDB:
            return None
        sql = build_lookup(partition, self.types[partition.name], results.values, results.fixed)
        if sql is None:
            return None
        native: Any = self.frame.to_native()
        name = f"({output} looked up for {partition.name})"
        while name.casefold() in map(str.casefold, native.columns):
            name += "'"
        self.frame = nw.from_native(native.project(f"*, {sql} AS {quote_name(name)}"))
        return nw.col(name)

    def is_refused(self, partition: AnyPartition) -> nw.Expr:
        """Whether the artifact refuses the value."""
        if isinstance(partition, FullDetail):
            return missing_mask(nw.col(self.names[partition.name]), self.types[partition.name])
        code = self.bucket(partition, "codes")
        return code.is_null() | (code < 0)


def _normalize_texts(X: Any, words: Sequence[str], frame: nw.LazyFrame[Any]) -> Any:
    if frame.implementation is nw.Implementation.POLARS:
        polars = nw.get_native_namespace(frame)
        return X.with_columns(polars.col(words).str.normalize("NFC"))
    if frame.implementation is nw.Implementation.DUCKDB:
        replaced = ", ".join(f"{normalize_column(name)} AS {quote_name(name)}" for name in words)
        return X.project(f"* REPLACE ({replaced})")
    return X


def _refuse(source: Source, strict: Sequence[AnyPartition]) -> None:
    """Raise an error if a record has a value that its attribute refuses; this passes over the data."""
    sums = [source.is_refused(p).cast(nw.Int64).sum().alias(f"c{i}") for i, p in enumerate(strict)]
    counts = source.frame.select(*sums).collect()
    for i, partition in enumerate(strict):
        found = int(counts[f"c{i}"][0] or 0)
        if found:
            raise DataError(
                f"The column {partition.name!r} has {found:,} missing or unseen values, which this artifact refuses."
            )


def _failing(source: Source, strict: Sequence[AnyPartition], columns: Sequence[nw.Expr], names: Sequence[str]) -> Any:
    """Select columns so that evaluating the table fails with a message if a value is refused."""
    flags = {f"(refused {i})": partition for i, partition in enumerate(strict)}
    wanted = [source.is_refused(partition).alias(flag) for flag, partition in flags.items()]
    both: Any = source.frame.select(*columns, *wanted).to_native()
    for flag, partition in flags.items():
        sentence = f"The column {partition.name!r} has missing or unseen values, which this artifact refuses."
        both = _fails_where(both, flag, f"modicum.errors.DataError: {sentence}")
    if source.frame.implementation is nw.Implementation.DUCKDB:
        return both.project(", ".join(quote_name(name) for name in names))
    return both.drop(*flags)


def _fails_where(table: Any, flag: str, sentence: str) -> Any:
    if hasattr(table, "to_arrow_reader"):  # DuckDB
        return table.filter(f"CASE WHEN {quote_name(flag)} THEN error({quote_text(sentence)}) ELSE true END")
    functions = importlib.import_module("pyspark.sql.functions")
    fails = functions.raise_error(functions.lit(sentence)).cast("boolean")
    return table.filter(functions.when(functions.col(flag), fails).otherwise(functions.lit(True)))


# Cells inside an engine: each attribute's bucket, then the cell by the tree's questions, then the cell's output.

_CELL = "(cell)"
_DEEPEST = 40  # nested questions


def cells_in_engine(
    X: Any, cells: "CellPartition", output: str, unchanged: Sequence[str] = (), one_pass: bool = False
) -> Any:
    """Return a lazy table with the columns `unchanged` as they are, then the cells' output in the given form."""
    chosen = cells.names if output == "values" else cells.needed
    if not chosen and not unchanged:
        raise ArtifactError("These cells collect nothing, and engines have no tables without columns.")
    asked = [cells.detail[cells.names[j]] for j in cells.tree.asked]
    kept = [cells.code_buckets(name)[0] for name in cells.kept]
    source = Source(X, [*asked, *kept])
    buckets = {f"(bucket {j})": source.bucket(p, "codes") for j, p in zip(cells.tree.asked, asked, strict=True)}
    passed = {f"(unchanged {i})": nw.col(source.names[name]) for i, name in enumerate(unchanged)}
    passed |= {_name_kept_column(cells, p.name): source.bucket(p, output) for p in kept}
    inner: Any = nw.from_native(select_columns(source, buckets | passed, [*asked, *kept], one_pass))
    numbered = inner.select(*passed, _cell(cells, 0 if cells.tree.questions else -1).alias(_CELL))
    outputs = [
        nw.col(_name_kept_column(cells, name))
        if name in cells.kept
        else _build_cell_column(cells, name, output, source.types.get(name))
        for name in chosen
    ]
    columns = [*(nw.col(f"(unchanged {i})") for i in range(len(unchanged))), *outputs]
    named = zip(columns, [*unchanged, *chosen], strict=True)
    return numbered.select(*(column.alias(name) for column, name in named)).to_native()


def _cell(cells: "CellPartition", place: int, depth: int = 1) -> nw.Expr:
    """Return the number of the cell that a question leads to; `place` is a question, or ~cell."""
    if place < 0:
        return nw.lit(~place)
    if depth > _DEEPEST:
        raise ArtifactError(
            f"These cells need more than {_DEEPEST} nested questions, which engines cannot express; use a frame in "
            "memory, which has no such limit."
        )
    walk = cells.tree.walk
    left, right = (_cell(cells, int(child), depth + 1) for child in walk.children[place])
    goes_left = np.flatnonzero(np.split(walk.goes_left, walk.starts[1:])[place]).tolist()
    return nw.when(nw.col(f"(bucket {int(walk.columns[place])})").is_in(goes_left)).then(left).otherwise(right)


def _name_kept_column(cells: "CellPartition", name: str) -> str:
    return f"(kept {cells.names.index(name)})"


def _build_cell_column(cells: "CellPartition", name: str, output: str, dtype: Any) -> nw.Expr:
    """Select each cell's output of an attribute by the cell's number."""
    if output == "values":
        own = [cell.values[cells.names.index(name)] for cell in cells.tree.cells]
        values, fitting = representatives(cells.schema[name], own, dtype)
        found = _by_cell(values)
        return found if fitting is None else found.cast(fitting)
    codes = cells.cell_codes(name).tolist()
    return _by_cell(codes if output == "codes" else [cells.labels(name)[code] for code in codes])


def _by_cell(values: Sequence[Any]) -> nw.Expr:
    # The last cell of each run with the same output.
    ends = [i for i in range(len(values) - 1) if values[i] != values[i + 1]]
    steps = [nw.lit(values[i]) for i in [*ends, len(values) - 1]]
    return select_step(nw.col(_CELL), ends, steps)
