"""Errors and warnings, and the checks of parameters that raise them.

Every error that a user's data or arguments can cause is a `ModicumError`: a sentence that names the column or parameter
and says what to do. The command line prints it and exits with code 2. `ModicumError` is also a `ValueError`, which
scikit-learn expects from an estimator that is given bad data.
"""

import importlib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from types import ModuleType
from typing import Any


class ModicumError(ValueError):
    """The parent class of every error that bad input causes.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.errors import ModicumError
    >>> X = md.datasets.load_adult().X[:100]
    >>> try:
    ...     md.Uniform(buckets=0).fit(X)
    ... except ModicumError as error:
    ...     print(error)
    The 'buckets' parameter of Uniform must be an int ≥ 1. Got 0 instead.
    """


class DataError(ModicumError):
    """A table, a column or a value cannot be used.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> g.transform(pd.DataFrame({"job": ["nurse"]}))
    Traceback (most recent call last):
    ...
    modicum.errors.DataError: The column 'age' is not in the data; it has 'job'.
    """


class SchemaError(ModicumError):
    """A schema contradicts itself or the data it is used with.

    Examples
    --------
    >>> import modicum as md
    >>> md.Schema.infer(md.datasets.load_adult().X[:100], personal=["shoe size"])
    Traceback (most recent call last):
    ...
    modicum.errors.SchemaError: There is no attribute 'shoe size' to be personal; the data has 'age', ...
    """


class ArtifactError(ModicumError):
    """A saved artifact is damaged, too new, or was edited into something that is not valid.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> g.drop("job")
    Traceback (most recent call last):
    ...
    modicum.errors.ArtifactError: The generalization has no attribute 'job'; it has 'age'.
    """


class ParameterError(ModicumError):
    """An estimator or a function was given a parameter it cannot work with.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> md.Mondrian(k=1).fit(pd.DataFrame({"age": [18, 35, 70]}))
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The 'k' parameter of Mondrian must be an int ≥ 2. Got 1 instead.
    """


class MissingPackageError(ModicumError, ImportError):
    """An optional package is not installed.

    Examples
    --------
    >>> from modicum.errors import require
    >>> require("a_package_that_is_not_here", extra="neural")
    Traceback (most recent call last):
    ...
    modicum.errors.MissingPackageError: This needs the package 'a_package_that_is_not_here'. ...
    """


class PrivacyWarning(UserWarning):
    """The request itself leaks information; the result is still computed.

    Examples
    --------
    >>> import warnings
    >>> from modicum.errors import PrivacyWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", PrivacyWarning)  # a program may stop here
    """


class DataWarning(UserWarning):
    """The data is hardly sufficient for the request; the result is still computed.

    Examples
    --------
    >>> import warnings
    >>> from modicum.errors import DataWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DataWarning)  # if the label is known to be hard to predict
    """


class StoppedWarning(UserWarning):
    """Ctrl-C ended the work early; the best result so far is kept.

    Examples
    --------
    >>> import warnings
    >>> from modicum.errors import StoppedWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", StoppedWarning)  # if half a result is worse than none
    """


def check_words(**given: object) -> None:
    """Refuse values that are not text, or that UTF-8 cannot encode; None is allowed.

    Examples
    --------
    >>> from modicum.errors import check_words
    >>> check_words(purpose="Who may need advice?", people=None)
    >>> check_words(purpose="caf\\udce9")
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The 'purpose' parameter must be text in UTF-8. Got 'caf\\udce9' instead.
    """
    for name, words in given.items():
        is_text = isinstance(words, str) and not any("\ud800" <= character <= "\udfff" for character in words)
        if words is not None and not is_text:
            raise ParameterError(f"The {name!r} parameter must be text in UTF-8. Got {words!r} instead.")


def require(package: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra installs it.

    Examples
    --------
    >>> from modicum.errors import require
    >>> require("json", extra="dev").__name__
    'json'
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPackageError(
            f"This needs the package '{package}'. Install it with: pip install 'modicum[{extra}]'."
        ) from error


def format_names(names: Iterable[object], limit: int = 5) -> str:
    """List names for people: 'a', 'b' and 3 more.

    Examples
    --------
    >>> from modicum.errors import format_names
    >>> format_names(["age", "sex"])
    "'age' and 'sex'"
    >>> format_names(list("abcdefgh"), limit=3)
    "'a', 'b', 'c' and 5 more"
    """
    items = [repr(str(name)) for name in names]
    shown, rest = items[:limit], len(items) - limit
    if rest > 0:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def check_number(owner: object, name: str, low: float, high: float | None = None, whole: bool = True) -> None:
    """Refuse a parameter of `owner` that is not a number from `low` to `high`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from modicum.errors import check_number
    >>> check_number(SimpleNamespace(k=2), "k", 2)
    """
    check_number_is(getattr(owner, name), name, type(owner).__name__, low, high, whole)


def check_number_is(
    value: Any, name: str, owner: str, low: float, high: float | None = None, whole: bool = True
) -> None:
    """Refuse a `value` of the parameter `name` that is not a number from `low` to `high`; `owner` names the function.

    Examples
    --------
    >>> from modicum.errors import check_number_is
    >>> check_number_is(0, "random_state", "evidence", 0)
    """
    right = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if right and low <= value and (high is None or value <= high):
        return
    kind = "an int" if whole else "a number"
    limit = f"≥ {low}" if high is None else f"from {low} to {high}"
    raise ParameterError(f"The {name!r} parameter of {owner} must be {kind} {limit}. Got {value!r} instead.")


def check_choice(owner: object, name: str, choices: Sequence[str]) -> None:
    """Refuse a parameter of `owner` that is not one of the choices.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from modicum.errors import check_choice
    >>> check_choice(SimpleNamespace(output="values"), "output", ("values", "ranges"))
    """
    check_choice_is(getattr(owner, name), name, type(owner).__name__, choices)


def check_choice_is(value: Any, name: str, owner: str, choices: Sequence[str]) -> None:
    """Refuse a `value` of the parameter `name` that is not one of the choices; `owner` names the function.

    Examples
    --------
    >>> from modicum.errors import check_choice_is
    >>> check_choice_is("quick", "depth", "evidence", ("quick", "full"))
    """
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join([", ".join(map(repr, choices[:-1])), repr(choices[-1])])
        raise ParameterError(f"The {name!r} parameter of {owner} must be {listed}. Got {value!r} instead.")
