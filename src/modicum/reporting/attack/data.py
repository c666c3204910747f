"""The data of the report on the adversaries: its fields, its sentences, and how results fill them."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from modicum import __version__
from modicum.attacks import ConfidentResult, MultiBreachResult, SuiteResult
from modicum.attacks.breach import overlap_text
from modicum.measures.certificate import Certificate, confidence_text
from modicum.reporting.disclosure import check_size, combinations, compute_weighted_mean, few, outward, tens, tens_up
from modicum.reporting.formats import quote_name
from modicum.reporting.parts import ContentPart, Ends, Few, Provenance, Share
from modicum.table.codes import FEW
from modicum.table.values import plain

Adversary = Literal["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8"]


class Extreme(ContentPart):
    """The attribute that is guessed best or worst."""

    attribute: str = Field(description="The attribute's name.")
    error: Share = Field(description="Share of wrong guesses about it.")


class OverAttributes(ContentPart):
    """How far apart the attributes lie."""

    min: Extreme = Field(description="The attribute that is guessed wrong least often.")
    max: Extreme = Field(description="The attribute that is guessed wrong most often.")


class Guesser(ContentPart):
    """An adversary who guesses personal values (A1, A3 to A6)."""

    id: Adversary = Field(description="Which of A1 to A8 it is.")
    name: str = Field(description="What it is called.")
    short: str = Field(description="The same in two or three words.")
    knows: str = Field(description="What it sees or knows.")
    error: Share = Field(description="Share of personal values guessed wrong, weighted mean over the attributes.")
    interval: Ends = Field(description="The 95% interval of the error, widened to tens of people.")
    naive: Share = Field(description="The same for someone who sees no record and always guesses the usual value.")
    raw: Share = Field(description="The same error for someone who sees the raw records: none.")
    over_attributes: OverAttributes = Field(description="The lowest and the highest error of an attribute.")
    worst: str | None = Field(description="The attribute about which most is gained; null where nothing is.")
    certified_error: Share | None = Field(
        description="No adversary with this knowledge has a lower mean error; null where nothing is certified."
    )
    alone: list[Share] | None = Field(description="Of A6: the error from each breach by itself; null for the others.")


class FoundByAdversary(ContentPart):
    """One adversary about one attribute."""

    error: Share = Field(description="Share of wrong guesses.")
    interval: Ends = Field(description="Its 95% interval, widened to tens of people.")
    method: str = Field(description="The method that guessed best, of those that were tried.")
    certified: Share | None = Field(description="No adversary with this knowledge has a lower error; null where none.")


class GuessedAttribute(ContentPart):
    """A personal attribute."""

    name: str = Field(description="The attribute's name.")
    weight: Share = Field(description="Its share in every mean over the attributes.")
    values: int = Field(description="Among how many values or ranges is guessed.")
    naive: Share = Field(description="Error of someone who sees no record and always guesses the usual value.")
    errors: dict[Adversary, FoundByAdversary] = Field(description="Adversary → what it finds.")


class Confident(ContentPart):
    """A2: the guesses that the adversary is most confident of."""

    percent: float = Field(description="How many percent of its guesses about each attribute, the surest first.")
    records: Few = Field(description="How many guesses about each attribute that are, in tens.")
    error: Share = Field(description="Share of these that are wrong, weighted mean over the attributes.")
    interval: Ends = Field(description="Its 95% interval, widened to tens of people.")
    naive: Share = Field(description="Error of the naive guess about the same people.")
    raw: Share = Field(description="The same error for someone who sees the raw records: none.")
    by_attribute: dict[str, Share] = Field(description="Attribute → share of these guesses that are wrong.")
    naive_by_attribute: dict[str, Share] = Field(description="Attribute → the naive guess's, about the same people.")
    worst: str = Field(description="The attribute about which these guesses gain most over the naive one.")


class MostExposed(ContentPart):
    """A2 on the smallest part of the guesses that may be told of."""

    percent: float = Field(description="How many percent of the guesses, the surest first.")
    records: Few = Field(description="How many guesses about each attribute that are, in tens.")
    error: Share = Field(description="Share of these that are wrong, weighted mean over the attributes.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: Share = Field(description="Error of the naive guess about the same people.")
    sentence: str = Field(description="The same in words, to be quoted.")


class LinkabilityContent(ContentPart):
    """A7: halves of records that are joined."""

    error: Share = Field(description="Share of people whose halves are joined wrongly.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: Share = Field(description="The same where halves are joined at random.")
    raw: Share = Field(description="The same with the raw records.")
    a: list[str] = Field(description="The attributes of the first half.")
    b: list[str] = Field(description="The attributes of the second half.")
    k: int = Field(description="How many people are joined at once.")
    people: int = Field(description="How many people there are in all.")


class Population(ContentPart):
    """What is expected in the whole population."""

    size: int = Field(description="How many people there are in all.")
    fraction: Share = Field(description="Which share of them the breached people are.")
    unique: Few = Field(description="How many of all people are expected to be unique, in tens.")
    interval: Annotated[list[Few], Field(min_length=2, max_length=2)] = Field(description="Its 95% interval.")
    of_breached: Few = Field(description="How many of the breached people are expected to be unique among all.")


class SinglingOutContent(ContentPart):
    """A8: who is alone with their answers."""

    error: Share = Field(description="Share of people who are not alone with their answers.")
    interval: Ends = Field(description="Its 95% interval, widened to tens of people.")
    naive: Share = Field(description="The same where nothing is collected: everyone.")
    raw: Share = Field(description="The same with the raw records.")
    people: int = Field(description="How many people there are in the breached records.")
    least: Few = Field(description="How many people share the rarest combination of answers, in tens.")
    rarest: Few = Field(description="How many combinations are that rare; in tens where they are rare ones.")
    unique: Few = Field(description="How many people have a combination to themselves, in tens.")
    groups: Few = Field(description="How many combinations there are; in tens where some are rare.")
    sizes: dict[str, Few] = Field(description="How many people share a combination → how many such combinations.")
    population: Population | None = Field(description="The whole population; null where its size was not given.")


class AttackCertificate(ContentPart):
    """What no adversary with the same knowledge can exceed, on average."""

    bounds: dict[str, Share] = Field(description="Attribute → the highest share of right guesses, rounded up to tens.")
    mean_error: Share = Field(description="The lowest mean error that follows from the bounds.")
    confidence: Share = Field(description="The probability with which all bounds hold together.")
    records: int = Field(description="On how many records it was counted.")
    vacuous: list[str] = Field(description="The attributes about which it says nothing: their bound is 1.")
    note: str | None = Field(description="Why it says nothing about these.")
    unit: str = Field(description="What the average is over: people, or records where one person has several.")
    bins: int = Field(description="In how many ranges a number or date is guessed.")


class Skipped(ContentPart):
    """An adversary that does not apply."""

    id: Adversary = Field(description="Which of A1 to A8 it is.")
    name: str = Field(description="What it is called.")
    why: str = Field(description="Why it does not apply.")


class Named(ContentPart):
    """What an adversary is called."""

    name: str = Field(description="Its name.")
    short: str = Field(description="The same in two or three words.")
    knows: str = Field(description="What it sees or does.")


class AttackContent(ContentPart):
    """The report on the adversaries A1 to A8."""

    modicum: Literal["attacks"] = Field(description="The kind of report.")
    version: int = Field(description="The version of this format.")
    modicum_version: str = Field(description="The version of modicum that made the report.")
    purpose: str | None = Field(description="What the data is for, in the user's words.")
    records_of: str | None = Field(description="Whom the records are of, in the user's words.")
    provenance: Provenance | None = Field(
        description="What it was made of, so that it can be made again; null inside another report, which has its own."
    )
    records: int = Field(description="How many records were breached.")
    people: int = Field(description="Of how many people they are.")
    unit: str = Field(description="What shares are of: people, or records where one person has several.")
    known: int = Field(description="From how many full records of other people the adversaries learned.")
    random_state: int = Field(description="The seed.")
    weights: dict[str, Share] = Field(description="Attribute → its share in every mean over the attributes.")
    adversaries: list[Guesser] = Field(description="Those who guess personal values, by what they know.")
    attributes: list[GuessedAttribute] = Field(description="The personal attributes.")
    confident: list[Confident] = Field(description="A2, the surest guesses first.")
    too_few_for_confident: list[float] = Field(description="Percentages at which A2 would tell of too few people.")
    a2_most_exposed: MostExposed | None = Field(
        description="A2 on the smallest part that may be told of; null where that is none or all guesses."
    )
    linkability: LinkabilityContent | None = Field(description="A7; null where it does not apply.")
    singling_out: SinglingOutContent = Field(description="A8.")
    certificates: dict[Adversary, AttackCertificate] = Field(description="A1, A3 and A4 → what is certified.")
    skipped: list[Skipped] = Field(description="The adversaries that do not apply.")
    names: dict[Adversary, Named] = Field(description="A1 to A8 → how they are called.")
    warnings: list[str] = Field(description="What a reader must know before believing the numbers.")
    sentences: list[str] = Field(description="What was found, in plain words.")
    limits: list[str] = Field(description="What the method does and does not say.")


# What the adversaries found, in words: made of the numbers of its summary, and of no others.


def sentences(content: dict[str, Any]) -> list[str]:
    """What was found, in plain words."""
    by_id = {each["id"]: each for each in content["adversaries"]}
    first = by_id["A1"]
    told = [
        f"Someone who sees the collected records is wrong about {first['error']:.1%} of personal values; without "
        f"seeing them they would be wrong about {first['naive']:.1%}, with the raw records about none."
    ]
    if content["a2_most_exposed"] is not None:
        told.append(content["a2_most_exposed"]["sentence"])
    strongest = min((each for each in by_id.values() if each["id"] != "A1"), key=lambda e: e["error"], default=None)
    if strongest is not None:
        told.append(
            f"Someone who {strongest['knows']} ({strongest['id']}) is wrong about {strongest['error']:.1%}"
            + (f"; the most is gained about {quote_name(strongest['worst'])}." if strongest["worst"] else ".")
        )
    link, single = content["linkability"], content["singling_out"]
    if link is not None:
        told.append(
            f"Of {link['k']:,} people at once, {1 - link['error']:.2%} of halves are joined rightly "
            f"({1 - link['naive']:.2%} at random, {1 - link['raw']:.2%} with the raw records)."
        )
    told.append(_standing_out(single))
    return told


def summarize_most_exposed(content: dict[str, Any]) -> dict[str, Any] | None:
    """A2 on the smallest part of the guesses that may be told of; None where that is none or all of them."""
    level = min(content["confident"], key=lambda each: each["percent"], default=None)
    if level is None or level["percent"] >= 100:
        return None
    few = [percent for percent in content["too_few_for_confident"] if percent < level["percent"]]
    few_text = "" if not few else f" The surest {_format_percents(few)} are of too few people to be told of."
    ends = "" if level["interval"] is None else f"95% interval {_between(level['interval'])}; "
    sentence = (
        f"Of the {level['percent']:g}% of guesses that someone who sees the collected records is most confident of, "
        f"{level['error']:.1%} are wrong ({ends}naive guesses about the same people: {level['naive']:.1%}).{few_text}"
    )
    return {key: level[key] for key in ("percent", "records", "error", "interval", "naive")} | {"sentence": sentence}


def _format_percents(percents: Sequence[float]) -> str:
    return ", ".join(f"{percent:g}%" for percent in percents)


def _between(interval: Sequence[float]) -> str:
    return f"{interval[0]:.1%} to {interval[1]:.1%}"


def _standing_out(single: dict[str, Any]) -> str:
    unique = single["unique"]
    if isinstance(unique, str):
        shown = "Fewer than ten people have" if isinstance(single["least"], str) else "Nobody has"
    else:
        shown = f"About {unique:,} people have"
    return (
        f"{shown} a combination of answers to themselves, of {single['people']:,} "
        f"({1 - single['raw']:.1%} with the raw records)."
    )


def limits(content: dict[str, Any]) -> list[str]:
    """What the method can and cannot say."""
    certificate = content["certificates"]["A1"]
    confidence, unit = confidence_text(certificate["confidence"]), certificate["unit"]
    return [
        f"An error is the share of {unit} guessed wrong: higher is safer. Each adversary is the strongest of several "
        "that were tried, chosen on records that are not reported on; a stronger one may exist.",
        f"A certified error holds for every adversary with the same knowledge, with {confidence} confidence for "
        f"each of A1, A3 and A4, on average over {unit} like the breached ones. Where these fall into too many "
        "different cells it says nothing.",
        "The certified errors hold, and the others mean something, only if the breached records had no part in making "
        "or choosing what is collected, and if the known records are of other people.",
        "A5 is averaged over how many personal attributes are known, in a few random orders.",
        "Linking takes for granted that the people whose halves are joined are among the breached.",
        "The number of people who stand out in a whole population is a rough estimate from a sample by a model, more "
        "often too high than too low; its interval tells what another sample might give, not how wrong the model is.",
    ]


# What the adversaries found as plain data: every number that the page, the terminal and the JSON show.
#
# Rows are never named, the description that singles someone out is left out, and no number tells of fewer than ten
# people (`modicum.reporting.disclosure`).

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
    content["a2_most_exposed"] = summarize_most_exposed(content)
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
        "error": compute_weighted_mean({a: tens(r.error, n) for a, r in result.by_attribute.items()}, result.weights),
        "interval": outward(result.interval, n),
        "naive": compute_weighted_mean({a: tens(r.naive, n) for a, r in result.by_attribute.items()}, result.weights),
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
                    "certified": _compute_certified_error(found.certificates.get(kind), name),
                }
                for kind, each in ((kind, found.reconstruction.get(kind)) for kind in ORDER)
                if each is not None
            },
        }
        for name, result in first.by_attribute.items()
    ]


def _compute_certified_error(certificate: Certificate | None, name: str) -> float | None:
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
        "error": compute_weighted_mean(errors, weights),
        "interval": outward(level.interval, n),
        "naive": compute_weighted_mean(naive, weights),
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
        "mean_error": 1 - compute_weighted_mean(bounds, certificate.weights),
        "confidence": certificate.confidence,
        "records": certificate.records,
        "vacuous": certificate.vacuous,
        "note": certificate.note,
        "unit": certificate.unit,
        "bins": certificate.bins,
    }
