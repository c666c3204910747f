"""What the adversaries found, in words: made of the numbers of its summary, and of no others."""

from collections.abc import Sequence
from typing import Any

from modicum.measures.certificate import confidence_text
from modicum.reporting.formats import named


def sentences(content: dict[str, Any]) -> list[str]:
    """What was found, in plain words."""
    by_id = {each["id"]: each for each in content["adversaries"]}
    first = by_id["A1"]
    told = [
        f"Someone who sees the collected records is wrong about {first['error']:.1%} of personal values; without "
        f"seeing them they would be wrong about {first['naive']:.1%}, with the raw records about none."
    ]
    if content["a2_most_exposed"] is not None:
        told.append(content["a2_most_exposed"]["sentence"])
    strongest = min((each for each in by_id.values() if each["id"] != "A1"), key=lambda e: e["error"], default=None)
    if strongest is not None:
        told.append(
            f"Someone who {strongest['knows']} ({strongest['id']}) is wrong about {strongest['error']:.1%}"
            + (f"; the most is gained about {named(strongest['worst'])}." if strongest["worst"] else ".")
        )
    link, single = content["linkability"], content["singling_out"]
    if link is not None:
        told.append(
            f"Of {link['k']:,} people at once, {1 - link['error']:.2%} of halves are joined rightly "
            f"({1 - link['naive']:.2%} at random, {1 - link['raw']:.2%} with the raw records)."
        )
    told.append(_standing_out(single))
    return told


def most_exposed(content: dict[str, Any]) -> dict[str, Any] | None:
    """A2 on the smallest part of the guesses that may be told of; None where that is none or all of them."""
    level = min(content["confident"], key=lambda each: each["percent"], default=None)
    if level is None or level["percent"] >= 100:
        return None
    few = [percent for percent in content["too_few_for_confident"] if percent < level["percent"]]
    few_text = "" if not few else f" The surest {_listed(few)} are of too few people to be told of."
    ends = "" if level["interval"] is None else f"95% interval {_between(level['interval'])}; "
    sentence = (
        f"Of the {level['percent']:g}% of guesses that someone who sees the collected records is most confident of, "
        f"{level['error']:.1%} are wrong ({ends}naive guesses about the same people: {level['naive']:.1%}).{few_text}"
    )
    return {key: level[key] for key in ("percent", "records", "error", "interval", "naive")} | {"sentence": sentence}


def _listed(percents: Sequence[float]) -> str:
    return ", ".join(f"{percent:g}%" for percent in percents)


def _between(interval: Sequence[float]) -> str:
    return f"{interval[0]:.1%} to {interval[1]:.1%}"


def _standing_out(single: dict[str, Any]) -> str:
    unique = single["unique"]
    if isinstance(unique, str):
        shown = "Fewer than ten people have" if isinstance(single["least"], str) else "Nobody has"
    else:
        shown = f"About {unique:,} people have"
    return (
        f"{shown} a combination of answers to themselves, of {single['people']:,} "
        f"({1 - single['raw']:.1%} with the raw records)."
    )


def limits(content: dict[str, Any]) -> list[str]:
    """What the method can and cannot say."""
    certificate = content["certificates"]["A1"]
    confidence, unit = confidence_text(certificate["confidence"]), certificate["unit"]
    return [
        f"An error is the share of {unit} guessed wrong: higher is safer. Each adversary is the strongest of several "
        "that were tried, chosen on records that are not reported on; a stronger one may exist.",
        f"A certified error holds for every adversary with the same knowledge, with {confidence} confidence for "
        f"each of A1, A3 and A4, on average over {unit} like the breached ones. Where these fall into too many "
        "different cells it says nothing.",
        "The certified errors hold, and the others mean something, only if the breached records had no part in making "
        "or choosing what is collected, and if the known records are of other people.",
        "A5 is averaged over how many personal attributes are known, in a few random orders.",
        "Linking takes for granted that the people whose halves are joined are among the breached.",
        "The number of people who stand out in a whole population is a rough estimate from a sample by a model, more "
        "often too high than too low; its interval tells what another sample might give, not how wrong the model is.",
    ]
