"""The report of a k-anonymous release as a document."""

from typing import Any, Literal

from modicum.reporting.document import Block, Card, Cards, Cell, Column, Document, Picture, Section, Table, Text
from modicum.reporting.formats import NONE, decimals, interval, number, percent
from modicum.reporting.release_charts import bars_chart
from modicum.reporting.release_content import Content as Content
from modicum.reporting.release_parts import FOOTER, closing, figure, opening, words
from modicum.reporting.release_prediction import error_picture, group_blocks, trial_text
from modicum.reporting.release_threats import inference, linking, singling_out

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
    rows: list[list[Cell | str]] = [
        [
            Cell(each["name"], [each["role"]]),
            Cell(each["published"], tag=_TAGS[each["published"]]),
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
    kept = Cell("kept" if own["kept"] else "broken", tag="good" if own["kept"] else "bad")
    rows: list[list[Cell | str]] = [["people in the smallest group (k)", number(asked["k"]), number(own["k"])]]
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
        *([] if own["sensitive"] is None else [Text(_explained(asked), "soft")]),
    ]


def _explained(asked: dict[str, Any]) -> str:
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
    rows: list[list[Cell | str]] = [
        [
            _NAMES[key],
            figure(each["error"], each["interval"]),
            Cell(number(found["auc"].get(key)), [decimals(found["auc_interval"])] if key == "release" else []),
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
