"""The data of a report on a study: its fields, and how the study fills them.

Points are measured on the test records, which had no part in any choice. Shares are in tens of people
(`modicum.reporting.disclosure`); a mean over attributes is the mean of their rounded shares.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field

from modicum import __version__
from modicum.evaluation.evidence.study_evidence import StudyEvidence
from modicum.evaluation.study.candidates import Candidate, Choice, Later, Volume
from modicum.evaluation.study.judges import Judged
from modicum.evaluation.study.study_result import Study
from modicum.generalization.bins import Groups, Intervals
from modicum.generalization.description import AttributeLine, buckets_text, count_asked_buckets
from modicum.measures.certificate import Certificate, confidence_text
from modicum.provenance import versions
from modicum.reporting.disclosure import (
    at_least,
    check_size,
    combinations,
    compute_weighted_mean,
    decimals_of,
    few,
    lowest_error,
    outward,
    round_certificate,
    tens,
    tens_up,
)
from modicum.reporting.generalization.data import AttributeOutcome, EndContent, GeneralizationContent
from modicum.reporting.parts import CertifiedPart, ContentPart, Ends, Few, Head, Heading, Provenance, Share
from modicum.reporting.study.study_sentences import comparison, decision, limits, warnings

ErrorPair = Annotated[list[Share], Field(min_length=2, max_length=2)]
FrontsOf = Literal["each", "all"]

MOST_LINES = 12  # attributes in one chart
MOST_ASKED, MOST_LETTERS = 12, 90  # of a generalization in short


class VolumeContent(ContentPart):
    """A hypervolume: the share of the area between raw data and nothing collected that a front reaches."""

    mean: float | None = Field(description="The mean over seeds; null if there is none.")
    interval: Ends = Field(description="The 95% interval of the mean over seeds; null with one seed.")
    seeds: int = Field(description="The number of seeds.")

    @classmethod
    def of(cls, volume: Volume, **own: float | None) -> Self:
        """Round the hypervolume to four digits; `own` are the other fields."""
        interval = None if volume.interval is None else [decimals_of(end) for end in volume.interval]
        return cls.model_validate(
            {"mean": decimals_of(volume.mean), "interval": interval, "seeds": len(volume.by_seed), **own}
        )


class JudgedVolume(VolumeContent):
    """A hypervolume, also with judged errors."""

    judged: float | None = Field(description="With the first seed, as judged; null if not every front was judged.")


class SizedVolume(VolumeContent):
    """A hypervolume from a part of the training records."""

    train_size: float = Field(description="Share of the training records that the minimizer learned from.")


class ErrorReached(ContentPart):
    """The adversary's error that is reached at a given loss."""

    above_raw: float = Field(description="How much the classifier's error may exceed that on raw data.")
    adversary_error: Share | None = Field(description="The adversary's highest error there, by counts; null if none.")


class MinimizerContent(ContentPart):
    """A method that proposes what to collect."""

    name: str = Field(description="Its name.")
    candidates: int = Field(description="How many candidates it made with the first seed.")
    candidates_of_all_seeds: int = Field(description="How many with all seeds and training sizes.")
    judged: int = Field(description="How many candidates were judged.")
    hypervolume: JudgedVolume = Field(description="The hypervolume of its fronts.")
    reached: list[ErrorReached] = Field(description="The adversary's error if the classifier loses at most that much.")
    seconds: float = Field(description="Seconds spent on all its candidates and their judges.")
    line: list[ErrorPair] = Field(
        description="What its front reaches: classifier's and adversary's error, left to right."
    )
    sizes: list[SizedVolume] = Field(description="Its hypervolume for each training size, if there are several.")

    @classmethod
    def of(
        cls,
        name: str,
        study: Study,
        volumes: Mapping[float, Volume],
        reached: Mapping[float, float | None],
        n: int,
    ) -> Self:
        """Describe one minimizer of a study.

        Parameters
        ----------
        volumes : training size → its hypervolume
        reached : loss of the classifier → the adversary's error
        n : the number of people in the test records
        """
        first, all_seeds = study.of(name), [c for c in study.candidates if c.minimizer == name]
        shown = {c.point("test", judged=False)[1]: _point(c, n, False)[1] for c in first}
        by_judges = _fronts_of(study) == "each"
        front = study.pareto(name) if by_judges else study.pareto_by_counts(name)
        return cls(
            name=name,
            candidates=len(first),
            candidates_of_all_seeds=len(all_seeds),
            judged=sum(c.judged is not None for c in all_seeds),
            hypervolume=JudgedVolume.of(volumes[1.0], judged=decimals_of(volumes[1.0].judged)),
            reached=[
                ErrorReached(above_raw=step, adversary_error=None if error is None else shown[error])
                for step, error in reached.items()
            ],
            seconds=round(sum(c.seconds + (0.0 if c.judged is None else c.judged.seconds) for c in all_seeds), 1),
            line=_best_so_far(_point(c, n, by_judges) for c in front),
            sizes=[SizedVolume.of(volume, train_size=size) for size, volume in volumes.items()]
            if len(volumes) > 1
            else [],
        )


class CandidateRow(EndContent):
    """A candidate."""

    name: str = Field(description="Minimizer and parameters in short.")
    minimizer: str = Field(description="The minimizer that made it.")
    error: Share = Field(description="The classifier's error, by the strongest judge used.")
    adversary_error: Share = Field(description="The adversary's mean error, by the strongest judge used.")
    needed: int = Field(description="How many attributes it asks for.")
    buckets: int = Field(description="How many buckets it has in total.")
    smallest_group: Few = Field(description="How many people share its rarest combination of answers, in tens.")


class CandidateContent(CandidateRow):
    """A candidate of the first split."""

    judged: bool = Field(description="Whether it was judged by boosted trees and the full adversary.")
    by_counts: ErrorPair = Field(description="Classifier's and adversary's error by counts.")
    on_own_front: bool = Field(description="Whether no judged candidate of its minimizer beats it in both errors.")
    on_front: bool = Field(description="Whether no judged candidate of any minimizer beats it in both errors.")
    chosen: bool = Field(description="Whether it was chosen.")
    asks: list[str] = Field(description="What it asks, one attribute a line, shortened.")


class JudgedRow(CandidateRow):
    """A candidate that was judged."""

    error_interval: Ends = Field(description="The 95% interval of the classifier's error.")
    adversary_interval: Ends = Field(description="The 95% interval of the adversary's error.")
    skill_kept: float | None = Field(description="Share of the raw model's gain over the majority guess that is kept.")


class FrontRow(JudgedRow):
    """A candidate of the front."""

    certified_error: Share = Field(description="No adversary has a lower mean error; from validation records.")
    risks: dict[str, Share] = Field(description="Personal attribute → the adversary's error about it.")
    chosen: bool = Field(description="Whether it was chosen.")

    @classmethod
    def of(cls, c: Candidate, study: Study, choice: Choice | None, n: int) -> Self:
        """Describe a judged candidate, in tens of n people."""
        return cls(
            **vars(_judged_row(c, study, n)),
            certified_error=1 - tens_up(1 - c.certified_error, study.limits[study.seed].people["validation"]),
            risks={name: tens(error, n) for name, error in _judged(c).test.risk.items()},
            chosen=choice is not None and c == choice.candidate,
        )


class PersonalAttribute(ContentPart):
    """A personal attribute along the front."""

    name: str = Field(description="The attribute's name.")
    weight: Share = Field(description="Its share in every mean over the attributes.")
    naive: Share = Field(description="Error of someone who sees no record and always guesses the usual value.")
    lowest: Share = Field(description="The adversary's lowest error about it on the front.")
    highest: Share = Field(description="The adversary's highest error about it on the front.")
    drawn: bool = Field(description="Whether the picture shows it.")


class Series(ContentPart):
    """A front from a part of the training records."""

    name: str = Field(description="The share as text.")
    train_size: float = Field(description="Share of the training records.")
    points: list[ErrorPair] = Field(description="Classifier's and adversary's error by counts, left to right.")


class Sizes(ContentPart):
    """The fronts of one minimizer from parts of the training records."""

    minimizer: str = Field(description="The minimizer.")
    series: list[Series] = Field(description="One front for each training size.")

    @classmethod
    def of(cls, study: Study, choice: Choice | None, n: int) -> Self:
        """Take the fronts by counts of the chosen candidate's minimizer, else of the first [Staab24 Figure 8]."""
        minimizer = study.minimizers[0] if choice is None else choice.candidate.minimizer
        fronts = {size: study.pareto_by_counts(minimizer, train_size=size) for size in study.train_sizes}
        return cls(
            minimizer=minimizer,
            series=[
                Series(name=f"{size:.4g}", train_size=size, points=_best_so_far(_point(c, n, False) for c in front))
                for size, front in fronts.items()
            ],
        )


class PeriodContent(ContentPart):
    """The front on some records."""

    name: str = Field(description="Which records.")
    raw_error: Share = Field(description="The classifier's error on raw data, on these records.")
    majority_error: Share = Field(description="The error of always guessing the majority, on these records.")
    naive: Share = Field(description="The mean error of someone who sees no record, on these records.")
    points: list[ErrorPair] = Field(description="Classifier's and adversary's error of the front's candidates.")

    @classmethod
    def of(cls, name: str, later: Later) -> Self:
        """Describe the front on other records, in tens of their people."""
        n = later.people
        return cls(
            name=name,
            raw_error=tens(later.limits.raw_error, n),
            majority_error=tens(later.limits.majority_error, n),
            naive=tens(later.limits.naive_adversary, n),
            points=sorted([tens(x, n), tens(y, n)] for _, (x, y) in later.points),
        )


class ChosenAttribute(AttributeOutcome):
    """How the chosen candidate collects an attribute."""

    buckets: list[str] = Field(description="The buckets in words; empty if the plain number is asked.")

    @classmethod
    def of(cls, line: AttributeLine, choice: Choice, bounds: Mapping[str, float], n: int) -> Self:
        """Describe one attribute; `bounds` are the certified accuracies of the personal ones."""
        c, settings = choice.candidate, choice.study.settings
        judged, naive = _judged(c), choice.study.limits[c.seed].naive.get(line.name)
        risk = judged.test.risk.get(line.name)
        return cls(
            name=line.name,
            personal=risk is not None,
            decision=line.action,
            n_buckets=line.n_buckets,
            values=settings["values"].get(line.name, 0),
            buckets=[" or ".join([bucket.label, *bucket.takes]) for bucket in line.buckets]
            + _bucket_of_missing(c, line.name, settings["missing"]),
            adversary_error=None if risk is None else tens(risk, n),
            adversary_interval=None if risk is None else outward(judged.risk_intervals[line.name], n),
            naive_error=None if naive is None else tens(naive, n),
            certified_error=None if risk is None else 1 - bounds[line.name],
        )


class ChosenCertificate(CertifiedPart):
    """What no adversary who sees only the collected record can exceed, on average."""

    sentences: list[str] = Field(description="The certificate in sentences to quote.")

    @classmethod
    def of(cls, exact: Certificate) -> Self:
        """Round the bounds up, so that they still hold, and write the sentences."""
        found = round_certificate(exact)
        speaking = [name for name in found.bounds if name not in found.vacuous]
        worst = max(speaking, key=lambda name: found.bounds[name] - found.naive[name], default=None)
        mean = (
            f"With {confidence_text(found.confidence)} confidence, any adversary who sees only the generalized record "
            f"is wrong about at least {at_least(lowest_error(found))} of the personal values of {found.unit} like "
            "those in the test records, on average."
        )
        sentences = [mean] + ([] if worst is None else [found.sentence(worst)])
        return cls.fill(found, mean_error=lowest_error(found), sentences=sentences)


class ChosenContent(JudgedRow):
    """The chosen candidate."""

    why: str = Field(description="Why it was chosen.")
    of_attributes: int = Field(description="How many attributes there are.")
    in_full_detail: int = Field(description="How many are asked for in full detail.")
    groups: Few = Field(description="How many combinations of answers there are; in tens if some are rare.")
    certificate: ChosenCertificate = Field(description="The certificate on the test records.")
    attributes: list[ChosenAttribute] = Field(description="The attributes.")

    @classmethod
    def of(cls, choice: Choice, n: int) -> Self:
        """Describe what was chosen, in tens of n people."""
        c, g = choice.candidate, choice.generalization
        certificate = ChosenCertificate.of(choice.certificate)
        return cls(
            **vars(_judged_row(c, choice.study, n)),
            why=choice.why,
            of_attributes=len(g.partitions),
            in_full_detail=sum(partition.action == "kept" for partition in g.partitions),
            groups=combinations(c.screened.groups, c.screened.smallest_group),
            certificate=certificate,
            attributes=[ChosenAttribute.of(line, choice, certificate.bounds, n) for line in g.describe().attributes],
        )


class StudyContent(Head):
    """The report on a study."""

    modicum: Literal["study"] = Field(default="study", description="The kind of report.")
    modicum_version: str = Field(default=__version__, description="The version of modicum that made the report.")
    label: str = Field(description="What is predicted.")
    records: int = Field(description="How many records there are.")
    test_people: int = Field(description="How many people the test records of the first split are of.")
    unit: str = Field(description="What shares are of: people, or records where one person has several.")
    confidence: Share = Field(description="The confidence of the certificates.")
    fronts_of: FrontsOf = Field(description="Whether each minimizer's front was judged, or the common front of all.")
    seeds: list[int] = Field(description="The seeds: one random split of the records each.")
    train_sizes: list[float] = Field(description="Shares of the training records that minimizers learned from.")
    candidates: int = Field(description="How many candidates were made in total.")
    candidates_of_first_seed: int = Field(description="How many of them with the first seed and all records.")
    judged: int = Field(description="How many were judged.")
    weights: dict[str, Share] = Field(description="Personal attribute → its share in every mean.")
    raw_data: EndContent = Field(description="The limit where everything is collected in full detail.")
    nothing_collected: EndContent = Field(description="The limit where nothing is collected.")
    minimizers: list[MinimizerContent] = Field(description="The minimizers that were compared.")
    points: list[CandidateContent] = Field(description="Every candidate of the first split.")
    front: list[FrontRow] = Field(description="The judged candidates that no other beats in both errors.")
    front_line: list[ErrorPair] = Field(description="What the front reaches, left to right.")
    personal: list[PersonalAttribute] = Field(description="The personal attributes along the front.")
    sizes: Sizes | None = Field(description="Fronts from parts of the training records; null for one size.")
    later: list[PeriodContent] | None = Field(description="The front on later records; null if there are none.")
    chosen: ChosenContent | None = Field(description="The chosen candidate; null if none was judged.")
    skipped: list[str] = Field(description="What was skipped, and why.")
    is_whole: bool = Field(description="Whether the study ran to its end.")
    is_weak: bool = Field(description="Whether even raw data barely predicts the label.")
    evidence: GeneralizationContent | None = Field(
        description="The report on the chosen candidate; null if not gathered."
    )
    without_evidence: str | None = Field(description="Why there is no such report; null if there is one.")
    comparison: str | None = Field(description="Which minimizer reaches most, if chance does not explain it.")
    decision: str = Field(default="", description="What was compared and what was chosen, in one paragraph.")
    limits: list[str] = Field(
        default=[], description="What the comparison does and does not say; the evidence has its own limits."
    )

    @classmethod
    def of(cls, found: StudyEvidence, heading: Heading) -> Self:
        """Fill the report."""
        study, choice, ends = found.study, found.choice, found.study.limits[found.study.seed]
        n, front = ends.people["test"], study.pareto()
        check_size(n, "people in the test records")
        evidence = None if found.evidence is None else GeneralizationContent.of(found.evidence, heading)
        minimizers = _compare_minimizers(study, n)
        naive = compute_weighted_mean({name: tens(error, n) for name, error in ends.naive.items()}, study.weights)
        raw_data = EndContent(error=tens(ends.test.raw_error, n), adversary_error=0.0)
        nothing = EndContent(error=tens(ends.test.majority_error, n), adversary_error=naive)
        content = cls(
            purpose=heading.purpose,
            people=heading.people,
            provenance=_trace(study, heading) if evidence is None else evidence.provenance,
            label=study.settings["label"],
            records=study.settings["records"],
            test_people=n,
            unit=next((c.judged.certificate.unit for c in study.candidates if c.judged is not None), "records"),
            confidence=study.settings["confidence"],
            fronts_of=_fronts_of(study),
            seeds=list(study.limits),
            train_sizes=study.train_sizes,
            candidates=len(study.candidates),
            candidates_of_first_seed=len(study.of()),
            judged=sum(c.judged is not None for c in study.candidates),
            weights=study.weights,
            raw_data=raw_data,
            nothing_collected=nothing,
            minimizers=minimizers,
            points=_list_candidates(study, front, choice, n),
            front=[FrontRow.of(c, study, choice, n) for c in front],
            front_line=_best_so_far(_point(c, n, True) for c in front),
            personal=_follow_personal(study, front, n),
            sizes=Sizes.of(study, choice, n) if len(study.train_sizes) > 1 and study.candidates else None,
            later=_list_periods(study, front, raw_data, nothing, n) if study.later else None,
            chosen=None if choice is None else ChosenContent.of(choice, n),
            skipped=study.skipped,
            is_whole=study.is_whole,
            is_weak=study.is_weak,
            evidence=evidence,
            without_evidence=found.why_no_evidence,
            comparison=comparison(minimizers),
        )
        return content.with_sentences(decision(content), warnings(content), limits(content))


def _trace(study: Study, heading: Heading) -> Provenance:
    """Return the provenance of a comparison without evidence about the chosen candidate."""
    hashes = {} if study.data is None else {"study": study.data.fingerprint()}
    names = ("personal", "weights", "minimizers", "seeds", "train_sizes", "confidence", "fronts_of", "label_bins")
    settings = {name: value for name, value in study.settings.items() if name in names}
    return Provenance.of({"hashes": hashes, "versions": versions(), "settings": settings}, heading)


def _fronts_of(study: Study) -> FrontsOf:
    """Return "each" if each minimizer's front was judged, "all" if only the common front was."""
    return "each" if study.settings["fronts_of"] == "each" and any(c.judged for c in study.candidates) else "all"


def _compare_minimizers(study: Study, n: int) -> list[MinimizerContent]:
    by_size, reached = {size: study.hypervolume(size) for size in study.train_sizes}, study.reached()
    return [
        MinimizerContent.of(name, study, {size: found[name] for size, found in by_size.items()}, reached[name], n)
        for name in study.minimizers
    ]


def _follow_personal(study: Study, front: Sequence[Candidate], n: int) -> list[PersonalAttribute]:
    """Follow each personal attribute along the front, largest changes first."""
    if not front:
        return []
    naive = study.limits[study.seed].naive
    errors = {name: sorted(tens(_judged(c).test.risk[name], n) for c in front) for name in study.weights}
    return [
        PersonalAttribute(
            name=name,
            weight=study.weights[name],
            naive=tens(naive[name], n),
            lowest=errors[name][0],
            highest=errors[name][-1],
            drawn=i < MOST_LINES,
        )
        for i, name in enumerate(sorted(errors, key=lambda name: errors[name][0] - errors[name][-1]))
    ]


def _list_periods(
    study: Study, front: Sequence[Candidate], raw_data: EndContent, nothing: EndContent, n: int
) -> list[PeriodContent]:
    """Describe the front in the study, then on other records."""
    first = PeriodContent(
        name="in the study",
        raw_error=raw_data.error,
        majority_error=nothing.error,
        naive=nothing.adversary_error,
        points=sorted(_point(c, n, True) for c in front),
    )
    return [first, *(PeriodContent.of(str(name), later) for name, later in study.later.items())]


# Candidates


def _judged(c: Candidate) -> Judged:
    assert c.judged is not None
    return c.judged


def _point(c: Candidate, n: int, judged: bool) -> list[float]:
    """Return classifier error and mean adversary error on the test records, in tens of people."""
    scores = c.scores("test", judged)
    risks = {name: tens(error, n) for name, error in scores.risk.items()}
    return [tens(scores.error, n), compute_weighted_mean(risks, c.weights)]


def _best_so_far(points: Iterable[Sequence[float]]) -> list[list[float]]:
    """Return what a front reaches on the test records: from left to right, points that raise the adversary's error."""
    line: list[list[float]] = []
    for x, y in sorted(points, key=lambda p: (p[0], -p[1])):
        if not line or y > line[-1][1]:
            line.append([x, y])
    return line


def _row(c: Candidate, n: int) -> CandidateRow:
    error, adversary_error = _point(c, n, c.judged is not None)
    return CandidateRow(
        name=c.name,
        minimizer=c.minimizer,
        error=error,
        adversary_error=adversary_error,
        needed=len(c.generalization.needed),
        buckets=count_asked_buckets(c.generalization),
        smallest_group=few(c.screened.smallest_group),
    )


def _list_candidates(study: Study, front: Sequence[Candidate], choice: Choice | None, n: int) -> list[CandidateContent]:
    own_fronts = {id(c) for name in study.minimizers for c in study.pareto(name)}
    best = {id(c) for c in front}
    return [
        CandidateContent(
            **vars(_row(c, n)),
            judged=c.judged is not None,
            by_counts=_point(c, n, False),
            on_own_front=id(c) in own_fronts,
            on_front=id(c) in best,
            chosen=choice is not None and c == choice.candidate,
            asks=_describe_buckets(c, study.settings["missing"]),
        )
        for c in study.of()
    ]


def _judged_row(c: Candidate, study: Study, n: int) -> JudgedRow:
    return JudgedRow(
        **vars(_row(c, n)),
        error_interval=outward(_judged(c).error_interval, n),
        adversary_interval=outward(_judged(c).adversary_interval, n),
        skill_kept=decimals_of(study.skill(c)),
    )


def _describe_buckets(c: Candidate, missing: Sequence[str]) -> list[str]:
    """Describe what a candidate asks, one attribute a line, shortened."""
    lines = [line for line in c.generalization.describe().attributes if line.action != "not collected"]
    words = [
        " · ".join([f"{line.name}: {buckets_text(line)}", *_bucket_of_missing(c, line.name, missing)])
        for line in lines[:MOST_ASKED]
    ]
    shortened = [text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…" for text in words]
    return shortened + ([f"and {len(lines) - MOST_ASKED} more attributes"] if len(lines) > MOST_ASKED else [])


def _bucket_of_missing(c: Candidate, name: str, missing: Sequence[str]) -> list[str]:
    """Return the bucket of missing values if there are any and they have a bucket of their own."""
    partition = c.generalization[name]
    if name not in missing or not isinstance(partition, Intervals | Groups):
        return []
    return ["(missing)"] if partition.missing_code >= partition.n_buckets else []
