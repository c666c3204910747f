"""A PostgreSQL server that runs during the tests; conftest imports the fixture `postgres_url`."""

import getpass
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SETTINGS = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of an empty database on a socket in a temporary folder; skips the test without PostgreSQL."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not here; make test-services installs it where it may")
    folder = Path(tempfile.mkdtemp(prefix="modicum-pg-"))
    try:
        _chown(folder)
        data = folder / "data"
        _run(programs / "initdb", "-D", data, "-U", "modicum", "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
        start = (programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-o", f"{_SETTINGS} -k {folder}", "start")
        _run(*start)
        try:
            yield f"postgresql://modicum@/postgres?host={folder}"
        finally:
            _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def empty_store(request: pytest.FixtureRequest, folder: Path) -> str:
    """The address of a new store of the kind given by the fixture's parameter."""
    return new_place(request.param, request, folder)


def new_place(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """The address of a new store: a file in the folder, or a new schema for the kind "postgresql"."""
    if kind == "duckdb":
        return str(folder / "data.duckdb")
    import psycopg

    url = request.getfixturevalue("postgres_url")
    name = f"of_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}&options=-csearch_path%3D{name}"


@contextmanager
def silent(url: str) -> Iterator[None]:
    """Pause the server of a URL during the block: it keeps its connections but does not answer."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        pids = [row[0] for row in connection.execute("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")]
        parent = int(
            Path(connection.execute("SHOW data_directory").fetchone()[0], "postmaster.pid").read_text().split()[0]
        )
    stopped = []
    try:
        for pid in [parent, *pids]:  # the parent first, so that it starts no new process
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        yield
    finally:
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl: on the path, from `pg_config`, or the newest of Debian."""
    pg_config = shutil.which("pg_config")
    configured = (
        []
        if pg_config is None
        else [subprocess.run([pg_config, "--bindir"], capture_output=True, text=True).stdout.strip()]
    )
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    initdb = shutil.which("initdb")
    folders = [*([] if initdb is None else [Path(initdb).parent]), *map(Path, configured), *newest]
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def _chown(folder: Path) -> None:
    """As root, give the folder to the user of Debian's package, because the server refuses to run as root."""
    if os.getuid() != 0:
        return
    try:
        shutil.chown(folder, user="postgres")
    except LookupError:
        pytest.skip(f"PostgreSQL does not run as {getpass.getuser()}, and there is no user postgres")


def _run(*command: object) -> None:
    """Run a program, as the user postgres if we are root; show its output only if it fails."""
    words = [str(word) for word in command]
    if os.getuid() == 0:
        words = ["runuser", "-u", "postgres", "--", *words]
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", timeout=120)
        output.seek(0)
        assert done.returncode == 0, output.read()
