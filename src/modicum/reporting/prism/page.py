"""The report on a PriSM classifier as a document; nothing is computed here."""

from collections.abc import Sequence

from modicum.evaluation.evidence.prism_cost import PARSIMONY, PRISM, SVM
from modicum.evaluation.evidence.prism_reasons import Status
from modicum.measures.certificate import confidence_text
from modicum.reporting.disclosure import at_most
from modicum.reporting.document import Block, Card, Cards, Document, Section, Table, TableCell, Tag, Text
from modicum.reporting.formats import (
    NONE,
    count_of,
    decimals,
    interval,
    number,
    percent,
    points,
    points_interval,
    quote_name,
)
from modicum.reporting.parts import closing, day_in_words, name_columns, opening
from modicum.reporting.prism.data import (
    Model,
    OtherChoice,
    PrismAttribute,
    PrismContent,
    PrismLinkability,
    PrismRule,
    PrismSensitive,
    PrismSinglingOut,
    PrismUtility,
    RevealingSet,
    Strength,
)
from modicum.reporting.prism.prism_charts import strengths_picture
from modicum.reporting.prism.prism_sentences import explain_proof, join_names

# Why PriSM asks for each attribute or not, and what another choice would change.

_TAGS: dict[Status, Tag] = {"asked": "middle", "left out": "good", "sensitive": "bad", "not considered": ""}


def attribute_section(content: PrismContent) -> Section:
    """Make two tables, narrow enough for a phone: the reasons, and the measurements."""
    balanced = ", every label counting the same" if content.utility.is_balanced else ""
    note = (
        "By itself: the strength of the relation to the sensitive attribute, the strength by chance, and the p-value. "
        "Other decision: the change of the error on test records, in percentage points, if an attribute that is asked "
        f"for were left out, or if one that is left out were also asked for, even if that reveals{balanced}; below it, "
        "the 95% interval and the change of the objective on the training records. All other attributes stay the same. "
        "Instead of another: the same for the best allowed choice that asks for it instead of the named one. Minus is "
        "better."
    )
    why = Table(
        name_columns("attribute", "decision", "why", names=3),
        [_build_reason_row(each) for each in content.attributes],
    )
    numbers = Table(
        name_columns(
            "attribute",
            "in revealing sets",
            "by itself",
            "other decision: error",
            "instead of another: error",
        ),
        [_build_attribute_row(each, each.alone) for each in content.attributes if each.alone],
    )
    return Section("Attribute by attribute", [why, Text(note, "soft"), numbers])


def _build_reason_row(each: PrismAttribute) -> list[TableCell | str]:
    columns = [] if each.columns == [each.name] else [f"columns: {', '.join(each.columns)}"]
    return [TableCell(each.name, columns), TableCell(each.status, tag=_TAGS[each.status]), each.why]


def _build_attribute_row(each: PrismAttribute, alone: Strength) -> list[TableCell | str]:
    return [
        each.name,
        TableCell(number(each.sets), [f"{each.completes} complete with it"]),
        TableCell(number(alone.strength), [f"chance {number(alone.by_chance)}", f"p {p_value(alone.p_value)}"]),
        _build_change_cell(each.other),
        _build_change_cell(each.instead),
    ]


def _build_change_cell(found: OtherChoice | None) -> TableCell | str:
    if found is None:
        return NONE
    below = [points_interval(found.interval), f"objective {points(found.objective, 2)}%"]
    return TableCell(points(found.error), below + ([f"instead of {found.instead_of}"] if found.instead_of else []))


def p_value(value: float | None) -> str:
    """Format a p-value; one that is too small for a number gets a bound.

    Examples
    --------
    >>> from modicum.reporting.prism.page import p_value
    >>> p_value(0.0123), p_value(0.0), p_value(None)
    ('0.012', '< 1e-300', '–')
    """
    return NONE if value is None else "< 1e-300" if value == 0 else f"{value:.2g}"


# The three threats of opinion 05/2014: inference, singling out, linkability.


def threat_sections(content: PrismContent) -> list[Section]:
    """Make a section for each threat, under a common heading.

    Examples
    --------
    >>> from modicum.reporting.prism.data import PrismContent, PrismSinglingOut
    >>> from modicum.reporting.prism.page import threat_sections
    >>> found = PrismSinglingOut(alone=0.1, interval=None, raw=0.5, naive=0, groups=40, smallest="< 10", people=100)
    >>> content = PrismContent.model_construct(trained_on=200, sensitive=[], singling_out=found, linkability=None)
    >>> [section.title for section in threat_sections(content)][1:]
    ['Inference', 'Singling out', 'Linkability']
    """
    note = (
        "The European data protection authorities name three risks (Working Party, opinion 05/2014): that something is "
        "inferred about a person, that a person is singled out, and that records of one person are linked."
    )
    return [
        Section("What remains at risk", [Text(note, "soft")]),
        Section("Inference", _inference(content), level=3),
        Section("Singling out", _singling_out(content.singling_out), level=3),
        Section("Linkability", _linkability(content.linkability), level=3),
    ]


def _inference(content: PrismContent) -> list[Block]:
    blocks: list[Block] = [
        Text(
            f"Adversaries learn from the {number(content.trained_on)} training records, each held out in turn, what "
            "the answers reveal about the sensitive attribute. They are a support vector machine tuned for this, a "
            "network, counts and boosted trees. The strongest of them is shown, chosen without the records it is "
            "tested on. “Right” is the share of these records whose value it guesses. The correlation (Matthews') is 0 "
            "for a guess without any knowledge and 1 for a perfect one; it is meaningful even if nearly everybody has "
            "the same value. The 95% interval is below each figure.",
            "soft",
        )
    ]
    for each in content.sensitive:
        if each.guesses:
            blocks.append(_guesses(each))
        else:
            blocks.append(Text(f"No adversary has tried to guess {quote_name(each.name)}."))
        if each.certified is None:
            blocks.append(Text(each.sentence, "soft"))
        else:
            bound = (
                f"Always guessing the most frequent value is right for {percent(each.certified_naive)} of the test "
                f"records. The certified {at_most(each.certified)} holds for every method, with a confidence of "
                f"{confidence_text(content.confidence)}; it is high if many answers are rare, since little can be "
                "ruled out for few people. It is about the average, not about the most exposed person."
            )
            blocks += [Text(each.sentence, "quote"), Text(bound, "soft")]
    return blocks


def _guesses(each: PrismSensitive) -> Table:
    rows: list[list[TableCell | str]] = [["nothing (the most frequent value)", "0", percent(each.naive), "0"]]
    rows += [
        [
            _KINDS[guess.model],
            number(guess.asks),
            TableCell(percent(guess.accuracy), [interval(guess.interval)]),
            TableCell(number(guess.mcc), [decimals(guess.mcc_interval)]),
        ]
        for guess in each.guesses
    ]
    return Table(name_columns(f"{each.name} guessed from", "attributes", "right", "correlation"), rows)


def _singling_out(found: PrismSinglingOut) -> list[Block]:
    rows = [
        ["what is asked for", percent(found.alone), interval(found.interval)],
        ["all attributes", percent(found.raw), NONE],
        ["nothing", percent(found.naive), NONE],
    ]
    note = (
        f"{count_of(found.people, 'test person', 'test people')} give "
        f"{count_of(found.groups, 'different combination')} of answers; the rarest is given by "
        f"{count_of(found.smallest, 'person', 'people')}. People who are alone can be "
        "recognised by anyone who knows their answers. In a whole population that includes these people, the share is "
        "lower."
    )
    return [Text(note), Table(name_columns("test people who are alone with", "share", "95% interval"), rows)]


def _linkability(found: PrismLinkability | None) -> list[Block]:
    general = (
        "The answers are in full detail: someone who holds another table with the same attributes can link everybody "
        "who is alone, which is the share above. Attributes that were left out cannot be linked through these answers."
    )
    if found is None:
        return [Text(general), Text("Linking halves does not apply: fewer than two columns are asked for.", "soft")]
    note = (
        f"An adversary holds {join_names(found.halves[0])} and, separately, {join_names(found.halves[1])} of "
        f"{number(found.k)} people, and joins the halves with the help of the answers of all test people (A7; equal "
        "halves count as the same)."
    )
    rows = [
        ["with the answers", percent(found.linked), interval(found.interval)],
        ["at random", percent(found.naive), NONE],
    ]
    return [Text(general), Text(note), Table(name_columns("halves joined correctly", "share", "95% interval"), rows)]


# The document

_KINDS: dict[Model, str] = {
    PRISM: "this classifier (PriSM)",
    PARSIMONY: "the best few (Parsimony)",
    SVM: "all attributes (SVM)",
}
_MEASURES = {
    "cramers_v": "Cramér's V",
    "bias_corrected": "Cramér's V without its bias",
    "pearson": "the multiple correlation R",
    "classifier": "the balanced accuracy of a decision tree",
}
_ENCODINGS = {
    "both": "together as well as one by one",
    "single": "together (critical ones against the rest)",
    "multiple": "one by one",
    "whole": "as they are, each value separate",
}
_SHOWN = 25  # sets that are shown; all are in the annex


def document(content: PrismContent) -> Document:
    """Build the document from a report's data."""
    limits, *signing = closing(content)
    annex = [Section("Annex: all revealing sets", [_sets_table(content.sets)])] if len(content.sets) > _SHOWN else []
    sections = [
        _what_reveals(content),
        attribute_section(content),
        _choice(content),
        _cost(content.utility),
        *threat_sections(content),
        limits,
        *annex,
        *signing,
    ]
    hidden, source = join_names([each.name for each in content.sensitive]), content.provenance
    return Document(
        title=f"Predicting {quote_name(content.label)} without revealing {hidden}",
        lead=_lead(content),
        sections=sections,
        footer=f"Made by modicum {source.modicum_version} on {source.date}. Counts below ten people are not "
        f"shown; shares are rounded to tens of people. Format version {content.version}.",
        has_contents=True,
    )


def _lead(content: PrismContent) -> list[Block]:
    purpose, _, *rest = opening(content)
    records_of = f"Records: {content.people}. " if content.people else ""
    source = (
        f"{records_of}Made on {day_in_words(content.provenance.date)}. Learned from {number(content.trained_on)} "
        f"records; all errors are measured on {number(content.tested_on)} others."
    )
    return [purpose, Text(source, "soft"), *rest, Cards(_cards(content))]


def _cards(content: PrismContent) -> list[Card]:
    statuses = [each.status for each in content.attributes if each.status in ("asked", "left out")]
    asked, many = f"{statuses.count('asked')} of {len(statuses)}", f"{len(content.sets):,} smallest sets reveal"
    errors = {each.model: percent(each.error) for each in content.utility.models}
    note = f"{errors[SVM]} with all, {percent(content.utility.majority)} guessing"
    cards = [Card("Attributes asked for", asked, many), Card("Error of the prediction", errors[PRISM], note)]
    for each in content.sensitive:
        rows = {guess.model: percent(guess.accuracy) for guess in each.guesses}
        if rows:
            note = f"{percent(each.naive)} without the answers, {rows[SVM]} from all"
            cards.append(Card(f"{quote_name(each.name)} guessed right", rows[PRISM], note))
    alone = content.singling_out
    return [*cards, Card("Alone with their answers", percent(alone.alone), f"{percent(alone.raw)} with everything")]


def _what_reveals(content: PrismContent) -> Section:
    title = "What reveals the sensitive attribute"
    blocks: list[Block] = [
        *(Text(_describe_sensitive(each)) for each in content.sensitive),
        Text(_describe_rule(content.rule), "soft"),
    ]
    if not content.sets:
        return Section(title, [*blocks, Text("No set of attributes reveals it.")])
    blocks += [strengths_picture(content), _sets_table(content.sets[:_SHOWN])]
    more = len(content.sets) - _SHOWN
    if more > 0:
        blocks.append(Text(f"{more:,} more sets are in the annex.", "soft"))
    return Section(title, blocks)


def _describe_rule(rule: PrismRule) -> str:
    tested = " + ".join(f"{many:,}" for many in rule.tested)
    corrected = "" if rule.correction is None else f", corrected for the number of tests ({rule.correction})"
    return (
        f"A set of attributes reveals it if the strength of the relation "
        f"({_MEASURES.get(rule.measure, rule.measure)}; 0 is none, 1 is full) is at least {rule.threshold:g}, and "
        "if unrelated attributes would reach this strength with a chance (p-value) of at most "
        f"{rule.p_value:g}{corrected}. Sets of up to {count_of(rule.max_size, 'attribute')} were tested (by size: "
        f"{tested} sets), with sensitive values taken {_ENCODINGS.get(rule.encoding, rule.encoding)}, and numbers "
        f"in {rule.bins} ranges. Only the smallest sets are listed: a set that contains one of them may not be asked "
        "for either."
    )


def _describe_sensitive(each: PrismSensitive) -> str:
    values = "" if each.values is None else f" It has {count_of(each.values, 'value')}."
    critical = "All of them are protected" if each.critical is None else f"Protected: {join_names(each.critical)}"
    return f"Sensitive: {quote_name(each.name)}.{values} {critical}."


def _sets_table(sets: Sequence[RevealingSet]) -> Table:
    rows: list[list[TableCell | str]] = [
        [
            TableCell(" + ".join(each.attributes), _describe_set(each)),
            number(each.strength),
            number(each.by_chance),
            p_value(each.p_value),
        ]
        for each in sets
    ]
    return Table(name_columns("set", "strength", "by chance", "p-value"), rows)


def _describe_set(each: RevealingSet) -> list[str]:
    """Say what a set reveals and what of it is not asked for; below the set, so that all columns fit a phone."""
    owner = ["named by the data's owner"] if each.is_known else []
    return [f"reveals {each.about}", f"not asked for: {', '.join(each.kept_out)}", *owner]


def _choice(content: PrismContent) -> Section:
    together = content.proof.together
    strength = (
        f"All attributes that are asked for, together: strength {number(together.strength)} "
        f"({number(together.by_chance)} by chance, p-value {p_value(together.p_value)})."
    )
    words = [*explain_proof(content.proof, content.rule), strength]
    return Section("Why this choice, and the proof", [Text(each) for each in words])


def _cost(utility: PrismUtility) -> Section:
    rows: list[list[TableCell | str]] = [
        [
            TableCell(_KINDS[each.model], [", ".join(each.predictors) or "nothing"]),
            number(each.asks),
            percent(each.error),
            interval(each.interval),
        ]
        for each in utility.models
    ]
    rows.append(["always the same label", "0", percent(utility.majority), NONE])
    of = "the mean over the labels of the share" if utility.is_balanced else "the share"
    note = (
        f"An error is {of} of test records that are predicted wrong. All classifiers are linear, and none sees the "
        "sensitive attribute."
    )
    columns = name_columns("classifier", "asks for", "error", "95% interval")
    return Section("What the restriction costs", [Text(note, "soft"), Table(columns, rows)])
