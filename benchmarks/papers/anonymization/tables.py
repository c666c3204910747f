"""The tables of reproduce_anonymization.py as Markdown, and its verdict on the four methods."""

from collections.abc import Callable
from typing import Any

from common import markdown
from papers.anonymization.training import COMPARED, GUIDED, LABELS, MODELS, PAPER

from modicum.measures.intervals import seeds_interval

FROM_K = 50
SWEPT = ("adult_12", "adult_10", "adult_8", "loan")


def of(figures: dict[str, Any], method: str, model: str, k: int) -> dict[str, Any]:
    """Make one row of a section."""
    same = (method, model, k)
    return next(cell for cell in figures["cells"] if (cell["method"], cell["model"], cell["k"]) == same)


def ks_of(figures: dict[str, Any], method: str) -> list[int]:
    return sorted({cell["k"] for cell in figures["cells"] if cell["method"] == method})


def verdict(figures: dict[str, Any]) -> dict[str, Any]:
    """Compare AccuracyGuided with the best other method for each k ≥ 50, on Adult with all quasi-identifiers."""
    found = []
    for model in MODELS:
        for k in [k for k in ks_of(figures, GUIDED) if k >= FROM_K]:
            own = of(figures, GUIDED, model, k)
            best = max((of(figures, method, model, k) for method in COMPARED[1:]), key=lambda cell: cell["accuracy"])
            ahead = [first - second for first, second in zip(own["each"], best["each"], strict=True)]
            found.append(
                {
                    "model": model,
                    "k": k,
                    "best_other": best["method"],
                    "ahead": sum(ahead) / len(ahead),
                    "interval": seeds_interval(ahead),
                    "highest": own["accuracy"] >= best["accuracy"],
                }
            )
    return {"highest": all(one["highest"] for one in found), "cells": found}


def accuracy_table(figures: dict[str, Any]) -> str:
    """Accuracy against k: one line for each table, model and method; the highest of the four in bold."""
    rows, ks = [], []
    for own in (figures[name] for name in SWEPT if name in figures):
        ks = ks_of(own, GUIDED)
        for model in MODELS:
            raw = of(own, "raw", model, 1)
            most = {k: max(of(own, method, model, k)["accuracy"] for method in COMPARED) for k in ks}
            for method in COMPARED:
                cells = {k: of(own, method, model, k)["accuracy"] for k in ks}
                shown = [f"**{cells[k]:.3f}**" if cells[k] >= most[k] else f"{cells[k]:.3f}" for k in ks]
                rows.append([own["title"], f"{model} (raw {raw['accuracy']:.3f})", method, *shown])
    return markdown(["data", "model", "method", *(f"k = {k:,}" for k in ks)], rows)


def verdict_table(figures: dict[str, Any]) -> str:
    """How far ahead, in points of accuracy, with the interval over splits."""
    rows = []
    for one in figures["verdict"]["cells"]:
        ends = (
            "" if one["interval"] is None else f" ({100 * one['interval'][0]:+.1f} to {100 * one['interval'][1]:+.1f})"
        )
        word = "highest" if one["highest"] else f"**behind {one['best_other']}**"
        rows.append([one["model"], f"{one['k']:,}", one["best_other"], f"{100 * one['ahead']:+.2f}{ends}", word])
    return markdown(["model", "k", "best of the others", "AccuracyGuided ahead by, points", ""], rows)


def labels_table(figures: dict[str, Any]) -> str:
    """Figure 8, and the effect of refining leaves and of made-up records."""
    predictions, labels, paper = figures["adult_12"], figures["labels"], figures["paper"]
    ks = ks_of(labels, LABELS)
    rows = []
    for model in MODELS:
        lines = [
            ("predictions", predictions, GUIDED),
            ("labels", labels, LABELS),
            ("predictions; leaves not refined, actual records", paper, PAPER),
        ]
        for title, own, method in lines:
            rows.append([model, title, *(f"{of(own, method, model, k)['accuracy']:.3f}" for k in ks)])
    return markdown(["model", "guided by", *(f"k = {k:,}" for k in ks)], rows)


def selection_table(figures: dict[str, Any]) -> str:
    """Feature selection before and after anonymization, compared with none."""
    own, whole = figures["selection"], figures["adult_12"]
    ks = ks_of(own, "before")
    rows = []
    for model in ("decision tree", "boosted trees"):
        lines = [
            ("all 12", whole, GUIDED, "raw"),
            ("6, before", own, "before", "raw, before"),
            ("6, after", own, "after", ""),
        ]
        for title, source, method, raw in lines:
            first = f"{of(source, raw, model, 1)['accuracy']:.3f}" if raw else "–"
            rows.append([model, title, first, *(f"{of(source, method, model, k)['accuracy']:.3f}" for k in ks)])
    return markdown(["model", "attributes", "raw", *(f"k = {k:,}" for k in ks)], rows)


def many_table(figures: dict[str, Any]) -> str:
    """Where it fails."""
    rows, ks = [], []
    for own in (figures["many_attributes"][name] for name in ("crime", "health")):
        ks = ks_of(own, GUIDED)
        for model in dict.fromkeys(cell["model"] for cell in own["cells"]):
            raw = of(own, "raw", model, 1)
            for method in (GUIDED, "Mondrian"):
                cells = [of(own, method, model, k) for k in ks]
                shown = [f"{cell['accuracy']:.3f} (NCP {cell['ncp']:.2f})" for cell in cells]
                first = [
                    f"{own['title']}, {own['attributes']}",
                    model,
                    f"{raw['majority']:.3f}",
                    f"{raw['accuracy']:.3f}",
                ]
                rows.append([*first, method, *shown])
    return markdown(["data, attributes", "model", "majority", "raw", "method", *(f"k = {k}" for k in ks)], rows)


def membership_table(figures: dict[str, Any]) -> str:
    """Table 2: ours, and the paper's figures in brackets."""
    rows = []
    for one in figures["membership"]["rows"]:
        paper = one["paper"]
        pairs = [("train", 0), ("test", 1), ("accuracy", 2), ("precision", 3), ("recall", 4)]
        shown = [f"{number(one[key])} [{paper[i]:g}]" for key, i in pairs]
        rows.append([one["title"], *shown, number(one["auc"]), number(one["tpr"])])
    head = ["data, model, mitigation", "train", "test", "attack", "precision", "recall", "AUC", "found at 1% false"]
    return markdown(head, rows)


def number(value: Any) -> str:
    """Format a share, with its interval if it has one; a dash for None."""
    if isinstance(value, dict):
        if value["value"] is None:
            return "–"
        ends = "" if value["interval"] is None else f" ({value['interval'][0]:.2f}–{value['interval'][1]:.2f})"
        return f"{value['value']:.2f}{ends}"
    return "–" if value is None else f"{value:.2f}"


def attributes_table(figures: dict[str, Any]) -> str:
    """Table 3."""
    rows = []
    for one in figures["attributes"]["rows"]:
        pairs = [("test", 0), ("accuracy", 1), ("precision", 2), ("recall", 3)]
        shown = [f"{number(one[key])} [{one['paper'][i]:g}]" for key, i in pairs]
        rows.append([one["title"], *shown, number(one["without_model"]), number(one["naive"])])
    head = [
        "data, model, mitigation",
        "test",
        "attack",
        "precision",
        "recall",
        "imputed without the model",
        "most frequent",
    ]
    return markdown(head, rows)


TABLES: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any]], str]]] = {
    "accuracy": (SWEPT, accuracy_table),
    "verdict": (("adult_12",), verdict_table),
    "labels": (("adult_12", "labels", "paper"), labels_table),
    "selection": (("adult_12", "selection"), selection_table),
    "many attributes": (("many_attributes",), many_table),
    "membership": (("membership",), membership_table),
    "attributes": (("attributes",), attributes_table),
}
