"""What the reports on k-anonymous and anatomized releases share."""

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

LEVEL = "The 95% interval below a share shows where it would lie for other records of the same kind."
BELOW = "95% intervals are below the figures."
FOOTER = "Counts of fewer than ten people are written “< 10”; shares are rounded to tens of people."


def describe_expected_uniques(crowd: CrowdContent, where: str) -> list[Block]:
    """State how many people are expected to be unique in the population; nothing if its size is unknown."""
    expected = crowd.expected
    if expected is None:
        return []
    low, high = (number(end) for end in expected.interval)
    return [
        Text(
            f"Of the {number(expected.population)} people that the records were drawn from, about "
            f"{number(expected.unique)} ({low} to {high}) are expected to be unique by {where}. This is a rough "
            "estimate, more often too high than too low."
        )
    ]


def list_sizes(columns: Mapping[str, CrowdContent]) -> Table:
    """Make a table of the shares of records by the size of their group, one column for each of `columns`."""
    first = next(iter(columns.values())).sizes
    rows = [[size, *(percent(own.sizes[size]) for own in columns.values())] for size in first]
    return Table(name_columns("people in the group", *(f"share of records, {name}" for name in columns)), rows)


# What a model loses that learns from a release: data.


class ErrorContent(ContentPart):
    """A share of wrong predictions."""

    error: Share = Field(description="Share of test records predicted wrong, in tens of people.")
    interval: Ends = Field(description="Its 95% interval.")

    @classmethod
    def of(cls, error: float, interval: Interval | None, people: int) -> Self:
        """Round the error on records of so many people."""
        return cls(error=tens(error, people), interval=outward(interval, people))


class GroupError(ContentPart):
    """The errors within one group of test records."""

    records: Few = Field(description="Test records of the group.")
    errors: dict[str, Share] = Field(description="Training data → share of wrong predictions.")
    interval: Ends = Field(description="95% interval of the model on the release.")

    @classmethod
    def of(cls, records: int, people: int, errors: Mapping[str, float], interval: Interval) -> Self:
        """Round the errors on records of so many people."""
        return cls(
            records=few(records),
            errors={name: tens(error, people) for name, error in errors.items()},
            interval=outward(interval, people),
        )


class TrialContent(ContentPart):
    """A model trained on a release, compared with others."""

    held_out: bool = Field(description="Whether the model learned from a second release, made from 70% of the records.")
    estimator: str = Field(description="What predicts the label.")
    records: Few = Field(description="Test records.")
    trained_on: Few = Field(description="Training records.")
    errors: dict[str, ErrorContent] = Field(description="Training data → error.")
    by_group: dict[str, GroupError] = Field(description="Group of at least ten people → its errors.")
    small_groups: int = Field(description="How many smaller groups are not shown.")
    worst_group: str | None = Field(description="The group with the highest error among those large enough to compare.")


def explain_too_few(people: int) -> str | None:
    """Say why the figures of a model are left out if it was tested on too few people; else None.

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
    """Return the group with the highest error after training on `source`, among those large enough to compare."""
    return highest({name: each.errors[source] for name, each in groups.items()}, select_comparable_groups(people))


# What a model loses that learns from a release: the section.


def build_error_card(found: TrialContent, source: str) -> Card:
    """Show the error after training on `source`, with that of raw records below."""
    note = f"{percent(found.errors['raw'].error)} from raw records"
    return Card("model's error", percent(found.errors[source].error), note)


def describe_trial(found: TrialContent, label: str | None) -> Text:
    """Describe the model, what it predicts, and the test records."""
    where = (
        "The published release has all records, so none are left for testing. A second release was made with the same "
        "settings from 70% of the records, and the model was tested on the other 30%."
        if found.held_out
        else "The model learned from the release itself and was tested on other records."
    )
    return Text(
        f"The same kind of model ({found.estimator}) learns from {number(found.trained_on)} records. The table shows "
        f"how often it is wrong about {quote_name(label)} on {number(found.records)} full records. {where} {BELOW}"
    )


def draw_errors(errors: Mapping[str, ErrorContent], names: Mapping[str, str]) -> Picture:
    """Draw the errors as bars."""
    rows = [(names[key], each.error, each.interval) for key, each in errors.items()]
    return Picture(bars_chart(rows, "Share of wrong predictions"))


def describe_groups(found: TrialContent, names: Mapping[str, str]) -> list[Block]:
    """Show the errors of each group of at least ten people; the first of `names` gets its interval."""
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
        worst = f"After training on the release, the error is highest for {quote_name(found.worst_group)}. "
        blocks.append(Text(worst + COMPARED))
        blocks.append(Table(name_columns("group", "records", *names.values()), rows))
    if found.small_groups:
        are = "is" if found.small_groups == 1 else "are"
        many = count_of(found.small_groups, "group")
        blocks.append(Text(f"{many} of fewer than ten people {are} not shown.", "soft"))
    return blocks
