"""The data of a k-anonymous release's report: what each field holds."""

from typing import Literal

from pydantic import Field

from modicum.reporting.content import Ends, Few, Head, Part, Share
from modicum.reporting.crowd_content import CrowdContent
from modicum.reporting.release_prediction import ErrorContent, GroupError


class Promise(Part):
    """What was asked for."""

    k: int = Field(description="The fewest people who share their quasi-identifiers.")
    l: float | None = Field(description="The fewest (or effective number of) sensitive values in a group.")
    t: float | None = Field(description="The largest distance of a group's sensitive values from everybody's.")
    diversity: str | None = Field(description="What l counts: distinct, entropy or recursive.")
    c: float | None = Field(description="The constant of recursive diversity.")
    distance: str | None = Field(description="What t measures: equal, ordered or hierarchical.")


class MeasuredContent(Part):
    """What was counted anew on the release; exact where the published table shows it."""

    k: int = Field(description="People in the smallest group.")
    sensitive: str | None = Field(description="The attribute that l and t speak of.")
    distinct_l: int | None = Field(description="The fewest different sensitive values in a group.")
    l: float | None = Field(description="Diversity of the kind that was asked for.")
    t: float | None = Field(description="The largest distance of a group's sensitive values from everybody's.")
    distance: str | None = Field(description="What t measures.")
    kept: bool = Field(description="Whether what was asked for is there.")
    groups: int = Field(description="How many groups there are.")
    largest_group: Few = Field(description="People in the largest group; rounded where no column shows whose a row is.")
    highest_risk: Share = Field(description="One over the people of the smallest group.")
    records: Few = Field(description="Records released.")
    left_out: Few = Field(description="Records left out.")


class AttributeContent(Part):
    """One column and how it was published."""

    name: str = Field(description="The column.")
    role: str = Field(description="quasi-identifier, sensitive, label, identifier, person or other.")
    published: Literal["unchanged", "generalized", "the same for all", "left out"] = Field(
        description="What became of its values."
    )
    ncp: Share = Field(description="Information loss (NCP): 0 is full detail, 1 is nothing.")
    values_before: int = Field(description="Different values before, of those who were released.")
    values_after: int = Field(description="Different values after.")


class CrowdPair(Part):
    """The same counted on the release and on the full records."""

    release: CrowdContent = Field(description="Counted on the release.")
    raw: CrowdContent = Field(description="Counted on the full records.")


class Crowds(Part):
    """Who stands alone and who is linked, by what an adversary knows."""

    quasi_identifiers: CrowdPair = Field(description="Against someone who knows the quasi-identifiers.")
    all_columns: CrowdPair = Field(description="Against someone who knows every published column.")


class GuessContent(Part):
    """A guess of a value from a person's group."""

    right: Share = Field(description="Share of records guessed right, in tens of people.")
    interval: Ends = Field(description="Its 95% interval; groups are taken for independent.")
    certain: Share = Field(description="Share of records in a group with one value only, rounded up to tens of people.")


class InferenceContent(Part):
    """An attribute that is guessed from a person's group."""

    attribute: str = Field(description="The attribute.")
    values: int = Field(description="Among how many values.")
    in_ranges: bool = Field(description="Whether a number is guessed by its range.")
    naive: Share = Field(description="Share of records with the most frequent value of all.")
    release: GuessContent = Field(description="From the person's group in the release.")
    raw: GuessContent = Field(description="From the raw quasi-identifiers.")


class UtilityContent(Part):
    """A model that learned from the release beside one that learned from raw records."""

    held_out: bool = Field(description="Whether a second release of 70% of the records was learned from.")
    estimator: str = Field(description="What predicts the label.")
    records: Few = Field(description="Records tested on.")
    trained_on: Few = Field(description="Records learned from.")
    errors: dict[str, ErrorContent] = Field(description="release, raw, majority → error.")
    auc: dict[str, float | None] = Field(description="release, raw → area under the ROC curve.")
    auc_interval: Ends = Field(description="95% interval of the release's.")
    skill_kept: float | None = Field(description="Share of the raw model's gain in log-loss over the majority guess.")
    skill_interval: list[float | None] = Field(description="Its 95% interval.")
    is_weak: bool = Field(description="Whether even raw records barely predict the label.")
    by_group: dict[str, GroupError] = Field(description="Group of at least ten people → its errors.")
    small_groups: int = Field(description="How many groups of fewer people are not shown.")
    worst_group: str | None = Field(description="The group with the highest error, of those of a hundred people.")


class MemberContent(Part):
    """How well one model tells who it was trained on."""

    accuracy: Share = Field(description="Share of right answers; guessing gives one half.")
    interval: Ends = Field(description="Its 95% interval.")
    auc: float | None = Field(description="Chance that a member scores above another record.")
    auc_interval: Ends = Field(description="Its 95% interval.")
    method: str = Field(description="The attack that was strongest on known records.")


class MembershipContent(Part):
    """Membership inference against both models."""

    records: Few = Field(description="Records attacked, half of them members.")
    shared: Share = Field(
        description="Share of the others who seem to be members as well, rounded up: then the attack looks too weak."
    )
    models: dict[str, MemberContent] = Field(description="release, raw → what the model tells.")


class Content(Head):
    """The report of a k-anonymous release."""

    modicum: Literal["release"] = Field(description="The kind of report.")
    method: str = Field(description="How groups were made.")
    form: Literal["values", "ranges"] = Field(description="Values of the original domain, or intervals and lists.")
    unit: Literal["records", "people"] = Field(description="What k counts.")
    label: str | None = Field(description="What is predicted.")
    promise: Promise = Field(description="What was asked for.")
    measured: MeasuredContent = Field(description="What was counted anew on the release.")
    information_loss: Share = Field(description="NCP over all quasi-identifiers.")
    attributes: list[AttributeContent] = Field(description="Column by column.")
    crowds: Crowds = Field(description="Who stands alone and who is linked.")
    inference: list[InferenceContent] = Field(description="What a person's group tells of each sensitive attribute.")
    utility: UtilityContent | None = Field(description="What a model loses; null where not measured.")
    membership: MembershipContent | None = Field(
        description="What models tell of who they were trained on; null where not measured."
    )
    skipped: dict[str, str] = Field(description="What was not measured → why.")
