"""Batch work that is cheaper together: one thread takes all that waits, and each caller gets its own result.

A commit to disk costs the same for one record as for a hundred, and a model's prediction nearly so. Nobody waits for a
batch to fill: while one runs, the next one gathers.
"""

import asyncio
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from modicum.export.model_bundle import Bundle
from modicum.generalization.record_format import RecordKey
from modicum.service.stores.store import PATIENCE, Entry, Store, StoreUnavailable

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_WAITING = 10_000
_MOST_TOGETHER = 500  # in one batch


class Busy(Exception):
    """Too much waits already."""


class Batcher(Generic[Item, Result]):
    """Calls from an event loop, run in batches by one thread.

    Parameters
    ----------
    work : function from a list of items to as many results, in order; if it fails, each item is tried alone, so that
        only the caller of a bad item sees its error
    name : name of the thread
    common : failures that no single item causes, after which nothing is tried again

    Examples
    --------
    >>> import asyncio
    >>> from modicum.service.batching import Batcher
    >>> doubled = Batcher(lambda numbers: [2 * number for number in numbers], "doubling")
    >>> async def several():
    ...     return await asyncio.gather(*map(doubled, [1, 2, 3]))
    >>> asyncio.run(several())
    [2, 4, 6]
    >>> doubled.close()
    """

    def __init__(
        self,
        work: Callable[[list[Item]], Sequence[Result]],
        name: str,
        *,
        common: type[Exception] | tuple[()] = (),
    ) -> None:
        self._work = work
        self._common = common
        self._queue: SimpleQueue[tuple[Item, asyncio.Future[Result]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def __call__(self, item: Item) -> Result:
        """Return the item's result once its batch is done."""
        if not self._thread.is_alive() or self._queue.qsize() > MOST_WAITING:
            raise Busy
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.put((item, future))
        return await future

    def close(self, patience: float | None = None) -> None:
        """Finish what waits, then stop; after `patience` seconds, stop waiting for the thread."""
        self._queue.put(None)
        self._thread.join(patience)

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, last = [first], False
            while len(batch) < _MOST_TOGETHER and not last:
                try:
                    following = self._queue.get_nowait()
                except Empty:
                    break
                if following is None:
                    last = True
                else:
                    batch.append(following)
            wanted = [each for each in batch if not each[1].done()]  # callers of the others have given up
            if wanted:
                self._do(wanted)
            if last:
                return

    def _do(self, batch: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        results = self._try_items([item for item, _ in batch])
        pairs = [(future, result) for (_, future), result in zip(batch, results, strict=True)]
        for loop in {future.get_loop() for future, _ in pairs}:
            own = [pair for pair in pairs if pair[0].get_loop() is loop]
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, own)

    def _try_items(self, items: list[Item]) -> Sequence[Result | Exception]:
        try:
            return self._work(items)
        except Exception as error:
            if len(items) == 1 or isinstance(error, self._common):
                return [error] * len(items)
            return [self._try_items([item])[0] for item in items]


def _settle(pairs: Sequence[tuple["asyncio.Future[Result]", Result | Exception]]) -> None:
    for future, result in pairs:
        if future.done():  # its caller has left
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


# Predictions, which are cached: thousands of records share a handful of distinct ones

REMEMBERED = 10_000


class RememberedPredictions:
    """A bundle's predictions as JSON, cached and computed in batches.

    Parameters
    ----------
    bundle : a bundle that can predict
    remembered : number of cached answers; the least recently used are forgotten
    """

    def __init__(self, bundle: Bundle, remembered: int = REMEMBERED) -> None:
        self._bundle = bundle
        self._most = remembered
        self._known: OrderedDict[RecordKey, bytes] = OrderedDict()
        self._batcher: Batcher[RecordKey, bytes] = Batcher(self._predict_records, "modicum-predicting")

    async def __call__(self, record: RecordKey) -> bytes:
        """Return the answer for a checked record."""
        answer = self._known.get(record)
        if answer is not None:
            self._known.move_to_end(record)
            return answer
        answer = await self._batcher(record)
        self._known[record] = answer
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return answer

    def close(self) -> None:
        """Stop predicting."""
        self._batcher.close()

    def _predict_records(self, records: list[RecordKey]) -> list[bytes]:
        distinct = list(dict.fromkeys(records))
        answers = [json.dumps(answer, allow_nan=False).encode() for answer in self._bundle.predict(distinct)]
        answer_of = dict(zip(distinct, answers, strict=True))
        return [answer_of[each] for each in records]


# Writing records: many at a time, each confirmed only once it is stored

_RECENT = 1.0  # seconds for which a store that has answered counts as available


class Taken(Exception):
    """Another record is stored under the same name."""


class Writer:
    """Write records to a store; one transaction takes all that wait.

    Parameters
    ----------
    store : Store
    version : identity of the artifact that records are collected under
    other_versions : other versions that the store may hold
    patience : seconds after which callers stop waiting for the store
    """

    def __init__(
        self, store: Store, version: str, other_versions: Collection[str] = (), patience: float = PATIENCE
    ) -> None:
        self._store = store
        self._version = version
        self._other_versions = frozenset(other_versions)
        self._patience = patience
        self._answered = -_RECENT
        self._batcher: Batcher[Entry | None, bool] = Batcher(
            self._write_entries, "modicum-writing", common=StoreUnavailable
        )

    async def keep(self, entry: Entry) -> None:
        """Return once the entry is durable; an exception means that this is not certain.

        An entry that is there already, sent again because no answer came, is not stored twice. `Taken` if another
        record has its name.
        """
        if not await self._wait_for(entry):
            raise Taken

    async def check(self) -> None:
        """Return if records can be stored, or were just stored."""
        if time.monotonic() - self._answered > _RECENT:
            await self._wait_for(None)

    async def _wait_for(self, item: Entry | None) -> bool:
        try:
            async with asyncio.timeout(self._patience):
                return await self._batcher(item)
        except TimeoutError:
            raise StoreUnavailable("The store does not answer.") from None

    def close(self) -> None:
        """Store what waits, then stop; give up on a store that does not answer."""
        self._batcher.close(2 * self._patience)

    def _write_entries(self, items: Sequence[Entry | None]) -> list[bool]:
        self._answered = -_RECENT  # until it does
        entries = [item for item in items if item is not None]
        there = iter(self._store.write(entries, self._other_versions))
        if not entries:
            self._store.check(self._version, self._other_versions)
        self._answered = time.monotonic()
        return [True if item is None else next(there) for item in items]
