"""The report on an anatomized release as a document."""

from modicum.evaluation.evidence.anatomy_evidence import AnatomyRole
from modicum.reporting.anatomy.data import AnatomyContent, MatchingContent
from modicum.reporting.charts import AMBER, DARK, bars_chart
from modicum.reporting.document import (
    Block,
    Card,
    Cards,
    Document,
    Picture,
    Section,
    Sign,
    Table,
    TableCell,
    Tag,
    Text,
)
from modicum.reporting.formats import number, percent
from modicum.reporting.parts import closing, figure, name_columns, opening
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

_SOURCES = {
    "pruned": "the tables, one candidate value for each record (pruned)",
    "joined": "the tables, every candidate value (joined)",
    "identifying": "the identifying table alone, without sensitive values",
    "raw": "raw records",
    "majority": "nothing: always the majority",
}
_SHORT = {"pruned": "tables, pruned", "joined": "tables, joined", "identifying": "identifying alone"}
_SHORT |= {"raw": "raw records", "majority": "always the majority"}
_WHO = {
    "random worlds": "learns nothing",
    "most frequent value": "most frequent value",
    "deFinetti": "learns from the release",
    "informed": "also knows other people",
    "without the release": "knows only other people",
}
_GROUPING = {
    "bucketize": "by taking the most frequent values first (bucketize)",
    "random": "by chance (random)",
    "dealt": "by dealing values out in turn (dealt)",
}
_TAGS: dict[AnatomyRole, Tag] = {"identifying": "bad", "class": "bad", "sensitive": "middle", "left out": "good"}


def document(content: AnatomyContent) -> Document:
    """Build the document from a report's data."""
    sections = [
        Section("What is published in which table", _describe_attributes(content)),
        Section("The promise, and what was counted", _describe_promise(content)),
        Section("Singling out: can a person be picked out of the table?", _describe_singling_out(content)),
        Section("Linkability: can a record be linked to a person?", _describe_linking(content)),
        Section("Inference: can somebody's sensitive value be learned?", _describe_inference(content)),
        Section("Prediction: what does a model lose?", _describe_prediction(content)),
        *closing(content),
    ]
    lead = [*opening(content), _list_cards(content)]
    return Document("An anatomized release: evidence", lead, sections, FOOTER, has_contents=True)


def _list_cards(content: AnatomyContent) -> Cards:
    crowd = next(iter(content.crowds.values()))
    cards = [Card("unique in the table", percent(crowd.alone), "of people, by exact values")]
    for each in content.matching:
        note = f"of people; {percent(each.promised)} promised, {percent(each.naive)} naive"
        cards.append(Card(f"{each.sensitive} guessed right", percent(each.learned), note))
    cards += [Card(f"{each.name} in a group", percent(each.highest), "at most") for each in content.measured]
    if content.utility is not None:
        cards.append(build_error_card(content.utility, "pruned"))
    return Cards(cards)


def _describe_attributes(content: AnatomyContent) -> list[Block]:
    rows: list[list[TableCell | str]] = [
        [each.name, TableCell(each.role, tag=_TAGS[each.role]), each.table, number(each.values)]
        for each in content.attributes
    ]
    return [
        Text(
            "The identifying table holds what others may know about a person, the class, and a group number. A "
            "sensitive table holds the group number and a value, in an order that reveals nothing. Every value is "
            f"exact; only who in a group has which value is hidden. {_describe_grouping(content.grouping)}"
        ),
        Table(name_columns("attribute", "role", "table", "values", names=3), rows),
    ]


def _describe_grouping(grouping: str | None) -> str:
    if grouping is None:
        return "How groups were made is not known."
    return f"Groups were made {_GROUPING.get(grouping, grouping)}."


def _describe_promise(content: AnatomyContent) -> list[Block]:
    asked, found = content.asked_l, content.measured
    rows = [
        ["l requested", *(number(asked) for _ in found)],
        ["l counted", *(number(each.l) for each in found)],
        ["highest share of a value in a group", *(percent(each.highest) for each in found)],
        ["fewest different values in a group", *(number(each.distinct_l) for each in found)],
        ["groups", *(number(each.groups) for each in found)],
        ["records per group", *(f"{number(each.smallest)} to {number(each.largest)}" for each in found)],
        ["different values in total", *(number(each.values) for each in found)],
    ]
    verdict = "The promise is kept." if content.kept else "The promise is NOT kept."
    return [
        Text(
            "The promise: no value is more than 1/l of its group. This was counted again on the published tables, by "
            "code that is not used to make groups."
        ),
        Table(name_columns("", *(each.name for each in found)), rows),
        Text(f"{verdict} Records released: {number(content.records)}; left out: {number(content.left_out)}."),
    ]


def _describe_singling_out(content: AnatomyContent) -> list[Block]:
    rows: list[list[TableCell | str]] = [
        [name, figure(each.alone, each.alone_interval), number(each.groups), number(each.smallest)]
        for name, each in content.crowds.items()
    ]
    first = next(iter(content.crowds.values()))
    return [
        Text(
            "Yes, if a person's attributes are known: the identifying table holds exact values, so people are as "
            "unique in it as in their full records. Anatomy does not prevent this. A combination is shared by all "
            f"people with the same known attributes. {LEVEL}"
        ),
        Table(name_columns("what is known", "unique", "combinations", "people in the rarest"), rows),
        Picture(bars_chart([(size, value, None) for size, value in first.sizes.items()], "People in the group")),
        list_sizes(content.crowds),
        *describe_expected_uniques(first, "these attributes"),
    ]


def _describe_linking(content: AnatomyContent) -> list[Block]:
    rows: list[list[TableCell | str]] = [
        [name, figure(each.linked, each.linked_interval)] for name, each in content.crowds.items()
    ]
    return [
        Text(
            "Someone who has another table with names looks for each person in the identifying table, and picks one of "
            "the matching records at random. The table shows the share that is expected to be linked correctly; it is "
            "the same as in the full records of these people. A linked person is known to have one of the values of "
            f"the group; how well that value can be guessed is shown under inference. {BELOW}"
        ),
        Table(name_columns("what is known", "correctly linked"), rows),
    ]


def _describe_inference(content: AnatomyContent) -> list[Block]:
    return [
        Text(
            "The promise of 1/l is about an adversary who assumes that every matching of a group's people to its "
            "values is equally likely. But the whole release shows how attributes and values are related, and an "
            "adversary may learn this. The figures below are measured: the share of people whose value is guessed "
            "right."
        ),
        *(block for each in content.matching for block in _describe_matching(each)),
    ]


def _describe_matching(found: MatchingContent) -> list[Block]:
    rows: list[list[TableCell | str]] = [
        [TableCell(_WHO[each.name], [each.means]), figure(each.right, each.interval)] for each in found.adversaries
    ]
    rows += [
        ["the promise, 1/l", percent(found.promised)],
        ["raw records, which hold the value", percent(found.raw)],
    ]
    bars = [(_WHO[each.name], each.right, each.interval) for each in found.adversaries]
    return [
        Text(f"{found.sensitive}: share of people whose value is guessed right. {BELOW}"),
        Picture(
            bars_chart(bars, "Guessed right", [found.promised]),
            [Sign("guessed right", AMBER), Sign("the promise, 1/l", DARK, "mark")],
        ),
        Table(name_columns(f"{found.sensitive} guessed by", "right"), rows),
        *([] if found.note is None else [Text(found.note, "warning")]),
    ]


def _describe_prediction(content: AnatomyContent) -> list[Block]:
    found = content.utility
    if found is None:
        return [Text(f"Not measured. {content.skipped['utility']}")]
    rows: list[list[TableCell | str]] = [
        [_SOURCES[name], figure(each.error, each.interval)] for name, each in found.errors.items()
    ]
    return [
        describe_trial(found, content.label),
        draw_errors(found.errors, _SHORT),
        Table(name_columns("learned from", "wrong"), rows),
        *describe_groups(found, _SHORT),
    ]
