"""A study's candidates, the limits that they are compared to, and the choice."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from modicum.evaluation.study.judges import Judged, PartScores, Screened
from modicum.generalization import Generalization
from modicum.generalization.description import count_asked_buckets
from modicum.measures.certificate import Certificate
from modicum.measures.front import ErrorLimits
from modicum.measures.intervals import Interval
from modicum.table.plain_data import LEFT_OUT, PlainResult

if TYPE_CHECKING:
    from modicum.evaluation.coarsening_effect import Effect
    from modicum.evaluation.study.study_result import Study


@dataclass(frozen=True)
class Candidate(PlainResult):
    """One generalization of a study.

    Attributes
    ----------
    seed, train_size : the split, and the share of its training part that was learned from
    minimizer, parameters : how it was made
    screened : scores by counts
    judged : scores by boosted trees and the portfolio; None if it is not on the judged front
    certified_error : lower bound of every adversary's mean error, from validation records, with δ split over all
        candidates
    seconds : time for making and screening it

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> grids = {"PrivacyTree": {"privacy": [0.5], "max_leaves": [4, 8]}}
    >>> found = md.study(X[:1_500], y[:1_500], personal=["sex"], minimizers="PrivacyTree", grids=grids, seeds=1)
    >>> candidate = found.candidates[0]
    >>> candidate.minimizer, candidate.seed, candidate.generalization.n_buckets > 11
    ('PrivacyTree', 0, True)
    """

    seed: int
    train_size: float
    minimizer: str
    parameters: dict[str, object]
    screened: Screened
    judged: Judged | None
    certified_error: float
    weights: Mapping[str, float] = field(metadata=LEFT_OUT)
    seconds: float
    artifact: Mapping[str, object] = field(repr=False, metadata=LEFT_OUT)

    _properties = ("name",)

    @cached_property
    def generalization(self) -> Generalization:
        """The artifact itself."""
        return Generalization.from_dict(self.artifact)

    @property
    def name(self) -> str:
        """The minimizer and its parameters, as text."""
        return f"{self.minimizer}({self.parameters_text})"

    @property
    def parameters_text(self) -> str:
        """The parameters, as text."""
        return ", ".join(f"{k}={_short(v)}" for k, v in self.parameters.items())

    def scores(self, part: str, judged: bool = True) -> PartScores:
        """Return the scores on the "validation" or "test" part, by the judges or by counts."""
        scores: PartScores = getattr(self.judged if judged else self.screened, part)
        return scores

    def point(self, part: str, judged: bool = True, utility: str = "error") -> tuple[float, float]:
        """Return the classifier's error (or log-loss) and the weighted mean adversary error."""
        scores = self.scores(part, judged)
        return getattr(scores, utility), float(sum(self.weights[name] * error for name, error in scores.risk.items()))

    @property
    def error(self) -> float:
        """The classifier's error on the test part, by the judges if it was judged, else by counts."""
        return self.point("test", self.judged is not None)[0]

    @property
    def adversary_error(self) -> float:
        """The weighted mean error of the adversary on the test part, by the judges if it was judged, else by counts."""
        return self.point("test", self.judged is not None)[1]

    def _parts(self) -> dict[str, object]:
        g = self.generalization
        return super()._parts() | {"n_buckets": count_asked_buckets(g), "needed": g.needed}


@dataclass(frozen=True)
class Choice(PlainResult):
    """The candidate chosen on validation records, with its scores on test records.

    Attributes
    ----------
    study : the study
    candidate, generalization : the choice
    why : the rule that chose, in words
    skill_kept : the share of the raw model's skill that it keeps, on test records
    certificate : an upper bound for every adversary, from the test records
    coarsening : the effect of larger groups, if `evaluation.coarsened_choice` made them

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> grids = {"PrivacyTree": {"privacy": [0.5], "max_leaves": [4, 8]}}
    >>> found = md.study(X[:1_500], y[:1_500], personal=["sex"], minimizers="PrivacyTree", grids=grids, seeds=1)
    >>> choice = found.choose(knee=True)
    >>> choice.generalization == choice.candidate.generalization, sorted(choice.certificate.bounds)
    (True, ['sex'])
    """

    study: "Study" = field(repr=False, compare=False, metadata=LEFT_OUT)
    candidate: Candidate = field(metadata=LEFT_OUT)  # its parts appear next to the other fields
    why: str
    skill_kept: float
    certificate: Certificate
    coarsening: "Effect | None" = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<Choice: {self.candidate.name}, {self.why}>"

    @property
    def generalization(self) -> Generalization:
        """The chosen generalization."""
        return self.candidate.generalization

    def _parts(self) -> dict[str, object]:
        return super()._parts() | self.candidate.to_dict()


@dataclass(frozen=True)
class Volume:
    """A minimizer's hypervolume on test records: by counts for each seed, with the mean's 95% interval, and judged.

    `mean` is NaN without candidates, or if raw data predicts no better than the majority guess. `judged` is the first
    seed's hypervolume by the judges; None unless each minimizer's front was judged.
    """

    mean: float
    interval: Interval | None
    by_seed: dict[int, float]
    judged: float | None


@dataclass(frozen=True)
class SeedLimits(PlainResult):
    """The values that a seed's candidates are compared to.

    Attributes
    ----------
    validation, test : the two limits of generalization on each part
    log_losses : part → log-loss of the raw model and of the majority guess
    naive : personal attribute → the naive guess's error on the test part
    people : part → number of people
    margin : the certificate's margin above U on the validation part for ln(1/δ) = 1
    """

    validation: ErrorLimits
    test: ErrorLimits
    log_losses: dict[str, tuple[float, float]]
    naive: dict[str, float]
    people: dict[str, int]
    margin: float


@dataclass(frozen=True)
class Later:
    """The front's candidates on other records, such as a later year's [Staab24 Appendix H, Figure 15].

    The generalizations are fixed; classifier and adversary learn from the other records' own training part and are
    tested on their test part.

    Attributes
    ----------
    limits : the two limits of generalization on these records
    people : number of people tested on
    points : each candidate of the front with its classifier error and weighted mean adversary error
    """

    limits: ErrorLimits
    people: int
    points: list[tuple[Candidate, tuple[float, float]]]


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
