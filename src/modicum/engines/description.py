"""What a generalization asks of the records of a table in an engine: shares of buckets and the smallest group."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.buckets import Seen, bucket_counts, buckets_at
from modicum.engines.grouped import PERSON, groups_at, records_of, sizes_at, with_person
from modicum.engines.opening import table_at
from modicum.engines.table import collected
from modicum.generalization import Generalization
from modicum.generalization.bins import Dropped, FullDetail
from modicum.generalization.description import Counted
from modicum.table.values import Codes


def described_at(g: Generalization, X: Any) -> Counted:
    """The counts behind a description, by group-bys in the engine.

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md
    >>> from modicum.engines.description import described_at
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> described_at(g, duckdb.sql("SELECT * FROM X")).smallest
    1
    """
    table = with_person(table_at(X), g.schema)
    person = PERSON if PERSON in table.types else None
    seen = buckets_at(table, g)
    sizes, often = sizes_at(seen.lazy, seen.keys, person)
    records, n = bucket_counts(table, g), table.rows()
    persons = n if person is None else int(records_of(table.lazy, person)[1].sum())
    return Counted(
        buckets=[records[name] for name in g.names],
        persons_in=[_persons(seen, j, records[name], person, persons) for j, name in enumerate(g.names)],
        records=n,
        persons=persons,
        groups=int(often.sum()),
        smallest=int(sizes[0]) if len(sizes) else 0,
    )


def _persons(seen: Seen, j: int, records: Codes, person: str | None, persons: int) -> Codes:
    """How many persons each bucket of an attribute holds."""
    partition = seen.partitions[j]
    if person is None or isinstance(partition, FullDetail):
        return records
    if isinstance(partition, Dropped):
        return np.array([persons])
    key = f"modicum_z{j}"
    found = collected(groups_at(seen.lazy, [key], person).select(key, nw.col("modicum_size")))
    many = np.zeros(len(records), dtype=np.int64)
    many[found[key].to_numpy()] = found["modicum_size"].to_numpy()
    return many
