"""The data of a report on the adversaries: its fields, its sentences, and how results fill them."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field

from modicum import __version__
from modicum.attacks import (
    AttackResult,
    AttributeResult,
    ConfidentResult,
    LinkResult,
    MultiBreachResult,
    SinglingOutResult,
    SuiteResult,
)
from modicum.attacks.breach import overlap_text
from modicum.measures.certificate import Certificate, confidence_text
from modicum.measures.uniqueness import Uniqueness
from modicum.reporting.disclosure import (
    check_size,
    combinations,
    compute_weighted_mean,
    few,
    lowest_error,
    round_certificate,
    tens,
)
from modicum.reporting.formats import format_levels, interval, quote_name
from modicum.reporting.parts import (
    AsFound,
    CertifiedPart,
    ContentPart,
    Count,
    Ends,
    ExpectedUniques,
    Few,
    Heading,
    Pair,
    Provenance,
    Share,
    Tens,
    TensEnds,
)
from modicum.table.codes import FEW

Adversary = Literal["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8"]


class Extreme(ContentPart):
    """The attribute with the lowest or highest error."""

    attribute: str = Field(description="The attribute's name.")
    error: Share = Field(description="Share of wrong guesses about it.")


class OverAttributes(ContentPart):
    """How much the attributes differ."""

    min: Extreme = Field(description="The attribute that is guessed wrong least often.")
    max: Extreme = Field(description="The attribute that is guessed wrong most often.")

    @classmethod
    def of(cls, errors: Mapping[str, float], n: int) -> Self:
        """Return both extremes in tens of people, chosen before rounding."""
        least, most = min(errors, key=errors.__getitem__), max(errors, key=errors.__getitem__)
        return cls(
            min=Extreme(attribute=least, error=tens(errors[least], n)),
            max=Extreme(attribute=most, error=tens(errors[most], n)),
        )


class Guesser(ContentPart):
    """An adversary who guesses personal values (A1, A3 to A6)."""

    id: Adversary = Field(description="Which of A1 to A8 it is.")
    name: str = Field(description="Its name.")
    short: str = Field(description="Its name in two or three words.")
    knows: str = Field(description="What it sees or knows.")
    error: Share = Field(description="Share of personal values guessed wrong, weighted mean over the attributes.")
    interval: TensEnds = Field(description="The 95% interval of the error, widened to tens of people.")
    naive: Share = Field(description="The error of someone who sees no record and always guesses the usual value.")
    raw: AsFound = Field(description="The error of someone who sees the raw records: 0.")
    over_attributes: OverAttributes = Field(description="The lowest and the highest error of an attribute.")
    worst: str | None = Field(description="The attribute about which it gains most; null if it gains nothing.")
    certified_error: Share | None = Field(
        description="No adversary with this knowledge has a lower mean error; null if nothing is certified."
    )
    alone: list[Share] | None = Field(description="For A6, the error from each breach alone; null for the others.")

    @classmethod
    def of(cls, name: Adversary, result: AttackResult, certificate: Certificate | None, n: int) -> Self:
        """Describe what one adversary finds, in tens of n people; the certificate is already rounded."""
        title, short, knows = NAMES[name]
        found = result.by_attribute
        return cls.fill(
            result,
            n,
            id=name,
            name=title,
            short=f"{name} {short}",
            knows=knows,
            error=compute_weighted_mean({a: tens(each.error, n) for a, each in found.items()}, result.weights),
            naive=compute_weighted_mean({a: tens(each.naive, n) for a, each in found.items()}, result.weights),
            over_attributes=OverAttributes.of({a: each.error for a, each in found.items()}, n),
            worst=result.worst if tens(found[result.worst].gain, n) > 0 else None,
            certified_error=None if certificate is None else lowest_error(certificate),
            alone=[tens(error, n) for error in result.alone] if isinstance(result, MultiBreachResult) else None,
        )


class FoundByAdversary(ContentPart):
    """What one adversary finds about one attribute."""

    error: Tens = Field(description="Share of wrong guesses.")
    interval: TensEnds = Field(description="Its 95% interval, widened to tens of people.")
    method: str = Field(description="The method that guessed best among those tried.")
    certified: Share | None = Field(description="No adversary with this knowledge has a lower error; null if none.")

    @classmethod
    def of(cls, found: AttributeResult, certificate: Certificate | None, name: str, n: int) -> Self:
        """Round the errors to tens of n people; the certificate is already rounded."""
        return cls.fill(found, n, certified=None if certificate is None else 1 - certificate.bounds[name])


class GuessedAttribute(ContentPart):
    """A personal attribute."""

    name: str = Field(description="The attribute's name.")
    weight: Share = Field(description="Its share in every mean over the attributes.")
    values: int = Field(description="How many values or ranges there are to guess from.")
    naive: Share = Field(description="Error of someone who sees no record and always guesses the usual value.")
    errors: dict[Adversary, FoundByAdversary] = Field(description="Adversary → what it finds.")

    @classmethod
    def of(cls, name: str, suite: SuiteResult, certificates: Mapping[str, Certificate], n: int) -> Self:
        """Describe one attribute, in tens of n people; the certificates are already rounded."""
        first = suite.reconstruction["A1"]
        return cls(
            name=name,
            weight=first.weights[name],
            values=first.by_attribute[name].values,
            naive=tens(first.by_attribute[name].naive, n),
            errors={
                kind: FoundByAdversary.of(each.by_attribute[name], certificates.get(kind), name, n)
                for kind, each in sort_adversaries(suite)
            },
        )


class SurestGuesses(ContentPart):
    """A2: the guesses that the adversary is most confident of."""

    percent: float = Field(description="The percentage of its guesses about each attribute, starting with the surest.")
    records: Few = Field(description="How many guesses about each attribute these are, in tens.")
    error: Share = Field(description="Share of these that are wrong, weighted mean over the attributes.")
    interval: TensEnds = Field(description="Its 95% interval, widened to tens of people.")
    naive: Share = Field(description="Error of the naive guess about the same people.")
    raw: AsFound = Field(description="The error of someone who sees the raw records: 0.")
    by_attribute: dict[str, Share] = Field(description="Attribute → share of these guesses that are wrong.")
    naive_by_attribute: dict[str, Share] = Field(description="Attribute → the naive guess's error for the same people.")
    worst: str = Field(description="The attribute about which these guesses gain most over the naive one.")

    @classmethod
    def of(cls, level: ConfidentResult, weights: Mapping[str, float]) -> Self:
        """Describe one part of the guesses, in tens of the people they are about."""
        n = level.people
        errors = {name: tens(error, n) for name, error in level.by_attribute.items()}
        naive = {name: tens(error, n) for name, error in level.naive_by_attribute.items()}
        return cls.fill(
            level,
            n,
            error=compute_weighted_mean(errors, weights),
            naive=compute_weighted_mean(naive, weights),
            by_attribute=errors,
            naive_by_attribute=naive,
        )


class MostExposed(ContentPart):
    """A2 on the smallest part of the guesses that can be reported."""

    percent: float = Field(description="The percentage of the guesses, starting with the surest.")
    records: Count = Field(description="How many guesses about each attribute these are, in tens.")
    error: Share = Field(description="Share of these that are wrong, weighted mean over the attributes.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: Share = Field(description="Error of the naive guess about the same people.")
    sentence: str = Field(description="The figures in a sentence to quote.")

    @classmethod
    def of(cls, levels: Sequence[SurestGuesses], hidden: Sequence[float]) -> Self | None:
        """Return the smallest of these parts; None if there is none or it is all guesses.

        Parameters
        ----------
        levels : the parts that can be reported
        hidden : the percentages of parts with too few people
        """
        level = min(levels, key=lambda each: each.percent, default=None)
        if level is None or level.percent >= 100:
            return None
        fewer = [percent for percent in hidden if percent < level.percent]
        more = f" The surest {format_levels(fewer)} are about too few people to report." if fewer else ""
        ends = "" if level.interval is None else f"95% interval {interval(level.interval)}; "
        return cls.fill(
            level,
            sentence=f"Of the {level.percent:g}% of guesses that someone who sees the collected records is most "
            f"confident of, {level.error:.1%} are wrong ({ends}naive guesses about the same people: "
            f"{level.naive:.1%}).{more}",
        )


class LinkabilityContent(ContentPart):
    """A7: halves of records that are joined."""

    error: Share = Field(description="Share of people whose halves are joined incorrectly.")
    interval: Pair = Field(description="Its 95% interval.")
    naive: Share = Field(description="The same if halves are joined at random.")
    raw: Share = Field(description="The same with the raw records.")
    a: list[str] = Field(description="The attributes of the first half.")
    b: list[str] = Field(description="The attributes of the second half.")
    k: int = Field(description="How many people are joined at once.")
    people: int = Field(description="How many people there are in total.")

    @classmethod
    def of(cls, result: LinkResult) -> Self:
        """Round the shares of joined halves to four digits: they are average chances, not counts of people."""
        low, high = result.interval
        return cls.fill(
            result,
            error=round(result.error, 4),
            interval=[math.floor(1e4 * low) / 1e4, math.ceil(1e4 * high) / 1e4],
            naive=round(result.naive, 4),
            raw=round(result.raw, 4),
        )


class BreachedUniques(ExpectedUniques):
    """The expected uniques, also among the breached people."""

    fraction: Share = Field(description="The breached people as a share of the population.")
    of_breached: Few = Field(description="How many of the breached people are expected to be unique in the population.")

    @classmethod
    def of(cls, found: Uniqueness) -> Self:
        """Round the estimate to tens of people."""
        expected = ExpectedUniques.of(found)
        return cls(**vars(expected), fraction=found.fraction, of_breached=few(round(found.of_sample)))


class SinglingOutContent(ContentPart):
    """A8: how many people are alone with their answers."""

    error: Tens = Field(description="Share of people who are not alone with their answers.")
    interval: TensEnds = Field(description="Its 95% interval, widened to tens of people.")
    naive: AsFound = Field(description="The same if nothing is collected: everyone.")
    raw: Tens = Field(description="The same with the raw records.")
    people: int = Field(description="How many people there are in the breached records.")
    least: Few = Field(description="How many people share the rarest combination of answers, in tens.")
    rarest: Count = Field(description="How many combinations are that rare; in tens if fewer than ten share them.")
    unique: Few = Field(description="How many people are alone with their combination, in tens.")
    groups: Count = Field(description="How many combinations there are; in tens if some are rare.")
    sizes: dict[str, Count] = Field(description="How many people share a combination → how many such combinations.")
    population: BreachedUniques | None = Field(description="The whole population; null if its size was not given.")

    @classmethod
    def of(cls, result: SinglingOutResult) -> Self:
        """Round the counts and shares to tens of people."""
        least = result.least
        return cls.fill(
            result,
            result.people,
            rarest=combinations(result.rarest, least),
            groups=combinations(result.groups, least),
            sizes={name: combinations(many, least) if many else 0 for name, many in result.sizes.items()},
            population=None if result.population is None else BreachedUniques.of(result.population),
        )


class AttackCertificate(CertifiedPart):
    """What no adversary with the same knowledge can exceed, on average."""

    bins: int = Field(description="How many ranges there are for guessing a number or date.")

    @classmethod
    def of(cls, certificate: Certificate) -> Self:
        """Copy a certificate that is already rounded."""
        return cls.fill(certificate, mean_error=lowest_error(certificate))


class SkippedAdversary(ContentPart):
    """An adversary that does not apply."""

    id: Adversary = Field(description="Which of A1 to A8 it is.")
    name: str = Field(description="Its name.")
    why: str = Field(description="Why it does not apply.")


class AdversaryName(ContentPart):
    """The name of an adversary."""

    name: str = Field(description="Its name.")
    short: str = Field(description="Its name in two or three words.")
    knows: str = Field(description="What it sees or does.")


class AttackContent(ContentPart):
    """The report on the adversaries A1 to A8."""

    modicum: Literal["attacks"] = Field(default="attacks", description="The kind of report.")
    version: int = Field(default=1, description="The version of this format.")
    modicum_version: str = Field(default=__version__, description="The version of modicum that made the report.")
    purpose: str | None = Field(description="What the data is for, in the user's words.")
    records_of: str | None = Field(description="Whose records these are, in the user's words.")
    provenance: Provenance | None = Field(
        description="Everything needed to reproduce the report; null inside another report, which has its own."
    )
    records: int = Field(description="How many records were breached.")
    people: int = Field(description="How many people they are of.")
    unit: str = Field(description="What shares are of: people, or records where one person has several.")
    known: int = Field(description="How many full records of other people the adversaries learned from.")
    random_state: int = Field(description="The seed.")
    weights: dict[str, Share] = Field(description="Attribute → its share in every mean over the attributes.")
    adversaries: list[Guesser] = Field(description="Those who guess personal values, ordered by what they know.")
    attributes: list[GuessedAttribute] = Field(description="The personal attributes.")
    confident: list[SurestGuesses] = Field(description="A2, the surest guesses first.")
    too_few_for_confident: list[float] = Field(description="Percentages at which A2 has too few people to report.")
    a2_most_exposed: MostExposed | None = Field(
        description="A2 on the smallest part that can be reported; null if there is none or it is all guesses."
    )
    linkability: LinkabilityContent | None = Field(description="A7; null if it does not apply.")
    singling_out: SinglingOutContent = Field(description="A8.")
    certificates: dict[Adversary, AttackCertificate] = Field(description="A1, A3 and A4 → what is certified.")
    skipped: list[SkippedAdversary] = Field(description="The adversaries that do not apply.")
    names: dict[Adversary, AdversaryName] = Field(description="A1 to A8 → their names.")
    warnings: list[str] = Field(default=[], description="What a reader must know before relying on the numbers.")
    sentences: list[str] = Field(default=[], description="What was found, in plain words.")
    limits: list[str] = Field(default=[], description="What the method does and does not say.")

    @classmethod
    def of(cls, found: SuiteResult, heading: Heading | None = None) -> Self:
        """Fill the report; inside another report, it has no heading."""
        first = found.reconstruction["A1"]
        n = found.singling_out.people  # shares are in tens of people, whatever records they have
        check_size(n, "breached records" if n == first.records else "breached people")
        certificates = {name: round_certificate(exact) for name, exact in found.certificates.items()}
        levels = sorted(found.confident, key=lambda level: level.percent)
        confident = [SurestGuesses.of(level, first.weights) for level in levels if level.people >= FEW * FEW]
        hidden = [level.percent for level in levels if level.people < FEW * FEW]
        content = cls(
            purpose=None if heading is None else heading.purpose,
            records_of=None if heading is None else heading.people,
            provenance=None if heading is None else Provenance.of(found.provenance, heading),
            records=first.records,
            people=n,
            unit=found.certificates["A1"].unit,
            known=first.known,
            random_state=found.random_state,
            weights=first.weights,
            adversaries=[
                Guesser.of(name, result, certificates.get(name), n) for name, result in sort_adversaries(found)
            ],
            attributes=[GuessedAttribute.of(name, found, certificates, n) for name in first.by_attribute],
            confident=confident,
            too_few_for_confident=hidden,
            a2_most_exposed=MostExposed.of(confident, hidden),
            linkability=None if found.linkability is None else LinkabilityContent.of(found.linkability),
            singling_out=SinglingOutContent.of(found.singling_out),
            certificates={name: AttackCertificate.of(certificates[name]) for name in NAMES if name in certificates},
            skipped=[
                SkippedAdversary(id=name, name=title, why=found.skipped[name])
                for name, (title, *_) in NAMES.items()
                if name in found.skipped
            ],
            names={
                name: AdversaryName(name=title, short=f"{name} {short}", knows=does)
                for name, (title, short, does) in NAMES.items()
            },
            warnings=describe_overlap(found.overlap, first.records),
        )
        return content.model_copy(update={"sentences": sentences(content), "limits": limits(content)})


# The names and the order of the adversaries.

NAMES: dict[Adversary, tuple[str, str, str]] = {  # title, short name, what it sees
    "A1": ("Reconstruction", "the record", "sees the collected record"),
    "A2": (
        "High-certainty reconstruction",
        "surest",
        "sees the collected record and speaks only where it is confident",
    ),
    "A3": ("Non-personal knowledge", "+ not personal", "also knows every attribute that is not personal"),
    "A4": ("Leave-one-out", "+ all but one", "also knows every attribute except the one to be guessed"),
    "A5": ("Partial personal knowledge", "+ some personal", "also knows some of the other personal attributes"),
    "A6": ("Multi-breach", "several breaches", "sees several collected records of the same people"),
    "A7": ("Linkability", "halves joined wrong", "joins halves of records with the help of the collected records"),
    "A8": ("Singling out", "people not alone", "looks for a combination of answers that only one person has"),
}
ORDER: tuple[Adversary, ...] = ("A1", "A3", "A5", "A4", "A6")  # those who guess values, by what they know


def sort_adversaries(found: SuiteResult) -> list[tuple[Adversary, AttackResult]]:
    """Return the adversaries who guess values, ordered by what they know."""
    return [(name, found.reconstruction[name]) for name in ORDER if name in found.reconstruction]


# Sentences, written only from the numbers of the content.


def sentences(content: AttackContent) -> list[str]:
    """Write what was found in plain words."""
    first, *others = content.adversaries
    found = [
        f"Someone who sees the collected records is wrong about {first.error:.1%} of personal values; without "
        f"seeing them they would be wrong about {first.naive:.1%}, with the raw records about none."
    ]
    if content.a2_most_exposed is not None:
        found.append(content.a2_most_exposed.sentence)
    strongest = min(others, key=lambda each: each.error, default=None)
    if strongest is not None:
        found.append(
            f"Someone who {strongest.knows} ({strongest.id}) is wrong about {strongest.error:.1%}"
            + (f", and gains most about {quote_name(strongest.worst)}." if strongest.worst else ".")
        )
    link = content.linkability
    if link is not None:
        found.append(
            f"Of {link.k:,} people at once, {1 - link.error:.2%} of halves are joined correctly "
            f"({1 - link.naive:.2%} at random, {1 - link.raw:.2%} with the raw records)."
        )
    return [*found, _describe_standing_out(content.singling_out)]


def _describe_standing_out(single: SinglingOutContent) -> str:
    if isinstance(single.unique, str):
        who = "fewer than ten are" if isinstance(single.least, str) else "nobody is"
    else:
        who = f"about {single.unique:,} are"
    return f"Of {single.people:,} people, {who} alone with their answers ({1 - single.raw:.1%} with the raw records)."


def describe_overlap(overlap: int, records: int) -> list[str]:
    """Write a warning if some breached rows are also known."""
    if not overlap:
        return []
    rounded = few(overlap)
    many = f"Fewer than {FEW}" if isinstance(rounded, str) else f"About {min(rounded, records):,}"
    return [overlap_text(many, records)]


def limits(content: AttackContent) -> list[str]:
    """Write what the report does and does not say."""
    certificate = content.certificates["A1"]
    confidence, unit = confidence_text(certificate.confidence), certificate.unit
    return [
        f"An error is the share of {unit} guessed wrong: higher is safer. Each adversary is the strongest of several "
        "that were tried, chosen on records that are not reported on; a stronger one may exist.",
        f"A certified error holds for every adversary with the same knowledge, with {confidence} confidence for "
        f"each of A1, A3 and A4, on average over {unit} like the breached ones. If these fall into too many different "
        "cells, it says nothing.",
        "All results are valid only if the breached records had no part in deciding what is collected, and if the "
        "known records are of other people.",
        "A5 is averaged over the number of known personal attributes, in a few random orders.",
        "Linking assumes that the people whose halves are joined are among the breached.",
        "The number of unique people in a whole population is a rough estimate by a model from a sample, more often "
        "too high than too low. Its interval shows what another sample might give, not how wrong the model is.",
    ]
