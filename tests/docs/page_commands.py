"""Run the commands of a page in a folder, as someone would type them.

Three kinds are not run. Those that set up a machine, and the demo, which tests/cli/test_cli.py runs, must be word for
word in `NOT_RUN`. `modicum serve` never ends: its options are read and its bundle is loaded
(tests/service/test_service_process.py starts and stops it). Commands for Spark are run only if `spark` is true;
otherwise their options are read.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import typer.main

import modicum as md
from modicum.cli.main import app

ROOT = Path(__file__).parents[2]
NOT_RUN = {
    "make demo",
    "make test",
    "make test-all",
    "make check",
    "make docs",
    "make wheel-test",
    "make claims",
    "make freeze",
    "modicum demo",
    "python -m venv .venv",
    ". .venv/bin/activate",
    "pip install --constraint constraints.txt .",
    "pip install --constraint constraints.txt '.[serve,scale]'",
    "pip install '.[serve]'",
}
SETTING_UP = {"make", "pip", "pip3", "git", "source", ".", "cd", "sudo", "apt", "apt-get", "curl", "wget", "docker"}
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
SPARK = "--engine spark"


def commands_in(code: str) -> list[str]:
    """Return a block's commands without comments: one a line, or more lines joined by backslashes."""
    lines = [_without_comment(line.strip()) for line in code.replace("\\\n", " ").splitlines()]
    return [re.sub(r"^\.venv/bin/modicum\b", "modicum", line) for line in lines if line]


def _without_comment(line: str) -> str:
    return re.sub(r"(?:^|\s)#\s.*$", "", line).rstrip()


def run_command(command: str, folder: Path, where: str, spark: bool = False) -> str:
    """Run a command and return what it printed."""
    if command in NOT_RUN:
        check_setting_up(command)
        return ""
    words = shlex.split(command)
    if _first_words(command) & SETTING_UP or _is_python_setting_up(words):
        raise AssertionError(f"{where}: {command!r} sets up a machine and is not one of the commands that are known")
    if words[:2] == ["modicum", "serve"]:
        check_options(command, where)
        md.load_bundle(folder / words[2])
        return ""
    if SPARK in command and not spark:
        check_options(command, where)
        return ""
    return _output(command, folder, where)


def _first_words(command: str) -> set[str]:
    """The words that begin a command: the first, and those after `&&`, `||`, `;` or `|`."""
    words = [";", *shlex.shlex(command, posix=True, punctuation_chars=True)]
    return {word for before, word in pairwise(words) if before in {"&&", "||", ";", "|"}}


def _is_python_setting_up(words: list[str]) -> bool:
    return words[0] in {"python", "python3"} and words[1:3] in (["-m", "venv"], ["-m", "pip"])


def check_setting_up(command: str) -> None:
    """Check that a target of make or an extra of pip exists."""
    words = shlex.split(command)
    if words[0] == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{words[1]}:", makefile, flags=re.MULTILINE), f"{command}: no such target"
    elif words[0] == "modicum":
        check_options(command, command)
    elif found := re.search(r"\[(.*)\]", command):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert set(found[1].split(",")) <= set(project["optional-dependencies"]), f"{command}: no such extra"


def check_options(command: str, where: str) -> None:
    """Check that a command of modicum and its options exist."""
    words = shlex.split(command)
    assert words[0] == "modicum", f"{where}: {command}"
    try:
        group = typer.main.get_command(app)
        name, found, rest = group.resolve_command(group.make_context("modicum", words[1:]), words[1:])
        found.make_context(name, rest)
    except Exception as error:
        raise AssertionError(f"{where}: {command}\n{getattr(error, 'message', error)}") from error


def check_syntax(code: str, where: str) -> None:
    """Check the syntax of shell that is not run."""
    done = subprocess.run(["bash", "-n"], input=code, text=True, capture_output=True)
    assert done.returncode == 0, f"{where}: {done.stderr}"


def _output(command: str, folder: Path, where: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **ONE_CORE, "PATH": path, "COLUMNS": "100"}
    shell = ["bash", "-e", "-o", "pipefail", "-c", command]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(shell, cwd=folder, env=environment, text=True, timeout=600, **streams)
    assert done.returncode == 0, f"{where}: {command}\n{done.stdout}"
    return done.stdout
