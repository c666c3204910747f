"""The sentences of an anatomized release's report."""

from typing import Any

from modicum.reporting.formats import count_of, in_disguise, named, no_better, number, percent


def decision(content: dict[str, Any]) -> str:
    """The decision in one paragraph."""
    names = " and ".join(named(each["name"]) for each in content["measured"])
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
            f" Someone who learns from the release alone is right about {named(each['sensitive'])} for "
            f"{percent(each['learned'])} of people ({percent(each['promised'])} is the promise against someone who "
            f"learns nothing; {percent(each['naive'])} have the most frequent value)."
        )
    if content["utility"] is not None:
        errors = content["utility"]["errors"]
        told += (
            f" A model for {named(content['label'])} that learns from such tables is wrong for "
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
                f"The promise of {percent(each['promised'])} for {named(each['sensitive'])} is about an adversary who "
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
