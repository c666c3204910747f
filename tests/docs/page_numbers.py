"""Compare two texts: every word must be the same, and measurements must be close.

Processors round sums differently. A few of thousands of guesses then change, or another of several adversaries becomes
the strongest (an old processor changed a share by 0.01), so a share printed with three digits differs between machines.
Whole numbers, such as counts, edges and rounded percentages, must be the same.
"""

import re

FRACTION = re.compile(r"[+−-]?\d+\.\d+")
CHANGE = re.compile(r"[+−-]\d+\.\d")  # a sign and one digit: in percentage points
CLOSE = 0.02  # of a share; in percent and percentage points 100 times as much


def same(one: str, other: str) -> bool:
    """Return whether two texts differ only in measurements that are close."""
    if one == other:
        return True
    if FRACTION.split(one) != FRACTION.split(other):
        return False
    pairs = zip(FRACTION.finditer(one), FRACTION.finditer(other), strict=True)
    return all(abs(_value(a) - _value(b)) <= _close(a) for a, b in pairs)


def _value(number: re.Match[str]) -> float:
    return float(number[0].replace("−", "-"))


def _close(number: re.Match[str]) -> float:
    in_percent = number.string.startswith("%", number.end()) or CHANGE.fullmatch(number[0])
    return CLOSE * (100 if in_percent else 1) + 1e-9
