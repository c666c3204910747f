"""The sentences of a report on a study, written only from the numbers of its content."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from modicum.measures.certificate import confidence_text
from modicum.reporting.disclosure import COARSE
from modicum.reporting.formats import in_brackets, percent, quote_name
from modicum.reporting.generalization.generalization_sentences import describe_limits
from modicum.table.targets import BINS

if TYPE_CHECKING:
    from modicum.reporting.study.data import MinimizerContent, StudyContent

LITTLE = 0.5  # of the raw model's skill


def decision(content: "StudyContent") -> str:
    """Write in one paragraph what was compared and what was chosen."""
    names, seeds, many = content.minimizers, len(content.seeds), content.candidates
    compared = (
        f"To predict {quote_name(content.label)} from {content.records:,} records, {len(names)} "
        f"{'minimizer' if len(names) == 1 else 'minimizers'} ({', '.join(m.name for m in names) or 'none'}) made "
        f"{many:,} {'candidate' if many == 1 else 'candidates'} in total, on {seeds} random "
        f"{'split' if seeds == 1 else 'splits'} of the records."
    )
    chosen = content.chosen
    if chosen is None:
        return f"{compared} None of them was judged, so there is no front, and none is chosen."
    raw, nothing = content.raw_data, content.nothing_collected
    kept = chosen.in_full_detail
    return (
        f"{compared} The choice is {chosen.name}: {chosen.why}. It asks for {chosen.needed} of "
        f"{chosen.of_attributes} attributes in {chosen.buckets:,} buckets, "
        f"{kept or 'none'} in full detail. On the test records, which had no part in the choice, the model is then "
        f"wrong for {chosen.error:.1%} of {content.unit}{in_brackets(chosen.error_interval)}, compared with "
        f"{raw.error:.1%} on raw data and {nothing.error:.1%} when always guessing the majority. An adversary "
        f"who sees the answers is wrong about {chosen.adversary_error:.1%} of personal values"
        f"{in_brackets(chosen.adversary_interval)}, compared with {nothing.adversary_error:.1%} without seeing them "
        f"and {raw.adversary_error:.0%} on raw data."
    )


def comparison(minimizers: "Sequence[MinimizerContent]") -> str | None:
    """Name the minimizer that reaches most, if chance does not explain it; None if there are fewer than two."""
    means = {each.name: each.hypervolume.mean for each in minimizers if each.hypervolume.mean is not None}
    if len(means) < 2:
        return None
    first, *others = sorted(means, key=lambda name: -means[name])
    ends = {each.name: each.hypervolume.interval for each in minimizers if each.hypervolume.interval is not None}
    if not means.keys() <= ends.keys():
        return (
            f"{first} has the largest hypervolume, but some minimizer was tried with only one seed: the difference "
            "may be chance, and no minimizer is shown to be best."
        )
    rivals = [name for name in others if ends[name][1] >= ends[first][0]]
    if rivals:
        return (
            f"{first} has the largest mean hypervolume, but its interval overlaps that of "
            f"{', '.join(rivals)}: no minimizer is shown to be best."
        )
    return f"{first} reaches the most: the interval of its hypervolume is above those of all others."


def warnings(content: "StudyContent") -> list[str]:
    """Write what a reader must know before relying on the numbers."""
    chosen, raw, nothing = content.chosen, content.raw_data, content.nothing_collected
    skill = None if chosen is None else chosen.skill_kept
    found = [
        (
            not content.is_whole,
            "The study was stopped early: some candidates are missing. The same call and folder continue it.",
        ),
        (chosen is None, "No candidate was judged: all results are by counts alone, and nothing is certified."),
        (
            raw.error >= nothing.error,
            "Even the raw data does not predict the label better than the majority guess: there is no utility to keep "
            "and no hypervolume.",
        ),
        (
            content.is_weak,
            "Even the raw data barely predicts the label, so keeping its error means little; `hypervolume` with "
            'utility="log_loss" compares minimizers by log-loss.',
        ),
        (
            chosen is not None and isinstance(chosen.smallest_group, str),
            "For the chosen one, some combinations of answers are shared by fewer than ten people in the test records: "
            "they stand out. `coarsen` (on the command line --min-group) sets a smallest group size.",
        ),
        (
            skill is not None and skill < LITTLE and not content.is_weak,
            f"The chosen one keeps only {percent(skill, 0)} of the raw model's skill; "
            "`study.choose(keep=...)` (on the command line --keep) asks for more.",
        ),
        (
            content.test_people < COARSE,
            f"There are only {content.test_people} people in the test records: rounding shares to tens of people is "
            "coarse for so few.",
        ),
    ]
    return [text for applies, text in found if applies]


def limits(content: "StudyContent") -> list[str]:
    """Write what the report does and does not say; only about the comparison if there is full evidence."""
    confidence = confidence_text(content.confidence)
    seeds = len(content.seeds)
    judged = "the front of their minimizer" if content.fronts_of == "each" else "the front of all minimizers together"
    own = [
        "Minimizers learned from 60% of the records. Candidates were chosen on another 10% (validation records) of the "
        "first split and are reported on the remaining 30% (test records), which had no part in making or choosing "
        "them. This no longer holds if someone looks at these results and then chooses another candidate.",
        f"All candidates were screened by counts with a quick model. Only those of the first split that were on "
        f"{judged} on validation records were judged by boosted trees and the full adversary. Faint dots, the other "
        "splits and other training sizes are by counts: a stronger adversary may be wrong less often there.",
        f"The certificate of the chosen one is from the test records. The certified errors in the table of the front "
        f"are from the validation records, which were used to choose: there, the {confidence} confidence is split over "
        f"all {content.candidates:,} candidates, so that they hold together.",
        "The hypervolume is the share of the area between raw data and nothing collected that a front reaches: 1 would "
        "be the raw model's error with an adversary who learns nothing. Its interval is that of the mean over seeds "
        f"(Student's t){', wide for few seeds' if seeds > 1 else '; it needs at least two seeds, and there is one'}.",
    ]
    if content.evidence is not None:  # its report has the other limits
        return own
    return [
        *own,
        *describe_limits(BINS),
        "`judge` and `attacks.suite` examine the chosen one more closely.",
    ]
