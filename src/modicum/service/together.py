"""Work that is cheaper done together: one thread takes all that waits, and each caller gets its own result.

A commit to disk costs the same for one record as for a hundred, and so nearly does a model's prediction. Nobody waits
for a batch to fill: while one is being done the next one gathers.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_WAITING = 10_000


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
    most : items in one batch

    Examples
    --------
    >>> import asyncio
    >>> from modicum.service.together import Together
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
        most: int = 500,
    ) -> None:
        self._work = work
        self._common = common
        self._most = most
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
            while len(batch) < self._most and not last:
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
        results = self._tried([item for item, _ in batch])
        pairs = [(future, result) for (_, future), result in zip(batch, results, strict=True)]
        for loop in {future.get_loop() for future, _ in pairs}:
            own = [pair for pair in pairs if pair[0].get_loop() is loop]
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, own)

    def _tried(self, items: list[Item]) -> Sequence[Result | Exception]:
        try:
            return self._work(items)
        except Exception as error:
            if len(items) == 1 or isinstance(error, self._common):
                return [error] * len(items)
            return [self._tried([item])[0] for item in items]


def _settle(pairs: Sequence[tuple["asyncio.Future[Result]", Result | Exception]]) -> None:
    for future, result in pairs:
        if future.done():  # whoever asked has left
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
