"""What can go wrong, in words that say what to do.

Every error that a user's data or arguments can cause is a `ModicumError`: one sentence that names the column or field.
The command line prints that sentence and exits with code 2. `ModicumError` is also a `ValueError`, which is what
scikit-learn expects from an estimator that is given bad data.
"""

import importlib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from types import ModuleType


class ModicumError(ValueError):
    """The common parent of every error that bad input causes."""


class DataError(ModicumError):
    """A table, a column or a value cannot be used as it is."""


class SchemaError(ModicumError):
    """A schema contradicts itself or the data it is used with."""


class ArtifactError(ModicumError):
    """A saved artifact is damaged, too new, or was edited into something that is not valid."""


class ParameterError(ModicumError):
    """An estimator or a function was given a parameter it cannot work with."""


class MissingPackageError(ModicumError, ImportError):
    """An optional package is needed for what was asked."""


class PrivacyWarning(UserWarning):
    """What the caller asked for leaks by itself; the result is computed all the same."""


class DataWarning(UserWarning):
    """The data hardly carries what was asked of it; the result is computed all the same."""


class StoppedWarning(UserWarning):
    """Ctrl-C ended the work early; the best result so far is kept."""


def require(package: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

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


def quoted(names: Iterable[object], limit: int = 5) -> str:
    """Names as a person would list them: 'a', 'b' and 3 more.

    Examples
    --------
    >>> from modicum.errors import quoted
    >>> quoted(["age", "sex"])
    "'age' and 'sex'"
    >>> quoted(list("abcdefgh"), limit=3)
    "'a', 'b', 'c' and 5 more"
    """
    items = [repr(str(name)) for name in names]
    shown, rest = items[:limit], len(items) - limit
    if rest > 0:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def check_number(owner: object, name: str, low: float, high: float | None = None, whole: bool = True) -> None:
    """Refuse a parameter that is no number from `low` to `high`, in one form of message.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from modicum.errors import check_number
    >>> check_number(SimpleNamespace(k=2), "k", 2)
    """
    value = getattr(owner, name)
    right = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if right and low <= value and (high is None or value <= high):
        return
    kind = "an int" if whole else "a number"
    limit = f"≥ {low}" if high is None else f"from {low} to {high}"
    raise ParameterError(
        f"The {name!r} parameter of {type(owner).__name__} must be {kind} {limit}. Got {value!r} instead."
    )


def check_choice(owner: object, name: str, choices: Sequence[str]) -> None:
    """Refuse a parameter that is none of these words.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from modicum.errors import check_choice
    >>> check_choice(SimpleNamespace(output="values"), "output", ("values", "ranges"))
    """
    value = getattr(owner, name)
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join([", ".join(map(repr, choices[:-1])), repr(choices[-1])])
        raise ParameterError(
            f"The {name!r} parameter of {type(owner).__name__} must be {listed}. Got {value!r} instead."
        )
