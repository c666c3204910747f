"""Tables on this machine: DuckDB relations, polars and pandas frames and Ibis tables, read as Arrow batches.

The engine reads in its own threads, and each of our threads counts into its own array.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import narwhals.stable.v2 as nw

from modicum.engines.table import Counts, Digest, EngineTable, Fold, Gather
from modicum.errors import require

ROWS = 131_072  # in a batch
_THREADS = min(8, os.cpu_count() or 1)


class LocalTable(EngineTable):
    """A table that an engine in this process evaluates."""

    def __init__(self, native: Any) -> None:
        self.engine = str(nw.from_native(native).implementation)
        super().__init__(native)

    def _fold(self, work: Fold) -> Counts:
        return fold_batches(work, self.batches(work.columns))

    def _gather(self, work: Gather) -> Any:
        pyarrow = require("pyarrow", "scale")
        return pyarrow.concat_tables([work.schema.empty_table(), *in_threads(work.pick, self.batches(work.columns))])

    def _digest(self, work: Digest) -> Any:
        *others, whole = _add_batches(work, self.batches(work.columns))
        for summary in others:
            work.merge(whole, work.pack_summary(summary))
        return whole

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """The records in batches, as frames of Arrow columns."""
        pyarrow = require("pyarrow", "scale")
        self.check(columns)
        for batch in batches_of(self.lazy.select(list(columns))):
            if batch.num_rows:
                yield nw.from_native(pyarrow.Table.from_batches([batch]), eager_only=True)


def fold_batches(work: Any, batches: Iterator[Any]) -> Counts:
    """Run a fold over all batches: each thread counts into its own array; return the sum."""
    *others, total = _add_batches(work, batches)
    for counts in others:
        total += counts
    return total


def _add_batches(work: Any, batches: Iterator[Any]) -> list[Any]:
    """Add all batches to summaries, one per thread; return the summaries, at least one."""
    spare: list[Any] = []  # summaries that no thread uses now

    def add(batch: Any) -> None:
        try:
            summary = spare.pop()
        except IndexError:  # testing for emptiness first would be a race between threads
            summary = work.empty()
        work.add(summary, batch)
        spare.append(summary)

    for _ in in_threads(add, batches):
        pass
    return spare or [work.empty()]


def in_threads(work: Callable[[Any], Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Apply the work to each batch in threads; yield the results in any order. At most one batch per thread waits."""
    with ThreadPoolExecutor(_THREADS) as pool:
        waiting: set[Future[Any]] = set()
        for batch in batches:
            waiting.add(pool.submit(work, batch))
            if len(waiting) > _THREADS:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
        yield from (each.result() for each in waiting)


def batches_of(lazy: nw.LazyFrame[Any]) -> Iterator[Any]:
    """Stream a lazy table as Arrow record batches."""
    relation = duckdb_relation(lazy)
    if relation is not None:
        return iter(relation.to_arrow_reader(ROWS))
    native: Any = lazy.to_native()
    if lazy.implementation is nw.Implementation.IBIS:
        return iter(native.to_pyarrow_batches(chunk_size=ROWS))
    if lazy.implementation is nw.Implementation.POLARS:
        frames = native.collect_batches(chunk_size=ROWS)
        return (batch for frame in frames for batch in frame.to_arrow().to_batches(ROWS))
    return iter(lazy.collect(backend="pyarrow").to_native().to_batches(ROWS))


def duckdb_relation(lazy: nw.LazyFrame[Any]) -> Any:
    """The table as a DuckDB relation; None for other engines.

    An Ibis table on DuckDB is compiled to SQL, because Ibis reads batches with a call that DuckDB 2 no longer has.
    """
    native: Any = lazy.to_native()
    if lazy.implementation is nw.Implementation.IBIS and native.get_backend().name == "duckdb":
        return native.get_backend().con.sql(str(native.compile()))
    return native if lazy.implementation is nw.Implementation.DUCKDB else None
