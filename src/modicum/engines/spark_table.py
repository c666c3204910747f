"""Tables in Spark: work goes to the executors by `mapInArrow`, and Spark itself adds the counts up.

Each task sends the cells of its array that are not zero; Spark sums them cell by cell, so that the driver sees one
number per cell however many tasks there were. A task that is lost is run again by Spark, and its first attempt counts
for nothing: the sums are the same.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.table import EngineTable
from modicum.engines.work import Counts, Digest, Fold, Gather
from modicum.errors import require

_CELLS = 1_000_000  # sent at once


class SparkTable(EngineTable):
    """A Spark DataFrame."""

    engine = "spark"

    def _fold(self, work: Fold) -> Counts:
        sums = (
            self.only(work.columns).mapInArrow(_counting(work), "cell long, n long").groupBy("cell").sum("n").toArrow()
        )
        counts = work.empty()
        counts[sums.column(0).to_numpy()] = sums.column(1).to_numpy()
        return counts

    def _gather(self, work: Gather) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        picked = self.only(work.columns).mapInArrow(_picking(work), from_arrow_schema(work.schema))
        return picked.toArrow().cast(work.schema)

    def _digest(self, work: Digest) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        form = from_arrow_schema(work.schema)
        parts = self.only(work.columns).mapInArrow(_summing(work), form).repartition("part")
        whole = work.empty()
        work.merge(whole, parts.mapInArrow(_merging(work), form).toArrow().cast(work.schema))
        return whole

    def only(self, columns: Sequence[str]) -> Any:
        """The DataFrame of these columns, numbered: `mapInArrow` takes a dot in a name for a part of a structure."""
        native: Any = self.lazy.to_native()
        return native.selectExpr(*(f"{_in_ticks(name)} AS c{i}" for i, name in enumerate(columns)))

    def col(self, name: str) -> nw.Expr:
        """In ticks where narwhals, which leaves names to Spark, would have it take a dot for syntax."""
        return nw.col(_in_ticks(name) if set(".`") & set(name) else name)

    def keyed(self, keys: Sequence[str | nw.Expr]) -> tuple[nw.LazyFrame[Any], list[str]]:
        names = [key for key in keys if isinstance(key, str)]
        if len(names) < len(keys):
            return super().keyed(keys)
        return nw.from_native(self.only(names)), names  # narwhals leaves names to Spark, which takes a dot for syntax


def _in_ticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def frames_of(batches: Iterator[Any], columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
    """The batches of `SparkTable.only`, as frames under the columns' own names."""
    pyarrow = require("pyarrow", "scale")
    for batch in batches:
        if batch.num_rows:
            table = pyarrow.Table.from_batches([batch]).rename_columns(list(columns))
            yield nw.from_native(table, eager_only=True)


def _counting(work: Fold) -> Any:
    def count(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = require("pyarrow", "scale")
        counts = work.empty()
        for frame in frames_of(batches, work.columns):
            work.add(counts, frame)
        cells = np.flatnonzero(counts)
        for start in range(0, len(cells), _CELLS):
            some = cells[start : start + _CELLS]
            yield pyarrow.record_batch({"cell": some.astype(np.int64), "n": counts[some]})

    return count


def _picking(work: Gather) -> Any:
    def pick(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = require("pyarrow", "scale")
        for frame in frames_of(batches, work.columns):
            found = work.pick(frame)
            yield from found.to_batches() if isinstance(found, pyarrow.Table) else [found]

    return pick


def _summing(work: Digest) -> Any:
    def add(batches: Iterator[Any]) -> Iterator[Any]:
        summary = work.empty()
        for frame in frames_of(batches, work.columns):
            work.add(summary, frame)
        yield from work.sent(summary).to_batches()

    return add


def _merging(work: Digest) -> Any:
    def merge(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = require("pyarrow", "scale")
        summary = work.empty()
        for batch in batches:
            work.merge(summary, pyarrow.Table.from_batches([batch]).cast(work.schema))
        yield from work.sent(summary).to_batches()

    return merge
