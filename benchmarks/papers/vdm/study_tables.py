"""The tables of study_acs.py, study_more.py, quality.py, suite.py, attack.py, drift.py and neural.py as Markdown."""

from typing import Any

from common import markdown

SHOWN = {
    "PrivacyTree": "PAT",
    "Iterative": "Iterative",
    "FeatureSelection": "feature selection",
    "Uniform": "Uniform",
    "AdversarialTraining": "AdvTrain",
    "MutualInformation": "mutual information",
    "ModelGuided": "ModelGuided",
    "Apt": "its paper's search",
}


def reached(figures: dict[str, dict[str, Any]]) -> str:
    """The share of the trade-off that each minimizer reaches (Figures 4, 11 and 13), by task; the largest in bold."""
    rows = []
    for name, task in figures.items():
        if "minimizers" not in task:
            continue
        found = {key: own["hypervolume_judged"] for key, own in task["minimizers"].items()}
        best = max(found.values())
        cells = [f"{found[key]:.3f}" if key in found else "–" for key in SHOWN]
        cells = [f"**{cell}**" if found.get(key) == best else cell for key, cell in zip(SHOWN, cells, strict=True)]
        rows.append([name.replace("_", " "), f"{task['rows']:,}", f"{task['attributes']}", *cells])
    return markdown(["task", "records", "attributes", *SHOWN.values()], rows)


def seeds(figures: dict[str, dict[str, Any]]) -> str:
    """The share of the trade-off by counts over five splits, with the 95% interval (Figure 13)."""
    rows = []
    for name, task in figures.items():
        for key, own in task.get("minimizers", {}).items():
            interval = own["hypervolume_interval"]
            if interval:
                low, high = interval
                mean = f"{own['hypervolume_by_counts']:.3f} ({low:.3f} to {high:.3f})"
                rows.append([name.replace("_", " "), SHOWN[key], mean, f"{len(own['hypervolume_by_seed'])}"])
    return markdown(["task", "minimizer", "share of the trade-off, by counts", "splits"], rows)


def sizes(figures: dict[str, Any]) -> str:
    """Figure 8: PAT learned on parts of the training records."""
    rows = [
        [f"{float(size):.1%}", f"{own['mean']:.3f} ({own['interval'][0]:.3f} to {own['interval'][1]:.3f})"]
        for size, own in figures["figure_8"]["sizes"].items()
    ]
    return markdown(["of the training records", "share of the trade-off"], rows)


def protected(figures: dict[str, Any]) -> str:
    """Figure 10: one attribute protected together with all, or alone."""
    rows = []
    for key, own in figures["figure_10"].items():
        if key != "machine":
            minimizer, name = key.split()
            rows.append([SHOWN[minimizer], name, f"{own['all']:.3f}", f"{own['alone']:.3f}"])
    return markdown(["minimizer", "attribute", "protected with all others", "protected alone"], rows)


def selections(figures: dict[str, Any]) -> str:
    """Figure 12: feature selection by four scores."""
    own = figures["figure_12"]["hypervolume"]
    rows = [[name.replace("_", " ").replace("chi2", "χ²"), f"{value:.3f}"] for name, value in own.items()]
    return markdown(["score", "share of the trade-off"], rows)


def quality(own: dict[str, Any]) -> str:
    """PAT with α = 0.5 and 20 leaves on employment, by boosted trees, with its targets."""
    rise = own["error"] - own["raw_error"]
    share = own["adversary_share_of_naive"]
    rows = [
        ["error above raw data", f"{rise:+.4f} ({own['error']:.4f} and {own['raw_error']:.4f})", "at most 0.012"],
        ["skill kept", f"{own['skill_kept']:.1%}", ""],
        [
            "adversary's error, of the naive one's",
            f"{share:.1%} ({own['adversary_error']:.4f} of {own['naive_error']:.4f})",
            "at least 80%",
        ],
        ["certified: no adversary is right more often", f"{own['certified_mean_accuracy']:.4f}", ""],
        ["attributes not collected", f"{own['not_collected']} of {own['attributes']}", "at least 10"],
    ]
    return markdown(["", "found", "target"], rows)


def adversaries(own: dict[str, Any]) -> str:
    """All adversaries on one generalization (employment)."""
    rows = [
        [name, f"{error:.4f}", f"{own['naive']:.4f}", _certified(own, name)] for name, error in own["errors"].items()
    ]
    rows += [[f"A2, surest {share}", f"{error:.4f}", "", ""] for share, error in own["confident"].items()]
    linked, chance = own["linked"], own["linked_at_random"]
    rows.append(["A7", f"linked {linked:.2%}", f"linked {chance:.2%}", ""])
    rows.append(["A8", f"alone {1 - own['not_alone']:.2%}", "", ""])
    return markdown(["adversary", "error", "naive", "certified error, mean"], rows)


def _certified(own: dict[str, Any], name: str) -> str:
    found = own["certified_mean_error"].get(name)
    return "" if found is None else f"{found:.4f}"


def portfolio(own: dict[str, Any]) -> str:
    """A1's portfolio compared with the paper's network alone."""
    rows = [
        ["the portfolio", f"{own['error']:.5f}"],
        ["the paper's network alone", f"{own['network_error']:.5f}"],
        ["naive guess", f"{own['naive_error']:.5f}"],
    ]
    return markdown(["A1 on employment", "error"], rows)


def drifts(figures: list[dict[str, Any]]) -> str:
    """Appendix H: whether a generalization is still good on other data."""
    rows = []
    for own in figures:
        moved = f"{own['then']} → {own['now']}"
        kinds = {"cost of generalizing (error above raw)": own["gap"], "the old model, unchanged": own["frozen"]}
        kinds |= {"adversary's error": own["risk"]["error"], "adversary's gain over naive": own["risk"]["gain"]}
        for name, change in kinds.items():
            low, high = change["interval"]
            difference = f"{change['difference']:+.4f} ({low:+.4f} to {high:+.4f})"
            rows.append([moved, name, f"{change['then']:.4f}", f"{change['now']:.4f}", difference])
        rows.append([moved, "learn again?", "", "", "yes" if own["learn_anew"] else "no"])
    return markdown(["from, to", "what", "then", "now", "difference"], rows)


def neural(figures: dict[str, Any]) -> str:
    """Seconds of the neural minimizers on a processor and on a graphics card."""
    rows = []
    for own in figures.values():
        for name in ("AdversarialTraining", "MutualInformation"):
            one, nine = own[name].values()
            rows.append([SHOWN[name], own["device"], own["measured_on"]["machine"], f"{one:.1f} s", f"{nine:.1f} s"])
    return markdown(["minimizer", "device", "machine", "one value of privacy", "nine side by side"], rows)
