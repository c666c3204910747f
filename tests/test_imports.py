"""What may import what (DESIGN §1), and that `import modicum` stays cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "modicum"

_ARTIFACTS = {"errors", "progress", "table", "generalization", "releases", "provenance"}
_MODELS = _ARTIFACTS | {"engines", "measures", "learners", "trees"}
_METHODS = {"minimizers", "anonymizers", "anatomy", "prism"}
ALLOWED = {
    "errors": set(),
    "progress": {"errors"},
    "table": {"errors"},
    "generalization": {"errors", "progress", "table"},
    "releases": {"errors", "table", "generalization"},
    "provenance": {"errors", "table", "generalization"},
    "engines": _ARTIFACTS,
    "measures": _ARTIFACTS | {"engines"},
    "learners": _ARTIFACTS | {"measures"},
    "trees": _ARTIFACTS | {"measures"},
    **dict.fromkeys(_METHODS, _MODELS),
    "attacks": _MODELS - {"trees"},
    "evaluation": _MODELS | _METHODS | {"attacks"},
    "datasets": {"errors", "table"},
    "export": _ARTIFACTS,
    "reporting": _MODELS | _METHODS | {"attacks", "evaluation"},
    "service": _MODELS | {"export"},
}
EXCEPTIONS = {  # one-line deferred imports that reach upward
    ("evaluation/study/study_result.py", "reporting"),
    ("generalization/description.py", "engines"),
    ("generalization/exports.py", "export"),
}

FILES = sorted(SOURCE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in found if name.startswith("modicum.")}


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_a_file_imports_only_what_lies_below_it(path):
    relative = path.relative_to(SOURCE)
    package = relative.parts[0].removesuffix(".py")
    if package in ("cli", "__init__", "__main__"):
        return
    reached = imported(path) - {package}
    beyond = {name for name in reached - ALLOWED[package] if (str(relative), name) not in EXCEPTIONS}
    assert not beyond, f"{relative} may not import {beyond}"


def test_nothing_imports_the_command_line():
    importers = [
        p for p in FILES if "cli" in imported(p) and p.relative_to(SOURCE).parts[0] not in ("cli", "__main__.py")
    ]
    assert importers == []


def test_import_is_cheap():
    heavy = ["torch", "duckdb", "altair", "fastapi", "numba", "sklearn", "pandas"]
    code = f"import sys, modicum; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_command_line_starts_without_what_only_some_commands_need():
    heavy = ["sklearn", "numba", "duckdb", "jinja2", "modicum.evaluation", "modicum.attacks"]
    code = f"import sys, modicum.cli.main; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_public_names_are_there():
    import modicum as md

    for name in md.__all__:
        assert getattr(md, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        md.nothing  # noqa: B018
