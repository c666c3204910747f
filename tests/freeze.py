"""What must not change by accident: public names and signatures, help texts, and the bytes of artifacts and exports.

python tests/freeze.py            rewrite tests/frozen (make freeze); the diff shows what users will see
python tests/freeze.py --check    fail and show the difference if anything has changed
"""

import argparse
import difflib
import importlib
import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pandas as pd
from typer.testing import CliRunner

import modicum as md
from modicum.errors import ModicumError

FROZEN = Path(__file__).parent / "frozen"
REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake")
PERSONAL = "age,education,marital-status,occupation,relationship,race,sex,native-country"


# Public names


def make_names(folder: Path) -> None:
    """Write a line for each public name, with signature and members at its first occurrence."""
    lines: list[str] = []
    known: set[int] = set()
    for module in (md, *reference_modules()):
        lines.append(module.__name__)
        for name in sorted(getattr(module, "__all__", None) or own_names(module)):
            value = getattr(module, name)
            lines += [f"  {name}"] if id(value) in known else [f"  {line}" for line in describe(name, value)]
            known |= {id(value)} if callable(value) else set()
    (folder / "names.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def reference_modules() -> list[ModuleType]:
    """The modules that the reference documents."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted(REFERENCE.rglob("*.md")))
    return [importlib.import_module(name) for name in sorted(set(re.findall(r"^::: (\S+)$", pages, re.MULTILINE)))]


def own_names(module: ModuleType) -> list[str]:
    """The public functions and classes that a module defines itself."""
    members = [(name, value) for name, value in vars(module).items() if not name.startswith("_")]
    return [name for name, value in members if getattr(value, "__module__", None) == module.__name__]


def describe(name: str, value: Any) -> Iterator[str]:
    """A name and its signature; for a class, also its public members."""
    if isinstance(value, ModuleType):
        yield f"{name}: module"
    elif inspect.isclass(value):
        yield f"class {name}{signature(value)}"
        yield from (f"  {describe_member(value, member)}" for member in sorted(public_members(value)))
    elif callable(value) and not hasattr(value, "__supertype__"):
        yield f"{name}{signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def public_members(kind: type) -> set[str]:
    """The members that a class and its parents in this package define or declare."""
    own = [each for each in kind.__mro__ if each.__module__.split(".")[0] == "modicum"]
    names = {name for each in own for name in (*vars(each), *inspect.get_annotations(each))}
    return {name for name in names if not re.match(r"_|model_config$|set_\w+_request$", name)}


def describe_member(kind: type, name: str) -> str:
    """A member; for a method, with its signature."""
    try:
        value = inspect.getattr_static(kind, name)
    except AttributeError:  # declared only: a field
        return f".{name}"
    if isinstance(value, classmethod | staticmethod):
        return f".{name}{signature(value.__func__)} [{type(value).__name__}]"
    return f".{name}{signature(value)}" if inspect.isfunction(value) else f".{name}"


def signature(value: Any) -> str:
    """Parameters and their defaults, without types, because types name modules, which may move."""
    try:
        full = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in full.parameters.values()]
    text = str(full.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


# Help texts


def make_help(folder: Path) -> None:
    """Write the output of `modicum --help` and of every command's help, 100 characters wide."""
    from modicum.cli.main import app

    commands = [[], *([command.name] for command in app.registered_commands)]
    texts = [f"$ modicum {' '.join([*words, '--help'])}\n{run(*words, '--help')}" for words in commands]
    (folder / "help.txt").write_text("\n".join(texts), encoding="utf-8")


def run(*words: str) -> str:
    """Run a command and return its output."""
    from modicum.cli.main import app

    done = CliRunner(env={"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "TERM": "dumb"}).invoke(
        app, list(words), prog_name="modicum"
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


# Artifacts and their exports


def adult(rows: int) -> tuple[pd.DataFrame, pd.Series]:
    """The first records of the embedded data."""
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[:rows], y[:rows]


@contextmanager
def adult_file(rows: int, columns: Sequence[str] | None = None) -> Iterator[str]:
    """The same records as a temporary CSV file for commands."""
    X, y = adult(rows)
    with TemporaryDirectory() as folder:
        X[columns or list(X)].assign(income=y).to_csv(path := Path(folder) / "adult.csv", index=False)
        yield str(path)


def make_minimized(folder: Path) -> None:
    """Save each minimizer's result on the same people, in Python and by command."""
    with adult_file(6000) as file:
        command = ("minimize", file, "--label", "income", "--personal", PERSONAL)
        run(*command, "-o", str(folder / "merge.json"))
        run(*command, "--keep", "0.9", "--seed", "3", "-o", str(folder / "merge_keep.json"))
        run(*command, "--risk", "certificate", "--min-group", "20", "-o", str(folder / "merge_certificate.json"))
        run(*command, "--method", "pat", "-o", str(folder / "pat.json"))
        run(*command, "--method", "pat", "--keep", "0.8", "-o", str(folder / "pat_keep.json"))
    with adult_file(60) as file:
        run("apply", str(folder / "pat.json"), file, "-o", str(folder / "pat_applied.csv"))
    X, y = adult(6000)
    personal = PERSONAL.split(",")
    for name, minimizer in {
        "uniform": md.Uniform(buckets=3, personal=personal),
        "feature_selection": md.FeatureSelection(k=5, personal=personal),
        "iterative": md.Iterative(max_error=0.2, buckets=4, personal=personal),
        "privacy_tree": md.PrivacyTree(max_leaves=12, privacy=0.7, min_leaf=50, personal=personal),
        "merge_path": md.MergePath(keep=0.8, personal=personal),
    }.items():
        minimizer.fit(X, y).generalization_.save(folder / f"{name}.json")
    described = run("describe", str(folder / "pat.json"), "--json")
    (folder / "pat_described.json").write_text(described, encoding="utf-8")
    export(folder / "pat.json", folder)
    run("form", str(folder / "pat.json"), "-o", str(folder / "pat_form.html"))


def hostile() -> pd.DataFrame:
    """Names and categories that mean something in SQL, JavaScript, HTML and YAML; every kind of attribute."""
    n = 60
    words = ["'; DROP TABLE people; --", "</script><b>", 'a"b`c', "__proto__", "null", "e\u0301", "%s $1 ? {{x}}", ""]
    return pd.DataFrame(
        {
            'it\'s "age"': [18 + i for i in range(n)],
            "</script>": [words[i % 8] for i in range(n)],
            "größe; --": [None if i % 11 == 0 else i * 0.1 for i in range(n)],
            "born": pd.date_range("1950-01-31", periods=n, freq="123D").astype("datetime64[us]"),
            "school": pd.Categorical(
                [("none", "basic", "higher")[i % 3] for i in range(n)], ["none", "basic", "higher"], ordered=True
            ),
            "constructor": [i % 7 < 3 for i in range(n)],
        }
    )


def make_hostile(folder: Path) -> None:
    """Schema, buckets and every export of a table with hostile names."""
    X = hostile()
    md.Schema.infer(X).to_yaml(folder / "schema.yaml")
    md.Uniform(buckets=3).fit(X).generalization_.save(path := folder / "uniform.json")
    export(path, folder)
    run("form", str(path), "--language", "de", "-o", str(folder / "uniform_form.html"))


def export(artifact: Path, folder: Path) -> None:
    """Write every export of a generalization except the form."""
    stem = artifact.stem
    for dialect in DIALECTS:
        export_to("sql", artifact, folder / f"{stem}_{dialect}.sql", "--dialect", dialect)
        export_to("sql", artifact, folder / f"{stem}_values_{dialect}.sql", "--dialect", dialect, "--as", "values")
    export_to("javascript", artifact, folder / f"{stem}.mjs")
    export_to("json-schema", artifact, folder / f"{stem}_schema.json")
    export_to("dbt", artifact, folder / f"{stem}_dbt")


def export_to(kind: str, artifact: Path, path: Path, *options: str) -> None:
    """Write one export, or the reason if it is refused."""
    try:
        run("export", str(artifact), "--to", kind, *options, "-o", str(path))
    except ModicumError as error:
        path.write_text(f"{error}\n", encoding="utf-8")


def rich(X: pd.DataFrame) -> Any:
    """A model without a library: a large gain, or age over 40 with long hours and a degree."""
    degree = X["education"].isin(["Bachelors", "Masters", "Doctorate", "Prof-school"])
    return (X["capital-gain"] > 5000) | (X["age"] > 40) & (X["hours-per-week"] > 45) & degree


def make_cells(folder: Path) -> None:
    """Save the buckets, cells and questionnaire for a model, with their exports."""
    X = adult(3000)[0][["age", "education", "hours-per-week", "capital-gain"]]
    guided = md.ModelGuided(rich, target_agreement=0.97).fit(X)
    guided.generalization_.save(folder / "buckets.json")
    guided.cells_.save(cells := folder / "cells.json")
    for dialect in DIALECTS:
        export_to("sql", cells, folder / f"cells_{dialect}.sql", "--dialect", dialect)
    export_to("javascript", cells, folder / "cells.mjs", "--representatives")
    export_to("json-schema", cells, folder / "cells_schema.json")
    export_to("javascript", cells, folder / "questionnaire.mjs", "--questionnaire")
    export_to("json-schema", cells, folder / "questionnaire_schema.json", "--questionnaire")
    run("form", str(cells), "--questionnaire", "-o", str(folder / "questionnaire_form.html"))


def make_releases(folder: Path) -> None:
    """Write tables that are published once: k-anonymous tables and anatomy's two tables."""
    quasi = ["age", "education", "race", "sex", "hours-per-week"]
    with adult_file(300, [*quasi, "occupation"]) as file:
        words = ("anonymize", file, "--k", "10", "--quasi-identifiers", ",".join(quasi))
        for method in ("accuracy-guided", "mondrian", "hilbert", "rplus-tree"):
            label = ("--label", "income") if method == "accuracy-guided" else ()
            run(*words, "--method", method, *label, "-o", str(folder / f"{method.replace('-', '_')}.csv"))
        diverse = ("--sensitive", "occupation", "--l", "3", "--as", "ranges")
        run(*words, "--method", "mondrian", *diverse, "-o", str(folder / "mondrian_diverse.csv"))
        split = ("--sensitive", "occupation", "--drop-missing", "--l", "3", "--label", "income", "--seed", "5")
        for grouping in ("bucketize", "random", "dealt"):
            run("anatomize", file, *split, "--grouping", grouping, "-o", str(folder / f"anatomy_{grouping}"))


def make_prism(folder: Path) -> None:
    """Save the attributes that reveal a sensitive one, and those that a classifier without them may use."""
    X, y = adult(2000)
    X = X[["age", "workclass", "education", "marital-status", "relationship", "sex", "hours-per-week"]]
    chosen = md.prism.select(X, y, "sex", threshold=0.3, max_predictors=3, class_weight="balanced")
    content = {"correlated": [list(each) for each in chosen.correlations.sets], "chosen": chosen.attributes}
    (folder / "adult.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


PARTS = {
    make.__name__.removeprefix("make_"): make
    for make in (make_names, make_help, make_minimized, make_hostile, make_cells, make_releases, make_prism)
}


def difference(part: str) -> str:
    """Changed files and lines of one part since it was frozen; empty if nothing changed."""
    with TemporaryDirectory() as folder:
        PARTS[part](Path(folder))
        current, frozen = read_files(Path(folder)), read_files(FROZEN / part)
    names = sorted(name for name in current.keys() | frozen.keys() if current.get(name) != frozen.get(name))
    pairs = [(frozen.get(name, b""), current.get(name, b""), name) for name in names]
    return "\n".join(f"{part}/{name} has changed:\n{lines_changed(before, after)}" for before, after, name in pairs)


def read_files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lines_changed(before: bytes, after: bytes) -> str:
    """A diff of two texts."""
    texts = [text.decode(errors="replace").splitlines() for text in (before, after)]
    return "\n".join(difflib.unified_diff(*texts, "frozen", "now", lineterm="", n=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only, and show the difference")
    if parser.parse_args().check:
        sys.exit("\n".join(filter(None, map(difference, PARTS))) or None)
    shutil.rmtree(FROZEN, ignore_errors=True)
    for part, make in PARTS.items():
        (FROZEN / part).mkdir(parents=True)
        make(FROZEN / part)


if __name__ == "__main__":
    main()
