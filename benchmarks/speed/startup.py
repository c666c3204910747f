"""Response time of the command line, compared with the time to import its two libraries.

python benchmarks/speed/startup.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, judged, read_options, seconds, write

read_options(__name__, __doc__, elsewhere=("modicum.cli", "modicum.__main__"))

import subprocess
import tempfile
from collections.abc import Callable

REPEAT = 21
TARGET = 3
COMMANDS = {
    "help": ["--help"],
    "absent_file": ["minimize", "absent.csv", "--label", "y", "-o", "g.json"],
}


def run(folder: str, *words: str) -> Callable[[], object]:
    """Return a call that runs Python with these arguments in an empty folder, and ignores its answer."""
    return lambda: subprocess.run([sys.executable, *words], capture_output=True, cwd=folder)


def startup(repeat: int = REPEAT) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        baseline = seconds(run(folder, "-c", "import typer, rich.console"), repeat)
        figures = {"baseline_seconds": baseline, "repeat": repeat, "target": TARGET}
        for name, words in COMMANDS.items():
            found = seconds(run(folder, "-m", "modicum", *words), repeat)
            figures[name] = {"command": ["modicum", *words], "seconds": found, "times": found / baseline}
            print(
                f"modicum {' '.join(words)} / import typer, rich.console: {found:.3f} s / {baseline:.3f} s = "
                f"{found / baseline:.2f} {judged(found / baseline, TARGET)}"
            )
    return figures


def quick() -> dict[str, float]:
    found = startup(5)
    return {f"{name}.times": Speed(found[name]["times"]) for name in COMMANDS}


if __name__ == "__main__":
    write("startup", startup())
