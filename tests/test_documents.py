"""What the documents show is what the code does."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_blocks(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})


@pytest.mark.slow
def test_the_readme_s_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_blocks("README.md")
    assert "not collected" in capsys.readouterr().out


def test_the_page_on_merging_runs_and_shows_the_benchmark_s_figures(monkeypatch):
    run_blocks("docs/merge-path.md")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import beyond_pat

    figures = json.loads((ROOT / "benchmarks" / "results" / "beyond_pat.json").read_text())["figures"]
    page = (ROOT / "docs" / "merge-path.md").read_text(encoding="utf-8")
    assert beyond_pat.table(figures["datasets"]) in page
    goals = beyond_pat.summary(figures["datasets"])
    assert goals == figures["goals"]
    told = " ".join(page.split())
    assert f"{goals['mean_share_of_buckets']:.2f} of PAT's buckets on average" in told
    assert f"its error is {goals['mean_error_beyond_pat']:.4f} higher" in told
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    ahead = goals["compared"] - len(goals["behind_pat"])
    assert f"ahead of PAT in {ahead} of {goals['compared']} cells" in readme
    assert f"{goals['mean_distance_closed']:.0%} of PAT's distance" in readme


def test_the_page_on_model_guided_minimization_runs_and_shows_the_benchmarks_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/model-guided.md")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import against_ai_privacy_toolkit
    import common
    import reproduce_apt

    page = (ROOT / "docs" / "model-guided.md").read_text(encoding="utf-8")
    told = " ".join(page.split())
    figures = common.figures_of("reproduce_apt")
    assert reproduce_apt.table(figures) in page
    assert reproduce_apt.orders_table(figures["orders"]) in page
    toolkit = common.figures_of("against_ai_privacy_toolkit")
    assert against_ai_privacy_toolkit.table(toolkit) in page
    assert all(run["times_faster"] >= 50 for run in toolkit["runs"])
    gss = figures["table_2"]
    assert f"NCP {gss['0.98']['ncp']:.3f} at an agreement of {gss['0.98']['agreement']:.3f}" in told
    assert f"none allowed {gss['1.0']['ncp']:.3f} at {gss['1.0']['agreement']:.3f}" in told
    assert f"falls from {gss['raw_risk']:.3f} of {gss['records']:,} raw records" in told
    assert f"to {gss['0.98']['disclosure_risk']:.3f} and {gss['1.0']['disclosure_risk']:.3f}" in told
    steps = common.figures_of("guided_speed")["tenfold"].values()
    assert f"ten times the rows take {min(steps):.1f} to {max(steps):.1f} times as long" in told
    models = [own for name in reproduce_apt.LOADERS for own in figures[name]["models"].values()]
    assert f"keep {mean_difference(models, 'cells', 'agreement'):.3f} more of the predictions" in told
    assert f"They hide less, NCP {-mean_difference(models, 'cells', 'ncp'):.3f} lower" in told
    assert f"hides more, NCP {mean_difference(models, 'generalizer', 'ncp'):.3f} higher" in told


def mean_difference(models: list[dict], what: str, figure: str) -> float:
    """Between the two ways that a comparison has, on average over models."""
    pairs = [list(own[what].values()) for own in models]
    values = [[one.get("global", one)[figure] for one in pair] for pair in pairs]
    return sum(first - second for first, second in values) / len(values)


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
    assert f"on ACS employment {first:.3f} of it, the next best minimizer {second:.3f}" in " ".join(text.split())


def test_the_page_on_attacks_on_models_runs():
    run_blocks("docs/attacks-on-models.md")


def test_the_page_on_anonymous_data_runs_and_shows_the_benchmarks_figures(monkeypatch):
    run_blocks("docs/anonymization.md")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import against_peers
    import anonymization_tables
    import common
    import dp_on_minimized

    page = (ROOT / "docs" / "anonymization.md").read_text(encoding="utf-8")
    figures = common.figures_of("reproduce_anonymization")
    for _, table in anonymization_tables.TABLES.values():
        assert table(figures) in page
    assert against_peers.summary(common.figures_of("against_peers")) in page
    assert dp_on_minimized.table(common.figures_of("dp_on_minimized")) in page
    cells = figures["verdict"]["cells"]
    first = sum(cell["highest"] for cell in cells)
    assert f"the highest of the four in {first} of {len(cells)} cells" in " ".join(page.split())
    speed = common.figures_of("anonymizers_speed")
    assert f"takes {speed['methods']['Mondrian']['times_lexsort']:.1f} times as long as sorting" in " ".join(
        page.split()
    )


def test_the_page_on_prism_runs_and_shows_the_benchmarks_figures(monkeypatch):
    run_blocks("docs/prism.md")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import common
    import prism_tables

    page = (ROOT / "docs" / "prism.md").read_text(encoding="utf-8")
    figures = common.figures_of("reproduce_prism")
    for table in (prism_tables.accuracy_table, prism_tables.adversary_table, prism_tables.paper_table):
        assert table(figures) in page
    assert prism_tables.speed_table(common.figures_of("prism_speed")) in page
    best = figures["synthetic"]["best_possible_accuracy"]
    assert f"nobody could be right for more than {best:.1%} from all attributes" in " ".join(page.split())
    assert all(own["proven"] for section in figures.values() for own in section["thresholds"].values())


def test_the_page_on_anatomy_runs_and_shows_the_benchmarks_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/anatomy.md")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import anatomy_tables
    import common

    page = (ROOT / "docs" / "anatomy.md").read_text(encoding="utf-8")
    figures = common.figures_of("reproduce_anatomy")
    for table in anatomy_tables.TABLES.values():
        assert table(figures) in page
    assert anatomy_tables.speed_table(common.figures_of("anatomy_speed")) in page
    mean = {(cell["kind"], cell["level"], cell["model"]): cell["mean"] for cell in figures["adult"]["variants"]}
    lost = [mean["pruned", level, "SVC"] - mean["original", None, "SVC"] for level in (2, 3, 4, 5)]
    assert f"the pruned SVC is {min(lost):.4f} to {max(lost):.4f} worse" in " ".join(page.split())
    assert max(lost) < 0.02
    for model, better in (("SVC", (2, 3)), ("SVM", (2, 3, 4, 5))):
        own = [k for k in (2, 3, 4, 5) if mean["pruned", k, model] < mean["k-anonymous, full-domain", k, model]]
        assert tuple(own) == better
        assert all(mean["pruned", k, model] > mean["k-anonymous, Mondrian", k, model] for k in (2, 3, 4, 5))
    for name in ("adult", "acs", "bank"):
        mean = {(cell["kind"], cell["level"], cell["model"]): cell["mean"] for cell in figures[name]["variants"]}
        for model in ("SVC", "SVM"):
            better = [l for l in (2, 3, 4, 5) if mean["pruned", l, model] < mean["identifying", None, model]]
            assert better == ([2] if (name, model) == ("bank", "SVM") else [2, 3, 4, 5])
            assert all(mean["pruned", l, model] < mean["pruned, by group", l, model] for l in (3, 4, 5))
    own = figures["acs_nominal"]["variants"]
    mean = {(cell["kind"], cell["level"]): cell["mean"] for cell in own if cell["model"] == "SVC"}
    assert all(mean["joined", l] < mean["identifying", None] < mean["pruned", l] for l in (2, 3))


def test_the_page_on_collecting_runs_and_shows_the_benchmark_s_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/collecting.md")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import common
    import serve_speed

    figures = common.figures_of("serve_speed")
    page = (ROOT / "docs" / "collecting.md").read_text(encoding="utf-8")
    assert serve_speed.table(figures) in page
    for own in figures["predict"].values():
        assert own["share_of_empty"] >= 0.5
        assert own["times_p99_of_empty"] <= 3
        assert f"medians of {len(own['rounds'])} rounds" in " ".join(page.split())


def test_the_page_on_engines_runs_and_shows_the_benchmark_s_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/engines.md")
    assert "are alone" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"people.parquet", "minimized.parquet", "anonymous.parquet"}
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import common
    import scale

    figures = common.figures_of("scale")
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    assert scale.speed(figures) in page
    assert scale.cost(figures) in page
    assert all(one["reached"] for section in ("duckdb", "spark") for one in figures[section]["targets"])
