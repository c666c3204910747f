"""How long the command line takes to answer, beside what importing its two libraries takes alone.

python benchmarks/startup.py
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable

from common import judged, seconds, write

REPEAT = 21
TARGET = 3
COMMANDS = {
    "help": ["--help"],
    "absent_file": ["minimize", "absent.csv", "--label", "y", "-o", "g.json"],
}


def run(*words: str) -> Callable[[], object]:
    """A call that runs Python with these arguments in an empty folder, whatever it answers."""
    return lambda: subprocess.run([sys.executable, *words], capture_output=True, cwd=folder)


with tempfile.TemporaryDirectory() as folder:
    baseline = seconds(run("-c", "import typer, rich.console"), REPEAT)
    figures = {"baseline_seconds": baseline, "repeat": REPEAT, "target": TARGET}
    for name, words in COMMANDS.items():
        found = seconds(run("-m", "modicum", *words), REPEAT)
        figures[name] = {"command": ["modicum", *words], "seconds": found, "times": found / baseline}
        print(
            f"modicum {' '.join(words)} / import typer, rich.console: {found:.3f} s / {baseline:.3f} s = "
            f"{found / baseline:.2f} {judged(found / baseline, TARGET)}"
        )
write("startup", figures)
