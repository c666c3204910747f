"""A table larger than memory: what is learned of it batch by batch, and its parts on disk.

Three passes over the data. The first takes a sample, from which the upper levels of the tree are grown (`segments`).
The second sends each record to its part, in a temporary folder. Then part after part is loaded and released as a table
of its own: records of different parts share no group, so that k and ℓ hold for the whole when they hold for each part.
The third pass puts what stands for each record back into its place.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.anonymizers.ranks import Ranked, in_order
from modicum.anonymizers.segments import Segments
from modicum.errors import DataError
from modicum.table.files import open_connection, write_frame
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.schema import Schema
from modicum.typing import Codes, Floats

Read = Callable[[], Iterable[Any]]
_SAMPLE = 50_000


def frames(read: Read) -> Iterator[nw.DataFrame[Any]]:
    """The batches that hold records."""
    for batch in read():
        frame = as_frame(batch)
        if len(frame):
            yield frame


@dataclass
class Survey:
    """What the first pass learns: how many records there are, a uniform sample of them, and what values there are."""

    schema: Schema
    names: list[str]
    rows: int = 0
    sample: nw.DataFrame[Any] | None = None
    keys: Floats = field(default_factory=lambda: np.zeros(0))
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)
    words: dict[str, set[str]] = field(default_factory=dict)
    types: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, read: Read, schema: Schema, names: list[str], seed: int) -> "Survey":
        """Look at every batch."""
        found, random = cls(schema, names), np.random.default_rng(seed)
        for frame in frames(read):
            found.add(frame, random)
        if found.sample is None:
            raise DataError("The batches hold 0 rows, so there is nobody to hide among.")
        return found

    def add(self, frame: nw.DataFrame[Any], random: np.random.Generator) -> None:
        """Look at one batch; of all records so far, those with the lowest random keys are the sample."""
        self.rows += len(frame)
        for name in self.names:
            self._note(name, column(frame, name))
        keys = np.append(self.keys, random.uniform(size=len(frame)))
        own = frame.select(self.names)
        together = own if self.sample is None else nw.concat([self.sample, own])
        lowest = np.sort(np.argsort(keys, kind="stable")[:_SAMPLE])
        self.sample, self.keys = together[lowest], keys[lowest]

    def _note(self, name: str, series: nw.Series[Any]) -> None:
        """Remember a column's values; one type must do for all batches, or casting could tell groups apart again."""
        kind = getattr(series.to_native(), "dtype", series.dtype)
        if self.types.setdefault(name, kind) != kind:
            raise DataError(f"The column {name!r} does not have the same type in all batches; give it one.")
        attribute = self.schema[name]
        if attribute.is_category:
            self.words.setdefault(name, set()).update(texts(series)[1])
            return
        values = numbers(series, attribute)
        low, high = self.ends.get(name, (np.inf, -np.inf))
        ends = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
        self.ends[name] = min(low, float(ends[0])), max(high, float(ends[1]))

    def build_schema(self) -> Schema:
        """The schema with all values that there are as domains, so that each part is measured against the whole."""
        schema = self.schema
        for name, ends in self.ends.items():
            if schema[name].domain is None and ends[0] <= ends[1]:
                schema = schema.replace(name, domain=list(ends))
        for name, words in self.words.items():
            if schema[name].domain is None and words:
                schema = schema.replace(name, domain=in_order(schema[name], words))
        return schema

    def segments(self, batch_rows: int) -> Segments:
        """The parts of the table, each of about so many records at most."""
        assert self.sample is not None
        least = max(1, len(self.sample) * batch_rows // (4 * self.rows))
        return Segments.of(Ranked.of(self.sample, self.build_schema(), self.names), least)


@dataclass
class Parts:
    """The parts on disk: for each batch and part a file with the columns that are needed."""

    folder: Path
    counts: list[dict[int, int]] = field(default_factory=list)

    def spill(self, frame: nw.DataFrame[Any], which: Codes) -> None:
        """Write one batch, part by part."""
        batch = len(self.counts)
        self.counts.append({})
        for part in np.unique(which).tolist():
            rows = np.flatnonzero(which == part)
            write_frame(frame[rows].to_native(), self.folder / f"in-{part}-{batch}.parquet")
            self.counts[batch][part] = len(rows)

    def bundles(self, would_do: Callable[[pd.DataFrame], bool]) -> Iterator[list[int]]:
        """The parts, neighbours together where one alone could not be released; what is left over joins the last."""
        last: list[int] = []
        bundle: list[int] = []
        for part in sorted({part for counts in self.counts for part in counts}):
            bundle.append(part)
            if would_do(self.load(bundle)):
                if last:
                    yield last
                last, bundle = bundle, []
        yield last + bundle

    def load(self, bundle: Iterable[int]) -> pd.DataFrame:
        """Some parts as one table, file after file."""
        with open_connection() as connection:
            read = [connection.read_parquet(self._file("in", part, batch)).df() for part, batch, _ in self._of(bundle)]
        return pd.concat(read, ignore_index=True)

    def store(self, bundle: Iterable[int], released: pd.DataFrame) -> None:
        """Write what stands for the records of some parts, in the order in which `load` gave them."""
        start = 0
        for part, batch, many in self._of(bundle):
            write_frame(released[start : start + many], self._file("out", part, batch))
            start += many

    def fetch(self, batch: int, which: Codes) -> pd.DataFrame:
        """What stands for the records of one batch, in their order."""
        parts = list(self.counts[batch])
        if self.counts[batch] != dict(zip(*np.unique(which, return_counts=True), strict=True)):
            raise DataError("The batches are not the same each time that they are read.")
        with open_connection() as connection:
            found = [connection.read_parquet(self._file("out", part, batch)).df() for part in parts]
        order = np.concatenate([np.flatnonzero(which == part) for part in parts])
        return pd.concat(found, ignore_index=True).iloc[np.argsort(order, kind="stable")].reset_index(drop=True)

    def _of(self, bundle: Iterable[int]) -> list[tuple[int, int, int]]:
        return [(p, batch, counts[p]) for p in bundle for batch, counts in enumerate(self.counts) if p in counts]

    def _file(self, kind: str, part: int, batch: int) -> str:
        return str(self.folder / f"{kind}-{part}-{batch}.parquet")


def put_back(frame: nw.DataFrame[Any], stands: pd.DataFrame, published: list[str], as_values: bool) -> Any:
    """A batch with what stands for its quasi-identifiers, in the types that it has."""
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        found = native[published].copy(deep=False)
        for name in stands.columns:
            own = stands[name].set_axis(native.index)
            found[name] = own.astype(native[name].dtype) if as_values else own
        return found
    plain = {str(name): own.astype(object).where(own.notna(), None).tolist() for name, own in stands.items()}
    made = [nw.new_series(name, own, backend=frame.implementation) for name, own in plain.items()]
    kinds = {name: frame.schema[name] if as_values else nw.String() for name in plain}
    return frame.select(published).with_columns([each.cast(kinds[each.name]) for each in made]).to_native()


@dataclass
class Tally:
    """How often each combination of quasi-identifiers was given out, by a hash of it."""

    counts: pd.Series = field(default_factory=lambda: pd.Series(dtype=np.int64))

    def add(self, released: Any, names: list[str]) -> None:
        """Count one batch as it was given out."""
        quasi = as_frame(released).select(names).to_pandas()
        quasi = quasi.astype({name: str for name in names if quasi[name].dtype == "category"})
        hashes = pd.util.hash_pandas_object(quasi, index=False).value_counts()
        self.counts = self.counts.add(hashes, fill_value=0)

    def check(self, k: int) -> None:
        """Refuse, before the last word is spoken, a release in which somebody has fewer than k records."""
        if self.counts.min() < k:
            raise DataError("The batches would break the k that was asked for, so they are not to be released.")
