"""The data of a report on one generalization: what each field of the JSON holds."""

from typing import Any, Literal

from pydantic import Field

from modicum.reporting.attack_content import Content as AttackContent
from modicum.reporting.content import Ends, Few, Head, Part


class Collected(Part):
    """How much is asked."""

    attributes: int = Field(description="How many attributes there were.")
    needed: int = Field(description="How many are collected.")
    in_full_detail: int = Field(description="How many of those as they are, without buckets.")
    buckets: int = Field(description="How many answers can be chosen in all.")
    records: int = Field(description="Test records.")
    groups: Few = Field(description="Different combinations of answers among the test records.")
    smallest_group: Few = Field(description="How many people share the rarest combination.")


class Bucket(Part):
    """One answer that can be chosen."""

    label: str = Field(description="What the bucket is called.")
    takes: list[str] = Field(description="What else goes into it, such as missing values.")
    share: float | str | None = Field(description='Share of the test records, in tens of people; "< 10" below that.')
    values: list[str] | None = Field(description="The categories that it holds; null for a range.")


class AttributeContent(Part):
    """One attribute: what becomes of it, and what an adversary learns about it."""

    name: str = Field(description="The attribute.")
    personal: bool = Field(description="Whether it is protected.")
    kind: Literal["number", "date", "ordered", "category"] = Field(description="What its values are.")
    decision: Literal["not collected", "coarsened", "kept"] = Field(description="What becomes of it.")
    n_buckets: int = Field(description="In how many buckets it is asked; 1 where it is not.")
    values: int = Field(description="How many different values it has in the training records.")
    buckets: list[Bucket] = Field(description="Its buckets; none of a number in full detail.")
    adversary_error: float | None = Field(description="A1's error about it; null where it is not personal.")
    adversary_interval: Ends = Field(description="The 95% interval of that error.")
    naive_error: float | None = Field(description="The error of always naming the most frequent value.")
    raw_error: float | None = Field(description="The error on raw data, which is 0.")
    method: str | None = Field(description="Which of the portfolio's adversaries was the strongest.")
    certified_accuracy: float | None = Field(description="No adversary is right more often, on average.")
    certified_error: float | None = Field(description="1 minus the certified accuracy.")


class ScoreContent(Part):
    """One score of the model."""

    minimized: float | None = Field(description="On minimized data.")
    raw: float | None = Field(description="On raw data.")
    majority: float | None = Field(description="When always guessing by the classes' shares.")
    interval: Any = Field(description="The 95% interval on minimized data.")
    raw_interval: Any = Field(description="The 95% interval on raw data.")
    more_is_better: bool = Field(description="Whether a higher score is better.")


class GroupContent(Part):
    """The model's error for one group of people."""

    records: Few = Field(description="Test records of the group.")
    persons: Few = Field(description="People of the group.")
    error: float = Field(description="Share of wrong predictions on minimized data.")
    interval: Ends = Field(description="Its 95% interval.")
    raw_error: float = Field(description="The same on raw data.")
    majority_error: float = Field(description="The same when always guessing the majority.")


class UtilityContent(Part):
    """What the prediction loses."""

    error: float = Field(description="Share of wrong predictions on minimized data.")
    interval: Ends = Field(description="Its 95% interval.")
    raw_error: float = Field(description="The same on raw data.")
    majority_error: float = Field(description="The same when always guessing the majority.")
    skill_kept: float | None = Field(description="Share of the raw model's log-loss gain over the majority guess.")
    skill_interval: Any = Field(description="Its 95% interval.")
    scores: dict[str, ScoreContent] = Field(
        description="error, auc, log_loss → its values; no log-loss where a class is rare."
    )
    records: int = Field(description="Test records.")
    trained_on: int = Field(description="Training records.")
    estimator: str = Field(description="What predicts the label.")
    by_group: dict[str, GroupContent] = Field(description="Group of at least ten people → the model's error.")
    raw_skill: float = Field(description="Share of the majority guess's log-loss that raw data takes away.")
    is_weak: bool = Field(description="Whether even raw data barely predicts the label.")
    worst_group: str | None = Field(description="The group with the highest error, of those of a hundred people.")
    loses_most: str | None = Field(description="The one whose error minimizing raises most; null where it raises none.")
    small_groups: int = Field(description="How many groups of fewer than ten people are not shown.")


class GuessedContent(Part):
    """What the adversary A1 finds about one attribute."""

    error: float = Field(description="Share of wrong guesses.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: float = Field(description="Error of always naming the most frequent value.")
    raw: float = Field(description="Error on raw data.")
    values: int = Field(description="Among how many values or ranges is guessed.")
    method: str = Field(description="Which of the portfolio's adversaries was the strongest.")


class FirstAdversary(Part):
    """The adversary A1, who sees the collected record and nothing else."""

    adversary: str = Field(description="Which one it is.")
    error: float = Field(description="Weighted mean share of wrong guesses over the personal attributes.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: float = Field(description="The same of always naming the most frequent value.")
    raw: float = Field(description="The same on raw data.")
    weights: dict[str, float] = Field(description="Attribute → its share in the mean.")
    records: int = Field(description="Test records that it guesses about.")
    known: int = Field(description="Full records of others that it learned from.")
    random_state: int = Field(description="The seed.")
    by_attribute: dict[str, GuessedContent] = Field(description="Attribute → what it finds.")
    worst: str = Field(description="The attribute about which it gains most over the naive guess.")


class CertificateContent(Part):
    """What no adversary can exceed who sees only the collected record, on average."""

    bounds: dict[str, float] = Field(description="Attribute → the highest accuracy that any adversary can reach.")
    observed: dict[str, float] = Field(description="Attribute → the best accuracy with hindsight on the test records.")
    naive: dict[str, float] = Field(description="Attribute → the accuracy of naming the most frequent value.")
    confidence: float = Field(description="The probability with which all bounds hold together.")
    records: int = Field(description="Test records that it was counted on.")
    persons: int = Field(description="People whom these are of.")
    margin: float = Field(description="What was added to the observed accuracy.")
    bins: int = Field(description="In how many ranges a number is guessed.")
    knowledge: str = Field(description="What the adversary knows besides the answers.")
    weights: dict[str, float] = Field(description="Attribute → its share in the mean.")
    unit: str = Field(description="What the average is over: people or records.")
    vacuous: list[str] = Field(description="The attributes that it says nothing about.")
    note: str | None = Field(description="Why it says nothing about them.")
    worst: str = Field(description="The attribute whose bound is furthest above the naive guess.")
    mean: float = Field(description="The highest mean accuracy over the attributes.")
    mean_error: float = Field(description="1 minus that.")
    sentences: list[str] = Field(description="The certificate in words that can be quoted.")
    exposed: str | None = Field(description="What A2 achieves about the people it is surest of, in words.")


class StepContent(Part):
    """What changes when one attribute is collected in another detail; a change is in shares of 1."""

    what: str = Field(description="The change in plain words.")
    error_change: float = Field(description="Of the model's error; above 0 it gets worse.")
    error_interval: Ends = Field(description="The 95% interval of that paired difference.")
    skill_change: float | None = Field(description="Of the skill that is kept; below 0 it gets worse.")
    skill_interval: Ends = Field(description="Its 95% interval.")
    adversary_change: float = Field(description="Of the adversary's mean error; above 0 it learns less.")
    adversary_interval: Ends = Field(description="Its 95% interval.")


class NeedContent(Part):
    """The alternatives to how one attribute is collected."""

    verdict: str = Field(description="What they say, in words.")
    coarser: StepContent | None = Field(description="One step coarser; null where there is none but leaving it out.")
    without: StepContent | None = Field(description="Left out; null where it is.")
    in_full: StepContent | None = Field(description="Asked in full detail; null where it is collected.")


class NecessityContent(Part):
    """Why each attribute is collected as it is."""

    trained_on: int = Field(description="Training records that the models learned from.")
    records: int = Field(description="Test records that the changes are counted on.")
    estimator: str = Field(description="What predicts the label.")
    adversary: str = Field(description="Who guesses the personal attributes.")
    note: str = Field(description="How far the verdicts can be trusted together.")
    attributes: dict[str, NeedContent] = Field(description="Attribute → its alternatives.")


class EndContent(Part):
    """One end of the trade-off."""

    error: float = Field(description="The model's error.")
    adversary_error: float = Field(description="The adversary's mean error.")


class PointContent(EndContent):
    """One way to collect."""

    name: str = Field(description="What it is called.")
    needed: int = Field(description="How many attributes it asks for.")
    buckets: int = Field(description="How many answers can be chosen in all.")
    skill_kept: float | None = Field(description="Share of the raw model's skill that is kept.")
    chosen: bool = Field(description="Whether it is the one that was taken.")


class AlternativesContent(Part):
    """What else could have been collected."""

    source: str = Field(description="Where the points come from: a merge path or a study.")
    judge: str = Field(description="How they were scored, in words.")
    why: str = Field(description="By what rule the chosen one was taken.")
    considered: int = Field(description="How many points there were in all.")
    records: int = Field(description="Test records that they were scored on.")
    raw_data: EndContent = Field(description="The end where everything is collected.")
    nothing_collected: EndContent = Field(description="The end where nothing is.")
    points: list[PointContent] = Field(description="The points, by falling detail.")


class Content(Head):
    """A report on one generalization."""

    modicum: Literal["report"] = Field(description="The kind of report.")
    label: str = Field(description="What is predicted.")
    classes: list[str] = Field(description="Its classes.")
    unit: str = Field(description="What shares are of: people or records.")
    collected: Collected = Field(description="How much is asked.")
    attributes: list[AttributeContent] = Field(description="Attribute by attribute.")
    utility: UtilityContent = Field(description="What the prediction loses.")
    attack: FirstAdversary = Field(description="What the adversary A1 finds.")
    certificate: CertificateContent = Field(description="What no adversary can exceed.")
    attacks: AttackContent | None = Field(
        description="What all adversaries found, as in a report of the kind 'attacks'; null where they were not run."
    )
    necessity: NecessityContent | None = Field(description="Why each attribute is needed; null where not measured.")
    alternatives: AlternativesContent | None = Field(description="What else could be collected; null where not asked.")
