"""What a model loses that learns from a release: the section that reports of releases share."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from modicum.reporting.content import Ends, Few, Part, Share
from modicum.reporting.disclosure import COMPARED
from modicum.reporting.document import Block, Cell, Picture, Table, Text
from modicum.reporting.formats import count_of, named, number, percent
from modicum.reporting.release_charts import bars_chart
from modicum.reporting.release_parts import BELOW, figure, words


class ErrorContent(Part):
    """A share of wrong predictions."""

    error: Share = Field(description="Share of test records predicted wrong, in tens of people.")
    interval: Ends = Field(description="Its 95% interval.")


class GroupError(Part):
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
        f"{named(content['label'])} on {number(found['records'])} full records, after learning from "
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
        rows: list[list[Cell | str]] = [
            [
                name,
                number(each["records"]),
                figure(each["errors"][first], each["interval"]),
                *(percent(each["errors"][key]) for key in others),
            ]
            for name, each in found["by_group"].items()
        ]
        told = f"Of those who learned from the release, the error is highest for {named(found['worst_group'])}. "
        blocks.append(Text(told + COMPARED))
        blocks.append(Table(words("group", "records", *names.values()), rows))
    if found["small_groups"]:
        are = "is" if found["small_groups"] == 1 else "are"
        many = count_of(found["small_groups"], "group")
        blocks.append(Text(f"{many} of fewer than ten people {are} not shown.", "soft"))
    return blocks
