"""Make and write the tables of an anatomy inside an engine.

The plan (`Deal`) follows from the number of records of each sensitive value. The engine carries it out: it numbers the
records of each value in the order of their hashes and computes the group from that number. Group-bys check the written
tables before the folder gets its name.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anatomy.checks import REPEATED_PERSONS, AnatomyTask, build_task, leaks, order_words, refuse_few
from modicum.anatomy.grouping import Deal, Numbering
from modicum.engines.coding import schema_at
from modicum.engines.counting import survey_columns
from modicum.engines.partitioned_writing import reopen_together, tag_table, working_folder, write
from modicum.engines.sampling import RecordHash
from modicum.engines.spark import SparkTable, is_local
from modicum.engines.table import COUNT, EngineTable, collect_arrow
from modicum.errors import DataError, ParameterError, require
from modicum.measures.anonymity import size_counts
from modicum.measures.diversity import l_diversity
from modicum.releases.anatomy_files import WrittenAnatomy, entry_of, table_files, write_description
from modicum.releases.anatomy_release import GroupFigures, group_column
from modicum.table.atomic_writing import new_folder
from modicum.table.frames import texts
from modicum.table.schema import Attribute, Schema, require_schema
from modicum.typing import Codes

_ONE, _FIRST, _SECOND, _AMONG = "(one)", "(first)", "(second)", "(among)"
_CODE, _START, _NUMBER = "(code {})", "(start {})", "(number {})"  # one for each sensitive column


@dataclass(frozen=True)
class EngineValues:
    """The values of a sensitive column in the schema's order, and how many records have each."""

    attribute: Attribute
    words: tuple[str, ...]
    counts: Codes

    def encode(self, series: nw.Series[Any]) -> Codes:
        """Code each record's value by its place in the order."""
        codes, words = texts(series)
        place = {word: i for i, word in enumerate(self.words)}
        if len(codes) and (codes.min() < 0 or not place.keys() >= set(words)):
            raise DataError(f"The column {self.attribute.name!r} changed while the table was read.")
        return np.array([place[word] for word in words], dtype=np.int64)[codes]


def values_at(table: EngineTable, attributes: Sequence[Attribute]) -> list[EngineValues]:
    """Count the values of sensitive columns in one pass."""
    as_words = [each.model_copy(update={"kind": "category", "domain": None}) for each in attributes]
    found = survey_columns(table, as_words, words=2**62)
    return [_collect_values(attribute, found[attribute.name]) for attribute in attributes]


def _collect_values(attribute: Attribute, found: Any) -> EngineValues:
    if found.missing:
        raise DataError(
            f"The sensitive column {attribute.name!r} has {found.missing:,} missing values; leave out those rows or "
            "fill in a value."
        )
    words = order_words(attribute, list(found.counts))
    return EngineValues(attribute, tuple(words), np.array([found.counts[word] for word in words], dtype=np.int64))


@dataclass(frozen=True)
class _Tagging:
    """Add to each record its hashes and, for each sensitive column, the code and first place of its value."""

    columns: tuple[str, ...]
    schema: Any
    values: tuple[EngineValues, ...]
    deals: tuple[Deal, ...]
    numbering: Numbering

    def tag_batch(self, table: Any) -> Any:
        pyarrow = require("pyarrow", "scale")
        frame = nw.from_native(table, eager_only=True)
        first, second = self.numbering.hashes(frame)
        added = {_ONE: np.ones(len(frame), dtype=np.int64), _FIRST: first, _SECOND: second}
        for i, (own, deal) in enumerate(zip(self.values, self.deals, strict=True)):
            codes = own.encode(frame[own.attribute.name])
            added |= {_CODE.format(i): codes, _START.format(i): deal.starts[codes]}
            if frame.schema[own.attribute.name] == nw.String:  # write equal values identically
                words = pyarrow.array(own.words).take(pyarrow.array(codes))
                table = table.set_column(table.schema.get_field_index(own.attribute.name), own.attribute.name, words)
        for name, values in added.items():
            table = table.append_column(name, pyarrow.array(values, pyarrow.int64()))
        return table.cast(self.schema)


def _number_records(within: list[str], order: list[str]) -> nw.Expr:
    """Number records with equal columns `within` from 1, in the order of other columns."""
    return nw.col(_ONE).cum_sum().over(*within, order_by=order).cast(nw.Int64)


@dataclass(frozen=True)
class AnatomyWriter:
    """Writes the tables of one anatomy.

    Parameters
    ----------
    table : the records in their engine
    task : the columns by purpose
    values, deals : the values of each sensitive column, and the plan for them
    numbering : the order of the records of a value
    l : the ℓ that every group must have
    """

    table: EngineTable
    task: AnatomyTask
    values: tuple[EngineValues, ...]
    deals: tuple[Deal, ...]
    numbering: Numbering
    l: int

    def write(self, folder: str | os.PathLike[str], format: str) -> WrittenAnatomy:
        """Write all tables into a new or empty folder, or none of them."""
        if isinstance(self.table, SparkTable) and not is_local(self.table.native.sparkSession, os.fspath(folder)):
            raise DataError("Write the anatomy to a folder on this machine, or one that is mounted on it.")
        with (
            new_folder(folder, lambda path: False) as temporary,
            working_folder(self.table, folder) as room,
            tag_table(self.table, self._make_tagging(), room) as tagged,
        ):
            release = self._write_tables(self._assign_groups(tagged), Path(temporary), format, Path(folder))
        return release

    def _make_tagging(self) -> _Tagging:
        pyarrow = require("pyarrow", "scale")
        columns = tuple(dict.fromkeys([*self.task.identifying, *self.task.sensitive]))
        given = collect_arrow(self.table.lazy.select(list(columns)).head(0)).to_native().schema
        names = [_ONE, _FIRST, _SECOND, *(each.format(i) for i in range(len(self.values)) for each in (_CODE, _START))]
        schema = pyarrow.schema([*given, *(pyarrow.field(name, pyarrow.int64()) for name in names)])
        return _Tagging(columns, schema, self.values, self.deals, self.numbering)

    def _assign_groups(self, tagged: EngineTable) -> nw.LazyFrame[Any]:
        """Select the released records and add their group number for each sensitive column."""
        many, lazy, order = len(self.values), tagged.lazy, [_FIRST, _SECOND]
        if many > 1:  # equal records have the same order for all columns
            lazy = lazy.with_columns(_number_records(order, [_SECOND]).alias(_AMONG))
            order = [*order, _AMONG]
        numbers = [(_number_records([_CODE.format(i)], order) - 1).alias(_NUMBER.format(i)) for i in range(many)]
        lazy, groups = lazy.with_columns(*numbers), []
        for i, deal in enumerate(self.deals):
            lazy = lazy.filter(nw.col(_NUMBER.format(i)) < deal.most)
        for i, (own, deal) in enumerate(zip(self.values, self.deals, strict=True)):
            group = deal.of_places(nw.col(_START.format(i)) + nw.col(_NUMBER.format(i))) + 1
            groups.append(group.alias(group_column(own.attribute.name, many)))
        return lazy.with_columns(*groups)

    def _write_tables(self, records: nw.LazyFrame[Any], folder: Path, format: str, place: Path) -> WrittenAnatomy:
        many = len(self.values)
        names = {own.attribute.name: group_column(own.attribute.name, many) for own in self.values}
        files = table_files(format, many)
        columns = [[*self.task.identifying, *names.values()], *([gid, name] for name, gid in names.items())]
        by = [[_SECOND], *([gid, _CODE.format(i)] for i, gid in enumerate(names.values()))]
        for file, chosen, order in zip(files, columns, by, strict=True):
            write(records.sort(*order).select(*chosen).to_native(), folder / file)
        with reopen_together(self.table, [str(folder / file) for file in files], self.task.schema) as tables:
            groups = {
                own.attribute.name: self._measure_table(own, deal, tables[0], table)
                for own, deal, table in zip(self.values, self.deals, tables[1:], strict=True)
            }
            rows = tables[0].rows()
        left_out, schema = int(self.values[0].counts.sum()) - rows, self.task.schema
        identifying = [name for name in self.task.identifying if name != schema.label]
        titles = ["identifying table", *(f"table of {name}" for name in names)]
        table_columns = dict(zip(titles, columns, strict=True))
        release = WrittenAnatomy(
            place, table_columns, identifying, list(names), schema, rows, left_out, "dealt", groups
        )
        entries = [entry_of(folder, file, chosen) for file, chosen in zip(files, columns, strict=True)]
        write_description(release, entries, folder)
        return release

    def _measure_table(
        self, own: EngineValues, deal: Deal, identifying: EngineTable, table: EngineTable
    ) -> GroupFigures:
        """Measure a sensitive table by group-bys; refuse it if it lacks the requested l or the right records."""
        name, gid = own.attribute.name, group_column(own.attribute.name, len(self.values))
        diversity = l_diversity(table.lazy.to_native(), [gid], name, kind="frequency")
        sizes, often = size_counts(table.lazy.to_native(), [gid])
        counted = table.count_by([name])
        codes, counts = own.encode(counted[name]), counted[COUNT].to_numpy()
        written = np.bincount(codes, weights=counts, minlength=len(own.words)).astype(np.int64)
        whole = np.array_equal(written, np.minimum(own.counts, deal.most)) and _have_same_groups(
            identifying, table, gid
        )
        if diversity < self.l or not whole:
            raise DataError(f"The groups of {name!r} failed the check of l or of the records, so nothing is released.")
        return {
            "l": int(diversity),
            "groups": int(often.sum()),
            "smallest_group": int(sizes[0]),
            "largest_group": int(sizes[-1]),
            "values": len(own.words),
        }


def _have_same_groups(identifying: EngineTable, sensitive: EngineTable, gid: str) -> bool:
    """Whether both tables have the same groups with the same sizes."""
    sides = [(identifying, 1), (sensitive, -1)]
    signed = [table.lazy.select(nw.col(gid).cast(nw.Int64), nw.lit(sign).alias(_ONE)) for table, sign in sides]
    sums = nw.concat(signed).group_by(gid).agg(nw.col(_ONE).sum())
    uneven = sums.filter(nw.col(_ONE) != 0).select(nw.len().alias(COUNT))
    return int(collect_arrow(uneven)[COUNT][0]) == 0


# Release a table in an engine: check the arguments on a sample and by counts, then write.

_SAMPLE = 50_000


def release_at(
    owner: Any, table: EngineTable, folder: str | os.PathLike[str], y: Any, format: str
) -> tuple[WrittenAnatomy, list[str]]:
    """Write the release for `Anatomy.release_to`; return it with warnings about what it still reveals."""
    _check(owner, table, y, format)
    schema = schema_at(table) if owner.schema is None else _complete(owner.schema, table)
    task = _build_task(owner, table, schema if y is None else schema.with_roles(label=y))
    values = tuple(values_at(table, [task.schema[name] for name in task.sensitive]))
    counts = {own.attribute.name: own.counts for own in values}
    deals, numbering = owner._plan_deals(task, counts)
    release = AnatomyWriter(table, task, values, tuple(deals.values()), numbering, int(owner.l)).write(folder, format)
    codes = {own.attribute.name: own.encode(task.frame[own.attribute.name]) for own in values}
    return release, [*_find_repeated_persons(table, schema), *leaks(task, codes)]


def _check(owner: Any, table: EngineTable, y: Any, format: Any) -> None:
    if owner.grouping != "dealt":
        raise ParameterError(
            "The 'grouping' parameter of Anatomy must be 'dealt' for a table in an engine: the others need all records "
            f"in memory. Got {owner.grouping!r} instead."
        )
    if format not in ("csv", "parquet") or (format == "csv" and isinstance(table, SparkTable)):
        allowed = "'parquet' in Spark" if isinstance(table, SparkTable) else "'csv' or 'parquet'"
        raise ParameterError(f"The 'format' parameter of release_to must be {allowed}. Got {format!r} instead.")
    if y is not None and not isinstance(y, str):
        raise ParameterError("The 'y' parameter of release_to must be the name of a column of the table.")
    table.check([] if y is None else [y])


def _complete(schema: Any, table: EngineTable) -> Schema:
    """Add inferred attributes for columns of the table that the schema does not have."""
    schema = require_schema(schema)
    unknown = [name for name in table.columns if name not in schema]
    inferred = schema_at(table, unknown).attributes if unknown else ()
    return schema.model_copy(update={"attributes": (*schema.attributes, *inferred)})


def _build_task(owner: Any, table: EngineTable, schema: Schema) -> AnatomyTask:
    """Check the arguments on a sample: the records with the lowest hashes, which do not depend on the order."""
    rows = table.rows()
    refuse_few(rows)
    empty = collect_arrow(table.lazy.head(0)).to_native()
    schema.check(empty)
    limit = int(min(1.0, 1.2 * _SAMPLE / rows) * (2**63 - 1))
    sample = table.gather(_LowHashes(tuple(table.columns), empty.schema, limit))
    return build_task(owner, nw.from_native(sample, eager_only=True), schema, None)


@dataclass(frozen=True)
class _LowHashes:
    """Pick the records whose hash is at or below a limit."""

    columns: tuple[str, ...]
    schema: Any
    limit: int

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        chosen = (RecordHash(self.columns).of(frame) >> np.uint64(1)) <= np.uint64(self.limit)
        return frame.filter(chosen.tolist()).to_native().cast(self.schema)


def _find_repeated_persons(table: EngineTable, schema: Schema) -> Iterator[str]:
    """Warn if a person has several records, as `checks.find_repeated_persons` does in memory."""
    if schema.person is None or schema.person not in table.types:
        return
    lazy, _ = table.select_keys([schema.person])
    key = lazy.collect_schema().names()[0]
    own = lazy.filter(~nw.col(key).is_null()).group_by(key).agg(nw.len().alias(COUNT))
    most = collect_arrow(own.select(nw.col(COUNT).max()))[COUNT][0]
    if most is not None and int(most) > 1:
        yield REPEATED_PERSONS
