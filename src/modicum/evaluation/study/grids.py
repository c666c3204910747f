"""The candidates that a study tries: each minimizer with the paper's parameters [Staab24 Appendix F]."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import product
from numbers import Real
from typing import Any, TypedDict

import numpy as np

from modicum.errors import ParameterError, format_names
from modicum.evaluation.search import SIZES
from modicum.evaluation.study.own_minimizer import OwnMinimizer, build_fits, check_grid, check_minimizer
from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.learners.boosting import RecordTrees
from modicum.minimizers import (
    AdversarialTraining,
    FeatureSelection,
    Iterative,
    MergePath,
    ModelGuided,
    MutualInformation,
    PrivacyTree,
    Uniform,
)
from modicum.table.schema import Schema
from modicum.table.targets import Labels, label_name, label_values

# The grids

DEFAULT = ("MergePath", "PrivacyTree", "Iterative", "FeatureSelection", "Uniform")
GUIDED = ("ModelGuided", "Apt")
NEURAL = ("AdversarialTraining", "MutualInformation")

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    # `points` is how many steps of each of a path's two errors are tried at most; closer points are alike.
    "MergePath": {"mix": (0.5,), "risk": ("adversary",), "min_group": (1,), "points": (30,)},
    "PrivacyTree": {
        "privacy": (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
        "max_leaves": SIZES[1:],
        "min_leaf": (100,),
    },
    # Thresholds run from the error with all buckets (0) to the majority guess's error (1).
    "Iterative": {"share": (0.0, 0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8), "buckets": (4,)},
    "FeatureSelection": {"k": (2, 4, 8, 10, 20, "all"), "score_func": ("anova",)},
    "Uniform": {"buckets": (1, 2, 3, 4, 5)},
    # Guided by boosted trees on raw records; Apt is the search of [Goldsteen22], its depth limited as in [Staab24 §6].
    "ModelGuided": {"points": (30,), "max_depth": (10,)},
    "Apt": {"target": (0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 1.0), "max_depth": (10,)},
    "AdversarialTraining": {"privacy": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9), "buckets": (5,)},
    # The bound on the information is a sum over all attributes, so small values already remove most of it.
    "MutualInformation": {"privacy": (0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 0.9), "buckets": (5,)},
}

_LOW = 0.8  # down to this agreement a guided path takes small steps

Made = list[tuple[dict[str, object], Generalization]]  # parameters and generalization of each candidate


class SharedOptions(TypedDict):
    """The parameters that most minimizers share."""

    schema: Schema
    weights: Mapping[str, float] | None
    label_bins: int | None


@dataclass(frozen=True)
class Context:
    """The settings that a study passes to every minimizer."""

    schema: Schema
    weights: Mapping[str, float] | None
    label_bins: int | None
    seed: int

    @property
    def shared_options(self) -> SharedOptions:
        """The parameters that most minimizers share."""
        return {"schema": self.schema, "weights": self.weights, "label_bins": self.label_bins}


@dataclass(frozen=True)
class Job:
    """One fit; `make(X, y, context)` returns its candidates with their parameters."""

    minimizer: str
    key: str  # unique among the jobs of a seed
    make: Callable[[Any, Any, Context], Made]


def jobs(minimizers: Any, grids: Mapping[str, Mapping[str, Sequence[Any]]] | None) -> list[Job]:
    """List the fits of a study, in order.

    Examples
    --------
    >>> from modicum.evaluation.study.grids import jobs
    >>> [job.key for job in jobs(["Uniform"], {"Uniform": {"buckets": [2, 3]}})]
    ['Uniform-buckets=2', 'Uniform-buckets=3']
    """
    given = _find_minimizers(minimizers)
    known = [*GRIDS, *(name for name, own in given.items() if own is not None)]
    if grids is not None and not isinstance(grids, Mapping):
        raise ParameterError(f"The 'grids' parameter must map minimizers to grids. Got {type(grids).__name__} instead.")
    unknown = [key for key in grids or {} if key not in known]
    if unknown:
        raise ParameterError(
            f"The 'grids' parameter names {unknown[0]!r}; the minimizers are {format_names(known, limit=len(known))}."
        )
    every: list[Job] = []
    for name, own in given.items():
        grid = (grids or {}).get(name, {})
        if not isinstance(grid, Mapping):
            raise ParameterError(
                f"The grid of {name} must map parameters to values. Got {type(grid).__name__} instead."
            )
        if own is None:
            every += _build_jobs(name, _grid(name, grid))
        else:
            every += [Job(name, key, make) for key, make in build_fits(own, grid)]
    return every


def _find_minimizers(minimizers: Any) -> dict[str, OwnMinimizer | None]:
    """Map each minimizer's name to the user's instance, or to None for minimizers with a grid here."""
    sets = {"default": DEFAULT, "all": (*DEFAULT, *GUIDED, *NEURAL)}
    is_several = isinstance(minimizers, Iterable) and not isinstance(minimizers, str | type)
    minimizer_of: dict[str, OwnMinimizer | None] = {}
    for one in list(minimizers) if is_several else [minimizers]:
        for given in sets.get(one, (one,)) if isinstance(one, str) else (one,):
            name, own = _find_minimizer(given)
            if name in minimizer_of and (own, minimizer_of[name]) != (None, None):
                raise ParameterError(
                    f"Two minimizers are called {name!r}; give one with a grid of its parameters, or rename a class."
                )
            minimizer_of[name] = own
    if not minimizer_of:
        raise ParameterError(f"{_MINIMIZERS} Got an empty list.")
    return minimizer_of


def _find_minimizer(given: Any) -> tuple[str, OwnMinimizer | None]:
    if isinstance(given, str) and given in GRIDS:
        return given, None
    if not hasattr(given, "fit"):
        raise ParameterError(f"{_MINIMIZERS} Got {given!r} instead.")
    if isinstance(given, type) and given.__name__ in GRIDS and given.__module__.startswith("modicum."):
        return given.__name__, None
    own = check_minimizer(given)
    return type(own).__name__, own


_MINIMIZERS = (
    f"The 'minimizers' parameter must be 'default', 'all' or some of {format_names(GRIDS, limit=9)}; in Python "
    "it may also contain your own minimizers."
)


def _grid(name: str, given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    check_grid(name, given, GRIDS[name])
    for key, values in given.items():
        wrong = [v for v in values if not _fits(v, GRIDS[name][key])]
        if wrong:
            raise ParameterError(f"The grid of {name} has an invalid value of {key!r}. Got {wrong[0]!r}.")
    return {**GRIDS[name], **given}


def _fits(value: Any, like: tuple[Any, ...]) -> bool:
    """Whether a value has a type that occurs in the paper's grid: a number or a word."""
    if isinstance(value, str):
        return any(isinstance(other, str) for other in like)
    return isinstance(value, Real) and not isinstance(value, bool) and not all(isinstance(o, str) for o in like)


# Model-guided minimization without a given model: boosted trees on raw records are the model [Staab24 §6]


class StudyGuide:
    """Boosted trees on raw records, without forbidden attributes, to guide minimizers."""

    def __init__(self, X: Any, y: Any, context: Context) -> None:
        values = label_values(y, len(X))
        classes = Labels.fit(values, context.label_bins, None, name=label_name(y)).encode(values)
        forbidden = [a.name for a in context.schema.attributes if a.forbidden]
        raw = reduce(Generalization.drop, forbidden, raw_generalization(X, context.schema))
        self._trees = RecordTrees(raw, int(classes.max()) + 1, context.seed).fit(X, classes)
        self._X, self._context = X, context

    def __call__(self, X: Any) -> Any:
        """Predict the most likely class."""
        return self._trees.predict_proba(X).argmax(axis=1)

    @cached_property
    def is_constant(self) -> bool:
        """Whether the trees always predict the same class, which guides no minimizer."""
        return len(np.unique(self(self._X))) < 2

    def fit_minimizer(self, **options: Any) -> ModelGuided:
        """Fit a guided minimizer to the same records; options as for `ModelGuided`."""
        minimizer = ModelGuided(
            self,
            **options,
            schema=self._context.schema,
            loss_weights=self._context.weights,
            random_state=self._context.seed,
            progress=False,
        )
        with warnings.catch_warnings():
            # The warning says that a constant reaches the target; here the path may end with nothing collected.
            warnings.simplefilter("ignore", UserWarning)
            return minimizer.fit(self._X)


# One function for each minimizer: the candidates of one fit


def _merge_path(X: Any, y: Any, context: Context, points: int, mix: float, risk: str, min_group: int) -> Made:
    method = MergePath(
        mix=mix, risk=risk, min_group=min_group, random_state=context.seed, progress=False, **context.shared_options
    )
    path, fixed = method.fit_path(X, y), {"mix": mix, "risk": risk, "min_group": min_group}
    errors = [(point.error, point.adversary_error) for point in path]
    return [({**fixed, "point": i}, path[i].generalization) for i in _thin_path(errors, points)]


def _thin_path(path: Sequence[tuple[float, float]], most: int) -> list[int]:
    """Choose points of a path with clearly different errors: in fine detail, single merges change almost nothing."""
    if not path:
        return []
    errors = np.array(path)
    way = (np.abs(np.diff(errors, axis=0)) / np.maximum(np.ptp(errors, axis=0), 1e-12)).sum(axis=1)
    places = np.append(0.0, np.cumsum(way)) * most
    first = np.unique(places.astype(int), return_index=True)[1]
    return sorted({*first.tolist(), len(path) - 1})


def _privacy_tree(X: Any, y: Any, context: Context, privacy: float, min_leaf: int, max_leaves: Sequence[int]) -> Made:
    sizes, fixed = sorted(max_leaves), {"privacy": privacy, "min_leaf": min_leaf}
    method = PrivacyTree(max_leaves=sizes[-1], privacy=privacy, min_leaf=min_leaf, **context.shared_options).fit(X, y)
    return [({**fixed, "max_leaves": size}, g) for size, g in zip(sizes, method.path(sizes), strict=True)]


def _iterative(X: Any, y: Any, context: Context, buckets: int, share: Sequence[float]) -> Made:
    method = Iterative(buckets=buckets, random_state=context.seed, progress=False, **context.shared_options)
    return [({"max_error": e, "buckets": buckets}, g) for e, g in method.fit_path(X, y, share).items()]


def _feature_selection(X: Any, y: Any, context: Context, k: Any, score_func: Any) -> Made:
    most = len(context.schema.features)
    kept = most if k == "all" else min(k, most)
    method = FeatureSelection(k=kept, score_func=score_func, schema=context.schema, label_bins=context.label_bins)
    return [({"k": kept, "score_func": score_func}, method.fit(X, y).generalization_)]


def _uniform(X: Any, y: Any, context: Context, buckets: int) -> Made:
    g = Uniform(buckets=buckets, schema=context.schema, random_state=context.seed).fit(X).generalization_
    return [({"buckets": buckets}, g)]


def _model_guided(X: Any, y: Any, context: Context, max_depth: int, points: int) -> Made:
    guide = StudyGuide(X, y, context)
    if guide.is_constant:
        return []
    path = guide.fit_minimizer(target_agreement=_LOW, max_depth=max_depth).path_
    errors = [(1 - point.agreement, point.loss) for point in path]
    return [({"max_depth": max_depth, "point": i}, path[i].generalization) for i in _thin_path(errors, points)]


def _apt(X: Any, y: Any, context: Context, max_depth: int, target: Sequence[float]) -> Made:
    guide = StudyGuide(X, y, context)
    made: Made = []
    for agreement in () if guide.is_constant else target:
        fitted = guide.fit_minimizer(target_agreement=agreement, search="paper", max_depth=max_depth)
        made.append(({"max_depth": max_depth, "target": agreement}, fitted.generalization_))
    return made


def _neural(method: Any, X: Any, y: Any, context: Context, buckets: int, privacy: Sequence[float]) -> Made:
    minimizer = method(buckets=buckets, random_state=context.seed, progress=False, **context.shared_options)
    path = minimizer.fit_path(X, y, privacy)
    return [({"privacy": p, "buckets": buckets}, g) for p, g in zip(privacy, path, strict=True)]


# Minimizer → its function, and the parameters that need one fit per value, outermost loop first. The function takes all
# values of the other parameters at once.
_FITS: dict[str, tuple[Callable[..., Made], tuple[str, ...]]] = {
    "MergePath": (_merge_path, ("points", "mix", "risk", "min_group")),
    "PrivacyTree": (_privacy_tree, ("min_leaf", "privacy")),
    "Iterative": (_iterative, ("buckets",)),
    "FeatureSelection": (_feature_selection, ("score_func", "k")),
    "Uniform": (_uniform, ("buckets",)),
    "ModelGuided": (_model_guided, ("max_depth", "points")),
    "Apt": (_apt, ("max_depth",)),
    "AdversarialTraining": (partial(_neural, AdversarialTraining), ("buckets",)),
    "MutualInformation": (partial(_neural, MutualInformation), ("buckets",)),
}


def _build_jobs(name: str, grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    """Build one job for every combination of the parameters that need one fit per value."""
    make, one_by_one = _FITS[name]
    at_once = {parameter: values for parameter, values in grid.items() if parameter not in one_by_one}
    suffixes = [f"{parameter}={','.join(map(repr, values))}" for parameter, values in at_once.items()]
    built = []
    for values in product(*(grid[parameter] for parameter in one_by_one)):
        own = dict(zip(one_by_one, values, strict=True))
        key = "-".join([name, *(f"{parameter}={value}" for parameter, value in own.items()), *suffixes])
        built.append(Job(name, key, partial(make, **own, **at_once)))
    return built
