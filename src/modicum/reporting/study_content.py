"""What the report of a study holds: every field of its JSON, what it means and what it may be."""

from typing import Annotated, Literal

from pydantic import Field

from modicum.reporting.content import Ends, Few, Part, Provenance, Share
from modicum.reporting.report_content import Content as ReportContent

Point = Annotated[list[Share], Field(min_length=2, max_length=2)]


class Limit(Part):
    """One of the two ends that every candidate lies between."""

    error: Share = Field(description="Share of people for whom the model is wrong there.")
    adversary_error: Share = Field(description="Share of personal values that the adversary guesses wrong there.")


class Volume(Part):
    """A hypervolume: which share of the area between raw data and nothing collected a front reaches."""

    mean: float | None = Field(description="The mean over seeds; null where there is none.")
    interval: Ends = Field(description="The 95% interval of the mean over seeds; null with one seed.")
    seeds: int = Field(description="Over how many seeds.")


class JudgedVolume(Volume):
    """The same, also as judged."""

    judged: float | None = Field(description="With the first seed as judged; null where not each front was judged.")


class SizedVolume(Volume):
    """The same from a part of the training records."""

    train_size: float = Field(description="Share of the training records from which the minimizer learned.")


class Reached(Part):
    """What is reached at a given loss."""

    above_raw: float = Field(description="How much the classifier's error may lie above that on raw data.")
    adversary_error: Share | None = Field(description="The adversary's highest error there, by counts; null if none.")


class Minimizer(Part):
    """A method that proposes what to collect."""

    name: str = Field(description="Its name.")
    candidates: int = Field(description="How many candidates it made with the first seed.")
    candidates_of_all_seeds: int = Field(description="How many with all seeds and training sizes.")
    judged: int = Field(description="How many of these were judged.")
    hypervolume: JudgedVolume = Field(description="What its fronts reach.")
    reached: list[Reached] = Field(description="The adversary's error where the classifier loses at most so much.")
    seconds: float = Field(description="What all its candidates and their judges took.")
    line: list[Point] = Field(description="What its front reaches: classifier's and adversary's error, left to right.")
    sizes: list[SizedVolume] = Field(description="Its hypervolume for each training size, where there are several.")


class Row(Part):
    """A candidate."""

    name: str = Field(description="Minimizer and parameters in a few words.")
    minimizer: str = Field(description="The minimizer that made it.")
    error: Share = Field(description="The classifier's error, by the strongest judge there was.")
    adversary_error: Share = Field(description="The adversary's mean error, by the strongest judge there was.")
    needed: int = Field(description="How many attributes it asks for.")
    buckets: int = Field(description="In how many buckets in all.")
    smallest_group: Few = Field(description="How many people share its rarest combination of answers, in tens.")


class Candidate(Row):
    """A candidate of the first split."""

    judged: bool = Field(description="Whether it was judged by boosted trees and the full adversary.")
    by_counts: Point = Field(description="Classifier's and adversary's error by counts.")
    on_own_front: bool = Field(description="Whether no judged candidate of its minimizer beats it in both errors.")
    on_front: bool = Field(description="Whether no judged candidate at all does.")
    chosen: bool = Field(description="Whether it is the chosen one.")
    asks: list[str] = Field(description="What it asks, an attribute a line, shortened.")


class FrontRow(Row):
    """A candidate of the front."""

    error_interval: Ends = Field(description="The 95% interval of the classifier's error.")
    adversary_interval: Ends = Field(description="The 95% interval of the adversary's error.")
    certified_error: Share = Field(description="No adversary's mean error is lower; from validation records.")
    skill_kept: float | None = Field(description="Share of the raw model's gain over the majority that is kept.")
    risks: dict[str, Share] = Field(description="Personal attribute → the adversary's error about it.")
    chosen: bool = Field(description="Whether it is the chosen one.")


class Personal(Part):
    """A personal attribute along the front."""

    name: str = Field(description="The attribute's name.")
    weight: Share = Field(description="Its share in every mean over the attributes.")
    naive: Share = Field(description="Error of someone who sees no record and always guesses the usual value.")
    lowest: Share = Field(description="The adversary's lowest error about it on the front.")
    highest: Share = Field(description="The adversary's highest error about it on the front.")
    drawn: bool = Field(description="Whether the picture shows it.")


class Series(Part):
    """A front from a part of the training records."""

    name: str = Field(description="The share as text.")
    train_size: float = Field(description="Share of the training records.")
    points: list[Point] = Field(description="Classifier's and adversary's error by counts, left to right.")


class Sizes(Part):
    """What one minimizer reaches from parts of the training records."""

    minimizer: str = Field(description="The minimizer.")
    series: list[Series] = Field(description="One front for each training size.")


class Period(Part):
    """The front on some records."""

    name: str = Field(description="Which records.")
    raw_error: Share = Field(description="The classifier's error on raw data there.")
    majority_error: Share = Field(description="The error of always guessing the majority there.")
    naive: Share = Field(description="The mean error of someone who sees no record there.")
    points: list[Point] = Field(description="Classifier's and adversary's error of the front's candidates.")


class ChosenAttribute(Part):
    """What the chosen candidate does with an attribute."""

    name: str = Field(description="The attribute's name.")
    personal: bool = Field(description="Whether it is personal.")
    decision: str = Field(description='"not collected", "coarsened" or "kept".')
    n_buckets: int = Field(description="In how many buckets it is asked.")
    values: int = Field(description="How many different values there were.")
    buckets: list[str] = Field(description="The buckets in words; none where the plain number is asked.")
    adversary_error: Share | None = Field(description="The adversary's error about it; null where not personal.")
    adversary_interval: Ends = Field(description="Its 95% interval.")
    naive_error: Share | None = Field(description="Error of someone who sees no record and guesses the usual value.")
    certified_error: Share | None = Field(description="No adversary who sees only the record has a lower error.")


class Certificate(Part):
    """What no adversary who sees only the collected record can exceed, on average."""

    bounds: dict[str, Share] = Field(description="Attribute → the highest share of right guesses, rounded up to tens.")
    mean_error: Share = Field(description="The lowest mean error that follows from the bounds.")
    confidence: Share = Field(description="The probability with which all bounds hold together.")
    records: int = Field(description="On how many test records it was counted.")
    unit: str = Field(description="What the average is over: people, or records where one person has several.")
    vacuous: list[str] = Field(description="The attributes about which it says nothing: their bound is 1.")
    note: str | None = Field(description="Why it says nothing about these.")
    sentences: list[str] = Field(description="The claim in words, to be quoted.")


class Chosen(Row):
    """The chosen candidate."""

    why: str = Field(description="Why it was chosen.")
    of_attributes: int = Field(description="How many attributes there are.")
    in_full_detail: int = Field(description="How many are asked in full detail.")
    error_interval: Ends = Field(description="The 95% interval of the classifier's error.")
    adversary_interval: Ends = Field(description="The 95% interval of the adversary's error.")
    groups: Few = Field(description="How many combinations of answers there are; in tens where some are rare.")
    skill_kept: float | None = Field(description="Share of the raw model's gain over the majority that is kept.")
    certificate: Certificate = Field(description="What is certified on the test records.")
    attributes: list[ChosenAttribute] = Field(description="Attribute by attribute.")


class Content(Part):
    """The report of a study."""

    modicum: Literal["study"] = Field(description="The kind of report.")
    version: int = Field(description="The version of this format.")
    modicum_version: str = Field(description="The version of modicum that made the report.")
    purpose: str | None = Field(description="What the data is for, in the user's words.")
    people: str | None = Field(description="Whom the records are of, in the user's words.")
    provenance: Provenance = Field(description="What it was made of, so that it can be made again.")
    label: str = Field(description="What is predicted.")
    records: int = Field(description="How many records there are.")
    test_people: int = Field(description="Of how many people the test records of the first split are.")
    unit: str = Field(description="What shares are of: people, or records where one person has several.")
    confidence: Share = Field(description="The confidence of what is certified.")
    fronts_of: Literal["each", "all"] = Field(description="Whether each minimizer's front was judged, or that of all.")
    seeds: list[int] = Field(description="The seeds: one random split of the records each.")
    train_sizes: list[float] = Field(description="Shares of the training records from which minimizers learned.")
    candidates: int = Field(description="How many candidates were made in all.")
    candidates_of_first_seed: int = Field(description="How many of them with the first seed and all records.")
    judged: int = Field(description="How many were judged.")
    weights: dict[str, Share] = Field(description="Personal attribute → its share in every mean.")
    raw_data: Limit = Field(description="The end where everything is collected in full detail.")
    nothing_collected: Limit = Field(description="The end where nothing is collected.")
    minimizers: list[Minimizer] = Field(description="The minimizers that were compared.")
    points: list[Candidate] = Field(description="Every candidate of the first split.")
    front: list[FrontRow] = Field(description="The judged candidates that no other one beats in both errors.")
    front_line: list[Point] = Field(description="What the front reaches, left to right.")
    personal: list[Personal] = Field(description="The personal attributes along the front.")
    sizes: Sizes | None = Field(description="Fronts from parts of the training records; null with one size.")
    later: list[Period] | None = Field(description="The front on later records; null where there are none.")
    chosen: Chosen | None = Field(description="The chosen candidate; null where none was judged.")
    skipped: list[str] = Field(description="What was skipped, and why.")
    is_whole: bool = Field(description="Whether the study ran to its end.")
    is_weak: bool = Field(description="Whether even raw data barely predicts the label.")
    evidence: ReportContent | None = Field(description="The report on the chosen candidate; null where not gathered.")
    without_evidence: str | None = Field(description="Why there is no such report; null where there is one.")
    decision: str = Field(description="What was compared and what was chosen, in one paragraph.")
    comparison: str | None = Field(description="Which minimizer reaches most, where chance does not explain it.")
    warnings: list[str] = Field(description="What a reader must know before believing the numbers.")
    limits: list[str] = Field(description="What the method does and does not say, besides what the evidence says.")
