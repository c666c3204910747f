"""The report on a study as a document: what was compared, what was chosen and why, and all candidates in an annex."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from modicum.measures.certificate import confidence_text
from modicum.reporting.charts import buckets_chart
from modicum.reporting.disclosure import at_least
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
    Text,
)
from modicum.reporting.formats import NONE, count_of, decimals, number, percent, quote_name
from modicum.reporting.generalization import page as generalization_page
from modicum.reporting.generalization.data import GeneralizationContent
from modicum.reporting.parts import figure, name_columns, provenance_section, sign_off
from modicum.reporting.study import study_charts
from modicum.reporting.study.data import (
    CandidateContent,
    ChosenAttribute,
    ChosenCertificate,
    ChosenContent,
    FrontRow,
    JudgedRow,
    MinimizerContent,
    PeriodContent,
    Sizes,
    StudyContent,
)

# The comparison.

WORDS = (
    "A minimizer is a method that proposes what to collect, and each proposal is a candidate: some attributes are left "
    "out, others are asked in buckets (ranges or groups of values). Each candidate has two errors. The error of the "
    "classifier, which makes the prediction, should be low; the error of the adversary, who guesses personal values "
    "from the collected record, should be high. The front consists of the candidates that no other beats in both; at "
    "its inflection point, a little more utility begins to cost much privacy."
)


def utility_against_privacy(content: StudyContent) -> Section:
    """Draw all candidates, and show the two limits and the choice."""
    chosen = content.chosen
    signs = [*_signs(m.name for m in content.minimizers), *([Sign("◯ chosen")] if chosen else [])]
    ends = {"raw data, in full detail": content.raw_data, "nothing collected": content.nothing_collected}
    columns = name_columns("what is collected", "classifier’s error", "adversary’s error")
    rows: list[list[TableCell | str]] = [
        [name, percent(end.error), percent(end.adversary_error)] for name, end in ends.items()
    ]
    if chosen is not None:
        rows.insert(1, [f"chosen: {chosen.name}", *_both(chosen)])
    blocks: list[Block] = [
        Text(WORDS),
        Text(_describe_picture(content), "soft"),
        Picture(study_charts.front_chart(content), [*signs, Sign("★ raw data, nothing collected")]),
        Table(columns, rows),
        *([] if content.front else [Text(_describe_weights(content.weights), "soft")]),
    ]
    return Section("Utility against privacy", blocks)


def _describe_weights(weights: dict[str, float]) -> str:
    """State the weights, if there is no front whose table shows them."""
    shares = ", ".join(f"{name} ({percent(weight)})" for name, weight in weights.items())
    return f"The adversary’s error is the mean over the personal attributes with these weights: {shares}."


def _describe_picture(content: StudyContent) -> str:
    if content.fronts_of == "each":
        lines = "The lines show what each minimizer’s front reaches, as judged."
    else:
        common = ", the dark line what the common front reaches, as judged" if content.front else ""
        lines = f"Thin lines show what each minimizer’s front reaches by counts{common}."
    return (
        f"Each dot is one of the {count_of(content.candidates_of_first_seed, 'candidate')} of the first split of "
        f"the records, on its test records (of {count_of(content.test_people, 'person', 'people')}). Dots further left "
        "have a better model; at higher dots, less is learned about people. Small faint dots are by counts (a quick "
        f"model that only counts); the {number(content.judged)} larger ones were judged by stronger models. {lines} "
        "Fronts are chosen on validation records, which are not the test records. The annex lists every dot."
    )


def _both(each: JudgedRow) -> list[TableCell]:
    return [figure(each.error, each.error_interval), figure(each.adversary_error, each.adversary_interval)]


def minimizers(content: StudyContent) -> Section:
    """Compare the minimizers."""
    by_judges, found = content.fronts_of == "each", content.minimizers
    columns = name_columns(
        "minimizer",
        "candidates",
        "hypervolume by counts",
        *(["hypervolume judged"] if by_judges else []),
        *(f"at raw +{percent(r.above_raw)}" for r in (found[0].reached if found else [])),
        "seconds",
    )
    intro = (
        "The hypervolume is the share of the area between the two limits that a front reaches: 1 would be the raw "
        "model’s error with an adversary who learns nothing. Its 95% interval is over seeds. The columns “at raw +” "
        "show the adversary’s error, by counts with the first seed, if the classifier’s error exceeds that on raw data "
        "by at most that much. The number of candidates is that of the first split, with the number for all seeds and "
        "training sizes below it; seconds are for all."
    )
    blocks: list[Block] = [Text(content.comparison)] if content.comparison else []
    rows = [_minimizer(each, by_judges) for each in found]
    return Section("Minimizer by minimizer", [*blocks, Text(intro, "soft"), Table(columns, rows)])


def _minimizer(each: MinimizerContent, by_judges: bool) -> list[TableCell | str]:
    volume = each.hypervolume
    counts = [f"{number(each.candidates_of_all_seeds)} in total", f"{number(each.judged)} judged"]
    ends = decimals(volume.interval)
    return [
        each.name,
        TableCell(number(each.candidates), counts),
        TableCell(number(volume.mean), [*([ends] if ends else []), count_of(volume.seeds, "seed")]),
        *([number(volume.judged)] if by_judges else []),
        *(percent(reached.adversary_error) for reached in each.reached),
        number(each.seconds, 1),
    ]


def front(content: StudyContent) -> list[Section]:
    """List the candidates to choose from, and follow each attribute along them."""
    found, many = content.front, content.candidates
    if not found:
        return []
    holds = "holds" if many == 1 else f"holds for all {number(many)} candidates together"
    intro = (
        f"The {count_of(len(found), 'judged candidate')} that no other beats in both errors on validation records; "
        f"the numbers are from the test records, with 95% intervals. The certified error is from validation records "
        f"and {holds}, with {confidence_text(content.confidence)} confidence. The smallest group is how many people "
        "share the rarest combination of answers."
    )
    columns = name_columns(
        "candidate",
        "attributes",
        "buckets",
        "classifier’s error",
        "adversary’s error",
        "certified at least",
        "smallest group",
        "skill kept",
    )
    table = Table(columns, [_candidate(each) for each in found])
    return [Section("The front", [Text(intro, "soft"), table]), _along(content)]


def _candidate(each: FrontRow) -> list[TableCell | str]:
    return [
        TableCell(each.name, ["chosen"] if each.chosen else []),
        number(each.needed),
        number(each.buckets),
        *_both(each),
        at_least(each.certified_error),
        number(each.smallest_group),
        percent(each.skill_kept),
    ]


def _along(content: StudyContent) -> Section:
    found = content.personal
    drawn = [each for each in found if each.drawn]
    some = (
        f" The picture has the {len(drawn)} with the largest change; the table all." if len(drawn) < len(found) else ""
    )
    intro = (
        "The adversary’s error about each personal attribute for the points of the front, with the error of the naive "
        f"guess (the usual value, without seeing a record) as a faint dotted line.{some}"
    )
    columns = name_columns(
        "personal attribute", "weight", "lowest error on the front", "highest error on the front", "naive guess"
    )
    rows = [[a.name, *map(percent, (a.weight, a.lowest, a.highest, a.naive))] for a in found]
    picture = Picture(study_charts.attributes_chart(content.front, found))
    return Section("Attribute by attribute along the front", [Text(intro, "soft"), picture, Table(columns, rows)])


def sizes(content: StudyContent, found: Sizes) -> Section:
    """Show how many records it takes."""
    seeds = len(content.seeds)
    ends = ", with its 95% interval" if seeds > 1 else ""
    intro = (
        "Hypervolume by counts if the minimizers learn from a part of the training records, mean over "
        f"{count_of(seeds, 'seed')}{ends}."
    )
    reaches = (
        f"What {found.minimizer} reaches with the first seed, by counts, from these shares of the training records. "
        "The points are in the annex."
    )
    columns = name_columns("minimizer", "share of the training records", "hypervolume", "95% interval", "seeds")
    rows = [
        [each.name, size_text(s.train_size), number(s.mean), decimals(s.interval) or NONE, number(s.seeds)]
        for each in content.minimizers
        for s in each.sizes
    ]
    fronts = study_charts.fronts_chart(found.series, "Front for each training size")
    blocks: list[Block] = [
        Text(intro, "soft"),
        Picture(study_charts.sizes_chart(content), _signs(each.name for each in content.minimizers)),
        Table(columns, rows),
        Text(reaches, "soft"),
        Picture(fronts, _signs(size_text(s.train_size) for s in found.series)),
    ]
    return Section("How many records it takes", blocks)


def later(found: Sequence[PeriodContent]) -> Section:
    """Show the same generalizations on other records."""
    intro = (
        "The same generalizations on other records, where classifier and adversary learn again. Stars are raw data and "
        "nothing collected. The points are in the annex."
    )
    columns = name_columns(
        "records", "candidates of the front", "error on raw data", "majority guess", "naive adversary"
    )
    rows = [
        [each.name, number(len(each.points)), *map(percent, (each.raw_error, each.majority_error, each.naive))]
        for each in found
    ]
    drawing = study_charts.fronts_chart(found, "The front on later records")
    picture = Picture(drawing, _signs(each.name for each in found))
    return Section("On later records", [Text(intro, "soft"), picture, Table(columns, rows)])


def size_text(train_size: float) -> str:
    """Format a share of the training records."""
    return f"{100 * train_size:.4g}%"


def _signs(names: Iterable[str]) -> list[Sign]:
    return [Sign(name, study_charts.colour(i)) for i, name in enumerate(names)]


# The annex: every candidate, and every point in the pictures.


def annex(content: StudyContent) -> list[Section]:
    """List the tables that are too long for the text."""
    return [
        *([_front(content)] if content.front else []),
        *([_candidates(content.points)] if content.points else []),
        *([] if content.sizes is None else [_sizes(content.sizes)]),
        *([] if content.later is None else [_later(content.later)]),
    ]


def _front(content: StudyContent) -> Section:
    asks = {each.name: each.asks for each in content.points if each.on_front}
    columns = name_columns("candidate", "what it asks", "adversary’s error about", names=3)
    rows: list[list[TableCell | str]] = [
        [
            each.name,
            TableCell("", asks.get(each.name) or ["nothing"]),
            TableCell("", pieces=[(name, percent(error)) for name, error in each.risks.items()]),
        ]
        for each in content.front
    ]
    intro = Text(
        "What each candidate of the front asks, and the adversary’s error about each personal attribute.", "soft"
    )
    return Section("Annex: the front in detail", [intro, Table(columns, rows)])


def _candidates(points: Sequence[CandidateContent]) -> Section:
    intro = Text(
        "Every candidate of the first split on its test records. Each cell has two errors: the classifier’s, then the "
        "adversary’s.",
        "soft",
    )
    columns = name_columns("candidate", "attributes", "buckets", "smallest group", "by counts", "as judged")
    columns.append(Column("place", is_number=False))
    return Section("Annex: every candidate", [intro, Table(columns, [_annex_candidate(each) for each in points])])


def _annex_candidate(each: CandidateContent) -> list[TableCell | str]:
    counts = map(number, (each.needed, each.buckets, each.smallest_group))
    judged = _pair((each.error, each.adversary_error)) if each.judged else NONE
    return [each.name, *counts, _pair(each.by_counts), judged, _place(each)]


def _place(each: CandidateContent) -> str:
    if each.chosen:
        return "chosen"
    return "on the front" if each.on_front else "on its minimizer’s front" if each.on_own_front else ""


def _sizes(found: Sizes) -> Section:
    intro = Text(f"The fronts of {found.minimizer} by counts, from parts of the training records.", "soft")
    series = [(size_text(each.train_size), each.points) for each in found.series]
    return Section("Annex: fronts for each training size", [intro, _points("share of the training records", series)])


def _later(found: Sequence[PeriodContent]) -> Section:
    intro = Text("The candidates of the front on the study’s and on later records.", "soft")
    series = [(each.name, each.points) for each in found]
    return Section("Annex: the front on later records", [intro, _points("records", series)])


def _points(what: str, series: Sequence[tuple[str, Sequence[Sequence[float]]]]) -> Table:
    columns = name_columns(what, "classifier’s error", "adversary’s error")
    return Table(columns, [[name, percent(x), percent(y)] for name, points in series for x, y in points])


def _pair(errors: Sequence[float]) -> str:
    return f"{percent(errors[0])}, {percent(errors[1])}"


# The chosen candidate, attribute by attribute.

MOST_PIECES = 40  # buckets of an attribute that are written out


def build_attributes_section(chosen: ChosenContent) -> Section:
    """Show which attributes it asks for, in which buckets, and what that reveals about people."""
    columns = name_columns(
        "attribute",
        "decision",
        "what is collected",
        "adversary’s error",
        "naive guess",
        "certified at least",
        names=3,
    )
    intro = (
        "A bucket is a range or a group of values: only the bucket is asked for, not the value in it. The picture "
        "shows how many buckets each attribute has, and how many different values."
    )
    blocks: list[Block] = [
        Text(intro, "soft"),
        Picture(buckets_chart(chosen.attributes)),
        Table(columns, [_row(each) for each in chosen.attributes]),
    ]
    return Section("What the chosen one asks", blocks)


def _row(each: ChosenAttribute) -> list[TableCell | str]:
    return [
        TableCell(each.name, ["personal"] if each.personal else []),
        TableCell(each.decision, tag=generalization_page.DECISION_TAGS[each.decision]),
        _build_buckets_cell(each),
        figure(each.adversary_error, each.adversary_interval),
        percent(each.naive_error),
        at_least(each.certified_error),
    ]


def _build_buckets_cell(each: ChosenAttribute) -> TableCell:
    of = f"of {count_of(each.values, 'different value')}"
    if each.decision == "not collected":
        return TableCell("", [f"nothing {of}"])
    if not each.buckets:
        return TableCell("plain number, full detail", [of])
    shown = each.buckets[:MOST_PIECES]
    more = " (the first are shown)" if len(shown) < len(each.buckets) else ""
    return TableCell("", [f"{count_of(each.n_buckets, 'bucket')} {of}{more}"], pieces=[(piece, "") for piece in shown])


# The document

ROUNDED = "Counts below ten people are shown as “< 10”; others and the shares of people are rounded to tens of people."


def document(content: StudyContent) -> Document:
    """Build the document from a report's data.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> grids = {"Uniform": {"buckets": [2, 3]}}
    >>> options = {"minimizers": ["Uniform"], "grids": grids, "seeds": 1, "progress": False}
    >>> study = md.study(X[:2_000], y[:2_000], personal=["race", "sex"], **options)
    >>> md.report(study).document.title
    'What to collect to predict “income”'
    """
    if content.evidence is not None:
        return _with_evidence(content, content.evidence)
    chosen = content.chosen
    lead: list[Block] = [
        *([Text(content.purpose)] if content.purpose else []),
        *_build_notes(content),
        Text(content.decision, "decision"),
        *_warnings(content),
        *([] if chosen is None else [_cards(content, chosen)]),
    ]
    sections = [
        *([] if chosen is None else [_build_certificate_section(chosen.certificate)]),
        *_comparison(content),
        *([] if chosen is None else [build_attributes_section(chosen)]),
        *_more(content),
        Section("What this does and does not say", [Bullets(content.limits)]),
        provenance_section(content.provenance),
        sign_off(),
        *annex(content),
    ]
    return Document(_title(content), lead, sections, _footer(content))


def _build_notes(content: StudyContent) -> list[Block]:
    """Say whose records these are, and why there is no evidence."""
    records_of = [Text(f"Records: {content.people}.", "soft")] if content.people else []
    return [*records_of, *([Text(content.without_evidence, "soft")] if content.without_evidence else [])]


def _with_evidence(content: StudyContent, evidence: GeneralizationContent) -> Document:
    """Build the report on the chosen candidate, with the comparison after its alternatives.

    What that report says about the chosen one (cards, certificate, attributes) is not repeated.
    """
    report = generalization_page.document(evidence)
    limits = Section("What the comparison does and does not say", [Bullets(content.limits)])
    study = Section("How the minimizers were compared", [Text(content.decision), *_warnings(content)])
    deeper = [replace(each, level=3) for each in (*_comparison(content), *_more(content), limits)]
    titles = [section.title for section in report.sections]
    place = titles.index("Alternatives considered") + 1 if "Alternatives considered" in titles else len(titles)
    sections = [*report.sections[:place], study, *deeper, *report.sections[place:], *annex(content)]
    return replace(report, title=_title(content), sections=sections, footer=_footer(content))


def _title(content: StudyContent) -> str:
    return f"What to collect to predict {quote_name(content.label)}"


def _warnings(content: StudyContent) -> list[Block]:
    return [Text(warning, "warning") for warning in content.warnings]


def _comparison(content: StudyContent) -> list[Section]:
    return [utility_against_privacy(content), minimizers(content), *front(content)]


def _more(content: StudyContent) -> list[Section]:
    """Show other training sizes, later records, and what was skipped, if any."""
    return [
        *([] if content.sizes is None else [sizes(content, content.sizes)]),
        *([] if content.later is None else [later(content.later)]),
        *([Section("What was skipped", [Bullets(content.skipped)])] if content.skipped else []),
    ]


def _cards(content: StudyContent, chosen: ChosenContent) -> Cards:
    raw, nothing, certificate = content.raw_data, content.nothing_collected, chosen.certificate
    confidence = confidence_text(certificate.confidence)
    kept = chosen.skill_kept
    return Cards(
        [
            Card(
                "attributes asked for",
                f"{chosen.needed} of {chosen.of_attributes}",
                f"in {count_of(chosen.buckets, 'bucket')}; in full detail: {chosen.in_full_detail or 'none'}",
            ),
            Card(
                "skill of the model kept",
                percent(kept),
                "the raw model has none" if kept is None else "of what raw data adds to the majority guess",
            ),
            Card(
                "personal values guessed wrong",
                percent(chosen.adversary_error),
                f"{percent(nothing.adversary_error)} without seeing the record, "
                f"{percent(raw.adversary_error)} on raw data",
            ),
            Card(
                "certified: wrong about at least",
                at_least(certificate.mean_error),
                f"on average, for any adversary who sees only the record, with {confidence} confidence",
            ),
            Card(
                "people with the rarest answers",
                number(chosen.smallest_group),
                f"of {number(certificate.records)} test records, in {number(chosen.groups)} combinations",
            ),
        ]
    )


def _build_certificate_section(certificate: ChosenCertificate) -> Section:
    intro = (
        f"Counted on {count_of(certificate.records, 'test record')}, which had no part in making or choosing anything."
    )
    quotes = [Text(sentence, "quote") for sentence in certificate.sentences]
    note = [Text(certificate.note, "soft")] if certificate.note else []
    return Section("What is certified", [Text(intro, "soft"), *quotes, *note])


def _footer(content: StudyContent) -> str:
    seeds = content.seeds
    return (
        f"Made by modicum {content.modicum_version}. Every number here is in the JSON of the same study (format "
        f"{content.version}); the seed{'s are' if len(seeds) != 1 else ' is'} "
        f"{', '.join(str(seed) for seed in seeds)}. {ROUNDED}"
    )
