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
from modicum.engines.work import Counts, Fold, Gather
from modicum.errors import require

_CELLS = 1_000_000  # sent at once


class SparkTable(EngineTable):
    """A Spark DataFrame."""

    engine = "spark"

    def _fold(self, work: Fold) -> Counts:
        sums = (
            self._only(work.columns).mapInArrow(_counting(work), "cell long, n long").groupBy("cell").sum("n").toArrow()
        )
        counts = work.empty()
        counts[sums.column(0).to_numpy()] = sums.column(1).to_numpy()
        return counts

    def _gather(self, work: Gather) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        picked = self._only(work.columns).mapInArrow(_picking(work), from_arrow_schema(work.schema))
        return picked.toArrow().cast(work.schema)

    def _only(self, columns: Sequence[str]) -> Any:
        return self.native.select(*(f"`{name.replace('`', '``')}`" for name in columns))

    def counted(self, keys: Sequence[str | nw.Expr]) -> nw.DataFrame[Any]:
        names = [key for key in keys if isinstance(key, str)]
        if len(names) < len(keys) or not any(set(".`") & set(name) for name in names):
            return super().counted(keys)
        plain = [f"c{i}" for i in range(len(names))]  # narwhals leaves names to Spark, which takes a dot for syntax
        found = SparkTable(self._only(names).toDF(*plain)).counted(plain)
        return found.rename(dict(zip(plain, names, strict=True)))


def _frames(batches: Iterator[Any]) -> Iterator[nw.DataFrame[Any]]:
    pyarrow = require("pyarrow", "scale")
    for batch in batches:
        if batch.num_rows:
            yield nw.from_native(pyarrow.Table.from_batches([batch]), eager_only=True)


def _counting(work: Fold) -> Any:
    def count(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = require("pyarrow", "scale")
        counts = work.empty()
        for frame in _frames(batches):
            work.add(counts, frame)
        cells = np.flatnonzero(counts)
        for start in range(0, len(cells), _CELLS):
            some = cells[start : start + _CELLS]
            yield pyarrow.record_batch({"cell": some.astype(np.int64), "n": counts[some]})

    return count


def _picking(work: Gather) -> Any:
    def pick(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = require("pyarrow", "scale")
        for frame in _frames(batches):
            found = work.pick(frame)
            yield from found.to_batches() if isinstance(found, pyarrow.Table) else [found]

    return pick
