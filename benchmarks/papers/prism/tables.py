"""The tables of reproduce_prism.py and prism_speed.py as Markdown."""

from typing import Any

from common import markdown

SVM, PARSIMONY, PRISM = "SVM", "Parsimony", "PriSM"
NUMBERS = range(3, 13)


def curve(own: dict[str, Any], model: str) -> dict[int | None, dict[str, Any]]:
    """Return each number of predictors with the value of that model; the SVM has all predictors."""
    return {each["max_predictors"]: each for each in own["models"] if each["model"] == model}


def score_of(own: dict[str, Any], each: dict[str, Any]) -> dict[str, Any]:
    """Return accuracy, or balanced accuracy if the classes are balanced."""
    return each["balanced_accuracy" if own["class_weight"] else "accuracy"]


def attack_of(name: str, each: dict[str, Any]) -> dict[str, Any]:
    """Figure 7: the adversary's accuracy on the synthetic set, its Matthews correlation on Bank."""
    return each["adversary"]["accuracy" if name == "synthetic" else "mcc"]


def accuracy_table(figures: dict[str, Any]) -> str:
    """Figure 6."""
    return _table(figures, lambda name, own, each: score_of(own, each))


def adversary_table(figures: dict[str, Any]) -> str:
    """Figure 7."""
    return _table(figures, lambda name, own, each: attack_of(name, each))


def _table(figures: dict[str, Any], of: Any) -> str:
    rows = []
    for name, own in figures.items():
        for place, (threshold, found) in enumerate(own["thresholds"].items()):
            for model in [SVM, PARSIMONY, PRISM] if place == 0 else [PRISM]:
                cells = curve(found, model)
                each = cells[None] if model == SVM else cells[12]
                shown = of(name, own, each)
                low, high = shown["interval"]
                naive = f"{shown['naive']:.3f}"
                head = [own["title"], threshold if model == PRISM else "", model]
                rows.append([*head, *_cells(of, name, own, cells, model), f"{low:.3f} to {high:.3f}", naive])
    return markdown(["data", "τ", "classifier", *map(str, NUMBERS), "95% of the last", "baseline"], rows)


def _cells(of: Any, name: str, own: dict[str, Any], cells: dict, model: str) -> list[str]:
    if model == SVM:
        return [""] * 9 + [f"{of(name, own, cells[None])['value']:.3f}"]
    found, before = [], None
    for most in NUMBERS:
        same = before is not None and cells[most]["predictors"] == before
        found.append("–" if same else f"{of(name, own, cells[most])['value']:.3f}")
        before = cells[most]["predictors"]
    return found


def paper_table(figures: dict[str, Any]) -> str:
    """Compare the results of [Barbato25 §5.2] with ours."""
    rows = []
    for name, own in figures.items():
        for threshold, found in own["thresholds"].items():
            rows.append([own["title"], threshold, *_ours_row(name, own, found)])
    head = ["data", "τ", "sets found", "most predictors", "PriSM loses with 8", "Parsimony loses no more with"]
    head += [
        "adversary: SVM",
        "adversary: PriSM, at most",
        "largest gap",
        "one model (mean of ten)",
        "one LinearSVC fit",
    ]
    paper = figures["synthetic"]["paper"], figures["bank_binarized"]["paper"]
    rows.append(_paper_row("Barbato25, synthetic", paper[0], *_shares(paper[0])))
    rows.append(
        _paper_row("Barbato25, Bank", paper[1], f"MCC {paper[1]['mcc_svm']:.2f}", f"MCC {paper[1]['mcc_prism']:.2f}")
    )
    return markdown(head, rows)


def _shares(paper: dict[str, Any]) -> tuple[str, str]:
    return f"{paper['adversary_svm']:.0%}", f"below {paper['adversary_prism_below']:.0%}"


def _paper_row(title: str, paper: dict[str, Any], svm: str, prism: str) -> list[str]:
    most, loses = paper["most_predictors"], paper["prism_loses_at_8_or_more"]
    return [
        title,
        "0.02 or 0.2",
        "",
        f"{most}",
        f"{loses:.1%}",
        f"{paper['parsimony_loses_as_much_at']}",
        svm,
        prism,
        *[""] * 3,
    ]


def _ours_row(name: str, own: dict[str, Any], found: dict[str, Any]) -> list[str]:
    svm, parsimony, prism = (curve(found, model) for model in (SVM, PARSIMONY, PRISM))
    whole = score_of(own, svm[None])["value"]
    lost = whole - score_of(own, prism[8])["value"]
    enough = [most for most in NUMBERS if whole - score_of(own, parsimony[most])["value"] <= max(lost, 0)]
    form = "{:.1%}" if name == "synthetic" else "MCC {:.3f}"
    worst = max(attack_of(name, prism[most])["value"] for most in NUMBERS)
    return [
        f"{found['correlated_sets']:,}",
        f"{found['max_feasible']}",
        f"{max(lost, 0.0):.1%}",
        f"{min(enough)}" if enough else "more than 12",
        form.format(attack_of(name, svm[None])["value"]),
        form.format(worst),
        f"{found['largest_gap']:.0e}",
        f"{found['seconds_of_ten'][PRISM] / 10:.1f} s",
        f"{own['one_linear_svc_fit_s']:.1f} s",
    ]


def speed_table(figures: dict[str, Any]) -> str:
    """List each timed step, its time, and the time to compare with."""
    rows = []
    for title, own in figures["correlations"].items():
        if isinstance(own, dict) and "sets" in own:
            rows.append(
                [f"correlations, {title}: {own['sets']:,} sets, {own['rows']:,} rows", f"{own['seconds']:.1f} s", ""]
            )
    fit = figures["training"]["one_linear_svc_fit_s"]
    for most in ("3", "5", "8"):
        own = figures["training"][most]
        what = f"training, 13 attributes × 40,000 rows, 20 forbidden sets, at most {most}"
        rows.append([what, f"{own['seconds']:.1f} s", f"{own['times']:.1f} fits of LinearSVC ({fit:.2f} s)"])
    million = figures["million"]
    rows.append(
        [
            "one support vector machine, 1,000,000 rows × 100 columns",
            f"{million['seconds']:.0f} s",
            f"LinearSVC (squared hinge): {million['linear_svc_s']:.0f} s",
        ]
    )
    exact = figures["exact"]
    rows.append(
        [f"{exact['problems']} random problems against every choice", "", f"worst {exact['worst']:.0e}, relative"]
    )
    return markdown(["what", "time", "compared with"], rows)
