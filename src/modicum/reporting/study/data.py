"""The data of a study's report: its fields, its sentences, and how the study fills them."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from modicum import __version__
from modicum.evaluation.evidence.study_evidence import StudyEvidence
from modicum.evaluation.study.candidates import Candidate, Choice
from modicum.evaluation.study.study_result import Study
from modicum.generalization.bins import Groups, Intervals
from modicum.generalization.description import AttributeLine, buckets_text, count_asked_buckets
from modicum.measures.certificate import Certificate, confidence_text
from modicum.provenance import versions
from modicum.reporting.disclosure import (
    COARSE,
    at_least,
    check_size,
    combinations,
    compute_weighted_mean,
    few,
    outward,
    tens,
    tens_up,
)
from modicum.reporting.formats import quote_name
from modicum.reporting.generalization.data import GeneralizationContent, summary
from modicum.reporting.parts import ContentPart, Ends, Few, Provenance, Share
from modicum.reporting.sources import provenance
from modicum.table.targets import BINS
from modicum.table.values import plain

Point = Annotated[list[Share], Field(min_length=2, max_length=2)]


class Limit(ContentPart):
    """One of the two ends that every candidate lies between."""

    error: Share = Field(description="Share of people for whom the model is wrong there.")
    adversary_error: Share = Field(description="Share of personal values that the adversary guesses wrong there.")


class VolumeContent(ContentPart):
    """A hypervolume: which share of the area between raw data and nothing collected a front reaches."""

    mean: float | None = Field(description="The mean over seeds; null where there is none.")
    interval: Ends = Field(description="The 95% interval of the mean over seeds; null with one seed.")
    seeds: int = Field(description="Over how many seeds.")


class JudgedVolume(VolumeContent):
    """The same, also as judged."""

    judged: float | None = Field(description="With the first seed as judged; null where not each front was judged.")


class SizedVolume(VolumeContent):
    """The same from a part of the training records."""

    train_size: float = Field(description="Share of the training records from which the minimizer learned.")


class Reached(ContentPart):
    """What is reached at a given loss."""

    above_raw: float = Field(description="How much the classifier's error may lie above that on raw data.")
    adversary_error: Share | None = Field(description="The adversary's highest error there, by counts; null if none.")


class MinimizerContent(ContentPart):
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


class Row(ContentPart):
    """A candidate."""

    name: str = Field(description="Minimizer and parameters in a few words.")
    minimizer: str = Field(description="The minimizer that made it.")
    error: Share = Field(description="The classifier's error, by the strongest judge there was.")
    adversary_error: Share = Field(description="The adversary's mean error, by the strongest judge there was.")
    needed: int = Field(description="How many attributes it asks for.")
    buckets: int = Field(description="In how many buckets in all.")
    smallest_group: Few = Field(description="How many people share its rarest combination of answers, in tens.")


class CandidateContent(Row):
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


class Personal(ContentPart):
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
    points: list[Point] = Field(description="Classifier's and adversary's error by counts, left to right.")


class Sizes(ContentPart):
    """What one minimizer reaches from parts of the training records."""

    minimizer: str = Field(description="The minimizer.")
    series: list[Series] = Field(description="One front for each training size.")


class PeriodContent(ContentPart):
    """The front on some records."""

    name: str = Field(description="Which records.")
    raw_error: Share = Field(description="The classifier's error on raw data there.")
    majority_error: Share = Field(description="The error of always guessing the majority there.")
    naive: Share = Field(description="The mean error of someone who sees no record there.")
    points: list[Point] = Field(description="Classifier's and adversary's error of the front's candidates.")


class ChosenAttribute(ContentPart):
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


class ChosenCertificate(ContentPart):
    """What no adversary who sees only the collected record can exceed, on average."""

    bounds: dict[str, Share] = Field(description="Attribute → the highest share of right guesses, rounded up to tens.")
    mean_error: Share = Field(description="The lowest mean error that follows from the bounds.")
    confidence: Share = Field(description="The probability with which all bounds hold together.")
    records: int = Field(description="On how many test records it was counted.")
    unit: str = Field(description="What the average is over: people, or records where one person has several.")
    vacuous: list[str] = Field(description="The attributes about which it says nothing: their bound is 1.")
    note: str | None = Field(description="Why it says nothing about these.")
    sentences: list[str] = Field(description="The claim in words, to be quoted.")


class ChosenContent(Row):
    """The chosen candidate."""

    why: str = Field(description="Why it was chosen.")
    of_attributes: int = Field(description="How many attributes there are.")
    in_full_detail: int = Field(description="How many are asked in full detail.")
    error_interval: Ends = Field(description="The 95% interval of the classifier's error.")
    adversary_interval: Ends = Field(description="The 95% interval of the adversary's error.")
    groups: Few = Field(description="How many combinations of answers there are; in tens where some are rare.")
    skill_kept: float | None = Field(description="Share of the raw model's gain over the majority that is kept.")
    certificate: ChosenCertificate = Field(description="What is certified on the test records.")
    attributes: list[ChosenAttribute] = Field(description="Attribute by attribute.")


class StudyContent(ContentPart):
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
    minimizers: list[MinimizerContent] = Field(description="The minimizers that were compared.")
    points: list[CandidateContent] = Field(description="Every candidate of the first split.")
    front: list[FrontRow] = Field(description="The judged candidates that no other one beats in both errors.")
    front_line: list[Point] = Field(description="What the front reaches, left to right.")
    personal: list[Personal] = Field(description="The personal attributes along the front.")
    sizes: Sizes | None = Field(description="Fronts from parts of the training records; null with one size.")
    later: list[PeriodContent] | None = Field(description="The front on later records; null where there are none.")
    chosen: ChosenContent | None = Field(description="The chosen candidate; null where none was judged.")
    skipped: list[str] = Field(description="What was skipped, and why.")
    is_whole: bool = Field(description="Whether the study ran to its end.")
    is_weak: bool = Field(description="Whether even raw data barely predicts the label.")
    evidence: GeneralizationContent | None = Field(
        description="The report on the chosen candidate; null where not gathered."
    )
    without_evidence: str | None = Field(description="Why there is no such report; null where there is one.")
    decision: str = Field(description="What was compared and what was chosen, in one paragraph.")
    comparison: str | None = Field(description="Which minimizer reaches most, where chance does not explain it.")
    warnings: list[str] = Field(description="What a reader must know before believing the numbers.")
    limits: list[str] = Field(description="What the method does and does not say, besides what the evidence says.")


# What a study found, in words: made of the numbers of its summary, and of no others.

LITTLE = 0.5  # of the raw model's skill


def decision(content: dict[str, Any]) -> str:
    """What was compared and what was chosen, in one paragraph."""
    names, seeds, many = content["minimizers"], len(content["seeds"]), content["candidates"]
    compared = (
        f"To predict {quote_name(content['label'])} from {content['records']:,} records, {len(names)} "
        f"{'minimizer' if len(names) == 1 else 'minimizers'} ({', '.join(m['name'] for m in names) or 'none'}) made "
        f"{many:,} {'candidate' if many == 1 else 'candidates'} in all, on {seeds} random "
        f"{'split' if seeds == 1 else 'splits'} of the records."
    )
    chosen = content["chosen"]
    if chosen is None:
        return f"{compared} None of them has been judged, so there is no front, and none is chosen."
    raw, nothing = content["raw_data"], content["nothing_collected"]
    kept = chosen["in_full_detail"]
    return (
        f"{compared} Chosen is {chosen['name']}: {chosen['why']}. It asks for {chosen['needed']} of "
        f"{chosen['of_attributes']} attributes in {chosen['buckets']:,} buckets, "
        f"{kept or 'none'} in full detail. On the test records, which chose nothing, the model is then "
        f"wrong for {chosen['error']:.1%} of {content['unit']}{_between(chosen['error_interval'])}, against "
        f"{raw['error']:.1%} on raw data and {nothing['error']:.1%} when always guessing the majority; an adversary "
        f"who sees the answers is wrong about {chosen['adversary_error']:.1%} of personal values"
        f"{_between(chosen['adversary_interval'])}, against {nothing['adversary_error']:.1%} without seeing them and "
        f"{raw['adversary_error']:.0%} on raw data."
    )


def _between(interval: Sequence[float] | None) -> str:
    return "" if interval is None else f" (95% interval {interval[0]:.1%} to {interval[1]:.1%})"


def comparison(content: dict[str, Any]) -> str | None:
    """Which minimizer reaches most, said only where chance does not explain it."""
    ranked = [m for m in content["minimizers"] if m["hypervolume"]["mean"] is not None]
    ranked.sort(key=lambda m: -m["hypervolume"]["mean"])
    if len(ranked) < 2:
        return None
    first, others = ranked[0], ranked[1:]
    ends = [m["hypervolume"]["interval"] for m in ranked]
    if any(end is None for end in ends):
        return (
            f"{first['name']} has the largest hypervolume, but some minimizer was tried with one seed only: what is "
            "chance cannot be told from a difference, and none is called the best."
        )
    rivals = [m["name"] for m, end in zip(others, ends[1:], strict=True) if end[1] >= ends[0][0]]
    if rivals:
        return (
            f"{first['name']} has the largest mean hypervolume, but its interval overlaps that of "
            f"{', '.join(rivals)}: none is called the best."
        )
    return f"{first['name']} reaches the most: its hypervolume's interval lies above those of all others."


def warnings(content: dict[str, Any]) -> list[str]:
    """What a reader must know before believing the numbers."""
    chosen, raw, nothing = content["chosen"], content["raw_data"], content["nothing_collected"]
    told = [
        (
            not content["is_whole"],
            "The study was stopped early: some candidates are missing, and the same call in the same folder goes on.",
        ),
        (chosen is None, "No candidate has been judged: what follows is by counts alone, and nothing is certified."),
        (
            raw["error"] >= nothing["error"],
            "Even the raw data does not predict the label better than the majority guess: there is no utility to keep, "
            "and no hypervolume.",
        ),
        (
            content["is_weak"],
            "Even the raw data barely predicts the label, so that keeping its error means little; `hypervolume` with "
            'utility="log_loss" compares minimizers by log-loss.',
        ),
        (
            chosen is not None and isinstance(chosen["smallest_group"], str),
            "Some combinations of the chosen one's answers are shared by fewer than ten people in the test records: "
            "they stand out. `coarsen` (on the command line --min-group) gives groups a least size.",
        ),
        (
            chosen is not None and chosen["skill_kept"] < LITTLE and not content["is_weak"],
            f"The chosen one keeps only {0 if chosen is None else chosen['skill_kept']:.0%} of the raw model's skill; "
            "`study.choose(keep=...)` (on the command line --keep) asks for more.",
        ),
        (
            content["test_people"] < COARSE,
            f"There are only {content['test_people']} people in the test records: shares are rounded to tens of them, "
            "which is coarse here.",
        ),
    ]
    return [text for applies, text in told if applies]


def limits(content: dict[str, Any]) -> list[str]:
    """What the method can and cannot say; where the chosen one has a report of its own, of the comparison alone."""
    confidence = confidence_text(content["confidence"])
    seeds = len(content["seeds"])
    judged = "their minimizer's front" if content["fronts_of"] == "each" else "the front of all minimizers together"
    own = [
        "Minimizers learned on 60% of the records. Candidates were chosen on another 10% (validation records) of the "
        "first split and are reported on the remaining 30% (test records), which had no part in making or choosing "
        "them. That ends where someone looks at these results and then chooses another candidate.",
        f"All candidates were screened by counts with a quick model. Only those of the first split that were on "
        f"{judged} on validation records were judged by boosted trees and the full adversary; faint dots, the other "
        "splits and other training sizes are by counts: a stronger adversary may be wrong less often there.",
        f"The certificate of the chosen one is from the test records. The certified errors in the table of the front "
        f"are from the validation records, which chose: there the {confidence} confidence is split over all "
        f"{content['candidates']:,} candidates, so that they hold together.",
        "The hypervolume is the share of the area between raw data and nothing collected that a front reaches: 1 would "
        "be the raw model's error with an adversary who learns nothing. Its interval is that of the mean over seeds "
        f"(Student's t){', wide where they are few' if seeds > 1 else ', which takes at least two; here is one'}.",
    ]
    if content["evidence"] is not None:  # which says the rest
        return own
    return [
        *own,
        "The adversary (A1) is the strongest of several that were tried, not the strongest there can be. It sees the "
        "collected record and nothing else: someone who knows more about a person can guess more. `judge` and "
        "`attacks.suite` look at the chosen one more closely.",
        "All of this speaks of people like those in the test records: it assumes that they are a random sample of the "
        "people whose data will be collected.",
        f"A number or date counts as guessed when it is placed in the right one of {BINS} ranges of about equal "
        "frequency (fewer where it has fewer values).",
    ]


# A study as plain data: every number that its page, its charts and its JSON show, and none that tells of few people.
#
# Points are those of the test records, which chose nothing. Shares are told in tens of people
# (`modicum.reporting.disclosure`); a mean over attributes is the mean of what is told of each.

MOST_LINES = 12  # attributes in one chart
MOST_ASKED, MOST_LETTERS = 12, 90  # of a generalization in a few words

Line = list[list[float]]  # points from left to right


def study_summary(
    found: StudyEvidence,
    purpose: str | None = None,
    *,
    people: str | None = None,
    date: str | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Everything that the report of a study shows, ready for JSON; parameters as for `report`."""
    study, choice = found.study, found.choice
    front, n = study.pareto(), _people(study)
    check_size(n, "people in the test records")
    head: dict[str, Any] = {"people": people, "date": date, "command": command}
    evidence = None if found.evidence is None else summary(found.evidence, purpose, **head)
    chosen = None if choice is None else _summarize_choice(study, choice, n)
    content: dict[str, Any] = {
        "modicum": "study",
        "version": 1,
        "modicum_version": __version__,
        "purpose": purpose,
        "people": people,
        "provenance": _provenance(study, date, command) if evidence is None else evidence["provenance"],
        "label": study.settings["label"],
        "records": study.settings["records"],
        "test_people": n,
        "unit": _unit(study),
        "confidence": study.settings["confidence"],
        "fronts_of": _fronts_of(study),
        "seeds": list(study.limits),
        "train_sizes": study.train_sizes,
        "candidates": len(study.candidates),
        "candidates_of_first_seed": len(study.of()),
        "judged": sum(c.judged is not None for c in study.candidates),
        "weights": study.weights,
        "raw_data": {"error": tens(study.limits[study.seed].test.raw_error, n), "adversary_error": 0.0},
        "nothing_collected": _nothing(study, n),
        "minimizers": _minimizers(study, n),
        "points": _points(study, front, choice, n),
        "front": [_front_row(study, c, choice, n) for c in front],
        "front_line": _best_so_far([_point(c, n, True) for c in front]),
        "personal": _personal(study, front, n),
        "sizes": _fronts_of_sizes(study, choice, n) if len(study.train_sizes) > 1 and study.candidates else None,
        "later": _later(study, front, n) if study.later else None,
        "chosen": chosen,
        "skipped": study.skipped,
        "is_whole": study.is_whole,
        "is_weak": study.is_weak,
        "evidence": evidence,
        "without_evidence": found.why_no_evidence,
    }
    content |= {"decision": decision(content), "comparison": comparison(content)}
    return dict(plain(content | {"warnings": warnings(content), "limits": limits(content)}))


def _provenance(study: Study, date: str | None, command: str | None) -> dict[str, Any]:
    """What the comparison rests on, where no evidence about the chosen candidate says it."""
    hashes = {} if study.data is None else {"study": study.data.fingerprint()}
    names = ("personal", "weights", "minimizers", "seeds", "train_sizes", "confidence", "fronts_of", "label_bins")
    settings = {name: study.settings[name] for name in names if name in study.settings}
    return provenance({"hashes": hashes, "versions": versions(), "settings": settings}, date, command)


# How many people


def _people(study: Study) -> int:
    """How many people the test records of the first seed are of."""
    return study.limits[study.seed].people["test"]


def _unit(study: Study) -> str:
    judged = next((c.judged for c in study.candidates if c.judged is not None), None)
    return "records" if judged is None else judged.certificate["unit"]


def _fronts_of(study: Study) -> str:
    """Whether each minimizer's front was judged ("each"), or only that of all together ("all")."""
    return "each" if study.settings["fronts_of"] == "each" and any(c.judged for c in study.candidates) else "all"


def _nothing(study: Study, n: int) -> dict[str, float]:
    """The limit where nothing is collected; a mean is the mean of what is told of each attribute."""
    ends = study.limits[study.seed]
    naive = compute_weighted_mean({name: tens(error, n) for name, error in ends.naive.items()}, study.weights)
    return {"error": tens(ends.test.majority_error, n), "adversary_error": naive}


# Candidates


def _point(c: Candidate, n: int, judged: bool) -> list[float]:
    """Classifier error and mean adversary error on the test records, in tens of people."""
    scores = c.scores("test", judged)
    return [
        tens(scores.error, n),
        compute_weighted_mean({name: tens(r, n) for name, r in scores.risk.items()}, c.weights),
    ]


def _row(c: Candidate, n: int) -> dict[str, Any]:
    error, adversary = _point(c, n, c.judged is not None)
    return {
        "name": c.name,
        "minimizer": c.minimizer,
        "error": error,
        "adversary_error": adversary,
        "needed": len(c.generalization.needed),
        "buckets": count_asked_buckets(c.generalization),
        "smallest_group": few(c.screened.smallest_group),
    }


def _points(study: Study, front: Sequence[Candidate], choice: Choice | None, n: int) -> list[dict[str, Any]]:
    own_fronts = {id(c) for name in study.minimizers for c in study.pareto(name)}
    best = {id(c) for c in front}
    return [
        _row(c, n)
        | {
            "judged": c.judged is not None,
            "by_counts": _point(c, n, False),
            "on_own_front": id(c) in own_fronts,
            "on_front": id(c) in best,
            "chosen": choice is not None and c == choice.candidate,
            "asks": _describe_buckets(c, study.settings["missing"]),
        }
        for c in study.of()
    ]


def _describe_buckets(c: Candidate, missing: Sequence[str]) -> list[str]:
    """What it asks in words, an attribute a line, shortened."""
    lines = [line for line in c.generalization.describe().attributes if line.action != "not collected"]
    told = [
        _shorten_text(" · ".join([f"{line.name}: {buckets_text(line)}", *_apart(c, line.name, missing)]))
        for line in lines[:MOST_ASKED]
    ]
    return told + ([f"and {len(lines) - MOST_ASKED} more attributes"] if len(lines) > MOST_ASKED else [])


def _apart(c: Candidate, name: str, missing: Sequence[str]) -> list[str]:
    """The bucket of missing values, where there are some and it is one of its own."""
    partition = c.generalization[name]
    if name not in missing or not isinstance(partition, Intervals | Groups):
        return []
    return ["(missing)"] if partition.missing_code >= partition.n_buckets else []


def _shorten_text(words: str) -> str:
    return words if len(words) <= MOST_LETTERS else f"{words[: MOST_LETTERS - 1]}…"


def _front_row(study: Study, c: Candidate, choice: Choice | None, n: int) -> dict[str, Any]:
    assert c.judged is not None
    people = study.limits[study.seed].people["validation"]
    return _row(c, n) | {
        "error_interval": outward(c.judged.error_interval, n),
        "adversary_interval": outward(c.judged.adversary_interval, n),
        "certified_error": 1 - tens_up(1 - c.certified_error, people),
        "skill_kept": round(study.skill(c), 4),
        "risks": {name: tens(error, n) for name, error in c.judged.test.risk.items()},
        "chosen": choice is not None and c == choice.candidate,
    }


def _personal(study: Study, front: Sequence[Candidate], n: int) -> list[dict[str, Any]]:
    """Each personal attribute over the front, those with the largest change first."""
    found: list[dict[str, Any]] = []
    for name, weight in study.weights.items():
        errors = [tens(c.judged.test.risk[name], n) for c in front if c.judged is not None]
        if errors:
            naive = tens(study.limits[study.seed].naive[name], n)
            low, high = min(errors), max(errors)
            found.append({"name": name, "weight": weight, "naive": naive, "lowest": low, "highest": high})
    found.sort(key=lambda a: a["lowest"] - a["highest"])
    return [a | {"drawn": i < MOST_LINES} for i, a in enumerate(found)]


# Minimizers


def _minimizers(study: Study, n: int) -> list[dict[str, Any]]:
    volumes, reached = study.hypervolume(), study.reached()
    by_size = {size: study.hypervolume(size) for size in study.train_sizes} if len(study.train_sizes) > 1 else {}
    found = []
    for name in study.minimizers:
        own = [c for c in study.candidates if c.minimizer == name]
        shown = {c.point("test", judged=False)[1]: _point(c, n, False)[1] for c in study.of(name)}
        found.append(
            {
                "name": name,
                "candidates": len(study.of(name)),
                "candidates_of_all_seeds": len(own),
                "judged": sum(c.judged is not None for c in own),
                "hypervolume": _volume(volumes[name]) | {"judged": _round_or_none(volumes[name].judged)},
                "reached": [
                    {"above_raw": step, "adversary_error": None if value is None else shown[value]}
                    for step, value in reached[name].items()
                ],
                "seconds": round(sum(c.seconds + (0.0 if c.judged is None else c.judged.seconds) for c in own), 1),
                "line": _build_front_line(study, name, n),
                "sizes": [{"train_size": size, **_volume(each[name])} for size, each in by_size.items()],
            }
        )
    return found


def _volume(volume: Any) -> dict[str, Any]:
    """A mean hypervolume with its interval."""
    return {
        "mean": _round_or_none(volume.mean if volume.by_seed else None),
        "interval": None if volume.interval is None else [_round_or_none(end) for end in volume.interval],
        "seeds": len(volume.by_seed),
    }


def _round_or_none(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 4)


def _build_front_line(study: Study, name: str, n: int) -> Line:
    """What a minimizer's front reaches, by the judges where they judged each one's, else by counts."""
    if _fronts_of(study) == "each":
        return _best_so_far([_point(c, n, True) for c in study.pareto(name)])
    return _line_by_counts(study, name, 1.0, n)


def _line_by_counts(study: Study, name: str, size: float, n: int) -> Line:
    return _best_so_far([_point(c, n, False) for c in study.pareto_by_counts(name, train_size=size)])


def _best_so_far(points: Sequence[Sequence[float]]) -> Line:
    """What a front reaches on the test records: from left to right, only where the adversary's error grows."""
    line: Line = []
    for x, y in sorted(points, key=lambda p: (p[0], -p[1])):
        if not line or y > line[-1][1]:
            line.append([x, y])
    return line


def _fronts_of_sizes(study: Study, choice: Choice | None, n: int) -> dict[str, Any]:
    """What one minimizer reaches by counts from a part of the training records (papers/0 Figure 8)."""
    name = study.minimizers[0] if choice is None else choice.candidate.minimizer
    series = [
        {"name": f"{size:.4g}", "train_size": size, "points": _line_by_counts(study, name, size, n)}
        for size in study.train_sizes
    ]
    return {"minimizer": name, "series": series}


def _later(study: Study, front: Sequence[Candidate], n: int) -> list[dict[str, Any]]:
    """The front in the study, then on other records."""
    ends = study.limits[study.seed].test
    nothing = _nothing(study, n)
    first = {
        "name": "in the study",
        "raw_error": tens(ends.raw_error, n),
        "majority_error": nothing["error"],
        "naive": nothing["adversary_error"],
        "points": sorted(_point(c, n, True) for c in front),
    }
    return [first] + [
        {
            "name": str(name),
            "raw_error": tens(later.limits.raw_error, later.people),
            "majority_error": tens(later.limits.majority_error, later.people),
            "naive": tens(later.limits.naive_adversary, later.people),
            "points": sorted([tens(x, later.people), tens(y, later.people)] for _, (x, y) in later.points),
        }
        for name, later in study.later.items()
    ]


# The chosen one


def _summarize_choice(study: Study, choice: Choice, n: int) -> dict[str, Any]:
    c, judged = choice.candidate, choice.candidate.judged
    assert judged is not None
    certificate = _certificate(choice.certificate)
    return _row(c, n) | {
        "why": choice.why,
        "of_attributes": len(c.generalization.partitions),
        "in_full_detail": sum(p.action == "kept" for p in c.generalization.partitions),
        "error_interval": outward(judged.error_interval, n),
        "adversary_interval": outward(judged.adversary_interval, n),
        "groups": combinations(c.screened.groups, c.screened.smallest_group),
        "skill_kept": round(choice.skill_kept, 4),
        "certificate": certificate,
        "attributes": [
            _attribute(line, c, certificate["bounds"], study, n) for line in c.generalization.describe().attributes
        ],
    }


def _attribute(line: AttributeLine, c: Candidate, bounds: dict[str, float], study: Study, n: int) -> dict[str, Any]:
    assert c.judged is not None
    risk, naive = c.judged.test.risk.get(line.name), study.limits[c.seed].naive.get(line.name)
    return {
        "name": line.name,
        "personal": risk is not None,
        "decision": line.action,
        "n_buckets": line.n_buckets,
        "values": study.settings["values"].get(line.name, 0),
        "buckets": [" or ".join([b.label, *b.takes]) for b in line.buckets]
        + _apart(c, line.name, study.settings["missing"]),
        "adversary_error": None if risk is None else tens(risk, n),
        "adversary_interval": None if risk is None else outward(c.judged.risk_intervals[line.name], n),
        "naive_error": None if naive is None else tens(naive, n),
        "certified_error": None if risk is None else 1 - bounds[line.name],
    }


def _certificate(content: dict[str, Any]) -> dict[str, Any]:
    """What is certified on the test records, with bounds that are rounded up and so still hold."""
    exact = Certificate(**{f.name: content[f.name] for f in fields(Certificate)})
    told = replace(exact, bounds={name: tens_up(bound, exact.persons) for name, bound in exact.bounds.items()})
    speaking = [name for name in told.bounds if name not in told.vacuous]
    worst = max(speaking, key=lambda name: told.bounds[name] - told.naive[name], default=None)
    mean_error = max(0.0, 1 - told.mean)  # rounding does not take it below none
    mean = (
        f"With {confidence_text(told.confidence)} confidence, any adversary that sees only the generalized record is "
        f"wrong about at least {at_least(mean_error)} of the personal values of {told.unit} like those in the test "
        "records, on average."
    )
    return {
        "bounds": told.bounds,
        "mean_error": mean_error,
        "confidence": told.confidence,
        "records": told.records,
        "unit": told.unit,
        "vacuous": told.vacuous,
        "note": told.note,
        "sentences": [mean] + ([] if worst is None else [told.sentence(worst)]),
    }
