"""The document on the adversaries: the three threats of the EU's opinion on anonymisation, with A1 to A8 under them.

The Article 29 Working Party's Opinion 05/2014 asks of data about people whether someone can be singled out, whether
records can be linked, and whether something can be inferred.
"""

from typing import Any, Literal

from modicum.reporting.attack_content import Content as Content
from modicum.reporting.attack_exposure import linkability, singling_out
from modicum.reporting.attack_inference import inference
from modicum.reporting.document import Block, Bullets, Document, Section, Text
from modicum.reporting.provenance import provenance_section, sign_off

OPINION = (
    "The data protection authorities of the EU name three ways in which data can tell of a person: inference, "
    "linkability and singling out (Article 29 Working Party, Opinion 05/2014 on anonymisation techniques). Each is "
    "tried below by adversaries, A1 to A8, and told beside what they could do without the collected records."
)
ROUNDED = (
    "Counts of people under ten are shown as “< 10”; others and the shares of single attributes are rounded to tens of "
    "people."
)


def document(content: dict[str, Any]) -> Document:
    """The document of an attack's content.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:3_000], y[:3_000]).generalization_
    >>> found = md.attacks.suite(g, X[:3_000], X[3_000:5_000], personal=["race", "sex"], progress=False)
    >>> [section.title.split(":")[0] for section in md.report(found).document.sections if section.level == 2][:3]
    ['Inference', 'Linkability', 'Singling out']
    """
    first, *others = content["sentences"]
    lead: list[Block] = [
        *([Text(f"Purpose: {content['purpose']}")] if content["purpose"] else []),
        *([Text(f"Records: {content['records_of']}.", "soft")] if content["records_of"] else []),
        Text(first, "decision"),
        *(Text(sentence) for sentence in others),
        *(Text(warning, "warning") for warning in content["warnings"]),
        Text(OPINION, "soft"),
    ]
    limits = Section("What this does and does not say", [Bullets(content["limits"])])
    footer = (
        f"Made by modicum {content['modicum_version']}. Every number here is in the JSON of the same run (format "
        f"{content['version']}); the seed is {content['random_state']}. {ROUNDED}"
    )
    made = content["provenance"]
    closing = [] if made is None else [provenance_section(made), sign_off()]
    return Document("What could leak", lead, [*threats(content), limits, *closing], footer)


def threats(content: dict[str, Any], level: Literal[2, 3] = 2) -> list[Section]:
    """The sections of the three threats, with every number of the content; other reports hold them, too.

    Parameters
    ----------
    content : dict
        As `Content` describes it.
    level : 2 or 3
        The level of the threats' own headings.
    """
    return [*inference(content, level), linkability(content, level), singling_out(content, level)]
