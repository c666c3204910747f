"""The data of a k-anonymous release's report: its fields, its sentences, and how evidence fills them."""

from typing import Any, Literal

from pydantic import Field

from modicum.evaluation import ReleaseEvidence
from modicum.evaluation.evidence.release_measures import GroupGuess
from modicum.reporting.disclosure import (
    check_size,
    few,
    highest,
    outward,
    ranking_of,
    select_comparable_groups,
    tens,
    tens_up,
)
from modicum.reporting.formats import count_of, in_disguise, number, percent, quote_name
from modicum.reporting.parts import ContentPart, CrowdContent, Ends, Few, Head, Share, crowd_content
from modicum.reporting.release_parts import ErrorContent, GroupError, head, too_few
from modicum.table.codes import FEW
from modicum.table.values import plain


class Promise(ContentPart):
    """What was asked for."""

    k: int = Field(description="The fewest people who share their quasi-identifiers.")
    l: float | None = Field(description="The fewest (or effective number of) sensitive values in a group.")
    t: float | None = Field(description="The largest distance of a group's sensitive values from everybody's.")
    diversity: str | None = Field(description="What l counts: distinct, entropy or recursive.")
    c: float | None = Field(description="The constant of recursive diversity.")
    distance: str | None = Field(description="What t measures: equal, ordered or hierarchical.")


class MeasuredContent(ContentPart):
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


class ReleaseAttributeContent(ContentPart):
    """One column and how it was published."""

    name: str = Field(description="The column.")
    role: str = Field(description="quasi-identifier, sensitive, label, identifier, person or other.")
    published: Literal["unchanged", "generalized", "the same for all", "left out"] = Field(
        description="What became of its values."
    )
    ncp: Share = Field(description="Information loss (NCP): 0 is full detail, 1 is nothing.")
    values_before: int = Field(description="Different values before, of those who were released.")
    values_after: int = Field(description="Different values after.")


class CrowdPair(ContentPart):
    """The same counted on the release and on the full records."""

    release: CrowdContent = Field(description="Counted on the release.")
    raw: CrowdContent = Field(description="Counted on the full records.")


class Crowds(ContentPart):
    """Who stands alone and who is linked, by what an adversary knows."""

    quasi_identifiers: CrowdPair = Field(description="Against someone who knows the quasi-identifiers.")
    all_columns: CrowdPair = Field(description="Against someone who knows every published column.")


class GuessContent(ContentPart):
    """A guess of a value from a person's group."""

    right: Share = Field(description="Share of records guessed right, in tens of people.")
    interval: Ends = Field(description="Its 95% interval; groups are taken for independent.")
    certain: Share = Field(description="Share of records in a group with one value only, rounded up to tens of people.")


class InferenceContent(ContentPart):
    """An attribute that is guessed from a person's group."""

    attribute: str = Field(description="The attribute.")
    values: int = Field(description="Among how many values.")
    in_ranges: bool = Field(description="Whether a number is guessed by its range.")
    naive: Share = Field(description="Share of records with the most frequent value of all.")
    release: GuessContent = Field(description="From the person's group in the release.")
    raw: GuessContent = Field(description="From the raw quasi-identifiers.")


class ReleaseUtilityContent(ContentPart):
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


class MemberContent(ContentPart):
    """How well one model tells who it was trained on."""

    accuracy: Share = Field(description="Share of right answers; guessing gives one half.")
    interval: Ends = Field(description="Its 95% interval.")
    auc: float | None = Field(description="Chance that a member scores above another record.")
    auc_interval: Ends = Field(description="Its 95% interval.")
    method: str = Field(description="The attack that was strongest on known records.")


class MembershipContent(ContentPart):
    """Membership inference against both models."""

    records: Few = Field(description="Records attacked, half of them members.")
    shared: Share = Field(
        description="Share of the others who seem to be members as well, rounded up: then the attack looks too weak."
    )
    models: dict[str, MemberContent] = Field(description="release, raw → what the model tells.")


class ReleaseContent(Head):
    """The report of a k-anonymous release."""

    modicum: Literal["release"] = Field(description="The kind of report.")
    method: str = Field(description="How groups were made.")
    form: Literal["values", "ranges"] = Field(description="Values of the original domain, or intervals and lists.")
    unit: Literal["records", "people"] = Field(description="What k counts.")
    label: str | None = Field(description="What is predicted.")
    promise: Promise = Field(description="What was asked for.")
    measured: MeasuredContent = Field(description="What was counted anew on the release.")
    information_loss: Share = Field(description="NCP over all quasi-identifiers.")
    attributes: list[ReleaseAttributeContent] = Field(description="Column by column.")
    crowds: Crowds = Field(description="Who stands alone and who is linked.")
    inference: list[InferenceContent] = Field(description="What a person's group tells of each sensitive attribute.")
    utility: ReleaseUtilityContent | None = Field(description="What a model loses; null where not measured.")
    membership: MembershipContent | None = Field(
        description="What models tell of who they were trained on; null where not measured."
    )
    skipped: dict[str, str] = Field(description="What was not measured → why.")


# The sentences of a k-anonymous release's report.


def decision(content: dict[str, Any]) -> str:
    """The decision in one paragraph."""
    own, asked, crowds = content["measured"], content["promise"], content["crowds"]["quasi_identifiers"]
    quasi = [each for each in content["attributes"] if each["role"] == "quasi-identifier"]
    told = (
        f"This release publishes {count_of(own['records'], 'record')} in which the smallest group that shares all "
        f"{count_of(len(quasi), 'quasi-identifier')} has {count_of(own['k'], 'person', 'people')} "
        f"({number(asked['k'])} were asked for)"
    )
    told += f", after leaving out {number(own['left_out'])}" if own["left_out"] else ", with nobody left out"
    told += (
        f". By these attributes {percent(crowds['release']['alone'])} of the records stand alone "
        f"({percent(crowds['raw']['alone'])} before); {percent(content['information_loss'])} of their detail is lost."
    )
    utility = content["utility"]
    if utility is not None:
        errors = utility["errors"]
        told += (
            f" A model for {quote_name(content['label'])} that learns from such a release is wrong for "
            f"{percent(errors['release']['error'])} of new records ({percent(errors['raw']['error'])} from raw "
            f"records, {percent(errors['majority']['error'])} when always guessing the majority)."
        )
    return told


def warnings(content: dict[str, Any]) -> list[str]:
    """What must be known before the numbers are believed."""
    crowds, utility, own = content["crowds"], content["utility"], content["measured"]
    everything, sure = crowds["all_columns"]["release"], [e for e in content["inference"] if e["release"]["certain"]]
    likely = [e for e in content["inference"] if e not in sure and e["release"]["right"] > e["naive"] + 0.05]
    told = [
        (not own["kept"], "The release does NOT have what was asked for: see the promise below."),
        (
            everything["alone"] > 0,
            f"{percent(everything['alone'])} of the released records are unique when every published column is known, "
            "because columns that are no quasi-identifiers are published as they are. k protects only against "
            "someone who knows the quasi-identifiers and nothing else.",
        ),
        (
            bool(sure),
            "Some groups have one value only of "
            + ", ".join(
                f"{quote_name(e['attribute'])} ({percent(e['release']['certain'])} of the records)" for e in sure
            )
            + ": for everyone in such a group it is known for certain, whatever k is.",
        ),
        (
            bool(likely),
            "A person's group tells more than the most frequent value of all does: "
            + ", ".join(
                f"{quote_name(e['attribute'])} is guessed right for {percent(e['release']['right'])} of the records "
                f"({percent(e['naive'])} without the group)"
                for e in likely
            )
            + ".",
        ),
        (
            content["membership"] is not None and content["membership"]["shared"] > 0,
            "Some of the test records seem to be of people who are in the release: prediction looks better, and the "
            "membership attack weaker, than they are.",
        ),
        (utility is not None and utility["is_weak"], "Even raw records barely predict the label."),
        in_disguise(*(None if utility is None else utility["errors"][kind]["error"] for kind in ("raw", "majority"))),
    ]
    return [text for applies, text in told if applies]


def limits(content: dict[str, Any]) -> list[str]:
    """What the method does and does not say."""
    told = [
        "k-anonymity bounds how well a person is recognised by the quasi-identifiers that were named, and nothing "
        "else. Which attributes others may know is a judgement that people made; every other column is published as "
        "it is.",
        "It says nothing about what a group has in common: where all people of a group share a sensitive value, it is "
        "known of each of them, however large k is. What l and t add holds for the one attribute they were asked for.",
        "It is not differential privacy: someone who knows more about a person, or has other releases of the same "
        "people, can learn more than is shown here.",
        "Who stands alone or is linked is counted for an adversary who knows that a person is in the table. One who "
        "does not know this does worse.",
        "The guess from a group is the best for someone who sees the group alone. Other published columns may tell "
        "more, and were not tried.",
        "k, l, t and the number of groups are told exactly, since they are the promise and whoever has the published "
        "table can count groups. What was counted on full records is rounded to tens of people.",
    ]
    if content["utility"] is not None and content["utility"]["held_out"]:
        told.append(
            "Prediction and membership were measured with a second release, made by the same settings from 70% of "
            "the records, and tested on the other 30%: the published release has all records, so nobody is left to "
            "test it on. A model that learns from all of them may do slightly better."
        )
    return told


# Evidence of a k-anonymous release as plain data: every number its report shows, and none that tells of a few.

SEEN = {"quasi-identifiers": "quasi_identifiers", "every published column": "all_columns"}


def release_summary(
    found: ReleaseEvidence,
    purpose: str | None = None,
    date: str | None = None,
    command: str | None = None,
    people: str | None = None,
) -> dict[str, Any]:
    """Everything the report of a k-anonymous release shows, ready for JSON."""
    check_size(found.people, "records" if found.persons is None else "people in the records")
    release = found.release
    content = head("release", purpose, date, found.provenance, command, people)
    content |= {
        "method": release.method,
        "form": release.output,
        "unit": "records" if found.persons is None else "people",
        "label": found.label,
        "promise": {name: release.asked.get(name) for name in ("k", "l", "t", "diversity", "distance", "c")},
        "measured": _summarize_measures(found),
        "information_loss": release.ncp,
        "attributes": [plain(vars(each)) for each in found.attributes],
        "crowds": {
            SEEN[key]: {
                name: crowd_content(each, key == "quasi-identifiers" and name == "release")
                for name, each in own.items()
            }
            for key, own in found.crowds.items()
        },
        "inference": [_inference(each, found) for each in found.inference],
        "utility": _utility(found),
        "membership": _membership(found),
        "skipped": dict(found.skipped) | _too_few(found),
    }
    content |= {"decision": decision(content), "warnings": warnings(content), "limits": limits(content)}
    return dict(plain(content))


def _summarize_measures(found: ReleaseEvidence) -> dict[str, Any]:
    """What the published table shows to anybody who counts is told exactly."""
    own, crowd = found.measured, found.crowds["quasi-identifiers"]["release"]
    return {
        "k": own.k,
        "sensitive": own.sensitive,
        "distinct_l": own.distinct_l,
        "l": own.l,
        "t": own.t,
        "distance": own.distance,
        "kept": own.kept,
        "groups": crowd.groups,
        "largest_group": crowd.largest if found.persons is None else few(crowd.largest),
        "highest_risk": crowd.highest,
        "records": few(found.release.rows),
        "left_out": few(found.release.suppressed) if found.release.suppressed else 0,
    }


def _inference(each: Any, found: ReleaseEvidence) -> dict[str, Any]:
    n = found.people
    return {
        "attribute": each.attribute,
        "values": each.values,
        "in_ranges": each.in_ranges,
        "naive": tens(each.naive, n),
        "release": _guess(each.release, n),
        "raw": _guess(each.raw, n),
    }


def _guess(guess: GroupGuess, n: int) -> dict[str, Any]:
    return {
        "right": tens(guess.right, n),
        "interval": outward(guess.interval, n),
        "certain": tens_up(guess.certain, n),
    }


def _too_few(found: ReleaseEvidence) -> dict[str, str]:
    """Why models are not told of, where they were tested on few people."""
    why = too_few(found.tested) if found.utility is not None else None
    return {} if why is None else {"utility": why, "membership": why}


def _utility(found: ReleaseEvidence) -> dict[str, Any] | None:
    if found.utility is None or too_few(found.tested):
        return None
    own, n = found.utility.to_dict(), found.tested
    error = own["scores"]["error"]
    auc = own["scores"]["auc"]
    large = {name: each for name, each in own["by_group"].items() if each["persons"] >= FEW}
    groups = {name: _group(each) for name, each in large.items()}
    errors = {name: each["errors"]["release"] for name, each in groups.items()}
    return {
        "held_out": found.held_out,
        "estimator": own["estimator"],
        "records": few(own["records"]),
        "trained_on": few(own["trained_on"]),
        "errors": {
            "release": {"error": tens(own["error"], n), "interval": outward(own["interval"], n)},
            "raw": {"error": tens(own["raw_error"], n), "interval": outward(error["raw_interval"], n)},
            "majority": {"error": tens(own["majority_error"], n), "interval": None},
        },
        "auc": {name: ranking_of(auc[key], n) for name, key in (("release", "minimized"), ("raw", "raw"))},
        "auc_interval": ranking_of(_ends(auc["interval"]), n),
        "skill_kept": _round_or_none(own["skill_kept"]),
        "skill_interval": [_round_or_none(end) for end in own["skill_interval"]],
        "is_weak": own["is_weak"],
        "by_group": groups,
        "small_groups": len(own["by_group"]) - len(large),
        "worst_group": highest(
            errors, select_comparable_groups({name: each["persons"] for name, each in large.items()})
        ),
    }


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _ends(ends: Any) -> list[float] | None:
    """An interval whose ends exist, to three digits."""
    return None if ends is None or any(end is None or end != end for end in ends) else [round(end, 3) for end in ends]


def _group(group: dict[str, Any]) -> dict[str, Any]:
    n = group["persons"]
    errors = {name: tens(group[key], n) for name, key in (("release", "error"), ("raw", "raw_error"))}
    return {
        "records": few(group["records"]),
        "errors": errors | {"majority": tens(group["majority_error"], n)},
        "interval": outward(group["interval"], n),
    }


def _membership(found: ReleaseEvidence) -> dict[str, Any] | None:
    if found.membership is None or too_few(found.tested):
        return None
    own = next(iter(found.membership.values()))
    others = max(1, (own.records + own.known) // 2)  # half of all are members
    return {
        "records": few(own.records),
        "shared": tens_up(min(1.0, own.overlap / others), others),
        "models": {
            name: {
                "accuracy": tens(float(each.accuracy.value or 0), each.records),
                "interval": outward(each.accuracy.interval, each.records),
                "auc": _round_or_none(each.auc.value),
                "auc_interval": _ends(each.auc.interval),
                "method": each.method,
            }
            for name, each in found.membership.items()
        },
    }
