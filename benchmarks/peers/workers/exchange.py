"""Input and output of the scripts in this folder; nothing of modicum is imported.

    python benchmarks/peers/workers/SCRIPT.py arrays.npz found.json

`arrays.npz` holds the arrays, columns of a table under "column NAME", and `options` as JSON. The script's results go to
`found.json` with the versions of the packages, its arrays to `found.npz`.
"""

import json
import platform
import sys
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


def answer(find: Callable[[Arrays, dict], tuple[dict, Arrays]], packages: Iterable[str]) -> None:
    """Run `find(arrays, options)`, which returns plain values and arrays, and write both."""
    source, destination = map(Path, sys.argv[1:])
    with np.load(source) as given:
        arrays = dict(given)
    found, produced = find(arrays, json.loads(str(arrays.pop("options"))))
    if produced:
        np.savez(destination.with_suffix(".npz"), **produced)
    text = json.dumps(found | {"versions": versions(packages)}, default=lambda number: number.item())
    destination.write_text(text)


def versions(packages: Iterable[str]) -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return a call's result and its seconds."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def table(arrays: Arrays) -> Any:
    """Return the columns among the arrays as a frame with rows numbered from 0."""
    import pandas as pd

    # Convert text to Python's own strings; fixed-width strings would remain in an object matrix.
    return pd.DataFrame(
        {
            name[len("column ") :]: values.astype(object) if values.dtype.kind == "U" else values
            for name, values in arrays.items()
            if name.startswith("column ")
        }
    )


def columns(frame: Any) -> Arrays:
    """Convert a frame to arrays; reverses `table`."""
    return {f"column {name}": plain(values.to_numpy()) for name, values in frame.items()}


def plain(values: np.ndarray) -> np.ndarray:
    """Restore numbers that were stored as text."""
    if values.dtype.kind != "O":
        return values
    return values.astype(str) if isinstance(values[0], str) else values.astype(float)
