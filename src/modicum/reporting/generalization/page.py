"""The report on one generalization as a document: the decision, its reasons, its risks and its limits."""

from collections.abc import Mapping
from dataclasses import replace

from modicum.generalization.bins import MISSING, OTHER
from modicum.generalization.description import Decision
from modicum.measures.certificate import confidence_text
from modicum.reporting.attack import page as attack_page
from modicum.reporting.charts import (
    AMBER,
    BLUE,
    DARK,
    GREEN,
    GREY,
    RED,
    buckets_chart,
    error_chart,
    risk_chart,
    trade_off_chart,
)
from modicum.reporting.disclosure import COMPARED, at_least, at_most
from modicum.reporting.document import (
    Block,
    Bullets,
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
from modicum.reporting.formats import (
    NONE,
    decimals,
    in_brackets,
    interval,
    number,
    percent,
    points,
    points_interval,
    share,
)
from modicum.reporting.generalization.data import (
    AlternativesContent,
    AttributeContent,
    BucketContent,
    CertificateContent,
    EndContent,
    GeneralizationContent,
    NecessityContent,
    NeedContent,
    PointContent,
    StepContent,
    UtilityContent,
)
from modicum.reporting.parts import day_in_words, figure, name_columns, provenance_section, sign_off

# Why each attribute is needed, and which alternatives were considered.


def build_need_sections(necessity: NecessityContent) -> list[Section]:
    """Show what coarser buckets or leaving out would cost, and what asking more would bring."""
    asked = {n: a for n, a in necessity.attributes.items() if a.without}
    left_out = {n: a for n, a in necessity.attributes.items() if a.in_full}
    how = (
        f"Measured on {number(necessity.records)} test records, for the same people with and without each change "
        f"({necessity.estimator}, trained on {number(necessity.trained_on)} records; the adversary here is "
        f"{necessity.adversary}). Changes are in percentage points, with 95% intervals: of wrong predictions (above 0 "
        "the model gets worse), of the skill kept (below 0 it gets worse), and of the adversary’s mean error about "
        "personal values (above 0 it learns less). An interval that contains 0 shows no difference."
    )
    rule = (
        "An attribute is “needed” if the prediction gets worse when it is left out, and also when it is asked one step "
        "coarser. If only leaving it out does harm, it could be coarser. If leaving it out is not shown to do harm, it "
        "is not shown to be needed. The verdicts use the intervals of the wrong predictions and of the skill before "
        "these are widened to tens of people, so an interval that ends at 0.0 may still decide."
    )
    found = [
        Section(
            "Why each attribute is needed",
            [Text(how, "soft"), Text(rule, "soft"), _table(asked) if asked else Text("Nothing is collected.")],
        )
    ]
    if left_out:
        found.append(Section("What is not asked, and what asking for it would bring", [_table(left_out)]))
    found[-1] = replace(found[-1], blocks=[*found[-1].blocks, Text(necessity.note, "soft")])
    return found


def _table(needs: Mapping[str, NeedContent]) -> Table:
    columns = name_columns("attribute", "change", "wrong predictions", "skill kept", "adversary’s error", names=2)
    rows: list[list[TableCell | str]] = []
    for name, need in needs.items():
        steps = [step for step in (need.without, need.coarser, need.in_full) if step is not None]
        for i, step in enumerate(steps):
            rows.append(["" if i else TableCell(name, [need.verdict]), step.what, *_changes(step)])
    return Table(columns, rows)


def _changes(step: StepContent) -> list[TableCell]:
    changes = [
        (step.error_change, step.error_interval),
        (step.skill_change, step.skill_interval),
        (step.adversary_change, step.adversary_interval),
    ]
    return [TableCell(points(value), [ends] if (ends := points_interval(of)) else []) for value, of in changes]


def alternatives_section(content: AlternativesContent, headline: tuple[float, float]) -> Section:
    """Show the points of the trade-off, which one was chosen, and why.

    `headline` is the chosen one's model error and adversary error elsewhere in the report.
    """
    shown = len(content.points)
    of = f", of which {shown} are shown" if content.considered > shown else ""
    compared = (
        f"{number(content.considered)} ways to collect are compared{of}, from a {content.source}. They are scored on "
        f"{number(content.records)} test records, {content.judge}. Points further left have a better model; at higher "
        "points, less is learned about people."
    )
    differs = (
        "These figures are for comparing the ways with each other. For the chosen one, they may differ from the rest "
        f"of this report, where its model’s error is {percent(headline[0])} and the adversary’s "
        f"{percent(headline[1])}: those figures use all records and the strongest of several adversaries. To choose "
        "another way after looking at these results, other test records are needed."
    )
    columns = name_columns(
        "what is collected", "attributes", "buckets", "model’s error", "skill kept", "adversary’s error"
    )
    rows: list[list[TableCell | str]] = [
        ["everything, in full detail", "", "", *_ends(content.raw_data)],
        *(_point(point) for point in content.points),
    ]
    if all(point.needed for point in content.points):
        rows.append(["nothing collected", "", "", *_ends(content.nothing_collected)])
    signs = [Sign("considered", BLUE, "dot"), Sign("chosen", RED, "dot"), Sign("raw data", AMBER, "dot")]
    signs.append(Sign("nothing collected", GREEN, "dot"))
    return Section(
        "Alternatives considered",
        [
            Text(f"Why this one: {_sentence(content.why)}"),
            Text(compared, "soft"),
            Text(differs, "soft"),
            Picture(trade_off_chart(content), signs),
            Table(columns, rows),
        ],
    )


def _sentence(words: str) -> str:
    return words if words.endswith(".") else f"{words}."


def _ends(end: EndContent) -> list[str]:
    return [percent(end.error), "", percent(end.adversary_error)]


def _point(point: PointContent) -> list[TableCell | str]:
    name = TableCell(point.name, ["chosen"] if point.chosen else [])
    figures = [percent(point.error), percent(point.skill_kept, 1), percent(point.adversary_error)]
    return [name, number(point.needed), number(point.buckets), *figures]


# What the prediction loses, what the adversary guesses, and what is certified.

_SCORES = {"error": "wrong predictions", "log_loss": "log-loss", "auc": "AUC"}
_NO_LOSS = (
    " No log-loss is shown: a class has fewer than ten people, and the majority guess’s log-loss would reveal how many."
)


def prediction_sections(utility: UtilityContent) -> list[Section]:
    """Show what the prediction loses, and for whom."""
    title = f"score on {number(utility.records)} test records ({utility.estimator})"
    columns = name_columns(title, "minimized", "95% interval", "raw data", "95% interval", "majority guess")
    rows: list[list[TableCell | str]] = [
        [
            TableCell(
                _SCORES.get(name, name.replace("_", " ")), [f"{'more' if s.more_is_better else 'less'} is better"]
            ),
            number(s.minimized),
            decimals(s.interval) or NONE,
            number(s.raw),
            decimals(s.raw_interval) or NONE,
            number(s.majority),
        ]
        for name, s in utility.scores.items()
    ]
    lost = Section(
        "What the prediction loses",
        [
            Text(
                f"A model trained on {number(utility.trained_on)} minimized records, compared with one trained on the "
                "raw records and with always predicting the shares of the classes. AUC is the chance that a record of "
                "a class is ranked above one of another. Log-loss punishes confident wrong predictions. Raw data "
                f"lowers the majority guess’s log-loss by {percent(max(0.0, utility.raw_skill))}: that is the model’s "
                f"skill, of which {percent(utility.skill_kept)} is kept{in_brackets(utility.skill_interval)}."
                f"{'' if 'log_loss' in utility.scores else _NO_LOSS}",
                "soft",
            ),
            Picture(error_chart(utility.scores["error"])),
            Table(columns, rows),
        ],
    )
    return [lost, *([_groups(utility)] if utility.by_group else [])]


def _groups(utility: UtilityContent) -> Section:
    columns = name_columns("group", "test records", "error", "95% interval", "raw data", "majority guess")
    rows: list[list[TableCell | str]] = [
        [
            TableCell(name, ["highest error"] if name == utility.worst_group else []),
            number(group.records),
            percent(group.error),
            interval(group.interval),
            percent(group.raw_error),
            percent(group.majority_error),
        ]
        for name, group in utility.by_group.items()
    ]
    text = _describe_worst_group(utility)
    if utility.small_groups:
        text += f" Groups of fewer than ten people are not shown ({number(utility.small_groups)})."
    return Section("Error by group", [*([Text(text.strip())] if text else []), Table(columns, rows)])


def _describe_worst_group(utility: UtilityContent) -> str:
    worst, loses = utility.worst_group, utility.loses_most
    if worst is None:
        return ""
    group = utility.by_group[worst]
    text = (
        f"The error is highest for “{worst}”: {percent(group.error)} ({percent(group.raw_error)} on raw data). "
        f"{COMPARED}"
    )
    if loses is None:
        return f"{text} Minimizing does not raise the error of any of these groups."
    before, after = (percent(error) for error in (utility.by_group[loses].raw_error, utility.by_group[loses].error))
    return f"{text} Minimizing raises the error most for “{loses}”: from {before} to {after}."


def risk_section(content: GeneralizationContent) -> Section:
    """Show what the adversary A1 still guesses, if no other adversary was run."""
    attack, confidence = content.attack, confidence_text(content.certificate.confidence)
    worst = attack.by_attribute[attack.worst]
    gain = f" The largest gain over the naive guess is for “{attack.worst}”."
    return Section(
        "What could still leak",
        [
            Text(
                f"The error of guessing each personal attribute of {number(attack.records)} test records from their "
                f"answers, after learning from {number(attack.known)} full records of other people. On raw data every "
                f"error is zero.{gain if worst.naive > worst.error else ''}",
                "soft",
            ),
            Picture(
                risk_chart(content.attributes),
                [
                    Sign("naive guess", GREY),
                    Sign("adversary, with 95% interval", RED),
                    Sign(f"certified: no adversary below this, with {confidence} confidence", DARK, "mark"),
                ],
            ),
        ],
    )


def build_certificate_section(certificate: CertificateContent) -> Section:
    """Show the certificate's sentences to quote, the most exposed people, and every bound."""
    blocks: list[Block] = [Text(sentence, "quote") for sentence in certificate.sentences]
    if not blocks:
        blocks.append(Text("Nothing can be certified about these attributes."))
    if certificate.exposed:
        blocks.append(Text(certificate.exposed))
    if certificate.note:
        blocks.append(Text(certificate.note, "soft"))
    columns = name_columns(
        "personal attribute",
        "weight in the mean",
        "right at most (certified)",
        "right with hindsight",
        "naive guess right",
    )
    rows = [
        [
            name,
            percent(certificate.weights[name]),
            at_most(bound),
            at_most(certificate.observed[name]),
            percent(certificate.naive[name]),
        ]
        for name, bound in certificate.bounds.items()
    ]
    rows.append(["mean", "", at_most(certificate.mean), "", ""])
    basis = (
        f"Counted on {number(certificate.records)} records of {number(certificate.persons)} people. The certified "
        "accuracy is the accuracy of the best guesser with hindsight plus a margin for chance of "
        f"{percent(certificate.margin, 2)}; for numbers and dates, one of {certificate.bins} ranges is guessed. All "
        f"lines hold together with {confidence_text(certificate.confidence)} confidence."
    )
    return Section("What is certified", [*blocks, Text(basis, "soft"), Table(columns, rows)])


# Definitions of the technical words in a report.

WORDS = {
    "95% interval": "Where the figure would lie for other people of the same kind. Such intervals contain the true "
    "value 19 times in 20.",
    "AUC": "The chance that the model ranks a record of a class above one of another: 0.5 is guessing, 1 is perfect.",
    "adversary": "Someone who holds collected records and tries to learn more about the people.",
    "back-off": "If too few people gave the same answers, fewer of the answers are used for counting.",
    "boosted trees, network": "Kinds of models: many small decision trees, each improving the last; or layers of sums.",
    "bucket": "One answer that can be chosen: a range or a group of values. Only the bucket is collected.",
    "certified": "Proved for every adversary who sees only the answers, with the stated confidence.",
    "inflection point": "The point of the trade-off after which a little more utility costs much privacy.",
    "log-loss": "A score of predicted chances instead of yes or no. It punishes confident wrong predictions most; 0 "
    "is perfect.",
    "majority guess": "Predicting without seeing any answer, by the shares of the classes.",
    "merge path": "A series of ways to collect, from much detail to none; each merges buckets of the one before.",
    "naive guess": "Naming the most frequent value for everyone, without seeing any answer.",
    "percentage point": "The difference of two shares: from 10% to 12% is 2 points.",
    "skill": "How much a model on raw data lowers the majority guess’s log-loss. The report says what percentage of "
    "this is kept.",
    "test records, holdout": "Records that are not used for learning, so that results can be measured on them.",
}
OF_ATTACKS = ("inflection point", "merge path", "percentage point")  # used only in the full report


def words(is_full: bool) -> Section:
    """Define the words, without those that only the full report uses."""
    rows = [[word, meaning] for word, meaning in WORDS.items() if is_full or word not in OF_ATTACKS]
    return Section("Words used here", [Table(name_columns("word", "what it means", names=2), rows)])


DECISION_TAGS: dict[Decision, Tag] = {"not collected": "good", "coarsened": "middle", "kept": "bad"}
MOST_BUCKETS = 12  # of an attribute in the main table; the annex has all
FOOTER = (
    "Every number here is in the JSON of the same run. Counts below ten people are shown as “< 10”; other counts, "
    "and the shares of single attributes, buckets and groups, are rounded to tens of people."
)


def document(content: GeneralizationContent) -> Document:
    """Build the document from a report's data; nothing is computed here."""
    headline = content.utility.error, content.attack.error
    sections = [
        _attributes(content),
        *(build_need_sections(content.necessity) if content.necessity else []),
        *([alternatives_section(content.alternatives, headline)] if content.alternatives else []),
        *prediction_sections(content.utility),
        *([] if content.attacks else [risk_section(content)]),
        *(attack_page.threats(content.attacks) if content.attacks else []),
        build_certificate_section(content.certificate),
        Section("What this does and does not say", [Bullets(content.limits)]),
        provenance_section(content.provenance),
        sign_off(),
        words(content.attacks is not None),
        *_annex(content),
    ]
    title = f"What is collected to predict “{content.label}”"
    return Document(title, _lead(content), sections, FOOTER, has_contents=content.attacks is not None)


def _lead(content: GeneralizationContent) -> list[Block]:
    blocks: list[Block] = []
    if content.purpose:
        blocks.append(Text(f"Purpose: {content.purpose}"))
    records_of = f"Records: {content.people}. " if content.people else ""
    task = f"The task is to predict “{content.label}”"
    if len(content.classes) <= MOST_BUCKETS:
        task += f" (classes: {' · '.join(content.classes)})"
    blocks.append(Text(f"{records_of}{task}. Made on {day_in_words(content.provenance.date)}.", "soft"))
    blocks.append(Text(content.decision, "decision"))
    return [*blocks, *(Text(warning, "warning") for warning in content.warnings), _cards(content)]


def _cards(content: GeneralizationContent) -> Cards:
    collected, utility, certificate = content.collected, content.utility, content.certificate
    return Cards(
        [
            Card(
                "attributes asked for",
                f"{collected.needed} of {collected.attributes}",
                f"in {number(collected.buckets)} buckets, {collected.in_full_detail or 'none'} in full detail",
            ),
            Card("skill of the model kept", percent(utility.skill_kept, 0), _skill_note(utility)),
            Card(
                "personal values guessed wrong",
                percent(content.attack.error),
                f"{percent(content.attack.naive)} without seeing the record",
            ),
            Card(
                "certified: wrong about at least",
                at_least(certificate.mean_error),
                "on average, for any adversary who sees only the record, with "
                f"{confidence_text(certificate.confidence)} confidence",
            ),
            Card(
                "rarest combination of answers",
                number(collected.smallest_group),
                f"of {number(collected.records)} test records, in {number(collected.groups)} combinations",
            ),
        ]
    )


def _skill_note(utility: UtilityContent) -> str:
    if utility.skill_kept is None:
        return "the raw model has none"
    between = interval(utility.skill_interval, 0)
    return f"95% interval {between}" if between else "too few records for an interval"


def _attributes(content: GeneralizationContent) -> Section:
    unit, certificate = content.unit, content.certificate
    columns = name_columns(
        "attribute",
        "decision",
        f"what is collected (share of {unit})",
        "adversary’s error",
        "naive guess",
        "adversary gains",
        "certified at least",
        names=3,
    )
    return Section(
        "Attribute by attribute",
        [
            Text(
                f"An error is the share of {unit} whose value is guessed wrong: higher is safer. The naive guess "
                "always names the most frequent value; what the adversary gains over it, in percentage points, is what "
                "the answers reveal about the attribute. The last column is certified: with "
                f"{confidence_text(certificate.confidence)} confidence, no adversary who sees only the collected "
                f"record has a lower error, on average over {unit} like these, whatever its method.",
                "soft",
            ),
            Table(columns, [_attribute(attribute) for attribute in content.attributes]),
            Picture(buckets_chart(content.attributes), [Sign("buckets per attribute, of how many values")]),
        ],
    )


def _attribute(a: AttributeContent) -> list[TableCell | str]:
    error, naive = a.adversary_error, a.naive_error
    return [
        TableCell(a.name, ["personal"] if a.personal else []),
        TableCell(a.decision, tag=DECISION_TAGS[a.decision]),
        _build_buckets_cell(a),
        figure(error, a.adversary_interval),
        percent(naive),
        points(None if error is None or naive is None else naive - error),
        at_least(a.certified_error),
    ]


def _build_buckets_cell(a: AttributeContent) -> TableCell:
    if a.decision == "not collected":
        return TableCell(below=[f"{number(a.values)} values, not asked"])
    if not a.buckets:
        return TableCell("plain number, full detail", [f"{number(a.values)} values"])
    pieces = [(_label(bucket), share(bucket.share)) for bucket in a.buckets[:MOST_BUCKETS]]
    more = len(a.buckets) - MOST_BUCKETS
    others = [f"and {more} more, all in the annex"] if more > 0 else []
    return TableCell(pieces=pieces, below=[*others, f"{number(a.n_buckets)} buckets, of {number(a.values)} values"])


def _label(bucket: BucketContent) -> str:
    return " or ".join([bucket.label, *bucket.takes])


def _held_values(a: AttributeContent, bucket: BucketContent) -> str:
    if bucket.values or a.decision == "not collected":
        return ", ".join(bucket.values or []) or NONE
    return {OTHER: "values not seen before", MISSING: "missing values"}.get(bucket.label, "a range")


def _name_method(method: str | None) -> str:
    """Name the strongest guesser; the naive guess here knows the bucket and names its most frequent value."""
    return {None: NONE, "naive guess": "the most frequent value that the answers allow"}.get(method, str(method))


def _annex(content: GeneralizationContent) -> list[Section]:
    """List every bucket with its values, and the strongest adversary for each attribute."""
    collected = [a for a in content.attributes if a.buckets]
    if not collected:
        return []
    columns = name_columns("attribute", "bucket", "holds", "share", names=3)
    rows = [
        [
            a.name,
            _label(bucket),
            _held_values(a, bucket),
            percent(bucket.share),
        ]
        for a in collected
        for bucket in a.buckets
    ]
    found = [
        [a.name, _name_method(a.method), percent(a.adversary_error), percent(a.raw_error, 0)]
        for a in content.attributes
        if a.personal
    ]
    strongest = name_columns(
        "personal attribute", "strongest adversary (A1)", "its error", "error on raw data", names=2
    )
    note = Text(
        "Categories are named here because the artifact names them; perhaps only one person has some of them. How many "
        "people there are is shown for whole buckets only.",
        "soft",
    )
    return [
        Section("Annex: every bucket", [note, Table(columns, rows)]),
        Section("Annex: who guessed best", [Table(strongest, found)]),
    ]
