"""The result of a study: candidates, their front, what each minimizer reaches, and the choice."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
import pandas as pd

from modicum.errors import DataError, ParameterError, check_choice_is, format_names
from modicum.evaluation._utility import WEAK
from modicum.evaluation.study.candidates import Candidate, Choice, Later, SeedLimits, Volume
from modicum.evaluation.study.study_data import StudyData
from modicum.generalization.description import count_asked_buckets
from modicum.measures import front as fronts
from modicum.measures.front import ErrorLimits, check_target
from modicum.measures.intervals import seeds_interval
from modicum.measures.scores import compute_skill_kept

STEPS = (0.005, 0.01, 0.02)  # amounts above raw data's error at which `reached` reports the adversary's error


class StudySettings(TypedDict):
    """The settings of a study; `values` maps attributes to their number of values, `missing` lists incomplete ones."""

    label: str
    personal: list[str]
    weights: dict[str, float]
    minimizers: list[str]
    seeds: list[int]
    train_sizes: list[float]
    confidence: float
    fronts_of: str
    label_bins: int | None
    missing: list[str]
    records: int
    values: dict[str, int]


@dataclass(frozen=True)
class Study:
    """All candidates of a study. The first seed's validation records choose, and its test records report.

    Attributes
    ----------
    candidates : every different generalization from each minimizer, seed and training size
    limits : seed → the two limits of generalization
    weights : personal attribute → its share in the mean
    skipped : what could not be tried, and why
    is_whole : whether the study finished; False if Ctrl-C ended it early
    later : name → scores of the front on other records
    data : the records of the study, for further evidence about the choice

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> grids = {"PrivacyTree": {"privacy": [0.5], "max_leaves": [4, 8]}}
    >>> found = md.study(X[:1_500], y[:1_500], personal=["sex"], minimizers="PrivacyTree", grids=grids, seeds=1)
    >>> found.minimizers, len(found.candidates)
    (['PrivacyTree'], 2)
    >>> sorted(found.hypervolume())
    ['PrivacyTree']
    """

    candidates: list[Candidate]
    limits: dict[int, SeedLimits]
    weights: dict[str, float]
    settings: StudySettings
    skipped: list[str]
    is_whole: bool
    later: dict[str, Later] = field(default_factory=dict)
    data: StudyData | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        judged = sum(c.judged is not None for c in self.candidates)
        return (
            f"<Study: {len(self.candidates)} candidates, {judged} judged, of {', '.join(self.minimizers)}; "
            f"{len(self.limits)} seeds>"
        )

    @property
    def seed(self) -> int:
        """The first seed: its candidates are judged and chosen from; the other seeds show variation by chance."""
        return next(iter(self.limits))

    @property
    def minimizers(self) -> list[str]:
        """The minimizers that made candidates, in the order of the study."""
        return list(dict.fromkeys(c.minimizer for c in self.candidates))

    @property
    def train_sizes(self) -> list[float]:
        """The shares of the training part from which candidates were learned."""
        return list(self.settings["train_sizes"])

    def of(self, minimizer: str | None = None, seed: int | None = None, train_size: float = 1.0) -> list[Candidate]:
        """Return the candidates of one minimizer or all, by default of the first seed."""
        if minimizer is not None and minimizer not in self.minimizers:
            raise ParameterError(
                f"The study has no minimizer {minimizer!r}; it has {format_names(self.minimizers, limit=9)}."
            )
        wanted = self.seed if seed is None else seed
        return [
            c
            for c in self.candidates
            if c.seed == wanted and c.train_size == train_size and minimizer in (None, c.minimizer)
        ]

    def pareto(self, minimizer: str | None = None) -> list[Candidate]:
        """Return the judged candidates that none beats in both errors on validation records, by classifier error."""
        judged = [c for c in self.of(minimizer) if c.judged is not None]
        on_front = fronts.on_front([c.point("validation") for c in judged])
        front = [c for c, is_on in zip(judged, on_front, strict=True) if is_on]
        return sorted(front, key=lambda c: c.point("validation"))

    def pareto_by_counts(
        self, minimizer: str, seed: int | None = None, train_size: float = 1.0, utility: str = "error"
    ) -> list[Candidate]:
        """Return the front of a minimizer's candidates for any seed and training size, scored by counts."""
        candidates = self.of(minimizer, seed, train_size)
        on_front = fronts.on_front([c.point("validation", False, utility) for c in candidates])
        return [c for c, is_on in zip(candidates, on_front, strict=True) if is_on]

    def choose(self, *, keep: float | None = None, max_error: float | None = None, knee: bool = False) -> Choice:
        """Choose the most private candidate within a target, or the front's inflection point, on validation records.

        Parameters
        ----------
        keep : float, from 0 to 1
            The share of the raw model's skill to keep (`Utility.skill_kept`).
        max_error : float, from 0 to 1
            Or: the highest classifier error to accept.
        knee : bool
            Or: the inflection point of the front, after which more utility costs much more privacy [Staab24 §8.1].
        """
        check_target(keep, max_error, knee)
        front = self.pareto()
        if not front:
            if self.skipped and not self.candidates:
                raise DataError(f"Nothing could be tried: {self.skipped[0]}")
            raise DataError("No candidate has been judged yet; run the study to its end.")
        if knee:
            chosen = front[fronts.knee([c.point("validation") for c in front], self.limits[self.seed].validation)]
            why = "the inflection point of the front" if len(front) > 1 else "the only candidate on the front"
            return self._choice(chosen, why)
        if keep is not None:
            raw, majority = self.limits[self.seed].log_losses["validation"]
            if raw >= majority:
                raise DataError(
                    "Even raw data predicts the validation records no better than the majority guess, so there is no "
                    "skill to keep; choose by max_error or knee, or provide more rows."
                )
            within = [c for c in front if self.skill(c, "validation") >= keep]
            why = f"the most private candidate that keeps {keep:.0%} of the raw model's skill"
        else:
            within = [c for c in front if c.point("validation")[0] <= float(max_error or 0)]
            why = f"the most private candidate with an error of at most {max_error:g}"
        if not within:
            raise DataError(self._out_of_reach(front, keep, max_error))
        return self._choice(max(within, key=lambda c: c.point("validation")[1]), why)

    def skill(self, candidate: Candidate, part: str = "test") -> float:
        """Return the share of the raw model's log-loss gain over the majority guess that a judged candidate keeps."""
        if candidate.judged is None:
            raise ParameterError("Only a judged candidate's skill is known; see `study.pareto()`.")
        raw, majority = self.limits[candidate.seed].log_losses[part]
        return compute_skill_kept(candidate.scores(part).log_loss, raw, majority)

    def hypervolume(self, train_size: float = 1.0, utility: str = "error") -> dict[str, Volume]:
        """Return for each minimizer the share of the trade-off that it reaches on test records.

        Each front is chosen on validation records. `utility="log_loss"` uses the classifier's log-loss instead of its
        error: if one class dominates, even the model on raw data hardly has a lower error than the majority guess.

        Examples
        --------
        >>> import modicum as md
        >>> adult = md.datasets.load_adult()
        >>> grids = {"PrivacyTree": {"privacy": [0.3], "max_leaves": [4, 16]}, "Uniform": {"buckets": [2]}}
        >>> found = md.study(
        ...     adult.X[:4_000], adult.y[:4_000], schema=adult.schema, minimizers=list(grids), grids=grids, seeds=1
        ... )
        >>> volumes = found.hypervolume()
        >>> volumes["PrivacyTree"].mean > volumes["Uniform"].mean
        True
        """
        if train_size not in self.train_sizes:
            sizes = ", ".join(f"{size:g}" for size in self.train_sizes)
            raise ParameterError(f"The study has no training size {train_size!r}; it has {sizes}.")
        check_choice_is(utility, "utility", "hypervolume", ("error", "log_loss"))
        return {name: self._volume(name, train_size, utility) for name in self.minimizers}

    def reached(self) -> dict[str, dict[float, float | None]]:
        """Return for each minimizer the adversary's error at 0.005, 0.01 and 0.02 above raw data's classifier error.

        For each step the most private candidate within that error is chosen by counts, on validation records of the
        first seed. The value is its adversary's error on test records, or None if no candidate is within.
        """
        raw = self.limits[self.seed].validation.raw_error
        reached: dict[str, dict[float, float | None]] = {}
        for name in self.minimizers:
            pairs = [(c.point("validation", judged=False), c.point("test", judged=False)) for c in self.of(name)]
            within = {step: [p for p in pairs if p[0][0] <= raw + step] for step in STEPS}
            best = {step: max(inside, key=lambda p: p[0][1], default=None) for step, inside in within.items()}
            reached[name] = {step: None if pair is None else pair[1][1] for step, pair in best.items()}
        return reached

    def table(self) -> pd.DataFrame:
        """Return one row per candidate.

        `error` and `adversary_error` are measured on the test part, by the judges if `judged` is true, else by counts.
        `validation_…` are the errors used to choose. `risk: NAME` is the adversary's error about one attribute.
        """
        front = {id(c) for c in self.pareto()}
        return pd.DataFrame([_row(c, id(c) in front) for c in self.candidates])

    @property
    def is_weak(self) -> bool:
        """Whether even raw data barely predicts the label, so that the classifier's error means little."""
        raw, majority = self.limits[self.seed].log_losses["test"]
        return raw > (1 - WEAK) * majority

    def _volume(self, minimizer: str, train_size: float, utility: str) -> Volume:
        by_counts = {seed: self.pareto_by_counts(minimizer, seed, train_size, utility) for seed in self.limits}
        by_seed = {
            seed: fronts.hypervolume([c.point("test", False, utility) for c in front], self._box(seed, utility))
            for seed, front in by_counts.items()
            if front
        }
        judged = [c.point("test", True, utility) for c in self.pareto(minimizer)]
        is_judged = self.settings["fronts_of"] == "each" and train_size == 1.0 and judged
        of_judges = fronts.hypervolume(judged, self._box(self.seed, utility)) if is_judged else None
        values = [value for value in by_seed.values() if value == value]
        if not values:
            return Volume(float("nan"), None, by_seed, of_judges)
        ends = seeds_interval(values)
        inside = None if ends is None else (max(0.0, ends[0]), min(1.0, ends[1]))  # it is a share
        return Volume(float(np.mean(values)), inside, by_seed, of_judges)

    def _box(self, seed: int, utility: str) -> ErrorLimits:
        """The two limits of generalization on the test part, in errors or log-losses."""
        limits = self.limits[seed]
        if utility == "error":
            return limits.test
        return ErrorLimits(*limits.log_losses["test"], limits.test.naive_adversary)

    def _choice(self, chosen: Candidate, why: str) -> Choice:
        assert chosen.judged is not None
        return Choice(self, chosen, why, self.skill(chosen), chosen.judged.certificate)

    def _out_of_reach(self, front: Sequence[Candidate], keep: float | None, max_error: float | None) -> str:
        if keep is not None:
            best = max(front, key=lambda c: self.skill(c, "validation"))
            wanted, reached = (
                f"keeps {keep:.0%} of the raw model's skill",
                f"keeps {self.skill(best, 'validation'):.0%}",
            )
        else:
            best, raw = front[0], self.limits[self.seed].validation.raw_error
            wanted = f"has an error of at most {max_error:g}"
            reached = f"has {best.point('validation')[0]:.4f} (raw data: {raw:.4f})"
        return f"No candidate {wanted}; the best reachable, {best.name}, {reached} on validation records."


def _row(c: Candidate, on_front: bool) -> dict[str, object]:
    is_judged = c.judged is not None
    validation, risk = c.point("validation", is_judged), c.scores("test", is_judged).risk
    return {
        "seed": c.seed,
        "train_size": c.train_size,
        "minimizer": c.minimizer,
        "parameters": c.parameters_text,
        "buckets": count_asked_buckets(c.generalization),
        "attributes": len(c.generalization.needed),
        "on_front": on_front,
        "judged": is_judged,
        "error": c.error,
        "adversary_error": c.adversary_error,
        "validation_error": validation[0],
        "validation_adversary_error": validation[1],
        "certified_error": c.certified_error,
        "smallest_group": c.screened.smallest_group,
        "groups": c.screened.groups,
        "seconds": c.seconds,
        **{f"risk: {name}": error for name, error in risk.items()},
    }
