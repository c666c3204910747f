"""Check numbers that are given, not measured: a setting or a threshold of the code, or a definition.

    given benchmarks/papers/beyond_pat.py    a setting: the number is in this file's code
    given                                    a definition, a law, plain arithmetic: only round numbers

A script cannot distinguish a definition from a finding. But a finding is seldom round, and "n of m" is never given.
"""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE]([-−]?\d+))?\s*(%)?")


def why_not(source: str, said: str) -> str | None:
    """Explain why a number cannot come from a `given` source; None if it can.

    Examples
    --------
    >>> why_not("", "0.05"), why_not("", "98%")
    (None, '98% is not round: name the file whose code sets it, or the results that have it')
    """
    if re.search(r"\d\s*(?:/|(?:out )?of)\s*\d", said) or not _NUMBER.search(said):
        return f"{said} cannot be a given number"
    source = source.strip()
    if not source:
        odd = [match[0] for match in _NUMBER.finditer(said) if not _is_round(match)]
        return (
            f"{odd[0].strip()} is not round: name the file whose code sets it, or the results that have it"
            if odd
            else None
        )
    path = ROOT / source
    if not source.startswith(("src/", "benchmarks/", "docs/")) or path.suffix != ".py" or not path.is_file():
        return f"there is no code file {source}"
    missing = [match[0] for match in _NUMBER.finditer(said) if not _values(match) & constants(path)]
    return f"{source} sets no {missing[0].strip()}" if missing else None


def _is_round(match: re.Match[str]) -> bool:
    """Check for one digit besides zeros, two digits with a five at the end, or a usual confidence."""
    digits = re.sub(r"[.,]", "", match[1]).strip("0")
    return len(digits) <= 1 or (len(digits) == 2 and digits[1] == "5") or match[0] == "99%"


def _values(match: re.Match[str]) -> set[float]:
    value = float(match[1].replace(",", "")) * 10 ** int((match[2] or "0").replace("−", "-"))
    return {round(value / 100, 12)} if match[3] else {round(value, 12)}


@cache
def constants(path: Path) -> set[float]:
    """Return the numbers in a file's code, without those in comments and docstrings."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {round(float(node.value), 12) for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float)}  # fmt: skip
