"""The best guess in hindsight, counted in the engine: Σ over what is seen of its most frequent value."""

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw

from modicum.engines.buckets import buckets_at, number_key, target_key
from modicum.engines.grouped import with_keys
from modicum.engines.opening import table_at
from modicum.engines.table import EngineTable, collected
from modicum.generalization import Artifact
from modicum.table.targets import Target

_VALUE, _MANY = "modicum_value", "modicum_many"


@dataclass(frozen=True)
class Best:
    """How many records the best rule gets right, how many the most frequent value, and how many cells there are."""

    right: int
    naive: int
    groups: int


def best_at(table: EngineTable, g: Artifact, name: str, target: Target | None, side: Sequence[str]) -> Best:
    """What the best rule reaches for one attribute that sees the buckets, and `side` in full detail.

    A category is guessed exactly, a number by its bin in `target`.

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md
    >>> from modicum.engines import table_at
    >>> from modicum.engines.hindsight import best_at
    >>> X = pd.DataFrame({"age": [18, 35, 70, 71], "job": ["nurse", "clerk", "nurse", "nurse"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> best_at(table_at(duckdb.sql("SELECT * FROM X")), g, "job", None, [])
    Best(right=3, naive=3, groups=2)
    """
    table.check([name, *side])
    words = [other for other in side if g.schema[other].is_category]
    lazy, keys = with_keys(table, [*words, *([name] if target is None else [])])
    value = nw.col(keys[-1]) if target is None else target_key(table, target)
    numbers = {
        f"modicum_number{i}": number_key(table, g.schema[other]) for i, other in enumerate(side) if other not in words
    }
    beside = {_VALUE: value, **{key: nw.col(key) for key in keys[: len(words)]}, **numbers}
    seen = buckets_at(table_at(lazy.to_native()), g, beside)
    cells = [*seen.keys, *(key for key in beside if key != _VALUE)]
    pairs = seen.lazy.group_by([*cells, _VALUE]).agg(nw.len().alias(_MANY))
    of_cells = pairs.group_by(cells).agg(nw.col(_MANY).max())
    best = collected(of_cells.select(nw.col(_MANY).sum(), nw.len().alias("modicum_cells")))
    values = seen.lazy.group_by(_VALUE).agg(nw.len().alias(_MANY))  # which takes no buckets
    most = collected(values.select(nw.col(_MANY).max()))
    return Best(int(best[_MANY][0]), int(most[_MANY][0]), int(best["modicum_cells"][0]))
