"""The sentences of a k-anonymous release's report."""

from typing import Any

from modicum.reporting.formats import count_of, in_disguise, named, number, percent


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
            f" A model for {named(content['label'])} that learns from such a release is wrong for "
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
            + ", ".join(f"{named(e['attribute'])} ({percent(e['release']['certain'])} of the records)" for e in sure)
            + ": for everyone in such a group it is known for certain, whatever k is.",
        ),
        (
            bool(likely),
            "A person's group tells more than the most frequent value of all does: "
            + ", ".join(
                f"{named(e['attribute'])} is guessed right for {percent(e['release']['right'])} of the records "
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
