"""One table in memory and in every engine, for tests that demand the same result everywhere."""

import os
import shutil
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

IN_MEMORY = ["pandas", "polars"]
LAZY = ["duckdb", "polars-lazy", "ibis", pytest.param("spark", marks=pytest.mark.services)]
EVERYWHERE = [*IN_MEMORY, *LAZY]


def held_in(place: str, X: pd.DataFrame, spark=None):
    """Return the records of a pandas frame in another place."""
    if place == "pandas":
        return X
    if place.startswith("polars"):
        import polars

        frame = polars.from_pandas(X)
        return frame.lazy() if place == "polars-lazy" else frame
    import pyarrow

    arrow_records = pyarrow.Table.from_pandas(X, preserve_index=False)
    if place == "spark":
        return spark().createDataFrame(_signed(arrow_records)).repartition(3)
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    if place == "duckdb":
        return connection.from_arrow(arrow_records)
    import ibis

    connection.execute("CREATE TABLE records AS SELECT * FROM arrow_records")
    return ibis.duckdb.from_connection(connection).table("records")


def _signed(records):
    """Make unsigned columns signed: Spark has no unsigned numbers."""
    import pyarrow

    for i, field in enumerate(records.schema):
        if pyarrow.types.is_unsigned_integer(field.type):
            records = records.set_column(i, field.name, records.column(i).cast(pyarrow.int64()))
    return records


def spark_session(master: str = "local[2]", **settings):
    """A Spark session on this machine only; skips the test without Java or PySpark."""
    if shutil.which("java") is None:
        pytest.skip("Java is not here.")
    pytest.importorskip("pyspark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    here = Path(__file__).parent  # Spark's workers import test modules from there
    paths = [here, here / "engines", here.parent / "src", os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark warns about pandas 3
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).appName("modicum")
        defaults = {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "3",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
            "spark.ui.showConsoleProgress": "false",
        }
        for name, value in (defaults | settings).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
