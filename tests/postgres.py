"""A PostgreSQL server that lives as long as the tests; conftest passes the fixture `postgres_url` on."""

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
    """The address of an empty database, reached through a socket in a folder of its own; skips without PostgreSQL."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not here; make test-services installs it where it may")
    folder = Path(tempfile.mkdtemp(prefix="modicum-pg-"))
    try:
        _own(folder)
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
    """A new place for the kind of store that is the parameter of the test's fixture."""
    return new_place(request.param, request, folder)


def new_place(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """A place for a new store: a file in the folder, or a schema of its own for the kind "postgresql"."""
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
    """Inside, the server of a URL keeps its connections and says nothing."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        first = [row[0] for row in connection.execute("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")]
        parent = int(
            Path(connection.execute("SHOW data_directory").fetchone()[0], "postmaster.pid").read_text().split()[0]
        )
    stopped = []
    try:
        for pid in [parent, *first]:  # the parent first, so that it starts no other
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        yield
    finally:
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl: on the path, where `pg_config` says, or the newest that Debian has."""
    asked = shutil.which("pg_config")
    said = [] if asked is None else [subprocess.run([asked, "--bindir"], capture_output=True, text=True).stdout.strip()]
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    found = shutil.which("initdb")
    folders = [*([] if found is None else [Path(found).parent]), *map(Path, said), *newest]
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def _own(folder: Path) -> None:
    """The server refuses to run as root: the folder then belongs to the user that Debian's package makes."""
    if os.getuid() != 0:
        return
    try:
        shutil.chown(folder, user="postgres")
    except LookupError:
        pytest.skip(f"PostgreSQL does not run as {getpass.getuser()}, and there is no user postgres")


def _run(*command: object) -> None:
    """Run a program, as the user postgres where we are root; what it says is shown only where it fails."""
    words = [str(word) for word in command]
    if os.getuid() == 0:
        words = ["runuser", "-u", "postgres", "--", *words]
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", timeout=120)
        said.seek(0)
        assert done.returncode == 0, said.read()
