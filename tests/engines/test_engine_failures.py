"""Failures in an engine give one clear sentence without records' values, and no good result is lost."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from engine_places import LAZY

import modicum as md
from modicum.engines import table_at
from modicum.engines.file_tables import open_table
from modicum.engines.partitioned_writing import write
from modicum.errors import DataError, ParameterError

SECRET = "Rumpelstiltskin"


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.services)])
def engine(request):
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


@pytest.fixture
def folder(tmp_path):
    """Two good Parquet files."""
    inputs = tmp_path / "in"
    inputs.mkdir()
    for name in ("a", "b"):
        pd.DataFrame({"age": [31, 44], "sex": ["f", "m"], "note": ["x", "y"]}).to_parquet(inputs / f"{name}.parquet")
    return inputs


def complaint(path, engine, **options):
    with pytest.raises(DataError) as found, open_table(path, engine, **options):
        pass
    return str(found.value)


def test_a_column_missing_in_one_file_is_named_with_the_file(folder, engine):
    pd.DataFrame({"age": [1], "note": ["z"]}).to_parquet(folder / "c.parquet")
    message = complaint(folder, engine)
    assert f"The column 'sex' is not in the file '{folder / 'c.parquet'}'" in message
    assert "a.parquet" in message


def test_a_differing_type_is_named_with_both_files_and_types(folder, engine):
    pd.DataFrame({"age": ["old"], "sex": ["f"], "note": ["z"]}).to_parquet(folder / "c.parquet")
    message = complaint(folder, engine)
    assert f"The column 'age' is a VARCHAR in the file '{folder / 'c.parquet'}', but a BIGINT in" in message
    assert "a.parquet" in message


def test_a_column_that_is_not_needed_may_differ(folder, engine):
    pd.DataFrame({"age": [1], "sex": ["f"], "note": [7.5]}).to_parquet(folder / "c.parquet")
    schema = md.Schema.infer(pd.DataFrame({"age": [1], "sex": ["f"]}))
    with open_table(folder, engine, schema) as table:
        assert table.columns == ["age", "sex"]
        assert table.rows() == 5


def test_a_truncated_file_is_named(folder, engine):
    whole = (folder / "a.parquet").read_bytes()
    (folder / "c.parquet").write_bytes(whole[: len(whole) // 2])
    assert f"The file '{folder / 'c.parquet'}' cannot be read as Parquet" in complaint(folder, engine)
    (folder / "c.parquet").write_bytes(b"")
    assert f"The file '{folder / 'c.parquet'}' is empty." in complaint(folder, engine)


def test_damaged_pages_give_a_sentence(folder, engine):
    file = folder / "a.parquet"
    content = bytearray(file.read_bytes())
    content[4:120] = b"\xff" * 116
    file.write_bytes(bytes(content))
    with open_table(folder, engine) as table, pytest.raises(DataError, match=f"engine '{engine}' cannot do this"):
        table.count_by(["age", "sex"])


def test_missing_files_and_mixed_kinds_are_refused(folder, engine):
    assert "does not exist" in complaint(folder / "nothing.parquet", engine)
    assert "matches no CSV or Parquet file" in complaint(folder / "z*.parquet", engine)
    (folder / "c.csv").write_text("age,sex\n1,f\n")
    assert "holds both CSV and Parquet files" in complaint(folder, engine)
    (folder.parent / "empty").mkdir()
    assert "holds no CSV or Parquet file" in complaint(folder.parent / "empty", engine)


def test_folders_with_different_columns_are_refused(folder, engine):
    for where in ("year=2020", "month=5"):
        (folder / where).mkdir()
        shutil.copy(folder / "a.parquet", folder / where / "a.parquet")
    assert "must lie under folders of the same columns" in complaint(folder, engine)


@pytest.mark.services
def test_spark_recommends_duckdb_for_a_csv(tmp_path, spark):
    (tmp_path / "a.csv").write_text("age\n1\n")
    assert "use the engine 'duckdb'" in complaint(tmp_path / "a.csv", "spark")


def test_an_unknown_engine_is_refused(folder):
    with pytest.raises(ParameterError, match="must be 'duckdb' or 'spark'"), open_table(folder, "hive"):
        pass


class Casting:
    """Work that fails on a record with Arrow's message, which quotes the record."""

    columns = ("name",)

    def empty(self):
        return np.zeros(1, dtype=np.int64)

    def add(self, counts, frame):
        frame.to_native().column(0).cast(pa.int64())


class Complaining(Casting):
    """Work that fails with modicum's own sentence."""

    def add(self, counts, frame):
        raise DataError("The column 'name' holds no number.")


class Wrong(Casting):
    """Work on a missing column."""

    columns = ("surname",)


@pytest.mark.parametrize("place", LAZY)
def test_messages_quote_no_record_and_modicums_own_pass_through(place, held, capfd):
    table = table_at(held(place, pd.DataFrame({"name": [SECRET, "12"]})))
    with pytest.raises(DataError) as found:
        table.fold(Casting())
    assert SECRET not in str(found.value)
    with pytest.raises(DataError, match=r"^The column 'name' holds no number.$"):
        table.fold(Complaining())
    with pytest.raises(DataError, match="'surname' is not in the data"):
        table.fold(Wrong())
    with pytest.raises(DataError) as found:
        table.count_by([nw.col("name").cast(nw.Float64)])
    assert SECRET not in str(found.value)
    assert found.value.__cause__ is None
    shown = capfd.readouterr()
    assert SECRET not in shown.out + shown.err


@pytest.mark.parametrize("place", LAZY)
def test_a_failed_write_leaves_the_old_result_and_nothing_else(place, held, tmp_path):
    good = held(place, pd.DataFrame({"name": ["12", "13"]}))
    bad = nw.from_native(held(place, pd.DataFrame({"name": [SECRET, "12"]}))).select(nw.col("name").cast(nw.Float64))
    target = tmp_path / ("out.parquet" if place != "spark" else "out")
    write(good, target)
    with pytest.raises(DataError) as found:
        write(bad.to_native(), target)
    assert SECRET not in str(found.value)
    with open_table(target) as table:
        assert sorted(table.count_by(["name"])["name"].to_list()) == ["12", "13"]
    assert list(tmp_path.iterdir()) == [target]


def test_no_thread_recreates_the_file_of_a_failed_write(tmp_path):
    bad = pl.LazyFrame({"name": [SECRET, "12"]}).select(pl.col("name").cast(pl.Float64))
    for _ in range(60):
        with pytest.raises(DataError):
            write(bad, tmp_path / "out.parquet")
        time.sleep(0.003)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", LAZY)
def test_every_engine_writes_files_and_folders(place, held, tmp_path):
    X = pd.DataFrame({"name": ["a", "b", None], "n": [1, 2, 3]})
    places = [(tmp_path / "plain", []), (tmp_path / "parted", ["name"])]
    places += [] if place == "spark" else [(tmp_path / "one.parquet", []), (tmp_path / "one.csv", [])]
    for target, partition_by in places:
        write(held(place, X), target, partition_by)
        with open_table(target) as table:
            found = table.lazy.select(["name", "n"]).collect(backend="pyarrow").rows()
            assert sorted(found, key=lambda row: row[1]) == [("a", 1), ("b", 2), (None, 3)]
    assert sorted(tmp_path.iterdir()) == sorted(target for target, _ in places)


@pytest.mark.parametrize("place", LAZY)
def test_an_output_of_another_kind_is_left_alone(place, held, tmp_path):
    table = held(place, pd.DataFrame({"name": ["a", "b"], "n": [1, 2]}))
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(DataError, match="there is a file of that name"):
        write(table, tmp_path / "kept")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="holds other files"):
        write(table, tmp_path / "notes", ["name"])
    (tmp_path / "out.parquet").mkdir()
    (tmp_path / "out.parquet" / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match=r"it is a folder|holds other files"):
        write(table, tmp_path / "out.parquet")
    with pytest.raises(DataError, match="cannot be written"):
        write(table, tmp_path / "no" / "where")
    with pytest.raises(ParameterError, match="names every column"):
        write(table, tmp_path / "all", ["name", "n"])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept", "notes", "out.parquet"]


def test_a_closed_connection_is_named():
    connection = duckdb.connect()
    table = table_at(connection.sql("SELECT 1 AS name"))
    connection.close()
    for ask in (table.rows, lambda: table.fold(Casting()), lambda: table.count_by(["name"])):
        with pytest.raises(DataError, match="The connection to the engine 'duckdb' is lost or closed"):
            ask()


def test_a_function_missing_in_a_backend_is_named_with_engines_that_have_it():
    ibis = pytest.importorskip("ibis")
    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE people (age REAL)")
    table = table_at(connection.table("people"))
    with pytest.raises(DataError, match=r"The engine 'ibis' lacks .*; DuckDB, Spark, polars and Ibis over DuckDB"):
        table.count_by([nw.col("age").is_nan().alias("missing")])


KILLING = """
import os, signal, sys
from pathlib import Path

import numpy as np
from engine_places import spark_session

from modicum.engines import table_at


def executor():
    \"\"\"The process of the executor's own Java machine, above this worker and its daemon.\"\"\"
    process = os.getpid()
    while "CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_text():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process


class Ages:
    columns = ("age",)

    def __init__(self, marker):
        self.marker = marker

    def empty(self):
        return np.zeros(10, dtype=np.int64)

    def add(self, counts, frame):
        counts += np.bincount(frame["age"].to_numpy(), minlength=10)
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))  # the first that comes here, once
        except FileExistsError:
            return
        os.kill(executor(), signal.SIGKILL)
        raise SystemExit  # the executor is gone, and what was counted with it


if __name__ == "__main__":
    from killing import Ages

    session = spark_session("local-cluster[2,1,1024]", **{"spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"]})
    people = session.range(0, 40_000, numPartitions=8).selectExpr("id % 7 AS age")
    marker = Path(sys.argv[1])
    marker.touch()
    undisturbed = table_at(people).fold(Ages(str(marker))).tolist()
    marker.unlink()
    lost = table_at(people).fold(Ages(str(marker))).tolist()
    print(marker.exists(), lost == undisturbed, sum(lost))
    session.stop()
"""


@pytest.mark.services
def test_killing_an_executor_during_a_job_changes_nothing(tmp_path):
    if shutil.which("java") is None:
        pytest.skip("Java is not here.")
    pytest.importorskip("pyspark")
    (tmp_path / "killing.py").write_text(KILLING)
    here = Path(__file__).parents[1]
    paths = [tmp_path, here, here.parent / "src", os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, tmp_path / "killing.py", tmp_path / "killed"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, cwd=tmp_path)
    assert done.stdout.strip().splitlines()[-1:] == ["True True 40000"], done.stderr[-2_000:]


STOPPED = """
from engine_places import spark_session

from modicum.engines import table_at
from modicum.errors import DataError

session = spark_session("local[1]")
table = table_at(session.range(5))
session.stop()
for ask in (table.rows, lambda: table.count_by(["id"])):
    try:
        ask()
    except DataError as error:
        print(error)
"""


@pytest.mark.services
def test_a_stopped_session_is_named(tmp_path):
    if shutil.which("java") is None:
        pytest.skip("Java is not here.")
    pytest.importorskip("pyspark")
    (tmp_path / "stopped.py").write_text(STOPPED)
    here = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent / "src")])}
    command = [sys.executable, tmp_path / "stopped.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, cwd=tmp_path)
    lost = "The connection to the engine 'spark' is lost or closed; open it and the table again."
    assert done.stdout.strip().splitlines() == [lost, lost], done.stderr[-2_000:]


@pytest.mark.services
def test_sparks_own_errors_stay_unchanged(held):
    table = held("spark", pd.DataFrame({"age": [1]}))
    assert table_at(table).rows() == 1
    with pytest.raises(Exception, match="no_such_column"):
        table.select("no_such_column").collect()


def test_a_terminated_command_leaves_nothing_behind(tmp_path):
    pd.DataFrame({"age": np.arange(100), "ill": ["no", "yes"] * 50}).to_parquet(tmp_path / "in.parquet")
    code = (
        "import os, signal, sys\n"
        "import modicum.anonymizers.out_of_core.engine_release as module\n"
        "module._measure_losses = lambda *given: os.kill(os.getpid(), signal.SIGTERM)\n"
        "from modicum.cli.main import run\n"
        "sys.argv = ['modicum', 'anonymize', 'in.parquet', '-o', 'out.parquet', '--k', '5', '--engine', 'duckdb',\n"
        "    '--method', 'mondrian', '--quasi-identifiers', 'age']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["in.parquet"]
