"""What the chosen candidate of a study asks, attribute by attribute."""

from typing import Any, Literal

from modicum.reporting import charts
from modicum.reporting.disclosure import at_least
from modicum.reporting.document import Block, Cell, Column, Picture, Section, Table, Text
from modicum.reporting.formats import count_of, interval, percent

MOST_PIECES = 40  # buckets of an attribute that are written out
TONES: dict[str, Literal["good", "middle", "bad"]] = {"not collected": "good", "coarsened": "middle", "kept": "bad"}


def asked(chosen: dict[str, Any]) -> Section:
    """Which attributes it asks for, in which buckets, and what that tells of people."""
    columns = [Column("attribute", False), Column("decision", False), Column("what is collected", False)]
    columns += [Column("adversary’s error"), Column("naive guess"), Column("certified at least")]
    told = (
        "A bucket is a range or a group of values: only the bucket is asked for, not the value in it. The picture "
        "shows how many buckets each attribute has, and of how many different values."
    )
    blocks: list[Block] = [
        Text(told, "soft"),
        Picture(charts.buckets_chart(chosen["attributes"])),
        Table(columns, [_row(each) for each in chosen["attributes"]]),
    ]
    return Section("What the chosen one asks", blocks)


def _row(each: dict[str, Any]) -> list[Cell | str]:
    return [
        Cell(each["name"], ["personal"] if each["personal"] else []),
        Cell(each["decision"], tag=TONES.get(each["decision"], "")),
        _collected(each),
        Cell(percent(each["adversary_error"]), _lines(interval(each["adversary_interval"]))),
        percent(each["naive_error"]),
        at_least(each["certified_error"]),
    ]


def _collected(each: dict[str, Any]) -> Cell:
    of = f"of {count_of(each['values'], 'different value')}"
    if each["decision"] == "not collected":
        return Cell("", [f"nothing {of}"])
    if not each["buckets"]:
        return Cell("plain number, full detail", [of])
    shown = each["buckets"][:MOST_PIECES]
    more = " (the first of them here)" if len(shown) < len(each["buckets"]) else ""
    return Cell("", [f"{count_of(each['n_buckets'], 'bucket')} {of}{more}"], pieces=[(piece, "") for piece in shown])


def _lines(text: str) -> list[str]:
    return [text] if text else []
