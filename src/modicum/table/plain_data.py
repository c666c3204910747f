"""Plain data: what every result gives by one rule, and what a schema is as such."""

from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, NotRequired, TypedDict

from modicum.table.values import plain

LEFT_OUT = {"left_out": True}  # the metadata of a field that is not plain data


class PlainSchema(TypedDict):
    """A schema as plain data; of each attribute what is not as usual."""

    missing: NotRequired[list[str]]
    attributes: list[dict[str, object]]


class PlainResult:
    """The base of a dataclass that gives what it holds as plain data, less the fields marked `LEFT_OUT`.

    A class names what comes last: properties, and fields out of their order.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> from modicum.table.plain_data import LEFT_OUT, PlainResult
    >>> @dataclass(frozen=True)
    ... class Guessed(PlainResult):
    ...     right: tuple[float, ...]
    ...     rows: list[int] = field(metadata=LEFT_OUT)
    ...     _last = ("best",)
    ...
    ...     @property
    ...     def best(self) -> float:
    ...         return max(self.right)
    >>> Guessed((0.5, 0.75), [31, 45]).to_dict()
    {'right': [0.5, 0.75], 'best': 0.75}
    """

    _last: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record; a number that does not exist is null.

        For the team: small counts are in it, which `md.report` leaves out.
        """
        return {name: _make_plain(part) for name, part in self._parts().items()}

    def _parts(self) -> dict[str, object]:
        """What it holds, by name and in order."""
        first = [name for name in _shown(self) if name not in self._last]
        return {name: getattr(self, name) for name in (*first, *self._last)}


def _shown(value: Any) -> list[str]:
    return [each.name for each in fields(value) if not each.metadata.get("left_out")]


def _make_plain(value: object) -> object:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, dict):
        return {str(key): _make_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _make_plain(getattr(value, name)) for name in _shown(value)}
    return plain(value)
