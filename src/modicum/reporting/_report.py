"""A report: typed data of one kind, written as a page, Markdown or JSON, and the schema of the JSON."""

import json
import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypedDict, TypeGuard, TypeVar, Unpack, overload

from modicum.errors import ParameterError, format_names
from modicum.reporting.document import Document
from modicum.reporting.parts import Heading
from modicum.reporting.render import to_html, to_markdown
from modicum.table.atomic_writing import replacing_together

if TYPE_CHECKING:
    from modicum.attacks import SuiteResult
    from modicum.evaluation import AnatomyEvidence, Evidence, PrismEvidence, ReleaseEvidence, Study, StudyEvidence
    from modicum.reporting.anatomy.data import AnatomyContent
    from modicum.reporting.attack.data import AttackContent
    from modicum.reporting.generalization.data import GeneralizationContent
    from modicum.reporting.prism.data import PrismContent
    from modicum.reporting.release.data import ReleaseContent
    from modicum.reporting.study.data import StudyContent

    AnyContent: TypeAlias = (
        GeneralizationContent | AttackContent | StudyContent | ReleaseContent | AnatomyContent | PrismContent
    )

Content = TypeVar("Content", bound="AnyContent", covariant=True)


class ReportKind(NamedTuple):
    """A kind of report: its evidence class, and the folder of its data and page, imported on first use."""

    evidence: str
    folder: str
    model_name: str

    @property
    def model(self) -> "type[AnyContent]":
        """The pydantic model of its data."""
        model: type[AnyContent] = getattr(import_module(f"modicum.reporting.{self.folder}.data"), self.model_name)
        return model

    def fill(self, evidence: Any, heading: Heading) -> "AnyContent":
        """Fill its data from evidence, with every number rounded."""
        return self.model.of(evidence, heading)

    def draw(self, content: "AnyContent") -> Document:
        """Turn its data into a document."""
        document: Document = import_module(f"modicum.reporting.{self.folder}.page").document(content)
        return document


KINDS = {
    "report": ReportKind("Evidence", "generalization", "GeneralizationContent"),
    "attacks": ReportKind("SuiteResult", "attack", "AttackContent"),
    "study": ReportKind("StudyEvidence", "study", "StudyContent"),
    "release": ReportKind("ReleaseEvidence", "release", "ReleaseContent"),
    "anatomy": ReportKind("AnatomyEvidence", "anatomy", "AnatomyContent"),
    "prism": ReportKind("PrismEvidence", "prism", "PrismContent"),
}


@dataclass(frozen=True)
class Report(Generic[Content]):
    """What was decided and what remains at risk, for people and for programs.

    Attributes
    ----------
    content : the data of its kind, a pydantic model whose fields are described and rounded

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "sex", "marital-status"]]
    >>> g = md.Uniform(buckets=2).fit(X[:1_000]).generalization_
    >>> found = md.attacks.suite(g, X[:1_000], X[1_000:2_000], personal=["sex"])
    >>> page = md.report(found, "Who may need advice?")
    >>> page.to_markdown().splitlines()[0], page.content.modicum
    ('# What could leak', 'attacks')
    """

    content: Content

    def to_dict(self) -> dict[str, Any]:
        """Return every number of the report as plain data."""
        return self.content.model_dump()

    def to_json(self) -> str:
        """Return the data as JSON text, all ASCII, so that no name in it can send control codes to a terminal.

        `modicum.reporting.json_schema` describes its fields.
        """
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return one self-contained page: no script, nothing loaded from elsewhere."""
        return to_html(self.document)

    def to_markdown(self) -> str:
        """Return the report as Markdown: every number, no pictures."""
        return to_markdown(self.document)

    @property
    def document(self) -> Document:
        """The document from which page and Markdown are rendered."""
        return KINDS[self.content.modicum].draw(self.content)

    def save(self, *paths: str | os.PathLike[str]) -> None:
        """Write the report as HTML, Markdown or JSON, by each file's ending.

        An existing file is replaced only by a complete one. Either all files are written or none.
        """
        written = {".html": self.to_html, ".md": self.to_markdown, ".json": self.to_json}
        for path in paths:
            if Path(path).suffix.lower() not in written:
                raise ParameterError(f"A report is written as .html, .md or .json. Got {os.fspath(path)!r}.")
        replacing_together({path: written[Path(path).suffix.lower()]().encode() for path in paths})


class _Words(TypedDict, total=False):
    """The optional arguments of `report` besides the purpose."""

    people: str | None
    date: str | None
    command: str | None


@overload
def report(
    evidence: "Evidence", purpose: str | None = None, **words: Unpack[_Words]
) -> "Report[GeneralizationContent]": ...
@overload
def report(evidence: "SuiteResult", purpose: str | None = None, **words: Unpack[_Words]) -> "Report[AttackContent]": ...
@overload
def report(
    evidence: "Study | StudyEvidence", purpose: str | None = None, **words: Unpack[_Words]
) -> "Report[StudyContent]": ...
@overload
def report(
    evidence: "ReleaseEvidence", purpose: str | None = None, **words: Unpack[_Words]
) -> "Report[ReleaseContent]": ...
@overload
def report(
    evidence: "AnatomyEvidence", purpose: str | None = None, **words: Unpack[_Words]
) -> "Report[AnatomyContent]": ...
@overload
def report(
    evidence: "PrismEvidence", purpose: str | None = None, **words: Unpack[_Words]
) -> "Report[PrismContent]": ...
def report(
    evidence: "Evidence | StudyEvidence | Study | SuiteResult | ReleaseEvidence | AnatomyEvidence | PrismEvidence",
    purpose: str | None = None,
    *,
    people: str | None = None,
    date: str | None = None,
    command: str | None = None,
) -> Report[Any]:
    """Make a report from evidence: a printable page, Markdown and JSON, all with the same numbers.

    Parameters
    ----------
    evidence : what `md.evidence`, `md.attacks.suite` or `md.study` returns
        Full evidence gives the document for an assessment: why each attribute is needed, which alternatives were
        considered, what remains at risk. The report on a study alone is its comparison, with the knee of the front as
        the choice; for another choice, or for full evidence about it, pass `md.evidence(study.choose(...))`.
    purpose : str, optional
        What the prediction is for, in the user's words.
    people : str, optional
        Whose records these are, such as "customers of the shop in 2026"; the certificate's sentence quotes it.
    date : str, optional
        The day of the report, as YYYY-MM-DD; today by default.
    command : str, optional
        The command that reproduces the report.

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
    heading = Heading(purpose, people, date, command)
    if _is_study(evidence):
        from modicum.evaluation._evidence import evidence as gather

        evidence = gather(evidence, depth="quick")
    for kind in KINDS.values():
        if _is_ours(evidence, kind.evidence):
            return Report(kind.fill(evidence, heading))
    hint = "; call its report()" if callable(getattr(evidence, "report", None)) else ""
    raise ParameterError(
        f"A report is made of what `evidence`, `attacks.suite` or `study` returns. Got {type(evidence).__name__}{hint}."
    )


def _is_study(evidence: object) -> "TypeGuard[Study]":
    return _is_ours(evidence, "Study")


def _is_ours(value: object, name: str) -> bool:
    """Whether the value is of modicum's class with this name; the class need not be imported."""
    return type(value).__name__ == name and type(value).__module__.startswith("modicum.")


# The JSON Schema of each kind, generated from its model.


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of report; every field has a description.

    Parameters
    ----------
    kind : str
        The `modicum` field of the JSON: "report", "attacks", "study", "release", "anatomy" or "prism".

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
    return KINDS[kind].model.model_json_schema(mode="serialization")
