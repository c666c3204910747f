"""The same buckets inside an engine: one narwhals expression per attribute, evaluated where the data is.

Works on whatever narwhals can push down to: DuckDB relations, polars LazyFrames, Spark and Ibis tables.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from modicum.errors import DataError
from modicum.generalization.bins import AnyPartition, Dropped, Groups
from modicum.generalization.lazy_columns import bucket_column, refused, results_of
from modicum.generalization.lazy_lookup import looked_up
from modicum.table.files import normalised, quoted_name, quoted_text

_SPARK = (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT, nw.Implementation.SQLFRAME)
_WORDS = (nw.Implementation.DUCKDB, nw.Implementation.POLARS)  # have a type for a fixed list of words


def in_engine(
    X: Any, partitions: Sequence[AnyPartition], output: str, beside: Sequence[str] = (), one_pass: bool = False
) -> Any:
    """A lazy table with the partitions' columns, in the given form, behind the columns `beside` as they are.

    What an attribute refuses is looked for at once, which costs a pass over the data where one refuses anything; with
    `one_pass`, where the engine can (DuckDB, Spark), it is found when the result is evaluated, and fails that.
    """
    source = Source(X, partitions)
    columns = {name: nw.col(source.names[name]) for name in beside}
    columns |= {partition.name: source.bucket(partition, output) for partition in partitions}
    return selected(source, columns, partitions, one_pass)


def selected(
    source: "Source", columns: Mapping[str, nw.Expr], partitions: Sequence[AnyPartition], one_pass: bool
) -> Any:
    """The columns by name, of a table in which no value is refused."""
    named = [column.alias(name) for name, column in columns.items()]
    strict = [p for p in partitions if -1 in (getattr(p, "missing_code", 0), getattr(p, "unseen_code", 0))]
    if strict and one_pass and source.frame.implementation in (nw.Implementation.DUCKDB, *_SPARK):
        return _failing(source, strict, named, list(columns))
    if strict:
        _refuse(source, strict)
    return source.frame.select(*named).to_native()


class Source:
    """A lazy table as narwhals can ask for its columns, whatever their names, with categories in normal form C.

    narwhals cannot normalise text, so DuckDB and polars are asked in their own words; elsewhere a text is recognised
    in normal forms C and D. Spark takes a dot in a name for syntax, so there such columns get another one.
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
        self.frame: nw.LazyFrame[Any] = nw.from_native(_normalised(X, words, given) if words else X)

    def bucket(self, partition: AnyPartition, output: str) -> nw.Expr:
        if isinstance(partition, Dropped):
            column = nw.lit(None)
        elif partition.name in self.names:
            column = nw.col(self.names[partition.name])
        else:
            raise DataError(f"The column {partition.name!r} is not in the data.")
        words, dtype = self.frame.implementation in _WORDS, self.types.get(partition.name)
        return bucket_column(partition, column, dtype, output, words, self._looked_up(partition, output))

    def _looked_up(self, partition: AnyPartition, output: str) -> nw.Expr | None:
        """A column of the frame, made for this, with what DuckDB has looked up for a category with many values."""
        if self.frame.implementation is not nw.Implementation.DUCKDB or not isinstance(partition, Groups):
            return None
        dtype = self.types[partition.name]
        results = results_of(partition, dtype, output, words=True)
        sql = looked_up(partition, dtype, results.values, results.fixed)
        if sql is None:
            return None
        native: Any = self.frame.to_native()
        name = f"({output} looked up for {partition.name})"
        while name.casefold() in map(str.casefold, native.columns):
            name += "'"
        self.frame = nw.from_native(native.project(f"*, {sql} AS {quoted_name(name)}"))
        return nw.col(name)

    def refused(self, partition: AnyPartition) -> nw.Expr:
        column, dtype = nw.col(self.names[partition.name]), self.types[partition.name]
        return refused(partition, column, dtype, self._looked_up(partition, "codes"))


def _normalised(X: Any, words: Sequence[str], frame: nw.LazyFrame[Any]) -> Any:
    if frame.implementation is nw.Implementation.POLARS:
        polars = nw.get_native_namespace(frame)
        return X.with_columns(polars.col(words).str.normalize("NFC"))
    if frame.implementation is nw.Implementation.DUCKDB:
        replaced = ", ".join(f"{normalised(name)} AS {quoted_name(name)}" for name in words)
        return X.project(f"* REPLACE ({replaced})")
    return X


def _refuse(source: Source, strict: Sequence[AnyPartition]) -> None:
    """Raise where a record has a value that its attribute refuses: a pass over the data."""
    sums = [source.refused(p).cast(nw.Int64).sum().alias(f"c{i}") for i, p in enumerate(strict)]
    counts = source.frame.select(*sums).collect()
    for i, partition in enumerate(strict):
        found = int(counts[f"c{i}"][0] or 0)
        if found:
            raise DataError(
                f"The column {partition.name!r} has {found:,} missing or unseen values, which this artifact refuses."
            )


def _failing(source: Source, strict: Sequence[AnyPartition], columns: Sequence[nw.Expr], names: Sequence[str]) -> Any:
    """The columns, of a table whose evaluation fails with a sentence where a record has a value that is refused."""
    flags = {f"(refused {i})": partition for i, partition in enumerate(strict)}
    wanted = [source.refused(partition).alias(flag) for flag, partition in flags.items()]
    both: Any = source.frame.select(*columns, *wanted).to_native()
    for flag, partition in flags.items():
        both = _fails_where(both, flag, f"modicum.errors.DataError: {_refusal(partition)}")
    if source.frame.implementation is nw.Implementation.DUCKDB:
        return both.project(", ".join(quoted_name(name) for name in names))
    return both.drop(*flags)


def _refusal(partition: AnyPartition) -> str:
    return f"The column {partition.name!r} has missing or unseen values, which this artifact refuses."


def _fails_where(table: Any, flag: str, sentence: str) -> Any:
    if hasattr(table, "to_arrow_reader"):  # DuckDB
        return table.filter(f"CASE WHEN {quoted_name(flag)} THEN error({quoted_text(sentence)}) ELSE true END")
    functions = importlib.import_module("pyspark.sql.functions")
    fails = functions.raise_error(functions.lit(sentence)).cast("boolean")
    return table.filter(functions.when(functions.col(flag), fails).otherwise(functions.lit(True)))
