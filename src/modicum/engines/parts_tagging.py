"""Records with more columns beside them, made in Python where they are: a lazy table again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from modicum.engines.failures import asking
from modicum.engines.files import opened
from modicum.engines.local_table import LocalTable
from modicum.engines.spark_table import SparkTable, frames_of
from modicum.engines.table import EngineTable
from modicum.errors import require


class Tagging(Protocol):
    """What is made of each batch; it travels to other processes."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs."""

    @property
    def schema(self) -> Any:
        """The pyarrow Schema of what is made."""

    def tagged(self, table: Any) -> Any:
        """What becomes of a batch: a pyarrow Table of the schema."""


@contextmanager
def tagged(table: EngineTable, work: Tagging, room: str) -> Iterator[EngineTable]:
    """The table that the work makes, made once: in a file of this folder, or on the disks of Spark's executors."""
    table.check(work.columns)
    if isinstance(table, SparkTable):
        from pyspark import StorageLevel
        from pyspark.sql.pandas.types import from_arrow_schema

        made = table.only(work.columns).mapInArrow(_on_spark(work), from_arrow_schema(work.schema))
        made.persist(StorageLevel.DISK_ONLY)
        try:
            yield SparkTable(made)
        finally:
            made.unpersist()
        return
    assert isinstance(table, LocalTable)
    parquet = require("pyarrow.parquet", "scale")
    with asking(table.engine), parquet.ParquetWriter(f"{room}/tagged.parquet", work.schema) as writer:
        for frame in table.batches(work.columns):
            writer.write_table(work.tagged(frame.to_native()))
    with opened(f"{room}/tagged.parquet") as made:
        yield made


def _on_spark(work: Tagging) -> Any:
    def tag(batches: Iterator[Any]) -> Iterator[Any]:
        for frame in frames_of(batches, work.columns):
            yield from work.tagged(frame.to_native()).to_batches()

    return tag
