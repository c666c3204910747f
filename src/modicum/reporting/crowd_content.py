"""How many people share what an adversary knows of them, as it may leave the team."""

from typing import Any

from pydantic import Field

from modicum.measures.uniqueness import Crowd
from modicum.reporting.content import Ends, Few, Part, Share
from modicum.reporting.disclosure import combinations, few, outward, tens, tens_up

_ALONE = "1"  # the size of a group of one


class Expected(Part):
    """How many people are expected to stand alone in a whole population."""

    population: Few = Field(description="How many people the records were drawn from, to tens.")
    unique: Few = Field(description="How many of them are expected to share what is seen with nobody.")
    interval: list[Few] | None = Field(description="Where 95% of such estimates lie.")


class CrowdContent(Part):
    """How many people share what an adversary knows of them."""

    records: Few
    groups: Few = Field(description="How many different combinations there are.")
    smallest: Few = Field(description="People in the smallest group.")
    alone: Share = Field(description="Share of records in a group of one person, rounded up to tens of people.")
    alone_interval: Ends = Field(description="Its 95% interval.")
    linked: Share = Field(description="Expected share of records linked to the right person, in tens of people.")
    linked_interval: Ends = Field(description="Its 95% interval.")
    sizes: dict[str, Share] = Field(
        description="People in the group → share of records, in tens of people; of one person rounded up."
    )
    expected: Expected | None = Field(description="How many stand alone in the population, where its size is known.")


def crowd_content(crowd: Crowd, is_public: bool = False) -> dict[str, Any]:
    """A crowd as it may leave the team; what a published table shows anyway (`is_public`) is exact.

    Who stands alone is rounded up, so that 0 means nobody, and in the same way wherever it is told.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.measures.uniqueness import crowd
    >>> from modicum.reporting.crowd_content import crowd_content
    >>> told = crowd_content(crowd(pd.DataFrame({"age": [30] * 997 + [31, 32, 33]}), ["age"]))
    >>> told["alone"], told["sizes"]["1"], told["smallest"]
    (0.01, 0.01, '< 10')
    """
    n, expected = crowd.people, crowd.expected
    return {
        "records": few(crowd.records),
        "groups": crowd.groups if is_public else combinations(crowd.groups, crowd.smallest),
        "smallest": crowd.smallest if is_public else few(crowd.smallest),
        "alone": tens_up(crowd.alone, n),
        "alone_interval": outward(crowd.alone_interval, n),
        "linked": tens(crowd.linked, n),
        "linked_interval": outward(crowd.linked_interval, n),
        "sizes": {name: (tens_up if name == _ALONE else tens)(share, n) for name, share in crowd.sizes.items()},
        "expected": None
        if expected is None
        else {
            "population": few(expected.population),
            "unique": few(round(expected.unique)),
            "interval": [few(round(end)) for end in expected.interval],
        },
    }
