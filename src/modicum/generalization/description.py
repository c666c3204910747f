"""Describe what a generalization or cells collect: as a table to read and as plain data."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from modicum.generalization.bins import Action, AnyPartition, FullDetail
from modicum.table.codes import FEW, group_rows
from modicum.table.estimator_input import person_codes
from modicum.table.frames import as_frame, is_lazy
from modicum.typing import Codes

if TYPE_CHECKING:
    from modicum.generalization.cells import CellPartition
    from modicum.generalization.core import Generalization


Decision = Literal["not collected", "coarsened", "kept"]
_ACTIONS: dict[Action, Decision] = {"dropped": "not collected", "coarsened": "coarsened", "kept": "kept"}


@dataclass(frozen=True)
class BucketLine:
    """A bucket: its label, whether it takes unseen or missing values, its share of the records, and its persons."""

    label: str
    takes: tuple[str, ...] = ()
    share: float | None = None
    persons: int | None = None


@dataclass(frozen=True)
class AttributeLine:
    """An attribute: whether it is personal, whether it is collected, and its buckets."""

    name: str
    personal: bool
    action: Decision
    n_buckets: int
    buckets: tuple[BucketLine, ...]


@dataclass(frozen=True)
class Description:
    """What a generalization collects; `str()` gives a table, `to_dict()` plain data.

    `groups` is the number of combinations of buckets that occur, and `smallest_group` the number of persons with the
    rarest one; both need records. Without a person column each record counts as a person. A tree leaf of 100 records is
    not a group of 100.
    """

    attributes: tuple[AttributeLine, ...]
    n_buckets: int
    records: int | None = None
    persons: int | None = None
    groups: int | None = None
    smallest_group: int | None = None

    @property
    def unit(self) -> str:
        """What the numbers count: people, or records if a person has several."""
        return "people" if self.persons == self.records else "records"

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        width = max([len(line.name) for line in self.attributes], default=0)
        rows = [f"{line.name:<{width}}  {line.action:<13}  {buckets_text(line)}".rstrip() for line in self.attributes]
        return "\n".join([*rows, "", summary_text(self)])


def buckets_text(line: AttributeLine) -> str:
    """List an attribute's buckets on one line, each with its share of the records if known."""
    if line.action == "not collected":
        return ""
    if not line.buckets:
        return "plain number, full detail"
    if line.action == "kept" and line.n_buckets > 8:
        return f"{line.n_buckets} values, one bucket each"
    return " · ".join(_bucket_text(bucket) for bucket in line.buckets)


def _bucket_text(bucket: BucketLine) -> str:
    label = " or ".join([bucket.label, *bucket.takes])
    return label if bucket.share is None else f"{label} ({percent(bucket.share)})"


def percent(share: float) -> str:
    """Format a share of records as a percentage.

    Examples
    --------
    >>> from modicum.generalization.description import percent
    >>> percent(0.4321), percent(0.0), percent(0.0001)
    ('43%', '0%', '< 1%')
    """
    return "< 1%" if 0 < share < 0.01 else f"{share:.0%}"


def summary_text(description: Description) -> str:
    """Summarize how much is collected, and the size of the smallest group."""
    asked = [line for line in description.attributes if line.action != "not collected"]
    total = len(description.attributes)
    buckets = sum(line.n_buckets for line in asked)
    text = f"{total - len(asked)} of {total} attributes not collected; " + (
        f"{buckets} buckets for the others." if asked else "nothing is asked."
    )
    if description.records is None:
        return text
    smallest = description.smallest_group or 0
    unit = "records" if description.unit == "people" else "persons"
    shown = f"fewer than {FEW} {unit}" if smallest < FEW else f"{smallest:,} {unit}"
    return (
        f"{text} {description.records:,} records fall into {description.groups:,} different combinations; "
        f"the rarest holds {shown}."
    )


def describe(g: "Generalization", X: Any = None) -> Description:
    """Describe `g`; with records, also shares and group sizes."""
    personal = set(g.schema.personal)
    if X is None:
        lines = tuple(_line(p, p.name in personal, None) for p in g.partitions)
        return Description(lines, g.n_buckets)
    if is_lazy(X) or is_lazy(getattr(X, "native", None)):
        from modicum.engines.buckets import count_for_description

        counts = count_for_description(g, X)
    else:
        counts = _count_records(g, X)
    lines = tuple(
        _line(p, p.name in personal, counts.buckets[j], counts.persons_in[j]) for j, p in enumerate(g.partitions)
    )
    return Description(lines, g.n_buckets, counts.records, counts.persons, counts.groups, counts.smallest)


@dataclass(frozen=True)
class CountedBuckets:
    """The counts for a description: records and persons in each bucket of each attribute, and groups."""

    buckets: Sequence[Codes]
    persons_in: Sequence[Codes]
    records: int
    persons: int
    groups: int
    smallest: int


def _count_records(g: "Generalization", X: Any) -> CountedBuckets:
    """Count records in memory."""
    frame = as_frame(X, g.names)
    codes, persons = g.codes(frame), person_codes(g.schema, frame)
    sizes = persons_in(group_rows(codes), persons)
    listed = [(codes[:, j], 0 if isinstance(p, FullDetail) else len(p.labels)) for j, p in enumerate(g.partitions)]
    return CountedBuckets(
        buckets=[np.bincount(own, minlength=size) if size else own[:0] for own, size in listed],
        persons_in=[persons_in(own, persons, size) if size else own[:0] for own, size in listed],
        records=len(frame),
        persons=len(frame) if persons is None else int(persons.max(initial=-1)) + 1,
        groups=len(sizes),
        smallest=int(sizes.min()) if len(sizes) else 0,
    )


def count_asked_buckets(g: Any) -> int:
    """Count the buckets of the collected attributes; `n_buckets` also counts one for each dropped attribute.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.description import count_asked_buckets
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> count_asked_buckets(g), g.n_buckets
    (2, 3)
    """
    return sum(p.n_buckets for p in g.partitions if p.action != "dropped")


def persons_in(groups: Codes, persons: Codes | None, n_groups: int = 0) -> Codes:
    """Count the distinct persons in each group, or the records if `persons` is None."""
    if persons is not None:
        width = int(persons.max(initial=0)) + 1
        groups = np.unique(groups * width + persons) // width
    return np.bincount(groups, minlength=n_groups)


def _line(
    partition: AnyPartition, personal: bool, records: Codes | None, persons: Codes | None = None
) -> AttributeLine:
    labels = partition.labels
    takes = [bucket.takes for bucket in getattr(partition, "buckets", ())] + [()] * len(labels)
    if records is None or persons is None or isinstance(partition, FullDetail):
        buckets = tuple(BucketLine(labels[i], takes[i]) for i in range(min(len(labels), partition.n_buckets)))
    else:
        shares = records / max(1, records.sum())
        shown = [i for i in range(len(labels)) if i < partition.n_buckets or shares[i] > 0]
        buckets = tuple(BucketLine(labels[i], takes[i], round(float(shares[i]), 6), int(persons[i])) for i in shown)
    action = _ACTIONS[partition.action]
    return AttributeLine(partition.name, personal, action, partition.n_buckets, buckets)


# Describe cells: one line for each, and the same as plain data.

_SHOWN = 20  # cells to print


@dataclass(frozen=True)
class CellLine:
    """A cell: what it reveals of each attribute, the model's prediction, and its share of the records."""

    told: dict[str, str]
    prediction: Any
    share: float | None = None


@dataclass(frozen=True)
class CellsDescription:
    """What cells collect; `str()` gives a list, `to_dict()` plain data."""

    cells: tuple[CellLine, ...]
    kept: dict[str, tuple[str, ...]]
    needed: int
    attributes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain data."""
        return asdict(self)

    @property
    def lines(self) -> list[str]:
        """One line for each of the first cells, then the attributes kept in every cell, then a summary."""
        lines = [self._line(cell) for cell in self.cells[:_SHOWN]]
        rest = self.cells[_SHOWN:]
        if rest:
            share = sum(line.share or 0.0 for line in rest)
            lines.append(f"… {len(rest)} more{'' if rest[0].share is None else f' ({percent(share)} of the records)'}")
        kept = [f"{name}: {' · '.join(labels) or 'exact value'}" for name, labels in self.kept.items()]
        also = ["", "Collected in every cell:", *kept] if kept else []
        unit = "cell" if len(self.cells) == 1 else "cells"
        return [*lines, *also, "", f"{len(self.cells)} {unit}, {self.needed} of {self.attributes} attributes."]

    def _line(self, cell: CellLine) -> str:
        box = ", ".join(f"{name} {label}" for name, label in cell.told.items()) or "any record"
        share = "" if cell.share is None else f"{percent(cell.share):>5}  "
        return f"{share}{box}" + ("" if self.kept else f" → {cell.prediction}")

    def __str__(self) -> str:
        return "\n".join(self.lines)


def describe_cells(cells: "CellPartition", X: Any = None) -> CellsDescription:
    """Describe cells; with records, also each cell's share, the largest cell first."""
    order = np.arange(cells.n_cells)
    shares = None
    if X is not None:
        counts = np.bincount(cells.cells(X), minlength=cells.n_cells)
        shares = counts / max(1, len(as_frame(X, cells.names)))
        order = np.argsort(-counts, kind="stable")
    lines = [
        CellLine(
            cells.cell_labels(cell),
            cells.tree.cells[cell].prediction,
            None if shares is None else round(float(shares[cell]), 6),
        )
        for cell in order.tolist()
    ]
    kept = {name: cells.code_buckets(name)[0].labels for name in cells.kept}
    return CellsDescription(tuple(lines), kept, len(cells.needed), len(cells.names))
