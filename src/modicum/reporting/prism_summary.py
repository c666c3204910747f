"""Evidence on a PriSM classifier as plain data: every number that page, Markdown and JSON show.

No number tells of fewer than ten people (`modicum.reporting.disclosure`), and a sensitive value that so few have is not
named.
"""

from typing import Any

from modicum.evaluation import AttributeReason, PrismAlternative, PrismEvidence
from modicum.evaluation.evidence.prism_cost import PARSIMONY, PRISM, SVM
from modicum.evaluation.evidence.prism_reasons import is_balanced
from modicum.prism import Correlation
from modicum.reporting.disclosure import (
    FEW_TEXT,
    LEAST_RECORDS,
    change,
    change_outward,
    check_size,
    combinations,
    few,
    outward,
    tens,
    tens_up,
)
from modicum.reporting.prism_content import Content
from modicum.reporting.prism_words import certificate_sentence, decision, limits_of, warnings_of
from modicum.reporting.provenance import provenance
from modicum.table.codes import FEW
from modicum.table.values import plain

_ORDER = (PRISM, PARSIMONY, SVM)


def prism_summary(
    found: PrismEvidence,
    purpose: str | None = None,
    date: str | None = None,
    command: str | None = None,
    people: str | None = None,
) -> dict[str, Any]:
    """Everything that a report on a PriSM classifier shows, ready for JSON.

    Parameters
    ----------
    found : what `prism_evidence` returned
    purpose : what the prediction is for, in the user's words
    date : YYYY-MM-DD; today where none is given
    command : what makes it again
    people : whom the records are of, in the user's words
    """
    check_size(found.people["test"], "test records" if found.unit == "people" else "people in the test records")
    made, model = provenance(found.provenance, date, command), found.cost.prism
    content: dict[str, Any] = {
        "modicum": "prism",
        "version": 1,
        "purpose": purpose,
        "people": people,
        "provenance": made,
        "label": found.label,
        "unit": found.unit,
        "trained_on": found.cost.trained_on,
        "tested_on": found.cost.tested_on,
        "confidence": found.confidence,
        "sensitive": [_sensitive(name, found, made["date"]) for name in model.correlations_.critical_values],
        "rule": _rule(found),
        "sets": [_set(each, found) for each in model.correlations_],
        "attributes": [_attribute(each, _errors_of(found)) for each in found.attributes],
        "proof": _proof(found),
        "utility": _utility(found),
        "singling_out": _singling_out(found),
        "linkability": _linkability(found),
    }
    content |= {"decision": decision(content), "warnings": warnings_of(content), "limits": limits_of(content)}
    content = dict(plain(content))
    Content.model_validate(content)
    return content


def _rule(found: PrismEvidence) -> dict[str, Any]:
    sets, model = found.cost.correlations, found.cost.prism
    names = ("measure", "threshold", "p_value", "max_size", "encoding", "correction")
    return {name: getattr(sets, name) for name in names} | {"bins": model.bins, "tested": list(sets.tested)}


def _strength(found: Correlation) -> dict[str, Any]:
    return {name: _rounded(getattr(found, name)) for name in ("strength", "by_chance")} | {
        "p_value": None if found.p_value is None else float(f"{found.p_value:.2g}")
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _set(each: Correlation, found: PrismEvidence) -> dict[str, Any]:
    asked = set(found.cost.prism.predictors_)
    return {
        **_strength(each),
        "attributes": list(each.attributes),
        "about": _about(each, found),
        "is_known": each.encoding == "given",
        "kept_out": [name for name in each.attributes if name not in asked],
    }


def _about(each: Correlation, found: PrismEvidence) -> str:
    """What a set tells of; a value that few people have is not named."""
    if each.value is None:
        return each.sensitive
    many = found.values.get(each.sensitive, {}).get(each.value)
    if many is None:
        return f"{each.sensitive} (one of its values)"
    return f"{each.sensitive} = a value of {FEW_TEXT} records" if many < FEW else each.about


def _attribute(each: AttributeReason, n: int | None) -> dict[str, Any]:
    return {
        **{name: getattr(each, name) for name in ("name", "status", "reason", "why", "sets")},
        "columns": list(each.columns),
        "completes": len(each.completes),
        "alone": None if each.alone is None else _strength(each.alone),
        "other": _other(each.other, n),
        "instead": _other(each.instead, n),
    }


def _other(found: PrismAlternative | None, n: int | None) -> dict[str, Any] | None:
    """Another choice; the change of the error in tens of people."""
    if found is None:
        return None
    return {
        "instead_of": found.instead_of,
        "objective": round(found.objective, 4) + 0.0,
        "error": None if n is None else max(-1.0, min(1.0, change(found.error, n))),
        "interval": None if n is None else _within(change_outward(found.interval, n)),
    }


def _within(ends: list[float] | None) -> list[float] | None:
    return None if ends is None else [max(-1.0, ends[0]), min(1.0, ends[1])]


def _proof(found: PrismEvidence) -> dict[str, Any]:
    model = found.cost.prism
    told = bool(model.predictors_)  # else the objective is as many times the rarer labels' count
    return {
        "is_proven": model.optimality_gap_ <= model.gap,
        "objective": float(f"{model.objective_:.6g}") if told else None,
        "bound": float(f"{model.bound_:.6g}") if told else None,
        "gap": float(f"{model.optimality_gap_:.2g}"),
        "max_predictors": model.max_predictors,
        "max_feasible": found.cost.max_feasible,
        "remeasured": found.remeasured,
        "together": _strength(model.association_),
    }


def _is_balanced(found: PrismEvidence) -> bool:
    return is_balanced(found.cost.prism)


def _errors_of(found: PrismEvidence) -> int | None:
    """Of how many people errors are told in tens: where every label counts the same, the rarest label's count most.

    None where these are too few for a share to say anything.
    """
    people = found.people["test"]
    many = min(people, found.labels * found.rarest) if _is_balanced(found) else people
    return many if many >= LEAST_RECORDS else None


def _utility(found: PrismEvidence) -> dict[str, Any]:
    balanced, n = _is_balanced(found), _errors_of(found)
    models = {each.model: each for each in found.cost.models}
    scores = {name: each.balanced_accuracy if balanced else each.accuracy for name, each in models.items()}
    naive = 1 - float(scores[PRISM].naive or 0.0)  # with balanced labels it follows from their number alone
    return {
        "is_balanced": balanced,
        "majority": naive if balanced or n is None else tens(naive, n),
        "models": [
            {
                "model": name,
                "asks": len(models[name].predictors),
                "predictors": models[name].predictors,
                "error": None if n is None else tens(1 - float(scores[name].value or 0.0), n),
                "interval": None if n is None else outward(_turned(scores[name].interval), n),
            }
            for name in _ORDER
        ],
    }


def _turned(ends: Any) -> tuple[float, float] | None:
    """Of an error, from that of an accuracy."""
    return None if ends is None else (1 - ends[1], 1 - ends[0])


def _sensitive(name: str, found: PrismEvidence, date: str) -> dict[str, Any]:
    n, models = found.people["train"], {each.model: each for each in found.cost.models}
    attacks = {model: models[model].adversaries[name] for model in _ORDER if name in models[model].adversaries}
    guesses = [
        {
            "model": model,
            "asks": len(models[model].predictors),
            "accuracy": tens(float(each.accuracy.value or 0.0), n),
            "interval": outward(each.accuracy.interval, n),
            "mcc": _rounded(each.mcc.value),
            "mcc_interval": None if each.mcc.interval is None else [_rounded(end) for end in each.mcc.interval],
        }
        for model, each in attacks.items()
    ]
    values = found.values.get(name)
    critical = found.cost.correlations.critical_values[name]
    return {
        "name": name,
        "values": None if values is None else len(values),
        "critical": None if critical is None else list(critical),
        "naive": tens(next(iter(attacks.values())).class_frequency, n) if attacks else None,
        "guesses": guesses,
        **_certified(name, found, date),
    }


def _certified(name: str, found: PrismEvidence, date: str) -> dict[str, Any]:
    certificate = found.exposure.certificate
    known = certificate is not None and name in certificate.bounds
    bound = tens_up(certificate.bounds[name], certificate.persons) if certificate is not None and known else None
    sentence = certificate_sentence(name, certificate if known else None, bound, date, found.cost.tested_on)
    naive = tens(certificate.naive[name], certificate.persons) if certificate is not None and known else None
    says = bound is not None and bound < 1
    return {"certified": bound if says else None, "certified_naive": naive if says else None, "sentence": sentence}


def _singling_out(found: PrismEvidence) -> dict[str, Any]:
    alone = found.exposure.singling_out
    n = alone.people
    return {
        "alone": tens_up(1 - alone.error, n),
        "interval": outward(_turned(alone.interval), n),
        "raw": tens_up(1 - alone.raw, n),
        "naive": tens(1 - alone.naive, n),
        "groups": combinations(alone.groups, alone.least),
        "smallest": few(alone.least),
        "people": n,
    }


def _linkability(found: PrismEvidence) -> dict[str, Any] | None:
    linked = found.exposure.linkability
    if linked is None:
        return None
    return {
        "linked": tens(linked.linked, linked.people),
        "interval": outward(_turned(linked.interval), linked.people),
        "naive": tens(1 - linked.naive, linked.people),
        "k": linked.k,
        "halves": [list(linked.a), list(linked.b)],
    }
