"""Inference: what adversaries who know more and more guess of people's personal values (A1 to A6)."""

from typing import Any, Literal

from modicum.measures.certificate import confidence_text
from modicum.reporting.attack_charts import COLOURS, adversaries_chart, attributes_chart, confident_chart
from modicum.reporting.disclosure import at_least
from modicum.reporting.document import Block, Bullets, Cell, Column, Picture, Section, Sign, Table, Text
from modicum.reporting.formats import count_of, interval, number, percent
from modicum.reporting.svg import BLUE, DARK, GREY

MEANING = (
    "Inference means that a value nobody gave away is worked out from those that were given. Here: an adversary holds "
    "the collected records and guesses the personal values behind them. An error is the share of guesses that are "
    "wrong: the higher, the safer."
)


def inference(content: dict[str, Any], level: Literal[2, 3] = 2) -> list[Section]:
    """The first threat, in three steps: who knows what, about which attribute, and where they are surest."""
    return [
        Section("Inference: guessing personal values (A1 to A6)", _adversaries(content), level),
        Section("Attribute by attribute", _attributes(content), 3),
        Section("A2: where the adversary is most confident", _confident(content), 3),
    ]


def _adversaries(content: dict[str, Any]) -> list[Block]:
    found, certificates = content["adversaries"], content["certificates"]
    confidence = confidence_text(certificates["A1"]["confidence"])
    signs = [
        Sign("naive guess: the usual value, without seeing a record", GREY),
        Sign("adversary (each its colour), the dark line its 95% interval", BLUE),
        Sign(f"certified: no adversary with this knowledge is below it, with {confidence} confidence", DARK, "mark"),
    ]
    columns = [Column("adversary", is_number=False), Column("wrong about"), Column("95% interval")]
    columns += [
        Column("naive guess"),
        Column("raw data"),
        Column("certified at least"),
        Column("gains most about", False),
    ]
    return [
        Text(MEANING),
        Text(_records(content)),
        Text(
            "Each line is an adversary who knows more than the first. The figures are means over the personal "
            "attributes, beside those of the naive guess (the usual value, without seeing a record) and of raw data, "
            "where nothing is left to guess.",
            "soft",
        ),
        Picture(adversaries_chart(found), signs),
        Table(columns, [_adversary(each) for each in found]),
        Text(_certified_text(content), "soft"),
        *(Text(f"{id}: {c['note']}", "soft") for id, c in certificates.items() if c["note"]),
        *_skipped(content),
    ]


def _records(content: dict[str, Any]) -> str:
    records, people = content["records"], content["people"]
    whose = "" if records == people else f" of {count_of(people, 'person', 'people')}"
    return (
        f"The adversaries saw {count_of(records, 'breached record')}{whose}: collected records that are taken to be in "
        f"the wrong hands. Before, they learned from {number(content['known'])} full records of other people."
    )


def _skipped(content: dict[str, Any]) -> list[Block]:
    """Those of A1 to A6 that do not apply; A7 says so in its own section."""
    told = [f"{each['id']} {each['name']}: {each['why']}." for each in content["skipped"] if each["id"] != "A7"]
    return [Text("What did not apply:", "soft"), Bullets(told)] if told else []


def _adversary(each: dict[str, Any]) -> list[Cell | str]:
    least, most = each["over_attributes"]["min"], each["over_attributes"]["max"]
    below = [
        each["knows"],
        f"from {percent(least['error'])} ({least['attribute']}) to {percent(most['error'])} ({most['attribute']})",
    ]
    if each["alone"]:
        below.append(f"each breach alone: {', '.join(percent(error) for error in each['alone'])}")
    return [
        Cell(f"{each['id']} {each['name']}", below),
        percent(each["error"]),
        interval(each["interval"]),
        percent(each["naive"]),
        percent(each["raw"]),
        at_least(each["certified_error"]),
        each["worst"] or "–",
    ]


def _certified_text(content: dict[str, Any]) -> str:
    first = content["certificates"]["A1"]
    return (
        f"“Certified at least” holds for every adversary with the same knowledge, whatever their method, with "
        f"{confidence_text(first['confidence'])} confidence and on average over {first['unit']}. It was counted on "
        f"{count_of(first['records'], 'record')}. A number or date counts as guessed when it is placed in the right "
        f"one of {number(first['bins'])} ranges of about equal frequency (fewer where it has fewer values)."
    )


def _attributes(content: dict[str, Any]) -> list[Block]:
    found = content["adversaries"]
    signs = [Sign("naive guess", GREY), *(Sign(a["id"], COLOURS[a["id"]], "dot") for a in found)]
    columns = [Column("personal attribute", is_number=False), Column("values"), Column("weight"), Column("naive guess")]
    return [
        Text(
            "How often each adversary is wrong about each attribute, with its 95% interval and, where there is one, "
            "the certified error. The weight is the attribute's share in the means above.",
            "soft",
        ),
        Picture(attributes_chart(content["attributes"]), signs),
        Table([*columns, *(Column(a["id"]) for a in found)], [_attribute(each) for each in content["attributes"]]),
    ]


def _attribute(each: dict[str, Any]) -> list[Cell | str]:
    begun = [each["name"], number(each["values"]), percent(each["weight"]), percent(each["naive"])]
    return [*begun, *(_found(found) for found in each["errors"].values())]


def _found(found: dict[str, Any]) -> Cell:
    certified = [] if found["certified"] is None else [f"certified ≥ {at_least(found['certified'])}"]
    return Cell(percent(found["error"]), [interval(found["interval"]), *certified])


def _confident(content: dict[str, Any]) -> list[Block]:
    levels, few = content["confident"], content["too_few_for_confident"]
    hidden = f" At {_listed(few)} there are too few people to be told of." if few else ""
    told = Text(
        "The average hides those who are easy to guess. So these are the errors on the guesses that the adversary A1 "
        "is most confident of, mean over the attributes, beside the naive guess about the same people." + hidden,
        "soft",
    )
    if not levels:
        return [told]
    columns = [Column("most confident", is_number=False), Column("guesses about each attribute"), Column("wrong about")]
    columns += [Column("95% interval"), Column("naive guess"), Column("raw data"), Column("gains most about", False)]
    signs = [Sign("adversary, with 95% interval", BLUE, "dot"), Sign("naive guess about the same people", GREY)]
    heads = [Column("personal attribute", is_number=False), *(Column(_level(each)) for each in levels)]
    return [
        told,
        Picture(confident_chart(levels), signs),
        Table(columns, [_confident_row(each) for each in levels]),
        Table(heads, [_confident_attribute(name, levels) for name in levels[0]["by_attribute"]]),
    ]


def _confident_row(each: dict[str, Any]) -> list[Cell | str]:
    figures = [percent(each["error"]), interval(each["interval"]), percent(each["naive"]), percent(each["raw"])]
    return [_level(each), number(each["records"]), *figures, each["worst"]]


def _confident_attribute(name: str, levels: list[dict[str, Any]]) -> list[Cell | str]:
    naive = [f"naive {percent(each['naive_by_attribute'][name])}" for each in levels]
    return [name, *(Cell(percent(e["by_attribute"][name]), [n]) for e, n in zip(levels, naive, strict=True))]


def _level(each: dict[str, Any]) -> str:
    return f"{each['percent']:g}%"


def _listed(percents: list[float]) -> str:
    return ", ".join(f"{each:g}%" for each in percents)
