"""Runs a notebook, and compares what it printed with what is kept in it."""

import re
from pathlib import Path
from typing import Any

from page_numbers import same

VARIES = {  # what may differ between two runs of the same notebook
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?": "<date>",
    r"\b\d+(?:\.\d+)? (?:ms|s|seconds|minutes)\b": "<time>",
    r"\b0x[0-9a-f]{6,}\b": "<address>",
    r"(?:/[\w.+-]+){2,}": "<path>",
    r"\b\d+\.\d+\.\d+(?:\.?(?:dev|rc|post)\d+)?\b": "<version>",
}


def executed(path: Path, folder: Path) -> Any:
    """The notebook, run from top to bottom in a folder."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    return notebook


def told(notebook: Any) -> dict[str, str]:
    """What each cell with code printed and showed as text, by the cell's id."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return {cell["id"]: "".join(_text(output) for output in cell["outputs"]) for cell in cells}


def _text(output: Any) -> str:
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    text = output.get("text", output.get("data", {}).get("text/plain", ""))
    return text if isinstance(text, str) else "".join(text)


def steady(text: str) -> str:
    """A text without what may differ between two runs, each line without blanks at its end."""
    for pattern, name in VARIES.items():
        text = re.sub(pattern, name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def stale(kept: Any, fresh: Any) -> list[str]:
    """The cells whose kept output is not what they print now: a line for each, with both."""
    before, now = told(kept), told(fresh)
    names = [*before, *(name for name in now if name not in before)]
    differ = [name for name in names if not same(steady(before.get(name, "")), steady(now.get(name, "")))]
    return [f"{name}: kept {before.get(name)!r}, printed {now.get(name)!r}" for name in differ]
