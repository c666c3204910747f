"""A table taken apart and finished part by part, where its records are: each part is small enough to be held at once.

On this machine the records are written once to a temporary folder, one file a part, and parts are loaded one after
another. Spark sends the records of a part to one executor (`applyInArrow`). Either way what is made of the parts is
written as Parquet into a folder, from which it can be read as a table.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.failures import asking
from modicum.engines.local_table import LocalTable
from modicum.engines.spark_table import SparkTable, frames_of
from modicum.engines.table import EngineTable
from modicum.errors import require
from modicum.table.values import Codes

_HELD = 1_000_000  # records of all parts that wait in memory to be written
_PART = "(part)"  # hardly a name that data has


class PartWork(Protocol):
    """What becomes of a part; it travels to other processes."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a part needs."""

    @property
    def schema(self) -> Any:
        """The pyarrow Schema of what is made."""

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """The part of each record of a batch."""

    def make(self, table: Any) -> Any:
        """What becomes of all records of one part: a pyarrow Table of the schema."""


def made_of_parts(table: EngineTable, work: PartWork, room: str) -> str:
    """Write what is made of every part as Parquet files; the folder in which they are, inside the one that is given."""
    table.check(work.columns)
    table.check_free([_PART])
    made = f"{room}/made"
    with asking(table.engine):
        if isinstance(table, SparkTable):
            _in_spark(table, work, made)
        else:
            assert isinstance(table, LocalTable)
            _in_turn(table, work, Path(made))
    return made


def _in_turn(table: LocalTable, work: PartWork, folder: Path) -> None:
    parquet = require("pyarrow.parquet", "scale")
    folder.mkdir()
    raw = folder.with_name(folder.name + "-raw")
    raw.mkdir()
    with Spill(raw) as spill:
        for frame in table.batches(work.columns):
            spill.add(frame.to_native(), work.which(frame))
    for file in sorted(raw.iterdir()):
        made = work.make(parquet.read_table(file))
        file.unlink()
        parquet.write_table(made, folder / file.name)


class Spill:
    """Records on their way into one file a part; those of small parts wait until there is enough to write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: dict[int, list[Any]] = {}
        self._writers: dict[int, Any] = {}
        self._held = 0

    def __enter__(self) -> "Spill":
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        for writer in self._writers.values():
            writer.close()

    def add(self, table: Any, which: Codes) -> None:
        """Send each record to its part."""
        order = np.argsort(which, kind="stable")
        sorted_ = table.take(order)
        parts, starts = np.unique(which[order], return_index=True)
        for part, start, end in zip(parts.tolist(), starts, np.append(starts[1:], len(which)), strict=True):
            self._waiting.setdefault(part, []).append(sorted_.slice(start, end - start))
        self._held += len(which)
        if self._held > _HELD:
            self._flush()

    def _flush(self) -> None:
        pyarrow, parquet = require("pyarrow", "scale"), require("pyarrow.parquet", "scale")
        for part, pieces in self._waiting.items():
            if part not in self._writers:
                path = self._folder / f"part-{part:08d}.parquet"
                self._writers[part] = parquet.ParquetWriter(path, pieces[0].schema)
            self._writers[part].write_table(pyarrow.concat_tables(pieces))
        self._waiting, self._held = {}, 0


def _in_spark(table: SparkTable, work: PartWork, folder: str) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import LongType, StructField, StructType

    chosen = table.only(work.columns)
    told = StructType([*chosen.schema.fields, StructField(_PART, LongType())])
    parts = chosen.mapInArrow(_telling(work), told)
    made = parts.groupBy(_PART).applyInArrow(_making(work), from_arrow_schema(numbered(work.schema)))
    made.toDF(*work.schema.names).write.parquet(folder)


def numbered(schema: Any) -> Any:
    """An Arrow schema under names that Spark takes for nothing else: it reads a dot as a part of a structure."""
    pyarrow = require("pyarrow", "scale")
    return pyarrow.schema([field.with_name(f"c{i}") for i, field in enumerate(schema)])


def _telling(work: PartWork) -> Any:
    def tell(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = require("pyarrow", "scale")
        for batch in batches:
            for frame in frames_of(iter([batch]), work.columns):
                yield batch.append_column(_PART, pyarrow.array(work.which(frame), pyarrow.int64()))

    return tell


def _making(work: PartWork) -> Any:
    names = numbered(work.schema).names

    def make(table: Any) -> Any:
        return work.make(table.drop_columns([_PART]).rename_columns(list(work.columns))).rename_columns(names)

    return make
