"""The report on a PriSM classifier as a document: it computes nothing, it only says what the data holds."""

from collections.abc import Sequence
from typing import Any

from modicum.reporting.document import (
    Block,
    Bullets,
    Card,
    Cards,
    Cell,
    Column,
    Document,
    Picture,
    Section,
    Sign,
    Table,
    Text,
)
from modicum.reporting.formats import count_of, interval, named, number, percent
from modicum.reporting.prism_attributes import attribute_section, p_value
from modicum.reporting.prism_charts import ACCEPTED, CHANCE, REVEALS, THRESHOLD, strengths_chart
from modicum.reporting.prism_content import Content
from modicum.reporting.prism_threats import threat_sections
from modicum.reporting.prism_words import listed, measure_words, proof_words
from modicum.reporting.provenance import day_in_words, provenance_section, sign_off

__all__ = ["Content", "document"]

KINDS = {"PriSM": "this classifier (PriSM)", "Parsimony": "the best few (Parsimony)", "SVM": "all attributes (SVM)"}
_ENCODINGS = {
    "both": "together as well as one by one",
    "single": "together (critical ones against the rest)",
    "multiple": "one by one",
    "whole": "as they are, every value told from every other",
}
_SHOWN = 25  # sets that are shown; all are in the annex


def document(content: dict[str, Any]) -> Document:
    """The document of the data that `prism_summary` makes."""
    sections = [
        _what_reveals(content),
        attribute_section(content),
        _choice(content),
        _cost(content),
        *threat_sections(content, KINDS),
        Section("What this does not say", [Bullets(content["limits"])]),
        *_annex(content),
        provenance_section(content["provenance"]),
        sign_off(),
    ]
    hidden = listed([each["name"] for each in content["sensitive"]])
    version = content["provenance"]["modicum_version"]
    return Document(
        title=f"Predicting {named(content['label'])} without revealing {hidden}",
        lead=_lead(content),
        sections=sections,
        footer=f"Made by modicum {version} on {content['provenance']['date']}. Counts of people under 10 are not "
        f"shown; shares are rounded to tens of people. Format version {content['version']}.",
        has_contents=True,
    )


def _lead(content: dict[str, Any]) -> list[Block]:
    purpose = content["purpose"] or "not stated"
    whom = f"Records: {content['people']}. " if content["people"] else ""
    return [
        Text(f"Purpose: {purpose}"),
        Text(
            f"{whom}Made on {day_in_words(content['provenance']['date'])}. Learned from "
            f"{number(content['trained_on'])} records; every error is that of {number(content['tested_on'])} others.",
            "soft",
        ),
        Text(content["decision"], "decision"),
        *(Text(each, "warning") for each in content["warnings"]),
        Cards(_cards(content)),
    ]


def _cards(content: dict[str, Any]) -> list[Card]:
    asked = sum(each["status"] == "asked" for each in content["attributes"])
    usable = sum(each["status"] in ("asked", "left out") for each in content["attributes"])
    errors = {each["model"]: each for each in content["utility"]["models"]}
    cards = [
        Card("Attributes asked for", f"{asked} of {usable}", f"{len(content['sets']):,} smallest sets reveal"),
        Card(
            "Error of the prediction",
            percent(errors["PriSM"]["error"]),
            f"{percent(errors['SVM']['error'])} with all, {percent(content['utility']['majority'])} guessing",
        ),
    ]
    for each in content["sensitive"]:
        rows = {guess["model"]: guess for guess in each["guesses"]}
        if rows:
            note = f"{percent(each['naive'])} without the answers, {percent(rows['SVM']['accuracy'])} from all"
            cards.append(Card(f"{named(each['name'])} guessed right", percent(rows["PriSM"]["accuracy"]), note))
    alone = content["singling_out"]
    cards.append(Card("Alone with their answers", percent(alone["alone"]), f"{percent(alone['raw'])} with everything"))
    return cards


def _what_reveals(content: dict[str, Any]) -> Section:
    blocks: list[Block] = [
        *(Text(_sensitive_words(each)) for each in content["sensitive"]),
        Text(_rule_words(content["rule"]), "soft"),
    ]
    if not content["sets"]:
        return Section("What reveals the sensitive attribute", [*blocks, Text("No set of attributes reveals it.")])
    more = len(content["sets"]) - _SHOWN
    blocks += [_picture(content), _sets_table(content["sets"][:_SHOWN])]
    if more > 0:
        blocks.append(Text(f"{more:,} more sets are in the annex.", "soft"))
    return Section("What reveals the sensitive attribute", blocks)


def _rule_words(rule: dict[str, Any]) -> str:
    tested = " + ".join(f"{many:,}" for many in rule["tested"])
    corrected = "" if rule["correction"] is None else f", corrected for the number of tests ({rule['correction']})"
    taken = _ENCODINGS.get(rule["encoding"], rule["encoding"])
    return (
        f"A set of attributes reveals it where the strength of the relation ({measure_words(rule['measure'])}; 0 is "
        f"none, 1 is full) is at least {rule['threshold']:g}, and where unrelated attributes would come to that with a "
        f"chance (p-value) of at most {rule['p_value']:g}{corrected}. Sets of up to "
        f"{count_of(rule['max_size'], 'attribute')} were tested ({tested} of 1, 2, … attributes), with sensitive "
        f"values taken {taken}, and numbers in {rule['bins']} ranges. Only the smallest sets are "
        "listed: a set that holds one of them may not be asked for either."
    )


def _sensitive_words(each: dict[str, Any]) -> str:
    values = "" if each["values"] is None else f" It has {count_of(each['values'], 'value')}."
    critical = "All of them are protected" if each["critical"] is None else f"Protected: {listed(each['critical'])}"
    return f"Sensitive: {named(each['name'])}.{values} {critical}."


def _picture(content: dict[str, Any]) -> Picture:
    signs = [
        Sign("reveals", REVEALS),
        Sign("does not", ACCEPTED),
        Sign("what chance alone would give", CHANCE, "mark"),
        Sign(f"threshold ({content['rule']['threshold']:g})", THRESHOLD, "mark"),
    ]
    return Picture(strengths_chart(content), signs)


def _sets_table(sets: Sequence[dict[str, Any]]) -> Table:
    heads = [Column("set", is_number=False), Column("strength"), Column("by chance"), Column("p-value")]
    rows: list[list[Cell | str]] = [
        [
            Cell(" + ".join(each["attributes"]), _set_words(each)),
            number(each["strength"]),
            number(each["by_chance"]),
            p_value(each["p_value"]),
        ]
        for each in sets
    ]
    return Table(heads, rows)


def _set_words(each: dict[str, Any]) -> list[str]:
    """What it tells of and which of it is not asked for; below the set, so that a phone shows all columns."""
    named = ["named by the data's owner"] if each["is_known"] else []
    return [f"tells of {each['about']}", f"not asked for: {', '.join(each['kept_out'])}", *named]


def _choice(content: dict[str, Any]) -> Section:
    together = content["proof"]["together"]
    told = (
        f"All attributes that are asked for, together: strength {number(together['strength'])} "
        f"({number(together['by_chance'])} by chance, p-value {p_value(together['p_value'])})."
    )
    return Section("Why this choice, and the proof", [*map(Text, proof_words(content)), Text(told)])


def _cost(content: dict[str, Any]) -> Section:
    utility = content["utility"]
    heads = [Column("classifier", is_number=False), Column("asks for"), Column("error"), Column("95% interval")]
    rows: list[list[Cell | str]] = [
        [
            Cell(KINDS[each["model"]], [", ".join(each["predictors"]) or "nothing"]),
            number(each["asks"]),
            percent(each["error"]),
            interval(each["interval"]),
        ]
        for each in utility["models"]
    ]
    rows.append(["always the same label", "0", percent(utility["majority"]), "–"])
    of = "the mean over the labels of each one's own share" if utility["is_balanced"] else "the share"
    told = f"An error is {of} of test records that are predicted wrong. All classifiers are linear, and none sees the "
    return Section("What the restriction costs", [Text(told + "sensitive attribute.", "soft"), Table(heads, rows)])


def _annex(content: dict[str, Any]) -> list[Section]:
    if len(content["sets"]) <= _SHOWN:
        return []
    return [Section("Annex: all revealing sets", [_sets_table(content["sets"])])]
