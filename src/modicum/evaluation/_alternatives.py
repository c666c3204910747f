"""What else could have been collected: other points of the trade-off, next to the chosen one.

The points come from a merge path learned from the training records, or from a study's front. Those of a path are judged
as in `necessity`: by boosted trees and by an adversary that guesses from counts, all on the same test records. Use them
to compare, not to choose again: a new choice needs other test records.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from modicum.engines.sampling import SAMPLE, in_memory
from modicum.errors import ParameterError
from modicum.evaluation._necessity import Tried, make_need_data
from modicum.evaluation._utility import check_generalization, count_people
from modicum.evaluation.study.candidates import Choice
from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.generalization.description import count_asked_buckets
from modicum.learners.portfolio import TREES
from modicum.measures.scores import compute_skill_kept
from modicum.progress import run_all
from modicum.table.plain_data import LEFT_OUT, PlainResult
from modicum.table.schema import Schema

MOST = 8  # points of a path to show


@dataclass(frozen=True)
class Alternative:
    """One way to collect, with the classifier's error and the weighted mean of the adversary's errors.

    `is_chosen` marks the chosen one; `risk` maps each personal attribute to the adversary's error.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.evaluation import Alternative
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> Alternative("1 of 1 attributes in 2 buckets", g, 2, 0.1, 0.4, 0.9, True, {"age": 0.4}).error
    0.1
    """

    name: str
    generalization: Generalization = field(metadata=LEFT_OUT)
    buckets: int
    error: float
    adversary_error: float
    skill_kept: float
    is_chosen: bool
    risk: dict[str, float]


@dataclass(frozen=True)
class Alternatives(PlainResult):
    """The points of the trade-off that were considered, from most detail to least.

    Attributes
    ----------
    points : the alternatives, including the chosen one
    raw_error, majority_error, naive_adversary : errors at the two ends, raw data and nothing collected
    considered : how many alternatives there were; `points` shows some of them
    why : the rule that chose, in words
    source : "merge path" or "study"
    judge : how the points were scored, in words
    records, people : number of test records, and of the people they belong to
    naive : personal attribute → the naive guess's error; `naive_adversary` is the weighted mean
    weights : personal attribute → its share in each mean

    Examples
    --------
    >>> from modicum.evaluation import Alternatives
    >>> ends, why = (0.1, 0.3, 0.5), ("nothing was asked", "merge path", "by counts")
    >>> found = Alternatives([], *ends, 0, *why, 1_000, 1_000, naive={"sex": 0.5}, weights={"sex": 1.0})
    >>> found.to_dict()["naive_adversary"]
    0.5
    """

    points: list[Alternative]
    raw_error: float
    majority_error: float
    naive_adversary: float
    considered: int
    why: str
    source: str
    judge: str
    records: int
    people: int
    naive: dict[str, float]
    weights: dict[str, float]


def alternatives(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    path: Sequence[Generalization] | None = None,
    why: str | None = None,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    label_bins: int | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Alternatives:
    """Compare a generalization with points of a merge path, from the finest to nothing collected.

    Parameters
    ----------
    g : the chosen generalization
    X_train, y_train : full records to learn from, also the path if none is given
    X_test, y_test : full records to score on, not used to make or choose `g`
    path : the generalizations that were considered, such as those of `MergePath.path_`
    why : the rule that chose `g`, in words
    personal, weights, label_bins, n_jobs, random_state : as for `necessity`

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation import alternatives
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> merged = md.MergePath(personal=["age", "sex"]).fit(X[:3_000], y[:3_000])
    >>> path = [point.generalization for point in merged.path_]
    >>> found = alternatives(merged.generalization_, X[:3_000], y[:3_000], X[3_000:4_000], y[3_000:4_000], path=path)
    >>> [point.is_chosen for point in found.points].count(True), found.points[-1].buckets
    (1, 0)
    """
    check_generalization(g)
    X_train, y_train = in_memory(g, X_train, y_train, SAMPLE, random_state)
    given = X_train, y_train, X_test, y_test
    data = make_need_data(g, *given, personal, weights, TREES, label_bins, SAMPLE, random_state)
    if path is None:
        schema = g.schema.with_roles(personal=list(data.weights))
        path = _path(X_train, y_train, schema, weights, label_bins, random_state)
    if any(other.names != g.names for other in path):
        raise ParameterError("The 'path' parameter must hold generalizations of the same attributes as 'g'.")
    compared = [*_thin_path([other for other in path if other != g]), g]
    data.prepare()
    with threadpool_limits(1):
        raw = data.predict_from(raw_generalization(data.train, g.schema))
        tried = run_all(
            [partial(data.try_generalization, other) for other in compared], "Comparing", n_jobs=n_jobs, progress=False
        )
    losses = raw.log_loss(), data.majority.log_loss()
    points = [_score_alternative(other, each, losses, other == g) for other, each in zip(compared, tried, strict=True)]
    points.sort(key=lambda point: (-point.buckets, point.is_chosen))
    return Alternatives(
        points=points,
        raw_error=raw.error(),
        majority_error=data.majority.error(),
        naive_adversary=sum(data.weights[name] * error for name, error in data.naive_errors.items()),
        considered=len(path) + (g not in path),
        why=why or "It was given; the others are points of a merge path, from most detail to none.",
        source="merge path",
        judge="by boosted trees, and by an adversary that guesses from counts",
        records=len(data.test),
        people=count_people(len(data.test), data.persons),
        naive=data.naive_errors,
        weights=data.weights,
    )


def alternatives_of(choice: Choice) -> Alternatives:
    """Compare a study's choice with the other points of its front.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation import alternatives_of
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> grids = {"PrivacyTree": {"privacy": [0.1], "max_leaves": [4, 8]}}
    >>> study = md.study(X[:3_000], y[:3_000], minimizers="PrivacyTree", grids=grids, seeds=1)
    >>> found = alternatives_of(study.choose(knee=True))
    >>> found.source, found.considered
    ('study', 2)
    """
    study = choice.study
    limits = study.limits[study.seed]
    front = study.pareto()
    shown = front if choice.candidate in front else [*front, choice.candidate]
    points = [
        Alternative(
            name=c.name,
            generalization=c.generalization,
            buckets=count_asked_buckets(c.generalization),
            error=c.error,
            adversary_error=c.adversary_error,
            skill_kept=study.skill(c),
            is_chosen=c == choice.candidate,
            risk=dict(c.scores("test", c.judged is not None).risk),
        )
        for c in shown
    ]
    return Alternatives(
        points=sorted(points, key=lambda point: -point.buckets),
        **asdict(limits.test),
        considered=len(study.of()),
        why=choice.why,
        source="study",
        judge="by boosted trees and the adversary A1 as the study judges its front, without tuning its network",
        records=(choice.candidate.judged.certificate if choice.candidate.judged else choice.certificate).records,
        people=limits.people["test"],
        naive=dict(limits.naive),
        weights=dict(study.weights),
    )


def _path(
    X: Any, y: Any, schema: Schema, weights: Mapping[str, float] | None, label_bins: int | None, seed: int
) -> list[Generalization]:
    from modicum.minimizers import MergePath  # deferred: not needed if the path is given

    merge = MergePath(random_state=seed, weights=weights, label_bins=label_bins, schema=schema)
    return [point.generalization for point in merge.fit_path(X, y)]


def _thin_path(path: Sequence[Generalization]) -> list[Generalization]:
    """Return at most `MOST` points of a path, evenly spaced, including both ends."""
    if not path:
        return []
    places = np.unique(np.linspace(0, len(path) - 1, min(MOST, len(path))).round().astype(int))
    return [path[i] for i in places]


def _score_alternative(g: Generalization, tried: Tried, losses: tuple[float, float], is_chosen: bool) -> Alternative:
    needed, buckets = len(g.needed), count_asked_buckets(g)
    name = f"{needed} of {len(g.names)} attributes in {buckets:,} buckets" if needed else "nothing collected"
    return Alternative(
        name=name,
        generalization=g,
        buckets=buckets,
        error=float(tried.wrong.mean()),
        adversary_error=float(tried.adversary.mean()),
        skill_kept=compute_skill_kept(float(tried.loss.mean()), *losses),
        is_chosen=is_chosen,
        risk={name: float(missed.mean()) for name, missed in tried.missed.items()},
    )
