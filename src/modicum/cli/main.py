"""The entry point: one sentence and exit code 2 for bad input."""

import signal
import sys
import threading
import warnings
from typing import Annotated, Any

import typer

import modicum
from modicum.cli.commands import (
    anatomize,
    anonymize,
    apply,
    attack,
    bundle,
    demo,
    describe,
    export,
    form,
    judge,
    minimize,
    prism,
    serve,
    study,
)
from modicum.cli.output import printable
from modicum.errors import ModicumError

app = typer.Typer(
    name="modicum",
    help="How little personal data does this prediction need, and what could still leak?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("minimize")(minimize.minimize)
app.command("apply")(apply.apply)
app.command("describe")(describe.describe)
app.command("judge")(judge.judge)
app.command("attack")(attack.attack)
app.command("study")(study.study)
app.command("anonymize")(anonymize.anonymize)
app.command("anatomize")(anatomize.anatomize)
app.command("prism")(prism.prism)
app.command("report")(judge.report)
app.command("export")(export.export)
app.command("form")(form.form)
app.command("bundle")(bundle.bundle)
app.command("serve")(serve.serve)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(modicum.__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, help="Show the version and leave.")] = False,
) -> None:
    """How little personal data does this prediction need, and what could still leak?"""


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """A warning as a person reads it, without the line of code it came from."""
    sys.stderr.write(f"modicum: {printable(str(message))}\n")


def run() -> None:
    """Run the command line; bad input is one sentence on standard error and exit code 2, a warning one sentence."""
    warnings.showwarning = _show_warning
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was begun is cleaned away, as on Ctrl-C
    try:
        app()
    except ModicumError as error:
        sys.stderr.write(f"modicum: {printable(str(error))}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("modicum: stopped.\n")
        sys.exit(130)
    except OSError as error:
        sys.stderr.write(f"modicum: {error.strerror or error}: {error.filename or ''}\n")
        sys.exit(2)
