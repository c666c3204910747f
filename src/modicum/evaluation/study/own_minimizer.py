"""A study's candidates from the user's own minimizer: a class or an instance, over a grid of its parameters."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import product
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import joblib
import pandas as pd
from sklearn.base import clone

from modicum.errors import ParameterError, format_names
from modicum.generalization import Generalization
from modicum.table.values import plain

if TYPE_CHECKING:
    from modicum.evaluation.study.grids import Context, Made


class OwnMinimizer(Protocol):
    """An estimator with scikit-learn's interface."""

    def fit(self, X: Any, y: Any) -> object: ...

    def get_params(self, deep: bool = True) -> dict[str, object]: ...

    def set_params(self, **parameters: object) -> object: ...


def check_minimizer(given: Any) -> OwnMinimizer:
    """Return an instance, also for a class; fail if it does not have scikit-learn's interface.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.study.own_minimizer import check_minimizer
    >>> check_minimizer(md.Uniform).buckets, check_minimizer(md.Uniform(buckets=7)).buckets
    (3, 7)
    """
    name = given.__name__ if isinstance(given, type) else type(given).__name__
    if any(not callable(getattr(given, method, None)) for method in ("fit", "get_params", "set_params")):
        raise ParameterError(
            f"The minimizer {name} has no fit, get_params or set_params; extend modicum.minimizers.base.Minimizer."
        )
    if not isinstance(given, type):
        return given
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(each.default is each.empty and each.kind not in variadic for each in _parameters(given)):
        raise ParameterError(
            f"The minimizer {name} cannot be created without arguments; give an instance, such as {name}(...)."
        )
    return given()


def build_fits(
    minimizer: OwnMinimizer, grid: Mapping[str, Sequence[object]]
) -> list[tuple[str, Callable[[Any, Any, "Context"], "Made"]]]:
    """For every combination of the grid's values, build a key and the function that makes the candidate.

    A key contains the place in the grid, the minimizer's source code and a hash of its parameters' contents, such as
    a fitted model, so that results of a changed minimizer are not reused. A parameter that cannot be hashed gets a new
    key every time.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.study.own_minimizer import build_fits
    >>> len(build_fits(md.Uniform(), {"buckets": [2, 3], "random_state": [0]}))
    2
    """
    name, known = type(minimizer).__name__, minimizer.get_params(deep=False)
    check_grid(name, grid, known)
    every = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    code = _read_source(type(minimizer))
    keys = [
        f"{name}-{i}-{_printable(own)!r}-{code}-{[_hash_content(value) for value in own.values()]}"
        for i, own in enumerate({**known, **one} for one in every)
    ]
    return [(key, partial(_fit, minimizer, one)) for key, one in zip(keys, every, strict=True)]


def check_grid(name: str, grid: Mapping[str, Sequence[object]], known: Collection[str]) -> None:
    """Fail for parameters that the minimizer does not have, and for those without a list of values."""
    unknown = [key for key in grid if key not in known]
    if unknown:
        raise ParameterError(f"The grid of {name} has no {unknown[0]!r}; it has {format_names(known)}.")
    for key, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise ParameterError(f"The grid of {name} has no value of {key!r}; give it at least one in a list.")


def _fit(minimizer: OwnMinimizer, own: Mapping[str, object], X: Any, y: Any, context: "Context") -> "Made":
    """Fit a copy, with the study's schema, weights and seed if it has parameters for them; y is a series."""
    of_study = {"personal": None, **context.shared_options, "random_state": context.seed, "progress": False}
    fitted = clone(minimizer).set_params(**own)
    known = fitted.get_params(deep=False)
    fitted.set_params(**{name: value for name, value in of_study.items() if name in known and name not in own})
    fitted.fit(
        X, pd.Series(y, index=X.index if isinstance(X, pd.DataFrame) else None, name=context.schema.label or "y")
    )
    generalization = getattr(fitted, "generalization_", None)
    if not isinstance(generalization, Generalization):
        raise ParameterError(
            f"The minimizer {type(minimizer).__name__} has no Generalization in generalization_ after fit."
        )
    defaults = {each.name: each.default for each in _parameters(type(minimizer))}
    changed = {name: value for name, value in minimizer.get_params(deep=False).items() if name not in of_study}
    changed = {name: value for name, value in changed.items() if name not in defaults or value is not defaults[name]}
    return [({**_printable(changed), **_printable(own)}, generalization)]


def _printable(parameters: Mapping[str, object]) -> dict[str, object]:
    """Convert parameters to plain values, and other objects to text that is the same in every process."""
    return {name: _print(value) for name, value in parameters.items()}


def _print(value: object) -> object:
    if isinstance(plain(value), str | int | float | bool | None):
        return plain(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _parameters(kind: type) -> list[inspect.Parameter]:
    """Read the parameters of the class's `__init__`."""
    return list(inspect.signature(kind).parameters.values())


def _hash_content(value: object, inside: tuple[FunctionType, ...] = ()) -> str:
    """Hash a parameter's content: for a function its code and what it reads, for one in `inside` only its name."""
    try:
        if isinstance(value, FunctionType):
            value = value.__qualname__ if value in inside else _describe_function(value, (*inside, value))
        return str(joblib.hash(value.__name__ if isinstance(value, ModuleType) else value))
    except Exception:  # a user's object may fail in any way
        return uuid4().hex


def _describe_function(function: FunctionType, inside: tuple[FunctionType, ...]) -> list[object]:
    """List a function's code, its defaults, and the variables outside it that it can read."""
    code, names = _describe_code(function.__code__)
    outside = {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    settings = [function.__defaults__, function.__kwdefaults__]
    read = [_hash_content(value, inside) for value in [*outside.values(), *cells, *settings]]
    return [function.__module__, function.__qualname__, code, list(outside), read]


def _describe_code(code: CodeType) -> tuple[list[object], set[str]]:
    """Describe code in a form that is the same in every process, and collect the names that it uses."""
    parts: list[object] = [code.co_code, code.co_names]
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            nested, more = _describe_code(constant)
            parts.append(nested)
            names |= more
        else:
            parts.append(sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant))
    return parts, names


def _read_source(kind: type) -> str:
    """Read the source code of a class; empty for a class defined at a prompt."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""
