"""The data of an anatomized release's report: what each field holds."""

from typing import Literal

from pydantic import Field

from modicum.reporting.content import Ends, Few, Head, Part, Share
from modicum.reporting.crowd_content import CrowdContent
from modicum.reporting.release_prediction import ErrorContent, GroupError


class SensitiveContent(Part):
    """One sensitive attribute in its table, counted anew; exact, since the published table shows it."""

    name: str = Field(description="The attribute.")
    l: int = Field(description="The largest l such that no value is more than 1/l of any group.")
    distinct_l: int = Field(description="The fewest different values in a group.")
    highest: Share = Field(description="The largest share that one value has in any group.")
    groups: int = Field(description="How many groups there are.")
    smallest: int = Field(description="Records in the smallest group.")
    largest: int = Field(description="Records in the largest group.")
    values: int = Field(description="Different values.")


class AttributeContent(Part):
    """One column and where it stands."""

    name: str = Field(description="The column.")
    role: Literal["identifying", "sensitive", "class", "left out"] = Field(description="What it is taken for.")
    table: str = Field(description="The table in which its exact values are published.")
    values: int = Field(description="Different values, of those who were released.")


class AdversaryContent(Part):
    """How often one adversary gives people their right value."""

    name: str = Field(description="What it is called.")
    means: str = Field(description="Who it is, in words.")
    right: Share = Field(description="Share of people given the right value, in tens of people.")
    interval: Ends = Field(description="Its 95% interval; groups are taken for independent.")


class MatchingContent(Part):
    """People matched to the values of their group."""

    sensitive: str = Field(description="The sensitive attribute.")
    promised: Share = Field(description="1/l as it was asked for (as counted where that is not known).")
    naive: Share = Field(description="Share of people with the most frequent value of all.")
    raw: Share = Field(description="Where the records are published as they are: every value is known.")
    learned: Share = Field(description="Right by the adversary who learns from the release alone.")
    interval: Ends = Field(description="Its 95% interval.")
    adversaries: list[AdversaryContent] = Field(description="Each adversary that was tried.")
    note: str | None = Field(description="What the figure does not say.")


class UtilityContent(Part):
    """A model that learned from the tables beside others."""

    held_out: bool = Field(description="Whether a second release of 70% of the records was learned from.")
    estimator: str = Field(description="What predicts the class.")
    records: Few = Field(description="Records tested on.")
    trained_on: Few = Field(description="Records learned from.")
    errors: dict[str, ErrorContent] = Field(description="pruned, joined, identifying, raw, majority → error.")
    by_group: dict[str, GroupError] = Field(description="Group of at least ten people → its errors.")
    small_groups: int = Field(description="How many groups of fewer people are not shown.")
    worst_group: str | None = Field(
        description="The group with the highest error after learning from pruned tables, of those of a hundred people."
    )


class Content(Head):
    """The report of an anatomized release."""

    modicum: Literal["anatomy"] = Field(description="The kind of report.")
    grouping: str | None = Field(description="How groups were made.")
    label: str | None = Field(description="The class.")
    asked_l: int | None = Field(description="What was asked for: no value is more than 1/l of its group.")
    kept: bool = Field(description="Whether every sensitive table has it.")
    records: Few = Field(description="Records released.")
    left_out: Few = Field(description="Records left out: without a sensitive value, or too many of one value.")
    has_repeated: bool = Field(description="Whether a person has several records, for whom the promise does not hold.")
    measured: list[SensitiveContent] = Field(description="Each sensitive attribute, counted anew.")
    attributes: list[AttributeContent] = Field(description="Column by column.")
    crowds: dict[str, CrowdContent] = Field(description="What is known of a person → who stands alone in the table.")
    matching: list[MatchingContent] = Field(description="What adversaries learn of each sensitive attribute.")
    utility: UtilityContent | None = Field(description="What a model loses; null where not measured.")
    skipped: dict[str, str] = Field(description="What was not measured → why.")
