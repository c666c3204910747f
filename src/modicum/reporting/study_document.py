"""The document of a study: what was compared, what was chosen and why, and every candidate in an annex."""

from dataclasses import replace
from typing import Any

from modicum.measures.certificate import confidence_text
from modicum.reporting import report_document
from modicum.reporting.disclosure import at_least
from modicum.reporting.document import Block, Bullets, Card, Cards, Document, Section, Text
from modicum.reporting.formats import count_of, number, percent
from modicum.reporting.provenance import provenance_section, sign_off
from modicum.reporting.study_annex import annex
from modicum.reporting.study_chosen import asked
from modicum.reporting.study_content import Content as Content
from modicum.reporting.study_fronts import front, later, minimizers, sizes, utility_against_privacy

ROUNDED = (
    "Counts of people under ten are shown as “< 10”; others and the shares of people are rounded to tens of people."
)


def document(content: dict[str, Any]) -> Document:
    """The document of a study's content.

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
    chosen = content["chosen"]
    lead: list[Block] = [
        *([Text(content["purpose"])] if content["purpose"] else []),
        *_alone(content),
        Text(content["decision"], "decision"),
        *(Text(warning, "warning") for warning in content["warnings"]),
        *([] if chosen is None else [_cards(content, chosen)]),
    ]
    skipped = content["skipped"]
    sections = [
        *([] if chosen is None else [_certified(chosen["certificate"])]),
        utility_against_privacy(content),
        minimizers(content),
        *front(content),
        *([] if chosen is None else [asked(chosen)]),
        *([] if content["sizes"] is None else [sizes(content)]),
        *([] if content["later"] is None else [later(content)]),
        *([Section("What was skipped", [Bullets(skipped)])] if skipped else []),
        Section("What this does and does not say", [Bullets(content["limits"])]),
        *([provenance_section(content["provenance"]), sign_off()] if content["evidence"] is None else []),
        *annex(content),
    ]
    compared = Document(f"What to collect to predict “{content['label']}”", lead, sections, _footer(content))
    return compared if content["evidence"] is None else _with_evidence(content, compared)


def _alone(content: dict[str, Any]) -> list[Block]:
    """Whom the records are of, and why there is no evidence; where there is some, its own report begins with this."""
    if content["evidence"] is not None:
        return []
    whom = [Text(f"Records: {content['people']}.", "soft")] if content["people"] else []
    return [*whom, *([Text(content["without_evidence"], "soft")] if content["without_evidence"] else [])]


def _with_evidence(content: dict[str, Any], compared: Document) -> Document:
    """The report on the chosen candidate, and after its alternatives how they were compared."""
    report = report_document.document(content["evidence"])
    told = [block for block in compared.lead if not isinstance(block, Text) or block.tone != "decision"]
    told = told[1:] if content["purpose"] else told
    study = Section("How the minimizers were compared", [Text(content["decision"]), *told])
    annexes = [section for section in compared.sections if section.title.startswith("Annex")]
    deeper = [replace(section, level=3) for section in compared.sections if section not in annexes]
    titles = [section.title for section in report.sections]
    place = titles.index("Alternatives considered") + 1 if "Alternatives considered" in titles else len(titles)
    sections = [*report.sections[:place], study, *deeper, *report.sections[place:], *annexes]
    return replace(report, title=compared.title, sections=sections, footer=f"{compared.footer} {report.footer}")


def _cards(content: dict[str, Any], chosen: dict[str, Any]) -> Cards:
    raw, nothing, certificate = content["raw_data"], content["nothing_collected"], chosen["certificate"]
    confidence = confidence_text(certificate["confidence"])
    kept = chosen["skill_kept"]
    return Cards(
        [
            Card(
                "attributes asked for",
                f"{chosen['needed']} of {chosen['of_attributes']}",
                f"in {count_of(chosen['buckets'], 'bucket')}; in full detail: {chosen['in_full_detail'] or 'none'}",
            ),
            Card(
                "skill of the model kept",
                percent(kept),
                "the raw model has none" if kept is None else "of what raw data adds to the majority guess",
            ),
            Card(
                "personal values guessed wrong",
                percent(chosen["adversary_error"]),
                f"{percent(nothing['adversary_error'])} without seeing the record, "
                f"{percent(raw['adversary_error'])} on raw data",
            ),
            Card(
                "certified: wrong at least",
                at_least(certificate["mean_error"]),
                f"on average, for any adversary who sees only the record, with {confidence} confidence",
            ),
            Card(
                "people with the rarest answers",
                number(chosen["smallest_group"]),
                f"of {number(certificate['records'])} test records, in {number(chosen['groups'])} combinations",
            ),
        ]
    )


def _certified(certificate: dict[str, Any]) -> Section:
    told = (
        f"Counted on {count_of(certificate['records'], 'test record')}, which had no part in making or choosing "
        "anything."
    )
    quotes = [Text(sentence, "quote") for sentence in certificate["sentences"]]
    note = [Text(certificate["note"], "soft")] if certificate["note"] else []
    return Section("What is certified", [Text(told, "soft"), *quotes, *note])


def _footer(content: dict[str, Any]) -> str:
    seeds = content["seeds"]
    return (
        f"Made by modicum {content['modicum_version']}. Every number here is in the JSON of the same study (format "
        f"{content['version']}); the seed{'s are' if len(seeds) != 1 else ' is'} "
        f"{', '.join(str(seed) for seed in seeds)}. {ROUNDED}"
    )
