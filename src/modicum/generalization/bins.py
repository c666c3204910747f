"""The partition of an attribute into buckets, which means the same in every language it is exported to.

**Numbers and dates.** Bucket i holds `edge[i-1] < x <= edge[i]`, compared in float64 (a date as seconds since 1970).
The first and the last bucket are open-ended and include ±inf. NaN and null are *missing*. **Categories** are compared
as canonical text (`modicum.table.values`): integral numbers without a point, booleans as `true` and `false`, Unicode in
normal form C, nothing trimmed. Each category belongs to exactly one bucket; a category that no bucket names is
*unseen*. **Unseen and missing** values go to a bucket that takes them, or to buckets of their own, called `(other)` and
`(missing)`, or are refused; the artifact says which. So every record has exactly one bucket per attribute, or an error
names the column. An attribute is *dropped* (one bucket, not collected), *coarsened*, or *kept*: a kept category has one
bucket per value, a kept number passes through unchanged.

Codes number the buckets from 0 in their order, then `(other)`, then `(missing)`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from modicum.errors import ArtifactError, DataError, ParameterError
from modicum.table.codes import CategoryCoding, NumberCoding
from modicum.table.frames import numbers, place_numbers, texts
from modicum.table.schema import Attribute
from modicum.table.targets import Target
from modicum.table.values import canonical, iso, seconds
from modicum.typing import Codes, Floats, Mask

# Readable names for buckets: `20–63`, `no degree | high school`.

_LONGEST = 60
_DAY = 86_400


def number_text(value: float) -> str:
    """Write a float as a person would.

    Examples
    --------
    >>> from modicum.generalization.bins import number_text
    >>> number_text(20.0), number_text(0.25)
    ('20', '0.25')
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))


def interval_label(low: float | None, high: float | None, attribute: Attribute) -> str:
    """Name the bucket low < x <= high; whole numbers and whole days by their first and last member.

    If the attribute is stored as integers, the first number above an edge at 20 is 21.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.bins import interval_label
    >>> interval_label(19.5, 63.5, Attribute(name="age", kind="number", storage="integer"))
    '20–63'
    >>> interval_label(1.5, None, Attribute(name="dose", kind="number", storage="float"))
    '> 1.5'
    """
    if low is None and high is None:
        return "any value"
    if attribute.storage in ("integer", "date"):
        named = _whole_label(low, high, attribute)
        if named is not None:
            return named
    text = iso if attribute.kind == "date" else number_text
    if low is None or high is None:
        return f"≤ {text(high)}" if high is not None else f"> {text(low or 0.0)}"
    return _range(text(low), text(high))


def _whole_label(low: float | None, high: float | None, attribute: Attribute) -> str | None:
    """Name a bucket by its first and last whole number or day; None if it contains none."""
    unit = _DAY if attribute.storage == "date" else 1
    first = None if low is None else (math.floor(low / unit) + 1) * unit
    last = None if high is None else math.floor(high / unit) * unit
    text = iso if attribute.kind == "date" else number_text
    if first is None or last is None:
        return f"≥ {text(first)}" if first is not None else f"≤ {text(last or 0)}"
    if first > last:
        return None
    return text(first) if first == last else _range(text(first), text(last))


def _range(low: str, high: str) -> str:
    """Join two ends with a dash, or with `to` if a dash could be read as a minus or as part of a date."""
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"


def group_label(values: Sequence[str], attribute: Attribute) -> str:
    """Name a group of categories: by the ancestor with exactly these members, as a range, or by its members.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.bins import group_label
    >>> group_label(["nurse", "doctor"], Attribute(name="job", kind="category"))
    'nurse | doctor'
    >>> group_label(["1", "2", "3"], Attribute(name="school", kind="ordered", domain=["1", "2", "3", "4"]))
    '1–3'
    """
    ancestor = _ancestor(set(values), attribute) if len(values) > 1 else None
    if ancestor is not None:
        return ancestor
    if attribute.kind == "ordered" and len(values) > 2 and _neighbours(values, attribute):
        low, high = values[0], values[-1]
        return _range(low, high) if low.isdigit() and high.isdigit() else f"{low} to {high}"
    label = " | ".join(values)
    if len(label) <= _LONGEST or len(values) < 3:
        return label
    shown = [values[0]]
    while len(" | ".join([*shown, values[len(shown)]])) <= _LONGEST - 12:
        shown.append(values[len(shown)])
    return f"{' | '.join(shown)} | … {len(values) - len(shown)} more"


def _neighbours(values: Sequence[str], attribute: Attribute) -> bool:
    """Whether the values are consecutive in the attribute's order."""
    order = attribute.domain or ()
    start = order.index(values[0]) if values[0] in order else len(order)
    return tuple(values) == tuple(order[start : start + len(values)])


def _ancestor(values: set[str], attribute: Attribute) -> str | None:
    if not attribute.hierarchy:
        return None
    below: dict[str, set[str]] = {}
    for value, path in attribute.hierarchy.items():
        for ancestor in path:
            below.setdefault(ancestor, set()).add(value)
    return next((ancestor for ancestor, members in below.items() if members == values), None)


def unique(labels: Sequence[str]) -> tuple[str, ...]:
    """Make labels unique by adding a number to repeated ones.

    Examples
    --------
    >>> from modicum.generalization.bins import unique
    >>> unique(["a", "b", "a"])
    ('a', 'b', 'a (2)')
    """
    result: dict[str, None] = {}
    for label in labels:
        name, count = label, 1
        while name in result:
            count += 1
            name = f"{label} ({count})"
        result[name] = None
    return tuple(result)


# Buckets and partitions

Scalar = int | float | str | None
Policy = Literal["separate", "refuse"]
Action = Literal["dropped", "coarsened", "kept"]

OTHER, MISSING = "(other)", "(missing)"


class Bucket(BaseModel):
    """The fields of every bucket: an optional name, a representative, and whether it takes unseen or missing values."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    label: Annotated[str, Field(min_length=1)] | None = None
    value: Scalar = None
    takes: tuple[Literal["unseen", "missing"], ...] = ()


class Interval(Bucket):
    """A range of numbers or dates, given by its upper end (None for the last range); dates as ISO text."""

    up_to: float | str | None = None
    takes: tuple[Literal["missing"], ...] = ()


class Group(Bucket):
    """A set of categories."""

    values: Annotated[tuple[str, ...], Field(min_length=1)]

    @field_validator("values", mode="before")
    @classmethod
    def _canonical(cls, values: Any) -> Any:
        if not isinstance(values, list | tuple) or not all(isinstance(v, str | int | float) for v in values):
            raise ValueError("it must be a list of texts or numbers")
        return tuple(canonical(v) for v in values)


class Partition(BaseModel):
    """The common part of `Dropped`, `FullDetail`, `Intervals` and `Groups`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    attribute: Attribute = Field(exclude=True)
    value: Scalar = None

    @model_validator(mode="after")
    def _usual_value(self) -> "Partition":
        if self.value is not None and not self.attribute.is_category:
            self.as_number(self.value)
        return self

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self.attribute.name

    @property
    def action(self) -> Action:
        """What happens to the attribute: it is dropped, coarsened or kept."""
        raise ArtifactError("A partition is one of Dropped, FullDetail, Intervals or Groups.")

    @property
    def n_buckets(self) -> int:
        """The number of buckets without `(other)` and `(missing)`; 1 if the attribute is dropped."""
        return 1

    @property
    def labels(self) -> tuple[str, ...]:
        """A readable name for each code."""
        return ()

    @property
    def representatives(self) -> tuple[Scalar, ...]:
        """One value of the original domain for each code; None for `(missing)`."""
        return (self.value,)

    def encode(self, series: nw.Series[Any]) -> Codes:
        """Return the bucket code of each record."""
        return np.zeros(len(series), dtype=np.int64)

    def as_number(self, value: Scalar) -> float:
        """Convert a representative or an edge, a number or an ISO date, to float64."""
        if self.attribute.kind == "date":
            if not isinstance(value, str):
                raise ValueError("a date is written as text, like 2020-12-31")
            return seconds(iso(seconds(value)))
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError("a finite number is expected")
        return float(value)

    def _refuse(self, refused: npt.NDArray[np.bool_], what: str) -> None:
        if refused.any():
            count = int(refused.sum())
            raise DataError(f"The column {self.name!r} has {count:,} {what} values, which this artifact refuses.")


class Dropped(Partition):
    """An attribute that is not collected: one bucket for all values.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.bins import Dropped
    >>> gone = Dropped(attribute=Attribute(name="sex", kind="category"), value="f")
    >>> gone.action, gone.labels
    ('dropped', ('(not collected)',))
    """

    collected: Literal[False] = False

    @property
    def action(self) -> Action:
        """What happens to the attribute: it is dropped."""
        return "dropped"

    @property
    def labels(self) -> tuple[str, ...]:
        """A readable name for the single code."""
        return ("(not collected)",)


class FullDetail(Partition):
    """A number or date collected exactly; its code is the number, mapped to an integer that keeps the order."""

    full_detail: Literal[True] = True
    missing: Policy = "separate"

    @model_validator(mode="after")
    def _consistent(self) -> "FullDetail":
        if self.attribute.is_category:
            raise ValueError("a category is kept in full detail by one bucket per value")
        return self

    @property
    def action(self) -> Action:
        return "kept"

    @property
    def missing_code(self) -> int:
        return -1 if self.missing == "refuse" else int(np.iinfo(np.int64).max)

    def encode(self, series: nw.Series[Any]) -> Codes:
        values = numbers(series, self.attribute) + 0.0  # -0.0 becomes 0.0
        if self.missing == "refuse":
            self._refuse(np.isnan(values), "missing")
        bits = np.where(np.isnan(values), np.inf, values).view(np.int64)
        keys = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
        return np.where(np.isnan(values), self.missing_code, keys)

    def decode(self, codes: Codes) -> Floats:
        """Convert codes back to numbers; NaN for missing."""
        bits = np.where(codes < 0, np.iinfo(np.int64).min - codes, codes)
        absent = (codes == self.missing_code) & (self.missing == "separate")  # else -1 is the code of a number
        return np.where(absent, np.nan, bits.view(np.float64))


class Intervals(Partition):
    """A number or date in ranges."""

    buckets: Annotated[tuple[Interval, ...], Field(min_length=1)]
    missing: Policy = "separate"

    @model_validator(mode="after")
    def _consistent(self) -> "Intervals":
        if self.attribute.is_category:
            raise ValueError("ranges belong to a number or date, not to a category")
        if any(bucket.up_to is None for bucket in self.buckets[:-1]) or self.buckets[-1].up_to is not None:
            raise ValueError("every bucket except the last needs 'up_to', and the last must not have it")
        edges = self.edges
        if np.any(np.diff(edges) <= 0):
            raise ValueError("the values of 'up_to' must rise from one bucket to the next")
        _check_takes(self.buckets, "missing", self.missing)
        _check_labels(self.buckets)
        for i, bucket in enumerate(self.buckets):
            if bucket.value is not None and np.searchsorted(edges, self.as_number(bucket.value)) != i:
                raise ValueError(f"the representative value of bucket {i + 1} lies outside its range")
        return self

    @property
    def edges(self) -> Floats:
        """The upper ends of all buckets except the last."""
        return np.array([self.as_number(bucket.up_to) for bucket in self.buckets[:-1]], dtype=np.float64)

    @property
    def action(self) -> Action:
        return "coarsened"

    @property
    def n_buckets(self) -> int:
        return len(self.buckets)

    @property
    def missing_code(self) -> int:
        return _special_code(self.buckets, "missing", self.missing, len(self.buckets))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        ends = [None, *self.edges, None]
        names = [b.label or interval_label(ends[i], ends[i + 1], self.attribute) for i, b in enumerate(self.buckets)]
        return _with_special(names, [MISSING] * (self.missing_code == len(names)))

    @property
    def representatives(self) -> tuple[Scalar, ...]:
        ends = [-np.inf, *self.edges, np.inf]
        own = [
            b.value if b.value is not None else self._inside(ends[i], ends[i + 1]) for i, b in enumerate(self.buckets)
        ]
        return tuple(own + [None] * (len(self.labels) - len(own)))

    def _inside(self, low: float, high: float) -> Scalar:
        """Choose a value for a bucket without one: the usual value, or the nearest value in the bucket."""
        usual = 0.0 if self.value is None else self.as_number(self.value)
        nearest = usual if low < usual <= high else high if usual > high else shortest_above(low, high)
        return iso(nearest) if self.attribute.kind == "date" else nearest

    def encode(self, series: nw.Series[Any]) -> Codes:
        return self.encode_numbers(numbers(series, self.attribute))

    def encode_numbers(self, values: Floats) -> Codes:
        codes = place_numbers(values, self.edges, self.missing_code)
        if self.missing_code < 0:
            self._refuse(codes < 0, "missing")
        return codes


class Groups(Partition):
    """A category in groups of values."""

    buckets: Annotated[tuple[Group, ...], Field(min_length=1)]
    unseen: Policy = "separate"
    missing: Policy = "separate"

    @model_validator(mode="after")
    def _consistent(self) -> "Groups":
        if not self.attribute.is_category:
            raise ValueError("groups of values belong to a category, not to a number or date")
        repeated = _first_repeated(value for bucket in self.buckets for value in bucket.values)
        if repeated is not None:
            raise ValueError(f"the category {repeated!r} is in more than one bucket")
        _check_takes(self.buckets, "unseen", self.unseen)
        _check_takes(self.buckets, "missing", self.missing)
        _check_labels(self.buckets)
        for i, bucket in enumerate(self.buckets):
            if bucket.value is not None and canonical(bucket.value) not in bucket.values:
                raise ValueError(f"the representative value of bucket {i + 1} is not one of its values")
        self._check_order()
        return self

    def _check_order(self) -> None:
        if self.attribute.kind != "ordered" or self.attribute.domain is None:
            return
        of_value = {value: i for i, bucket in enumerate(self.buckets) for value in bucket.values}
        visited = [of_value[str(value)] for value in self.attribute.domain if value in of_value]
        if any(later < earlier for earlier, later in pairwise(visited)):
            raise ValueError("the buckets of an ordered attribute must follow its order")

    @property
    def action(self) -> Action:
        return "kept" if all(len(bucket.values) == 1 for bucket in self.buckets) else "coarsened"

    @property
    def n_buckets(self) -> int:
        return len(self.buckets)

    @property
    def unseen_code(self) -> int:
        return _special_code(self.buckets, "unseen", self.unseen, len(self.buckets))

    @property
    def missing_code(self) -> int:
        own = len(self.buckets) + (self.unseen_code == len(self.buckets))
        return _special_code(self.buckets, "missing", self.missing, own)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        k = len(self.buckets)
        names = [bucket.label or group_label(bucket.values, self.attribute) for bucket in self.buckets]
        return _with_special(names, [OTHER] * (self.unseen_code == k) + [MISSING] * (self.missing_code >= k))

    @property
    def representatives(self) -> tuple[Scalar, ...]:
        own = [bucket.values[0] if bucket.value is None else bucket.value for bucket in self.buckets]
        special = [self.value] * (self.unseen_code == len(own)) + [None] * (self.missing_code >= len(own))
        return (*own, *special)

    @cached_property
    def code_of(self) -> dict[str, int]:
        """The bucket of each named category."""
        return {value: i for i, bucket in enumerate(self.buckets) for value in bucket.values}

    def encode(self, series: nw.Series[Any]) -> Codes:
        codes, words = texts(series)
        known, unseen, missing = self.code_of, self.unseen_code, self.missing_code
        result = np.array([known.get(word, unseen) for word in words] + [missing], dtype=np.int64)[codes]
        if min(unseen, missing) < 0:
            self._refuse((result < 0) & (codes < 0), "missing")
            self._refuse((result < 0) & (codes >= 0), "unseen")
        return result


def shortest_above(low: float, high: float) -> float:
    """Return a short number in low < x <= high, near low."""
    if low < np.floor(low) + 1 <= high:
        return float(np.floor(low) + 1)
    return high if np.isfinite(high) else float(np.nextafter(low, np.inf))


def _with_special(names: list[str], special: list[str]) -> tuple[str, ...]:
    """Make all labels unique; `(other)` and `(missing)` keep their names even if a category has one of them."""
    labels = unique([*special, *names])
    return (*labels[len(special) :], *labels[: len(special)])


def _check_labels(buckets: Sequence[Bucket]) -> None:
    repeated = _first_repeated(bucket.label for bucket in buckets if bucket.label is not None)
    if repeated is not None:
        raise ValueError(f"two buckets are called {repeated!r}")


def _first_repeated(texts: Iterable[str]) -> str | None:
    return next((text for text, count in Counter(texts).items() if count > 1), None)


def _check_takes(buckets: Sequence[Bucket], what: Literal["unseen", "missing"], policy: Policy) -> None:
    takers = sum(what in bucket.takes for bucket in buckets)
    if takers > 1:
        raise ValueError(f"more than one bucket takes {what} values")
    if takers and policy == "refuse":
        raise ValueError(f"{what} values are refused, but a bucket takes them")


def _special_code(buckets: Sequence[Bucket], what: Literal["unseen", "missing"], policy: Policy, own: int) -> int:
    """Return the code of unseen or missing values: of the bucket that takes them, else `own`, or -1 if refused."""
    taker = next((i for i, bucket in enumerate(buckets) if what in bucket.takes), None)
    return taker if taker is not None else own if policy == "separate" else -1


AnyPartition = Dropped | FullDetail | Intervals | Groups


# What a bucket leaves possible: the values that someone who sees it cannot rule out [Staab24 Appendix A].


def possible(partition: AnyPartition, target: Target, codes: Codes | None = None) -> Mask:
    """Return which of the target's values each bucket code may hold, by default for all buckets."""
    if isinstance(partition, FullDetail):
        return _exactly(partition, target, codes)
    if isinstance(partition, Dropped):
        mask = np.ones((1, target.size), dtype=bool)
    elif isinstance(partition, Intervals):
        mask = _overlapping(partition, target)
    else:
        mask = _mask_groups(partition, target)
    return mask if codes is None else mask[codes]


def _mask_groups(partition: Groups, target: Target) -> Mask:
    assert isinstance(target.coding, CategoryCoding)
    mask = np.zeros((len(partition.labels), target.size), dtype=bool)
    bucket_of = [partition.code_of.get(value, partition.unseen_code) for value in target.coding.values]
    buckets = np.array([*bucket_of, *[partition.missing_code] * target.has_missing], dtype=np.int64)
    accepted = np.flatnonzero(buckets >= 0)
    mask[buckets[accepted], accepted] = True
    return mask


def _overlapping(partition: Intervals, target: Target) -> Mask:
    assert isinstance(target.coding, NumberCoding)
    low, high = _ends(partition.edges)
    target_low, target_high = _ends(target.coding.edges)
    overlap = np.maximum(low[:, None], target_low) < np.minimum(high[:, None], target_high)
    mask = np.zeros((len(partition.labels), target.size), dtype=bool)
    mask[: len(low), : target.coding.n_values] = overlap
    if target.has_missing and partition.missing_code >= 0:
        mask[partition.missing_code, target.missing_code] = True
    return mask


def _exactly(partition: FullDetail, target: Target, codes: Codes | None) -> Mask:
    """One value is possible: a number in full detail is known exactly."""
    if codes is None:
        raise ParameterError(
            f"The attribute {partition.name!r} is kept in full detail and has no list of buckets; pass 'codes'."
        )
    value = target.encode_numbers(partition.decode(codes))
    mask = np.zeros((len(codes), target.size), dtype=bool)
    mask[np.flatnonzero(value >= 0), value[value >= 0]] = True
    return mask


def _ends(edges: Any) -> tuple[Any, Any]:
    return np.append(-np.inf, edges), np.append(edges, np.inf)
