"""What a study keeps of each candidate, of the limits that it is compared to, and of the one that is chosen."""

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
    seed, train_size : which split, and from what share of its training part it was learned
    minimizer, parameters : how it was made
    screened : what counts say of it
    judged : what boosted trees and the portfolio say; None for one that is not on its minimizer's front
    certified_error : no adversary's mean error is lower, from validation records, with δ split over all candidates
    seconds : what making and screening it took

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
        """Minimizer and parameters in a few words."""
        return f"{self.minimizer}({self.told_parameters})"

    @property
    def told_parameters(self) -> str:
        """The parameters in a few words."""
        return ", ".join(f"{k}={_short(v)}" for k, v in self.parameters.items())

    def scores(self, part: str, judged: bool = True) -> PartScores:
        """Its scores on the "validation" or "test" part, by the judges or by counts."""
        found: PartScores = getattr(self.judged if judged else self.screened, part)
        return found

    def point(self, part: str, judged: bool = True, utility: str = "error") -> tuple[float, float]:
        """Classifier error (or its log-loss) and weighted mean adversary error."""
        scores = self.scores(part, judged)
        return getattr(scores, utility), float(sum(self.weights[name] * error for name, error in scores.risk.items()))

    @property
    def error(self) -> float:
        """The classifier's error on the test part, by the strongest judge there was."""
        return self.point("test", self.judged is not None)[0]

    @property
    def adversary_error(self) -> float:
        """The weighted mean error of the adversary on the test part, by the strongest judge there was."""
        return self.point("test", self.judged is not None)[1]

    def _parts(self) -> dict[str, object]:
        g = self.generalization
        return super()._parts() | {"n_buckets": count_asked_buckets(g), "needed": g.needed}


@dataclass(frozen=True)
class Choice(PlainResult):
    """The candidate that was chosen on validation records, and what the test records, which chose nothing, say of it.

    Attributes
    ----------
    study : the study that it was chosen from
    candidate, generalization : what was chosen
    why : the rule, in words
    skill_kept : the share of the raw model's skill that it keeps, on test records
    certificate : what no adversary can exceed, from the test records
    coarsening : what larger groups changed, where `evaluation.coarsened_choice` made them

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
    candidate: Candidate = field(metadata=LEFT_OUT)  # its parts stand beside the other fields
    why: str
    skill_kept: float
    certificate: Certificate
    coarsening: "Effect | None" = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<Choice: {self.candidate.name}, {self.why}>"

    @property
    def generalization(self) -> Generalization:
        """The artifact that was chosen."""
        return self.candidate.generalization

    def _parts(self) -> dict[str, object]:
        return super()._parts() | self.candidate.to_dict()


@dataclass(frozen=True)
class Volume:
    """A minimizer's hypervolume on test records: by counts for every seed, with the mean's 95% interval; and judged.

    `mean` is NaN where there is none: no candidate, or raw data that predicts no better than the majority guess.
    `judged` is that of the first seed by the judges, where each minimizer's front was judged; else None.
    """

    mean: float
    interval: Interval | None
    by_seed: dict[int, float]
    judged: float | None


@dataclass(frozen=True)
class SeedLimits(PlainResult):
    """The limit points of one seed's parts, and what else candidates are compared to there.

    Attributes
    ----------
    validation, test : the two limits of generalization
    log_losses : part → log-loss of the raw model and of the majority guess
    naive : personal attribute → the naive guess's error on the test part
    people : part → how many people it has
    margin : what the certificate adds to U on the validation part where ln(1/δ) is 1
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
    limits : the two limits of generalization there
    points : each candidate of the front with its classifier error and weighted mean adversary error
    people : how many people it was tested on
    """

    limits: ErrorLimits
    people: int
    points: list[tuple[Candidate, tuple[float, float]]]


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
