"""Convert results and schemas to plain data."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, NotRequired, TypedDict

from modicum.table.values import plain

LEFT_OUT = {"left_out": True}  # metadata of a field that `to_dict` leaves out


class PlainSchema(TypedDict):
    """A schema as plain data; each attribute without its default values."""

    missing: NotRequired[list[str]]
    attributes: list[dict[str, object]]


class PlainResult:
    """Base of result dataclasses; `to_dict` leaves out fields marked `LEFT_OUT`.

    `_properties` names the properties to add after the fields.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> from modicum.table.plain_data import LEFT_OUT, PlainResult
    >>> @dataclass(frozen=True)
    ... class Guessed(PlainResult):
    ...     right: tuple[float, ...]
    ...     rows: list[int] = field(metadata=LEFT_OUT)
    ...     _properties = ("best",)
    ...
    ...     @property
    ...     def best(self) -> float:
    ...         return max(self.right)
    >>> Guessed((0.5, 0.75), [31, 45]).to_dict()
    {'right': [0.5, 0.75], 'best': 0.75}
    """

    _properties: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, without any record; NaN becomes None.

        For the team only: it contains small counts, which `md.report` leaves out.
        """
        return {name: _make_plain(part, f"{type(self).__name__}.{name}") for name, part in self._parts().items()}

    def _parts(self) -> dict[str, object]:
        """The fields and then the properties, by name."""
        return {name: getattr(self, name) for name in (*_shown(self), *self._properties)}


def _shown(value: Any) -> list[str]:
    return [each.name for each in fields(value) if not each.metadata.get("left_out")]


def _make_plain(value: object, field: str) -> object:
    """A field's value as plain data; raise a `TypeError` if its type may hold records."""
    is_own = isinstance(value, PlainResult) or type(value).__module__.startswith("modicum.")
    if is_own and hasattr(value, "to_dict"):  # frames also have `to_dict`
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): _make_plain(each, field) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(each, field) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _make_plain(getattr(value, name), f"{type(value).__name__}.{name}") for name in _shown(value)}
    converted = plain(value)
    if converted is None or isinstance(converted, str | int | float):
        return converted
    raise TypeError(f"{field} holds a {type(value).__name__}, which is not plain data: mark it LEFT_OUT.")
