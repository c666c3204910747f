"""What a study tries: each minimizer with the paper's parameters (papers/0 Appendix F)."""

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
from modicum.evaluation.study.own_minimizer import OwnMinimizer, build_fits, check_minimizer
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

# Model-guided minimization where only labels are given: boosted trees on raw records are the model (papers/0 §6).


class StudyGuide:
    """Boosted trees on raw records, without what the schema forbids, and minimizers that are guided by them.

    Parameters
    ----------
    X, y : records and labels
    schema : Schema
    weights : how much each attribute counts in the loss
    label_bins : for a numeric label
    seed : of the trees and of the minimizers
    """

    def __init__(
        self, X: Any, y: Any, schema: Schema, weights: Mapping[str, float] | None, label_bins: int | None, seed: int
    ) -> None:
        values = label_values(y, len(X))
        classes = Labels.fit(values, label_bins, None, name=label_name(y)).encode(values)
        forbidden = [a.name for a in schema.attributes if a.forbidden]
        raw = reduce(Generalization.drop, forbidden, raw_generalization(X, schema))
        self._trees = RecordTrees(raw, int(classes.max()) + 1, seed).fit(X, classes)
        self._X, self._schema, self._weights, self._seed = X, schema, weights, seed

    def __call__(self, X: Any) -> Any:
        """The class that the trees hold most likely."""
        return self._trees.predict_proba(X).argmax(axis=1)

    @cached_property
    def is_constant(self) -> bool:
        """Whether they know one answer alone, which guides nobody."""
        return len(np.unique(self(self._X))) < 2

    def fit_minimizer(self, **options: Any) -> ModelGuided:
        """A minimizer guided by them, fitted to the same records; options as for `ModelGuided`."""
        return ModelGuided(
            self, **options, schema=self._schema, loss_weights=self._weights, random_state=self._seed, progress=False
        ).fit(self._X)


# The grids

DEFAULT = ("MergePath", "PrivacyTree", "Iterative", "FeatureSelection", "Uniform")
GUIDED = ("ModelGuided", "Apt")
NEURAL = ("AdversarialTraining", "MutualInformation")

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    # Points are the most that are tried of a path, for each of its two errors; closer ones are alike.
    "MergePath": {"mix": (0.5,), "risk": ("adversary",), "min_group": (1,), "points": (30,)},
    "PrivacyTree": {
        "privacy": (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
        "max_leaves": SIZES[1:],
        "min_leaf": (100,),
    },
    # Thresholds as shares of the way from the error with all buckets (0) to the majority guess's (1).
    "Iterative": {"share": (0.0, 0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8), "buckets": (4,)},
    "FeatureSelection": {"k": (2, 4, 8, 10, 20, "all"), "score_func": ("anova",)},
    "Uniform": {"buckets": (1, 2, 3, 4, 5)},
    # Guided by boosted trees on raw records; Apt is papers/1's own search, its depth limited as in papers/0 §6.
    "ModelGuided": {"points": (30,), "max_depth": (10,)},
    "Apt": {"target": (0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 1.0), "max_depth": (10,)},
    "AdversarialTraining": {"privacy": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9), "buckets": (5,)},
    # The bound on the information is a sum over all attributes: most of the way is gone at small values.
    "MutualInformation": {"privacy": (0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 0.9), "buckets": (5,)},
}

_LOW = 0.8  # down to this agreement a guided path goes in small steps

Made = list[tuple[dict[str, object], Generalization]]  # each with its parameters


@dataclass(frozen=True)
class Context:
    """What every minimizer of a study is given."""

    schema: Schema
    weights: Mapping[str, float] | None
    label_bins: int | None
    seed: int


@dataclass(frozen=True)
class Job:
    """One fit, which may make several candidates; `make(X, y, context)` gives each with its parameters."""

    minimizer: str
    key: str  # names the job among those of the same seed
    make: Callable[[Any, Any, Context], Made]


def jobs(minimizers: Any, grids: Mapping[str, Mapping[str, Sequence[Any]]] | None) -> list[Job]:
    """The fits of a study, in order.

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
    strange = [key for key in grids or {} if key not in known]
    if strange:
        raise ParameterError(
            f"The 'grids' parameter names {strange[0]!r}; the minimizers are {format_names(known, limit=len(known))}."
        )
    found: list[Job] = []
    for name, own in given.items():
        grid = (grids or {}).get(name, {})
        if not isinstance(grid, Mapping):
            raise ParameterError(
                f"The grid of {name} must map parameters to values. Got {type(grid).__name__} instead."
            )
        if own is None:
            found += _BUILDERS[name](_grid(name, grid))
        else:
            found += [Job(name, key, make) for key, make in build_fits(own, grid)]
    return found


def _find_minimizers(minimizers: Any) -> dict[str, OwnMinimizer | None]:
    """Name → an instance of the user's own; None for those with a grid here."""
    sets = {"default": DEFAULT, "all": (*DEFAULT, *GUIDED, *NEURAL)}
    is_several = isinstance(minimizers, Iterable) and not isinstance(minimizers, str | type)
    listed = list(minimizers) if is_several else [minimizers]
    found: dict[str, OwnMinimizer | None] = {}
    for given in (each for one in listed for each in (sets.get(one, (one,)) if isinstance(one, str) else (one,))):
        name, own = _find_minimizer(given)
        if name in found and (own, found[name]) != (None, None):
            raise ParameterError(
                f"Two minimizers are called {name!r}; give one with a grid of its parameters, or another class name."
            )
        found[name] = own
    if not found:
        raise ParameterError(f"{_MINIMIZERS} Got an empty list.")
    return found


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
    f"The 'minimizers' parameter must be 'default', 'all' or name some of {format_names(GRIDS, limit=9)}; in Python "
    "it may also hold minimizers of your own."
)


def _grid(name: str, given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    unknown = [key for key in given if key not in GRIDS[name]]
    if unknown:
        raise ParameterError(f"The grid of {name} has no {unknown[0]!r}; it has {format_names(GRIDS[name])}.")
    grid = {**GRIDS[name], **given}
    for key, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise ParameterError(f"The grid of {name} has no value of {key!r}; give it at least one in a list.")
        wrong = [v for v in values if not _fits(v, GRIDS[name][key])]
        if wrong:
            raise ParameterError(f"The grid of {name} has a value of {key!r} that makes no sense. Got {wrong[0]!r}.")
    return grid


def _fits(value: Any, like: tuple[Any, ...]) -> bool:
    """Whether a value is of the kind that the paper's grid has: a number, or a word that is in it."""
    if isinstance(value, str):
        return any(isinstance(other, str) for other in like)
    return isinstance(value, Real) and not isinstance(value, bool) and not all(isinstance(o, str) for o in like)


class MergeOptions(TypedDict):
    """The parameters of `MergePath` that a study tries."""

    mix: float
    risk: str
    min_group: int


def _merge_path(grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    def make(most: int, fixed: MergeOptions, X: Any, y: Any, context: Context) -> Made:
        found = MergePath(
            **fixed, random_state=context.seed, progress=False, **_build_shared_options(context)
        ).fit_path(X, y)
        errors = [(point.error, point.adversary_error) for point in found]
        return [({**fixed, "point": i}, found[i].generalization) for i in _apart(errors, most)]

    every: list[MergeOptions] = [
        {"mix": mix, "risk": risk, "min_group": least}
        for mix, risk, least in product(grid["mix"], grid["risk"], grid["min_group"])
    ]
    return [
        Job("MergePath", f"MergePath-points={most}-{_format_values(list(fixed.items()))}", partial(make, most, fixed))
        for most in grid["points"]
        for fixed in every
    ]


def _apart(path: Sequence[tuple[float, float]], most: int) -> list[int]:
    """The points of a path that differ from the one before: where detail is finest, single merges change nothing."""
    if not path:
        return []
    errors = np.array(path)
    way = (np.abs(np.diff(errors, axis=0)) / np.maximum(np.ptp(errors, axis=0), 1e-12)).sum(axis=1)
    places = np.append(0.0, np.cumsum(way)) * most
    first = np.unique(places.astype(int), return_index=True)[1]
    return sorted({*first.tolist(), len(path) - 1})


def _privacy_tree(grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    sizes = sorted(grid["max_leaves"])

    def make(privacy: float, min_leaf: int, X: Any, y: Any, context: Context) -> Made:
        method = PrivacyTree(
            max_leaves=sizes[-1], privacy=privacy, min_leaf=min_leaf, **_build_shared_options(context)
        ).fit(X, y)
        fixed = {"privacy": privacy, "min_leaf": min_leaf}
        return [({**fixed, "max_leaves": size}, g) for size, g in zip(sizes, method.path(sizes), strict=True)]

    return [
        Job(
            "PrivacyTree",
            f"PrivacyTree-privacy={p!r}-min_leaf={leaf}-max_leaves={_format_values(sizes)}",
            partial(make, p, leaf),
        )
        for leaf in grid["min_leaf"]
        for p in grid["privacy"]
    ]


def _iterative(grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    def make(k: int, X: Any, y: Any, context: Context) -> Made:
        method = Iterative(buckets=k, random_state=context.seed, progress=False, **_build_shared_options(context))
        return [({"max_error": e, "buckets": k}, g) for e, g in method.fit_path(X, y, grid["share"]).items()]

    name = _format_values(grid["share"])
    return [Job("Iterative", f"Iterative-buckets={k}-share={name}", partial(make, k)) for k in grid["buckets"]]


def _feature_selection(grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    def make(score_func: Any, k: Any, X: Any, y: Any, context: Context) -> Made:
        most = len(context.schema.features)
        kept = most if k == "all" else min(k, most)
        method = FeatureSelection(k=kept, score_func=score_func, schema=context.schema, label_bins=context.label_bins)
        return [({"k": kept, "score_func": score_func}, method.fit(X, y).generalization_)]

    return [
        Job("FeatureSelection", f"FeatureSelection-k={k}-score_func={s}", partial(make, s, k))
        for s in grid["score_func"]
        for k in grid["k"]
    ]


def _uniform(grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    def make(k: int, X: Any, y: Any, context: Context) -> Made:
        g = Uniform(buckets=k, schema=context.schema, random_state=context.seed).fit(X).generalization_
        return [({"buckets": k}, g)]

    return [Job("Uniform", f"Uniform-buckets={k}", partial(make, k)) for k in grid["buckets"]]


def _model_guided(grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    def make(depth: int, most: int, X: Any, y: Any, context: Context) -> Made:
        guide = _guide(X, y, context)
        if guide.is_constant:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # a target that a constant reaches: the path goes on to nothing
            found = guide.fit_minimizer(target_agreement=_LOW, max_depth=depth).path_
        errors = [(1 - point.agreement, point.loss) for point in found]
        return [({"max_depth": depth, "point": i}, found[i].generalization) for i in _apart(errors, most)]

    return [
        Job("ModelGuided", f"ModelGuided-max_depth={d}-points={most}", partial(make, d, most))
        for d, most in product(grid["max_depth"], grid["points"])
    ]


def _apt(grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    def make(depth: int, X: Any, y: Any, context: Context) -> Made:
        guide = _guide(X, y, context)
        made: Made = []
        for target in () if guide.is_constant else grid["target"]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found = guide.fit_minimizer(target_agreement=target, search="paper", max_depth=depth)
            made.append(({"max_depth": depth, "target": target}, found.generalization_))
        return made

    name = _format_values(grid["target"])
    return [Job("Apt", f"Apt-max_depth={d}-target={name}", partial(make, d)) for d in grid["max_depth"]]


def _guide(X: Any, y: Any, context: Context) -> StudyGuide:
    return StudyGuide(X, y, context.schema, context.weights, context.label_bins, context.seed)


def _neural(method: Any, grid: Mapping[str, Sequence[Any]]) -> list[Job]:
    name = method.__name__

    def make(k: int, X: Any, y: Any, context: Context) -> Made:
        fitted = method(buckets=k, random_state=context.seed, progress=False, **_build_shared_options(context))
        found = fitted.fit_path(X, y, grid["privacy"])
        return [({"privacy": p, "buckets": k}, g) for p, g in zip(grid["privacy"], found, strict=True)]

    return [
        Job(name, f"{name}-buckets={k}-privacy={_format_values(grid['privacy'])}", partial(make, k))
        for k in grid["buckets"]
    ]


class SharedOptions(TypedDict):
    """The parameters that most minimizers have."""

    schema: Schema
    weights: Mapping[str, float] | None
    label_bins: int | None


def _build_shared_options(context: Context) -> SharedOptions:
    return {"schema": context.schema, "weights": context.weights, "label_bins": context.label_bins}


def _format_values(values: Sequence[Any]) -> str:
    return ",".join(map(repr, values))


_BUILDERS: dict[str, Callable[[Mapping[str, Sequence[Any]]], list[Job]]] = {
    "MergePath": _merge_path,
    "PrivacyTree": _privacy_tree,
    "Iterative": _iterative,
    "FeatureSelection": _feature_selection,
    "Uniform": _uniform,
    "ModelGuided": _model_guided,
    "Apt": _apt,
    "AdversarialTraining": partial(_neural, AdversarialTraining),
    "MutualInformation": partial(_neural, MutualInformation),
}
