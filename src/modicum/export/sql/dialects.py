"""The differences of five SQL dialects: types, text in normal form C, NaN, and allowed names.

Everything is a sqlglot expression, and sqlglot writes quotes, backslashes and newlines in names and categories as each
dialect requires. Names and texts that a dialect cannot represent are refused here, before they are cut or misread.
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
    """A dialect; the defaults fit most of them.

    Attributes
    ----------
    name, title : its name in sqlglot, and for people
    double, text, moment : its types for float64, text, and a date with time but without zone
    normal : converts text to Unicode normal form C; None if the dialect has no function for it
    asks_for_nan : whether it has a function that tests for NaN; else NaN equals itself
    fold : maps a name to its case-folded form; names of the same column have the same form
    longest, measured_in : the maximum length of a name, in 'bytes' or 'characters'
    cuts_at_nul : whether `normal` would cut a text at a NUL character
    no_name, no_text : forbidden characters in a name or a text (regular expressions), and their description
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
        """Return `CAST(node AS kind)`, as the cast class that sqlglot reads back in this dialect."""
        return _cast(self.name)(this=node, to=exp.DataType.build(kind, dialect=self.name))

    def is_nan(self, node: Node) -> Node:
        """Test whether a float64 is NaN."""
        if self.asks_for_nan:
            return exp.IsNan(this=node)
        return exp.EQ(this=node, expression=self.cast(exp.Literal.string("NaN"), self.double))

    def identifier(self, name: str, what: str) -> exp.Identifier:
        """Quote a name; the error for a forbidden name says `what` it names."""
        self._check_name(name, what)
        return exp.to_identifier(name, quoted=True)

    def column(self, name: str) -> Node:
        """Return a column by its quoted name."""
        return exp.column(self.identifier(name, "column"))

    def literal(self, text: str, attribute: str) -> Node:
        """Return a text as a quoted literal; the error for a forbidden text names its attribute."""
        found = "half a Unicode character" if _is_broken(text) else None
        if found is None and re.search(self.no_text[0], text):
            found = self.no_text[1]
        if found is not None:
            raise ParameterError(
                f"A bucket or category of {attribute!r} holds {found}, which {self.title} cannot represent."
            )
        return exp.Literal.string(text)

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse names that are the same column in this dialect."""
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(self.fold(name), name)
            if other != name:
                raise ParameterError(
                    f"{self.title} cannot distinguish the columns {format_names([other, name])}; rename one."
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
    """Convert only the letters A to Z to lower case."""
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
    """Return a dialect by its name.

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
