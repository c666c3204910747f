"""The three threats of opinion 05/2014 for a k-anonymous release: singling out, linkability, inference."""

from typing import Any

from modicum.reporting.document import Block, Cell, Column, Picture, Sign, Table, Text
from modicum.reporting.formats import NONE, decimals, number, percent
from modicum.reporting.release_charts import bars_chart, paired_chart
from modicum.reporting.release_parts import BELOW, LEVEL, expected_text, figure, sizes_table, words
from modicum.reporting.svg import AMBER, DARK, GREY

_NAMES = {"release": "the release", "raw": "raw records"}
_ATTACKS = {"forest": "a random forest on its answers", "loss": "small errors mean training data"}


def _crowd_rows(content: dict[str, Any], key: str) -> list[list[Cell | str]]:
    names = {"quasi_identifiers": "the quasi-identifiers", "all_columns": "every published column"}
    return [
        [names[seen], *(figure(own[name][key], own[name][f"{key}_interval"]) for name in ("release", "raw"))]
        for seen, own in content["crowds"].items()
    ]


def singling_out(content: dict[str, Any]) -> list[Block]:
    """Who stands alone."""
    crowds, own = content["crowds"], content["measured"]
    first, last = crowds["quasi_identifiers"], crowds["all_columns"]
    sizes = {"release": first["release"]["sizes"], "raw": first["raw"]["sizes"]}
    expected = expected_text(first["raw"], "the raw quasi-identifiers")
    return [
        Text(
            "A person who shares what is known of them with nobody else in the table can be picked out. The table "
            "says how many records stand alone, for an adversary who knows the quasi-identifiers, and for one who "
            f"knows every published column. Raw records are all records before the release. {LEVEL}"
        ),
        Table(words("alone, by what is known", "in the release", "in raw records"), _crowd_rows(content, "alone")),
        Text(
            "Someone who knows nothing but the quasi-identifiers picks the right record of a person with a chance of "
            f"at most {percent(own['highest_risk'])}, one in {number(own['k'])}."
        ),
        _combinations({"the quasi-identifiers": first, "every published column": last}),
        Picture(
            paired_chart([(name, sizes["release"][name], sizes["raw"][name]) for name in sizes["raw"]], "Group sizes"),
            [Sign("release", AMBER), Sign("raw records", GREY)],
        ),
        sizes_table(sizes),
        Text("The same by every published column:", "soft"),
        sizes_table({"release": last["release"]["sizes"], "raw": last["raw"]["sizes"]}),
        *([] if expected is None else [Text(expected)]),
    ]


def _combinations(crowds: dict[str, Any]) -> Table:
    """How many different combinations there are, and how many people share the rarest."""
    rows = [
        [f"{name}, {table}", *(number(each[own][key]) for key in ("records", "groups", "smallest"))]
        for name, each in crowds.items()
        for own, table in (("release", "release"), ("raw", "raw records"))
    ]
    return Table(words("what is known", "records", "combinations", "people in the smallest"), rows)


def linking(content: dict[str, Any]) -> list[Block]:
    """Who is linked."""
    return [
        Text(
            "Someone who has another table with names looks for each person here. Of the records that fit, one is "
            "picked at random. The table says what share of records is expected to be linked rightly, if the group of "
            f"a person is found every time, which is the most that can be. {BELOW}"
        ),
        Table(
            words("rightly linked, by what is known", "in the release", "in raw records"),
            _crowd_rows(content, "linked"),
        ),
    ]


def inference(content: dict[str, Any]) -> list[Block]:
    """What a group gives away, and what a model tells of who it was trained on."""
    blocks: list[Block] = [
        Text(
            "People of a group are alike, but the group may still tell something of all of them: where most have the "
            "same value, it is the best guess of everybody in it. Where all have it, it is certain. k-anonymity does "
            "nothing against this. All three lines speak of the same people: those who were released."
        )
    ]
    for each in content["inference"]:
        blocks += _guesses(each)
    if "inference" in content["skipped"]:
        blocks.append(Text(content["skipped"]["inference"]))
    return [*blocks, *_membership(content)]


def _guesses(each: dict[str, Any]) -> list[Block]:
    rows = [
        ("from the release", each["release"]["right"], each["release"]["interval"]),
        ("from raw records", each["raw"]["right"], each["raw"]["interval"]),
        ("most frequent value", each["naive"], None),
    ]
    among = f"{number(each['values'])} {'ranges' if each['in_ranges'] else 'values'}"
    return [
        Text(f"{each['attribute']}, one of {among}: share of records guessed right. {BELOW}"),
        Picture(
            bars_chart(rows, "Guessed right", [each["naive"]]),
            [Sign("guessed right", AMBER), Sign("without looking at the group", DARK, "mark")],
        ),
        Table(
            words(f"{each['attribute']} guessed", "right", "in groups with one value"),
            [
                ["from the person's group in the release", figure(*rows[0][1:]), percent(each["release"]["certain"])],
                ["from the raw quasi-identifiers", figure(*rows[1][1:]), percent(each["raw"]["certain"])],
                ["as the most frequent value of all", percent(each["naive"]), NONE],
            ],
        ),
    ]


def _membership(content: dict[str, Any]) -> list[Block]:
    found = content["membership"]
    if found is None:
        return [Text(f"Who was in the training data of a model: not measured. {content['skipped']['membership']}")]
    rows = [
        [
            f"a model trained on {_NAMES[name]}",
            figure(each["accuracy"], each["interval"]),
            Cell(number(each["auc"]), [decimals(each["auc_interval"])]),
            _ATTACKS.get(each["method"], each["method"]),
        ]
        for name, each in found["models"].items()
    ]
    return [
        Text(
            "Was somebody in the training data? An adversary asks the model about a person's full record and has "
            f"learned from known ones how the model answers on those it has seen. Of {number(found['records'])} "
            "records, half of them in the training data, guessing is right for 50.0% (AUC 0.500). "
            f"Of those who should not be in them, {percent(found['shared'])} seem to be the same people as in them "
            "(more records are equal than chance explains). "
            f"{BELOW}"
        ),
        Table([*words("asked is", "right", "AUC"), Column("strongest attack", is_number=False)], rows),
    ]
