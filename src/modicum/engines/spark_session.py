"""The Spark session to work in: the one that is there, the one that a launcher meant, or one on this machine."""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from modicum.errors import require

_LAUNCHED = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")  # by spark-submit, by Spark Connect
_HERE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.memory": "2g",
}


@contextmanager
def session() -> Iterator[Any]:
    """A Spark session for as long as the block lasts; only one that was made here is stopped at its end.

    An active session is taken as it is (Databricks, a notebook, a program that made one); under `spark-submit` the
    session is made with what it was told; else it runs in this process's machine alone, on all its cores, in UTC.
    """
    sql = require("pyspark.sql", "spark")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark warns of pandas 3, which is not used with it here
        active = sql.SparkSession.getActiveSession()
        made = active or _made(sql.SparkSession.builder)
    try:
        yield made
    finally:
        if active is None:
            made.stop()


def _made(builder: Any) -> Any:
    builder = builder.appName("modicum")
    if any(os.environ.get(name) for name in _LAUNCHED):
        return builder.getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = builder.master("local[*]")
    for name, value in _HERE.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")  # what goes wrong is said by an exception
    return made


def is_local(spark: Any, path: str) -> bool:
    """Whether a path is a file of this machine for Spark, whose usual file system may be another one."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", path)
    if scheme:
        return scheme.group(1).lower() == "file"
    try:
        return str(spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS")).startswith("file:")
    except Exception:  # Spark Connect has no context here: its server's files are not ours
        return False
