"""The three threats of opinion 05/2014 for what a PriSM classifier asks: inference, singling out, linkability."""

from collections.abc import Mapping
from typing import Any

from modicum.measures.certificate import confidence_text
from modicum.reporting.disclosure import at_most
from modicum.reporting.document import Block, Cell, Column, Section, Table, Text
from modicum.reporting.formats import count_of, decimals, interval, named, number, percent
from modicum.reporting.prism_words import listed


def threat_sections(content: dict[str, Any], kinds: Mapping[str, str]) -> list[Section]:
    """One section for each threat, under a heading of their own.

    Examples
    --------
    >>> from modicum.reporting.prism_threats import threat_sections
    >>> alone = {"alone": 0.1, "interval": [0.0, 0.2], "raw": 0.5, "naive": 0.0, "groups": 40, "smallest": "< 10"}
    >>> content = {"sensitive": [], "singling_out": alone | {"people": 100}, "linkability": None, "unit": "people"}
    >>> [section.title for section in threat_sections(content | {"trained_on": 200, "confidence": 0.99}, {})][1:]
    ['Inference', 'Singling out', 'Linkability']
    """
    told = (
        "The European data protection authorities name three risks that remain (Working Party, opinion 05/2014): that "
        "something is inferred about a person, that a person is singled out, and that records of one person are linked."
    )
    return [
        Section("What remains at risk", [Text(told, "soft")]),
        Section("Inference", _inference(content, kinds), level=3),
        Section("Singling out", _singling_out(content), level=3),
        Section("Linkability", _linkability(content), level=3),
    ]


def _inference(content: dict[str, Any], kinds: Mapping[str, str]) -> list[Block]:
    blocks: list[Block] = [
        Text(
            f"Adversaries learn from the {number(content['trained_on'])} training records, each held out in turn, what "
            "the answers tell about the sensitive attribute: a support vector machine tuned for it, and a portfolio of "
            "a network, counts and boosted trees. Shown is the strongest of them as chosen without the records it is "
            "judged on. “Right” is the share whose value it guesses. The correlation (Matthews') is 0 for any guess "
            "that knows nothing and 1 for a perfect one; it also tells where nearly everybody has the same value. "
            "Below each stands its 95% interval.",
            "soft",
        )
    ]
    for each in content["sensitive"]:
        if each["guesses"]:
            blocks.append(_guesses(each, kinds))
        else:
            blocks.append(Text(f"No adversary has tried to guess {named(each['name'])}."))
        blocks.append(Text(each["sentence"], "quote" if _is_bound(each) else "soft"))
        if _is_bound(each):
            blocks.append(Text(_bound_words(each, content), "soft"))
    return blocks


def _is_bound(each: dict[str, Any]) -> bool:
    return each["certified"] is not None


def _bound_words(each: dict[str, Any], content: dict[str, Any]) -> str:
    return (
        f"Always saying the most frequent value is right for {percent(each['certified_naive'])} of the test records. "
        f"The certified {at_most(each['certified'])} holds for every method, with a confidence of "
        f"{confidence_text(content['confidence'])}; it is high where many answers are rare, since of few people little "
        "can be excluded. It speaks of the average, not of the most exposed person."
    )


def _guesses(each: dict[str, Any], kinds: Mapping[str, str]) -> Table:
    heads = [Column(f"{each['name']} guessed from", is_number=False), Column("attributes"), Column("right")]
    rows: list[list[Cell | str]] = [["nothing (the most frequent value)", "0", percent(each["naive"]), "0"]]
    rows += [
        [
            kinds[guess["model"]],
            number(guess["asks"]),
            Cell(percent(guess["accuracy"]), [interval(guess["interval"])]),
            Cell(number(guess["mcc"]), [decimals(guess["mcc_interval"])]),
        ]
        for guess in each["guesses"]
    ]
    return Table([*heads, Column("correlation")], rows)


def _singling_out(content: dict[str, Any]) -> list[Block]:
    found = content["singling_out"]
    heads = [Column("test people alone with", is_number=False), Column("share"), Column("95% interval")]
    rows = [
        ["what is asked for", percent(found["alone"]), interval(found["interval"])],
        ["all attributes", percent(found["raw"]), "–"],
        ["nothing", percent(found["naive"]), "–"],
    ]
    told = (
        f"{count_of(found['people'], 'test person', 'test people')} give {number(found['groups'])} different "
        f"combinations of answers; a rarest one is given by {number(found['smallest'])}. Who is alone can be pointed "
        "at by whoever knows the answers. In a whole population, of which these are a part, the share is lower."
    )
    return [Text(told), Table(heads, rows)]


def _linkability(content: dict[str, Any]) -> list[Block]:
    found = content["linkability"]
    general = (
        "The answers are in full detail: who holds another table with the same attributes can link everybody who is "
        "alone there, which is the share above. What was left out cannot be linked through these answers."
    )
    if found is None:
        return [Text(general), Text("Joining halves does not apply: fewer than two columns are asked for.", "soft")]
    told = (
        f"An adversary holds {listed(found['halves'][0])} and, apart, {listed(found['halves'][1])} of "
        f"{number(found['k'])} people, and joins what belongs together with the help of the answers of all test people "
        "(A7; halves that are equal count as the same)."
    )
    heads = [Column("halves joined rightly", is_number=False), Column("share"), Column("95% interval")]
    rows = [
        ["with the answers", percent(found["linked"]), interval(found["interval"])],
        ["at random", percent(found["naive"]), "–"],
    ]
    return [Text(general), Text(told), Table(heads, rows)]
