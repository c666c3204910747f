"""Install a wheel in an empty environment outside the repository, and use it as a stranger would: `make wheel-test`.

    python tests/try_wheel.py build/modicum-0.1.0-py3-none-any.whl

Needs only the standard library. Stops at the first failure and shows its output.
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROLES = ("--label", "income", "--personal", "age,education,marital-status,occupation,sex")
PEOPLE = """
import modicum as md
X, y = md.datasets.load_adult(return_X_y=True)
X.assign(income=y)[:3000].to_csv("people.csv", index=False)
"""
WHERE = "import modicum, sys; print(modicum.__file__); print(sys.prefix)"
MODEL = """
import modicum as md
X = md.datasets.load_adult().X[["age", "hours-per-week", "capital-gain"]][:2000]
md.ModelGuided(lambda X: X["age"] > 40, target_agreement=0.97).fit(X).cells_.save("cells.json")
"""
COMMANDS = [  # each command line, and the files that it must write
    ("demo", "demo-output/generalization.json demo-output/report.html"),
    (("minimize", "people.csv", *ROLES, "-o", "g.json", "--report", "r.html"), "g.json r.html r.md r.json"),
    (("minimize", "people.csv", *ROLES, "--method", "pat", "-o", "pat.json", "--json"), "pat.json"),
    ("study people.csv --label income --minimizers Uniform --folder tried -o s.json --report t.html", "s.json t.html"),
    ("apply g.json people.csv -o small.csv", "small.csv"),
    ("apply g.json people.csv --engine duckdb -o small.parquet", "small.parquet"),
    ("describe g.json people.csv", ""),
    ("judge g.json people.csv --label income", ""),
    ("attack g.json people.csv", ""),
    ("report g.json people.csv --label income -o evidence.html", "evidence.html"),
    ("export g.json --to sql --dialect postgres -o g.sql", "g.sql"),
    ("export g.json --to dbt -o dbt", "dbt/models/minimized.sql"),
    ("export g.json --to javascript -o g.mjs", "g.mjs g.d.mts"),
    ("export g.json --to json-schema -o g.schema.json", "g.schema.json"),
    ("form g.json -o form.html", "form.html"),
    ("form cells.json --questionnaire --language de -o ask.html", "ask.html"),
    ("bundle g.json people.csv --label income -o bundle", "bundle/manifest.json"),
    ("anonymize people.csv -o k.csv --k 10 --label income --quasi-identifiers age,sex,race --report k.html", "k.html"),
    ("anatomize people.csv -o parts --sensitive education --label income --l 3 --seed 1", "parts/identifying.csv"),
    ("prism people.csv --label income --sensitive sex --max-predictors 3 --no-adversary", ""),
]
REFUSED = [  # must be refused in one sentence
    ("minimize nowhere.csv --label income -o x.json", "nowhere.csv"),
    ("serve bundle", "modicum[serve]"),
]


def main(wheel: Path) -> None:
    begin = time.monotonic()
    check_content(wheel)
    with tempfile.TemporaryDirectory(prefix="modicum-wheel-") as folder:
        work = Path(folder) / "work"
        work.mkdir()
        programs = install(wheel, Path(folder) / "environment")
        python, modicum = str(programs / "python"), str(programs / "modicum")
        place, prefix = call([python, "-c", WHERE], work).splitlines()
        check(Path(place).is_relative_to(prefix), f"modicum was imported from {place}, not from the wheel")
        for code in (PEOPLE, MODEL):
            call([python, "-c", code], work)
        for words, files in COMMANDS:
            call([modicum, *(words.split() if isinstance(words, str) else words)], work)
            for file in files.split():
                check((work / file).is_file() and (work / file).stat().st_size > 0, f"{words} left no {file}")
        for words, text in REFUSED:
            output = call([modicum, *words.split()], work, code=2)
            check(
                output.count("\n") == 1 and text in output, f"{words} should be refused in one sentence, not: {output}"
            )
        call([python, str(ROOT / "tests" / "freeze.py"), "--check"], work)
    print(f"The wheel works: {len(COMMANDS)} commands, {time.monotonic() - begin:.0f} s.")


def check_content(wheel: Path) -> None:
    """The wheel holds every file of the package, and nothing else."""
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    expected = {name.removeprefix("src/") for name in tracked.splitlines()}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    check(packed == expected, f"the wheel and the repository differ in {sorted(packed ^ expected)}")


def install(wheel: Path, environment: Path) -> Path:
    """Install the wheel without extras in a new environment; return the folder of its programs."""
    venv.create(environment, with_pip=True)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    call([*pip, "--constraint", str(ROOT / "constraints.txt"), str(wheel.resolve())], environment)
    return programs


def call(command: list[str], folder: Path, code: int = 0) -> str:
    """Run a program without access to the repository and return its output."""
    words = [Path(word).name if Path(word).is_absolute() else "…" if "\n" in word else word for word in command]
    print("$", " ".join(words), flush=True)
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        command, cwd=folder, env=bare, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900
    )
    check(done.returncode == code, f"exit code {done.returncode}, not {code}:\n{done.stdout}")
    return done.stdout


def check(good: bool, problem: str) -> None:
    if not good:
        sys.exit(f"The wheel does not work: {problem}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
