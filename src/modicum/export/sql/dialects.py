"""What five SQL dialects share and where they differ: types, text in normal form C, NaN, and which names they hold.

Everything is a sqlglot expression; sqlglot writes it down, so that quotes, backslashes and newlines in a name or a
category are its dialect's own business. What a dialect cannot hold is refused here, before it is cut or misread.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

from modicum.errors import ParameterError, format_names

Node = exp.Expression

_NOTHING = (r"(?!)", "")
_NUL = (r"\x00", "a NUL character")
_VARIABLE = (r"\x00|\$\{", "a NUL character or the start of a variable, ${")
_NO_BIGQUERY_NAME = (
    r"""[\x00-\x1f\x7f!"$()*,./;?@\[\\\]^`{}~]|^(?i:_table_|_file_|_partition|_row_timestamp|__root__|_colidentifier"""
    r"|_change_)",
    """a control character, one of !"$()*,./;?@[\\]^`{}~ or a beginning that is reserved""",
)


@dataclass(frozen=True)
class Dialect:
    """One dialect; the defaults are what most of them have.

    Attributes
    ----------
    name, title : what sqlglot calls it, and people
    double, text, moment : its types for float64, text, and a date with time but without zone
    normal : a text in Unicode normal form C; None where the dialect has no function for it
    asks_for_nan : whether it has a function that asks for NaN; else NaN equals itself
    fold : what two names have in common that are the same column to it
    longest, measured_in : how long a name may be, in 'bytes' or 'characters'
    cuts_at_nul : whether `normal` would cut a text at a NUL character
    no_name, no_text : characters that a name or a text must not hold (regular expressions), and how to say so
    """

    name: str
    title: str
    moment: str
    longest: int | None
    double: str = "DOUBLE"
    text: str = "TEXT"
    normal: Callable[[Node], Node] | None = None
    asks_for_nan: bool = True
    fold: Callable[[str], str] = str
    measured_in: str = "characters"
    cuts_at_nul: bool = False
    no_name: tuple[str, str] = _NUL
    no_text: tuple[str, str] = _NOTHING

    def cast(self, node: Node, kind: str) -> Node:
        """`CAST(node AS kind)`; what sqlglot reads back in this dialect decides which of its casts that is."""
        return _cast(self.name)(this=node, to=exp.DataType.build(kind, dialect=self.name))

    def is_nan(self, node: Node) -> Node:
        """Whether a float64 is NaN."""
        if self.asks_for_nan:
            return exp.IsNan(this=node)
        return exp.EQ(this=node, expression=self.cast(exp.Literal.string("NaN"), self.double))

    def identifier(self, name: str, what: str) -> exp.Identifier:
        """A quoted name; `what` it names is said where the dialect cannot hold it."""
        self._check_name(name, what)
        return exp.to_identifier(name, quoted=True)

    def column(self, name: str) -> Node:
        """A column by its quoted name."""
        return exp.column(self.identifier(name, "column"))

    def literal(self, text: str, attribute: str) -> Node:
        """A text as a quoted literal; the attribute it belongs to is named where the dialect cannot hold it."""
        found = "half a Unicode character" if _is_broken(text) else None
        if found is None and re.search(self.no_text[0], text):
            found = self.no_text[1]
        if found is not None:
            raise ParameterError(
                f"A bucket or category of {attribute!r} holds {found}, which {self.title} has no text for."
            )
        return exp.Literal.string(text)

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse names that this dialect would take for the same column."""
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(self.fold(name), name)
            if other != name:
                raise ParameterError(
                    f"{self.title} cannot tell the columns {format_names([other, name])} apart; rename one."
                )

    def _check_name(self, name: str, what: str) -> None:
        size = len(name.encode("utf-8", "replace")) if self.measured_in == "bytes" else len(name)
        reason = None
        if not name:
            reason = "it is empty"
        elif _is_broken(name):
            reason = "it holds half a Unicode character"
        elif re.search(self.no_name[0], name):
            reason = f"it holds {self.no_name[1]}"
        elif self.longest is not None and size > self.longest:
            reason = f"it has {size} {self.measured_in}, more than {self.longest}"
        if reason is not None:
            raise ParameterError(f"{self.title} cannot have a {what} called {name[:70]!r}: {reason}.")


@cache
def _cast(dialect: str) -> Any:
    return type(sqlglot.parse_one("CAST(1 AS INT)", dialect=dialect))


def _is_broken(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _plain_lower(name: str) -> str:
    """Only the letters A to Z in lower case."""
    return re.sub("[A-Z]", lambda letter: letter[0].lower(), name)


def _normalize(node: Node) -> Node:
    return exp.Normalize(this=node, form=exp.Var(this="NFC"))


def _nfc_normalize(node: Node) -> Node:
    return exp.Anonymous(this="NFC_NORMALIZE", expressions=[node])


_ALL = (
    Dialect(
        name="duckdb",
        title="DuckDB",
        moment="TIMESTAMP",
        longest=None,
        normal=_nfc_normalize,
        fold=_plain_lower,
        cuts_at_nul=True,
        no_name=_NOTHING,
    ),
    Dialect(
        name="postgres",
        title="PostgreSQL",
        moment="TIMESTAMP",
        longest=63,
        measured_in="bytes",
        double="DOUBLE PRECISION",
        normal=_normalize,
        asks_for_nan=False,
        no_text=_NUL,
    ),
    Dialect(
        name="spark",
        title="Spark",
        moment="TIMESTAMP_NTZ",
        longest=255,
        text="STRING",
        fold=str.lower,
        no_name=_VARIABLE,
        no_text=_VARIABLE,
    ),
    Dialect(
        name="bigquery",
        title="BigQuery",
        moment="DATETIME",
        longest=300,
        double="FLOAT64",
        text="STRING",
        normal=_normalize,
        fold=str.lower,
        no_name=_NO_BIGQUERY_NAME,
    ),
    Dialect(
        name="snowflake",
        title="Snowflake",
        moment="TIMESTAMPNTZ",
        longest=255,
        text="VARCHAR",
        asks_for_nan=False,
    ),
)
DIALECTS = {dialect.name: dialect for dialect in _ALL}


def dialect_of(name: Any) -> Dialect:
    """A dialect by name.

    Examples
    --------
    >>> from modicum.export.sql.dialects import dialect_of
    >>> dialect_of("postgres").title
    'PostgreSQL'
    """
    if not isinstance(name, str) or name not in DIALECTS:
        known = ", ".join(repr(each) for each in list(DIALECTS)[:-1])
        raise ParameterError(
            f"The 'dialect' parameter must be {known} or {list(DIALECTS)[-1]!r}. Got {name!r} instead."
        )
    return DIALECTS[name]
