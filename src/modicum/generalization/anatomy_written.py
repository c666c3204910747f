"""An anatomy's tables that an engine has written, which may be too large to be held in memory."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modicum.table.schema import Schema


@dataclass(frozen=True, eq=False)
class WrittenAnatomy:
    """What `Anatomy.release_to` wrote, and what was measured of it.

    Attributes
    ----------
    folder : where the tables are; `AnatomyRelease.load` reads them where they fit into memory
    columns : the columns of each table, under what people call it
    identifying_names : the attributes of the identifying table: neither the class nor the number of a group
    sensitive_names : the sensitive attributes
    schema : kinds and roles of all columns but the numbers of groups
    rows : how many records were released
    suppressed : how many were left out
    grouping : how groups were made
    groups : for each sensitive attribute ℓ, how many groups there are, the sizes of the smallest and the largest, and
        how many values
    """

    folder: Path
    columns: dict[str, list[str]]
    identifying_names: list[str]
    sensitive_names: list[str]
    schema: Schema = field(repr=False)
    rows: int
    suppressed: int
    grouping: str
    groups: dict[str, dict[str, int]]

    @property
    def label(self) -> str | None:
        """The class among the columns of the identifying table, where there is one."""
        return self.schema.label

    @property
    def l(self) -> int:  # noqa: E743 (papers/4 calls it ℓ, as do the parameters of Anatomy)
        """The largest ℓ for which no value is more than 1/ℓ of any group (papers/4 Definition 9)."""
        return min(each["l"] for each in self.groups.values())

    def to_dict(self) -> dict[str, Any]:
        """What was released as plain data, as `AnatomyRelease.to_dict` tells it."""
        return {
            "rows": self.rows,
            "suppressed": self.suppressed,
            "grouping": self.grouping,
            "l": self.l,
            "label": self.label,
            "identifying": self.identifying_names,
            "sensitive": self.groups,
        }
