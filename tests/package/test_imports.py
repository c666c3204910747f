"""Packages import only from below, each name has one meaning, and `import modicum` stays cheap."""

import ast
import collections
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "modicum"

_ARTIFACTS = {"errors", "typing", "progress", "table", "generalization", "releases", "provenance"}
_MODELS = _ARTIFACTS | {"engines", "measures", "learners", "trees"}
_METHODS = {"minimizers", "anonymizers", "anatomy", "prism"}
ALLOWED = {
    "errors": set(),
    "typing": set(),
    "progress": {"errors"},
    "table": {"errors", "typing"},
    "generalization": {"errors", "typing", "progress", "table"},
    "releases": {"errors", "typing", "table", "generalization"},
    "provenance": {"errors", "typing", "table", "generalization"},
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
    "workflow": _MODELS | _METHODS | {"attacks", "evaluation", "reporting", "export", "datasets"},
}
EXCEPTIONS = {  # one-line deferred imports that reach upward
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


def test_no_folder_has_more_than_15_files():
    files = collections.Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert {str(folder): count for folder, count in files.items() if count > 15} == {}


def test_a_file_name_has_one_meaning():
    parts = {"base", "data", "page", "kernel"}  # names that several folders use
    names = collections.Counter(path.stem for path in FILES)
    assert {name for name, count in names.items() if count > 1} - parts == {"__init__"}


def test_a_class_name_has_one_meaning():
    trees = {path: ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in FILES}
    names = collections.Counter(node.name for tree in trees.values() for node in tree if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == set()


def test_import_is_cheap():
    heavy = ["torch", "duckdb", "altair", "fastapi", "numba", "sklearn", "pandas"]
    code = f"import sys, modicum; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


HEAVY = ["pandas", "numpy", "narwhals", "sklearn", "numba", "duckdb", "jinja2"]


def loaded_after(*words: object, folder: Path) -> tuple[int, str, set[str]]:
    """Run a command in a new process; return its exit code, its messages and the modules that it loaded."""
    code = (
        "import atexit, sys\n"
        "sys.argv = ['modicum', *sys.argv[1:]]\n"
        "atexit.register(lambda: open('modules.txt', 'w').write('\\n'.join(sys.modules)))\n"
        "from modicum.cli.main import run; run()"
    )
    command = [sys.executable, "-c", code, *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return result.returncode, result.stderr, set((folder / "modules.txt").read_text(encoding="utf-8").split("\n"))


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "modicum"}


def test_help_loads_no_heavy_module(tmp_path):
    code, _, modules = loaded_after("--help", folder=tmp_path)
    assert code == 0
    assert not modules & {*HEAVY, "modicum.evaluation", "modicum.attacks", "modicum.minimizers"}


@pytest.mark.parametrize(
    "words",
    [
        ["minimize", "absent.csv", "--label", "y", "-o", "g.json"],
        ["anonymize", "absent.csv", "-o", "k.csv", "--quasi-identifiers", "age"],
        ["anatomize", "absent.csv", "-o", "released", "--sensitive", "y"],
        ["study", "absent.csv", "--label", "y", "--folder", "s"],
        ["prism", "absent.csv", "--label", "y", "--sensitive", "x"],
        ["judge", "there.json", "absent.csv"],
        ["report", "there.json", "absent.csv", "-o", "r.html"],
        ["attack", "there.json", "absent.csv"],
        ["apply", "there.json", "absent.csv", "-o", "o.csv"],
        ["apply", "absent.json", "there.csv", "-o", "o.csv"],
        ["describe", "absent.json"],
        ["describe", "there.json", "absent.csv"],
        ["form", "absent.json", "-o", "f.html"],
        ["export", "absent.json", "--to", "sql"],
        ["bundle", "there.json", "absent.csv", "-o", "b"],
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_an_absent_file_is_refused_before_anything_heavy_is_loaded(words, tmp_path):
    (tmp_path / "there.json").write_text("{}", encoding="utf-8")
    (tmp_path / "there.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    code, message, modules = loaded_after(*words, folder=tmp_path)
    assert code == 2
    assert message.startswith("modicum: The file 'absent.")
    assert modules & {*HEAVY} == set()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["modules.txt", "there.csv", "there.json"]


@pytest.mark.parametrize("engine", [["--engine", "duckdb"], []])
def test_an_address_is_checked_by_the_engine(engine, tmp_path):
    import modicum as md

    md.Uniform(buckets=2).fit(md.datasets.load_adult().X).generalization_.save(tmp_path / "g.json")
    words = ["apply", "g.json", "s3://bucket/people", "-o", "o.csv", *engine]
    code, message, _ = loaded_after(*words, folder=tmp_path)
    assert code == 2
    assert "use the engine 'spark'" in message


@pytest.mark.parametrize("words", [["people", "--engine", "spark"], ["--engine", "spark", "people"]])
def test_a_path_for_spark_may_be_on_another_machine(words):
    import typer
    from typer.testing import CliRunner

    from modicum.cli.options import EngineOption, FileArgument
    from modicum.errors import DataError

    app = typer.Typer()

    @app.command()
    def look(file: FileArgument, engine: EngineOption = None) -> None:
        typer.echo(f"{file} in {engine}")

    assert CliRunner().invoke(app, words).output == "people in spark\n"
    assert isinstance(CliRunner().invoke(app, ["people"]).exception, DataError)


def test_a_command_loads_what_it_needs_and_little_else(tmp_path):
    import modicum as md

    X, y = md.datasets.load_adult(return_X_y=True)
    X.assign(income=y).head(500).to_csv(tmp_path / "people.csv", index=False)
    md.Uniform(buckets=2).fit(X).generalization_.save(tmp_path / "g.json")

    quasi = ["--quasi-identifiers", "age,sex"]
    code, message, modules = loaded_after("anonymize", "people.csv", "-o", "k.csv", *quasi, folder=tmp_path)
    assert code == 0, message
    assert (tmp_path / "k.csv").exists()
    assert len(own(modules)) < 120

    code, message, modules = loaded_after("apply", "g.json", "people.csv", "-o", "o.csv", folder=tmp_path)
    assert code == 0, message
    assert (tmp_path / "o.csv").exists()
    assert len(own(modules)) < 80


def test_a_name_loads_what_it_needs_and_little_else():
    code = (
        "import sys; from modicum.{0} import {1}; print(sum(name.split('.')[0] == 'modicum' for name in sys.modules))"
    )
    for module, name, most in [("reporting.disclosure", "few", 30), ("generalization", "Generalization", 30)]:
        command = [sys.executable, "-c", code.format(module, name)]
        count = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert count < most, f"{name} loads {count} modules"


def test_public_names_exist():
    import modicum as md

    for name in md.__all__:
        assert getattr(md, name) is not None
    with pytest.raises(AttributeError, match="attribute nothing"):
        md.nothing  # noqa: B018
