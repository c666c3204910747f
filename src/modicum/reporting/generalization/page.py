"""The report on one generalization as a document: the decision, its reasons, its risks and its limits."""

from collections.abc import Mapping
from dataclasses import replace

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
from modicum.reporting.parts import day_in_words, figure, provenance_section, sign_off

# Why each attribute is collected as it is, and what else could have been: two sections of a report.


def build_need_sections(necessity: NecessityContent) -> list[Section]:
    """What one step coarser or leaving out would cost, and what asking more would bring."""
    asked = {n: a for n, a in necessity.attributes.items() if a.without}
    left_out = {n: a for n, a in necessity.attributes.items() if a.in_full}
    how = (
        f"Measured on {number(necessity.records)} test records, each change for the same people with and without it "
        f"({necessity.estimator}, trained on {number(necessity.trained_on)} records; the adversary of these "
        f"differences is {necessity.adversary}). Changes are in percentage points, with 95% intervals: of wrong "
        "predictions (above 0 the model gets worse), of the skill that is kept (below 0 it gets worse), and of the "
        "adversary’s mean error about personal values (above 0 it learns less). An interval that holds 0 shows no "
        "difference."
    )
    rule = (
        "“Needed” is what makes the prediction worse when it is left out, by the interval of the wrong predictions or "
        "of the skill, and also when it is asked one step coarser; where asking it coarser does no harm, it could be "
        "coarser. Where leaving it out is not shown to do harm, it is not shown to be needed. The verdicts rest on the "
        "intervals before these are widened to tens of people, which is why one that ends at 0.0 may still decide."
    )
    found = [
        Section(
            "Why each attribute is needed",
            [Text(how, "soft"), Text(rule, "soft"), _table(asked) if asked else Text("Nothing is collected.")],
        )
    ]
    if left_out:
        found.append(Section("What is not asked, and what asking it would bring", [_table(left_out)]))
    found[-1] = replace(found[-1], blocks=[*found[-1].blocks, Text(necessity.note, "soft")])
    return found


def _table(needs: Mapping[str, NeedContent]) -> Table:
    columns = [Column(title, is_number=False) for title in ("attribute", "change")]
    columns += [Column("wrong predictions"), Column("skill kept"), Column("adversary’s error")]
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
    """The points of the trade-off that were compared, the one that was taken, and why.

    `headline` is the model's and the adversary's error of the taken one elsewhere in the report.
    """
    shown = len(content.points)
    of = f", of which {shown} are shown" if content.considered > shown else ""
    told = (
        f"{number(content.considered)} ways to collect are compared{of}, from a {content.source}; scored on "
        f"{number(content.records)} test records, {content.judge}. The further left, the better the model; the "
        "higher, the less is learned about people."
    )
    differs = (
        "These figures are for comparing the ways with each other. Those of the one that was taken may differ from the "
        f"rest of this report, where its model’s error is {percent(headline[0])} and the adversary’s "
        f"{percent(headline[1])}: there it alone is judged, by all records and the strongest of several adversaries. "
        "To choose another way after looking at these test records would need other test records."
    )
    columns = [Column("what is collected", is_number=False), Column("attributes"), Column("buckets")]
    columns += [Column("model’s error"), Column("skill kept"), Column("adversary’s error")]
    rows: list[list[TableCell | str]] = [
        ["everything, as it is", "", "", *_ends(content.raw_data)],
        *(_point(point) for point in content.points),
    ]
    if all(point.needed for point in content.points):
        rows.append(["nothing collected", "", "", *_ends(content.nothing_collected)])
    signs = [Sign("considered", BLUE, "dot"), Sign("taken", RED, "dot"), Sign("raw data", AMBER, "dot")]
    signs.append(Sign("nothing collected", GREEN, "dot"))
    return Section(
        "Alternatives considered",
        [
            Text(f"Why this one: {_sentence(content.why)}"),
            Text(told, "soft"),
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
    name = TableCell(point.name, ["taken"] if point.chosen else [])
    figures = [percent(point.error), percent(point.skill_kept, 1), percent(point.adversary_error)]
    return [name, number(point.needed), number(point.buckets), *figures]


# What the prediction loses, what the adversary guesses, and what is certified: sections of a report.

_SCORES = {"error": "wrong predictions", "log_loss": "log-loss", "auc": "AUC"}
_NO_LOSS = (
    " No log-loss is told here: a class has fewer than ten people, and the majority guess’s log-loss would give away "
    "how many."
)


def prediction_sections(utility: UtilityContent) -> list[Section]:
    """What the prediction loses, and for whom."""
    title = f"score on {number(utility.records)} test records ({utility.estimator})"
    columns = [Column(title, is_number=False), *map(Column, ("minimized", "95% interval", "raw data"))]
    columns += [Column("95% interval"), Column("majority guess")]
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
                f"A model trained on {number(utility.trained_on)} minimized records, beside one trained on the raw "
                "ones and beside always guessing by the shares of the classes. AUC is the chance that a record of a "
                "class is ranked above one of another. Log-loss punishes confident wrong predictions. Raw data takes "
                f"away {percent(max(0.0, utility.raw_skill))} of the majority guess’s log-loss: that is the model’s "
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
    columns = [Column("group", is_number=False), Column("test records"), Column("error"), Column("95% interval")]
    columns += [Column("raw data"), Column("majority guess")]
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
    told = _worst(utility)
    if utility.small_groups:
        told += f" Groups of fewer than ten people are not shown ({number(utility.small_groups)})."
    return Section("For whom", [*([Text(told.strip())] if told else []), Table(columns, rows)])


def _worst(utility: UtilityContent) -> str:
    worst, loses = utility.worst_group, utility.loses_most
    if worst is None:
        return ""
    group = utility.by_group[worst]
    told = (
        f"The error is highest for “{worst}”: {percent(group.error)} ({percent(group.raw_error)} on raw data). "
        f"{COMPARED}"
    )
    if loses is None:
        return f"{told} Minimizing raises the error of none of these groups."
    before, after = (percent(error) for error in (utility.by_group[loses].raw_error, utility.by_group[loses].error))
    return f"{told} Minimizing raises it most for “{loses}”: from {before} to {after}."


def risk_section(content: GeneralizationContent) -> Section:
    """What the adversary A1 still guesses, where no other was asked."""
    attack, certificate = content.attack, content.certificate
    worst = attack.by_attribute[attack.worst]
    gain = f" The largest gain over the naive guess is for “{attack.worst}”."
    return Section(
        "What could still leak",
        [
            Text(
                f"Error when guessing each personal attribute of {number(attack.records)} test records from their "
                f"answers, having learned from {number(attack.known)} full records of others. On raw data every "
                f"error is zero.{gain if worst.naive > worst.error else ''}",
                "soft",
            ),
            Picture(
                risk_chart(content.attributes),
                [
                    Sign("naive guess", GREY),
                    Sign("adversary, with 95% interval", RED),
                    Sign(f"certified: no adversary below this, {_sure(certificate)}", DARK, "mark"),
                ],
            ),
        ],
    )


def _sure(certificate: CertificateContent) -> str:
    return f"with {confidence_text(certificate.confidence)} confidence"


def build_certificate_section(certificate: CertificateContent) -> Section:
    """The certificate in words to quote, the most exposed people, and every bound."""
    blocks: list[Block] = [Text(sentence, "quote") for sentence in certificate.sentences]
    if not blocks:
        blocks.append(Text("Nothing can be certified about these attributes."))
    if certificate.exposed:
        blocks.append(Text(certificate.exposed))
    if certificate.note:
        blocks.append(Text(certificate.note, "soft"))
    columns = [Column("personal attribute", is_number=False), Column("weight in the mean")]
    columns += [Column("right at most (certified)"), Column("right with hindsight"), Column("naive guess right")]
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
    told = (
        f"Counted on {number(certificate.records)} records of {number(certificate.persons)} people. The "
        "certified accuracy is that of the best guesser with hindsight plus a margin for chance of "
        f"{percent(certificate.margin, 2)}; numbers and dates are guessed within {certificate.bins} ranges. All "
        f"lines hold together with {confidence_text(certificate.confidence)} confidence."
    )
    return Section("What is certified", [*blocks, Text(told, "soft"), Table(columns, rows)])


# The words of a report that not everyone knows, explained once.

WORDS = {
    "95% interval": "Where the figure would lie for other people of the same kind: such intervals hold the true value "
    "19 times in 20.",
    "AUC": "The chance that the model ranks a record of a class above one of another: 0.5 is guessing, 1 is perfect.",
    "adversary": "Someone with collected records in hand who tries to learn more about the people.",
    "back-off": "Where too few people gave the same answers, counting goes on with fewer of the answers.",
    "boosted trees, network": "Kinds of models: many small decision trees, each mending the last; or layers of sums.",
    "bucket": "One answer that can be chosen: a range or a group of values. Only the bucket is collected.",
    "certified": "Proved for every adversary who sees only the answers, with the confidence that is named.",
    "inflection point": "The point of the trade-off after which a little more utility costs much privacy.",
    "log-loss": "A score of chances, not of yes or no: it punishes most what was wrong and sure of itself; 0 is "
    "perfect.",
    "majority guess": "Predicting without seeing any answer, by the shares of the classes.",
    "merge path": "A row of ways to collect, from much detail to none, each made of the one before by merging buckets.",
    "naive guess": "Naming everyone’s most frequent value without seeing any answer.",
    "percentage point": "The difference of two shares: from 10% to 12% are 2 points.",
    "skill": "What a model on raw data takes off the majority guess’s log-loss; how much of that is kept is told in "
    "percent.",
    "test records, holdout": "Records that are kept apart from those that are learned from, to count on.",
}
OF_ATTACKS = ("inflection point", "merge path", "percentage point")  # told of in the full report alone


def words(is_full: bool) -> Section:
    """What the words mean; those of sections that a short report does not have are left out."""
    rows = [[word, meaning] for word, meaning in WORDS.items() if is_full or word not in OF_ATTACKS]
    return Section("Words used here", [Table([Column("word", False), Column("what it means", False)], rows)])


DECISION_TAGS: dict[Decision, Tag] = {"not collected": "good", "coarsened": "middle", "kept": "bad"}
MOST_BUCKETS = 12  # of an attribute in the main table; the annex has all
FOOTER = (
    "Every number here is in the JSON of the same run. Counts of people under ten are shown as “< 10”; other counts, "
    "and the shares of single attributes, buckets and groups, are rounded to tens of people."
)


def document(content: GeneralizationContent) -> Document:
    """The document of a report's data; nothing is computed here."""
    sections = [
        _attributes(content),
        *(build_need_sections(content.necessity) if content.necessity else []),
        *([alternatives_section(content.alternatives, _errors(content))] if content.alternatives else []),
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


def _errors(content: GeneralizationContent) -> tuple[float, float]:
    return content.utility.error, content.attack.error


def _lead(content: GeneralizationContent) -> list[Block]:
    told: list[Block] = []
    if content.purpose:
        told.append(Text(f"Purpose: {content.purpose}"))
    whom = f"Records: {content.people}. " if content.people else ""
    task = f"The task is to predict “{content.label}”"
    if len(content.classes) <= MOST_BUCKETS:
        task += f" (classes: {' · '.join(content.classes)})"
    told.append(Text(f"{whom}{task}. Made on {day_in_words(content.provenance.date)}.", "soft"))
    told.append(Text(content.decision, "decision"))
    return [*told, *(Text(warning, "warning") for warning in content.warnings), _cards(content)]


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
                "certified: wrong at least",
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
    columns = [
        Column("attribute", is_number=False),
        Column("decision", is_number=False),
        Column(f"what is collected (share of {unit})", is_number=False),
        Column("adversary’s error"),
        Column("naive guess"),
        Column("adversary gains"),
        Column("certified at least"),
    ]
    return Section(
        "Attribute by attribute",
        [
            Text(
                f"An error is the share of {unit} whose value is guessed wrong: higher is safer. The naive guess "
                "always names the most frequent value; what the adversary gains over it, in percentage points, is what "
                "the answers give away about the attribute. The last column is certified: with "
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
        return TableCell(below=[f"{number(a.values)} values, none asked"])
    if not a.buckets:
        return TableCell("plain number, full detail", [f"{number(a.values)} values"])
    pieces = [(_label(bucket), share(bucket.share)) for bucket in a.buckets[:MOST_BUCKETS]]
    more = len(a.buckets) - MOST_BUCKETS
    left = [f"and {more} more, all in the annex"] if more > 0 else []
    return TableCell(pieces=pieces, below=[*left, f"{number(a.n_buckets)} buckets, of {number(a.values)} values"])


def _label(bucket: BucketContent) -> str:
    return " or ".join([bucket.label, *bucket.takes])


def _guesser(method: str | None) -> str:
    """Who guessed best; the naive guess here knows the bucket, and names the most frequent value that it allows."""
    return {None: NONE, "naive guess": "the most frequent value that the answers allow"}.get(method, str(method))


def _annex(content: GeneralizationContent) -> list[Section]:
    """Every bucket with all that it holds."""
    collected = [a for a in content.attributes if a.buckets]
    if not collected:
        return []
    columns = [Column(title, is_number=False) for title in ("attribute", "bucket", "holds")] + [Column("share")]
    rows = [
        [
            a.name,
            _label(bucket),
            ", ".join(bucket.values or []) or ("a range" if a.decision != "not collected" else NONE),
            percent(bucket.share),
        ]
        for a in collected
        for bucket in a.buckets
    ]
    found = [
        [a.name, _guesser(a.method), percent(a.adversary_error), percent(a.raw_error, 0)]
        for a in content.attributes
        if a.personal
    ]
    strongest = [Column("personal attribute", is_number=False), Column("strongest adversary (A1)", is_number=False)]
    strongest += [Column("its error"), Column("error on raw data")]
    told = Text(
        "Categories are named here because the artifact names them, some of them perhaps held by one person alone; how "
        "many people have each is told of whole buckets only.",
        "soft",
    )
    return [
        Section("Annex: every bucket", [told, Table(columns, rows)]),
        Section("Annex: who guessed best", [Table(strongest, found)]),
    ]
