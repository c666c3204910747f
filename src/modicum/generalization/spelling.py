"""How a category's canonical text is written in a column of another type: whole numbers, floats, text in both forms.

A column of numbers is compared as numbers, not as text, so that engines need not agree on how they write one.
"""

import math
import unicodedata

from modicum.table.values import canonical


def as_integers(value: str) -> list[int]:
    """Only what is written as an integer is: not `01`, not `1e3`.

    Examples
    --------
    >>> from modicum.generalization.spelling import as_integers
    >>> as_integers("7"), as_integers("07")
    ([7], [])
    """
    whole = value.removeprefix("-")
    is_plain = whole.isascii() and whole.isdigit() and len(whole) < 20 and str(int(value)) == value
    return [int(value)] if is_plain and -(2**63) <= int(value) < 2**63 else []


def as_numbers(value: str) -> list[float]:
    """The finite number whose canonical text this is, if there is one.

    Examples
    --------
    >>> from modicum.generalization.spelling import as_numbers
    >>> as_numbers("0.5"), as_numbers("0.50"), as_numbers("half")
    ([0.5], [], [])
    """
    try:
        number = float(value)
    except ValueError:
        return []
    return [number] if math.isfinite(number) and canonical(number) == value else []


def as_spellings(value: str) -> list[str]:
    """For engines that cannot normalise text: both normal forms are recognised.

    Examples
    --------
    >>> from modicum.generalization.spelling import as_spellings
    >>> [len(spelling) for spelling in as_spellings("é")]
    [1, 2]
    """
    return list(dict.fromkeys([value, unicodedata.normalize("NFD", value)]))
