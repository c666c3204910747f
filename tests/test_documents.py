"""What the documents show is what the code does."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_readme_s_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "not collected" in capsys.readouterr().out


def test_the_readme_s_commands_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(
        r"^    make ([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    ):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_ci_runs_the_readme_s_test_command():
    assert re.search(r"^make .*\btest\b", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_readme_s_figures_are_those_of_the_benchmarks():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    results = [json.loads((ROOT / "benchmarks" / "results" / f"study_{n}.json").read_text()) for n in ("acs", "more")]
    tasks = {name: task for result in results for name, task in result["figures"].items() if "minimizers" in task}
    judged = {n: {m: f["hypervolume_judged"] for m, f in t["minimizers"].items()} for n, t in tasks.items()}
    assert len(judged) >= 7
    assert all(max(volumes, key=volumes.get) == "PrivacyTree" for volumes in judged.values())
    first, second = sorted(judged["employment"].values(), reverse=True)[:2]
    assert f"PAT reaches {first:.3f} of the trade-off" in text
    assert f"the next best minimizer {second:.3f};" in " ".join(text.split())
