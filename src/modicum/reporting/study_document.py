"""The document of a study: what was compared, what was chosen and why, and every candidate in an annex."""

from dataclasses import replace
from typing import Any

from modicum.measures.certificate import confidence_text
from modicum.reporting import report_document
from modicum.reporting.disclosure import at_least
from modicum.reporting.document import Block, Bullets, Card, Cards, Document, Section, Text
from modicum.reporting.formats import count_of, named, number, percent
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
    if content["evidence"] is not None:
        return _with_evidence(content)
    chosen = content["chosen"]
    lead: list[Block] = [
        *([Text(content["purpose"])] if content["purpose"] else []),
        *_alone(content),
        Text(content["decision"], "decision"),
        *_warnings(content),
        *([] if chosen is None else [_cards(content, chosen)]),
    ]
    sections = [
        *([] if chosen is None else [_certified(chosen["certificate"])]),
        *_comparison(content),
        *([] if chosen is None else [asked(chosen)]),
        *_more(content),
        Section("What this does and does not say", [Bullets(content["limits"])]),
        provenance_section(content["provenance"]),
        sign_off(),
        *annex(content),
    ]
    return Document(_title(content), lead, sections, _footer(content))


def _alone(content: dict[str, Any]) -> list[Block]:
    """Whom the records are of, and why there is no evidence."""
    whom = [Text(f"Records: {content['people']}.", "soft")] if content["people"] else []
    return [*whom, *([Text(content["without_evidence"], "soft")] if content["without_evidence"] else [])]


def _with_evidence(content: dict[str, Any]) -> Document:
    """The report on the chosen candidate, and after its alternatives how they were compared.

    What the report says of the chosen one (cards, certificate, attributes) is not said again.
    """
    report = report_document.document(content["evidence"])
    limits = Section("What the comparison does and does not say", [Bullets(content["limits"])])
    study = Section("How the minimizers were compared", [Text(content["decision"]), *_warnings(content)])
    deeper = [replace(each, level=3) for each in (*_comparison(content), *_more(content), limits)]
    titles = [section.title for section in report.sections]
    place = titles.index("Alternatives considered") + 1 if "Alternatives considered" in titles else len(titles)
    sections = [*report.sections[:place], study, *deeper, *report.sections[place:], *annex(content)]
    return replace(report, title=_title(content), sections=sections, footer=f"{_footer(content)} {report.footer}")


def _title(content: dict[str, Any]) -> str:
    return f"What to collect to predict {named(content['label'])}"


def _warnings(content: dict[str, Any]) -> list[Block]:
    return [Text(warning, "warning") for warning in content["warnings"]]


def _comparison(content: dict[str, Any]) -> list[Section]:
    return [utility_against_privacy(content), minimizers(content), *front(content)]


def _more(content: dict[str, Any]) -> list[Section]:
    """Other training sizes, later records, and what was skipped, where there are any."""
    skipped = content["skipped"]
    return [
        *([] if content["sizes"] is None else [sizes(content)]),
        *([] if content["later"] is None else [later(content)]),
        *([Section("What was skipped", [Bullets(skipped)])] if skipped else []),
    ]


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
