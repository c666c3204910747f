"""The data of a report on one generalization: its fields, its sentences, and how evidence fills them."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field

from modicum.attacks import AttackResult
from modicum.evaluation import Alternative, Alternatives, Evidence, Score, Utility
from modicum.evaluation._necessity import Verdict
from modicum.generalization import Generalization
from modicum.generalization.bins import Groups
from modicum.generalization.description import AttributeLine, BucketLine, Decision, Description
from modicum.measures.certificate import Certificate
from modicum.measures.intervals import Interval
from modicum.reporting.attack.data import AttackContent
from modicum.reporting.disclosure import (
    FewText,
    both_ends,
    check_size,
    combinations,
    compute_weighted_mean,
    decimals_of,
    disclose_share,
    few,
    highest,
    lowest_error,
    outward,
    ranking_of,
    round_certificate,
    select_comparable_groups,
    tens,
)
from modicum.reporting.generalization.generalization_sentences import (
    certificate_sentences,
    decision,
    describe_most_exposed,
    limits,
    warnings,
)
from modicum.reporting.parts import (
    CertifiedPart,
    Change,
    ChangeEnds,
    ContentPart,
    Count,
    Ends,
    Few,
    Head,
    Heading,
    Share,
    SomeEnds,
    Tens,
    TensEnds,
    ThreeDigits,
    round_by,
)
from modicum.table.codes import FEW


class CollectedContent(ContentPart):
    """How much is collected."""

    attributes: int = Field(description="How many attributes there were.")
    needed: int = Field(description="How many are collected.")
    in_full_detail: int = Field(description="How many of those in full detail, without buckets.")
    buckets: int = Field(description="How many answers can be chosen in all.")
    records: int = Field(description="Test records.")
    groups: Count = Field(description="Different combinations of answers among the test records.")
    smallest_group: Few = Field(description="How many people share the rarest combination.")

    @classmethod
    def of(cls, g: Generalization, description: Description) -> Self:
        """Count what a generalization asks; combinations and the smallest group in tens of people."""
        smallest = description.smallest_group or 0
        return cls(
            attributes=len(description.attributes),
            needed=len(g.needed),
            in_full_detail=sum(p.action == "kept" for p in g.partitions),
            buckets=sum(line.n_buckets for line in description.attributes if line.action != "not collected"),
            records=description.records or 0,
            groups=combinations(description.groups or 0, smallest),
            smallest_group=few(smallest),
        )


class BucketContent(ContentPart):
    """One answer that can be chosen."""

    label: str = Field(description="The bucket's name.")
    takes: list[str] = Field(description="What else belongs to it, such as missing values.")
    share: float | FewText | None = Field(
        description='Share of the test records, in tens of people; "< 10" below that.'
    )
    values: list[str] | None = Field(description="Its categories; null for a range, (other) and (missing).")

    @classmethod
    def of(cls, bucket: BucketLine, values: Sequence[str] | None, records: int) -> Self:
        """Describe one bucket, with its share in tens of people."""
        return cls(
            label=bucket.label,
            takes=list(bucket.takes),
            share=disclose_share(bucket, records),
            values=None if values is None else list(values),
        )


class AttributeOutcome(ContentPart):
    """How one attribute is collected, and how far that protects it."""

    name: str = Field(description="The attribute.")
    personal: bool = Field(description="Whether it is protected.")
    decision: Decision = Field(description="Whether it is kept, coarsened or not collected.")
    n_buckets: int = Field(description="How many buckets it has; 1 if it is not collected.")
    values: int = Field(description="How many different values it has in the training records.")
    buckets: Sequence[object] = Field(description="Its buckets; empty for a number in full detail.")
    adversary_error: Share | None = Field(description="A1's error about it; null if it is not personal.")
    adversary_interval: Ends = Field(description="The 95% interval of that error.")
    naive_error: Share | None = Field(description="The error of always naming the most frequent value.")
    certified_error: Share | None = Field(description="No adversary is wrong less often, on average.")


class AttributeContent(AttributeOutcome):
    """One attribute: how it is collected, and what an adversary learns about it."""

    kind: Literal["number", "date", "ordered", "category"] = Field(description="The kind of its values.")
    buckets: list[BucketContent] = Field(description="Its buckets; empty for a number in full detail.")
    raw_error: float | None = Field(description="The error on raw data, which is 0.")
    method: str | None = Field(description="Which of the portfolio's adversaries was the strongest.")
    certified_accuracy: float | None = Field(description="No adversary is right more often, on average.")

    @classmethod
    def of(cls, line: AttributeLine, found: Evidence, risk: "GuessedContent | None", bound: float | None) -> Self:
        """Describe one attribute; `risk` is what A1 finds about it, and `bound` the certified accuracy."""
        partition = found.generalization[line.name]
        named = [bucket.values for bucket in partition.buckets] if isinstance(partition, Groups) else []
        values = [*named, *[None] * len(line.buckets)]  # ranges, and the buckets of unseen and missing values
        return cls(
            name=line.name,
            personal=risk is not None,
            kind=found.generalization.schema[line.name].kind,
            decision=line.action,
            n_buckets=line.n_buckets,
            values=found.values[line.name],
            buckets=[
                BucketContent.of(bucket, categories, found.description.records or 0)
                for bucket, categories in zip(line.buckets, values, strict=False)
            ],
            adversary_error=None if risk is None else risk.error,
            adversary_interval=None if risk is None else risk.interval,
            naive_error=None if risk is None else risk.naive,
            raw_error=None if risk is None else risk.raw,
            method=None if risk is None else risk.method,
            certified_accuracy=bound,
            certified_error=None if bound is None else 1 - bound,
        )


class ScoreContent(ContentPart):
    """One score of the model."""

    minimized: float | None = Field(description="On minimized data.")
    raw: float | None = Field(description="On raw data.")
    majority: float | None = Field(description="When always predicting the classes' shares.")
    interval: SomeEnds = Field(description="The 95% interval on minimized data.")
    raw_interval: SomeEnds = Field(description="The 95% interval on raw data.")
    more_is_better: bool = Field(description="Whether a higher score is better.")

    @classmethod
    def of(cls, name: str, score: Score, people: int) -> Self:
        """Round one score: the error to tens of people, others to as many digits as that many people allow."""
        is_error = name == "error"
        minimized, raw, majority = (
            tens(value, people) if is_error else ranking_of(value, people)
            for value in (score.minimized, score.raw, score.majority)
        )
        interval, raw_interval = (
            outward(ends, people) if is_error else ranking_of(ends, people)
            for ends in (score.interval, score.raw_interval)
        )
        return cls(
            minimized=minimized,
            raw=raw,
            majority=majority,
            interval=interval,
            raw_interval=raw_interval,
            more_is_better=score.more_is_better,
        )


class GroupContent(ContentPart):
    """The model's error for one group of people."""

    records: Few = Field(description="Test records of the group.")
    persons: Few = Field(description="People of the group.")
    error: Tens = Field(description="Share of wrong predictions on minimized data.")
    interval: TensEnds = Field(description="Its 95% interval.")
    raw_error: Tens = Field(description="The same on raw data.")
    majority_error: Tens = Field(description="The same when always guessing the majority.")


class UtilityContent(ContentPart):
    """What the prediction loses."""

    error: Tens = Field(description="Share of wrong predictions on minimized data.")
    interval: TensEnds = Field(description="Its 95% interval.")
    raw_error: Tens = Field(description="The same on raw data.")
    majority_error: Tens = Field(description="The same when always guessing the majority.")
    skill_kept: float | None = Field(description="Share of the raw model's log-loss gain over the majority guess.")
    skill_interval: SomeEnds = Field(description="Its 95% interval.")
    scores: dict[str, ScoreContent] = Field(
        description="error, auc, log_loss → its values; no log-loss if a class is rare."
    )
    records: int = Field(description="Test records.")
    trained_on: int = Field(description="Training records.")
    estimator: str = Field(description="What predicts the label.")
    by_group: dict[str, GroupContent] = Field(description="Group of at least ten people → the model's error.")
    raw_skill: float = Field(description="Share of the majority guess's log-loss that raw data takes away.")
    is_weak: bool = Field(description="Whether even raw data barely predicts the label.")
    worst_group: str | None = Field(description="The group with the highest error among those large enough to compare.")
    loses_most: str | None = Field(description="The group whose error minimizing raises most; null if it raises none.")
    small_groups: int = Field(description="How many groups of fewer than ten people are not shown.")

    @classmethod
    def of(cls, found: Utility, people: int) -> Self:
        """Round the scores to tens of people, and leave out groups of fewer than ten."""
        scores = dict(found.scores)
        if found.rarest < FEW:
            # The majority guess's log-loss follows from the class counts, so it would reveal the size of a rare class.
            del scores["log_loss"]
        large = {name: group for name, group in found.by_group.items() if group.persons >= FEW}
        by_group = {name: GroupContent.fill(group, group.persons) for name, group in large.items()}
        worst, loses_most = find_worst_groups(
            by_group, select_comparable_groups({name: group.persons for name, group in large.items()})
        )
        return cls.fill(
            found,
            people,
            skill_kept=decimals_of(found.skill_kept),
            skill_interval=decimals_of(found.skill_interval),
            scores={name: ScoreContent.of(name, score, people) for name, score in scores.items()},
            by_group=by_group,
            raw_skill=decimals_of(found.raw_skill),
            worst_group=worst,
            loses_most=loses_most,
            small_groups=len(found.by_group) - len(large),
        )


def find_worst_groups(groups: Mapping[str, GroupContent], names: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the group among `names` with the highest error, and the one whose error minimizing raises most."""
    lost = {name: groups[name].error - groups[name].raw_error for name in names}
    most = highest(lost, names)
    return (
        highest({name: groups[name].error for name in names}, names),
        most if most is not None and lost[most] > 0 else None,
    )


class GuessedContent(ContentPart):
    """What the adversary A1 finds about one attribute."""

    error: Tens = Field(description="Share of wrong guesses.")
    interval: TensEnds = Field(description="Its 95% interval.")
    naive: Tens = Field(description="Error of always naming the most frequent value.")
    raw: float = Field(description="Error on raw data.")
    values: int = Field(description="How many values or ranges there are to guess from.")
    method: str = Field(description="Which of the portfolio's adversaries was the strongest.")


class FirstAdversary(ContentPart):
    """The adversary A1, who sees only the collected record."""

    adversary: str = Field(description="The adversary's name.")
    error: Share = Field(description="Weighted mean share of wrong guesses over the personal attributes.")
    interval: TensEnds = Field(description="Its 95% interval.")
    naive: float = Field(description="The same for always naming the most frequent value.")
    raw: float = Field(description="The same on raw data.")
    weights: dict[str, float] = Field(description="Attribute → its share in the mean.")
    records: int = Field(description="Test records that it guesses for.")
    known: int = Field(description="Full records of others that it learned from.")
    random_state: int = Field(description="The seed.")
    by_attribute: dict[str, GuessedContent] = Field(description="Attribute → what it finds.")
    worst: str = Field(description="The attribute about which it gains most over the naive guess.")

    @classmethod
    def of(cls, found: AttackResult, people: int) -> Self:
        """Round the errors to tens of people; means are taken over the rounded figures."""
        by_attribute = {name: GuessedContent.fill(each, people) for name, each in found.by_attribute.items()}
        return cls.fill(
            found,
            people,
            error=compute_weighted_mean({name: each.error for name, each in by_attribute.items()}, found.weights),
            naive=compute_weighted_mean({name: each.naive for name, each in by_attribute.items()}, found.weights),
            by_attribute=by_attribute,
        )


class CertificateContent(CertifiedPart):
    """What no adversary who sees only the collected record can exceed, on average."""

    observed: dict[str, float] = Field(description="Attribute → the best accuracy with hindsight on the test records.")
    naive: dict[str, float] = Field(description="Attribute → the accuracy of naming the most frequent value.")
    persons: int = Field(description="How many people the records are of.")
    margin: float = Field(description="The margin for chance that was added to the observed accuracy.")
    bins: int = Field(description="How many ranges there are for guessing a number.")
    knowledge: str = Field(description="What the adversary knows besides the answers.")
    weights: dict[str, float] = Field(description="Attribute → its share in the mean.")
    worst: str = Field(description="The attribute whose bound is furthest above the naive guess.")
    mean: float = Field(description="The highest mean accuracy over the attributes.")
    sentences: list[str] = Field(default=[], description="The certificate in sentences to quote.")
    exposed: str | None = Field(default=None, description="What A2 achieves for its surest guesses, in words.")

    @classmethod
    def of(cls, exact: Certificate) -> Self:
        """Round the bounds up to tens of people; the sentences are added later."""
        found = round_certificate(exact)
        return cls.fill(found, mean=min(1.0, found.mean), mean_error=lowest_error(found))


class StepContent(ContentPart):
    """What changes when one attribute is collected in another detail; changes are shares of 1."""

    what: str = Field(description="The change in plain words.")
    error_change: Change = Field(description="Change of the model's error; above 0 it gets worse.")
    error_interval: ChangeEnds = Field(description="The 95% interval of that paired difference.")
    skill_change: ThreeDigits | None = Field(description="Change of the skill kept; below 0 it gets worse.")
    skill_interval: Annotated[Ends, round_by(lambda ends, _: _widen(ends))] = Field(description="Its 95% interval.")
    adversary_change: Change = Field(description="Change of the adversary's mean error; above 0 it learns less.")
    adversary_interval: ChangeEnds = Field(description="Its 95% interval.")


def _widen(interval: Interval) -> list[float] | None:
    """Widen an interval to three digits; None if an end does not exist."""
    ends = both_ends(interval)
    return ends and [math.floor(1000 * ends[0]) / 1000 + 0.0, math.ceil(1000 * ends[1]) / 1000 + 0.0]


class NeedContent(ContentPart):
    """The alternatives to how one attribute is collected."""

    verdict: Verdict = Field(description="What the alternatives show, in words.")
    coarser: StepContent | None = Field(description="One step coarser; null if the only step is to leave it out.")
    without: StepContent | None = Field(description="Left out; null if it already is.")
    in_full: StepContent | None = Field(description="Asked in full detail; null if it is collected.")


class NecessityContent(ContentPart):
    """Why each attribute is collected in its detail."""

    trained_on: int = Field(description="Training records.")
    records: int = Field(description="Test records that the changes are measured on.")
    estimator: str = Field(description="What predicts the label.")
    adversary: str = Field(description="Who guesses the personal attributes.")
    note: str = Field(description="How far the verdicts can be trusted together.")
    attributes: dict[str, NeedContent] = Field(description="Attribute → its alternatives.")


class EndContent(ContentPart):
    """One limit of the trade-off."""

    error: Share = Field(description="The model's error.")
    adversary_error: Share = Field(description="The adversary's mean error.")


class PointContent(EndContent):
    """One way to collect."""

    name: str = Field(description="Its name.")
    needed: int = Field(description="How many attributes it asks for.")
    buckets: int = Field(description="How many answers can be chosen in all.")
    skill_kept: ThreeDigits | None = Field(description="Share of the raw model's skill that is kept.")
    chosen: bool = Field(description="Whether it was chosen.")

    @classmethod
    def of(cls, point: Alternative, found: Alternatives) -> Self:
        """Round the errors to tens of people."""
        return cls.fill(
            point,
            needed=len(point.generalization.needed),
            error=tens(point.error, found.people),
            adversary_error=_mean(point.risk, found),
            chosen=point.is_chosen,
        )


class AlternativesContent(ContentPart):
    """What else could have been collected."""

    source: str = Field(description="Where the points come from: a merge path or a study.")
    judge: str = Field(description="How they were scored, in words.")
    why: str = Field(description="The rule by which one was chosen.")
    considered: int = Field(description="How many points there were in all.")
    records: int = Field(description="Test records that they were scored on.")
    raw_data: EndContent = Field(description="The limit where everything is collected.")
    nothing_collected: EndContent = Field(description="The limit where nothing is collected.")
    points: list[PointContent] = Field(description="The points, from most to least detail.")

    @classmethod
    def of(cls, found: Alternatives) -> Self:
        """Round the points and the limits to tens of people."""
        n = found.people
        return cls.fill(
            found,
            raw_data=EndContent(error=tens(found.raw_error, n), adversary_error=0.0),
            nothing_collected=EndContent(
                error=tens(found.majority_error, n), adversary_error=_mean(found.naive, found)
            ),
            points=[PointContent.of(point, found) for point in found.points],
        )


def _mean(errors: Mapping[str, float], found: Alternatives) -> float:
    """Return the mean over attributes of their rounded errors."""
    return compute_weighted_mean({name: tens(error, found.people) for name, error in errors.items()}, found.weights)


class GeneralizationContent(Head):
    """A report on one generalization."""

    modicum: Literal["report"] = Field(default="report", description="The kind of report.")
    version: int = Field(default=2, description="The version of this format.")
    label: str = Field(description="What is predicted.")
    classes: list[str] = Field(description="Its classes.")
    unit: str = Field(description="What shares are of: people or records.")
    collected: CollectedContent = Field(description="How much is collected.")
    attributes: list[AttributeContent] = Field(description="Attribute by attribute.")
    utility: UtilityContent = Field(description="What the prediction loses.")
    attack: FirstAdversary = Field(description="What the adversary A1 finds.")
    certificate: CertificateContent = Field(description="What no adversary can exceed.")
    attacks: AttackContent | None = Field(
        description="What all adversaries found, as in a report of the kind 'attacks'; null if they were not run."
    )
    necessity: NecessityContent | None = Field(description="Why each attribute is needed; null if not measured.")
    alternatives: AlternativesContent | None = Field(description="What else could be collected; null if not compared.")

    @classmethod
    def of(cls, found: Evidence, heading: Heading) -> Self:
        """Fill the report; what would reveal fewer than ten people is left out or rounded."""
        description = found.description
        records, people = description.records or 0, description.persons or 0
        check_size(people, "test records" if people == records else "people in the test records")
        attack, certificate = FirstAdversary.of(found.attack, people), CertificateContent.of(found.certificate)
        content = cls.fill(
            found,
            people,
            **heading.open(found.provenance),
            unit=description.unit,
            collected=CollectedContent.of(found.generalization, description),
            attributes=[
                AttributeContent.of(line, found, attack.by_attribute.get(line.name), certificate.bounds.get(line.name))
                for line in description.attributes
            ],
            utility=UtilityContent.of(found.utility, people),
            attack=attack,
            certificate=certificate,
            attacks=None if found.attacks is None else AttackContent.of(found.attacks),
            alternatives=None if found.alternatives is None else AlternativesContent.of(found.alternatives),
        )
        quoted = {"sentences": certificate_sentences(content), "exposed": describe_most_exposed(content)}
        content = content.model_copy(update={"certificate": certificate.model_copy(update=quoted)})
        all_warnings = warnings(content) + ([] if content.attacks is None else content.attacks.warnings)
        return content.with_sentences(decision(content), all_warnings, limits(content))
