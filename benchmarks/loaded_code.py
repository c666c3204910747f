"""Record the code behind a result: the modules of modicum and of the benchmarks that a process has loaded.

Each gets a hash of its code; comments, docstrings and formatting do not change the hash.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_NO_PART = ("benchmarks/common.py", "benchmarks/loaded_code.py", "benchmarks/claims/")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FORM = {"ctx", "kind", "type_comment"}  # fields of a node that do not affect the code


def hash_loaded(elsewhere: Iterable[str] = ()) -> dict[str, str]:
    """Return the hash of every module that this process has loaded, by path.

    `elsewhere` names packages and modules that other processes load for it, such as `modicum.service`.
    """
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files = {Path(file).resolve() for file in modules if file}
    _require_own(sys.modules.get("modicum"))
    files |= {file for name in elsewhere for file in _files(name)}
    paths = [path.relative_to(ROOT).as_posix() for path in files if path.suffix == ".py" and path.is_relative_to(ROOT)]
    known = (path for path in paths if path.startswith(("src/modicum/", "benchmarks/")))
    return {path: hash_file(ROOT / path) for path in sorted(known) if not path.startswith(_NO_PART)}


def _require_own(package: Any) -> None:
    if package is not None and not Path(package.__file__).resolve().is_relative_to(ROOT / "src"):
        raise SystemExit(f"The modicum that ran is not this checkout's: {package.__file__}")


def _files(name: str) -> Iterator[Path]:
    """Yield the file of a module, or all files of a package."""
    base = ROOT / ("src" if name.startswith("modicum") else "benchmarks") / name.replace(".", "/")
    yield from base.rglob("*.py") if base.is_dir() else [base.with_suffix(".py")]


def list_changed(recorded: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """List the modules whose code differs from the record, or that are missing."""
    return [path for path, known in recorded.items() if not (root / path).exists() or hash_file(root / path) != known]


@cache
def hash_file(path: Path) -> str:
    """Hash a file's code; the hash is the same on every version of Python.

    Examples
    --------
    >>> hash_file(Path(__file__)) == hash_file(Path(__file__))
    True
    """
    return hash_code(path.read_text(encoding="utf-8"))


def hash_code(code: str) -> str:
    """
    Examples
    --------
    >>> hash_code("def f(x):\\n    'Twice.'\\n    return 2 * x  # so") == hash_code("def f( x ): return (2*x)")
    True
    >>> hash_code("x = 1") == hash_code("x = 1.0")
    False
    """
    return sha256(repr(_plain(ast.parse(code))).encode()).hexdigest()[:12]


def _plain(node: Any) -> Any:
    """Return a syntax tree as tuples, without docstrings and without fields that depend on the version of Python."""
    if isinstance(node, list):
        return tuple(map(_plain, node))
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = fields["body"][1:]
    kept = ((name, _plain(value)) for name, value in fields.items() if name not in _FORM and value not in (None, []))
    return (type(node).__name__, *kept)
