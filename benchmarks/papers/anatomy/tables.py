"""The tables of reproduce_anatomy.py and anatomy_speed.py as Markdown."""

from collections.abc import Callable
from typing import Any

from common import markdown

LEVELS = (2, 3, 4, 5)
SAYS = {"P": "P", "F": "F", "-": "N/A"}


def errors_table(figures: dict[str, Any]) -> str:
    """Figures 5, 6 and C.1 to C.8: mean errors over ten folds with half of their 95% interval."""
    rows = []
    for own in _by_table(figures):
        rows.append([own["title"], "", "majority", _error(own["majority"]), *[""] * len(LEVELS)])
        for model, kind in dict.fromkeys((cell["model"], cell["kind"]) for cell in _sorted(own["variants"])):
            cells = {c["level"]: c for c in own["variants"] if (c["model"], c["kind"]) == (model, kind)}
            rows.append([own["title"], model, kind, *(_error(cells.get(level)) for level in (None, *LEVELS))])
    return markdown(["data", "classifier", "learns from", "", *(f"ℓ or k = {level}" for level in LEVELS)], rows)


def _by_table(figures: dict[str, Any]) -> list[dict[str, Any]]:
    return [own for own in figures.values() if "variants" in own]


def _sorted(cells: list[dict]) -> list[dict]:
    return sorted(cells, key=lambda cell: cell["model"])  # stable: kinds stay in their order


def _error(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    low, high = cell["interval"]
    return f"{cell['mean']:.4f} ± {(high - low) / 2:.4f}"


def tests_table(figures: dict[str, Any]) -> str:
    """Tables 1 and 2 of [Mancuhan16] with ours: mean difference, p of Student's test and of the corrected test."""
    rows = []
    for own in _by_table(figures):
        for model in dict.fromkeys(test["model"] for test in own["t_tests"]):
            tests = {test["l"]: test for test in own["t_tests"] if test["model"] == model}
            letters = " ".join(SAYS[test["paper"]] for test in tests.values())
            rows.append([own["title"], model, *(_test(tests.get(level)) for level in LEVELS), letters])
    return markdown(["data", "classifier", *(f"ℓ = {level}" for level in LEVELS), "Mancuhan16"], rows)


def _test(test: dict[str, Any] | None) -> str:
    if test is None:
        return "N/A"
    by = f"p {test['p']:.2g}; {test['corrected_p']:.2g}"
    return f"{test['verdict']} ({test['corrected_verdict']}): {test['difference']:+.4f}, {by}"


def releases_table(figures: dict[str, Any]) -> str:
    """Releases of all records: the share left out, the success of pruning and of adversaries, the paper's bound."""
    rows = []
    for own in figures["releases"]["tables"]:
        for each in own["releases"]:
            attack, bound = each["attack"], each["paper_bound"]
            adversaries = attack["by_adversary"]
            low, high = attack["interval"]
            rows.append(
                [
                    own["title"],
                    f"{each['l']}",
                    each["grouping"],
                    f"{each['left_out'] / (each['left_out'] + each['rows']):.1%}",
                    f"{attack['baseline']:.3f}",
                    f"{attack['naive']:.3f}",
                    f"{each['matched']:.3f}",
                    f"{attack['accuracy']:.3f} ({low:.3f} to {high:.3f})",
                    *(_of_learner(adversaries, learner) for learner in ("naive Bayes", "network")),
                    f"{attack['alike']} of {attack['values']}" if attack["alike"] else "",
                    f"{bound['bound']:.3g}",
                ]
            )
    head = ["data", "ℓ", "groups", "left out", "at random", "commonest value", "pruning", "deFinetti"]
    return markdown([*head, "with naive Bayes", "with a network", "indistinguishable values", "bound (4.6)"], rows)


def _of_learner(adversaries: dict[str, Any], learner: str) -> str:
    found = adversaries.get(f"deFinetti, {learner}")
    return "–" if found is None else f"{found['value']:.3f}"


def exact_table(figures: dict[str, Any]) -> str:
    """The RBF kernel by libsvm and by Nyström's method on the same few records."""
    rows = []
    for own in _by_table(figures):
        for each in own.get("exact", ()):
            kind = f"{each['kind']}, ℓ = {each['level']}" if each["level"] else each["kind"]
            rows.append([own["title"], f"{each['rows']:,}", kind, _error(each["libsvm"]), _error(each["nystrom"])])
    return markdown(["data", "records", "learns from", "libsvm", "Nyström"], rows)


def speed_table(figures: dict[str, Any]) -> str:
    """Seconds, and as multiples of one sort of the same table."""
    rows = []
    for name, own in figures["groupings"].items():
        for many, each in own["by_rows"].items():
            rows.append(
                [
                    name,
                    f"{int(many):,}",
                    f"{each['lexsort']:.2f} s",
                    f"{each['release']:.2f} s",
                    f"{each['pruning']:.2f} s",
                    f"{each['times_lexsort']:.1f} ×",
                ]
            )
        rows[-1].append(f"{own['tenfold']:.1f} ×")
    head = ["groups", "records", "one lexsort", "release", "pruning", "both, of a lexsort", "tenfold rows cost"]
    return markdown(head, [row + [""] * (len(head) - len(row)) for row in rows])


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "errors": errors_table,
    "t-tests": tests_table,
    "releases": releases_table,
    "exact": exact_table,
}
