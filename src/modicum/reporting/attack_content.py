"""What the report on the adversaries holds: every field of its JSON, what it means and what it may be."""

from typing import Annotated, Literal

from pydantic import Field

from modicum.reporting.content import Ends, Few, Part, Provenance, Share

Adversary = Literal["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8"]


class Extreme(Part):
    """The attribute that is guessed best or worst."""

    attribute: str = Field(description="The attribute's name.")
    error: Share = Field(description="Share of wrong guesses about it.")


class OverAttributes(Part):
    """How far apart the attributes lie."""

    min: Extreme = Field(description="The attribute that is guessed wrong least often.")
    max: Extreme = Field(description="The attribute that is guessed wrong most often.")


class Guesser(Part):
    """An adversary who guesses personal values (A1, A3 to A6)."""

    id: Adversary = Field(description="Which of A1 to A8 it is.")
    name: str = Field(description="What it is called.")
    short: str = Field(description="The same in two or three words.")
    knows: str = Field(description="What it sees or knows.")
    error: Share = Field(description="Share of personal values guessed wrong, weighted mean over the attributes.")
    interval: Ends = Field(description="The 95% interval of the error, widened to tens of people.")
    naive: Share = Field(description="The same for someone who sees no record and always guesses the usual value.")
    raw: Share = Field(description="The same error for someone who sees the raw records: none.")
    over_attributes: OverAttributes = Field(description="The lowest and the highest error of an attribute.")
    worst: str | None = Field(description="The attribute about which most is gained; null where nothing is.")
    certified_error: Share | None = Field(
        description="No adversary with this knowledge has a lower mean error; null where nothing is certified."
    )
    alone: list[Share] | None = Field(description="Of A6: the error from each breach by itself; null for the others.")


class Found(Part):
    """One adversary about one attribute."""

    error: Share = Field(description="Share of wrong guesses.")
    interval: Ends = Field(description="Its 95% interval, widened to tens of people.")
    method: str = Field(description="The method that guessed best, of those that were tried.")
    certified: Share | None = Field(description="No adversary with this knowledge has a lower error; null where none.")


class Attribute(Part):
    """A personal attribute."""

    name: str = Field(description="The attribute's name.")
    weight: Share = Field(description="Its share in every mean over the attributes.")
    values: int = Field(description="Among how many values or ranges is guessed.")
    naive: Share = Field(description="Error of someone who sees no record and always guesses the usual value.")
    errors: dict[Adversary, Found] = Field(description="Adversary → what it finds.")


class Confident(Part):
    """A2: the guesses that the adversary is most confident of."""

    percent: float = Field(description="How many percent of its guesses about each attribute, the surest first.")
    records: Few = Field(description="How many guesses about each attribute that are, in tens.")
    error: Share = Field(description="Share of these that are wrong, weighted mean over the attributes.")
    interval: Ends = Field(description="Its 95% interval, widened to tens of people.")
    naive: Share = Field(description="Error of the naive guess about the same people.")
    raw: Share = Field(description="The same error for someone who sees the raw records: none.")
    by_attribute: dict[str, Share] = Field(description="Attribute → share of these guesses that are wrong.")
    naive_by_attribute: dict[str, Share] = Field(description="Attribute → the naive guess's, about the same people.")
    worst: str = Field(description="The attribute about which these guesses gain most over the naive one.")


class MostExposed(Part):
    """A2 on the smallest part of the guesses that may be told of."""

    percent: float = Field(description="How many percent of the guesses, the surest first.")
    records: Few = Field(description="How many guesses about each attribute that are, in tens.")
    error: Share = Field(description="Share of these that are wrong, weighted mean over the attributes.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: Share = Field(description="Error of the naive guess about the same people.")
    sentence: str = Field(description="The same in words, to be quoted.")


class Linkability(Part):
    """A7: halves of records that are joined."""

    error: Share = Field(description="Share of people whose halves are joined wrongly.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: Share = Field(description="The same where halves are joined at random.")
    raw: Share = Field(description="The same with the raw records.")
    a: list[str] = Field(description="The attributes of the first half.")
    b: list[str] = Field(description="The attributes of the second half.")
    k: int = Field(description="How many people are joined at once.")
    people: int = Field(description="How many people there are in all.")


class Population(Part):
    """What is expected in the whole population."""

    size: int = Field(description="How many people there are in all.")
    fraction: Share = Field(description="Which share of them the breached people are.")
    unique: Few = Field(description="How many of all people are expected to be unique, in tens.")
    interval: Annotated[list[Few], Field(min_length=2, max_length=2)] = Field(description="Its 95% interval.")
    of_breached: Few = Field(description="How many of the breached people are expected to be unique among all.")


class SinglingOut(Part):
    """A8: who is alone with their answers."""

    error: Share = Field(description="Share of people who are not alone with their answers.")
    interval: Ends = Field(description="Its 95% interval, widened to tens of people.")
    naive: Share = Field(description="The same where nothing is collected: everyone.")
    raw: Share = Field(description="The same with the raw records.")
    people: int = Field(description="How many people there are in the breached records.")
    least: Few = Field(description="How many people share the rarest combination of answers, in tens.")
    rarest: Few = Field(description="How many combinations are that rare; in tens where they are rare ones.")
    unique: Few = Field(description="How many people have a combination to themselves, in tens.")
    groups: Few = Field(description="How many combinations there are; in tens where some are rare.")
    sizes: dict[str, Few] = Field(description="How many people share a combination → how many such combinations.")
    population: Population | None = Field(description="The whole population; null where its size was not given.")


class Certificate(Part):
    """What no adversary with the same knowledge can exceed, on average."""

    bounds: dict[str, Share] = Field(description="Attribute → the highest share of right guesses, rounded up to tens.")
    mean_error: Share = Field(description="The lowest mean error that follows from the bounds.")
    confidence: Share = Field(description="The probability with which all bounds hold together.")
    records: int = Field(description="On how many records it was counted.")
    vacuous: list[str] = Field(description="The attributes about which it says nothing: their bound is 1.")
    note: str | None = Field(description="Why it says nothing about these.")
    unit: str = Field(description="What the average is over: people, or records where one person has several.")
    bins: int = Field(description="In how many ranges a number or date is guessed.")


class Skipped(Part):
    """An adversary that does not apply."""

    id: Adversary = Field(description="Which of A1 to A8 it is.")
    name: str = Field(description="What it is called.")
    why: str = Field(description="Why it does not apply.")


class Named(Part):
    """What an adversary is called."""

    name: str = Field(description="Its name.")
    short: str = Field(description="The same in two or three words.")
    knows: str = Field(description="What it sees or does.")


class Content(Part):
    """The report on the adversaries A1 to A8."""

    modicum: Literal["attacks"] = Field(description="The kind of report.")
    version: int = Field(description="The version of this format.")
    modicum_version: str = Field(description="The version of modicum that made the report.")
    purpose: str | None = Field(description="What the data is for, in the user's words.")
    records_of: str | None = Field(description="Whom the records are of, in the user's words.")
    provenance: Provenance | None = Field(
        description="What it was made of, so that it can be made again; null inside another report, which has its own."
    )
    records: int = Field(description="How many records were breached.")
    people: int = Field(description="Of how many people they are.")
    unit: str = Field(description="What shares are of: people, or records where one person has several.")
    known: int = Field(description="From how many full records of other people the adversaries learned.")
    random_state: int = Field(description="The seed.")
    weights: dict[str, Share] = Field(description="Attribute → its share in every mean over the attributes.")
    adversaries: list[Guesser] = Field(description="Those who guess personal values, by what they know.")
    attributes: list[Attribute] = Field(description="The personal attributes.")
    confident: list[Confident] = Field(description="A2, the surest guesses first.")
    too_few_for_confident: list[float] = Field(description="Percentages at which A2 would tell of too few people.")
    a2_most_exposed: MostExposed | None = Field(
        description="A2 on the smallest part that may be told of; null where that is none or all guesses."
    )
    linkability: Linkability | None = Field(description="A7; null where it does not apply.")
    singling_out: SinglingOut = Field(description="A8.")
    certificates: dict[Adversary, Certificate] = Field(description="A1, A3 and A4 → what is certified.")
    skipped: list[Skipped] = Field(description="The adversaries that do not apply.")
    names: dict[Adversary, Named] = Field(description="A1 to A8 → how they are called.")
    warnings: list[str] = Field(description="What a reader must know before believing the numbers.")
    sentences: list[str] = Field(description="What was found, in plain words.")
    limits: list[str] = Field(description="What the method does and does not say.")
