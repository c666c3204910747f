"""Other libraries, each in its own environment under build/, and functions to run scripts in them.

A peer's packages are installed without their dependencies, at exact versions: only those dependencies that the call
really imports. An environment is made on first use, and again when its requirements have changed. A peer's Python runs
the scripts in `benchmarks/peers/workers`; it gets arrays as .npz and returns .json (and .npz).
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from common import ROOT

SCRIPTS = Path(__file__).parent / "workers"
_PANDAS = ("python-dateutil==2.9.0.post0", "pytz==2024.2", "six==1.16.0")
_LEARN = ("joblib==1.3.2", "threadpoolctl==3.5.0")


@dataclass(frozen=True)
class Peer:
    """The content of an environment: packages at exact versions, and stubs for modules that are never called."""

    name: str
    pins: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """A script's results, its arrays, and the peer's printed output."""

    found: dict[str, Any]
    arrays: dict[str, np.ndarray]
    log: list[str]


_TORCH = '''"""Stands in for PyTorch, of which these names alone are looked up while ai-privacy-toolkit is imported."""


class Tensor:
    pass


class nn:
    class Module:
        pass
'''
TOOLKIT = Peer(
    "peer",
    (
        "ai-privacy-toolkit==0.2.1",
        "adversarial-robustness-toolbox==1.18.2",
        "numpy==1.26.4",
        "pandas==2.2.3",
        "scikit-learn==1.3.2",
        "scipy==1.11.4",
        *_LEARN,
        *_PANDAS,
        "packaging==24.1",
        "tqdm==4.66.5",
    ),
    {"torch.py": _TORCH},
)
ANONYPY = Peer("peer-anonypy", ("anonypy==0.2.1", "numpy==2.0.2", "pandas==2.3.3", *_PANDAS))
PYCANON = Peer("peer-pycanon", ("pycanon==1.3.6", "numpy==2.0.2", "pandas==2.3.3", *_PANDAS))
ART = Peer(
    "peer-art",
    (
        "adversarial-robustness-toolbox==1.20.1",
        "numpy==2.0.2",
        "scikit-learn==1.7.2",
        "scipy==1.15.3",
        *_LEARN,
        "packaging==24.1",
        "six==1.16.0",
        "tqdm==4.66.5",
    ),
)
DIFFPRIVLIB = Peer(
    "peer-diffprivlib",
    ("diffprivlib==0.6.6", "numpy==2.0.2", "scikit-learn==1.7.2", "scipy==1.15.3", *_LEARN, "setuptools==75.8.0"),
)


def environment(name: str, pins: Sequence[str], files: Mapping[str, str] | None = None) -> Path:
    """Return the Python of build/NAME; make the environment if it is missing or outdated.

    Parameters
    ----------
    name : str
        The folder under build.
    pins : sequence of str
        Packages at exact versions, installed without their dependencies.
    files : mapping of str to str, optional
        Modules to write next to the packages: file name and text.
    """
    folder, files = ROOT / "build" / name, files or {}
    python, stamp = folder / "bin" / "python", folder / "made.txt"
    wanted = "\n".join([*pins, *(f"{file}\n{text}" for file, text in files.items())])
    if not stamp.exists() or stamp.read_text() != wanted:
        stubs = f" and a stub for {', '.join(file.removesuffix('.py') for file in files)}" if files else ""
        print(f"making {folder} with {', '.join(pins)}{stubs}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", *pins], check=True)
        packages = site_packages(python)
        for file, text in files.items():
            (packages / file).write_text(text)
        stamp.write_text(wanted)
    return python


def site_packages(python: Path) -> Path:
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def ask(peer: Peer, script: str, arrays: Mapping[str, Any], **options: Any) -> Answer:
    """Run a script of benchmarks/peers/workers with the peer's Python on one core.

    Parameters
    ----------
    peer : Peer
        The peer whose Python runs the script.
    script : str
        The file's name.
    arrays : mapping
        The script's input; convert a table with `columns`.
    **options
        Plain values for the script.
    """
    python = environment(peer.name, peer.pins, peer.files)
    with TemporaryDirectory() as folder:
        source, destination = Path(folder) / "arrays.npz", Path(folder) / "found.json"
        np.savez(source, options=np.array(json.dumps(options)), **arrays)
        alone = os.environ | {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        alone.pop("PYTHONPATH", None)
        command = [python, SCRIPTS / script, source, destination]
        log = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=alone, check=True).stdout
        return Answer(json.loads(destination.read_text()), loaded(destination.with_suffix(".npz")), log.splitlines())


def loaded(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file; none if it is absent."""
    if not path.exists():
        return {}
    with np.load(path) as given:
        return dict(given)


def columns(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Convert a table to arrays: numbers unchanged, everything else as text."""
    return {
        f"column {name}": values.to_numpy() if pd.api.types.is_numeric_dtype(values) else values.to_numpy(dtype=str)
        for name, values in frame.items()
    }


def table(arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Reverse `columns`."""
    return pd.DataFrame(
        {name.removeprefix("column "): values for name, values in arrays.items() if name.startswith("column ")}
    )
