"""The certificate in sentences that can be quoted: for whom, when, about what, how sure, and "on average"."""

from collections.abc import Mapping
from typing import Any

from modicum.measures.certificate import confidence_text
from modicum.reporting.disclosure import at_least, at_most
from modicum.reporting.provenance import day_in_words


def certificate_sentences(content: Mapping[str, Any]) -> list[str]:
    """One sentence about the attribute of which most could be learned, and one about all of them together."""
    certificate = content["certificate"]
    speaking = [name for name, bound in certificate["bounds"].items() if bound < 1]
    told = [_of_attribute(content, _worst(certificate, speaking))] if speaking else []
    if len(certificate["bounds"]) > 1 and certificate["mean_error"] > 0:
        told.append(_of_mean(content))
    return told


def exposed_sentence(content: Mapping[str, Any]) -> str | None:
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
        f"of the time; {_counted(content)}."
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
        f"average over {_whom(content)} and over the {len(weights)} personal attributes{weighted}; {_counted(content)}."
    )


def _opening(content: Mapping[str, Any]) -> str:
    return f"With {confidence_text(content['certificate']['confidence'])} confidence"


def _counted(content: Mapping[str, Any]) -> str:
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
