"""What the reports of a k-anonymous and of an anatomized release have in common."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from modicum.reporting.charts import bars_chart
from modicum.reporting.disclosure import COMPARED, LEAST_RECORDS
from modicum.reporting.document import Block, Bullets, Column, Picture, Section, Table, TableCell, Text
from modicum.reporting.formats import count_of, interval, number, percent, quote_name
from modicum.reporting.parts import ContentPart, Ends, Few, Share
from modicum.reporting.sources import day_in_words, provenance, provenance_section, sign_off

LEVEL = "Below a share stands its 95% interval: where it would lie for other records of the same kind."
BELOW = "95% intervals stand below."
FOOTER = "Counts of fewer than ten people are written “< 10”; shares are in tens of people."


def head(
    kind: str,
    purpose: str | None,
    date: str | None,
    found: Mapping[str, Any],
    command: str | None,
    people: str | None = None,
) -> dict[str, Any]:
    """What every report begins with."""
    made = provenance(found, date, command)
    return {"modicum": kind, "version": 1, "purpose": purpose, "people": people, "provenance": made}


def too_few(people: int) -> str | None:
    """Why a model's figures are not told that were measured on so few people; None where they are.

    Examples
    --------
    >>> from modicum.reporting.release_parts import too_few
    >>> too_few(60), too_few(100)
    ('Tested on fewer than 100 people, of whom shares would tell too much and mean too little.', None)
    """
    if people >= LEAST_RECORDS:
        return None
    return f"Tested on fewer than {LEAST_RECORDS} people, of whom shares would tell too much and mean too little."


def opening(content: dict[str, Any]) -> list[Block]:
    """Purpose, date, decision and what must be known first."""
    made = content["provenance"]
    whom = f"Records: {content['people']}. " if content["people"] else ""
    return [
        Text(f"Purpose: {content['purpose'] or 'not stated'}"),
        Text(f"{whom}Made on {day_in_words(made['date'])} with modicum {made['modicum_version']}.", "soft"),
        Text(content["decision"], "decision"),
        *(Text(warning, "warning") for warning in content["warnings"]),
    ]


def closing(content: dict[str, Any]) -> list[Section]:
    """Limits, where it comes from, and fields to sign."""
    limits = Section("What this does not say", [Bullets(content["limits"])])
    return [limits, provenance_section(content["provenance"]), sign_off()]


def figure(value: Any, ends: Any) -> TableCell:
    """A share with its interval below it."""
    told = interval(ends)
    return TableCell(percent(value), [told] if told else [])


def words(*titles: str) -> list[Column]:
    """A first head for names, the others for numbers."""
    return [Column(titles[0], is_number=False), *(Column(title) for title in titles[1:])]


def describe_expected_uniques(crowd: Mapping[str, Any], where: str) -> str | None:
    """How many stand alone in the population, in words."""
    expected = crowd["expected"]
    if expected is None:
        return None
    low, high = (number(end) for end in expected["interval"])
    return (
        f"Of the {number(expected['population'])} people that the records were drawn from, about "
        f"{number(expected['unique'])} ({low} to {high}) are expected to stand alone by {where}; a rough estimate, "
        "more often too high than too low."
    )


def sizes_table(columns: Mapping[str, Mapping[str, float]]) -> Table:
    """Shares of records by the size of their group, one column for each table."""
    first: Sequence[str] = list(next(iter(columns.values())))
    rows = [[size, *(percent(own[size]) for own in columns.values())] for size in first]
    return Table(words("people in the group", *(f"share of records, {name}" for name in columns)), rows)


# What a model loses that learns from a release: the section that reports of releases share.


class ErrorContent(ContentPart):
    """A share of wrong predictions."""

    error: Share = Field(description="Share of test records predicted wrong, in tens of people.")
    interval: Ends = Field(description="Its 95% interval.")


class GroupError(ContentPart):
    """The errors within one group of test records."""

    records: Few = Field(description="Test records of the group.")
    errors: dict[str, Share] = Field(description="What was learned from → share of wrong predictions.")
    interval: Ends = Field(description="95% interval of the model on the release.")


def trial_text(content: dict[str, Any]) -> str:
    """Which model, what it predicts, and on which records it was tested."""
    found = content["utility"]
    where = (
        "The published release has all records, so nobody is left to test it on: a second one was made by the same "
        "settings of 70% of the records, and tested on the other 30%."
        if found["held_out"]
        else "The model learned from the release itself and was tested on other records."
    )
    return (
        f"How often the same kind of model ({found['estimator']}) is wrong about "
        f"{quote_name(content['label'])} on {number(found['records'])} full records, after learning from "
        f"{number(found['trained_on'])}. {where} {BELOW}"
    )


def error_picture(errors: Mapping[str, Any], names: Mapping[str, str]) -> Picture:
    """The errors as bars."""
    rows = [(names[key], each["error"], each["interval"]) for key, each in errors.items()]
    return Picture(bars_chart(rows, "Share of wrong predictions"))


def group_blocks(found: dict[str, Any], names: Mapping[str, str]) -> list[Block]:
    """The errors of each group of at least ten people; the first of `names` has its interval."""
    blocks: list[Block] = []
    first, *others = names
    if found["by_group"]:
        rows: list[list[TableCell | str]] = [
            [
                name,
                number(each["records"]),
                figure(each["errors"][first], each["interval"]),
                *(percent(each["errors"][key]) for key in others),
            ]
            for name, each in found["by_group"].items()
        ]
        told = f"Of those who learned from the release, the error is highest for {quote_name(found['worst_group'])}. "
        blocks.append(Text(told + COMPARED))
        blocks.append(Table(words("group", "records", *names.values()), rows))
    if found["small_groups"]:
        are = "is" if found["small_groups"] == 1 else "are"
        many = count_of(found["small_groups"], "group")
        blocks.append(Text(f"{many} of fewer than ten people {are} not shown.", "soft"))
    return blocks
