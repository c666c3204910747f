"""An anatomy's tables, made and written where the records live.

How many records each sensitive value has is counted; the plan that follows (`Deal`) is carried out by the engine: it
numbers the records of each value in the order of their hashes, and a group is arithmetic on that number. What was
written is checked by group-bys before the folder gets its name.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anatomy.checks import AnatomyTask, build_task, leaks, order_words, refuse_few
from modicum.anatomy.grouping import Deal, Numbering
from modicum.engines.coding import schema_at
from modicum.engines.counting import survey_columns
from modicum.engines.partitioned_writing import reopen_together, room_beside, tag_table, write
from modicum.engines.sampling import RecordHash
from modicum.engines.spark import SparkTable, is_local
from modicum.engines.table import COUNT, EngineTable, collect_arrow
from modicum.errors import DataError, ParameterError, require
from modicum.measures.anonymity import size_counts
from modicum.measures.diversity import l_diversity
from modicum.releases.anatomy_files import WrittenAnatomy, entry_of, table_files, write_description
from modicum.releases.anatomy_release import GroupFigures, group_column
from modicum.table.atomic_writing import beside_folder
from modicum.table.frames import texts
from modicum.table.schema import Attribute, Schema, require_schema
from modicum.typing import Codes

_ONE, _FIRST, _SECOND, _AMONG = "(one)", "(first)", "(second)", "(among)"
_CODE, _START, _NUMBER = "(code {})", "(start {})", "(number {})"  # of each sensitive column


@dataclass(frozen=True)
class EngineValues:
    """The values of a sensitive column in the order that the schema gives them, and how many records have each."""

    attribute: Attribute
    words: tuple[str, ...]
    counts: Codes

    def encode(self, series: nw.Series[Any]) -> Codes:
        """Each record's value as its place."""
        codes, words = texts(series)
        place = {word: i for i, word in enumerate(self.words)}
        if len(codes) and (codes.min() < 0 or not place.keys() >= set(words)):
            raise DataError(f"The column {self.attribute.name!r} has changed while the table was read.")
        return np.array([place[word] for word in words], dtype=np.int64)[codes]


def values_at(table: EngineTable, attributes: Sequence[Attribute]) -> list[EngineValues]:
    """Count the values of sensitive columns: one pass."""
    as_words = [each.model_copy(update={"kind": "category", "domain": None}) for each in attributes]
    found = survey_columns(table, as_words, words=2**62)
    return [_values(attribute, found[attribute.name]) for attribute in attributes]


def _values(attribute: Attribute, found: Any) -> EngineValues:
    if found.missing:
        raise DataError(
            f"The sensitive column {attribute.name!r} has {found.missing:,} missing values; leave those rows out or "
            "name the missing."
        )
    words = order_words(attribute, list(found.counts))
    return EngineValues(attribute, tuple(words), np.array([found.counts[word] for word in words], dtype=np.int64))


@dataclass(frozen=True)
class _Told:
    """Each record with its hashes and, for each sensitive column, its value's code and first place."""

    columns: tuple[str, ...]
    schema: Any
    values: tuple[EngineValues, ...]
    deals: tuple[Deal, ...]
    numbering: Numbering

    def tag_batch(self, table: Any) -> Any:
        pyarrow = require("pyarrow", "scale")
        frame = nw.from_native(table, eager_only=True)
        first, second = self.numbering.hashes(frame)
        more = {_ONE: np.ones(len(frame), dtype=np.int64), _FIRST: first, _SECOND: second}
        for i, (own, deal) in enumerate(zip(self.values, self.deals, strict=True)):
            codes = own.encode(frame[own.attribute.name])
            more |= {_CODE.format(i): codes, _START.format(i): deal.starts[codes]}
            if frame.schema[own.attribute.name] == nw.String:  # equal values are written alike
                words = pyarrow.array(own.words).take(pyarrow.array(codes))
                table = table.set_column(table.schema.get_field_index(own.attribute.name), own.attribute.name, words)
        for name, values in more.items():
            table = table.append_column(name, pyarrow.array(values, pyarrow.int64()))
        return table.cast(self.schema)


def _running(within: list[str], order: list[str]) -> nw.Expr:
    """Numbers from 1 among the records that share some columns, in the order of others."""
    return nw.col(_ONE).cum_sum().over(*within, order_by=order).cast(nw.Int64)


@dataclass(frozen=True)
class Written:
    """Makes the tables of one anatomy.

    Parameters
    ----------
    table : where the records live
    asked : what is to become of its columns
    values, deals : for each sensitive column its values, and the plan for them
    numbering : the order of the records of a value
    l : what is asked of every group
    """

    table: EngineTable
    asked: AnatomyTask
    values: tuple[EngineValues, ...]
    deals: tuple[Deal, ...]
    numbering: Numbering
    l: int

    def into(self, folder: str | os.PathLike[str], format: str) -> WrittenAnatomy:
        """Write the tables into a new or empty folder, all of them or nothing."""
        if isinstance(self.table, SparkTable) and not is_local(self.table.native.sparkSession, os.fspath(folder)):
            raise DataError("An anatomy is written to a folder of this machine, or one that is mounted here.")
        with (
            beside_folder(folder, lambda path: False) as beside,
            room_beside(self.table, folder) as room,
            tag_table(self.table, self._make_tagging(), room) as told,
        ):
            release = self._write_tables(self._assign_groups(told), Path(beside), format, Path(folder))
        return release

    def _make_tagging(self) -> _Told:
        pyarrow = require("pyarrow", "scale")
        columns = tuple(dict.fromkeys([*self.asked.identifying, *self.asked.sensitive]))
        given = collect_arrow(self.table.lazy.select(list(columns)).head(0)).to_native().schema
        names = [_ONE, _FIRST, _SECOND, *(each.format(i) for i in range(len(self.values)) for each in (_CODE, _START))]
        schema = pyarrow.schema([*given, *(pyarrow.field(name, pyarrow.int64()) for name in names)])
        return _Told(columns, schema, self.values, self.deals, self.numbering)

    def _assign_groups(self, told: EngineTable) -> nw.LazyFrame[Any]:
        """The records that stay, with the number of their group for each sensitive column."""
        many, lazy, order = len(self.values), told.lazy, [_FIRST, _SECOND]
        if many > 1:  # equal records stand in one order for all columns
            lazy = lazy.with_columns(_running(order, [_SECOND]).alias(_AMONG))
            order = [*order, _AMONG]
        numbers = [(_running([_CODE.format(i)], order) - 1).alias(_NUMBER.format(i)) for i in range(many)]
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
        columns = [[*self.asked.identifying, *names.values()], *([gid, name] for name, gid in names.items())]
        by = [[_SECOND], *([gid, _CODE.format(i)] for i, gid in enumerate(names.values()))]
        for file, chosen, order in zip(files, columns, by, strict=True):
            write(records.sort(*order).select(*chosen).to_native(), folder / file)
        with reopen_together(self.table, [str(folder / file) for file in files], self.asked.schema) as tables:
            groups = {
                own.attribute.name: self._measure_table(own, deal, tables[0], table)
                for own, deal, table in zip(self.values, self.deals, tables[1:], strict=True)
            }
            rows = tables[0].rows()
        left_out, schema = int(self.values[0].counts.sum()) - rows, self.asked.schema
        told = [name for name in self.asked.identifying if name != schema.label]
        called = ["identifying table", *(f"table of {name}" for name in names)]
        tables_of = dict(zip(called, columns, strict=True))
        release = WrittenAnatomy(place, tables_of, told, list(names), schema, rows, left_out, "dealt", groups)
        entries = [entry_of(folder, file, chosen) for file, chosen in zip(files, columns, strict=True)]
        write_description(release, entries, folder)
        return release

    def _measure_table(
        self, own: EngineValues, deal: Deal, identifying: EngineTable, table: EngineTable
    ) -> GroupFigures:
        """What a sensitive table has, by group-bys; refused where it is not what was asked for."""
        name, gid = own.attribute.name, group_column(own.attribute.name, len(self.values))
        found = l_diversity(table.lazy.to_native(), [gid], name, kind="frequency")
        sizes, often = size_counts(table.lazy.to_native(), [gid])
        counted = table.count_by([name])
        codes, counts = own.encode(counted[name]), counted[COUNT].to_numpy()
        there = np.bincount(codes, weights=counts, minlength=len(own.words)).astype(np.int64)
        whole = np.array_equal(there, np.minimum(own.counts, deal.most)) and _have_same_groups(identifying, table, gid)
        if found < self.l or not whole:
            raise DataError(f"The groups of {name!r} are not what was asked for, so that nothing is released.")
        return {
            "l": int(found),
            "groups": int(often.sum()),
            "smallest_group": int(sizes[0]),
            "largest_group": int(sizes[-1]),
            "values": len(own.words),
        }


def _have_same_groups(identifying: EngineTable, sensitive: EngineTable, gid: str) -> bool:
    """Whether both tables have the same groups, of the same sizes."""
    sides = [(identifying, 1), (sensitive, -1)]
    signed = [table.lazy.select(nw.col(gid).cast(nw.Int64), nw.lit(sign).alias(_ONE)) for table, sign in sides]
    sums = nw.concat(signed).group_by(gid).agg(nw.col(_ONE).sum())
    uneven = sums.filter(nw.col(_ONE) != 0).select(nw.len().alias(COUNT))
    return int(collect_arrow(uneven)[COUNT][0]) == 0


# An anatomy of a table where it lives: what is asked, checked on a sample and by counts, and what is written.

_SAMPLE = 50_000


def release_at(
    owner: Any, table: EngineTable, folder: str | os.PathLike[str], y: Any, format: str
) -> tuple[WrittenAnatomy, list[str]]:
    """What was written, and what it tells all the same; as `Anatomy.release_to` takes it."""
    _check(owner, table, y, format)
    known = schema_at(table) if owner.schema is None else _complete(owner.schema, table)
    asked = _build_task(owner, table, known if y is None else known.with_roles(label=y))
    values = tuple(values_at(table, [asked.schema[name] for name in asked.sensitive]))
    counts = {own.attribute.name: own.counts for own in values}
    deals, numbering = owner._deals(asked, counts)
    made = Written(table, asked, values, tuple(deals.values()), numbering, int(owner.l))
    release = made.into(folder, format)
    codes = {own.attribute.name: own.encode(asked.frame[own.attribute.name]) for own in values}
    return release, [*_find_repeated_persons(table, known), *leaks(asked, codes)]


def _check(owner: Any, table: EngineTable, y: Any, format: Any) -> None:
    if owner.grouping != "dealt":
        raise ParameterError(
            "The 'grouping' parameter of Anatomy must be 'dealt' where a table is released in its engine: the others "
            f"need all records in memory. Got {owner.grouping!r} instead."
        )
    if format not in ("csv", "parquet") or (format == "csv" and isinstance(table, SparkTable)):
        allowed = "'parquet' in Spark" if isinstance(table, SparkTable) else "'csv' or 'parquet'"
        raise ParameterError(f"The 'format' parameter of release_to must be {allowed}. Got {format!r} instead.")
    if y is not None and not isinstance(y, str):
        raise ParameterError("The 'y' parameter of release_to must be the name of a column of the table.")
    table.check([] if y is None else [y])


def _complete(schema: Any, table: EngineTable) -> Schema:
    """The schema, with what it does not know of the table as it is found there."""
    schema = require_schema(schema)
    unknown = [name for name in table.columns if name not in schema]
    more = schema_at(table, unknown).attributes if unknown else ()
    return schema.model_copy(update={"attributes": (*schema.attributes, *more)})


def _build_task(owner: Any, table: EngineTable, schema: Schema) -> AnatomyTask:
    """What is asked, with a sample in place of all records: those with the lowest hashes, whatever their order."""
    rows = table.rows()
    refuse_few(rows)
    nobody = collect_arrow(table.lazy.head(0)).to_native()
    schema.check(nobody)
    limit = int(min(1.0, 1.2 * _SAMPLE / rows) * (2**63 - 1))
    sample = table.gather(_Lowest(tuple(table.columns), nobody.schema, limit))
    return build_task(owner, nw.from_native(sample, eager_only=True), schema, None)


@dataclass(frozen=True)
class _Lowest:
    """Records whose hash lies below a limit."""

    columns: tuple[str, ...]
    schema: Any
    limit: int

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        chosen = (RecordHash(self.columns).of(frame) >> np.uint64(1)) <= np.uint64(self.limit)
        return frame.filter(chosen.tolist()).to_native().cast(self.schema)


def _find_repeated_persons(table: EngineTable, schema: Schema) -> Iterator[str]:
    """That a person has several records, as `checks.find_repeated_persons` finds in memory."""
    if schema.person is None or schema.person not in table.types:
        return
    lazy, _ = table.select_keys([schema.person])
    key = lazy.collect_schema().names()[0]
    own = lazy.filter(~nw.col(key).is_null()).group_by(key).agg(nw.len().alias(COUNT))
    most = collect_arrow(own.select(nw.col(COUNT).max()))[COUNT][0]
    if most is not None and int(most) > 1:
        yield "Some persons have several records; whoever knows which can intersect their groups. Keep one of each."
