"""Locate the data files that are not embedded."""

import os
from collections.abc import Collection
from pathlib import Path

from modicum.errors import DataError, ParameterError

Folder = str | os.PathLike[str] | None

VARIABLE = "MODICUM_DATA"


def locate(relative: str, folder: Folder, source: str) -> Path:
    """Return the path of a data file below `folder`, or below the folder that MODICUM_DATA names.

    Examples
    --------
    >>> from data.files import locate
    >>> locate("gss/gss_happiness.csv.gz", "no/such/folder", "the GSS")
    Traceback (most recent call last):
    ...
    modicum.errors.DataError: The file 'gss/gss_happiness.csv.gz' is not in the folder 'no/such/folder'; give the folder
    that holds it as folder= or in the environment variable MODICUM_DATA (its data comes from the GSS).
    """
    base = folder if folder is not None else os.environ.get(VARIABLE) or None
    if base is not None and (path := Path(base) / relative).is_file():
        return path
    where = "needed, and no folder is given" if base is None else f"not in the folder {os.fspath(base)!r}"
    raise DataError(
        f"The file {relative!r} is {where}; give the folder that holds it as folder= or in the environment variable "
        f"{VARIABLE} (its data comes from {source})."
    )


def require_choice(value: object, choices: Collection[object], parameter: str, function: str) -> None:
    """Raise a `ParameterError` unless `value` is one of the choices.

    Examples
    --------
    >>> from data.files import require_choice
    >>> require_choice("ca", ["ny", "nj"], "state", "load_acs")
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The 'state' parameter of load_acs must be 'ny' or 'nj'. Got 'ca' instead.
    """
    if value not in choices:
        names = [repr(choice) for choice in choices]
        listed = " or ".join([", ".join(names[:-1]), names[-1]])
        raise ParameterError(f"The {parameter!r} parameter of {function} must be {listed}. Got {value!r} instead.")
