"""Linkability and singling out: whose records can be joined (A7), and who stands out (A8)."""

from typing import Any, Literal

from modicum.reporting.attack_charts import sizes_chart
from modicum.reporting.document import Block, Column, Picture, Section, Table, Text
from modicum.reporting.formats import count_of, interval, number, percent

LINKING = (
    "Linkability means that two records can be recognised as those of the same person. Here: two halves of people's "
    "data lie in different places, and an adversary joins them with the help of the collected records. The lower the "
    "share that is joined rightly, the safer."
)
STANDING_OUT = (
    "Singling out means that one person can be picked out among all others. Here: an adversary looks for a combination "
    "of answers that only one person gave."
)


def linkability(content: dict[str, Any], level: Literal[2, 3] = 2) -> Section:
    """The second threat."""
    title, found = "Linkability: joining records of the same person (A7)", content["linkability"]
    if found is None:
        why = next((each["why"] for each in content["skipped"] if each["id"] == "A7"), "it was not run")
        return Section(title, [Text(LINKING), Text(f"It does not apply here: {why}.")], level)
    right = [1 - found["interval"][1], 1 - found["interval"][0]]
    columns = [Column("joined rightly", is_number=False), Column("with the collected records"), Column("95% interval")]
    columns += [Column("at random"), Column("with the raw records")]
    shares = {key: percent(1 - found[key], 2) for key in ("error", "naive", "raw")}
    row = ["share of people", shares["error"], interval(right, 2), shares["naive"], shares["raw"]]
    halves = (
        f"One half holds {_listed(found['a'])}; the other {_listed(found['b'])}. The adversary joins "
        f"{count_of(found['k'], 'person', 'people')} at once, of {number(found['people'])} in all."
    )
    return Section(title, [Text(LINKING), Text(halves), Table(columns, [row])], level)


def _listed(names: list[str]) -> str:
    return ", ".join(names)


def singling_out(content: dict[str, Any], level: Literal[2, 3] = 2) -> Section:
    """The third threat."""
    found = content["singling_out"]
    columns = [Column("not alone with their answers", False), Column("with the collected records")]
    columns += [Column("95% interval"), Column("where nothing is collected"), Column("with the raw records")]
    shares = [percent(found["error"], 2), interval(found["interval"], 2), percent(found["naive"], 2)]
    row = [f"share of {count_of(found['people'], 'person', 'people')}", *shares, percent(found["raw"], 2)]
    blocks: list[Block] = [
        Text(STANDING_OUT),
        Table(columns, [row]),
        Text(_rarest(found)),
        Picture(sizes_chart(found["sizes"])),
        Table(
            [Column("people who share a combination", is_number=False), Column("combinations")],
            [[name, number(many)] for name, many in found["sizes"].items()],
        ),
    ]
    told = [] if found["population"] is None else [Text(_population(found["population"]))]
    return Section("Singling out: standing out among all (A8)", [*blocks, *told], level)


def _rarest(found: dict[str, Any]) -> str:
    alone = count_of(found["unique"], "person has", "people have")
    verb = "is" if found["rarest"] == 1 else "are"
    return (
        f"The rarest combination of answers is shared by {count_of(found['least'], 'person', 'people')}; "
        f"{number(found['rarest'])} of {number(found['groups'])} combinations {verb} that rare. {alone} a combination "
        "to themselves."
    )


def _population(found: dict[str, Any]) -> str:
    low, high = (number(end) for end in found["interval"])
    return (
        f"The breached people are {percent(found['fraction'], 2)} of a population of {number(found['size'])}. In "
        f"all of it {count_of(found['unique'], 'person', 'people')} are expected to be unique (95% interval {low} to "
        f"{high}), of the breached ones {number(found['of_breached'])}. This is a rough estimate from a sample."
    )
