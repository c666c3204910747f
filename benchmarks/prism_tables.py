"""The tables of reproduce_prism.py as Markdown."""

from typing import Any

from anonymization_tables import markdown

SVM, PARSIMONY, PRISM = "SVM", "Parsimony", "PriSM"


def curve(own: dict[str, Any], model: str) -> dict[int, dict[str, Any]]:
    """Each number of predictors with what that model reached; the SVM has all."""
    return {each["max_predictors"]: each for each in own["models"] if each["model"] == model}


def accuracy_table(figures: dict[str, Any]) -> str:
    """Figure 6: the accuracy of each classifier against the number of predictors."""
    head = ["data", "τ", "classifier", *map(str, range(3, 13))]
    return markdown(head, _lines(figures, lambda each: f"{each['accuracy']['value']:.3f}", True))


def adversary_table(figures: dict[str, Any]) -> str:
    """Figure 7: the adversary's accuracy on the synthetic set, its Matthews correlation on Bank."""
    head = ["data", "τ", "predictors of", *map(str, range(3, 13))]

    def shown(each: dict[str, Any], synthetic: bool) -> str:
        found = each["adversary"]["accuracy" if synthetic else "mcc"]
        return f"{found['value']:.3f}"

    return markdown(head, _lines(figures, shown, False))


def _lines(figures: dict[str, Any], shown: Any, accuracy: bool) -> list[list[str]]:
    rows = []
    for name, own in figures.items():
        for place, (threshold, found) in enumerate(own["thresholds"].items()):
            for model in [SVM, PARSIMONY, PRISM] if place == 0 else [PRISM]:
                cells = curve(found, model)
                each = [cells[None]] * 10 if model == SVM else [cells[most] for most in range(3, 13)]
                texts = [shown(one) if accuracy else shown(one, name == "synthetic") for one in each]
                told = [own["title"], threshold if model == PRISM else "", model]
                rows.append([*told, *(texts[:1] + [""] * 9 if model == SVM else texts)])
    return rows
