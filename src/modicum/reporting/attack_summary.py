"""What the adversaries found as plain data: every number that the page, the terminal and the JSON show.

Rows are never named, the description that singles someone out is left out, and no number tells of fewer than ten
people (`modicum.reporting.disclosure`).
"""

import math
from typing import Any

from modicum import __version__
from modicum.attacks import ConfidentResult, MultiBreachResult, SuiteResult
from modicum.attacks.breach import overlap_text
from modicum.measures.certificate import Certificate
from modicum.reporting.attack_words import limits, most_exposed, sentences
from modicum.reporting.disclosure import check_size, combinations, few, outward, tens, tens_up, weighted
from modicum.table.codes import FEW
from modicum.table.values import plain

NAMES = {  # title, a short name, and what it sees
    "A1": ("Reconstruction", "the record", "sees the collected record"),
    "A2": (
        "High-certainty reconstruction",
        "surest",
        "sees the collected record and speaks only where it is confident",
    ),
    "A3": ("Non-personal knowledge", "+ not personal", "also knows every attribute that is not personal"),
    "A4": ("Leave-one-out", "+ all but one", "also knows every attribute but the one to be guessed"),
    "A5": ("Partial personal knowledge", "+ some personal", "also knows some of the other personal attributes"),
    "A6": ("Multi-breach", "several breaches", "sees several collected records of the same people"),
    "A7": ("Linkability", "halves joined wrong", "joins halves of records with the help of the collected ones"),
    "A8": ("Singling out", "people not alone", "looks for a combination of answers that only one person has"),
}
ORDER = ("A1", "A3", "A5", "A4", "A6")  # of those who guess values: by what they know


def attack_summary(
    found: SuiteResult,
    purpose: str | None = None,
    people: str | None = None,
    provenance: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything that a report on the adversaries shows, ready for JSON; inside another it has no head of its own."""
    first = found.reconstruction["A1"]
    n = found.singling_out.people  # shares are told in tens of people, whatever records they have
    check_size(n, "breached records" if n == first.records else "breached people")
    levels = sorted(found.confident, key=lambda level: level.percent)
    content: dict[str, Any] = {
        "modicum": "attacks",
        "version": 1,
        "modicum_version": __version__,
        "purpose": purpose,
        "records_of": people,
        "provenance": provenance,
        "records": first.records,
        "people": n,
        "unit": found.certificates["A1"].unit,
        "known": first.known,
        "random_state": found.random_state,
        "weights": first.weights,
        "adversaries": [_adversary(name, found, n) for name in ORDER if name in found.reconstruction],
        "attributes": _attributes(found, n),
        "confident": [_confident(level, first.weights) for level in levels if level.people >= FEW * FEW],
        "too_few_for_confident": [level.percent for level in levels if level.people < FEW * FEW],
        "linkability": _linkability(found),
        "singling_out": _singling_out(found),
        "certificates": {name: _certificate(certificate) for name, certificate in found.certificates.items()},
        "skipped": [{"id": name, "name": NAMES[name][0], "why": why} for name, why in sorted(found.skipped.items())],
        "names": {
            id: {"name": name, "short": f"{id} {short}", "knows": does} for id, (name, short, does) in NAMES.items()
        },
    }
    content["a2_most_exposed"] = most_exposed(content)
    content["warnings"] = [overlap_text(_overlap(found.overlap, first.records), first.records)] if found.overlap else []
    return dict(plain(content | {"sentences": sentences(content), "limits": limits(content)}))


def _overlap(count: int, records: int) -> str:
    """How many rows are known as well as breached, as it may be told."""
    told = few(count)
    return f"Fewer than {FEW}" if isinstance(told, str) else f"About {min(told, records):,}"


def _adversary(name: str, found: SuiteResult, n: int) -> dict[str, Any]:
    result, certificate = found.reconstruction[name], found.certificates.get(name)
    shown = {
        "id": name,
        "name": NAMES[name][0],
        "short": f"{name} {NAMES[name][1]}",
        "knows": NAMES[name][2],
        "error": weighted({a: tens(r.error, n) for a, r in result.by_attribute.items()}, result.weights),
        "interval": outward(result.interval, n),
        "naive": weighted({a: tens(r.naive, n) for a, r in result.by_attribute.items()}, result.weights),
        "raw": result.raw,
        "over_attributes": {
            how: {"attribute": result.aggregates[how]["attribute"], "error": tens(result.aggregates[how]["error"], n)}
            for how in ("min", "max")
        },
        "worst": result.worst if tens(result.by_attribute[result.worst].gain, n) > 0 else None,
        "certified_error": None,
        "alone": None,
    }
    if certificate is not None:
        shown["certified_error"] = _certificate(certificate)["mean_error"]
    if isinstance(result, MultiBreachResult):
        shown["alone"] = [tens(error, n) for error in result.alone]
    return shown


def _attributes(found: SuiteResult, n: int) -> list[dict[str, Any]]:
    first = found.reconstruction["A1"]
    return [
        {
            "name": name,
            "weight": first.weights[name],
            "values": result.values,
            "naive": tens(result.naive, n),
            "errors": {
                kind: {
                    "error": tens(each.by_attribute[name].error, n),
                    "interval": outward(each.by_attribute[name].interval, n),
                    "method": each.by_attribute[name].method,
                    "certified": _certified_error(found.certificates.get(kind), name),
                }
                for kind, each in ((kind, found.reconstruction.get(kind)) for kind in ORDER)
                if each is not None
            },
        }
        for name, result in first.by_attribute.items()
    ]


def _certified_error(certificate: Certificate | None, name: str) -> float | None:
    return None if certificate is None else 1 - tens_up(certificate.bounds[name], certificate.persons)


def _confident(level: ConfidentResult, weights: dict[str, float]) -> dict[str, Any]:
    n = level.people
    errors, naive = (
        {name: tens(error, n) for name, error in each.items()}
        for each in (level.by_attribute, level.naive_by_attribute)
    )
    return {
        "percent": level.percent,
        "records": few(level.records),
        "error": weighted(errors, weights),
        "interval": outward(level.interval, n),
        "naive": weighted(naive, weights),
        "raw": level.raw,
        "by_attribute": errors,
        "naive_by_attribute": naive,
        "worst": level.worst,
    }


def _linkability(found: SuiteResult) -> dict[str, Any] | None:
    """Shares of halves joined rightly: chances averaged over many people, not counts of them."""
    result = found.linkability
    if result is None:
        return None
    shares = {key: round(getattr(result, key), 4) for key in ("error", "naive", "raw")}
    low, high = result.interval
    interval = [math.floor(1e4 * low) / 1e4, math.ceil(1e4 * high) / 1e4]
    return shares | {"interval": interval, "a": result.a, "b": result.b, "k": result.k, "people": result.people}


def _singling_out(found: SuiteResult) -> dict[str, Any]:
    result = found.singling_out
    population = result.population
    return {
        "error": tens(result.error, result.people),
        "interval": outward(result.interval, result.people),
        "naive": result.naive,
        "raw": tens(result.raw, result.people),
        "people": result.people,
        "least": few(result.least),
        "rarest": combinations(result.rarest, result.least),
        "unique": few(result.unique),
        "groups": combinations(result.groups, result.least),
        "sizes": {name: combinations(many, result.least) if many else 0 for name, many in result.sizes.items()},
        "population": None
        if population is None
        else {
            "size": population.population,
            "fraction": population.fraction,
            "unique": few(round(population.unique)),
            "interval": [
                few(FEW * math.floor(population.interval[0] / FEW)),
                few(FEW * math.ceil(population.interval[1] / FEW)),
            ],
            "of_breached": few(round(population.of_sample)),
        },
    }


def _certificate(certificate: Certificate) -> dict[str, Any]:
    n = certificate.persons
    bounds = {name: tens_up(bound, n) for name, bound in certificate.bounds.items()}
    return {
        "bounds": bounds,
        "mean_error": 1 - weighted(bounds, certificate.weights),
        "confidence": certificate.confidence,
        "records": certificate.records,
        "vacuous": certificate.vacuous,
        "note": certificate.note,
        "unit": certificate.unit,
        "bins": certificate.bins,
    }
