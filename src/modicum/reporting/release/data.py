"""The data of a report on a k-anonymous release: its fields, how evidence fills them, and its sentences."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, WithJsonSchema

from modicum.attacks import MembershipResult
from modicum.evaluation import ReleaseEvidence, Utility
from modicum.evaluation.evidence.release_evidence import ALL, QUASI
from modicum.evaluation.evidence.release_measures import Published
from modicum.measures.intervals import Interval
from modicum.measures.uniqueness import Crowd
from modicum.releases.release import ReleaseTerms
from modicum.reporting.disclosure import both_ends, check_size, decimals_of, few, outward, ranking_of, tens, tens_up
from modicum.reporting.formats import count_of, in_disguise, number, percent, quote_name
from modicum.reporting.parts import (
    AsFound,
    ContentPart,
    Count,
    CrowdContent,
    Ends,
    Few,
    Head,
    Heading,
    Share,
    Tens,
    TensEnds,
    TensUp,
)
from modicum.reporting.release_parts import (
    ErrorContent,
    GroupError,
    TrialContent,
    explain_too_few,
    find_worst_group,
)
from modicum.table.codes import FEW

Number = Annotated[int | float, WithJsonSchema({"type": "number"})]  # whole numbers have no fraction


class Promise(ContentPart):
    """What was requested."""

    k: int = Field(description="The fewest people who share their quasi-identifiers.")
    l: Number | None = Field(description="The fewest (or effective number of) sensitive values in a group.")
    t: Number | None = Field(description="The largest distance between the sensitive values of a group and of all.")
    diversity: str | None = Field(description="What l counts: distinct, entropy or recursive.")
    c: Number | None = Field(description="The constant of recursive diversity.")
    distance: str | None = Field(description="What t measures: equal, ordered or hierarchical.")

    @classmethod
    def of(cls, asked: ReleaseTerms) -> Self:
        """Copy what was requested of a release; the rest is null."""
        return cls.model_validate({name: asked.get(name) for name in cls.model_fields})


class MeasuredContent(ContentPart):
    """What was counted again on the release; exact if the published table shows it."""

    k: int = Field(description="People in the smallest group.")
    sensitive: str | None = Field(description="The attribute that l and t refer to.")
    distinct_l: int | None = Field(description="The fewest different sensitive values in a group.")
    l: Number | None = Field(description="Diversity of the requested kind.")
    t: float | None = Field(description="The largest distance between the sensitive values of a group and of all.")
    distance: str | None = Field(description="What t measures.")
    kept: bool = Field(description="Whether the release has what was requested.")
    groups: int = Field(description="How many groups there are.")
    largest_group: Count = Field(
        description="People in the largest group; rounded if the table does not show which rows are one person's."
    )
    highest_risk: Share = Field(description="1 divided by the number of people in the smallest group.")
    records: Few = Field(description="Records released.")
    left_out: Count = Field(description="Records left out.")

    @classmethod
    def of(cls, found: ReleaseEvidence) -> Self:
        """Fill the counts; those that anybody can make in the published table stay exact."""
        release, measured, crowd = found.release, found.measured, found.crowds[QUASI]["release"]
        return cls.fill(
            measured,
            groups=crowd.groups,
            largest_group=crowd.largest if found.persons is None else few(crowd.largest),
            highest_risk=crowd.highest,
            records=release.rows,
            left_out=few(release.suppressed) if release.suppressed else 0,
        )


class ReleaseAttributeContent(ContentPart):
    """One column and how it was published; anybody can count its values in the published table."""

    name: str = Field(description="The column.")
    role: str = Field(description="quasi-identifier, sensitive, label, identifier, person or other.")
    published: Published = Field(description="What was done with its values.")
    ncp: AsFound = Field(description="Information loss (NCP): 0 is full detail, 1 is nothing.")
    values_before: int = Field(description="Different values before, among the released records.")
    values_after: int = Field(description="Different values after.")


class CrowdPair(ContentPart):
    """The same counts for the release and the full records."""

    release: CrowdContent = Field(description="Counted on the release.")
    raw: CrowdContent = Field(description="Counted on the full records.")

    @classmethod
    def of(cls, found: Mapping[str, Crowd], is_public: bool = False) -> Self:
        """Round both crowds; the release's stays exact if the published table shows it (`is_public`)."""
        return cls(release=CrowdContent.of(found["release"], is_public), raw=CrowdContent.of(found["raw"]))


class Crowds(ContentPart):
    """How many are unique and how many can be linked, by what an adversary knows."""

    quasi_identifiers: CrowdPair = Field(description="For someone who knows the quasi-identifiers.")
    all_columns: CrowdPair = Field(description="For someone who knows every published column.")


class GuessContent(ContentPart):
    """A guess of a value from a person's group."""

    right: Tens = Field(description="Share of records guessed right, in tens of people.")
    interval: TensEnds = Field(description="Its 95% interval, assuming that groups are independent.")
    certain: TensUp = Field(
        description="Share of records in a group with only one value, rounded up to tens of people."
    )


class InferenceContent(ContentPart):
    """An attribute guessed from a person's group."""

    attribute: str = Field(description="The attribute.")
    values: int = Field(description="How many values there are to guess from.")
    in_ranges: bool = Field(description="Whether the range of a number is guessed.")
    naive: Tens = Field(description="Share of records with the most frequent value of all.")
    release: GuessContent = Field(description="From the person's group in the release.")
    raw: GuessContent = Field(description="From the raw quasi-identifiers.")


class ReleaseUtilityContent(TrialContent):
    """A model trained on the release, compared with one trained on raw records."""

    errors: dict[str, ErrorContent] = Field(description="release, raw, majority → error.")
    auc: dict[str, float | None] = Field(description="release, raw → area under the ROC curve.")
    auc_interval: Ends = Field(description="95% interval of the release's AUC.")
    skill_kept: float | None = Field(description="Share of the raw model's gain in log-loss over the majority guess.")
    skill_interval: list[float | None] = Field(description="Its 95% interval.")
    is_weak: bool = Field(description="Whether even raw records barely predict the label.")

    @classmethod
    def of(cls, found: Utility, people: int, held_out: bool) -> Self:
        """Round the scores of models that were tested on so many people."""
        auc, raw_interval = found.scores["auc"], found.scores["error"].raw_interval
        ends = _round_ends(auc.interval)
        large = {name: each for name, each in found.by_group.items() if each.persons >= FEW}
        groups = {
            name: GroupError.of(
                each.records,
                each.persons,
                {"release": each.error, "raw": each.raw_error, "majority": each.majority_error},
                each.interval,
            )
            for name, each in large.items()
        }
        return cls.fill(
            found,
            held_out=held_out,
            errors={
                "release": ErrorContent.of(found.error, found.interval, people),
                "raw": ErrorContent.of(found.raw_error, raw_interval, people),
                "majority": ErrorContent.of(found.majority_error, None, people),
            },
            auc={"release": ranking_of(auc.minimized, people), "raw": ranking_of(auc.raw, people)},
            auc_interval=None if ends is None else [ranking_of(end, people) for end in ends],
            skill_kept=decimals_of(found.skill_kept, 3),
            skill_interval=decimals_of(found.skill_interval, 3),
            by_group=groups,
            small_groups=len(found.by_group) - len(large),
            worst_group=find_worst_group(groups, {name: each.persons for name, each in large.items()}, "release"),
        )


def _round_ends(ends: Interval | None) -> list[float] | None:
    """Round an interval to three digits; None if an end is missing."""
    known = both_ends(ends)
    return None if known is None else [round(end, 3) for end in known]


class MemberContent(ContentPart):
    """How well one model reveals whom it was trained on."""

    accuracy: Share = Field(description="Share of right answers; guessing gives one half.")
    interval: Ends = Field(description="Its 95% interval.")
    auc: float | None = Field(description="Chance that a member scores above a non-member.")
    auc_interval: Ends = Field(description="Its 95% interval.")
    method: str = Field(description="The attack that was strongest on known records.")

    @classmethod
    def of(cls, found: MembershipResult) -> Self:
        """Round the attack's figures to tens of records."""
        return cls(
            accuracy=tens(found.accuracy.value or 0.0, found.records),
            interval=outward(found.accuracy.interval, found.records),
            auc=decimals_of(found.auc.value, 3),
            auc_interval=_round_ends(found.auc.interval),
            method=found.method,
        )


class MembershipContent(ContentPart):
    """Membership inference against both models."""

    records: Few = Field(description="Records attacked, half of them members.")
    shared: Share = Field(
        description="Share of non-members who seem to be members, rounded up: above 0, the attack looks too weak."
    )
    models: dict[str, MemberContent] = Field(description="release, raw → what the model reveals.")

    @classmethod
    def of(cls, found: Mapping[str, MembershipResult]) -> Self:
        """Describe the attack on each model; the attacked records are the same."""
        own = next(iter(found.values()))
        others = max(1, (own.records + own.known) // 2)  # half of all are members
        return cls(
            records=few(own.records),
            shared=tens_up(min(1.0, own.overlap / others), others),
            models={name: MemberContent.of(each) for name, each in found.items()},
        )


class ReleaseContent(Head):
    """The report on a k-anonymous release."""

    modicum: Literal["release"] = Field(default="release", description="The kind of report.")
    method: str = Field(description="How groups were made.")
    form: Literal["values", "ranges"] = Field(description="Values of the original domain, or intervals and lists.")
    unit: Literal["records", "people"] = Field(description="What k counts.")
    label: str | None = Field(description="What is predicted.")
    promise: Promise = Field(description="What was requested.")
    measured: MeasuredContent = Field(description="What was counted again on the release.")
    information_loss: Share = Field(description="NCP over all quasi-identifiers.")
    attributes: list[ReleaseAttributeContent] = Field(description="The columns.")
    crowds: Crowds = Field(description="How many are unique and how many can be linked.")
    inference: list[InferenceContent] = Field(description="What a person's group reveals of each sensitive attribute.")
    utility: ReleaseUtilityContent | None = Field(description="What a model loses; null if not measured.")
    membership: MembershipContent | None = Field(
        description="What models reveal about whom they were trained on; null if not measured."
    )
    skipped: dict[str, str] = Field(description="What was not measured → why.")

    @classmethod
    def of(cls, found: ReleaseEvidence, heading: Heading) -> Self:
        """Fill the report; nothing in it reveals a few people."""
        check_size(found.people, "records" if found.persons is None else "people in the records")
        release = found.release
        why = None if found.utility is None else explain_too_few(found.tested)
        content = cls.fill(
            found,
            **heading.open(found.provenance),
            method=release.method,
            form="ranges" if release.output == "ranges" else "values",
            unit="records" if found.persons is None else "people",
            promise=Promise.of(release.asked),
            measured=MeasuredContent.of(found),
            information_loss=release.ncp,
            crowds=Crowds(
                quasi_identifiers=CrowdPair.of(found.crowds[QUASI], is_public=True),
                all_columns=CrowdPair.of(found.crowds[ALL]),
            ),
            inference=[InferenceContent.fill(each, found.people) for each in found.inference],
            utility=None
            if found.utility is None or why
            else ReleaseUtilityContent.of(found.utility, found.tested, found.held_out),
            membership=None if found.membership is None or why else MembershipContent.of(found.membership),
            skipped=found.skipped if why is None else found.skipped | {"utility": why, "membership": why},
        )
        return content.with_sentences(decision(content), warnings(content), limits(content))


# Sentences.


def decision(content: ReleaseContent) -> str:
    """Write the decision in one paragraph."""
    own, crowds, utility = content.measured, content.crowds.quasi_identifiers, content.utility
    quasi = [each for each in content.attributes if each.role == "quasi-identifier"]
    text = (
        f"This release publishes {count_of(own.records, 'record')}. The smallest group that shares all "
        f"{count_of(len(quasi), 'quasi-identifier')} has {count_of(own.k, 'person', 'people')} "
        f"({number(content.promise.k)} were requested)"
    )
    text += f", after leaving out {count_of(own.left_out, 'record')}" if own.left_out else ", with no record left out"
    text += (
        f". By these attributes, {percent(crowds.release.alone)} of the records are unique "
        f"({percent(crowds.raw.alone)} before); {percent(content.information_loss)} of their detail is lost."
    )
    if utility is not None:
        text += (
            f" A model for {quote_name(content.label)} that learns from such a release is wrong for "
            f"{percent(utility.errors['release'].error)} of new records "
            f"({percent(utility.errors['raw'].error)} from raw records, "
            f"{percent(utility.errors['majority'].error)} when always guessing the majority)."
        )
    return text


def warnings(content: ReleaseContent) -> list[str]:
    """Write what a reader must know before relying on the numbers."""
    alone = content.crowds.all_columns.release.alone
    sure = [each for each in content.inference if each.release.certain]
    likely = [e for e in content.inference if not e.release.certain and e.release.right > e.naive + 0.05]
    found = [
        (not content.measured.kept, "The release does NOT keep its promise: see below."),
        (
            alone > 0,
            f"{percent(alone)} of the released records are unique when every published column is known, "
            "because columns that are not quasi-identifiers are published unchanged. k protects only against "
            "someone who knows the quasi-identifiers and nothing else.",
        ),
        (
            bool(sure),
            "Some groups have only one value of "
            + ", ".join(f"{quote_name(e.attribute)} ({percent(e.release.certain)} of the records)" for e in sure)
            + ": for everyone in such a group, it is known for certain, whatever k is.",
        ),
        (
            bool(likely),
            "A person's group reveals more than the most frequent value overall: "
            + ", ".join(
                f"{quote_name(e.attribute)} is guessed right for {percent(e.release.right)} of the records "
                f"({percent(e.naive)} without the group)"
                for e in likely
            )
            + ".",
        ),
        (
            content.membership is not None and content.membership.shared > 0,
            "Some of the test records seem to be of people who are in the release. This makes prediction look too "
            "good, and the membership attack too weak.",
        ),
    ]
    if content.utility is not None:
        errors = content.utility.errors
        found.append((content.utility.is_weak, "Even raw records barely predict the label."))
        found.append(in_disguise(errors["raw"].error, errors["majority"].error))
    return [text for applies, text in found if applies]


def limits(content: ReleaseContent) -> list[str]:
    """Write what the report does not say."""
    found = [
        "k-anonymity only limits how well a person can be recognised by the named quasi-identifiers. Somebody had to "
        "judge which attributes others may know; every other column is published unchanged.",
        "It says nothing about what a group has in common: if all people of a group share a sensitive value, it is "
        "known for each of them, however large k is. l and t protect only the one attribute they were requested for.",
        "It is not differential privacy: someone who knows more about a person, or has other releases of the same "
        "people, can learn more than is shown here.",
        "Uniqueness and linking are measured for an adversary who knows that a person is in the table. An adversary "
        "who does not know this does worse.",
        "The guess from a group is the best for someone who sees only the group. Other published columns may reveal "
        "more; they were not tried.",
        "k, l, t and the number of groups are exact: they are the promise, and anyone with the published table can "
        "count groups. Counts on full records are rounded to tens of people.",
    ]
    if content.utility is not None and content.utility.held_out:
        found.append(
            "Prediction and membership were measured with a second release, made with the same settings from 70% of "
            "the records, and tested on the other 30%: the published release has all records, so none are left for "
            "testing. A model that learns from all of them may do slightly better."
        )
    return found
