"""One attribute's buckets as a SQL expression, compared as `modicum.generalization.bins` says.

The column is taken to have the type that the schema's `storage` names. A value that the artifact refuses is NULL.
"""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from modicum.errors import ParameterError
from modicum.export.sql.dialects import Dialect, Node
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals, Scalar
from modicum.generalization.lazy import as_integers, as_numbers, as_spellings
from modicum.generalization.representatives import representatives
from modicum.table.schema import Attribute
from modicum.table.values import canonical, iso, seconds

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_MANY = 16

Spell = Callable[[str], list[Node]]


def column(partition: AnyPartition, dialect: Dialect, output: str) -> Node:
    """The attribute's labels, codes or representative values, without a name; a number in full detail as it is."""
    if isinstance(partition, FullDetail):
        return _full_detail(partition, dialect, output)
    return build_bucket_expression(partition, dialect, results(partition, dialect, output))


def results(partition: Dropped | Intervals | Groups, dialect: Dialect, output: str) -> list[Node]:
    """What each code of an attribute is written as."""
    if output == "codes":
        return [number(code) for code in range(len(partition.labels))]
    if output == "values":
        return values(partition.attribute, partition.representatives, dialect)
    return [dialect.literal(label, partition.name) for label in partition.labels]


def values(attribute: Attribute, given: Sequence[Scalar], dialect: Dialect) -> list[Node]:
    """Representatives as literals of the type that the attribute's storage names."""
    return [_value(value, attribute.name, dialect) for value in representatives(attribute, given, None)[0]]


def build_bucket_expression(partition: Dropped | Intervals | Groups, dialect: Dialect, found: Sequence[Node]) -> Node:
    """The one of `found` that stands for the record's bucket."""
    if isinstance(partition, Dropped):
        return found[0].copy()
    if isinstance(partition, Intervals):
        return _interval_column(partition, dialect, found)
    return _group_column(partition, dialect, found)


def refuses(partition: AnyPartition) -> bool:
    """Whether the artifact refuses some values of an attribute, which are NULL then."""
    return -1 in (getattr(partition, "missing_code", 0), getattr(partition, "unseen_code", 0))


def number(value: float) -> Node:
    """A number as a literal that every dialect reads as the same float64: whole, or with an exponent."""
    if math.isinf(value):
        raise ParameterError("An infinite number has no literal.")
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < 2**53)
    text = str(abs(int(value))) if whole else repr(abs(value))
    found = exp.Literal.number(text if whole or "e" in text else f"{text}e0")
    return exp.Neg(this=found) if value < 0 else found


def moment(value: dt.datetime, dialect: Dialect) -> Node:
    """A date with time as a literal."""
    return dialect.cast(exp.Literal.string(value.isoformat(" ")), dialect.moment)


def _value(value: Any, name: str, dialect: Dialect) -> Node:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return dialect.literal(value, name)
    return moment(value, dialect) if isinstance(value, dt.datetime) else number(value)


def _full_detail(partition: FullDetail, dialect: Dialect, output: str) -> Node:
    if output == "codes":
        raise ParameterError(
            f"The attribute {partition.name!r} is kept as a plain number, so SQL has no bucket codes for it; ask for "
            "labels or values."
        )
    own = dialect.column(partition.name)
    if partition.missing == "separate" or partition.attribute.kind == "date":
        return own
    absent = dialect.is_nan(dialect, dialect.cast(own.copy(), dialect.double))
    return exp.Case(ifs=[exp.If(this=absent, true=exp.Null())], default=own)


def _interval_column(partition: Intervals, dialect: Dialect, found: Sequence[Node]) -> Node:
    own = dialect.column(partition.name)
    absent: Node = exp.Is(this=own.copy(), expression=exp.Null())
    if partition.attribute.kind == "date":
        compared = dialect.cast(own, dialect.moment)
        edges = [moment(_last_moment(edge), dialect) for edge in partition.edges.tolist()]
    else:
        compared = _as_double(own, partition.attribute, dialect)
        absent = exp.Or(this=absent, expression=dialect.is_nan(dialect, compared.copy()))
        edges = [number(edge) for edge in partition.edges.tolist()]
    branches = [(absent, _at(found, partition.missing_code))]
    branches += [(exp.LTE(this=compared.copy(), expression=edge), found[i]) for i, edge in enumerate(edges)]
    return _case(branches, found[len(edges)])


def _as_double(own: Node, attribute: Attribute, dialect: Dialect) -> Node:
    whole = dialect.cast(own, "INT") if attribute.storage == "boolean" else own
    return dialect.cast(whole, dialect.double)


def _last_moment(edge: float) -> dt.datetime:
    """The last microsecond that is not past an edge, which is compared in float64: far from 1970 several are equal."""
    micros = round(edge * 1e6)
    while micros / 1e6 > edge:
        micros -= 1
    while (micros + 1) / 1e6 <= edge:
        micros += 1
    return _EPOCH + micros * _MICROSECOND


def _group_column(partition: Groups, dialect: Dialect, found: Sequence[Node]) -> Node:
    compared, absent, spell = _comparable(partition.attribute, dialect)
    branches = [(absent, _at(found, partition.missing_code)), *_nul_branches(partition, dialect, found)]
    spelled = [[s for value in bucket.values for s in spell(value)] for bucket in partition.buckets]
    same = {i for i, words in enumerate(spelled) if len(words) == 1 and words[0] == found[i] and found[i].is_string}
    if len(same) > _MANY:  # a kept value is its own label: one look-up instead of a branch for each
        branches.append((is_in(compared, [spelled[i][0] for i in sorted(same)]), compared))
    others = [i for i, words in enumerate(spelled) if words and not (i in same and len(same) > _MANY)]
    branches += [(is_in(compared, spelled[i]), found[i]) for i in others]
    return _case(branches, _at(found, partition.unseen_code))


def _nul_branches(partition: Groups, dialect: Dialect, found: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Texts with a NUL character, told apart before a function would cut them there; both normal forms are known."""
    if not dialect.cuts_at_nul or partition.attribute.storage != "text":
        return []
    text = dialect.cast(dialect.column(partition.name), dialect.text)
    branches = []
    for bucket, result in zip(partition.buckets, found, strict=False):
        own = [s for value in bucket.values if "\0" in value for s in as_spellings(value)]
        if own:
            branches.append((is_in(text, [dialect.literal(each, partition.name) for each in own]), result))
    nul = exp.Chr(expressions=[exp.Literal.number(0)])
    return [*branches, (exp.Contains(this=text, expression=nul), _at(found, partition.unseen_code))]


def _comparable(attribute: Attribute, dialect: Dialect) -> tuple[Node, Node, Spell]:
    """The column to compare, when it is missing, and how a canonical text is written in the column's type."""
    own = dialect.column(attribute.name)
    absent: Node = exp.Is(this=own.copy(), expression=exp.Null())
    if attribute.storage in ("integer", "float"):
        double = dialect.cast(own.copy(), dialect.double)
        absent = exp.Or(this=absent, expression=dialect.is_nan(dialect, double))
        if attribute.storage == "integer":  # compared as it is: a float64 is not exact beyond 2**53
            return own, absent, lambda value: [number(each) for each in as_integers(value)]
        return double.copy(), absent, lambda value: _floats(value, dialect)
    if attribute.storage in ("date", "datetime"):
        return dialect.cast(own, dialect.moment), absent, lambda value: _moments(value, dialect)
    text = dialect.cast(own, dialect.text)
    if attribute.storage == "boolean":
        return text, absent, lambda value: [dialect.literal(value, attribute.name)]
    if dialect.normal is not None:
        return dialect.normal(text), absent, lambda value: [dialect.literal(value, attribute.name)]
    return text, absent, lambda value: [dialect.literal(each, attribute.name) for each in as_spellings(value)]


def _floats(value: str, dialect: Dialect) -> list[Node]:
    if value in ("inf", "-inf"):
        return [dialect.cast(exp.Literal.string(value), dialect.double)]
    return [number(each) for each in as_numbers(value)]


def _moments(value: str, dialect: Dialect) -> list[Node]:
    """The date whose canonical text this is, if there is one."""
    try:
        when = seconds(value)
        return [moment(_EPOCH + dt.timedelta(seconds=when), dialect)] if canonical(iso(when)) == value else []
    except (ValueError, OverflowError):
        return []


def is_in(compared: Node, choices: Sequence[Node]) -> Node:
    """Whether a column holds one of these values."""
    if len(choices) == 1:
        return exp.EQ(this=compared.copy(), expression=choices[0].copy())
    return exp.In(this=compared.copy(), expressions=[choice.copy() for choice in choices])


def _at(found: Sequence[Node], code: int) -> Node:
    return exp.Null() if code < 0 else found[code]


def _case(branches: Sequence[tuple[Node, Node]], default: Node) -> Node:
    ifs = [exp.If(this=condition, true=result.copy()) for condition, result in branches]
    return exp.Case(ifs=ifs, default=default.copy())
