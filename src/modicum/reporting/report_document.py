"""The report on one generalization as a document: the decision, its reasons, its risks and its limits."""

from typing import Any

from modicum.measures.certificate import confidence_text
from modicum.reporting import attack_document, charts
from modicum.reporting.disclosure import at_least
from modicum.reporting.document import (
    Block,
    Bullets,
    Card,
    Cards,
    Cell,
    Column,
    Document,
    Picture,
    Section,
    Sign,
    Table,
    Tag,
    Text,
)
from modicum.reporting.formats import interval, number, percent, points, share
from modicum.reporting.need_sections import alternatives_section, need_sections
from modicum.reporting.prediction_sections import certified_section, prediction_sections, risk_section
from modicum.reporting.provenance import day_in_words, provenance_section, sign_off
from modicum.reporting.report_content import Content
from modicum.reporting.report_glossary import words

__all__ = ["Content", "document"]

MOST_BUCKETS = 12  # of an attribute in the main table; the annex has all
_TAGS: dict[str, Tag] = {"not collected": "good", "coarsened": "middle", "kept": "bad"}
FOOTER = (
    "Every number here is in the JSON of the same run. Counts of people under ten are shown as “< 10”; other counts, "
    "and the shares of single attributes, buckets and groups, are rounded to tens of people."
)


def document(content: dict[str, Any]) -> Document:
    """The document of a report's data; nothing is computed here."""
    sections = [
        _attributes(content),
        *(need_sections(content) if content["necessity"] else []),
        *([alternatives_section(content["alternatives"], _errors(content))] if content["alternatives"] else []),
        *prediction_sections(content["utility"]),
        *([] if content["attacks"] else [risk_section(content)]),
        *(attack_document.threats(content["attacks"]) if content["attacks"] else []),
        certified_section(content["certificate"]),
        Section("What this does and does not say", [Bullets(content["limits"])]),
        provenance_section(content["provenance"]),
        sign_off(),
        words(content["attacks"] is not None),
        *_annex(content),
    ]
    title = f"What is collected to predict “{content['label']}”"
    return Document(title, _lead(content), sections, FOOTER, has_contents=content["attacks"] is not None)


def _errors(content: dict[str, Any]) -> tuple[float, float]:
    return content["utility"]["error"], content["attack"]["error"]


def _lead(content: dict[str, Any]) -> list[Block]:
    told: list[Block] = []
    if content["purpose"]:
        told.append(Text(f"Purpose: {content['purpose']}"))
    whom = f"Records: {content['people']}. " if content["people"] else ""
    task = f"The task is to predict “{content['label']}”"
    if len(content["classes"]) <= MOST_BUCKETS:
        task += f" (classes: {' · '.join(content['classes'])})"
    told.append(Text(f"{whom}{task}. Made on {day_in_words(content['provenance']['date'])}.", "soft"))
    told.append(Text(content["decision"], "decision"))
    return [*told, *(Text(warning, "warning") for warning in content["warnings"]), _cards(content)]


def _cards(content: dict[str, Any]) -> Cards:
    collected, utility, certificate = content["collected"], content["utility"], content["certificate"]
    return Cards(
        [
            Card(
                "attributes asked for",
                f"{collected['needed']} of {collected['attributes']}",
                f"in {number(collected['buckets'])} buckets, {collected['in_full_detail'] or 'none'} in full detail",
            ),
            Card("skill of the model kept", percent(utility["skill_kept"], 0), _skill_note(utility)),
            Card(
                "personal values guessed wrong",
                percent(content["attack"]["error"]),
                f"{percent(content['attack']['naive'])} without seeing the record",
            ),
            Card(
                "certified: wrong at least",
                at_least(certificate["mean_error"]),
                "on average, for any adversary who sees only the record, with "
                f"{confidence_text(certificate['confidence'])} confidence",
            ),
            Card(
                "rarest combination of answers",
                number(collected["smallest_group"]),
                f"of {number(collected['records'])} test records, in {number(collected['groups'])} combinations",
            ),
        ]
    )


def _skill_note(utility: dict[str, Any]) -> str:
    if utility["skill_kept"] is None:
        return "the raw model has none"
    between = interval(utility["skill_interval"], 0)
    return f"95% interval {between}" if between else "too few records for an interval"


def _attributes(content: dict[str, Any]) -> Section:
    unit, certificate = content["unit"], content["certificate"]
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
                f"{confidence_text(certificate['confidence'])} confidence, no adversary who sees only the collected "
                f"record has a lower error, on average over {unit} like these, whatever its method.",
                "soft",
            ),
            Table(columns, [_attribute(attribute) for attribute in content["attributes"]]),
            Picture(charts.buckets_chart(content["attributes"]), [Sign("buckets per attribute, of how many values")]),
        ],
    )


def _attribute(a: dict[str, Any]) -> list[Cell | str]:
    error, naive = a["adversary_error"], a["naive_error"]
    return [
        Cell(a["name"], ["personal"] if a["personal"] else []),
        Cell(a["decision"], tag=_TAGS[a["decision"]]),
        _collected(a),
        Cell(percent(error), [between] if (between := interval(a["adversary_interval"])) else []),
        percent(naive),
        points(None if error is None else naive - error),
        at_least(a["certified_error"]),
    ]


def _collected(a: dict[str, Any]) -> Cell:
    if a["decision"] == "not collected":
        return Cell(below=[f"{number(a['values'])} values, none asked"])
    if not a["buckets"]:
        return Cell("plain number, full detail", [f"{number(a['values'])} values"])
    pieces = [(_label(bucket), share(bucket["share"])) for bucket in a["buckets"][:MOST_BUCKETS]]
    more = len(a["buckets"]) - MOST_BUCKETS
    left = [f"and {more} more, all in the annex"] if more > 0 else []
    return Cell(pieces=pieces, below=[*left, f"{number(a['n_buckets'])} buckets, of {number(a['values'])} values"])


def _label(bucket: dict[str, Any]) -> str:
    return " or ".join([bucket["label"], *bucket["takes"]])


def _guesser(method: str | None) -> str:
    """Who guessed best; the naive guess here knows the bucket, and names the most frequent value that it allows."""
    return {None: "–", "naive guess": "the most frequent value that the answers allow"}.get(method, str(method))


def _annex(content: dict[str, Any]) -> list[Section]:
    """Every bucket with all that it holds."""
    collected = [a for a in content["attributes"] if a["buckets"]]
    if not collected:
        return []
    columns = [Column(title, is_number=False) for title in ("attribute", "bucket", "holds")] + [Column("share")]
    rows = [
        [
            a["name"],
            _label(bucket),
            ", ".join(bucket["values"] or []) or ("a range" if a["decision"] != "not collected" else "–"),
            percent(bucket["share"]),
        ]
        for a in collected
        for bucket in a["buckets"]
    ]
    found = [
        [a["name"], _guesser(a["method"]), percent(a["adversary_error"]), percent(a["raw_error"], 0)]
        for a in content["attributes"]
        if a["personal"]
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
