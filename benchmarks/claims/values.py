"""Evaluate the references of claims: values of the benchmarks, by path, and simple arithmetic with them.

A reference is FILE:path, where FILE is a file of benchmarks/results and the path goes through its figures, separated by
dots: keys, list indices, `*` for all, `(a,b)` for several keys, and `{key=value;...}` for the entries of a list (or of
a dict's values) that have these values, or one of several: `{level=2/3}`. A key with characters other than letters,
digits and `_` needs quotes.

    scale:duckdb.steps.fit.seconds
    reproduce_apt:table_2."0.98".ncp
    mean(beyond_pat:datasets.*.raw_error)
    max(reproduce_anatomy:adult.variants.{kind=pruned;model=SVC}.mean - 0.15)
"""

import ast
import json
import operator
import re
import statistics
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
_SEGMENT = r'(?:"[^"]*"|\{[^}]*\}|\([^)]*\)|\w+|\*)'
_REFERENCE = re.compile(rf"\b([a-z][a-z0-9_]*):({_SEGMENT}(?:\.{_SEGMENT})*)")
_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": lambda *values: min(_flat(values)),
    "max": lambda *values: max(_flat(values)),
    "mean": lambda *values: statistics.fmean(_flat(values)),
    "median": lambda *values: statistics.median(_flat(values)),
    "total": lambda *values: sum(_flat(values)),
    "count": lambda *values: sum(bool(value) for value in _flat(values)),
    "size": len,
    "all": lambda *values: all(_flat(values)),
    "abs": lambda value: [abs(one) for one in value] if isinstance(value, list) else abs(value),
}


class ClaimError(ValueError):
    """A source that cannot be read: no such file or path, or an expression that is not allowed."""


def write_value(claim: str) -> str:
    """Return the text for a claim's expression and format.

    Examples
    --------
    >>> write_value("beyond_pat:goals.compared / 46|.0%")
    '50%'
    >>> write_value("beyond_pat:goals.compared - 16|Word")
    'Seven'
    """
    expression, separator, form = claim.rpartition("|")
    expression, form = (expression, form.strip()) if separator else (form, "")
    value = evaluate_claim(expression)
    if isinstance(value, list | dict):
        raise ClaimError(f"{expression.strip()!r} is no single value")
    if form.lower() == "word":
        return _word(value).capitalize() if form == "Word" else _word(value)
    try:
        return format(value, form)
    except ValueError:
        raise ClaimError(f"{form!r} is no format for {value!r}") from None


def _word(value: Any) -> str:
    if value != int(value) or not 0 <= value < len(_WORDS):
        raise ClaimError(f"no word for {value!r}")
    return _WORDS[int(value)]


def evaluate_claim(expression: str) -> Any:
    """Return an expression's value; it must use a file of results, because constants alone could claim anything."""
    tree, values = _read(expression)
    if not any(isinstance(node, ast.Name) and node.id in values for node in ast.walk(tree)):
        raise ClaimError(f"{expression.strip()!r} names no file of results")
    return _value(tree, values)


def evaluate(expression: str) -> Any:
    """Evaluate an expression over references; only arithmetic, comparisons and the named functions are allowed.

    Examples
    --------
    >>> evaluate("1 - max(0.25, 0.5)")
    0.5
    """
    return _value(*_read(expression))


def _read(expression: str) -> tuple[ast.expr, dict[str, Any]]:
    """Return the expression's tree, and the value of each reference by its name in the tree."""
    values: list[Any] = []

    def placed(match: re.Match[str]) -> str:
        values.append(value_of(match[1], match[2]))
        return f"_{len(values) - 1}"

    text = " ".join(_REFERENCE.sub(placed, expression).split())
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        raise ClaimError(f"{expression.strip()!r} cannot be read") from None
    return tree.body, {f"_{place}": value for place, value in enumerate(values)}


def _value(node: ast.expr, values: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str()):
            return node.value
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.UnaryOp(op=ast.USub()):
            return _each(operator.sub, 0, _value(node.operand, values))
        case ast.BinOp() if type(node.op) in OPERATORS:
            return _each(OPERATORS[type(node.op)], _value(node.left, values), _value(node.right, values))
        case ast.Compare(ops=[op], comparators=[right]) if type(op) in OPERATORS:
            return _each(OPERATORS[type(op)], _value(node.left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            return _called(name, [_value(argument, values) for argument in node.args])
    raise ClaimError(f"{ast.unparse(node)!r} is not allowed in a claim")


def _called(name: str, arguments: list[Any]) -> Any:
    try:
        return FUNCTIONS[name](*arguments)
    except (TypeError, ValueError) as error:
        raise ClaimError(f"{name}: {error}") from None


def _each(of: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Apply an operator to two values, or entry by entry if one or both are lists."""
    lists = [side for side in (left, right) if isinstance(side, list)]
    try:
        if not lists:
            return of(left, right)
        sides = [side if isinstance(side, list) else [side] * len(lists[0]) for side in (left, right)]
        return [of(*pair) for pair in zip(*sides, strict=True)]
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise ClaimError(str(error)) from None


def _flat(values: Any) -> list[Any]:
    """Flatten lists and dicts into one list, for functions of many values."""
    if isinstance(values, dict):
        values = list(values.values())
    if not isinstance(values, list | tuple):
        return [values]
    return [one for value in values for one in _flat(value)]


@cache
def figures_of(stem: str) -> Any:
    """Return the figures of a file of results."""
    path = RESULTS / f"{stem}.json"
    if not path.exists():
        raise ClaimError(f"there is no benchmarks/results/{stem}.json")
    return json.loads(path.read_text(encoding="utf-8"))["figures"]


def value_of(stem: str, path: str) -> Any:
    """Return the value, or the list of values, at a path of a file."""
    found, many = [figures_of(stem)], False
    for segment in re.findall(_SEGMENT, path):
        many = many or segment[0] in "*{("
        found = [inner for value in found for inner in _step(value, segment, f"{stem}:{path}")]
    if not found:
        raise ClaimError(f"nothing is at {stem}:{path}")
    return found if many and len(found) > 1 else found[0]


def _step(value: Any, segment: str, path: str) -> list[Any]:
    entries = list(value.values()) if isinstance(value, dict) else value
    if segment == "*" and isinstance(entries, list):
        return entries
    if segment[0] == "{" and isinstance(entries, list):
        wanted = dict(pair.split("=", 1) for pair in segment[1:-1].split(";"))
        return [one for one in entries if all(str(one.get(k)) in texts.split("/") for k, texts in wanted.items())]
    if segment[0] == "(":
        return [inner for key in segment[1:-1].split(",") for inner in _step(value, key.strip(), path)]
    try:
        return [value[int(segment)] if isinstance(value, list) else value[segment.strip('"')]]
    except (KeyError, IndexError, ValueError, TypeError):
        raise ClaimError(f"nothing is at {path} (no {segment})") from None
