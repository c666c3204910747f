"""Pieces of work done by Spark's executors, for work that is more computing than data.

What all pieces share is broadcast once; each piece is a Spark job of one task, started by a thread here, so that Spark
runs as many at once as it has room for and does a lost executor's piece again.
"""

from typing import Any, Protocol

from modicum.errors import ParameterError


class Shared(Protocol):
    """What is sent to every executor: it does pieces."""

    def do(self, piece: Any) -> Any:
        """The result of a piece."""


class SparkWorkers:
    """The executors of a Spark session.

    Parameters
    ----------
    session : SparkSession
        A classic one; Spark Connect has no way to send what all pieces share once.
    shared : object with a method `do(piece)`
        Sent to the executors.
    """

    def __init__(self, session: Any, shared: Shared) -> None:
        context = getattr(session, "_sc", None)  # a Connect session raises where it is asked for `sparkContext`
        if context is None or not hasattr(context, "broadcast"):
            raise ParameterError(
                "The 'workers' parameter must be a Spark session with a driver of its own (not Spark Connect), or None "
                f"for threads of this process. Got {type(session).__name__} instead."
            )
        self._context = context
        self._shared = context.broadcast(shared)

    def __enter__(self) -> "SparkWorkers":
        return self

    def __exit__(self, *error: object) -> None:
        self._shared.destroy()

    @property
    def slots(self) -> int:
        """How many tasks run at once."""
        return max(1, int(self._context.defaultParallelism))

    def do(self, piece: Any) -> Any:
        """The result of a piece, from whichever executor had room for it."""
        shared = self._shared
        return self._context.parallelize([piece], 1).map(lambda each: shared.value.do(each)).collect()[0]
