"""Work that is cheaper done together: one thread takes all that waits, and each caller gets its own result.

A commit to disk costs the same for one record as for a hundred, and so nearly does a model's prediction. Nobody waits
for a batch to fill: while one is being done the next one gathers.
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
from modicum.generalization.record_format import PredictedRecord, Told
from modicum.service.stores.store import PATIENCE, Entry, Store, StoreUnavailable

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_WAITING = 10_000
_MOST_TOGETHER = 500  # in one batch


class Busy(Exception):
    """More waits already than should."""


class Together(Generic[Item, Result]):
    """Calls from an event loop, done in batches by one thread.

    Parameters
    ----------
    work : from a list of items to as many results, in order; where it fails each item is tried alone, so that one fails
        nobody but its own caller
    name : the thread's
    common : failures that are nobody's own, after which nothing is tried again

    Examples
    --------
    >>> import asyncio
    >>> from modicum.service.batching import Together
    >>> doubled = Together(lambda numbers: [2 * number for number in numbers], "doubling")
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
        """The item's result, once its batch is done."""
        if not self._thread.is_alive() or self._queue.qsize() > MOST_WAITING:
            raise Busy
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.put((item, future))
        return await future

    def close(self, patience: float | None = None) -> None:
        """Do what waits, then stop; the thread is left to itself where that takes longer than so many seconds."""
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
            wanted = [each for each in batch if not each[1].done()]  # the others have given up
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
        if future.done():  # whoever asked has left
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


# Predictions, each computed once while it is remembered: thousands of records share a handful of distinct z.

REMEMBERED = 10_000


class RememberedPredictions:
    """A bundle's predictions as JSON; what is asked at once is predicted at once.

    Parameters
    ----------
    bundle : with something that predicts
    remembered : how many answers are kept; those asked for least recently are forgotten
    """

    def __init__(self, bundle: Bundle, remembered: int = REMEMBERED) -> None:
        self._bundle = bundle
        self._most = remembered
        self._known: OrderedDict[Told, bytes] = OrderedDict()
        self._together: Together[Told, bytes] = Together(self._predict_records, "modicum-predicting")

    async def __call__(self, told: Told) -> bytes:
        """The answer for a checked record."""
        found = self._known.get(told)
        if found is not None:
            self._known.move_to_end(told)
            return found
        found = await self._together(told)
        self._known[told] = found
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found

    def close(self) -> None:
        """Stop predicting."""
        self._together.close()

    def _predict_records(self, told: list[Told]) -> list[bytes]:
        distinct = list(dict.fromkeys(told))
        answers = dict(zip(distinct, map(_content, self._bundle.predict(distinct)), strict=True))
        return [answers[each] for each in told]


def _content(answer: PredictedRecord) -> bytes:
    return json.dumps(answer, allow_nan=False).encode()


# Records on their way into the store: many at a time, each answered for only once it is kept.

_RECENT = 1.0  # seconds for which a store that has answered is taken to be alive


class Taken(Exception):
    """Another record was kept under the same name."""


class Writer:
    """Keeps records; one transaction takes all that wait.

    Parameters
    ----------
    store : Store
    version : identity of what is collected
    beside : other versions beside which it may be
    patience : seconds after which nobody waits for the store any longer
    """

    def __init__(self, store: Store, version: str, beside: Collection[str] = (), patience: float = PATIENCE) -> None:
        self._store = store
        self._version = version
        self._beside = frozenset(beside)
        self._patience = patience
        self._answered = -_RECENT
        self._together: Together[Entry | None, bool] = Together(
            self._write_entries, "modicum-writing", common=StoreUnavailable
        )

    async def keep(self, entry: Entry) -> None:
        """Return once the entry is durable; else nothing is certain and an exception says so.

        An entry that is there already, sent again by someone who had no answer, is not kept twice; `Taken` where
        another record has its name.
        """
        if not await self._waited(entry):
            raise Taken

    async def check(self) -> None:
        """Return if records could be kept, or have just been."""
        if time.monotonic() - self._answered > _RECENT:
            await self._waited(None)

    async def _waited(self, item: Entry | None) -> bool:
        try:
            async with asyncio.timeout(self._patience):
                return await self._together(item)
        except TimeoutError:
            raise StoreUnavailable("The store does not answer.") from None

    def close(self) -> None:
        """Keep what waits, then stop; a store that does not answer is waited for only so long."""
        self._together.close(2 * self._patience)

    def _write_entries(self, items: Sequence[Entry | None]) -> list[bool]:
        self._answered = -_RECENT  # until it does
        entries = [item for item in items if item is not None]
        there = iter(self._store.write(entries, self._beside))
        if not entries:
            self._store.check(self._version, self._beside)
        self._answered = time.monotonic()
        return [True if item is None else next(there) for item in items]
