"""The report of a k-anonymous release as a document."""

from collections.abc import Callable

from modicum.evaluation.evidence.release_measures import Published
from modicum.reporting.charts import AMBER, DARK, GREY, BarRow, bars_chart, draw_paired_bars
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
    Tag,
    Text,
)
from modicum.reporting.formats import NONE, decimals, interval, number, percent
from modicum.reporting.parts import CrowdContent, closing, figure, name_columns, opening
from modicum.reporting.release.data import (
    CrowdPair,
    Crowds,
    InferenceContent,
    Promise,
    ReleaseAttributeContent,
    ReleaseContent,
)
from modicum.reporting.release_parts import (
    BELOW,
    FOOTER,
    LEVEL,
    build_error_card,
    describe_expected_uniques,
    describe_groups,
    describe_trial,
    draw_errors,
    list_sizes,
)

# The three threats of opinion 05/2014 for a k-anonymous release: singling out, linkability, inference.

_THREAT_NAMES = {"release": "the release", "raw": "raw records"}
_ATTACKS = {"forest": "a random forest on its answers", "loss": "small errors mean training data"}


def _name_crowds(crowds: Crowds) -> dict[str, CrowdPair]:
    return {"the quasi-identifiers": crowds.quasi_identifiers, "every published column": crowds.all_columns}


def _compare_crowds(title: str, crowds: Crowds, show: Callable[[CrowdContent], TableCell]) -> Table:
    rows: list[list[TableCell | str]] = [
        [seen, show(own.release), show(own.raw)] for seen, own in _name_crowds(crowds).items()
    ]
    return Table(name_columns(f"{title}, by what is known", "in the release", "in raw records"), rows)


def _describe_singling_out(content: ReleaseContent) -> list[Block]:
    """Who stands alone."""
    own, first, last = content.measured, content.crowds.quasi_identifiers, content.crowds.all_columns
    sizes = first.release.sizes
    return [
        Text(
            "A person who shares what is known of them with nobody else in the table can be picked out. The table "
            "says how many records stand alone, for an adversary who knows the quasi-identifiers, and for one who "
            f"knows every published column. Raw records are all records before the release. {LEVEL}"
        ),
        _compare_crowds("alone", content.crowds, lambda each: figure(each.alone, each.alone_interval)),
        Text(
            "Someone who knows nothing but the quasi-identifiers picks the right record of a person with a chance of "
            f"at most {percent(own.highest_risk)}, one in {number(own.k)}."
        ),
        _list_combinations(content.crowds),
        Picture(
            draw_paired_bars([(name, sizes[name], raw) for name, raw in first.raw.sizes.items()], "Group sizes"),
            [Sign("release", AMBER), Sign("raw records", GREY)],
        ),
        list_sizes({"release": first.release, "raw": first.raw}),
        Text("The same by every published column:", "soft"),
        list_sizes({"release": last.release, "raw": last.raw}),
        *describe_expected_uniques(first.raw, "the raw quasi-identifiers"),
    ]


def _list_combinations(crowds: Crowds) -> Table:
    """How many different combinations there are, and how many people share the rarest."""
    rows = [
        [f"{name}, {table}", number(own.records), number(own.groups), number(own.smallest)]
        for name, each in _name_crowds(crowds).items()
        for own, table in ((each.release, "release"), (each.raw, "raw records"))
    ]
    return Table(name_columns("what is known", "records", "combinations", "people in the smallest"), rows)


def _describe_linking(content: ReleaseContent) -> list[Block]:
    """Who is linked."""
    return [
        Text(
            "Someone who has another table with names looks for each person here. Of the records that fit, one is "
            "picked at random. The table says what share of records is expected to be linked rightly, if the group of "
            f"a person is found every time, which is the most that can be. {BELOW}"
        ),
        _compare_crowds("rightly linked", content.crowds, lambda each: figure(each.linked, each.linked_interval)),
    ]


def _describe_inference(content: ReleaseContent) -> list[Block]:
    """What a group gives away, and what a model tells of who it was trained on."""
    return [
        Text(
            "People of a group are alike, but the group may still tell something of all of them: where most have the "
            "same value, it is the best guess of everybody in it. Where all have it, it is certain. k-anonymity does "
            "nothing against this. All three lines speak of the same people: those who were released."
        ),
        *(block for each in content.inference for block in _describe_guesses(each)),
        *([Text(content.skipped["inference"])] if "inference" in content.skipped else []),
        *_describe_membership(content),
    ]


def _describe_guesses(found: InferenceContent) -> list[Block]:
    name, release, raw, naive = found.attribute, found.release, found.raw, found.naive
    bars: list[BarRow] = [
        ("from the release", release.right, release.interval),
        ("from raw records", raw.right, raw.interval),
        ("most frequent value", naive, None),
    ]
    among = f"{number(found.values)} {'ranges' if found.in_ranges else 'values'}"
    return [
        Text(f"{name}, one of {among}: share of records guessed right. {BELOW}"),
        Picture(
            bars_chart(bars, "Guessed right", [naive]),
            [Sign("guessed right", AMBER), Sign("without looking at the group", DARK, "mark")],
        ),
        Table(
            name_columns(f"{name} guessed", "right", "in groups with one value"),
            [
                [
                    "from the person's group in the release",
                    figure(release.right, release.interval),
                    percent(release.certain),
                ],
                ["from the raw quasi-identifiers", figure(raw.right, raw.interval), percent(raw.certain)],
                ["as the most frequent value of all", percent(naive), NONE],
            ],
        ),
    ]


def _describe_membership(content: ReleaseContent) -> list[Block]:
    found = content.membership
    if found is None:
        return [Text(f"Who was in the training data of a model: not measured. {content.skipped['membership']}")]
    rows: list[list[TableCell | str]] = [
        [
            f"a model trained on {_THREAT_NAMES[name]}",
            figure(each.accuracy, each.interval),
            TableCell(number(each.auc), [decimals(each.auc_interval)]),
            _ATTACKS.get(each.method, each.method),
        ]
        for name, each in found.models.items()
    ]
    return [
        Text(
            "Was somebody in the training data? An adversary asks the model about a person's full record and has "
            f"learned from known ones how the model answers on those it has seen. Of {number(found.records)} "
            "records, half of them in the training data, guessing is right for 50.0% (AUC 0.500). "
            f"Of those who should not be in them, {percent(found.shared)} seem to be the same people as in them "
            "(more records are equal than chance explains). "
            f"{BELOW}"
        ),
        Table([*name_columns("asked is", "right", "AUC"), Column("strongest attack", is_number=False)], rows),
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
_TAGS: dict[Published, Tag] = {
    "unchanged": "bad",
    "generalized": "middle",
    "the same for all": "good",
    "left out": "good",
}


def document(content: ReleaseContent) -> Document:
    """What page and Markdown are made of."""
    sections = [
        Section("What is published, attribute by attribute", _describe_attributes(content)),
        Section("The promise, and what was counted", _describe_promise(content)),
        Section("Singling out: can a person be picked out of the table?", _describe_singling_out(content)),
        Section("Linkability: can a record be linked to a person?", _describe_linking(content)),
        Section("Inference: can something be learned of a person?", _describe_inference(content)),
        Section("Prediction: what does a model lose?", _describe_prediction(content)),
        *closing(content),
    ]
    lead = [*opening(content), _list_cards(content)]
    return Document("A k-anonymous release: evidence", lead, sections, FOOTER, has_contents=True)


def _list_cards(content: ReleaseContent) -> Cards:
    crowds, k = content.crowds.quasi_identifiers, content.promise.k
    release, raw = crowds.release, crowds.raw
    cards = [
        Card("smallest group", number(content.measured.k), f"people; {number(k)} were asked for"),
        Card("alone", percent(release.alone), f"of records; {percent(raw.alone)} before"),
        Card("rightly linked", percent(release.linked), f"expected; {percent(raw.linked)} before"),
        Card("detail lost", percent(content.information_loss), "0% is full detail, 100% is nothing"),
    ]
    if content.utility is not None:
        cards.append(build_error_card(content.utility, "release"))
    return Cards(cards)


def _describe_attributes(content: ReleaseContent) -> list[Block]:
    rows: list[list[TableCell | str]] = [
        [
            TableCell(each.name, [each.role]),
            TableCell(each.published, tag=_TAGS[each.published]),
            percent(each.ncp),
            _count_values(each),
        ]
        for each in content.attributes
    ]
    quasi = [each for each in content.attributes if each.role == "quasi-identifier"]
    shown = sorted(quasi, key=lambda each: -each.ncp)
    form = (
        "Each group's values are replaced by one value that stands for the group."
        if content.form == "values"
        else "Each group's values are replaced by an interval or a list of values."
    )
    return [
        Text(
            "A quasi-identifier is something that others may know of a person. Records of a group are made alike in "
            f"these. {form} Groups were made by {_METHODS.get(content.method, content.method)}."
        ),
        Text(
            "Detail lost (NCP) is how wide a group is compared to all values: 0% means every value as it was, 100% "
            "that nothing is said. Values: how many different ones there are, before → after, among those released.",
            "soft",
        ),
        Picture(bars_chart([(each.name, each.ncp, None) for each in shown], "Detail lost per quasi-identifier")),
        Table(
            [
                *(Column(title, is_number=False) for title in ("attribute", "published")),
                *map(Column, ("detail lost", "values")),
            ],
            rows,
        ),
    ]


def _count_values(attribute: ReleaseAttributeContent) -> str:
    before, after = number(attribute.values_before), number(attribute.values_after)
    return before if before == after else f"{before} → {after}"


def _describe_promise(content: ReleaseContent) -> list[Block]:
    asked, own = content.promise, content.measured
    kept = TableCell("kept" if own.kept else "broken", tag="good" if own.kept else "bad")
    rows: list[list[TableCell | str]] = [["people in the smallest group (k)", number(asked.k), number(own.k)]]
    if own.sensitive is not None:
        kind = asked.diversity or "distinct"
        distance = f"distance of a group's {own.sensitive} from everybody's (t), {own.distance}"
        rows += [
            [f"different values of {own.sensitive} in a group, fewest", NONE, number(own.distinct_l)],
            [f"{kind} l-diversity of {own.sensitive}", _format(asked.l), _format(own.l)],
            [distance, _format(asked.t), _format(own.t)],
        ]
    rows += [
        ["groups", NONE, number(own.groups)],
        ["people in the largest group", NONE, number(own.largest_group)],
        ["records released", NONE, number(own.records)],
        ["records left out", NONE, number(own.left_out)],
        ["all that was asked for", NONE, kept],
    ]
    return [
        Text("What came out was counted anew on the published records, by code that takes no part in making groups."),
        Table(name_columns("", "asked for", "counted"), rows),
        *([] if own.sensitive is None else [Text(_explain_measures(asked), "soft")]),
    ]


def _explain_measures(asked: Promise) -> str:
    """What l and t mean, in words."""
    kind = asked.diversity or "distinct"
    constant = "" if asked.c is None else f" The constant c is {asked.c:g}: more is less strict."
    return (
        f"{_KINDS[kind]}{constant} The distance t is 0 where a group has the same mix of values as everybody, and 1 "
        "where it has nothing in common with it."
    )


def _format(value: float | None) -> str:
    return f"{value:.3g}" if isinstance(value, float) else number(value)


def _describe_prediction(content: ReleaseContent) -> list[Block]:
    found = content.utility
    if found is None:
        return [Text(f"Not measured. {content.skipped['utility']}")]
    rows: list[list[TableCell | str]] = [
        [
            _NAMES[key],
            figure(each.error, each.interval),
            TableCell(number(found.auc.get(key)), [decimals(found.auc_interval)] if key == "release" else []),
        ]
        for key, each in found.errors.items()
    ]
    skill = interval(found.skill_interval)
    return [
        describe_trial(found, content.label),
        draw_errors(found.errors, _NAMES),
        Table(name_columns("learned from", "wrong", "AUC"), rows),
        Text(
            "AUC is the chance that a record of a class is ranked above one of another; guessing gives 0.5. By "
            "log-loss, which punishes confident wrong predictions, "
            f"{percent(found.skill_kept)}{f' ({skill})' if skill else ''} of the raw model's gain over the majority "
            "guess is kept."
        ),
        *describe_groups(found, _NAMES),
    ]
