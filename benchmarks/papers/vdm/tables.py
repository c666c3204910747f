"""The tables of reproduce_vdm.py as Markdown, with the paper's figures [Staab24] and ours."""

from typing import Any

from common import markdown

Rows = list[list[str]]


def one_generalization(figures: dict[str, Any]) -> str:
    """§8.4 and Figure 9."""
    own = figures["section_8_4"]["figures"]
    rise = own["classifier_error"] - own["raw_error"]
    rows = [
        ["buckets of all attributes", f"{own['paper_buckets']}", f"{own['buckets']}"],
        ["attributes not collected, of 16", f"{own['paper_not_collected']}", f"{own['not_collected']}"],
        ["classifier's error above raw data", f"{own['paper_increase']:+.2f}", f"{rise:+.3f}"],
        ["adversary's error", f"{own['paper_adversary_error']}", f"{own['adversary_error']:.3f}"],
        ["naive adversary's error", f"{own['paper_naive_error']}", f"{own['naive_error']:.3f}"],
        ["adversary's error about SEX", f"{own['paper_sex_error']}", f"{own['sex_error']:.3f}"],
    ]
    return markdown(["PAT on employment, α = 0.7, 20 leaves", "Staab24", "ours"], rows)


def breaches(figures: dict[str, Any]) -> str:
    """Table 3, A6."""
    rows = [
        [
            row["case"],
            " and ".join(row["generalizations"]),
            *(f"{value}" for value in (*row["paper_alone"], row["paper_both"])),
            *(f"{value:.3f}" for value in row["alone"]),
            f"{row['both']:.3f} ({row['interval'][0]:.3f} to {row['interval'][1]:.3f})",
        ]
        for row in figures["table_3"]["rows"]
    ]
    parts = ("first alone", "second alone", "both")
    head = [f"{source}: {part}" for source in ("Staab24", "ours") for part in parts]
    return markdown(["case", "breached under", *head], rows)


def linking(figures: dict[str, Any]) -> str:
    """Table 4, A7."""
    rows = []
    for row in figures["table_4"]["rows"]:
        known = row["paper_linked_percent"] is not None
        rows.append(
            [
                row["generalization"],
                f"{row['paper_linked_percent']:.2f}% ({row['paper_buckets']})" if known else "–",
                f"{row['paper_random_percent']}%",
                f"{row['linked_percent']:.2f}% ({row['buckets']})",
                f"{row['random_percent']:.2f}%",
                f"{row['raw_percent']:.2f}%",
            ]
        )
    head = ["generalization", "Staab24: linked (buckets)", "Staab24: at random", "ours: linked (buckets)"]
    return markdown([*head, "ours: at random", "ours: on raw data"], rows)


def rarest(figures: dict[str, Any]) -> str:
    """Table 5, A8."""
    rows = [
        [
            f"{row['leaves']}",
            f"{row['alpha']}",
            f"{row['paper_buckets']}",
            row["paper_utilization"],
            f"{row['buckets']}",
            f"{row['utilization']:,} ({row['how_many']})",
        ]
        for row in figures["table_5"]["rows"]
    ]
    head = ["leaves", "α", "Staab24: buckets", "Staab24: people who share the rarest", "ours: buckets"]
    return markdown([*head, "ours: people who share the rarest"], rows)


def networks(figures: dict[str, Any]) -> str:
    """Table 6: larger networks as classifier and adversary."""
    rows = [
        [
            row["generalization"],
            row["architecture"],
            f"{row['paper_classifier_error']}",
            f"{row['classifier_error']:.3f}",
            f"{row['paper_adversary_error']}",
            f"{row['adversary_error']:.3f}",
            f"{row['portfolio_error']:.3f}",
        ]
        for section in ("table_6", "table_6_adv_train")
        for row in figures[section]["rows"]
    ]
    head = ["generalization", "network", "classifier: Staab24", "classifier: ours", "adversary: Staab24"]
    return markdown([*head, "adversary: ours", "our portfolio without PyTorch"], rows)


def surest(figures: dict[str, Any]) -> str:
    """Figure 5, A2: the error of the surest guesses."""
    rows = [
        [row["generalization"].strip(), f"{row['classifier_error']:.3f}", *(f"{error:.3f}" for error in row["errors"])]
        for row in figures["figure_5"]["rows"]
    ]
    shares = [f"surest {share}%" if share < 100 else "all (A1)" for share in figures["figure_5"]["rows"][0]["percent"]]
    return markdown(["generalization", "classifier's error", *shares], rows)


def side_knowledge(figures: dict[str, Any]) -> str:
    """Figure 6, A1 and A3 to A5 on the front of PAT."""
    names = ("A1", "A3", "A5", "A4")
    rows = [
        [
            f"{row['leaves']} leaves, α = {row['alpha']}",
            f"{row['classifier_error']:.3f}",
            *(f"{row[name]:.3f}" for name in names),
            f"{row['naive']:.3f}",
        ]
        for row in figures["figure_6"]["rows"]
    ]
    return markdown(["PAT", "classifier's error", *names, "naive"], rows)


def by_attribute(figures: dict[str, Any]) -> str:
    """Figures 7 and 14: for each point of the front the mean error, and the attributes guessed best and worst."""
    rows = []
    for section, title in (("figure_7", "income (Figure 7)"), ("figure_14", "employment (Figure 14)")):
        for row in figures[section]["rows"]:
            shown = (f"{name} {row['by_attribute'][name][0]:.3f}" for name in (row["min"], row["max"]))
            point = f"{row['leaves']} leaves, α = {row['alpha']}"
            rows.append([title, point, f"{row['classifier_error']:.3f}", f"{row['mean']:.3f}", *shown])
    return markdown(["task", "PAT", "classifier's error", "mean", "lowest error", "highest error"], rows)
