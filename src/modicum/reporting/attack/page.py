"""The document on the adversaries A1 to A8, by the three threats of the EU's opinion on anonymisation.

The Article 29 Working Party's Opinion 05/2014 asks whether data let someone be singled out, records be linked, or
something be inferred about a person.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from markupsafe import Markup

from modicum.measures.certificate import confidence_text
from modicum.reporting.attack.data import (
    AttackContent,
    BreachedUniques,
    FoundByAdversary,
    GuessedAttribute,
    Guesser,
    SinglingOutContent,
    SurestGuesses,
)
from modicum.reporting.charts import (
    AMBER,
    BLUE,
    DARK,
    GREEN,
    GREY,
    GRID,
    MOST_ROWS,
    NAMES,
    RED,
    ROW,
    SOFT,
    PairedBars,
    across,
    axis,
    bar,
    circle,
    draw_paired_bars,
    line,
    row_name,
    span,
    svg,
    text,
)
from modicum.reporting.disclosure import at_least
from modicum.reporting.document import Block, Bullets, Column, Document, Picture, Section, Sign, Table, TableCell, Text
from modicum.reporting.formats import NONE, count_of, format_levels, interval, number, percent
from modicum.reporting.parts import name_columns, provenance_section, sign_off

# Charts.

ADVERSARY_COLOURS = {"A1": BLUE, "A3": GREEN, "A5": AMBER, "A4": RED, "A6": DARK}


def adversaries_chart(adversaries: Sequence[Guesser]) -> Markup:
    """Draw each adversary's mean error with its interval, the naive guess's and the certified error."""
    rows = [
        PairedBars(each.short, each.naive, each.error, ADVERSARY_COLOURS[each.id], each.interval, each.certified_error)
        for each in adversaries
    ]
    return draw_paired_bars(rows, "Mean error of each adversary")


def guesses_chart(attributes: Sequence[GuessedAttribute]) -> Markup:
    """Draw each attribute's error for every adversary and the naive guess (after [Staab24 Figure 7])."""
    shown = sorted(attributes, key=lambda a: min(e.error for e in a.errors.values()) - a.naive)[:MOST_ROWS]
    top = 26
    rows = [axis(top, len(shown))]
    for i, attribute in enumerate(shown):
        y = top + i * ROW
        rows += [row_name(attribute.name, y), bar(NAMES, y + 9, across(attribute.naive) - NAMES, GREY, height=8)]
        rows += [
            circle(across(found.error), y + 13, 5, ADVERSARY_COLOURS[kind])
            for kind, found in sorted(attribute.errors.items(), key=lambda item: -item[1].error)
        ]
    return svg(rows, top + 12 + len(shown) * ROW, "Error of each adversary for each personal attribute")


def confident_chart(levels: Sequence[SurestGuesses]) -> Markup:
    """Draw the error on the most confident guesses (A2, after [Staab24 Figure 5])."""
    height, top = 190, 16
    most = max([level.naive for level in levels] + [level.interval[1] for level in levels if level.interval]) or 1.0
    step = span() / max(1, len(levels) - 1)

    def place(i: int, value: float) -> tuple[float, float]:
        return NAMES + i * step, top + height - value / most * height * 0.92

    rows = [line(NAMES, top + height, NAMES + span(), top + height, GREY, 1)]
    for i in range(5):
        value = most * i / 4
        y = place(0, value)[1]
        rows += [line(NAMES, y, NAMES + span(), y, GRID, 1), text(NAMES - 10, y + 4, percent(value), SOFT, "end")]
    for i, level in enumerate(levels):
        x, y = place(i, level.error)
        if i:
            rows += [
                line(*place(i - 1, levels[i - 1].naive), *place(i, level.naive), GREY, 2),
                line(*place(i - 1, levels[i - 1].error), *place(i, level.error), BLUE, 2),
            ]
        if level.interval:
            low, high = (place(i, end)[1] for end in level.interval)
            rows.append(line(x, low, x, high, DARK, 2))
        rows += [circle(x, y, 4, BLUE), text(x, top + height + 20, f"{level.percent:g}%", SOFT, "middle")]
    return svg(rows, top + height + 32, "Error on the most confident guesses")


def group_sizes_chart(sizes: Mapping[str, int | str]) -> Markup:
    """Draw how many combinations of answers are shared by how many people."""
    counts = {name: 5 if isinstance(many, str) else many for name, many in sizes.items()}  # "< 10"
    most = max(counts.values(), default=1) or 1
    rows = []
    for i, (name, many) in enumerate(counts.items()):
        y = 8 + i * ROW
        length = many / most * span() * 0.85
        shown = sizes[name] if isinstance(sizes[name], str) else f"{many:,}"
        rows += [
            row_name(f"{name} {'person' if name == '1' else 'people'}", y),
            bar(NAMES, y + 4, length, RED if name == "1" else AMBER if i < 3 else GREY),
            text(NAMES + length + 8, y + 17, str(shown)),
        ]
    return svg(rows, 16 + len(counts) * ROW, "Combinations of answers by how many people share them")


# Linkability (A7) and singling out (A8).

LINKING = (
    "Linkability means that two records can be recognised as belonging to the same person. Here, two halves of "
    "people's data are in different places, and an adversary joins them with the help of the collected records. The "
    "lower the share joined correctly, the safer."
)
STANDING_OUT = (
    "Singling out means that one person can be picked out among all others. Here, an adversary looks for a combination "
    "of answers that only one person gave."
)


def linkability(content: AttackContent, level: Literal[2, 3] = 2) -> Section:
    """Describe the second threat."""
    title, found = "Linkability: joining records of the same person (A7)", content.linkability
    if found is None:
        why = next((each.why for each in content.skipped if each.id == "A7"), "it was not run")
        return Section(title, [Text(LINKING), Text(f"It does not apply here: {why}.")], level)
    right = [1 - found.interval[1], 1 - found.interval[0]]
    columns = name_columns(
        "joined correctly", "with the collected records", "95% interval", "at random", "with the raw records"
    )
    error, naive, raw = (percent(1 - share, 2) for share in (found.error, found.naive, found.raw))
    row = ["share of people", error, interval(right, 2), naive, raw]
    halves = (
        f"One half holds {', '.join(found.a)}; the other half holds {', '.join(found.b)}. The adversary joins "
        f"{count_of(found.k, 'person', 'people')} at once, of {number(found.people)} in total."
    )
    return Section(title, [Text(LINKING), Text(halves), Table(columns, [row])], level)


def singling_out(content: AttackContent, level: Literal[2, 3] = 2) -> Section:
    """Describe the third threat."""
    found = content.singling_out
    columns = name_columns(
        "not alone with their answers",
        "with the collected records",
        "95% interval",
        "if nothing is collected",
        "with the raw records",
    )
    shares = [percent(found.error, 2), interval(found.interval, 2), percent(found.naive, 2)]
    row = [f"share of {count_of(found.people, 'person', 'people')}", *shares, percent(found.raw, 2)]
    blocks: list[Block] = [
        Text(STANDING_OUT),
        Table(columns, [row]),
        Text(_describe_rarest(found)),
        Picture(group_sizes_chart(found.sizes)),
        Table(
            name_columns("people who share a combination", "combinations"),
            [[name, number(many)] for name, many in found.sizes.items()],
        ),
    ]
    if found.population is not None:
        blocks.append(Text(_describe_population(found.population)))
    return Section("Singling out: standing out among all (A8)", blocks, level)


def _describe_rarest(found: SinglingOutContent) -> str:
    alone = count_of(found.unique, "person is", "people are")
    verb = "is" if found.rarest == 1 else "are"
    return (
        f"The rarest combination of answers is shared by {count_of(found.least, 'person', 'people')}; "
        f"{number(found.rarest)} of {number(found.groups)} combinations {verb} that rare. {alone} alone with "
        "their answers."
    )


def _describe_population(found: BreachedUniques) -> str:
    low, high = (number(end) for end in found.interval)
    return (
        f"The breached people are {percent(found.fraction, 2)} of a population of {number(found.population)}. In "
        f"the population, {count_of(found.unique, 'person', 'people')} are expected to be unique (95% interval {low} "
        f"to {high}), {number(found.of_breached)} of them breached. This is a rough estimate from a sample."
    )


# Inference (A1 to A6).

MEANING = (
    "Inference means that a value that was not collected is deduced from those that were. Here, an adversary holds the "
    "collected records and guesses the personal values behind them. An error is the share of guesses that are wrong: "
    "the higher, the safer."
)


def inference(content: AttackContent, level: Literal[2, 3] = 2) -> list[Section]:
    """Describe the first threat: by adversary, by attribute, and for the surest guesses."""
    return [
        Section("Inference: guessing personal values (A1 to A6)", _adversaries(content), level),
        Section("Attribute by attribute", _attributes(content), 3),
        Section("A2: where the adversary is most confident", _confident(content), 3),
    ]


def _adversaries(content: AttackContent) -> list[Block]:
    found, certificates = content.adversaries, content.certificates
    confidence = confidence_text(certificates["A1"].confidence)
    signs = [
        Sign("naive guess: the usual value, without seeing a record", GREY),
        Sign("adversary (each has its colour), with 95% interval as a dark line", BLUE),
        Sign(f"certified: no adversary with this knowledge is below it, with {confidence} confidence", DARK, "mark"),
    ]
    columns = name_columns("adversary", "wrong about", "95% interval", "naive guess", "raw data", "certified at least")
    columns.append(Column("gains most about", is_number=False))
    return [
        Text(MEANING),
        Text(_describe_records(content)),
        Text(
            "Each adversary after the first knows more than the first. The figures are means over the personal "
            "attributes. They are compared with the naive guess (the usual value, without seeing a record) and with "
            "raw data, where nothing is left to guess.",
            "soft",
        ),
        Picture(adversaries_chart(found), signs),
        Table(columns, [_adversary(each) for each in found]),
        Text(_describe_certificate(content), "soft"),
        *(Text(f"{id}: {c.note}", "soft") for id, c in certificates.items() if c.note),
        *_build_skipped_blocks(content),
    ]


def _describe_records(content: AttackContent) -> str:
    records, people = content.records, content.people
    of_people = "" if records == people else f" of {count_of(people, 'person', 'people')}"
    return (
        f"The adversaries saw {count_of(records, 'breached record')}{of_people}: collected records that are assumed "
        f"to be in the wrong hands. Before, they learned from {number(content.known)} full records of other people."
    )


def _build_skipped_blocks(content: AttackContent) -> list[Block]:
    """List the adversaries that do not apply; A7 has its own section."""
    reasons = [f"{each.id} {each.name}: {each.why}." for each in content.skipped if each.id != "A7"]
    return [Text("These adversaries do not apply:", "soft"), Bullets(reasons)] if reasons else []


def _adversary(each: Guesser) -> list[TableCell | str]:
    least, most = each.over_attributes.min, each.over_attributes.max
    below = [
        each.knows,
        f"from {percent(least.error)} ({least.attribute}) to {percent(most.error)} ({most.attribute})",
    ]
    if each.alone:
        below.append(f"each breach alone: {', '.join(percent(error) for error in each.alone)}")
    return [
        TableCell(f"{each.id} {each.name}", below),
        percent(each.error),
        interval(each.interval),
        percent(each.naive),
        percent(each.raw),
        at_least(each.certified_error),
        each.worst or NONE,
    ]


def _describe_certificate(content: AttackContent) -> str:
    first = content.certificates["A1"]
    return (
        f"“Certified at least” holds for every adversary with the same knowledge, whatever their method, with "
        f"{confidence_text(first.confidence)} confidence and on average over {first.unit}. It was counted on "
        f"{count_of(first.records, 'record')}. A guess of a number or date is right if it names the right one of "
        f"{number(first.bins)} ranges of about equal frequency (fewer ranges if there are fewer values)."
    )


def _attributes(content: AttackContent) -> list[Block]:
    found = content.adversaries
    signs = [Sign("naive guess", GREY), *(Sign(a.id, ADVERSARY_COLOURS[a.id], "dot") for a in found)]
    columns = name_columns("personal attribute", "values", "weight", "naive guess", *(a.id for a in found))
    return [
        Text(
            "How often each adversary is wrong about each attribute, with its 95% interval and, if there is one, the "
            "certified error. The weight is the attribute's share in the means above.",
            "soft",
        ),
        Picture(guesses_chart(content.attributes), signs),
        Table(columns, [_attribute(each) for each in content.attributes]),
    ]


def _attribute(each: GuessedAttribute) -> list[TableCell | str]:
    begun = [each.name, number(each.values), percent(each.weight), percent(each.naive)]
    return [*begun, *(_build_error_cell(found) for found in each.errors.values())]


def _build_error_cell(found: FoundByAdversary) -> TableCell:
    certified = [] if found.certified is None else [f"certified ≥ {at_least(found.certified)}"]
    return TableCell(percent(found.error), [interval(found.interval), *certified])


def _confident(content: AttackContent) -> list[Block]:
    levels, few = content.confident, content.too_few_for_confident
    hidden = f" At {format_levels(few)} there are too few people to report." if few else ""
    intro = Text(
        "The average hides people who are easy to guess. This table shows the error on the guesses that the adversary "
        "A1 is most confident of, as a mean over the attributes, and the naive guess about the same people." + hidden,
        "soft",
    )
    if not levels:
        return [intro]
    columns = name_columns(
        "most confident", "guesses about each attribute", "wrong about", "95% interval", "naive guess", "raw data"
    )
    columns.append(Column("gains most about", is_number=False))
    signs = [Sign("adversary, with 95% interval", BLUE, "dot"), Sign("naive guess about the same people", GREY)]
    heads = name_columns("personal attribute", *(_level(each) for each in levels))
    return [
        intro,
        Picture(confident_chart(levels), signs),
        Table(columns, [_confident_row(each) for each in levels]),
        Table(heads, [_confident_attribute(name, levels) for name in levels[0].by_attribute]),
    ]


def _confident_row(each: SurestGuesses) -> list[TableCell | str]:
    figures = [percent(each.error), interval(each.interval), percent(each.naive), percent(each.raw)]
    return [_level(each), number(each.records), *figures, each.worst]


def _confident_attribute(name: str, levels: Sequence[SurestGuesses]) -> list[TableCell | str]:
    naive = [f"naive {percent(each.naive_by_attribute[name])}" for each in levels]
    return [name, *(TableCell(percent(e.by_attribute[name]), [n]) for e, n in zip(levels, naive, strict=True))]


def _level(each: SurestGuesses) -> str:
    return f"{each.percent:g}%"


# The document

OPINION = (
    "The data protection authorities of the EU name three ways in which data can reveal something about a person: "
    "inference, linkability and singling out (Article 29 Working Party, Opinion 05/2014 on anonymisation techniques). "
    "Below, the adversaries A1 to A8 try each of them, and are compared with what they could do without the collected "
    "records."
)
ROUNDED = (
    "Counts below ten people are shown as “< 10”; others and the shares of single attributes are rounded to tens of "
    "people."
)


def document(content: AttackContent) -> Document:
    """Build the document from a report's data.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:3_000], y[:3_000]).generalization_
    >>> found = md.attacks.suite(g, X[:3_000], X[3_000:5_000], personal=["race", "sex"], progress=False)
    >>> [section.title.split(":")[0] for section in md.report(found).document.sections if section.level == 2][:3]
    ['Inference', 'Linkability', 'Singling out']
    """
    first, *others = content.sentences
    lead: list[Block] = [
        *([Text(f"Purpose: {content.purpose}")] if content.purpose else []),
        *([Text(f"Records: {content.records_of}.", "soft")] if content.records_of else []),
        Text(first, "decision"),
        *(Text(sentence) for sentence in others),
        *(Text(warning, "warning") for warning in content.warnings),
        Text(OPINION, "soft"),
    ]
    limits = Section("What this does and does not say", [Bullets(content.limits)])
    footer = (
        f"Made by modicum {content.modicum_version}. Every number here is in the JSON of the same run (format "
        f"{content.version}); the seed is {content.random_state}. {ROUNDED}"
    )
    made = content.provenance
    closing = [] if made is None else [provenance_section(made), sign_off()]
    return Document("What could leak", lead, [*threats(content), limits, *closing], footer)


def threats(content: AttackContent, level: Literal[2, 3] = 2) -> list[Section]:
    """Build the sections of the three threats, with every number of the content; other reports include them.

    Parameters
    ----------
    content : the data of the report on the adversaries
    level : 2 or 3
        The level of the threats' own headings.
    """
    return [*inference(content, level), linkability(content, level), singling_out(content, level)]
