"""The data of a report on one generalization: its fields, its sentences, and how evidence fills them."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from modicum.evaluation import Alternatives, Evidence
from modicum.evaluation._necessity import Necessity, Step
from modicum.generalization.bins import AnyPartition, Groups
from modicum.measures.certificate import confidence_text
from modicum.reporting.attack.data import AttackContent, attack_summary
from modicum.reporting.disclosure import (
    COARSE,
    at_least,
    at_most,
    change,
    change_outward,
    check_size,
    combinations,
    compute_weighted_mean,
    decimals_of,
    disclose_description,
    few,
    highest,
    outward,
    ranking_of,
    select_comparable_groups,
    tens,
    tens_up,
)
from modicum.reporting.formats import in_disguise, points, points_interval, quote_name
from modicum.reporting.parts import ContentPart, Ends, Few, Head
from modicum.reporting.sources import day_in_words, provenance
from modicum.table.codes import FEW
from modicum.table.values import plain


class Collected(ContentPart):
    """How much is asked."""

    attributes: int = Field(description="How many attributes there were.")
    needed: int = Field(description="How many are collected.")
    in_full_detail: int = Field(description="How many of those as they are, without buckets.")
    buckets: int = Field(description="How many answers can be chosen in all.")
    records: int = Field(description="Test records.")
    groups: Few = Field(description="Different combinations of answers among the test records.")
    smallest_group: Few = Field(description="How many people share the rarest combination.")


class BucketContent(ContentPart):
    """One answer that can be chosen."""

    label: str = Field(description="What the bucket is called.")
    takes: list[str] = Field(description="What else goes into it, such as missing values.")
    share: float | str | None = Field(description='Share of the test records, in tens of people; "< 10" below that.')
    values: list[str] | None = Field(description="The categories that it holds; null for a range.")


class AttributeContent(ContentPart):
    """One attribute: what becomes of it, and what an adversary learns about it."""

    name: str = Field(description="The attribute.")
    personal: bool = Field(description="Whether it is protected.")
    kind: Literal["number", "date", "ordered", "category"] = Field(description="What its values are.")
    decision: Literal["not collected", "coarsened", "kept"] = Field(description="What becomes of it.")
    n_buckets: int = Field(description="In how many buckets it is asked; 1 where it is not.")
    values: int = Field(description="How many different values it has in the training records.")
    buckets: list[BucketContent] = Field(description="Its buckets; none of a number in full detail.")
    adversary_error: float | None = Field(description="A1's error about it; null where it is not personal.")
    adversary_interval: Ends = Field(description="The 95% interval of that error.")
    naive_error: float | None = Field(description="The error of always naming the most frequent value.")
    raw_error: float | None = Field(description="The error on raw data, which is 0.")
    method: str | None = Field(description="Which of the portfolio's adversaries was the strongest.")
    certified_accuracy: float | None = Field(description="No adversary is right more often, on average.")
    certified_error: float | None = Field(description="1 minus the certified accuracy.")


class ScoreContent(ContentPart):
    """One score of the model."""

    minimized: float | None = Field(description="On minimized data.")
    raw: float | None = Field(description="On raw data.")
    majority: float | None = Field(description="When always guessing by the classes' shares.")
    interval: Any = Field(description="The 95% interval on minimized data.")
    raw_interval: Any = Field(description="The 95% interval on raw data.")
    more_is_better: bool = Field(description="Whether a higher score is better.")


class GroupContent(ContentPart):
    """The model's error for one group of people."""

    records: Few = Field(description="Test records of the group.")
    persons: Few = Field(description="People of the group.")
    error: float = Field(description="Share of wrong predictions on minimized data.")
    interval: Ends = Field(description="Its 95% interval.")
    raw_error: float = Field(description="The same on raw data.")
    majority_error: float = Field(description="The same when always guessing the majority.")


class UtilityContent(ContentPart):
    """What the prediction loses."""

    error: float = Field(description="Share of wrong predictions on minimized data.")
    interval: Ends = Field(description="Its 95% interval.")
    raw_error: float = Field(description="The same on raw data.")
    majority_error: float = Field(description="The same when always guessing the majority.")
    skill_kept: float | None = Field(description="Share of the raw model's log-loss gain over the majority guess.")
    skill_interval: Any = Field(description="Its 95% interval.")
    scores: dict[str, ScoreContent] = Field(
        description="error, auc, log_loss → its values; no log-loss where a class is rare."
    )
    records: int = Field(description="Test records.")
    trained_on: int = Field(description="Training records.")
    estimator: str = Field(description="What predicts the label.")
    by_group: dict[str, GroupContent] = Field(description="Group of at least ten people → the model's error.")
    raw_skill: float = Field(description="Share of the majority guess's log-loss that raw data takes away.")
    is_weak: bool = Field(description="Whether even raw data barely predicts the label.")
    worst_group: str | None = Field(description="The group with the highest error, of those of a hundred people.")
    loses_most: str | None = Field(description="The one whose error minimizing raises most; null where it raises none.")
    small_groups: int = Field(description="How many groups of fewer than ten people are not shown.")


class GuessedContent(ContentPart):
    """What the adversary A1 finds about one attribute."""

    error: float = Field(description="Share of wrong guesses.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: float = Field(description="Error of always naming the most frequent value.")
    raw: float = Field(description="Error on raw data.")
    values: int = Field(description="Among how many values or ranges is guessed.")
    method: str = Field(description="Which of the portfolio's adversaries was the strongest.")


class FirstAdversary(ContentPart):
    """The adversary A1, who sees the collected record and nothing else."""

    adversary: str = Field(description="Which one it is.")
    error: float = Field(description="Weighted mean share of wrong guesses over the personal attributes.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: float = Field(description="The same of always naming the most frequent value.")
    raw: float = Field(description="The same on raw data.")
    weights: dict[str, float] = Field(description="Attribute → its share in the mean.")
    records: int = Field(description="Test records that it guesses about.")
    known: int = Field(description="Full records of others that it learned from.")
    random_state: int = Field(description="The seed.")
    by_attribute: dict[str, GuessedContent] = Field(description="Attribute → what it finds.")
    worst: str = Field(description="The attribute about which it gains most over the naive guess.")


class CertificateContent(ContentPart):
    """What no adversary can exceed who sees only the collected record, on average."""

    bounds: dict[str, float] = Field(description="Attribute → the highest accuracy that any adversary can reach.")
    observed: dict[str, float] = Field(description="Attribute → the best accuracy with hindsight on the test records.")
    naive: dict[str, float] = Field(description="Attribute → the accuracy of naming the most frequent value.")
    confidence: float = Field(description="The probability with which all bounds hold together.")
    records: int = Field(description="Test records that it was counted on.")
    persons: int = Field(description="People whom these are of.")
    margin: float = Field(description="What was added to the observed accuracy.")
    bins: int = Field(description="In how many ranges a number is guessed.")
    knowledge: str = Field(description="What the adversary knows besides the answers.")
    weights: dict[str, float] = Field(description="Attribute → its share in the mean.")
    unit: str = Field(description="What the average is over: people or records.")
    vacuous: list[str] = Field(description="The attributes that it says nothing about.")
    note: str | None = Field(description="Why it says nothing about them.")
    worst: str = Field(description="The attribute whose bound is furthest above the naive guess.")
    mean: float = Field(description="The highest mean accuracy over the attributes.")
    mean_error: float = Field(description="1 minus that.")
    sentences: list[str] = Field(description="The certificate in words that can be quoted.")
    exposed: str | None = Field(description="What A2 achieves about the people it is surest of, in words.")


class StepContent(ContentPart):
    """What changes when one attribute is collected in another detail; a change is in shares of 1."""

    what: str = Field(description="The change in plain words.")
    error_change: float = Field(description="Of the model's error; above 0 it gets worse.")
    error_interval: Ends = Field(description="The 95% interval of that paired difference.")
    skill_change: float | None = Field(description="Of the skill that is kept; below 0 it gets worse.")
    skill_interval: Ends = Field(description="Its 95% interval.")
    adversary_change: float = Field(description="Of the adversary's mean error; above 0 it learns less.")
    adversary_interval: Ends = Field(description="Its 95% interval.")


class NeedContent(ContentPart):
    """The alternatives to how one attribute is collected."""

    verdict: str = Field(description="What they say, in words.")
    coarser: StepContent | None = Field(description="One step coarser; null where there is none but leaving it out.")
    without: StepContent | None = Field(description="Left out; null where it is.")
    in_full: StepContent | None = Field(description="Asked in full detail; null where it is collected.")


class NecessityContent(ContentPart):
    """Why each attribute is collected as it is."""

    trained_on: int = Field(description="Training records that the models learned from.")
    records: int = Field(description="Test records that the changes are counted on.")
    estimator: str = Field(description="What predicts the label.")
    adversary: str = Field(description="Who guesses the personal attributes.")
    note: str = Field(description="How far the verdicts can be trusted together.")
    attributes: dict[str, NeedContent] = Field(description="Attribute → its alternatives.")


class EndContent(ContentPart):
    """One end of the trade-off."""

    error: float = Field(description="The model's error.")
    adversary_error: float = Field(description="The adversary's mean error.")


class PointContent(EndContent):
    """One way to collect."""

    name: str = Field(description="What it is called.")
    needed: int = Field(description="How many attributes it asks for.")
    buckets: int = Field(description="How many answers can be chosen in all.")
    skill_kept: float | None = Field(description="Share of the raw model's skill that is kept.")
    chosen: bool = Field(description="Whether it is the one that was taken.")


class AlternativesContent(ContentPart):
    """What else could have been collected."""

    source: str = Field(description="Where the points come from: a merge path or a study.")
    judge: str = Field(description="How they were scored, in words.")
    why: str = Field(description="By what rule the chosen one was taken.")
    considered: int = Field(description="How many points there were in all.")
    records: int = Field(description="Test records that they were scored on.")
    raw_data: EndContent = Field(description="The end where everything is collected.")
    nothing_collected: EndContent = Field(description="The end where nothing is.")
    points: list[PointContent] = Field(description="The points, by falling detail.")


class GeneralizationContent(Head):
    """A report on one generalization."""

    modicum: Literal["report"] = Field(description="The kind of report.")
    label: str = Field(description="What is predicted.")
    classes: list[str] = Field(description="Its classes.")
    unit: str = Field(description="What shares are of: people or records.")
    collected: Collected = Field(description="How much is asked.")
    attributes: list[AttributeContent] = Field(description="Attribute by attribute.")
    utility: UtilityContent = Field(description="What the prediction loses.")
    attack: FirstAdversary = Field(description="What the adversary A1 finds.")
    certificate: CertificateContent = Field(description="What no adversary can exceed.")
    attacks: AttackContent | None = Field(
        description="What all adversaries found, as in a report of the kind 'attacks'; null where they were not run."
    )
    necessity: NecessityContent | None = Field(description="Why each attribute is needed; null where not measured.")
    alternatives: AlternativesContent | None = Field(description="What else could be collected; null where not asked.")


# What was decided, what must be known before believing it, and what it does not say: in words.

VERDICTS = ("not shown to be needed", "not collected, would help")


def decision(content: dict[str, Any]) -> str:
    """The decision in one paragraph: what is asked, what that costs and leaves at risk, and what it rests on."""
    collected, utility, attack = content["collected"], content["utility"], content["attack"]
    label = quote_name(content["label"])
    if not collected["needed"]:
        return " ".join(
            [f"To predict {label}, nothing is collected; the model can only guess the majority.", *_needs(content)]
        )
    kept = collected["in_full_detail"]
    detail = "none in full detail" if not kept else f"{kept} in full detail"
    told = (
        f"To predict {label}, ask for {collected['needed']} of {collected['attributes']} attributes, {detail}: the "
        f"model is then wrong for {utility['error']:.1%} of {content['unit']} ({utility['raw_error']:.1%} on raw data, "
        f"{utility['majority_error']:.1%} when always guessing the majority), while an adversary who sees the answers "
        f"is wrong about {attack['error']:.1%} of personal values ({attack['naive']:.1%} without seeing them, "
        f"{attack['raw']:.0%} on raw data)."
    )
    return " ".join([told, *_needs(content)])


def _needs(content: dict[str, Any]) -> list[str]:
    """What matters most, and which attributes are not shown to be needed or would help, where that was measured."""
    if content["necessity"] is None:
        return []
    needs = content["necessity"]["attributes"]
    found = {
        verdict: [quote_name(n) for n, need in needs.items() if need["verdict"] == verdict] for verdict in VERDICTS
    }
    needed = {n: need["without"] for n, need in needs.items() if need["verdict"].startswith("needed")}
    told = [_matters_most(needed)] if needed else []
    if unshown := found["not shown to be needed"]:
        told.append(f"Collected, but not shown to be needed: {', '.join(unshown)}.")
    if helpful := found["not collected, would help"]:
        told.append(f"Not collected, though asked in full it would help the prediction: {', '.join(helpful)}.")
    return told


def _matters_most(steps: dict[str, Any]) -> str:
    """Of what is shown to be needed, what the prediction loses most without."""
    name = min(steps, key=lambda each: (steps[each]["skill_change"] or 0.0, -steps[each]["error_change"]))
    step = steps[name]
    ends = points_interval(step["error_interval"])
    change = step["skill_change"]
    skill = "" if change is None else f", and the share of skill kept by {points(change)} points"
    return (
        f"What matters most is {quote_name(name)}: leaving it out changes the share of wrong predictions by "
        f"{points(step['error_change'])} percentage points (95% interval {ends}){skill}."
    )


def warnings(content: dict[str, Any]) -> list[str]:
    utility, collected, bounds = content["utility"], content["collected"], content["certificate"]["bounds"]
    empty = [name for name, bound in bounds.items() if bound >= 1]
    told = [
        (
            utility["is_weak"],
            "Even the raw data barely predicts the label: it takes only "
            f"{max(0.0, utility['raw_skill']):.1%} off the majority guess’s log-loss, so keeping that skill means "
            "little.",
        ),
        (
            not utility["is_weak"] and (utility["skill_kept"] or 0) > 1.02,
            "The model on minimized data predicts better than the one on raw data, which learned chance patterns: "
            "there are few records for so much detail.",
        ),
        in_disguise(utility["raw_error"], utility["majority_error"]),
        (
            isinstance(collected["smallest_group"], str),
            "Some combinations of answers are shared by fewer than ten people in the test records: they stand out.",
        ),
        (
            bool(empty),
            f"The certificate says nothing about {', '.join(empty)}: an adversary could always be right, or there are "
            "too few test records to exclude it.",
        ),
        (
            collected["records"] < COARSE,
            f"There are only {collected['records']} test records: shares are rounded to tens of them, which is coarse "
            "here.",
        ),
    ]
    return [text for applies, text in told if applies]


def limits(content: dict[str, Any]) -> list[str]:
    certificate = content["certificate"]
    return [
        "The adversary is the strongest of several that were tried, not the strongest there can be. It sees the "
        "collected record and nothing else: someone who knows more about a person can guess more.",
        f"The certificate holds, with {confidence_text(certificate['confidence'])} confidence, for every adversary who "
        f"sees only the collected record, but only on average over {certificate['unit']}: a single person may be "
        "easier.",
        "It holds only if the test records had no part in making or choosing what is collected. That is so after "
        "the command minimize with the same seed; not for a generalization that was made from all rows, nor for one "
        "that was edited after looking at these results.",
        "All of this speaks of people like those in the test records: it assumes that they are a random sample of the "
        "people whose data will be collected.",
        f"A number or date counts as guessed when it is placed in the right one of {certificate['bins']} ranges of "
        "about equal frequency (fewer where it has fewer values).",
    ]


# The certificate in sentences that can be quoted: for whom, when, about what, how sure, and "on average".


def certificate_sentences(content: Mapping[str, Any]) -> list[str]:
    """One sentence about the attribute of which most could be learned, and one about all of them together."""
    certificate = content["certificate"]
    speaking = [name for name, bound in certificate["bounds"].items() if bound < 1]
    told = [_of_attribute(content, _worst(certificate, speaking))] if speaking else []
    if len(certificate["bounds"]) > 1 and certificate["mean_error"] > 0:
        told.append(_of_mean(content))
    return told


def describe_most_exposed(content: Mapping[str, Any]) -> str | None:
    """What the adversary A2 achieves about the people it is surest of, since the certificate is an average."""
    found = (content["attacks"] or {}).get("a2_most_exposed")
    if found is None:
        return None
    return (
        f"An average hides who is most exposed. {found['sentence']} These are the people about whom the adversary is "
        "surest, other people for each attribute, and the figures are rounded to tens of them: this (adversary A2) "
        "is measured, not certified."
    )


def _worst(certificate: Mapping[str, Any], names: list[str]) -> str:
    return max(names, key=lambda name: certificate["bounds"][name] - certificate["naive"][name])


def _of_attribute(content: Mapping[str, Any], name: str) -> str:
    certificate = content["certificate"]
    return (
        f"{_opening(content)}, no one who sees only the answers collected here, whatever their method or computing "
        f"power, {_names(content, name)} more often than {at_most(certificate['bounds'][name])} of the time, on "
        f"average over {_whom(content)}, where the same guess for everyone is right {certificate['naive'][name]:.1%} "
        f"of the time; {_describe_basis(content)}."
    )


def _names(content: Mapping[str, Any], name: str) -> str:
    """What a right guess is: a number's range, or the value itself."""
    (attribute,) = (each for each in content["attributes"] if each["name"] == name)
    if attribute["kind"] in ("category", "ordered"):
        return f"names the value of “{name}” rightly"
    return f"places “{name}” in the right one of at most {content['certificate']['bins']} ranges"


def _of_mean(content: Mapping[str, Any]) -> str:
    weights = content["certificate"]["weights"].values()
    weighted = "" if max(weights) - min(weights) < 1e-9 else ", each with its weight"
    return (
        f"{_opening(content)}, anyone who sees only the answers collected here is wrong about at least "
        f"{at_least(content['certificate']['mean_error'])} of the personal values (of a number: about its range), on "
        f"average over {_whom(content)} and over the {len(weights)} personal attributes{weighted}; "
        f"{_describe_basis(content)}."
    )


def _opening(content: Mapping[str, Any]) -> str:
    return f"With {confidence_text(content['certificate']['confidence'])} confidence"


def _describe_basis(content: Mapping[str, Any]) -> str:
    """On what it rests, and what is taken for granted: nobody can see this from the records."""
    certificate = content["certificate"]
    return (
        f"as counted on {day_in_words(content['provenance']['date'])} on {certificate['records']:,} records, provided "
        "that these are a random sample of them and had no part in deciding what is collected"
    )


def _whom(content: Mapping[str, Any]) -> str:
    """Whom the average is over; where one person has several records, it is over these."""
    unit, people = content["certificate"]["unit"], content["people"]
    if not people:
        return f"the {unit} of the population that the test records were drawn from"
    return people if unit == "people" else f"the records of {people}"


# Why each attribute is collected as it is, as plain data: what one step of detail more or less would change.


def necessity_summary(found: Necessity, people: int) -> dict[str, Any]:
    """How it was measured, and each attribute's steps in tens of people."""
    return {
        "trained_on": found.trained_on,
        "records": found.records,
        "estimator": found.estimator,
        "adversary": found.adversary,
        "note": found.note,
        "attributes": {
            name: {
                "verdict": need.verdict,
                "coarser": _step(need.coarser, people),
                "without": _step(need.without, people),
                "in_full": _step(need.in_full, people),
            }
            for name, need in found.attributes.items()
        },
    }


def _step(step: Step | None, people: int) -> dict[str, Any] | None:
    if step is None:
        return None
    return {
        "what": step.what,
        "error_change": change(step.error_change, people),
        "error_interval": change_outward(step.error_interval, people),
        "skill_change": _round_or_none(step.skill_change),
        "skill_interval": _outward(step.skill_interval),
        "adversary_change": change(step.adversary_change, people),
        "adversary_interval": change_outward(step.adversary_interval, people),
    }


def _round_or_none(value: float) -> float | None:
    return None if value != value else round(value, 3) + 0.0


def _outward(interval: Any) -> list[float] | None:
    """Widened to three digits; None where an end does not exist."""
    if interval is None or any(end is None or end != end for end in interval):
        return None
    low, high = interval
    return [math.floor(1000 * low) / 1000 + 0.0, math.ceil(1000 * high) / 1000 + 0.0]


# What else could have been collected, as plain data: the points of the trade-off in tens of people.
#
# A mean over attributes is the mean of what is told of each, as in the rest of the report.


def alternatives_summary(found: Alternatives) -> dict[str, Any]:
    """The points that were considered, the ends, and why the chosen one was taken."""
    n = found.people
    return {
        "source": found.source,
        "judge": found.judge,
        "why": found.why,
        "considered": found.considered,
        "records": found.records,
        "raw_data": {"error": tens(found.raw_error, n), "adversary_error": 0.0},
        "nothing_collected": {
            "error": tens(found.majority_error, n),
            "adversary_error": _mean(found.naive, found),
        },
        "points": [
            {
                "name": point.name,
                "needed": len(point.generalization.needed),
                "buckets": point.buckets,
                "error": tens(point.error, n),
                "adversary_error": _mean(point.risk, found),
                "skill_kept": None if point.skill_kept != point.skill_kept else round(point.skill_kept, 3) + 0.0,
                "chosen": point.is_chosen,
            }
            for point in found.points
        ],
    }


def _mean(errors: dict[str, float], found: Alternatives) -> float:
    return compute_weighted_mean({name: tens(error, found.people) for name, error in errors.items()}, found.weights)


# Evidence as plain data: every number that a report shows, and none that would tell of a few people.
#
# Page, Markdown, terminal and JSON all read this one dict, so that they cannot contradict each other.


def summary(
    found: Evidence,
    purpose: str | None = None,
    *,
    people: str | None = None,
    date: str | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Everything a report shows, ready for JSON; what would tell of fewer than ten people is left out or rounded.

    Parameters
    ----------
    found : Evidence
    purpose, people : what the prediction is for, and whom the records are of, in the user's words
    date, command : the day (today where none is named) and the command that made it
    """
    description = found.description
    records, many = description.records or 0, description.persons or 0
    check_size(many, "test records" if many == records else "people in the test records")
    attack, certificate, utility = _attack(found, many), _certificate(found), _utility(found, many)
    content: dict[str, Any] = {
        "modicum": "report",
        "version": 2,
        "purpose": purpose,
        "people": people,
        "provenance": provenance(found.provenance, date, command),
        "label": found.label,
        "classes": list(found.classes),
        "unit": description.unit,
        "collected": {
            "attributes": len(description.attributes),
            "needed": len(found.generalization.needed),
            "in_full_detail": sum(p.action == "kept" for p in found.generalization.partitions),
            "buckets": sum(line.n_buckets for line in description.attributes if line.action != "not collected"),
            "records": records,
            "groups": combinations(description.groups or 0, description.smallest_group or 0),
            "smallest_group": few(description.smallest_group or 0),
        },
        "attributes": _attributes(found, attack["by_attribute"], certificate["bounds"]),
        "utility": utility,
        "attack": attack,
        "certificate": certificate,
        "attacks": None if found.attacks is None else attack_summary(found.attacks),
        "necessity": None if found.necessity is None else necessity_summary(found.necessity, many),
        "alternatives": None if found.alternatives is None else alternatives_summary(found.alternatives),
    }
    certificate["sentences"] = certificate_sentences(content)
    certificate["exposed"] = describe_most_exposed(content)
    content |= {"decision": decision(content), "warnings": warnings(content), "limits": limits(content)}
    content["warnings"] += [] if content["attacks"] is None else content["attacks"]["warnings"]
    return dict(plain(content))


def _attributes(found: Evidence, attack: dict[str, Any], bounds: dict[str, float]) -> list[dict[str, Any]]:
    lines = []
    for line in disclose_description(found.description)["attributes"]:
        name = line["name"]
        risk, certified = attack.get(name), bounds.get(name)
        values = _values(found.generalization[name], len(line["buckets"]))
        lines.append(
            {
                "name": name,
                "personal": risk is not None,
                "kind": found.generalization.schema[name].kind,
                "decision": line["action"],
                "n_buckets": line["n_buckets"],
                "values": found.values[name],
                "buckets": [bucket | {"values": v} for bucket, v in zip(line["buckets"], values, strict=True)],
                "adversary_error": None if risk is None else risk["error"],
                "adversary_interval": None if risk is None else risk["interval"],
                "naive_error": None if risk is None else risk["naive"],
                "raw_error": None if risk is None else risk["raw"],
                "method": None if risk is None else risk["method"],
                "certified_accuracy": certified,
                "certified_error": None if certified is None else 1 - certified,
            }
        )
    return lines


def _values(partition: AnyPartition, n: int) -> list[list[str] | None]:
    """The categories that each bucket holds; None for a range and for the buckets of unseen and missing values."""
    named = [list(b.values) for b in partition.buckets] if isinstance(partition, Groups) else []
    return [named[i] if i < len(named) else None for i in range(n)]


def _utility(found: Evidence, people: int) -> dict[str, Any]:
    content = found.utility.to_dict()
    content |= {key: tens(content[key], people) for key in ("error", "raw_error", "majority_error")}
    content["interval"] = outward(content["interval"], people)
    error = content["scores"]["error"]
    error |= {key: tens(error[key], people) for key in ("minimized", "raw", "majority")}
    error |= {key: outward(error[key], people) for key in ("interval", "raw_interval")}
    if content.pop("rarest") < FEW:
        # The majority guess's follows from how many people have each class, so that a rare class could be counted.
        del content["scores"]["log_loss"]
    for name, score in content["scores"].items():
        if name != "error":
            score |= {key: ranking_of(value, people) for key, value in score.items() if key != "more_is_better"}
    content |= {key: decimals_of(content[key]) for key in ("skill_kept", "skill_interval", "raw_skill")}
    large = {name: group for name, group in content["by_group"].items() if group["persons"] >= FEW}
    told = {name: _group(group) for name, group in large.items()}
    content["small_groups"] = len(content["by_group"]) - len(told)
    names = select_comparable_groups({name: group["persons"] for name, group in large.items()})
    return content | {"by_group": told} | _worst_groups(told, names)


def _worst_groups(told: dict[str, Any], names: list[str]) -> dict[str, str | None]:
    """The group with the highest error, and the one that loses most by minimizing."""
    lost = {name: told[name]["error"] - told[name]["raw_error"] for name in names}
    most = highest(lost, names)
    return {
        "worst_group": highest({name: told[name]["error"] for name in names}, names),
        "loses_most": most if most is not None and lost[most] > 0 else None,
    }


def _group(group: dict[str, Any]) -> dict[str, Any]:
    n = group["persons"]
    rounded = {key: tens(group[key], n) for key in ("error", "raw_error", "majority_error")}
    return (
        group
        | rounded
        | {"interval": outward(group["interval"], n), "records": few(group["records"]), "persons": few(n)}
    )


def _attack(found: Evidence, people: int) -> dict[str, Any]:
    content = found.attack.to_dict()
    del content["seconds"], content["aggregates"]  # the same seed gives the same report; the rest is for the team
    results = content["by_attribute"].values()
    for result in results:
        result |= {key: tens(result[key], people) for key in ("error", "naive")}
        result["interval"] = outward(result["interval"], people)
    for key in ("error", "naive"):
        content[key] = compute_weighted_mean(
            {name: result[key] for name, result in content["by_attribute"].items()}, found.attack.weights
        )
    return content | {"interval": outward(content["interval"], people)}


def _certificate(found: Evidence) -> dict[str, Any]:
    content = found.certificate.to_dict()
    n = found.certificate.persons
    del content["groups"]  # as many as the collected combinations
    for key in ("bounds", "observed"):
        content[key] = {name: tens_up(value, n) for name, value in content[key].items()}
    content["naive"] = {name: tens(value, n) for name, value in content["naive"].items()}
    mean = compute_weighted_mean(content["bounds"], found.certificate.weights)
    return content | {"mean": mean, "mean_error": 1 - mean}
