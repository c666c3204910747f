"""Records on their way into the store: many at a time, each answered for only once it is kept."""

import asyncio
import time
from collections.abc import Collection, Sequence

from modicum.service.store import PATIENCE, Entry, Store, StoreUnavailable
from modicum.service.together import Together

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
            self._written, "modicum-writing", common=StoreUnavailable
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

    def _written(self, items: Sequence[Entry | None]) -> list[bool]:
        self._answered = -_RECENT  # until it does
        entries = [item for item in items if item is not None]
        there = iter(self._store.write(entries, self._beside))
        if not entries:
            self._store.check(self._version, self._beside)
        self._answered = time.monotonic()
        return [True if item is None else next(there) for item in items]
