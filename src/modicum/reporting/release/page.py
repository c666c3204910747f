"""The report of a k-anonymous release as a document."""

from typing import Any, Literal

from modicum.reporting.charts import AMBER, DARK, GREY, bars_chart, draw_paired_bars
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
from modicum.reporting.formats import NONE, decimals, interval, number, percent
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

# The three threats of opinion 05/2014 for a k-anonymous release: singling out, linkability, inference.

_THREAT_NAMES = {"release": "the release", "raw": "raw records"}
_ATTACKS = {"forest": "a random forest on its answers", "loss": "small errors mean training data"}


def _crowd_rows(content: dict[str, Any], key: str) -> list[list[TableCell | str]]:
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
    expected = describe_expected_uniques(first["raw"], "the raw quasi-identifiers")
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
            draw_paired_bars(
                [(name, sizes["release"][name], sizes["raw"][name]) for name in sizes["raw"]], "Group sizes"
            ),
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
            f"a model trained on {_THREAT_NAMES[name]}",
            figure(each["accuracy"], each["interval"]),
            TableCell(number(each["auc"]), [decimals(each["auc_interval"])]),
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


# The page

_NAMES = {"release": "the release", "raw": "raw records", "majority": "always the majority"}
_KINDS = {
    "distinct": "Distinct diversity is the fewest different values that a group has.",
    "entropy": "Entropy diversity is the number of equally frequent values that would leave as much doubt as the "
    "values of the most one-sided group.",
    "recursive": "Recursive diversity is the largest l for which a group's most frequent value is less than c times as "
    "frequent as all its values from the l-th on together.",
}
_METHODS = {
    "AccuracyGuided": "a tree that follows what a model predicts (accuracy-guided)",
    "Mondrian": "cutting the records in halves (Mondrian)",
    "Hilbert": "ordering the records along a curve (Hilbert)",
    "RPlusTree": "boxes of an index (R⁺-tree)",
}
_TAGS: dict[str, Literal["good", "middle", "bad"]] = {
    "unchanged": "bad",
    "generalized": "middle",
    "the same for all": "good",
    "left out": "good",
}


def document(content: dict[str, Any]) -> Document:
    """What page and Markdown are made of."""
    sections = [
        Section("What is published, attribute by attribute", _attributes(content)),
        Section("The promise, and what was counted", _promise(content)),
        Section("Singling out: can a person be picked out of the table?", singling_out(content)),
        Section("Linkability: can a record be linked to a person?", linking(content)),
        Section("Inference: can something be learned of a person?", inference(content)),
        Section("Prediction: what does a model lose?", _prediction(content)),
        *closing(content),
    ]
    return Document("A k-anonymous release: evidence", [*opening(content), _cards(content)], sections, FOOTER, True)


def _cards(content: dict[str, Any]) -> Cards:
    own, crowd = content["measured"], content["crowds"]["quasi_identifiers"]
    cards = [
        Card("smallest group", number(own["k"]), f"people; {number(content['promise']['k'])} were asked for"),
        Card("alone", percent(crowd["release"]["alone"]), f"of records; {percent(crowd['raw']['alone'])} before"),
        Card(
            "rightly linked", percent(crowd["release"]["linked"]), f"expected; {percent(crowd['raw']['linked'])} before"
        ),
        Card("detail lost", percent(content["information_loss"]), "0% is full detail, 100% is nothing"),
    ]
    if content["utility"] is not None:
        errors = content["utility"]["errors"]
        note = f"{percent(errors['raw']['error'])} from raw records"
        cards.append(Card("model's error", percent(errors["release"]["error"]), note))
    return Cards(cards)


def _attributes(content: dict[str, Any]) -> list[Block]:
    rows: list[list[TableCell | str]] = [
        [
            TableCell(each["name"], [each["role"]]),
            TableCell(each["published"], tag=_TAGS[each["published"]]),
            percent(each["ncp"]),
            _values(each),
        ]
        for each in content["attributes"]
    ]
    quasi = [each for each in content["attributes"] if each["role"] == "quasi-identifier"]
    shown = sorted(quasi, key=lambda each: -each["ncp"])
    form = (
        "Each group's values are replaced by one value that stands for the group."
        if content["form"] == "values"
        else "Each group's values are replaced by an interval or a list of values."
    )
    return [
        Text(
            "A quasi-identifier is something that others may know of a person. Records of a group are made alike in "
            f"these. {form} Groups were made by {_METHODS.get(content['method'], content['method'])}."
        ),
        Text(
            "Detail lost (NCP) is how wide a group is compared to all values: 0% means every value as it was, 100% "
            "that nothing is said. Values: how many different ones there are, before → after, among those released.",
            "soft",
        ),
        Picture(bars_chart([(e["name"], e["ncp"], None) for e in shown], "Detail lost per quasi-identifier")),
        Table(
            [
                *(Column(title, is_number=False) for title in ("attribute", "published")),
                *map(Column, ("detail lost", "values")),
            ],
            rows,
        ),
    ]


def _values(each: dict[str, Any]) -> str:
    before, after = number(each["values_before"]), number(each["values_after"])
    return before if before == after else f"{before} → {after}"


def _promise(content: dict[str, Any]) -> list[Block]:
    asked, own = content["promise"], content["measured"]
    kept = TableCell("kept" if own["kept"] else "broken", tag="good" if own["kept"] else "bad")
    rows: list[list[TableCell | str]] = [["people in the smallest group (k)", number(asked["k"]), number(own["k"])]]
    if own["sensitive"] is not None:
        kind = asked["diversity"] or "distinct"
        rows += [
            [f"different values of {own['sensitive']} in a group, fewest", NONE, number(own["distinct_l"])],
            [f"{kind} l-diversity of {own['sensitive']}", _small(asked["l"]), _small(own["l"])],
            [
                f"distance of a group's {own['sensitive']} from everybody's (t), {own['distance']}",
                *map(_small, (asked["t"], own["t"])),
            ],
        ]
    rows += [
        ["groups", NONE, number(own["groups"])],
        ["people in the largest group", NONE, number(own["largest_group"])],
        ["records released", NONE, number(own["records"])],
        ["records left out", NONE, number(own["left_out"])],
        ["all that was asked for", NONE, kept],
    ]
    return [
        Text("What came out was counted anew on the published records, by code that takes no part in making groups."),
        Table(words("", "asked for", "counted"), rows),
        *([] if own["sensitive"] is None else [Text(_explain_measures(asked), "soft")]),
    ]


def _explain_measures(asked: dict[str, Any]) -> str:
    """What l and t mean, in words."""
    kind = asked["diversity"] or "distinct"
    constant = "" if asked["c"] is None else f" The constant c is {asked['c']:g}: more is less strict."
    return (
        f"{_KINDS[kind]}{constant} The distance t is 0 where a group has the same mix of values as everybody, and 1 "
        "where it has nothing in common with it."
    )


def _small(value: Any) -> str:
    return NONE if value is None else f"{value:.3g}" if isinstance(value, float) else number(value)


def _prediction(content: dict[str, Any]) -> list[Block]:
    found = content["utility"]
    if found is None:
        return [Text(f"Not measured. {content['skipped']['utility']}")]
    rows: list[list[TableCell | str]] = [
        [
            _NAMES[key],
            figure(each["error"], each["interval"]),
            TableCell(number(found["auc"].get(key)), [decimals(found["auc_interval"])] if key == "release" else []),
        ]
        for key, each in found["errors"].items()
    ]
    skill = interval(found["skill_interval"])
    return [
        Text(trial_text(content)),
        error_picture(found["errors"], _NAMES),
        Table(words("learned from", "wrong", "AUC"), rows),
        Text(
            "AUC is the chance that a record of a class is ranked above one of another; guessing gives 0.5. By "
            "log-loss, which punishes confident wrong predictions, "
            f"{percent(found['skill_kept'])}{f' ({skill})' if skill else ''} of the raw model's gain over the majority "
            "guess is kept."
        ),
        *group_blocks(found, _NAMES),
    ]
