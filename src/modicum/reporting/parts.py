"""What every report's data has in common: where it comes from, and fields that say what they hold."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from modicum.measures.uniqueness import Crowd
from modicum.reporting.disclosure import combinations, few, outward, tens, tens_up

Share = Annotated[float, Field(ge=0, le=1)]
Ends = Annotated[list[float] | None, Field(min_length=2, max_length=2)]
Few = Annotated[int | str, Field(description='A count of people, rounded to tens; "< 10" below that.')]


class ContentPart(BaseModel):
    """A piece of a report: it has the fields that are named and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Provenance(ContentPart):
    """What it was made of, so that it can be made again."""

    modicum_version: str = Field(description="The version of modicum that made the report.")
    date: str = Field(description="The day on which it was made, as YYYY-MM-DD.")
    hashes: dict[str, str] = Field(description="What was hashed (records, schema, artifact, model) → its SHA-256.")
    versions: dict[str, str] = Field(description="Python and the packages that the numbers depend on → version.")
    settings: dict[str, Any] = Field(description="The settings that the numbers depend on, the seed among them.")
    command: str | None = Field(description="The command that makes it again; null where it was made in Python.")


class Head(ContentPart):
    """What every report begins with."""

    modicum: str = Field(description="The kind of report.")
    version: int = Field(description="The version of this format.")
    purpose: str | None = Field(description="What the data is for, in the user's words.")
    people: str | None = Field(description="Whom the records are of, in the user's words.")
    provenance: Provenance = Field(description="What it was made of, so that it can be made again.")
    decision: str = Field(description="The decision in one paragraph.")
    warnings: list[str] = Field(description="What a reader must know before believing the numbers.")
    limits: list[str] = Field(description="What the method does and does not say.")


# How many people share what an adversary knows of them, as it may leave the team.

_ALONE = "1"  # the size of a group of one


class Expected(ContentPart):
    """How many people are expected to stand alone in a whole population."""

    population: Few = Field(description="How many people the records were drawn from, to tens.")
    unique: Few = Field(description="How many of them are expected to share what is seen with nobody.")
    interval: list[Few] | None = Field(description="Where 95% of such estimates lie.")


class CrowdContent(ContentPart):
    """How many people share what an adversary knows of them."""

    records: Few
    groups: Few = Field(description="How many different combinations there are.")
    smallest: Few = Field(description="People in the smallest group.")
    alone: Share = Field(description="Share of records in a group of one person, rounded up to tens of people.")
    alone_interval: Ends = Field(description="Its 95% interval.")
    linked: Share = Field(description="Expected share of records linked to the right person, in tens of people.")
    linked_interval: Ends = Field(description="Its 95% interval.")
    sizes: dict[str, Share] = Field(
        description="People in the group → share of records, in tens of people; of one person rounded up."
    )
    expected: Expected | None = Field(description="How many stand alone in the population, where its size is known.")


def crowd_content(crowd: Crowd, is_public: bool = False) -> dict[str, Any]:
    """A crowd as it may leave the team; what a published table shows anyway (`is_public`) is exact.

    Who stands alone is rounded up, so that 0 means nobody, and in the same way wherever it is told.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.measures.uniqueness import crowd
    >>> from modicum.reporting.parts import crowd_content
    >>> told = crowd_content(crowd(pd.DataFrame({"age": [30] * 997 + [31, 32, 33]}), ["age"]))
    >>> told["alone"], told["sizes"]["1"], told["smallest"]
    (0.01, 0.01, '< 10')
    """
    n, expected = crowd.people, crowd.expected
    return {
        "records": few(crowd.records),
        "groups": crowd.groups if is_public else combinations(crowd.groups, crowd.smallest),
        "smallest": crowd.smallest if is_public else few(crowd.smallest),
        "alone": tens_up(crowd.alone, n),
        "alone_interval": outward(crowd.alone_interval, n),
        "linked": tens(crowd.linked, n),
        "linked_interval": outward(crowd.linked_interval, n),
        "sizes": {name: (tens_up if name == _ALONE else tens)(share, n) for name, share in crowd.sizes.items()},
        "expected": None
        if expected is None
        else {
            "population": few(expected.population),
            "unique": few(round(expected.unique)),
            "interval": [few(round(end)) for end in expected.interval],
        },
    }
