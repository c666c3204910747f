"""Minimizers that need nothing of their data but counts, so that the records may stay where they live."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.engines.coded_table import CodedTable, StreamedCounts
from modicum.engines.coding import coder_at, labels_at, numbers_at, schema_at
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError
from modicum.generalization.bins import AnyPartition
from modicum.minimizers.base import CodedData, Minimizer, obeying
from modicum.table.codes import Coder, Grouping, NumberCoding
from modicum.table.counts import CountSource, Layout
from modicum.table.schema import Schema
from modicum.table.targets import Labels


@dataclass(frozen=True)
class TableData:
    """The training data where it lives: what a counting minimizer asks of it is what it asks of `CodedData`."""

    table: EngineTable
    coder: Coder
    labels: Labels | None
    coded: CodedTable

    @property
    def schema(self) -> Schema:
        return self.coder.schema

    @property
    def n_classes(self) -> int:
        return 0 if self.labels is None else len(self.labels)

    @property
    def records(self) -> int:
        coding = self.coder.codings[0]
        return int(coding.counts.sum()) + coding.missing

    def counts(self, layout: Layout) -> CountSource:
        """The histograms of a tree's nodes, a pass for each batch of them."""
        return StreamedCounts(self.coded, layout)

    def grouped(self, grouping: Grouping) -> dict[str, NumberCoding]:
        """The values of every number in other groups than its codes."""
        names = [coding.attribute.name for coding in self.coder.codings if isinstance(coding, NumberCoding)]
        return numbers_at(self.table, dict.fromkeys(names, grouping), self.schema) if names else {}


AnyData = CodedData | TableData


class CountingMinimizer(Minimizer):
    """The common parent of the minimizers that fit on a table in an engine as they do on a frame."""

    def _partitions(self, data: AnyData) -> Sequence[AnyPartition]:
        raise ParameterError(f"{type(self).__name__} does not say how it makes buckets.")

    def _fit_at(self, table: EngineTable, y: str | None, sample_weight: Any) -> None:
        if sample_weight is not None:
            raise DataError(
                "sample_weight counts rows in memory; a table in an engine has its records one by one, so leave it out."
            )
        if y is None and self._needs_label:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        schema = self._schema_at(table, y)
        labels = None if y is None else self._labels_at(table, y)
        coder = coder_at(table, schema)
        label = None if y is None or labels is None else (y, labels)
        with CodedTable.of(table, coder, label) as coded:
            self.generalization_ = obeying(coder, self._partitions(TableData(table, coder, labels, coded)))

    def _schema_at(self, table: EngineTable, y: str | None) -> Schema:
        """The schema of the features, by what the engine says of the columns; remembers their names."""
        table.check([] if y is None else [y])
        self._columns = [name for name in table.columns if name != y]
        self.feature_names_in_ = np.array(self._columns, dtype=object)
        self.n_features_in_ = len(self._columns)
        if self.schema is None and not self._columns:
            raise DataError("The data has no attribute to minimize besides the label and identifiers.")
        found = schema_at(table, self._columns) if self.schema is None else self.schema
        if y is not None and isinstance(found, Schema) and y in found.features:
            found = found.with_roles(label=y)
        return self._with_roles(found)

    def _labels_at(self, table: EngineTable, y: str) -> Labels:
        self._labels = labels_at(table, y, self._checked_bins())
        return self._labels
