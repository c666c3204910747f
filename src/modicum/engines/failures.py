"""Turn an engine's error into one sentence without any record's value.

Engines quote the data in their messages and logs, so these are never passed on. A modicum error that a remote worker
raised keeps its message.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

import modicum.errors
from modicum.errors import DataError, ModicumError

_PACKAGES = {"duckdb", "_duckdb", "polars", "pyspark", "py4j", "ibis", "pyarrow", "narwhals", "sqlglot", "sqlite3"}
_OWN = re.compile(r"modicum\.errors\.(\w+): (.+?)(?: SQLSTATE: \w+)?$", flags=re.MULTILINE)
_LOST = (
    "already been closed|already closed|SESSION_OR_CONTEXT_NOT_EXISTS|stopped SparkContext|SparkContext was shut down|"
    "SparkContext.dagScheduler|Answer from Java side is empty|Connection refused|UNAVAILABLE|Cannot operate on a closed"
)
_LACKS = re.compile(r"'?([\w.]+)'? is not (?:implemented|supported) for|No translation rule for .*?(\w+)'>")
_LACKING = ("NotImplementedError", "OperationNotDefinedError", "UnsupportedOperationError", "UnsupportedBackendType")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_RAISED = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception)): ", flags=re.MULTILINE)
_FULL = "No space left|out of disk|ENOSPC|disk is full"
_MEMORY = "OutOfMemory|out of memory|Java heap space|failed to allocate"


@contextmanager
def asking(engine: str) -> Iterator[None]:
    """Turn the engine's errors in the block into one clear sentence.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines.failures import asking
    >>> with asking("duckdb"):
    ...     duckdb.sql("SELECT CAST('John' AS INT)").fetchall()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    modicum.errors.DataError: The engine 'duckdb' cannot do this (ConversionException); its message is hidden...
    """
    with _no_quoting(engine):
        try:
            yield
        except ModicumError:
            raise
        except Exception as error:
            if not _is_the_engines(error):
                raise
            raise complaint(engine, error) from None


def complaint(engine: str, error: Exception) -> ModicumError:
    """The error to raise for an engine's error."""
    message = str(error)
    own = _OWN.search(message)
    if own:
        kind = getattr(modicum.errors, own.group(1), DataError)
        return kind(own.group(2)) if issubclass(kind, ModicumError) else DataError(own.group(2))
    if type(error).__name__ in _LACKING:
        return _lacking(engine, message)
    module = _NO_MODULE.search(message)
    if module:
        return DataError(f"The workers of the engine {engine!r} lack the package {module.group(1)!r}.")
    if re.search(_LOST, message, flags=re.IGNORECASE) or isinstance(error, ConnectionError | AssertionError):
        return DataError(f"The connection to the engine {engine!r} is lost or closed; open it and the table again.")
    if re.search(_FULL, message, flags=re.IGNORECASE):
        return DataError(f"The engine {engine!r} has no space left on its disk.")
    if re.search(_MEMORY, _kind(error) + message, flags=re.IGNORECASE):
        return DataError(f"The engine {engine!r} has run out of memory; give it more, or fewer threads.")
    return DataError(
        f"The engine {engine!r} cannot do this ({_kind(error)}); its message is hidden because it may quote records."
    )


def _lacking(engine: str, message: str) -> DataError:
    match = _LACKS.search(message)
    name = next((group for group in match.groups() if group), "") if match else ""
    function = f"the function {name!r}" if name else "a function"
    return DataError(
        f"The engine {engine!r} lacks {function} that this needs; DuckDB, Spark, polars and Ibis over DuckDB have it."
    )


def _is_the_engines(error: Exception) -> bool:
    if isinstance(error, NotImplementedError | ConnectionError):
        return True
    return any(parent.__module__.split(".")[0] in _PACKAGES for parent in type(error).__mro__) or _from_pyspark(error)


def _from_pyspark(error: Exception) -> bool:
    """Whether PySpark raised an AssertionError, as it does without a session."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return isinstance(error, AssertionError) and where.split(".")[0] in _PACKAGES


def _kind(error: Exception) -> str:
    """The error's class name; for an error from a Spark worker, its class name there."""
    raised = _RAISED.findall(str(error)) if type(error).__name__ == "PythonException" else []
    return str(raised[-1]) if raised else type(error).__name__


@contextmanager
def _no_quoting(engine: str) -> Iterator[None]:
    """Disable PySpark's log, which quotes the value that made a query fail."""
    if engine != "spark":
        yield
        return
    logger = _query_log()
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _query_log() -> logging.Logger:
    """PySpark's own logger for failed queries; a logger created in another way would not get its messages."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # PySpark before version 4
        return logging.getLogger("pyspark")
    return PySparkLogger.getLogger("DataFrameQueryContextLogger")
