"""The report on a k-anonymous release as a document."""

from collections.abc import Callable

from modicum.evaluation.evidence.release_measures import Published
from modicum.reporting.charts import AMBER, DARK, GREY, BarRow, PairedBars, bars_chart, draw_paired_bars
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

# The three threats of opinion 05/2014: singling out, linkability, inference.

_THREAT_NAMES = {"release": "the release", "raw": "raw records"}
_ATTACKS = {"forest": "a random forest on its answers", "loss": "taking small errors for training data"}


def _name_crowds(crowds: Crowds) -> dict[str, CrowdPair]:
    return {"the quasi-identifiers": crowds.quasi_identifiers, "every published column": crowds.all_columns}


def _compare_crowds(title: str, crowds: Crowds, show: Callable[[CrowdContent], TableCell]) -> Table:
    rows: list[list[TableCell | str]] = [
        [seen, show(own.release), show(own.raw)] for seen, own in _name_crowds(crowds).items()
    ]
    return Table(name_columns(f"{title}, by what is known", "in the release", "in raw records"), rows)


def _describe_singling_out(content: ReleaseContent) -> list[Block]:
    """Show how many records are unique."""
    own, first, last = content.measured, content.crowds.quasi_identifiers, content.crowds.all_columns
    sizes = first.release.sizes
    return [
        Text(
            "A person can be picked out if nobody else in the table shares what is known about them. The table shows "
            "how many records are unique, for an adversary who knows the quasi-identifiers and for one who knows every "
            f"published column. Raw records are all records before the release. {LEVEL}"
        ),
        _compare_crowds("unique", content.crowds, lambda each: figure(each.alone, each.alone_interval)),
        Text(
            "Someone who knows only the quasi-identifiers picks the right record of a person with a chance of at most "
            f"{percent(own.highest_risk)}, one in {number(own.k)}."
        ),
        _list_combinations(content.crowds),
        Picture(
            draw_paired_bars(
                [PairedBars(name, raw, sizes[name]) for name, raw in first.raw.sizes.items()], "Group sizes"
            ),
            [Sign("release", AMBER), Sign("raw records", GREY)],
        ),
        list_sizes({"release": first.release, "raw": first.raw}),
        Text("The same for every published column:", "soft"),
        list_sizes({"release": last.release, "raw": last.raw}),
        *describe_expected_uniques(first.raw, "the raw quasi-identifiers"),
    ]


def _list_combinations(crowds: Crowds) -> Table:
    """List how many different combinations there are, and how many people share the rarest."""
    rows = [
        [f"{name}, {table}", number(own.records), number(own.groups), number(own.smallest)]
        for name, each in _name_crowds(crowds).items()
        for own, table in ((each.release, "release"), (each.raw, "raw records"))
    ]
    return Table(name_columns("what is known", "records", "combinations", "people in the smallest"), rows)


def _describe_linking(content: ReleaseContent) -> list[Block]:
    """Show how many people can be linked."""
    return [
        Text(
            "Someone who has another table with names looks for each person here, and picks one of the matching "
            "records at random. The table shows the share of records that is expected to be linked correctly if the "
            f"person's group is always found; more is not possible. {BELOW}"
        ),
        _compare_crowds("correctly linked", content.crowds, lambda each: figure(each.linked, each.linked_interval)),
    ]


def _describe_inference(content: ReleaseContent) -> list[Block]:
    """Show what a group reveals, and what a model reveals about whom it was trained on."""
    return [
        Text(
            "The people of a group are alike, but the group may still reveal something about all of them. If most have "
            "the same value, it is the best guess for everybody in the group; if all have it, it is certain. "
            "k-anonymity does not prevent this. All three rows are about the same, released people."
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
            [Sign("guessed right", AMBER), Sign("without the group", DARK, "mark")],
        ),
        Table(
            name_columns(f"{name} guessed", "right", "in groups with only one value"),
            [
                [
                    "from the person's group in the release",
                    figure(release.right, release.interval),
                    percent(release.certain),
                ],
                ["from the raw quasi-identifiers", figure(raw.right, raw.interval), percent(raw.certain)],
                ["as the most frequent value overall", percent(naive), NONE],
            ],
        ),
    ]


def _describe_membership(content: ReleaseContent) -> list[Block]:
    found = content.membership
    if found is None:
        return [Text(f"Membership in a model's training data was not measured. {content.skipped['membership']}")]
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
            "Was somebody in the training data? An adversary queries the model with a person's full record, and has "
            "learned from known records how the model answers for those in its training data. There are "
            f"{number(found.records)} records, half of them from the training data: guessing is right for 50.0% "
            f"(AUC 0.500). Of the records that should not be in the training data, {percent(found.shared)} seem to be "
            f"of people who are in it (counting equal records beyond what chance explains). {BELOW}"
        ),
        Table([*name_columns("queried model", "right", "AUC"), Column("strongest attack", is_number=False)], rows),
    ]


# The document

_NAMES = {"release": "the release", "raw": "raw records", "majority": "always the majority"}
_KINDS = {
    "distinct": "Distinct diversity is the fewest different values that a group has.",
    "entropy": "Entropy diversity is the number of equally frequent values that would leave as much uncertainty as "
    "the values of the least diverse group.",
    "recursive": "Recursive diversity is the largest l for which, in every group, the most frequent value is less than "
    "c times as frequent as all values from the l-th most frequent on together.",
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
    """Build the document from a report's data."""
    sections = [
        Section("What is published, attribute by attribute", _describe_attributes(content)),
        Section("The promise, and what was counted", _describe_promise(content)),
        Section("Singling out: can a person be picked out of the table?", _describe_singling_out(content)),
        Section("Linkability: can a record be linked to a person?", _describe_linking(content)),
        Section("Inference: can something be learned about a person?", _describe_inference(content)),
        Section("Prediction: what does a model lose?", _describe_prediction(content)),
        *closing(content),
    ]
    lead = [*opening(content), _list_cards(content)]
    return Document("A k-anonymous release: evidence", lead, sections, FOOTER, has_contents=True)


def _list_cards(content: ReleaseContent) -> Cards:
    crowds, k = content.crowds.quasi_identifiers, content.promise.k
    release, raw = crowds.release, crowds.raw
    cards = [
        Card("smallest group", number(content.measured.k), f"people; {number(k)} were requested"),
        Card("unique", percent(release.alone), f"of records; {percent(raw.alone)} before"),
        Card("correctly linked", percent(release.linked), f"expected; {percent(raw.linked)} before"),
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
        "Each group's values are replaced by one value that represents the group."
        if content.form == "values"
        else "Each group's values are replaced by an interval or a list of values."
    )
    return [
        Text(
            "A quasi-identifier is something that others may know about a person. Records of a group get the same "
            f"quasi-identifiers. {form} Groups were made by {_METHODS.get(content.method, content.method)}."
        ),
        Text(
            "Detail lost (NCP) is how wide a group is compared with all values: at 0% every value is unchanged, at "
            "100% nothing is known. Values: how many different values the released records have, before → after.",
            "soft",
        ),
        Picture(bars_chart([(each.name, each.ncp, None) for each in shown], "Detail lost per quasi-identifier")),
        Table(name_columns("attribute", "published", "detail lost", "values", names=2), rows),
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
        distance = f"distance between the {own.sensitive} of a group and of everyone (t), {own.distance}"
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
        ["promise", NONE, kept],
    ]
    return [
        Text("The results were counted again on the published records, by code that is not used to make groups."),
        Table(name_columns("", "requested", "counted"), rows),
        *([] if own.sensitive is None else [Text(_explain_measures(asked), "soft")]),
    ]


def _explain_measures(asked: Promise) -> str:
    """Explain l and t."""
    kind = asked.diversity or "distinct"
    constant = "" if asked.c is None else f" The constant c is {asked.c:g}: a larger one is less strict."
    return (
        f"{_KINDS[kind]}{constant} The distance t is 0 if a group has the same mix of values as everyone, and 1 if "
        "the two have nothing in common."
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
