"""The entry point; bad input ends with one sentence and exit code 2."""

import inspect
import re
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
    version: Annotated[bool, typer.Option("--version", callback=_version, help="Show the version and exit.")] = False,
) -> None:
    """How little personal data does this prediction need, and what could still leak?"""


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a warning without the line of code that it came from."""
    sys.stderr.write(f"modicum: {printable(str(message))}\n")


def run() -> None:
    """Run the command line; bad input prints one sentence to standard error and exits with code 2."""
    warnings.showwarning = _show_warning
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as on Ctrl-C
    try:
        app()
    except ModicumError as error:
        sys.stderr.write(f"modicum: {printable(_name_options(str(error)))}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("modicum: stopped.\n")
        sys.exit(130)
    except OSError as error:
        sys.stderr.write(f"modicum: {error.strerror or error}: {error.filename or ''}\n")
        sys.exit(2)


def _name_options(message: str) -> str:
    """Replace Python parameters in a message by the options of the command."""
    command = next((each for each in app.registered_commands if each.name in sys.argv[1:2]), None)
    if command is None or command.callback is None:
        return message
    known = inspect.signature(command.callback).parameters
    for words in (r"The '(\w+)' parameter(?: of \w+)?", r"the '(\w+)' parameter"):
        message = re.sub(
            words,
            lambda found: f"{found[0][:3]} option --{found[1].replace('_', '-')}" if found[1] in known else found[0],
            message,
        )
    return message
