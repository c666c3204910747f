"""What every report's data has in common: where it comes from, and fields that say what they hold."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Ends = Annotated[list[float] | None, Field(min_length=2, max_length=2)]
Few = Annotated[int | str, Field(description='A count of people, rounded to tens; "< 10" below that.')]


class Part(BaseModel):
    """A piece of a report: it has the fields that are named and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Provenance(Part):
    """What it was made of, so that it can be made again."""

    modicum_version: str = Field(description="The version of modicum that made the report.")
    date: str = Field(description="The day on which it was made, as YYYY-MM-DD.")
    hashes: dict[str, str] = Field(description="What was hashed (records, schema, artifact, model) → its SHA-256.")
    versions: dict[str, str] = Field(description="Python and the packages that the numbers depend on → version.")
    settings: dict[str, Any] = Field(description="The settings that the numbers depend on, the seed among them.")
    command: str | None = Field(description="The command that makes it again; null where it was made in Python.")


class Head(Part):
    """What every report begins with."""

    modicum: str = Field(description="The kind of report.")
    version: int = Field(description="The version of this format.")
    purpose: str | None = Field(description="What the data is for, in the user's words.")
    people: str | None = Field(description="Whom the records are of, in the user's words.")
    provenance: Provenance = Field(description="What it was made of, so that it can be made again.")
    decision: str = Field(description="The decision in one paragraph.")
    warnings: list[str] = Field(description="What a reader must know before believing the numbers.")
    limits: list[str] = Field(description="What the method does and does not say.")
