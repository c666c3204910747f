"""What all kinds of report share: heading, provenance, and typed fields that round their numbers.

Each kind of report has a pydantic model for its data. `fill` copies fields from evidence and rounds each number once,
by its field's type; `of` adds fields that the evidence does not have. The JSON is the model's `model_dump`; page and
Markdown read its attributes.
"""

import datetime
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from modicum import __version__
from modicum.errors import ParameterError, check_words
from modicum.measures.uniqueness import Crowd, Uniqueness
from modicum.provenance import EvidenceSources
from modicum.reporting.disclosure import FewText, change, change_outward, combinations, few, outward, tens, tens_up
from modicum.reporting.document import Blanks, Block, Bullets, Column, Section, Table, TableCell, Text
from modicum.reporting.formats import NONE, interval, number, percent
from modicum.table.codes import FEW
from modicum.table.values import plain


@dataclass(frozen=True)
class _People:
    """The number of people that a part's shares refer to."""

    count: int | None


def round_by(rule: Callable[[Any, Any], object]) -> BeforeValidator:
    """Make a validator that rounds evidence for the people named in `ContentPart.fill`, but not values from JSON."""

    def apply(value: object, info: ValidationInfo) -> object:
        return rule(value, info.context.count) if isinstance(info.context, _People) and value is not None else value

    return BeforeValidator(apply)


_BY_HAND = object()  # marks types without a rule: `fill` does not copy their numbers from evidence

Share = Annotated[float, Field(ge=0, le=1), _BY_HAND]
Pair = Annotated[list[float], Field(min_length=2, max_length=2), _BY_HAND]
Ends = Annotated[list[float] | None, Field(min_length=2, max_length=2), _BY_HAND]
SomeEnds = Annotated[Sequence[float | None] | None, Field(min_length=2, max_length=2), _BY_HAND]  # an end may be None
Count = Annotated[int | FewText, Field(description='A count of people, rounded to tens; "< 10" below ten.'), _BY_HAND]
AsFound = Annotated[float, Field(ge=0, le=1)]  # a share that is safe to publish, or rounded in the evidence

# The same types, each with the rule that rounds evidence.
Few = Annotated[Count, round_by(lambda count, _: few(count))]
Tens = Annotated[Share, round_by(tens)]
TensUp = Annotated[Share, round_by(tens_up)]
TensEnds = Annotated[Ends, round_by(outward)]
Change = Annotated[float, round_by(change)]
ChangeEnds = Annotated[Ends, round_by(change_outward)]
ThreeDigits = Annotated[float, round_by(lambda value, _: round(value, 3) + 0.0)]


class ContentPart(BaseModel):
    """A part of a report, with exactly the declared fields; a missing number is null.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from modicum.reporting.parts import ContentPart, Few, Tens
    >>> class Wrong(ContentPart):
    ...     records: Few
    ...     error: Tens
    >>> found = Wrong.fill(SimpleNamespace(records=7, error=0.2349, rows=[3, 4]), 1_000)
    >>> found.records, found.error, Wrong.model_validate(found.model_dump()) == found
    ('< 10', 0.23, True)
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def fill(cls, found: object, people: int | None = None, /, **own: object) -> Self:
        """Copy the fields from evidence by name, also those of inner parts, and round each by its type.

        A share, count or interval whose type has no rule is never copied, so no exact one leaves the team. From a part
        that is already filled, everything is copied unchanged.

        Parameters
        ----------
        found : the evidence; attributes without a field of that name are ignored
        people : the number of people that the shares refer to
        own : fields that the evidence lacks or that differ from it; exact if the type has a rule, else rounded
        """
        context = None if isinstance(found, ContentPart) else _People(people)
        return cls.model_validate(cls._read(found, own), context=context)

    @classmethod
    def _read(cls, found: object, own: Mapping[str, object]) -> dict[str, object]:
        is_rounded = isinstance(found, ContentPart)
        named = [
            name
            for name, field in cls.model_fields.items()
            if name not in own
            and hasattr(found, name)
            and (is_rounded or not _lacks_rule(field.annotation, field.metadata))
        ]
        return {name: getattr(found, name) for name in named} | dict(own)

    @model_validator(mode="before")
    @classmethod
    def _make_plain(cls, data: Any) -> Any:
        if isinstance(data, ContentPart):  # already filled
            return data
        return plain(data if isinstance(data, dict) else cls._read(data, {}))


def _lacks_rule(annotation: object, metadata: Sequence[object] = ()) -> bool:
    """Whether a type, or a type inside it, is marked and has no rule."""
    if any(isinstance(each, BeforeValidator) for each in metadata):
        return False
    inner = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return _lacks_rule(inner[0], inner[1:])
    return _BY_HAND in metadata or any(_lacks_rule(each) for each in inner)


# The first fields of every report.

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Heading:
    """What the user states about a report, checked: purpose, people, day and command.

    Examples
    --------
    >>> from modicum.reporting.parts import Heading
    >>> Heading("Who may need advice?", date="2026-11-18").people is None
    True
    """

    purpose: str | None = None
    people: str | None = None
    date: str | None = None
    command: str | None = None

    def open(self, found: EvidenceSources | None) -> dict[str, object]:
        """Return the first fields of every report; `found` is the evidence's provenance."""
        return {"purpose": self.purpose, "people": self.people, "provenance": Provenance.of(found, self)}

    def __post_init__(self) -> None:
        check_words(purpose=self.purpose, people=self.people, command=self.command)
        _check_date(self.date)


def _check_date(date: Any) -> None:
    wrong = ParameterError(f"The 'date' parameter must be a day such as '2026-11-16'. Got {date!r} instead.")
    if date is not None and (not isinstance(date, str) or not _DAY.fullmatch(date)):
        raise wrong
    try:
        datetime.date.fromisoformat(date or "2026-11-16")
    except ValueError:
        raise wrong from None


class Provenance(ContentPart):
    """Everything needed to reproduce the report."""

    modicum_version: str = Field(description="The version of modicum that made the report.")
    date: str = Field(description="The day the report was made, as YYYY-MM-DD.")
    hashes: dict[str, str] = Field(description="What was hashed (records, schema, artifact, model) → its SHA-256.")
    versions: dict[str, str] = Field(description="Python and the packages that the numbers depend on → version.")
    settings: dict[str, Any] = Field(description="The settings that the numbers depend on, the seed among them.")
    command: str | None = Field(description="The command that reproduces the report; null if it was made in Python.")

    @classmethod
    def of(cls, found: EvidenceSources | None, heading: Heading) -> Self:
        """Combine the evidence's provenance with the heading's day (today by default) and command.

        Examples
        --------
        >>> from modicum.reporting.parts import Heading, Provenance
        >>> Provenance.of({"hashes": {"records": "ab"}}, Heading(date="2026-11-16")).date
        '2026-11-16'
        """
        found = found or {}
        return cls(
            modicum_version=__version__,
            date=heading.date or datetime.date.today().isoformat(),
            hashes=found.get("hashes", {}),
            versions=found.get("versions", {}),
            settings=found.get("settings", {}),
            command=heading.command,
        )


class Head(ContentPart):
    """The first fields of every report."""

    modicum: str = Field(description="The kind of report.")
    version: int = Field(default=1, description="The version of this format.")
    purpose: str | None = Field(description="What the data is for, in the user's words.")
    people: str | None = Field(description="Whose records these are, in the user's words.")
    provenance: Provenance = Field(description="Everything needed to reproduce the report.")
    decision: str = Field(default="", description="The decision in one paragraph.")
    warnings: list[str] = Field(default=[], description="What a reader must know before relying on the numbers.")
    limits: list[str] = Field(default=[], description="What the method does and does not say.")

    def with_sentences(self, decision: str, warnings: list[str], limits: list[str]) -> Self:
        """Return the report with its sentences, which are written from its numbers."""
        return self.model_copy(update={"decision": decision, "warnings": warnings, "limits": limits})


# The first and last sections of every page.

SIGN_OFF = (
    "Prepared by (name, role, date)",
    "Data protection officer: advice (name, date)",
    "Decision: accepted / accepted with measures / rejected",
    "Measures, responsible person, deadline",
    "Next review on",
    "Approved by (name, role, date, signature)",
)


def opening(content: Head) -> list[Block]:
    """Return purpose, date, decision and warnings."""
    made = content.provenance
    records_of = f"Records: {content.people}. " if content.people else ""
    return [
        Text(f"Purpose: {content.purpose or 'not stated'}"),
        Text(f"{records_of}Made on {day_in_words(made.date)} with modicum {made.modicum_version}.", "soft"),
        Text(content.decision, "decision"),
        *(Text(warning, "warning") for warning in content.warnings),
    ]


def closing(content: Head) -> list[Section]:
    """Return limits, provenance and sign-off."""
    limits = Section("What this does not say", [Bullets(content.limits)])
    return [limits, provenance_section(content.provenance), sign_off()]


def day_in_words(date: str) -> str:
    """Write a date in words.

    Examples
    --------
    >>> from modicum.reporting.parts import day_in_words
    >>> day_in_words("2026-11-06")
    '6 November 2026'
    """
    day = datetime.date.fromisoformat(date)
    return f"{day.day} {day:%B %Y}"


def provenance_section(made: Provenance) -> Section:
    """Describe how to reproduce the report."""
    blocks: list[Block] = [
        Text(
            f"Made on {day_in_words(made.date)} by modicum {made.modicum_version}. The same records, artifact, "
            "settings and versions give the same numbers; a different hash shows that an input differs."
            f"{_of_hashes(made.hashes)}"
        )
    ]
    if made.command:
        blocks.append(Text(f"Command: {made.command}"))
    tables: list[tuple[str, Mapping[str, Any]]] = [
        ("what was hashed (SHA-256)", made.hashes),
        ("setting", made.settings),
        ("version of", made.versions),
    ]
    for title, named in tables:
        if named:
            columns = name_columns(title, "", names=2)
            blocks.append(Table(columns, [[name.replace("_", " "), _format(value)] for name, value in named.items()]))
    return Section("How to reproduce this report", blocks)


def _of_hashes(hashes: Mapping[str, str]) -> str:
    if not hashes:
        return ""
    sentence = (
        " A hash reveals nothing to someone who does not have the records; someone who knows all but a few values "
        "could find these by trial."
    )
    return sentence + (" The artifact’s hash is that of its file." if "artifact" in hashes else "")


def _format(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_format(each)}" for name, each in value.items()) or NONE
    if isinstance(value, list | tuple):
        return ", ".join(_format(each) for each in value) or NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def sign_off() -> Section:
    """Return the fields to sign."""
    return Section("Sign-off", [Blanks(SIGN_OFF)])


def figure(value: float | str | None, ends: Sequence[float | None] | None) -> TableCell:
    """Make a cell with a share and its interval below it."""
    between = interval(ends)
    return TableCell(percent(value), [between] if between else [])


def name_columns(*titles: str, names: int = 1) -> list[Column]:
    """Make columns, the first `names` of them for names and the others for numbers."""
    return [Column(title, is_number=i >= names) for i, title in enumerate(titles)]


# The certificate.


class CertifiedPart(ContentPart):
    """What no adversary with the same knowledge can exceed, on average."""

    bounds: dict[str, AsFound] = Field(
        description="Attribute → the highest share of right guesses, rounded up to tens of people."
    )
    mean_error: Share = Field(description="The lowest mean error that follows from the bounds.")
    confidence: AsFound = Field(description="The probability with which all bounds hold together.")
    records: int = Field(description="How many records it was counted on.")
    unit: str = Field(description="What the average is over: people, or records where one person has several.")
    vacuous: list[str] = Field(description="The attributes about which the certificate says nothing: their bound is 1.")
    note: str | None = Field(description="Why it says nothing about them.")


# How many people share what an adversary knows about them, rounded for publication.

_ALONE = "1"  # the size of a group of one


class ExpectedUniques(ContentPart):
    """How many people are expected to be unique in a whole population."""

    population: int = Field(description="The size of the population behind the records, as the user stated it.")
    unique: Few = Field(description="How many of them are expected to share what is known with nobody, in tens.")
    interval: Annotated[list[Few], Field(min_length=2, max_length=2)] = Field(
        description="Where 95% of such estimates lie, widened to tens."
    )

    @classmethod
    def of(cls, found: Uniqueness) -> Self:
        """Round the estimate to tens of people, and widen its interval to tens."""
        low, high = found.interval
        ends = [few(FEW * math.floor(low / FEW)), few(FEW * math.ceil(high / FEW))]
        return cls(population=found.population, unique=few(round(found.unique)), interval=ends)


class CrowdContent(ContentPart):
    """How many people share what an adversary knows about them."""

    records: Few
    groups: Count = Field(description="How many different combinations there are.")
    smallest: Count = Field(description="People in the smallest group.")
    alone: TensUp = Field(description="Share of records in a group of one person, rounded up to tens of people.")
    alone_interval: TensEnds = Field(description="Its 95% interval.")
    linked: Tens = Field(description="Expected share of records linked to the right person, in tens of people.")
    linked_interval: TensEnds = Field(description="Its 95% interval.")
    sizes: dict[str, Share] = Field(
        description="People in the group → share of records, in tens of people; of one person rounded up."
    )
    expected: ExpectedUniques | None = Field(
        description="How many are unique in the population; null if its size is not known."
    )

    @classmethod
    def of(cls, crowd: Crowd, is_public: bool = False) -> Self:
        """Round a crowd for publication; what a published table shows anyway (`is_public`) stays exact.

        The share of unique people is rounded up everywhere, so that 0 means nobody.

        Examples
        --------
        >>> import pandas as pd
        >>> from modicum.measures.uniqueness import crowd
        >>> from modicum.reporting.parts import CrowdContent
        >>> found = CrowdContent.of(crowd(pd.DataFrame({"age": [30] * 997 + [31, 32, 33]}), ["age"]))
        >>> found.alone, found.sizes["1"], found.smallest
        (0.01, 0.01, '< 10')
        """
        n = crowd.people
        return cls.fill(
            crowd,
            n,
            groups=crowd.groups if is_public else combinations(crowd.groups, crowd.smallest),
            smallest=crowd.smallest if is_public else few(crowd.smallest),
            sizes={name: (tens_up if name == _ALONE else tens)(share, n) for name, share in crowd.sizes.items()},
            expected=None if crowd.expected is None else ExpectedUniques.of(crowd.expected),
        )
