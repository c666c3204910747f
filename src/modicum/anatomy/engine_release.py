"""An anatomy of a table where it lives: what is asked, checked on a sample and by counts, and what is written."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anatomy.asked import Asked, asked_of
from modicum.anatomy.engine_tables import Written, values_at
from modicum.anatomy.leaks import leaks
from modicum.engines.coding import schema_at
from modicum.engines.sampling import RecordHash
from modicum.engines.spark import SparkTable
from modicum.engines.table import COUNT, EngineTable, collected
from modicum.errors import DataError, ParameterError
from modicum.releases.anatomy_files import WrittenAnatomy
from modicum.table.schema import Schema

_SAMPLE = 50_000


def released_at(
    owner: Any, table: EngineTable, folder: str | os.PathLike[str], y: Any, format: str
) -> tuple[WrittenAnatomy, list[str]]:
    """What was written, and what it tells all the same; as `Anatomy.release_to` takes it."""
    _check(owner, table, y, format)
    known = schema_at(table) if owner.schema is None else _complete(owner.schema, table)
    asked = _asked(owner, table, known if y is None else known.with_roles(label=y))
    values = tuple(values_at(table, [asked.schema[name] for name in asked.sensitive]))
    counts = {own.attribute.name: own.counts for own in values}
    deals, numbering = owner._deals(asked, counts)
    made = Written(table, asked, values, tuple(deals.values()), numbering, int(owner.l))
    release = made.into(folder, format)
    codes = {own.attribute.name: own.encode(asked.frame[own.attribute.name]) for own in values}
    return release, [*_repeated_persons(table, known), *leaks(asked, codes)]


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
    if not isinstance(schema, Schema):
        raise ParameterError(f"The 'schema' parameter must be a Schema. Got {type(schema).__name__} instead.")
    unknown = [name for name in table.columns if name not in schema]
    more = schema_at(table, unknown).attributes if unknown else ()
    return schema.model_copy(update={"attributes": (*schema.attributes, *more)})


def _asked(owner: Any, table: EngineTable, schema: Schema) -> Asked:
    """What is asked, with a sample of the records in place of all of them."""
    rows = table.rows()
    if rows < 2:
        many = "is only 1 sample" if rows else "are 0 rows"
        raise DataError(f"There {many}, so there is nobody to hide among.")
    schema.check(_nobody(table))
    return asked_of(owner, _sample(table, rows), schema, None)


def _nobody(table: EngineTable) -> Any:
    return collected(table.lazy.head(0)).to_native()


def _sample(table: EngineTable, rows: int) -> nw.DataFrame[Any]:
    """Some of the records, the same ones whatever their order: those with the lowest hashes."""
    columns = tuple(table.columns)
    share = min(1.0, 1.2 * _SAMPLE / rows)
    picked = table.gather(_Lowest(columns, _nobody(table).schema, int(share * (2**63 - 1))))
    return nw.from_native(picked, eager_only=True)


@dataclass(frozen=True)
class _Lowest:
    """Records whose hash lies below a limit."""

    columns: tuple[str, ...]
    schema: Any
    limit: int

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        chosen = (RecordHash(self.columns).of(frame) >> np.uint64(1)) <= np.uint64(self.limit)
        return frame.filter(chosen.tolist()).to_native().cast(self.schema)


def _repeated_persons(table: EngineTable, schema: Schema) -> Iterator[str]:
    """That a person has several records, as `leaks.repeated_persons` finds in memory."""
    if schema.person is None or schema.person not in table.types:
        return
    lazy, _ = table.keyed([schema.person])
    key = lazy.collect_schema().names()[0]
    own = lazy.filter(~nw.col(key).is_null()).group_by(key).agg(nw.len().alias(COUNT))
    most = collected(own.select(nw.col(COUNT).max()))[COUNT][0]
    if most is not None and int(most) > 1:
        yield "Some persons have several records; whoever knows which can intersect their groups. Keep one of each."
