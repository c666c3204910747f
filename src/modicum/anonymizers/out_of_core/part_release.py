"""What becomes of one part of a table too large for memory: the same groups and values as if all of it were here."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import narwhals.stable.v2 as nw

from modicum.anonymizers.out_of_core.whole_columns import AnyColumn, WholeColumn
from modicum.anonymizers.publishing import replace_values, widths_of
from modicum.anonymizers.ranks import Ranked, RankedColumn
from modicum.anonymizers.task import Needs, Task
from modicum.errors import DataError, require
from modicum.measures.requirement import Requirement
from modicum.table.codes import Coder
from modicum.table.schema import Schema
from modicum.table.targets import Labels
from modicum.typing import Codes


@dataclass(frozen=True)
class ReleaseGuide:
    """What guides a tree: a label and its classes in the whole table, and how that codes the quasi-identifiers."""

    name: str
    labels: Labels
    coder: Coder | None

    def encode(self, frame: nw.DataFrame[Any]) -> Codes:
        """The class of each record."""
        classes = self.labels.encode(frame[self.name].to_numpy())
        if (classes < 0).any():
            raise DataError(f"The column {self.name!r} has changed while the table was read.")
        return classes


@dataclass(frozen=True)
class WholeTask:
    """What is known of the whole table, and what is asked of its release.

    Parameters
    ----------
    schema : kinds and roles
    quasi : the quasi-identifiers
    sensitive : what must be diverse or close, where that is asked
    requirement : of every group
    rows : how many records there are
    guide : what guides the partition, where something does
    """

    schema: Schema
    quasi: tuple[AnyColumn, ...]
    sensitive: WholeColumn | None
    requirement: Requirement
    rows: int
    guide: ReleaseGuide | None = None

    @property
    def names(self) -> list[str]:
        """The quasi-identifiers."""
        return [each.attribute.name for each in self.quasi]

    def part(self, frame: nw.DataFrame[Any]) -> Task:
        """Some of the records, with what must be known of all."""
        ranked = Ranked(tuple(each.rank(frame[each.attribute.name]) for each in self.quasi))
        task = Task(frame, self.schema, ranked, Needs(self.requirement, self._sensitive(frame)), None)
        if self.guide is None:
            return task
        coding = None if self.guide.coder is None else (self.guide.coder, len(self.guide.labels))
        return replace(task, guide=self.guide.encode(frame), coding=coding)

    def _sensitive(self, frame: nw.DataFrame[Any]) -> RankedColumn | None:
        own = self.sensitive
        if own is None:
            return None
        return RankedColumn(own.attribute, own.encode(frame[own.attribute.name]).astype("int32"), own.values)


class Upper(Protocol):
    """The upper levels of a partition; they travel to where the records are."""

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """The part of each record of a batch."""


def loss_column(i: int) -> str:
    """Where the NCP of a record's group in the i-th quasi-identifier is told, until all of it is added up."""
    return f"(loss {i})"


@dataclass(frozen=True)
class ReleasedParts:
    """Every part released as the anonymizer would in memory, with what each record lost.

    Parameters
    ----------
    owner : the anonymizer
    whole : what is known of the whole table
    upper : the upper levels of its partition
    columns : those that are released
    schema : of what is made
    """

    owner: Any
    whole: WholeTask
    upper: Upper
    columns: tuple[str, ...]
    schema: Any

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        return self.upper.which(frame)

    def make(self, table: Any) -> Any:
        pyarrow = require("pyarrow", "scale")
        task = self.whole.part(nw.from_native(table, eager_only=True))
        groups = self.owner._groups(task)
        values = None if self.owner.output == "ranges" else self.owner._values(task, groups)
        released = replace_values(task, groups, values)
        for i, widths in enumerate(widths_of(task, groups)):
            released = released.append_column(loss_column(i), pyarrow.array(widths[groups]))
        return released.cast(self.schema)


def build_part_schema(given: Any, names: list[str], as_ranges: bool) -> Any:
    """The Arrow schema of what is made of a part, from that of the columns that are released."""
    pyarrow = require("pyarrow", "scale")
    fields = [
        pyarrow.field(each.name, pyarrow.string()) if as_ranges and each.name in names else each.with_nullable(True)
        for each in given
    ]
    return pyarrow.schema([*fields, *(pyarrow.field(loss_column(i), pyarrow.float64()) for i in range(len(names)))])
