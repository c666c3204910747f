"""A report: one plain dict, the same numbers as a page and as Markdown, and the schema of its JSON."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from modicum.attacks import SuiteResult
from modicum.errors import ParameterError, check_words, format_names
from modicum.evaluation import AnatomyEvidence, Evidence, PrismEvidence, ReleaseEvidence, Study, StudyEvidence
from modicum.evaluation._evidence import evidence as gather
from modicum.reporting.anatomy import page as anatomy_page
from modicum.reporting.anatomy.data import AnatomyContent, anatomy_summary
from modicum.reporting.attack import page as attack_page
from modicum.reporting.attack.data import AttackContent, attack_summary
from modicum.reporting.document import Document
from modicum.reporting.generalization import page as generalization_page
from modicum.reporting.generalization.data import GeneralizationContent, summary
from modicum.reporting.prism import page as prism_page
from modicum.reporting.prism.data import PrismContent, prism_summary
from modicum.reporting.release import page as release_page
from modicum.reporting.release.data import ReleaseContent, release_summary
from modicum.reporting.render import to_html, to_markdown
from modicum.reporting.sources import check_date, provenance
from modicum.reporting.study import page as study_page
from modicum.reporting.study.data import StudyContent, study_summary
from modicum.table.atomic_writing import replacing_together

# The kinds of report: what each says as data, and the document it becomes.
#
# Every kind has a pydantic model that documents and checks each number of the JSON, and a function that makes the
# document of that data and computes nothing.


@dataclass(frozen=True)
class Kind:
    """What a kind of report offers: the model of its data, and the document made of them."""

    content: type[BaseModel]
    document: Callable[[dict[str, Any]], Document]


KINDS = {
    "report": Kind(GeneralizationContent, generalization_page.document),
    "attacks": Kind(AttackContent, attack_page.document),
    "study": Kind(StudyContent, study_page.document),
    "release": Kind(ReleaseContent, release_page.document),
    "anatomy": Kind(AnatomyContent, anatomy_page.document),
    "prism": Kind(PrismContent, prism_page.document),
}


# The report


@dataclass(frozen=True)
class Report:
    """What was decided and what remains at risk, for people and for programs.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "sex", "marital-status"]]
    >>> g = md.Uniform(buckets=2).fit(X[:1_000]).generalization_
    >>> found = md.attacks.suite(g, X[:1_000], X[1_000:2_000], personal=["sex"])
    >>> page = md.report(found, "Who may need advice?")
    >>> page.to_markdown().splitlines()[0], page.to_dict()["modicum"]
    ('# What could leak', 'attacks')
    """

    content: dict[str, Any]

    def __post_init__(self) -> None:
        KINDS[self.content["modicum"]].content.model_validate(self.content)

    def to_dict(self) -> dict[str, Any]:
        """Every number of the report as plain data."""
        return self.content

    def to_json(self) -> str:
        """The same as text, all of it ASCII: no name in it can steer a terminal.

        `modicum.reporting.json_schema` describes its fields.
        """
        return json.dumps(self.content, indent=1, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """One self-contained page: no script, nothing loaded from elsewhere."""
        return to_html(self.document)

    def to_markdown(self) -> str:
        """The same as Markdown: every number, without the pictures."""
        return to_markdown(self.document)

    @property
    def document(self) -> Document:
        """What page and Markdown are made of."""
        return KINDS[self.content["modicum"]].document(self.content)

    def save(self, *paths: str | os.PathLike[str]) -> None:
        """Write it as HTML, Markdown or JSON, by the file's ending.

        A file there is replaced only by a complete one. Several are written together: all of them, or none.
        """
        written = {".html": self.to_html, ".md": self.to_markdown, ".json": self.to_json}
        for path in paths:
            if Path(path).suffix.lower() not in written:
                raise ParameterError(f"A report is written as .html, .md or .json. Got {os.fspath(path)!r}.")
        replacing_together({path: written[Path(path).suffix.lower()]().encode() for path in paths})


def report(
    evidence: Evidence | StudyEvidence | Study | SuiteResult | ReleaseEvidence | AnatomyEvidence | PrismEvidence,
    purpose: str | None = None,
    *,
    people: str | None = None,
    date: str | None = None,
    command: str | None = None,
) -> Report:
    """Make a report of evidence: a page that prints well, Markdown and JSON, with the same numbers.

    Parameters
    ----------
    evidence : what `md.evidence`, `md.attacks.suite` or `md.study` returns
        Full evidence makes the document that can go into an assessment: why each attribute is needed, what was
        considered, what remains at risk. Of a study alone, the report is the comparison, with the knee of its front;
        for another choice or for all evidence about it, give `md.evidence(study.choose(...))`.
    purpose : str, optional
        What the prediction is for, in the user's words.
    people : str, optional
        Whom the records are of, such as "customers of the shop in 2026"; a certificate's sentence names them.
    date : str, optional
        The day of the report, as YYYY-MM-DD; today where none is given.
    command : str, optional
        The command that makes it again.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> train, test = (X[:9_000], y[:9_000]), (X[9_000:12_000], y[9_000:12_000])
    >>> g = md.PrivacyTree(max_leaves=4).fit(*train).generalization_
    >>> found = md.evidence(g, *train, *test, personal=["race", "sex"], depth="quick")
    >>> page = md.report(found, purpose="Who may need advice?").to_html()
    >>> "<script" in page, page.startswith("<!DOCTYPE html>")
    (False, True)
    """
    check_head(purpose, people, date, command)
    head: dict[str, Any] = {"people": people, "date": date, "command": command}
    if isinstance(evidence, Study):
        evidence = gather(evidence, depth="quick")
    if isinstance(evidence, SuiteResult):
        return Report(attack_summary(evidence, purpose, people, provenance(evidence.provenance, date, command)))
    kinds: dict[type, Callable[..., dict[str, Any]]] = {
        Evidence: summary,
        StudyEvidence: study_summary,
        ReleaseEvidence: release_summary,
        AnatomyEvidence: anatomy_summary,
        PrismEvidence: prism_summary,
    }
    if type(evidence) not in kinds:
        hint = "; call its report()" if callable(getattr(evidence, "report", None)) else ""
        raise ParameterError(
            "A report is made of what `evidence`, `attacks.suite` or `study` returns. "
            f"Got {type(evidence).__name__}{hint}."
        )
    return Report(kinds[type(evidence)](evidence, purpose, **head))


def check_head(purpose: Any, people: Any, date: Any, command: Any) -> None:
    """Refuse what the head of a report cannot hold.

    Examples
    --------
    >>> from modicum.reporting._report import check_head
    >>> check_head("Who may need advice?", None, "2026-11-18", None)
    """
    check_words(purpose=purpose, people=people, command=command)
    check_date(date)


# The format of a report's JSON, described: a JSON Schema of every kind, made of the models that check it.


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind of report; every field has a description.

    Parameters
    ----------
    kind : str
        What stands under `modicum` in the JSON: "report", "attacks", "study", "release", "anatomy" or "prism".

    Examples
    --------
    >>> from modicum.reporting import json_schema
    >>> json_schema("report")["properties"]["decision"]["description"]
    'The decision in one paragraph.'
    """
    if kind not in KINDS:
        raise ParameterError(
            f"The 'kind' parameter must be one of {format_names(list(KINDS), limit=9)}. Got {kind!r} instead."
        )
    return KINDS[kind].content.model_json_schema()
