"""Records on their way into the store: many at a time, each answered for only once it is kept."""

import time
from collections.abc import Sequence

from modicum.service.store import Entry, Store, StoreUnavailable
from modicum.service.together import Together

_RECENT = 1.0  # seconds for which a store that has answered is taken to be alive


class Taken(Exception):
    """Another record was kept under the same name."""


class Writer:
    """Keeps records; one transaction takes all that wait.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._answered = -_RECENT
        self._together: Together[Entry | None, bool] = Together(
            self._written, "modicum-writing", common=StoreUnavailable
        )

    async def keep(self, entry: Entry) -> None:
        """Return once the entry is durable; else nothing is certain and an exception says so.

        An entry that is there already, sent again by someone who had no answer, is not kept twice; `Taken` where
        another record has its name.
        """
        if not await self._together(entry):
            raise Taken

    async def check(self) -> None:
        """Return if the store answers, or has just done so."""
        if time.monotonic() - self._answered > _RECENT:
            await self._together(None)

    def close(self) -> None:
        """Keep what waits, then stop."""
        self._together.close()

    def _written(self, items: Sequence[Entry | None]) -> list[bool]:
        self._answered = -_RECENT  # until it does
        there = iter(self._store.write([item for item in items if item is not None]))
        self._answered = time.monotonic()
        return [True if item is None else next(there) for item in items]
