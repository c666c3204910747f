"""How the scripts beside take their question and give their answer; nothing of modicum is imported.

    python benchmarks/peers/workers/SCRIPT.py arrays.npz found.json

`arrays.npz` holds the arrays, columns of a table under "column NAME", and `options` as JSON. What the script finds goes
to `found.json` with the versions of the packages; arrays go beside it, as `found.npz`.
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
    """Answer by `find(arrays, options)`, which returns plain values and arrays to leave beside."""
    source, destination = map(Path, sys.argv[1:])
    with np.load(source) as given:
        arrays = dict(given)
    found, beside = find(arrays, json.loads(str(arrays.pop("options"))))
    if beside:
        np.savez(destination.with_suffix(".npz"), **beside)
    text = json.dumps(found | {"versions": versions(packages)}, default=lambda number: number.item())
    destination.write_text(text)


def versions(packages: Iterable[str]) -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns and the seconds it took."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def table(arrays: Arrays) -> Any:
    """The columns among the arrays as a frame with rows numbered from 0."""
    import pandas as pd

    # Text as Python's own strings: arrays of fixed width would stay such inside an object matrix.
    return pd.DataFrame(
        {
            name[len("column ") :]: values.astype(object) if values.dtype.kind == "U" else values
            for name, values in arrays.items()
            if name.startswith("column ")
        }
    )


def columns(frame: Any) -> Arrays:
    """A frame as arrays, the way back from `table`."""
    return {f"column {name}": plain(values.to_numpy()) for name, values in frame.items()}


def plain(values: np.ndarray) -> np.ndarray:
    """Numbers as numbers even where they stood among text."""
    if values.dtype.kind != "O":
        return values
    return values.astype(str) if isinstance(values[0], str) else values.astype(float)
