"""The command as a report tells it, so that the report can be made again."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path


def command_line(*, without: str | None = None, words: Sequence[str] | None = None) -> str | None:
    """The command as it was typed, with the names of files but not their folders; None where it was no command.

    Parameters
    ----------
    without : an option that must stay secret, such as the seed that made groups; it is left out with its value
    words : the program and its arguments, those of this process by default

    Examples
    --------
    >>> from modicum.cli.told_command import command_line
    >>> command_line(words=["/usr/bin/modicum", "anatomize", "people.csv", "--seed", "7", "--l", "3"], without="--seed")
    'modicum anatomize people.csv --l 3'
    """
    program, *given = list(sys.argv if words is None else words)
    if Path(program).stem != "modicum":
        return None
    kept = []
    while given:
        word = given.pop(0)
        if without is not None and word == without:
            del given[:1]
        elif without is None or not word.startswith(f"{without}="):
            kept.append(_shortened(word))
    return shlex.join(["modicum", *kept]).encode(errors="replace").decode()  # names of files may be no text


def _shortened(word: str) -> str:
    option, sign, value = word.partition("=")
    if word.startswith("--") and sign:
        return f"{option}={_shortened(value)}"
    is_place = os.sep in word and (Path(word).exists() or Path(word).parent.is_dir())
    return Path(word).name if is_place else word
