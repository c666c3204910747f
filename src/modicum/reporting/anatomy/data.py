"""The data of an anatomized release's report: its fields, its sentences, and how evidence fills them."""

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from modicum.attacks import MatchingResult
from modicum.evaluation import AnatomyEvidence
from modicum.reporting.disclosure import check_size, few, highest, outward, select_comparable_groups, tens
from modicum.reporting.formats import count_of, in_disguise, no_better, number, percent, quote_name
from modicum.reporting.parts import ContentPart, CrowdContent, Ends, Few, Head, Share, crowd_content
from modicum.reporting.release_parts import ErrorContent, GroupError, head, too_few
from modicum.table.codes import FEW
from modicum.table.values import plain


class SensitiveContent(ContentPart):
    """One sensitive attribute in its table, counted anew; exact, since the published table shows it."""

    name: str = Field(description="The attribute.")
    l: int = Field(description="The largest l such that no value is more than 1/l of any group.")
    distinct_l: int = Field(description="The fewest different values in a group.")
    highest: Share = Field(description="The largest share that one value has in any group.")
    groups: int = Field(description="How many groups there are.")
    smallest: int = Field(description="Records in the smallest group.")
    largest: int = Field(description="Records in the largest group.")
    values: int = Field(description="Different values.")


class AnatomyAttributeContent(ContentPart):
    """One column and where it stands."""

    name: str = Field(description="The column.")
    role: Literal["identifying", "sensitive", "class", "left out"] = Field(description="What it is taken for.")
    table: str = Field(description="The table in which its exact values are published.")
    values: int = Field(description="Different values, of those who were released.")


class AdversaryContent(ContentPart):
    """How often one adversary gives people their right value."""

    name: str = Field(description="What it is called.")
    means: str = Field(description="Who it is, in words.")
    right: Share = Field(description="Share of people given the right value, in tens of people.")
    interval: Ends = Field(description="Its 95% interval; groups are taken for independent.")


class MatchingContent(ContentPart):
    """People matched to the values of their group."""

    sensitive: str = Field(description="The sensitive attribute.")
    promised: Share = Field(description="1/l as it was asked for (as counted where that is not known).")
    naive: Share = Field(description="Share of people with the most frequent value of all.")
    raw: Share = Field(description="Where the records are published as they are: every value is known.")
    learned: Share = Field(description="Right by the adversary who learns from the release alone.")
    interval: Ends = Field(description="Its 95% interval.")
    adversaries: list[AdversaryContent] = Field(description="Each adversary that was tried.")
    note: str | None = Field(description="What the figure does not say.")


class AnatomyUtilityContent(ContentPart):
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


class AnatomyContent(Head):
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
    attributes: list[AnatomyAttributeContent] = Field(description="Column by column.")
    crowds: dict[str, CrowdContent] = Field(description="What is known of a person → who stands alone in the table.")
    matching: list[MatchingContent] = Field(description="What adversaries learn of each sensitive attribute.")
    utility: AnatomyUtilityContent | None = Field(description="What a model loses; null where not measured.")
    skipped: dict[str, str] = Field(description="What was not measured → why.")


# The sentences of an anatomized release's report.


def decision(content: dict[str, Any]) -> str:
    """The decision in one paragraph."""
    names = " and ".join(quote_name(each["name"]) for each in content["measured"])
    highest = max(each["highest"] for each in content["measured"])
    told = (
        f"This release publishes {count_of(content['records'], 'record')} as tables tied by groups: every value is "
        f"exact, but it is not said who of a group has which value of {names}. No value has more than "
        f"{percent(highest)} of any group"
    )
    asked = content["asked_l"]
    told += "" if asked is None else f" ({percent(1 / asked)}, one in {number(asked)}, was asked for)"
    left_out = count_of(content["left_out"], "record") if content["left_out"] else "nobody"
    told += f"; left out: {left_out}."
    for each in content["matching"]:
        told += (
            f" Someone who learns from the release alone is right about {quote_name(each['sensitive'])} for "
            f"{percent(each['learned'])} of people ({percent(each['promised'])} is the promise against someone who "
            f"learns nothing; {percent(each['naive'])} have the most frequent value)."
        )
    if content["utility"] is not None:
        errors = content["utility"]["errors"]
        told += (
            f" A model for {quote_name(content['label'])} that learns from such tables is wrong for "
            f"{percent(errors['pruned']['error'])} of new records ({percent(errors['raw']['error'])} from raw records, "
            f"{percent(errors['majority']['error'])} when always guessing the majority)."
        )
    return told


def warnings(content: dict[str, Any]) -> list[str]:
    """What must be known before the numbers are believed."""
    alone = next(iter(content["crowds"].values()))["alone"]
    told = [
        (not content["kept"], "The release does NOT have what was asked for: see the promise below."),
        (
            content["has_repeated"],
            "Some people have several records. Whoever knows which are one person's sees which values all their "
            "groups have in common: for these people the promise does not hold.",
        ),
    ]
    told.append(
        (
            alone > 0,
            f"{percent(alone)} of the people are unique in the identifying table, whose values are published exactly: "
            "whoever knows these attributes finds the person. Anatomy hides the sensitive value, not the person.",
        )
    )
    for each in content["matching"]:
        low = (each["interval"] or [0.0])[0]
        told.append(
            (
                low > each["promised"],
                f"The promise of {percent(each['promised'])} for {quote_name(each['sensitive'])} is about an "
                "adversary who "
                "takes every matching of people to values to be equally likely. One who learns from the release how "
                f"attributes go with values is right for {percent(each['learned'])} of people: more than promised.",
            )
        )
        told.append((each["note"] is not None, f"{each['sensitive']}: {each['note']}"))
    if content["utility"] is not None:
        errors = content["utility"]["errors"]
        told.append(
            no_better(errors["pruned"]["error"], errors["majority"]["error"], "A model that learns from the tables")
        )
        told.append(in_disguise(errors["raw"]["error"], errors["majority"]["error"]))
    return [text for applies, text in told if applies]


def limits(content: dict[str, Any]) -> list[str]:
    """What the method does and does not say."""
    told = [
        "1/l bounds the chance of a value where every matching of people to values is as likely. It does not bound "
        "what somebody reaches who learns from the release, or who knows some people's values.",
        "The adversaries are those that were tried, not the strongest there can be. Someone who has more records of "
        "other people, or knows the values of some of a group, can do better.",
        "Nothing in the identifying table is hidden: names, numbers of people and the like must be left out of it.",
        "Groups, shares in groups and columns are told exactly: whoever has the published tables can count them. All "
        "other counts are rounded to tens of people.",
        "Neither the seed of the groups nor a hash of the full records is printed: with these, guesses of who has "
        "which value could be tested.",
    ]
    if content["utility"] is not None and content["utility"]["held_out"]:
        told.append(
            "Prediction was measured with a second release, made by the same settings from 70% of the records, and "
            "tested on the other 30%: the published release has all records, so nobody is left to test it on."
        )
    return told


# Evidence of an anatomized release as plain data: every number its report shows, and none that tells of a few.

_ALIKE = "deFinetti, "  # the same adversary by each of its learners


def anatomy_summary(
    found: AnatomyEvidence,
    purpose: str | None = None,
    date: str | None = None,
    command: str | None = None,
    people: str | None = None,
) -> dict[str, Any]:
    """Everything the report of an anatomized release shows, ready for JSON."""
    check_size(found.people, "people in the records" if found.repeated else "records")
    content = head("anatomy", purpose, date, found.provenance, command, people)
    content |= {
        "grouping": found.release.grouping,
        "label": found.label,
        "asked_l": found.l,
        "kept": all(each.l >= (found.l or 1) for each in found.measured),
        "records": few(found.release.rows),
        "left_out": few(found.left_out) if found.left_out else 0,
        "has_repeated": found.repeated,
        "measured": [asdict(each) for each in found.measured],
        "attributes": [asdict(each) for each in found.attributes],
        "crowds": {name: crowd_content(each) for name, each in found.crowds.items()},
        "matching": [_matching(each, found) for each in found.matching],
        "utility": _utility(found),
        "skipped": dict(found.skipped) | _too_few(found),
    }
    content |= {"decision": decision(content), "warnings": warnings(content), "limits": limits(content)}
    return dict(plain(content))


def _matching(result: MatchingResult, found: AnatomyEvidence) -> dict[str, Any]:
    n, told = found.people, result.to_dict()
    return {
        "sensitive": result.sensitive,
        "promised": 1 / (found.l or result.l),
        "naive": tens(result.naive, n),
        "raw": 1.0,
        "learned": tens(result.accuracy, n),
        "interval": outward(result.interval, n),
        "adversaries": [
            {
                "name": name,
                "means": each["means"],
                "right": tens(each["value"], n),
                "interval": outward(each["interval"], n),
            }
            for name, each in told["by_adversary"].items()
            if not name.startswith(_ALIKE)
        ],
        "note": result.note,
    }


def _too_few(found: AnatomyEvidence) -> dict[str, str]:
    why = None if found.utility is None else too_few(found.utility.people)
    return {} if why is None else {"utility": why}


def _utility(found: AnatomyEvidence) -> dict[str, Any] | None:
    own = found.utility
    if own is None or too_few(own.people):
        return None
    large = {name: each for name, each in own.by_group.items() if each.people >= FEW}
    groups: dict[str, Any] = {
        name: {
            "records": few(each.records),
            "errors": {kind: tens(one.error, each.people) for kind, one in each.errors.items()},
            "interval": outward(each.errors["pruned"].interval, each.people),
        }
        for name, each in large.items()
    }
    errors = {name: each["errors"]["pruned"] for name, each in groups.items()}
    return {
        "held_out": found.held_out,
        "estimator": own.estimator,
        "records": few(own.records),
        "trained_on": few(own.trained_on),
        "errors": {
            name: {"error": tens(each.error, own.people), "interval": outward(each.interval, own.people)}
            for name, each in own.errors.items()
        },
        "by_group": groups,
        "small_groups": len(own.by_group) - len(large),
        "worst_group": highest(errors, select_comparable_groups({name: each.people for name, each in large.items()})),
    }
