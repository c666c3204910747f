"""The report on a PriSM classifier as a document: it computes nothing, it only says what the data holds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from modicum.measures.certificate import confidence_text
from modicum.reporting.charts import (
    DARK,
    GREY,
    NAMES,
    RED,
    RIGHT,
    ROW,
    SOFT,
    WIDTH,
    bar,
    line,
    row_name,
    span,
    svg,
    text,
)
from modicum.reporting.disclosure import at_most
from modicum.reporting.document import (
    Block,
    Bullets,
    Card,
    Cards,
    Column,
    Document,
    Picture,
    Section,
    Sign,
    Table,
    TableCell,
    Text,
)
from modicum.reporting.formats import count_of, decimals, interval, number, percent, points, points_interval, quote_name
from modicum.reporting.prism.data import join_names, measure_words, proof_words
from modicum.reporting.sources import day_in_words, provenance_section, sign_off

# Attribute by attribute: why PriSM asks for it or not, and what another choice would change.

_TAGS: dict[str, Any] = {"asked": "middle", "left out": "good", "sensitive": "bad", "not considered": ""}


def attribute_section(content: dict[str, Any]) -> Section:
    """Two tables, so that a phone shows both: why, and what was measured."""
    balanced = ", every label counting the same" if content["utility"]["is_balanced"] else ""
    told = (
        "Tells by itself: strength, what chance would give, and the p-value. Decided otherwise: by how many percentage "
        "points the error on test records changes if an attribute that is asked for were not, or if one that is left "
        f"out were asked for as well, whether that reveals or not{balanced}; below it the 95% interval, and the change "
        "of the objective on the training records. All others stay as they are. In another's place: the same for the "
        "best allowed choice that asks for it and not for the one named. Minus is better."
    )
    why = Table(
        [Column(title, is_number=False) for title in ("attribute", "decision", "why")],
        [_why(each) for each in content["attributes"]],
    )
    titles = ("in revealing sets", "tells by itself", "decided otherwise: error", "in another's place: error")
    measured = Table(
        [Column("attribute", is_number=False), *(Column(title) for title in titles)],
        [_build_attribute_row(each) for each in content["attributes"] if each["alone"]],
    )
    return Section("Attribute by attribute", [why, Text(told, "soft"), measured])


def _why(each: dict[str, Any]) -> list[TableCell | str]:
    columns = [] if each["columns"] == [each["name"]] else [f"columns: {', '.join(each['columns'])}"]
    return [TableCell(each["name"], columns), TableCell(each["status"], tag=_TAGS[each["status"]]), each["why"]]


def _build_attribute_row(each: dict[str, Any]) -> list[TableCell | str]:
    alone = each["alone"]
    return [
        each["name"],
        TableCell(number(each["sets"]), [f"{each['completes']} whole with it"]),
        TableCell(
            number(alone["strength"]), [f"chance {number(alone['by_chance'])}", f"p {p_value(alone['p_value'])}"]
        ),
        _other(each["other"]),
        _other(each["instead"]),
    ]


def _other(found: dict[str, Any] | None) -> TableCell | str:
    if found is None:
        return "–"
    below = [points_interval(found["interval"]), f"objective {points(found['objective'], 2)}%"]
    return TableCell(points(found["error"]), below + ([f"for {found['instead_of']}"] if found["instead_of"] else []))


def p_value(value: float | None) -> str:
    """A p-value for people; one too small for a number as such.

    Examples
    --------
    >>> from modicum.reporting.prism.page import p_value
    >>> p_value(0.0123), p_value(0.0), p_value(None)
    ('0.012', '< 1e-300', '–')
    """
    return "–" if value is None else "< 1e-300" if value == 0 else f"{value:.2g}"


# The three threats of opinion 05/2014 for what a PriSM classifier asks: inference, singling out, linkability.


def threat_sections(content: dict[str, Any], kinds: Mapping[str, str]) -> list[Section]:
    """One section for each threat, under a heading of their own.

    Examples
    --------
    >>> from modicum.reporting.prism.page import threat_sections
    >>> alone = {"alone": 0.1, "interval": [0.0, 0.2], "raw": 0.5, "naive": 0.0, "groups": 40, "smallest": "< 10"}
    >>> content = {"sensitive": [], "singling_out": alone | {"people": 100}, "linkability": None, "unit": "people"}
    >>> [section.title for section in threat_sections(content | {"trained_on": 200, "confidence": 0.99}, {})][1:]
    ['Inference', 'Singling out', 'Linkability']
    """
    told = (
        "The European data protection authorities name three risks that remain (Working Party, opinion 05/2014): that "
        "something is inferred about a person, that a person is singled out, and that records of one person are linked."
    )
    return [
        Section("What remains at risk", [Text(told, "soft")]),
        Section("Inference", _inference(content, kinds), level=3),
        Section("Singling out", _singling_out(content), level=3),
        Section("Linkability", _linkability(content), level=3),
    ]


def _inference(content: dict[str, Any], kinds: Mapping[str, str]) -> list[Block]:
    blocks: list[Block] = [
        Text(
            f"Adversaries learn from the {number(content['trained_on'])} training records, each held out in turn, what "
            "the answers tell about the sensitive attribute: a support vector machine tuned for it, and a portfolio of "
            "a network, counts and boosted trees. Shown is the strongest of them as chosen without the records it is "
            "judged on. “Right” is the share whose value it guesses. The correlation (Matthews') is 0 for any guess "
            "that knows nothing and 1 for a perfect one; it also tells where nearly everybody has the same value. "
            "Below each stands its 95% interval.",
            "soft",
        )
    ]
    for each in content["sensitive"]:
        if each["guesses"]:
            blocks.append(_guesses(each, kinds))
        else:
            blocks.append(Text(f"No adversary has tried to guess {quote_name(each['name'])}."))
        blocks.append(Text(each["sentence"], "quote" if _is_bound(each) else "soft"))
        if _is_bound(each):
            blocks.append(Text(_describe_bound(each, content), "soft"))
    return blocks


def _is_bound(each: dict[str, Any]) -> bool:
    return each["certified"] is not None


def _describe_bound(each: dict[str, Any], content: dict[str, Any]) -> str:
    return (
        f"Always saying the most frequent value is right for {percent(each['certified_naive'])} of the test records. "
        f"The certified {at_most(each['certified'])} holds for every method, with a confidence of "
        f"{confidence_text(content['confidence'])}; it is high where many answers are rare, since of few people little "
        "can be excluded. It speaks of the average, not of the most exposed person."
    )


def _guesses(each: dict[str, Any], kinds: Mapping[str, str]) -> Table:
    heads = [Column(f"{each['name']} guessed from", is_number=False), Column("attributes"), Column("right")]
    rows: list[list[TableCell | str]] = [["nothing (the most frequent value)", "0", percent(each["naive"]), "0"]]
    rows += [
        [
            kinds[guess["model"]],
            number(guess["asks"]),
            TableCell(percent(guess["accuracy"]), [interval(guess["interval"])]),
            TableCell(number(guess["mcc"]), [decimals(guess["mcc_interval"])]),
        ]
        for guess in each["guesses"]
    ]
    return Table([*heads, Column("correlation")], rows)


def _singling_out(content: dict[str, Any]) -> list[Block]:
    found = content["singling_out"]
    heads = [Column("test people alone with", is_number=False), Column("share"), Column("95% interval")]
    rows = [
        ["what is asked for", percent(found["alone"]), interval(found["interval"])],
        ["all attributes", percent(found["raw"]), "–"],
        ["nothing", percent(found["naive"]), "–"],
    ]
    told = (
        f"{count_of(found['people'], 'test person', 'test people')} give {number(found['groups'])} different "
        f"combinations of answers; a rarest one is given by {number(found['smallest'])}. Who is alone can be pointed "
        "at by whoever knows the answers. In a whole population, of which these are a part, the share is lower."
    )
    return [Text(told), Table(heads, rows)]


def _linkability(content: dict[str, Any]) -> list[Block]:
    found = content["linkability"]
    general = (
        "The answers are in full detail: who holds another table with the same attributes can link everybody who is "
        "alone there, which is the share above. What was left out cannot be linked through these answers."
    )
    if found is None:
        return [Text(general), Text("Joining halves does not apply: fewer than two columns are asked for.", "soft")]
    told = (
        f"An adversary holds {join_names(found['halves'][0])} and, apart, {join_names(found['halves'][1])} of "
        f"{number(found['k'])} people, and joins what belongs together with the help of the answers of all test people "
        "(A7; halves that are equal count as the same)."
    )
    heads = [Column("halves joined rightly", is_number=False), Column("share"), Column("95% interval")]
    rows = [
        ["with the answers", percent(found["linked"]), interval(found["interval"])],
        ["at random", percent(found["naive"]), "–"],
    ]
    return [Text(general), Text(told), Table(heads, rows)]


# The picture of what reveals a sensitive attribute: strengths against the threshold and against chance.

MOST_ROWS = 40
SETS = 12  # of several attributes that are drawn
REVEALS, ACCEPTED, CHANCE, THRESHOLD = RED, GREY, DARK, "#1d5fa8"


def strengths_chart(content: dict[str, Any]) -> Markup:
    """Single attributes and the strongest sets, with the threshold as a line and chance as a mark."""
    rows = _rows(content)
    threshold = content["rule"]["threshold"]
    most = max([each["strength"] for _, each, _ in rows] + [each["by_chance"] or 0.0 for _, each, _ in rows])
    scale, top = span() / max(1.1 * max(most, threshold), 1e-9), 26
    height = top + len(rows) * ROW
    drawn = [_axis(scale, top, height)]
    for i, (name, each, reveals) in enumerate(rows):
        drawn += _row(name, each, reveals, top + i * ROW, scale)
    x = NAMES + threshold * scale
    drawn += [line(x, top - 6, x, height, THRESHOLD, 2)]
    return svg(drawn, height + 8, "How strongly attributes tell of the sensitive one")


def select_strongest_sets(content: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The sets of several attributes that the picture shows: the strongest."""
    several = [each for each in content["sets"] if len(each["attributes"]) > 1]
    return sorted(several, key=lambda each: -each["strength"])[:SETS]


def _rows(content: dict[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
    """Name, strength and whether it reveals: single attributes first, then sets; the strongest first."""
    alone = {each["attributes"][0] for each in content["sets"] if len(each["attributes"]) == 1}
    single = [(each["name"], each["alone"], each["name"] in alone) for each in content["attributes"] if each["alone"]]
    single.sort(key=lambda each: -each[1]["strength"])
    return single[:MOST_ROWS] + [
        (" + ".join(each["attributes"]), each, True) for each in select_strongest_sets(content)
    ]


def _row(name: str, each: dict[str, Any], reveals: bool, y: float, scale: float) -> list[Markup]:
    drawn = [
        row_name(name, y),
        bar(NAMES, y + 4, each["strength"] * scale, REVEALS if reveals else ACCEPTED),
        text(WIDTH - RIGHT + 6, y + 17, f"{each['strength']:.3f}"),
    ]
    if each["by_chance"] is not None:
        x = NAMES + each["by_chance"] * scale
        drawn.append(line(x, y + 2, x, y + 24, CHANCE, 2))
    return drawn


def _axis(scale: float, top: float, height: float) -> Markup:
    """Lines at even places from 0, at round numbers."""
    step = _step(span() / scale)
    marks = []
    for i in range(int(span() / scale / step + 1e-9) + 1):
        x = NAMES + i * step * scale
        marks.append(line(x, top - 6, x, height, "#e5e9ee", 1))
        marks.append(text(x, top - 11, f"{i * step:.3g}", anchor="middle", colour=SOFT))
    return Markup("").join(marks)


def _step(most: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that makes six steps or fewer."""
    base: float = 10.0 ** math.floor(math.log10(most / 6))
    return next(base * times for times in (1, 2, 5, 10) if base * times * 6 >= most)


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
    hidden = join_names([each["name"] for each in content["sensitive"]])
    version = content["provenance"]["modicum_version"]
    return Document(
        title=f"Predicting {quote_name(content['label'])} without revealing {hidden}",
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
            cards.append(Card(f"{quote_name(each['name'])} guessed right", percent(rows["PriSM"]["accuracy"]), note))
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
    critical = "All of them are protected" if each["critical"] is None else f"Protected: {join_names(each['critical'])}"
    return f"Sensitive: {quote_name(each['name'])}.{values} {critical}."


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
    rows: list[list[TableCell | str]] = [
        [
            TableCell(" + ".join(each["attributes"]), _set_words(each)),
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
    rows: list[list[TableCell | str]] = [
        [
            TableCell(KINDS[each["model"]], [", ".join(each["predictors"]) or "nothing"]),
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
