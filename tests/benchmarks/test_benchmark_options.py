"""Every benchmark states in its `--help` what it measures, reads and writes, and how long that took."""

import ast
import subprocess
import sys
from pathlib import Path

import loaded_code
import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("speed", "papers", "peers")
HELPERS = {"scale_data", "scale_step", "environments"}  # are run or imported by a benchmark
SCRIPTS = sorted(p for f in FOLDERS for p in (ROOT / "benchmarks" / f).glob("*.py") if p.stem not in HELPERS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_answers_help(script):
    done = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=True, cwd=ROOT)
    about = script.read_text(encoding="utf-8").split('"""')[1].split("\n")[0]
    lines = done.stdout.splitlines()
    assert about in lines
    facts = {line.partition(": ")[0]: line.partition(": ")[2].strip() for line in lines if ": " in line}
    assert facts["writes"].startswith(f"benchmarks/results/{script.stem}.json")
    assert facts["took"]
    assert facts["reads"].endswith((" of the folder MODICUM_DATA", "only the embedded data"))


def test_help_imports_nothing_slow():
    code = (
        "import runpy, sys; sys.argv = [sys.argv[1], '--help']\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: print({'numpy', 'sklearn', 'torch', 'modicum'} & set(sys.modules))"
    )
    for script in SCRIPTS:
        done = subprocess.run([sys.executable, "-c", code, script], capture_output=True, text=True, cwd=ROOT)
        assert done.stdout.splitlines()[-1] == "set()", script.name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_modules_of_other_processes_exist(script):
    named = [
        ast.literal_eval(option.value)
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "read_options"
        for option in node.keywords
        if option.arg == "elsewhere"
    ]
    files = [file for names in named for name in names for file in loaded_code._files(name)]
    assert [file for file in files if not file.exists()] == []
    assert bool(files) == bool(named)


def test_every_result_has_its_benchmark():
    assert {path.stem for path in (ROOT / "benchmarks" / "results").glob("*.json")} == {path.stem for path in SCRIPTS}


def test_no_folder_of_benchmarks_has_more_than_15_scripts():
    folders = [path for path in (ROOT / "benchmarks").rglob("*") if path.is_dir() and path.name != "results"]
    assert all(sum(1 for _ in folder.glob("*.py")) <= 15 for folder in [ROOT / "benchmarks", *folders])


def test_an_unknown_section_is_named():
    script = ROOT / "benchmarks" / "peers" / "against_peers.py"
    done = subprocess.run([sys.executable, script, "none"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert "There is no section none; there are toolkit, anonypy, pycanon, art." in done.stderr
