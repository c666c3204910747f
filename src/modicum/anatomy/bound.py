"""Compute the bound (4.6) of [Mancuhan16] for a release."""

import math
from dataclasses import dataclass

import numpy as np

from modicum.anatomy.join import Join, code_column, code_sensitive
from modicum.anatomy.pruning import Chosen, Norms, prune_join
from modicum.anatomy.training import check_arguments, class_of, make_generator
from modicum.errors import DataError, check_number_is
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.table.frames import column
from modicum.table.plain_data import PlainResult
from modicum.table.targets import label_values
from modicum.typing import Floats

_TOLERANCE = 1e-8  # columns are not scaled: with the usual 1e-4, incomes in thousands stop the search too early
_CHEAPEST, _DEAREST = 1e-6, 1e6  # penalties for which the search converges


@dataclass(frozen=True)
class PaperBound(PlainResult):
    """The right side of (4.6) and its parts. It is the paper's figure, not a guarantee.

    Attributes
    ----------
    bound : vc_term + pruning_term
    vc_term : 4 √(((d + 2) log(N + 1) + log 2) / N)
    pruning_term : ([r_p²]max − [r_p²]min) / N
    r2_min, r2_max : [r_p²]min and [r_p²]max: `radius2_min` and `radius2_max` times `weights2`
    radius2_min, radius2_max : the smallest and the largest squared norm of a row of the joined data (Figure B.1)
    weights2 : ‖w_p‖²
    n : N, the rows of the pruned data
    d : how many identifying attributes there are
    sensitive : how many sensitive attributes there are
    training_error : the share of the pruned data that w_p gets wrong; above 0 the data was not separated

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "sex", "education"]]
    >>> release = md.Anatomy(l=2, sensitive="education", random_state=0).fit(X[:1_000], y[:1_000]).release_
    >>> found = md.anatomy.paper_bound(release)
    >>> found.bound == found.vc_term + found.pruning_term, found.vacuous
    (True, True)
    """

    bound: float
    vc_term: float
    pruning_term: float
    r2_min: float
    r2_max: float
    radius2_min: float
    radius2_max: float
    weights2: float
    n: int
    d: int
    sensitive: int
    training_error: float

    _properties = ("vacuous", "note")

    @property
    def vacuous(self) -> bool:
        """Whether the bound is at least 1, which no error exceeds."""
        return self.bound >= 1

    @property
    def note(self) -> str:
        """What the bound does and does not show."""
        separated = "" if not self.training_error else f" (here {self.training_error:.1%} lie on the wrong side)"
        vacuous = "It is at least 1 and says nothing. " if self.vacuous else ""
        return (
            f"{vacuous}This figure is no guarantee [Mancuhan16 (4.6)]: its proof assumes that the training data is "
            f"linearly separable{separated}, and it bounds the excess over the best linear rule, on average."
        )

    def __str__(self) -> str:
        return f"{self.bound:.3g} = {self.vc_term:.3g} + {self.pruning_term:.3g}. {self.note}"


def paper_bound(
    release: AnatomyRelease, *, prune_per: str = "record", C: float = 1.0, random_state: int | None = 0
) -> PaperBound:
    """Compute how much worse than the best linear rule the pruned SVC may be by the bound [Mancuhan16 (4.6)].

    Every symbol is computed from the data in the coding of [Mancuhan16 Appendix B] (one column per attribute):

    - N is the number of rows of the pruned data and d that of identifying attributes. d + 2 is one more than the number
      of columns; with s sensitive attributes it is d + s + 1. Logarithms are natural.
    - R_p² lies between ‖R_min‖² and ‖R_max‖² of Figure B.1, the smallest and the largest squared norm of a row of the
      joined data: §4.1 takes the radius to be uniform between them, and (A.6) to (A.7) let both r² and r_p² lie in the
      interval that follows "according to the algorithm".
    - w_p are the weights, without the intercept, of one linear SVC trained on the pruned data (Theorem 4.1). Only the
      radii define the interval: [r_p²]max − [r_p²]min = (‖R_max‖² − ‖R_min‖²) ‖w_p‖².

    This coding does not scale numbers, so an attribute with large values (an income) dominates the radii.

    Parameters
    ----------
    release : AnatomyRelease
        It must have a class with two values.
    prune_per : "record" or "group"
        Whether pruning keeps one candidate for each record or for each group.
    C : number
        The penalty for an error of the SVC, from 1e-6 to 1e6.
    random_state : int, optional
        Seed for ties.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "sex", "education"]]
    >>> release = md.Anatomy(l=2, sensitive="education", random_state=0).fit(X[:2_000], y[:2_000]).release_
    >>> found = md.anatomy.paper_bound(release)
    >>> found.n, found.d, round(found.vc_term, 3), found.vacuous
    (2000, 2, 0.499, True)
    """
    check_arguments(release, "paper_bound", prune_per, random_state)
    check_number_is(C, "C", "paper_bound", _CHEAPEST, _DEAREST, whole=False)
    join = Join.of(release)
    norms = Norms.of(join)
    radii = norms.radii(join)
    chosen = prune_join(join, prune_per, make_generator(random_state))
    weights2, error = _train_svc(join, chosen, C)
    n, columns = len(chosen.records), len(join.identifying_attributes) + len(join.candidates)
    vc_term = 4 * math.sqrt(((columns + 1) * math.log(n + 1) + math.log(2)) / n)
    low, high = radii.smallest * weights2, radii.largest * weights2
    pruning_term = (high - low) / n
    return PaperBound(
        bound=vc_term + pruning_term,
        vc_term=vc_term,
        pruning_term=pruning_term,
        r2_min=low,
        r2_max=high,
        radius2_min=radii.smallest,
        radius2_max=radii.largest,
        weights2=weights2,
        n=n,
        d=len(join.identifying_attributes),
        sensitive=len(join.candidates),
        training_error=error,
    )


def _train_svc(join: Join, chosen: Chosen, C: float) -> tuple[float, float]:
    """Return ‖w_p‖² of the linear SVC on the pruned data and its share of errors on that data."""
    from sklearn.svm import LinearSVC  # deferred: slow to import

    y = label_values(class_of(join.release))[chosen.records]
    if len(np.unique(y)) != 2:
        raise DataError(f"The bound (4.6) needs two classes; the pruned data has {len(np.unique(y))}.")
    columns = _code_pruned(join, chosen)
    model = LinearSVC(dual=False, C=C, tol=_TOLERANCE, max_iter=20_000).fit(columns, y)
    return float((model.coef_**2).sum()), float(1 - model.score(columns, y))


def _code_pruned(join: Join, chosen: Chosen) -> Floats:
    """Code the pruned data as in the paper: d + 1 columns, more with several sensitive attributes."""
    weights, frame = join.repeats.astype(np.float64), join.identifying
    identifying = [
        code_column(column(frame, each.name), each, weights)[chosen.records] for each in join.identifying_attributes
    ]
    places = chosen.places - np.array(join.offsets)
    sensitive = [code_sensitive(join, a)[places[:, a]] for a in range(len(join.candidates))]
    return np.column_stack([*identifying, *sensitive])
