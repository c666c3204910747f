"""`python -m modicum`."""

from modicum.cli.main import run

run()
