"""The report of an anatomized release as a document."""

from typing import Any, Literal

from modicum.reporting.charts import AMBER, DARK, bars_chart
from modicum.reporting.document import (
    Block,
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
from modicum.reporting.formats import NONE, number, percent
from modicum.reporting.release_parts import (
    BELOW,
    FOOTER,
    LEVEL,
    closing,
    describe_expected_uniques,
    error_picture,
    figure,
    group_blocks,
    opening,
    sizes_table,
    trial_text,
    words,
)

_SOURCES = {
    "pruned": "the tables, one candidate value for each record (pruned)",
    "joined": "the tables, every candidate value (joined)",
    "identifying": "the identifying table alone, without what is sensitive",
    "raw": "raw records",
    "majority": "nothing: always the majority",
}
_SHORT = {"pruned": "tables, pruned", "joined": "tables, joined", "identifying": "identifying alone"}
_SHORT |= {"raw": "raw records", "majority": "always the majority"}
_WHO = {
    "random worlds": "learns nothing",
    "most frequent value": "most frequent value",
    "deFinetti": "learns from the release",
    "informed": "knows others as well",
    "without the release": "knows others alone",
}
_GROUPING = {
    "bucketize": "taking the most frequent values first (bucketize)",
    "random": "chance alone (random)",
    "dealt": "dealing values out in turn (dealt)",
}
_TAGS: dict[str, Literal["good", "middle", "bad"]] = {
    "identifying": "bad",
    "class": "bad",
    "sensitive": "middle",
    "left out": "good",
}


def document(content: dict[str, Any]) -> Document:
    """What page and Markdown are made of."""
    sections = [
        Section("What is published in which table", _attributes(content)),
        Section("The promise, and what was counted", _promise(content)),
        Section("Singling out: can a person be picked out of the table?", _singling_out(content)),
        Section("Linkability: can a record be linked to a person?", _linking(content)),
        Section("Inference: can somebody's sensitive value be learned?", _inference(content)),
        Section("Prediction: what does a model lose?", _prediction(content)),
        *closing(content),
    ]
    return Document("An anatomized release: evidence", [*opening(content), _cards(content)], sections, FOOTER, True)


def _cards(content: dict[str, Any]) -> Cards:
    crowd = next(iter(content["crowds"].values()))
    cards = [Card("alone in the table", percent(crowd["alone"]), "of people, by exact values")]
    for each in content["matching"]:
        note = f"of people; {percent(each['promised'])} promised, {percent(each['naive'])} naive"
        cards.append(Card(f"{each['sensitive']} told", percent(each["learned"]), note))
    cards += [Card(f"{each['name']} in a group", percent(each["highest"]), "at most") for each in content["measured"]]
    if content["utility"] is not None:
        errors = content["utility"]["errors"]
        note = f"{percent(errors['raw']['error'])} from raw records"
        cards.append(Card("model's error", percent(errors["pruned"]["error"]), note))
    return Cards(cards)


def _attributes(content: dict[str, Any]) -> list[Block]:
    heads = [Column(title, is_number=False) for title in ("attribute", "role", "stands in")] + [Column("values")]
    rows = [
        [each["name"], TableCell(each["role"], tag=_TAGS[each["role"]]), each["table"], number(each["values"])]
        for each in content["attributes"]
    ]
    return [
        Text(
            "The identifying table has what others may know of a person, the class, and the number of a group. A "
            "sensitive table has the number of the group and a value, in an order that says nothing. Every value in "
            f"them is exact; only who of a group has which value is hidden. {_describe_grouping(content['grouping'])}"
        ),
        Table(heads, rows),
    ]


def _describe_grouping(grouping: str | None) -> str:
    return (
        "How groups were made is not known."
        if grouping is None
        else (f"Groups were made by {_GROUPING.get(grouping, grouping)}.")
    )


def _promise(content: dict[str, Any]) -> list[Block]:
    asked = content["asked_l"]
    told = content["measured"]
    rows = [
        ["l asked for", *(NONE if asked is None else number(asked) for _ in told)],
        ["l counted", *(number(each["l"]) for each in told)],
        ["highest share of a value in a group", *(percent(each["highest"]) for each in told)],
        ["fewest different values in a group", *(number(each["distinct_l"]) for each in told)],
        ["groups", *(number(each["groups"]) for each in told)],
        ["records a group", *(f"{number(each['smallest'])} to {number(each['largest'])}" for each in told)],
        ["different values in all", *(number(each["values"]) for each in told)],
    ]
    verdict = "What was asked for is there." if content["kept"] else "What was asked for is NOT there."
    return [
        Text(
            "The promise: no value is more than 1/l of its group. It was counted anew on the published tables, by code "
            "that takes no part in making groups."
        ),
        Table(words("", *(each["name"] for each in told)), rows),
        Text(f"{verdict} Records released: {number(content['records'])}; left out: {number(content['left_out'])}."),
    ]


def _singling_out(content: dict[str, Any]) -> list[Block]:
    crowds = content["crowds"]
    rows = [
        [
            name,
            figure(each["alone"], each["alone_interval"]),
            *(number(each[key]) for key in ("groups", "smallest")),
        ]
        for name, each in crowds.items()
    ]
    sizes = {name: each["sizes"] for name, each in crowds.items()}
    first, own = next(iter(crowds.items()))
    expected = describe_expected_uniques(own, "these attributes")
    return [
        Text(
            "Yes, wherever a person's attributes are known: the identifying table holds exact values, so that its "
            "people stand alone in it as they do in their full records. Anatomy does nothing against this. The "
            f"combinations and the smallest group are those of people who share what is known. {LEVEL}"
        ),
        Table(words("what is known", "alone", "combinations", "fewest people"), rows),
        Picture(bars_chart([(size, value, None) for size, value in sizes[first].items()], "People in the group")),
        sizes_table(sizes),
        *([] if expected is None else [Text(expected)]),
    ]


def _linking(content: dict[str, Any]) -> list[Block]:
    rows = [[name, figure(each["linked"], each["linked_interval"])] for name, each in content["crowds"].items()]
    return [
        Text(
            "Someone who has another table with names looks for each person in the identifying table. Of the records "
            "that fit, one is picked at random. The table says what share is expected to be linked rightly; it is the "
            "same as in the full records of these people. Whoever is linked is known to have one of the values of the "
            "group: how well that "
            f"value is told stands under inference. {BELOW}"
        ),
        Table(words("what is known", "rightly linked"), rows),
    ]


def _inference(content: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "The promise of 1/l is about an adversary who takes every matching of a group's people to its values for "
            "equally likely. The release as a whole shows how attributes go with values, and an adversary may learn "
            "that from it. The figures below are measured: the share of people who are given their true value."
        )
    ]
    for each in content["matching"]:
        blocks += _build_matching_blocks(each)
    return blocks


def _build_matching_blocks(each: dict[str, Any]) -> list[Block]:
    rows = [(_WHO[a["name"]], a["right"], a["interval"]) for a in each["adversaries"]]
    table: list[list[TableCell | str]] = [
        [TableCell(_WHO[a["name"]], [a["means"]]), figure(a["right"], a["interval"])] for a in each["adversaries"]
    ]
    table += [
        ["the promise, one in l", percent(each["promised"])],
        ["raw records, where the value stands beside the person", percent(each["raw"])],
    ]
    return [
        Text(f"{each['sensitive']}: share of people given the right value. {BELOW}"),
        Picture(
            bars_chart(rows, "Given the right value", [each["promised"]]),
            [Sign("given the right value", AMBER), Sign("the promise, 1/l", DARK, "mark")],
        ),
        Table(words(f"{each['sensitive']} told by", "right"), table),
        *([] if each["note"] is None else [Text(each["note"], "warning")]),
    ]


def _prediction(content: dict[str, Any]) -> list[Block]:
    found = content["utility"]
    if found is None:
        return [Text(f"Not measured. {content['skipped']['utility']}")]
    rows: list[list[TableCell | str]] = [
        [_SOURCES[name], figure(each["error"], each["interval"])] for name, each in found["errors"].items()
    ]
    return [
        Text(trial_text(content)),
        error_picture(found["errors"], _SHORT),
        Table(words("learned from", "wrong"), rows),
        *group_blocks(found, _SHORT),
    ]
