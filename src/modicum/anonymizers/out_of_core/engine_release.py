"""Releases of tables too large for memory, written by their engine.

The released records are those that `fit` would release in memory. The upper levels grow from counts, each part is
finished where its records are, and the engine measures the written table before it is put in place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anonymizers.out_of_core.cut_tree import Upper
from modicum.anonymizers.out_of_core.upper_guided import has_classes
from modicum.anonymizers.out_of_core.whole_task import MOST_NUMBERS, WholeColumn, WholeTask, whole_columns
from modicum.anonymizers.publishing import measure_protection, refuse_broken, replace_values, widths_of
from modicum.anonymizers.task import Needs, check_limits, parts_of, requirement_of, why_not
from modicum.engines.coding import schema_at
from modicum.engines.partitioned_writing import (
    check_place,
    open_result,
    put_release,
    reopen_table,
    working_folder,
    write_parts,
)
from modicum.engines.spark import SparkTable
from modicum.engines.table import EngineTable, collect_arrow
from modicum.errors import DataError, ParameterError, require
from modicum.measures.anonymity import classification_metric, size_counts
from modicum.measures.requirement import Requirement
from modicum.releases.release import Release
from modicum.table.schema import Schema, require_schema
from modicum.typing import Codes


def release_at(
    owner: Any, table: EngineTable, y: Any, path: Any, partition_by: Sequence[str], rows_at_once: int
) -> Release:
    """Release a table into files for `Anonymizer.release_to`, checking them before they are put in place."""
    _check(owner, table, y, path, partition_by, rows_at_once)
    schema = schema_at(table) if owner.schema is None else require_schema(owner.schema)
    schema = schema if y is None else schema.with_roles(label=y)
    task = owner._complete_task(table, whole_task(owner, table, schema), schema.label)
    published = tuple(n for n in table.columns if n not in schema or not schema[n].is_identifying)
    empty = collect_arrow(table.lazy.select(list(published)).head(0)).to_native()
    part_schema = build_part_schema(empty.schema, task.names, owner.output == "ranges")
    work = ReleasedParts(owner, task, owner._upper(table, task, rows_at_once), published, part_schema)
    measured: list[Release] = []
    label = schema.label if schema.label is not None and has_classes(table, schema.label) else None
    with working_folder(table, path) as room, reopen_table(table, write_parts(table, work, room)) as parts:
        losses = _measure_losses(parts, task)
        released = parts.lazy.select(list(published)).to_native()
        types: dict[str, str] = {}
        if not isinstance(table, SparkTable):
            types = dict(zip(released.columns, map(str, released.types), strict=True))

        def check(written: EngineTable) -> None:
            measured.append(_measure_release(owner, task, written, losses, label))

        put_release(
            table,
            released,
            path,
            partition_by,
            check,
            _build_file_schema(owner, task),
        )
    return replace(measured[0], frame=open_result(table, path, partition_by, types))


def _check(owner: Any, table: EngineTable, y: Any, path: Any, partition_by: Sequence[str], rows_at_once: Any) -> None:
    owner._check_engine()
    if owner.representatives not in ("median", "mean"):
        raise ParameterError(
            "The 'representatives' parameter must be 'median' or 'mean' for a table in an engine: the others depend on "
            f"the order of the rows. Got {owner.representatives!r} instead."
        )
    if isinstance(rows_at_once, bool) or not isinstance(rows_at_once, int) or rows_at_once < 2 * owner.k:
        raise ParameterError(f"The 'rows_at_once' parameter must be an int ≥ 2 k. Got {rows_at_once!r} instead.")
    if y is not None and not isinstance(y, str):
        raise ParameterError("The 'y' parameter of release_to must be the name of a column of the table.")
    table.check([] if y is None else [y])
    check_place(table, path, partition_by)
    table.check_free([loss_column(i) for i in range(len(table.columns))])


def whole_task(owner: Any, table: EngineTable, schema: Schema) -> WholeTask:
    """Check the arguments of an anonymizer, and count the columns of the whole table."""
    names, sensitive = parts_of(owner, schema)
    if schema.person is not None and schema.person in table.types:
        raise ParameterError(
            f"{type(owner).__name__}.release_to counts records, not persons (column {schema.person!r}); use fit on a "
            "table in memory to count persons."
        )
    rows = table.rows()
    if not rows:
        raise DataError("The data has 0 rows, so there is nothing to release.")
    if owner.k > rows:
        raise DataError(
            f"The 'k' parameter of {type(owner).__name__} is {owner.k:,}, but there are only {rows:,} records."
        )
    quasi = tuple(whole_columns(table, [schema[name] for name in names]))
    protected, requirement = _build_requirement(owner, table, schema, sensitive)
    return WholeTask(schema, quasi, protected, requirement, rows)


def _build_requirement(
    owner: Any, table: EngineTable, schema: Schema, name: str | None
) -> tuple[WholeColumn | None, Requirement]:
    if owner.l is None and owner.t is None:
        return None, Requirement(owner.k)
    check_limits(owner)
    column = whole_columns(table, [schema[str(name)]])[0]
    if not isinstance(column, WholeColumn):
        raise DataError(
            f"The sensitive attribute {str(name)!r} has more than {MOST_NUMBERS:,} different values; group them into "
            "ranges first."
        )
    counts = np.append(column.counts, column.missing)
    needs = Needs(requirement_of(owner, column.build_ranked_column(), counts), column.build_ranked_column())
    if not needs.requirement.is_met_by(counts[: needs.n_sensitive]):
        raise DataError(why_not(owner, needs, name))
    return column, needs.requirement


# Release every part as in memory, with the loss of each record in extra columns.


def loss_column(i: int) -> str:
    """Name the temporary column with the NCP of a record's group in the i-th quasi-identifier."""
    return f"(loss {i})"


@dataclass(frozen=True)
class ReleasedParts:
    """Release every part as the anonymizer would in memory, with the loss of each record.

    Parameters
    ----------
    owner : the anonymizer
    whole : the facts about the whole table
    upper : the upper levels of its partition
    columns : the released columns
    schema : the Arrow schema of the result
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
    """Build the Arrow schema of a released part from that of the released columns."""
    pyarrow = require("pyarrow", "scale")
    fields = [
        pyarrow.field(each.name, pyarrow.string()) if as_ranges and each.name in names else each.with_nullable(True)
        for each in given
    ]
    return pyarrow.schema([*fields, *(pyarrow.field(loss_column(i), pyarrow.float64()) for i in range(len(names)))])


# Measure the written table in its engine.


def _measure_losses(parts: EngineTable, task: WholeTask) -> dict[str, float]:
    """Compute the mean NCP of each quasi-identifier over the records."""
    columns = [loss_column(i) for i in range(len(task.names))]
    means = collect_arrow(parts.lazy.select(*(nw.col(name).mean() for name in columns)))
    return {name: float(means[column][0]) for name, column in zip(task.names, columns, strict=True)}


def _measure_release(
    owner: Any, task: WholeTask, written: EngineTable, losses: dict[str, float], label: str | None
) -> Release:
    """Measure the written table by group-bys; refuse it if it does not meet the terms."""
    frame, names, own = written.lazy.to_native(), task.names, task.sensitive
    sizes, often = (each.astype(object) for each in size_counts(frame, names))  # squares may be huge
    terms, k, diversity, closeness = owner._describe_requirement(task.requirement.distance), int(sizes[0]), None, None
    if own is not None:
        order = own.values if own.attribute.is_category else None
        hierarchy = own.attribute.hierarchy
        diversity, closeness = measure_protection(
            task.requirement, frame, names, own.attribute.name, order=order, hierarchy=hierarchy
        )
    refuse_broken(terms, k, diversity, closeness)
    if int((sizes * often).sum()) != task.rows:
        raise DataError("The result has lost or added records, so it is not released.")
    return Release(
        frame=None,
        method=type(owner).__name__,
        output=owner.output,
        quasi_identifiers=tuple(names),
        sensitive=None if own is None else own.attribute.name,
        asked=terms,
        k=k,
        l=diversity,
        t=closeness,
        classes=None,
        n_classes=int(often.sum()),
        rows=task.rows,
        suppressed=0,
        ncp=float(np.mean(list(losses.values()))),
        ncp_by_attribute=losses,
        discernibility=int((sizes**2 * often).sum()),
        classification_metric=None if label is None else classification_metric(frame, names, label),
    )


def _build_file_schema(owner: Any, task: WholeTask) -> Schema:
    """Build the schema of the written table: ranges are texts."""
    schema = task.schema
    for name in task.names if owner.output == "ranges" else ():
        schema = schema.replace(name, kind="category", storage="text", domain=None, hierarchy=None)
    return schema
