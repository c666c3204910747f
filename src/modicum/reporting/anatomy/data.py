"""The data of a report on an anatomized release: its fields, how evidence fills them, and its sentences."""

from typing import Literal, Self

from pydantic import Field

from modicum.attacks import MatchingResult
from modicum.attacks.matching.matching import DEFINETTI, describe_adversary
from modicum.evaluation import AnatomyEvidence
from modicum.evaluation.evidence.anatomy_evidence import (
    AnatomyLearned,
    AnatomyRole,
)
from modicum.reporting.disclosure import check_size, few
from modicum.reporting.formats import count_of, in_disguise, no_better, number, percent, quote_name
from modicum.reporting.parts import AsFound, ContentPart, Count, CrowdContent, Few, Head, Heading, Share, Tens, TensEnds
from modicum.reporting.release_parts import (
    ErrorContent,
    GroupError,
    TrialContent,
    explain_too_few,
    find_worst_group,
)
from modicum.table.codes import FEW

_ALIKE = f"{DEFINETTI}, "  # the same adversary with each of its learners


class SensitiveContent(ContentPart):
    """One sensitive attribute in its table, counted again; exact, since the published table shows it."""

    name: str = Field(description="The attribute.")
    l: int = Field(description="The largest l such that no value is more than 1/l of any group.")
    distinct_l: int = Field(description="The fewest different values in a group.")
    highest: AsFound = Field(description="The largest share that one value has in any group.")
    groups: int = Field(description="How many groups there are.")
    smallest: int = Field(description="Records in the smallest group.")
    largest: int = Field(description="Records in the largest group.")
    values: int = Field(description="Different values.")


class AnatomyAttributeContent(ContentPart):
    """One column and its table; the published tables show its values."""

    name: str = Field(description="The column.")
    role: AnatomyRole = Field(description="Its role.")
    table: str = Field(description="The table in which its exact values are published.")
    values: int = Field(description="Different values, among the released records.")


class AdversaryContent(ContentPart):
    """How often one adversary gives people their right value."""

    name: str = Field(description="Its name.")
    means: str = Field(description="Who it is, in words.")
    right: Tens = Field(description="Share of people given the right value, in tens of people.")
    interval: TensEnds = Field(description="Its 95% interval, assuming that groups are independent.")

    @classmethod
    def of(cls, result: MatchingResult, name: str, people: int) -> Self:
        """Describe one adversary of an attack, in tens of people."""
        found = result.by_adversary[name]
        return cls.fill(found, people, name=name, means=describe_adversary(result, name), right=found.value)


class MatchingContent(ContentPart):
    """People matched to the values of their group."""

    sensitive: str = Field(description="The sensitive attribute.")
    promised: Share = Field(description="1/l as requested (as counted if that is not known).")
    naive: Tens = Field(description="Share of people with the most frequent value overall.")
    raw: Share = Field(description="If the full records were published: every value is known.")
    learned: Tens = Field(description="Share guessed right by the adversary who learns from the release alone.")
    interval: TensEnds = Field(description="Its 95% interval.")
    adversaries: list[AdversaryContent] = Field(description="Each adversary that was tried.")
    note: str | None = Field(description="What the figure does not show.")

    @classmethod
    def of(cls, result: MatchingResult, asked: int | None, people: int) -> Self:
        """Describe an attack on so many people, with `asked` as the requested l."""
        return cls.fill(
            result,
            people,
            promised=1 / (asked or result.l),
            raw=1.0,
            learned=result.accuracy,
            adversaries=[
                AdversaryContent.of(result, name, people) for name in result.by_adversary if not name.startswith(_ALIKE)
            ],
        )


class AnatomyUtilityContent(TrialContent):
    """A model trained on the tables, compared with others."""

    estimator: str = Field(description="What predicts the class.")
    errors: dict[str, ErrorContent] = Field(description="pruned, joined, identifying, raw, majority → error.")
    worst_group: str | None = Field(
        description="The group with the highest error after training on pruned tables, if large enough to compare."
    )

    @classmethod
    def of(cls, found: AnatomyLearned, held_out: bool) -> Self:
        """Round the errors to tens of people."""
        large = {name: each for name, each in found.by_group.items() if each.people >= FEW}
        groups = {
            name: GroupError.of(
                each.records,
                each.people,
                {source: own.error for source, own in each.errors.items()},
                each.errors["pruned"].interval,
            )
            for name, each in large.items()
        }
        return cls.fill(
            found,
            held_out=held_out,
            errors={
                source: ErrorContent.of(own.error, own.interval, found.people) for source, own in found.errors.items()
            },
            by_group=groups,
            small_groups=len(found.by_group) - len(large),
            worst_group=find_worst_group(groups, {name: each.people for name, each in large.items()}, "pruned"),
        )


class AnatomyContent(Head):
    """The report on an anatomized release."""

    modicum: Literal["anatomy"] = Field(default="anatomy", description="The kind of report.")
    grouping: str | None = Field(description="How groups were made.")
    label: str | None = Field(description="The class.")
    asked_l: int | None = Field(description="The requested l: no value is more than 1/l of its group.")
    kept: bool = Field(description="Whether every sensitive table satisfies it.")
    records: Few = Field(description="Records released.")
    left_out: Count = Field(description="Records left out: without a sensitive value, or too many of one value.")
    has_repeated: bool = Field(description="Whether some people have several records; the promise excludes them.")
    measured: list[SensitiveContent] = Field(description="Each sensitive attribute, counted again.")
    attributes: list[AnatomyAttributeContent] = Field(description="The columns.")
    crowds: dict[str, CrowdContent] = Field(description="What is known about a person → who is unique in the table.")
    matching: list[MatchingContent] = Field(description="What adversaries learn about each sensitive attribute.")
    utility: AnatomyUtilityContent | None = Field(description="What a model loses; null if not measured.")
    skipped: dict[str, str] = Field(description="What was not measured → why.")

    @classmethod
    def of(cls, found: AnatomyEvidence, heading: Heading) -> Self:
        """Fill the report; nothing in it reveals a few people."""
        check_size(found.people, "people in the records" if found.repeated else "records")
        why = None if found.utility is None else explain_too_few(found.utility.people)
        content = cls.fill(
            found,
            **heading.open(found.provenance),
            grouping=found.release.grouping,
            asked_l=found.l,
            kept=all(each.l >= (found.l or 1) for each in found.measured),
            records=found.release.rows,
            left_out=few(found.left_out) if found.left_out else 0,
            has_repeated=found.repeated,
            crowds={name: CrowdContent.of(each) for name, each in found.crowds.items()},
            matching=[MatchingContent.of(each, found.l, found.people) for each in found.matching],
            utility=None if found.utility is None or why else AnatomyUtilityContent.of(found.utility, found.held_out),
            skipped=found.skipped if why is None else found.skipped | {"utility": why},
        )
        return content.with_sentences(decision(content), warnings(content), limits(content))


# Sentences.


def decision(content: AnatomyContent) -> str:
    """Write the decision in one paragraph."""
    names = " and ".join(quote_name(each.name) for each in content.measured)
    highest, asked = max(each.highest for each in content.measured), content.asked_l
    text = (
        f"This release publishes {count_of(content.records, 'record')} as tables linked by groups. Every value is "
        f"exact, but the tables do not say who in a group has which value of {names}. No value has more than "
        f"{percent(highest)} of any group"
    )
    text += "" if asked is None else f" ({percent(1 / asked)}, one in {number(asked)}, was requested)"
    text += f"; left out: {count_of(content.left_out, 'record') if content.left_out else 'none'}."
    for each in content.matching:
        text += (
            f" Someone who learns from the release alone is right about {quote_name(each.sensitive)} for "
            f"{percent(each.learned)} of people ({percent(each.promised)} is the promise for someone who "
            f"learns nothing; {percent(each.naive)} have the most frequent value)."
        )
    if content.utility is not None:
        errors = content.utility.errors
        text += (
            f" A model for {quote_name(content.label)} that learns from such tables is wrong for "
            f"{percent(errors['pruned'].error)} of new records ({percent(errors['raw'].error)} from raw records, "
            f"{percent(errors['majority'].error)} when always guessing the majority)."
        )
    return text


def warnings(content: AnatomyContent) -> list[str]:
    """Write what a reader must know before relying on the numbers."""
    alone = next(iter(content.crowds.values())).alone
    found = [
        (not content.kept, "The release does NOT keep its promise: see below."),
        (
            content.has_repeated,
            "Some people have several records. Someone who knows which records are one person's sees which values "
            "their groups have in common: for these people the promise does not hold.",
        ),
        (
            alone > 0,
            f"{percent(alone)} of the people are unique in the identifying table, whose values are published exactly: "
            "someone who knows these attributes finds the person. Anatomy hides the sensitive value, not the person.",
        ),
    ]
    for each in content.matching:
        found += [
            (
                (each.interval or [0.0])[0] > each.promised,
                f"The promise of {percent(each.promised)} for {quote_name(each.sensitive)} is about an adversary who "
                "assumes that every matching of people to values is equally likely. An adversary who learns from the "
                f"release how attributes and values are related is right for {percent(each.learned)} of people: more "
                "than promised.",
            ),
            (each.note is not None, f"{each.sensitive}: {each.note}"),
        ]
    if content.utility is not None:
        pruned, raw, majority = (content.utility.errors[source].error for source in ("pruned", "raw", "majority"))
        found += [
            no_better(pruned, majority, "A model that learns from the tables"),
            in_disguise(raw, majority),
        ]
    return [text for applies, text in found if applies]


def limits(content: AnatomyContent) -> list[str]:
    """Write what the report does not say."""
    found = [
        "1/l limits the chance of a value if every matching of people to values is equally likely. It does not limit "
        "someone who learns from the release or knows some people's values.",
        "The adversaries are those that were tried, not the strongest possible. Someone who has more records of other "
        "people, or knows the values of some people in a group, can do better.",
        "Nothing in the identifying table is hidden: names, ID numbers and the like must be left out of it.",
        "Groups, shares in groups and columns are exact: anyone with the published tables can count them. All other "
        "counts are rounded to tens of people.",
        "The report shows neither the seed of the groups nor a hash of the full records: they could be used to test "
        "guesses of who has which value.",
    ]
    if content.utility is not None and content.utility.held_out:
        found.append(
            "Prediction was measured with a second release, made with the same settings from 70% of the records, and "
            "tested on the other 30%: the published release has all records, so none are left for testing."
        )
    return found
