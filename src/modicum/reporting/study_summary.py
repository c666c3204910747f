"""A study as plain data: every number that its page, its charts and its JSON show, and none that tells of few people.

Points are those of the test records, which chose nothing. Shares are told in tens of people
(`modicum.reporting.disclosure`); a mean over attributes is the mean of what is told of each.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from modicum import __version__
from modicum.evaluation.study.candidates import Candidate, Choice
from modicum.evaluation.study.study_result import Study
from modicum.generalization.bins import Groups, Intervals
from modicum.generalization.description import AttributeLine, buckets_asked, buckets_text
from modicum.measures.certificate import Certificate, confidence_text
from modicum.provenance import versions
from modicum.reporting.disclosure import at_least, check_size, combinations, few, outward, tens, tens_up, weighted
from modicum.reporting.provenance import provenance
from modicum.reporting.study_words import comparison, decision, limits, warnings
from modicum.table.values import plain

MOST_LINES = 12  # attributes in one chart
MOST_ASKED, MOST_LETTERS = 12, 90  # of a generalization in a few words

Line = list[list[float]]  # points from left to right


def study_summary(
    study: Study,
    purpose: str | None = None,
    choice: Choice | None = None,
    evidence: dict[str, Any] | None = None,
    *,
    people: str | None = None,
    date: str | None = None,
    command: str | None = None,
    without_evidence: str | None = None,
) -> dict[str, Any]:
    """Everything that the report of a study shows, ready for JSON.

    Parameters
    ----------
    study : Study
    purpose : str, optional
        What the prediction is for, in the user's words.
    choice : Choice, optional
        What `study.choose` returned; the knee of the front where none is given.
    evidence : dict, optional
        The report on the chosen candidate, as `summary` makes it.
    people, date, command : as for `report`
    without_evidence : why there is no such report
    """
    front, n = study.pareto(), _people(study)
    check_size(n, "people in the test records")
    if choice is None and front:
        choice = study.choose(knee=True)
    chosen = None if choice is None else _chosen(study, choice, n)
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
        "without_evidence": without_evidence,
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
    naive = weighted({name: tens(error, n) for name, error in ends.naive.items()}, study.weights)
    return {"error": tens(ends.test.majority_error, n), "adversary_error": naive}


# Candidates


def _point(c: Candidate, n: int, judged: bool) -> list[float]:
    """Classifier error and mean adversary error on the test records, in tens of people."""
    scores = c.scores("test", judged)
    return [tens(scores.error, n), weighted({name: tens(r, n) for name, r in scores.risk.items()}, c.weights)]


def _row(c: Candidate, n: int) -> dict[str, Any]:
    error, adversary = _point(c, n, c.judged is not None)
    return {
        "name": c.name,
        "minimizer": c.minimizer,
        "error": error,
        "adversary_error": adversary,
        "needed": len(c.generalization.needed),
        "buckets": buckets_asked(c.generalization),
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
            "asks": _asked(c, study.settings["missing"]),
        }
        for c in study.of()
    ]


def _asked(c: Candidate, missing: Sequence[str]) -> list[str]:
    """What it asks in words, an attribute a line, shortened."""
    lines = [line for line in c.generalization.describe().attributes if line.action != "not collected"]
    told = [
        _shortened(" · ".join([f"{line.name}: {buckets_text(line)}", *_apart(c, line.name, missing)]))
        for line in lines[:MOST_ASKED]
    ]
    return told + ([f"and {len(lines) - MOST_ASKED} more attributes"] if len(lines) > MOST_ASKED else [])


def _apart(c: Candidate, name: str, missing: Sequence[str]) -> list[str]:
    """The bucket of missing values, where there are some and it is one of its own."""
    partition = c.generalization[name]
    if name not in missing or not isinstance(partition, Intervals | Groups):
        return []
    return ["(missing)"] if partition.missing_code >= partition.n_buckets else []


def _shortened(words: str) -> str:
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
                "hypervolume": _volume(volumes[name]) | {"judged": _rounded(volumes[name].judged)},
                "reached": [
                    {"above_raw": step, "adversary_error": None if value is None else shown[value]}
                    for step, value in reached[name].items()
                ],
                "seconds": round(sum(c.seconds + (0.0 if c.judged is None else c.judged.seconds) for c in own), 1),
                "line": _reached_line(study, name, n),
                "sizes": [{"train_size": size, **_volume(each[name])} for size, each in by_size.items()],
            }
        )
    return found


def _volume(volume: Any) -> dict[str, Any]:
    """A mean hypervolume with its interval."""
    return {
        "mean": _rounded(volume.mean if volume.by_seed else None),
        "interval": None if volume.interval is None else [_rounded(end) for end in volume.interval],
        "seeds": len(volume.by_seed),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 4)


def _reached_line(study: Study, name: str, n: int) -> Line:
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


def _chosen(study: Study, choice: Choice, n: int) -> dict[str, Any]:
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
