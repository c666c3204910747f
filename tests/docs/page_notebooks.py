"""Run a notebook, and compare its outputs with the stored ones."""

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


def run_notebook(path: Path, folder: Path) -> Any:
    """Run a notebook from top to bottom in a folder and return it."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    return notebook


def outputs_of(notebook: Any) -> dict[str, str]:
    """Return what each cell of code printed and showed as text, by the cell's id."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return {cell["id"]: "".join(_text(output) for output in cell["outputs"]) for cell in cells}


def _text(output: Any) -> str:
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    text = output.get("text", output.get("data", {}).get("text/plain", ""))
    return text if isinstance(text, str) else "".join(text)


def steady(text: str) -> str:
    """Remove from a text what may differ between two runs, and blanks at the ends of lines."""
    for pattern, name in VARIES.items():
        text = re.sub(pattern, name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def stale(kept: Any, fresh: Any) -> list[str]:
    """Return a line with both outputs for each cell that no longer prints its stored output."""
    before, now = outputs_of(kept), outputs_of(fresh)
    names = [*before, *(name for name in now if name not in before)]
    differ = [name for name in names if not same(steady(before.get(name, "")), steady(now.get(name, "")))]
    return [f"{name}: kept {before.get(name)!r}, printed {now.get(name)!r}" for name in differ]
