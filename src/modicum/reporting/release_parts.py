"""What the reports of a k-anonymous and of an anatomized release have in common."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field

from modicum.measures.intervals import Interval
from modicum.reporting.charts import bars_chart
from modicum.reporting.disclosure import (
    COMPARED,
    LEAST_RECORDS,
    few,
    highest,
    outward,
    select_comparable_groups,
    tens,
)
from modicum.reporting.document import Block, Card, Picture, Table, TableCell, Text
from modicum.reporting.formats import count_of, number, percent, quote_name
from modicum.reporting.parts import ContentPart, CrowdContent, Ends, Few, Share, figure, name_columns

LEVEL = "Below a share stands its 95% interval: where it would lie for other records of the same kind."
BELOW = "95% intervals stand below."
FOOTER = "Counts of fewer than ten people are written “< 10”; shares are in tens of people."


def describe_expected_uniques(crowd: CrowdContent, where: str) -> list[Block]:
    """How many stand alone in the population, in words; nothing where its size is not known."""
    expected = crowd.expected
    if expected is None:
        return []
    low, high = (number(end) for end in expected.interval)
    return [
        Text(
            f"Of the {number(expected.population)} people that the records were drawn from, about "
            f"{number(expected.unique)} ({low} to {high}) are expected to stand alone by {where}; a rough estimate, "
            "more often too high than too low."
        )
    ]


def list_sizes(columns: Mapping[str, CrowdContent]) -> Table:
    """Shares of records by the size of their group, one column for each table."""
    first = next(iter(columns.values())).sizes
    rows = [[size, *(percent(own.sizes[size]) for own in columns.values())] for size in first]
    return Table(name_columns("people in the group", *(f"share of records, {name}" for name in columns)), rows)


# What a model loses that learns from a release: the data that reports of releases share.


class ErrorContent(ContentPart):
    """A share of wrong predictions."""

    error: Share = Field(description="Share of test records predicted wrong, in tens of people.")
    interval: Ends = Field(description="Its 95% interval.")

    @classmethod
    def of(cls, error: float, interval: Interval | None, people: int) -> Self:
        """The error on records of so many people."""
        return cls(error=tens(error, people), interval=outward(interval, people))


class GroupError(ContentPart):
    """The errors within one group of test records."""

    records: Few = Field(description="Test records of the group.")
    errors: dict[str, Share] = Field(description="What was learned from → share of wrong predictions.")
    interval: Ends = Field(description="95% interval of the model on the release.")

    @classmethod
    def of(cls, records: int, people: int, errors: Mapping[str, float], interval: Interval) -> Self:
        """The errors on records of so many people."""
        return cls(
            records=few(records),
            errors={name: tens(error, people) for name, error in errors.items()},
            interval=outward(interval, people),
        )


class TrialContent(ContentPart):
    """A model that learned from a release beside others."""

    held_out: bool = Field(description="Whether a second release of 70% of the records was learned from.")
    estimator: str = Field(description="What predicts the label.")
    records: Few = Field(description="Records tested on.")
    trained_on: Few = Field(description="Records learned from.")
    errors: dict[str, ErrorContent] = Field(description="What was learned from → error.")
    by_group: dict[str, GroupError] = Field(description="Group of at least ten people → its errors.")
    small_groups: int = Field(description="How many groups of fewer people are not shown.")
    worst_group: str | None = Field(description="The group with the highest error, of those of a hundred people.")


def explain_too_few(people: int) -> str | None:
    """Why figures of a model are left out that was tested on so few people; None if these are enough.

    Examples
    --------
    >>> from modicum.reporting.release_parts import explain_too_few
    >>> explain_too_few(60), explain_too_few(100)
    ('Tested on fewer than 100 people: too few to report percentages safely or reliably.', None)
    """
    if people >= LEAST_RECORDS:
        return None
    return f"Tested on fewer than {LEAST_RECORDS} people: too few to report percentages safely or reliably."


def find_worst_group(groups: Mapping[str, GroupError], people: Mapping[str, int], source: str) -> str | None:
    """The group with the highest error after learning from `source`, of those that can be compared."""
    return highest({name: each.errors[source] for name, each in groups.items()}, select_comparable_groups(people))


# The section about it.


def build_error_card(found: TrialContent, source: str) -> Card:
    """The error after learning from `source`, beside that of raw records."""
    note = f"{percent(found.errors['raw'].error)} from raw records"
    return Card("model's error", percent(found.errors[source].error), note)


def describe_trial(found: TrialContent, label: str | None) -> Text:
    """Which model, what it predicts, and on which records it was tested."""
    where = (
        "The published release has all records, so nobody is left to test it on: a second one was made by the same "
        "settings of 70% of the records, and tested on the other 30%."
        if found.held_out
        else "The model learned from the release itself and was tested on other records."
    )
    return Text(
        f"How often the same kind of model ({found.estimator}) is wrong about {quote_name(label)} on "
        f"{number(found.records)} full records, after learning from {number(found.trained_on)}. {where} {BELOW}"
    )


def draw_errors(errors: Mapping[str, ErrorContent], names: Mapping[str, str]) -> Picture:
    """The errors as bars."""
    rows = [(names[key], each.error, each.interval) for key, each in errors.items()]
    return Picture(bars_chart(rows, "Share of wrong predictions"))


def describe_groups(found: TrialContent, names: Mapping[str, str]) -> list[Block]:
    """The errors of each group of at least ten people; the first of `names` has its interval."""
    blocks: list[Block] = []
    first, *others = names
    if found.by_group:
        rows: list[list[TableCell | str]] = [
            [
                name,
                number(each.records),
                figure(each.errors[first], each.interval),
                *(percent(each.errors[key]) for key in others),
            ]
            for name, each in found.by_group.items()
        ]
        worst = f"Of those who learned from the release, the error is highest for {quote_name(found.worst_group)}. "
        blocks.append(Text(worst + COMPARED))
        blocks.append(Table(name_columns("group", "records", *names.values()), rows))
    if found.small_groups:
        are = "is" if found.small_groups == 1 else "are"
        many = count_of(found.small_groups, "group")
        blocks.append(Text(f"{many} of fewer than ten people {are} not shown.", "soft"))
    return blocks
