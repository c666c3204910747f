"""The base of all minimizers: reading X and y, roles, and scikit-learn's transformer methods."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from modicum.engines import is_table, table_at
from modicum.engines.coded_table import CodedTable, StreamedCounts
from modicum.engines.coding import coder_at, labels_at, numbers_at, schema_at
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError, check_number
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, keep
from modicum.table.codes import CodeArray, Coder, Coding, Grouping, NumberCoding, Weights, equal_starts, group_numbers
from modicum.table.counts import CountSource, Layout, RowCounts
from modicum.table.estimator_input import frame_of, record_counts, schema_of
from modicum.table.frames import as_frame, is_array, numbers
from modicum.table.schema import Schema
from modicum.table.targets import BINS, Labels, label_name, label_values
from modicum.typing import Codes


@dataclass(frozen=True)
class CodedData:
    """The training data as a minimizer sees it: coded features, label codes, records per row, and the frame itself."""

    coder: Coder
    codes: CodeArray
    label: npt.NDArray[np.int64] | None
    weights: Weights | None
    frame: nw.DataFrame[Any]

    @property
    def schema(self) -> Schema:
        """Kinds and roles of the features."""
        return self.coder.schema

    @property
    def n_classes(self) -> int:
        """The number of the label's classes; 0 without a label."""
        return 0 if self.label is None else int(self.label.max()) + 1

    @property
    def records(self) -> int:
        """How many records the rows represent."""
        return len(self.codes) if self.weights is None else int(self.weights.sum())

    def counts(self, layout: Layout) -> CountSource:
        """The histograms of a tree's nodes; the label is the last column that a layout can name."""
        return RowCounts(self.with_label, layout, self.weights)

    @property
    def with_label(self) -> CodeArray:
        """The codes, with the label's class as last column if there is a label."""
        return self.codes if self.label is None else np.column_stack([self.codes, self.label.astype(np.uint16)])

    def regroup_numbers(self, grouping: Grouping) -> dict[str, NumberCoding]:
        """Group the values of every number again."""
        attributes = [coding.attribute for coding in self.coder.codings if isinstance(coding, NumberCoding)]
        columns = {a.name: numbers(self.frame[a.name], a) for a in attributes}
        return {a.name: group_numbers(a, columns[a.name], self.weights, grouping.starts) for a in attributes}


class Minimizer(TransformerMixin, BaseEstimator):
    """The base class of all minimizers: `fit` learns `generalization_`, `transform` applies it.

    A subclass implements `_partitions(data)`, one partition per feature.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.generalization.build import drop, keep
    >>> from modicum.minimizers.base import Minimizer
    >>> class Without(Minimizer):
    ...     def __init__(self, *, name="sex", personal=None, schema=None):
    ...         self.name, self.personal, self.schema = name, personal, schema
    ...
    ...     def _partitions(self, data):
    ...         return [drop(c) if c.attribute.name == self.name else keep(c) for c in data.coder.codings]
    >>> X = pd.DataFrame({"age": [18, 35, 70], "sex": ["f", "m", "f"]})
    >>> Without().fit(X, [0, 0, 1]).generalization_.needed
    ['age']
    """

    _needs_label = True

    schema: Schema | None
    personal: Iterable[str] | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, sample: int | None = None) -> Any:
        """Learn a generalization.

        Parameters
        ----------
        X : pandas or polars frame, array, or lazy table
            The features; a column of X that the schema calls label, person or identifier is left out. A table in an
            engine (DuckDB relation, Spark DataFrame, polars LazyFrame, Ibis table) stays there: `PrivacyTree`,
            `Uniform` and `FeatureSelection` learn the same from its counts as from the same rows in memory.
        y : array-like
            The label to predict; for a table in an engine, the name of its column.
        sample_weight : array-like of int, optional
            How many records each row represents.
        sample : int, optional
            Learn from this many records of X in memory, drawn by a hash of their values; `sample_check_` then says
            whether they were enough ([Staab24 §8.3] finds that a small part of the data suffices).
        """
        self._check_parameters()
        if sample is not None:
            return self._fit_sample(X, y, sample, sample_weight=sample_weight)
        self._forget_sample()
        if stays_in_engine(X, y):
            self._fit_at(table_at(X), y, sample_weight)
            return self
        data = self._encode_data(X, y, sample_weight)
        self.generalization_ = enforce_schema(data.coder, self._partitions(data))
        return self

    def transform(self, X: Any) -> Any:
        """Return X with no more detail than `generalization_` collects: labels for a frame, codes for an array."""
        check_is_fitted(self)
        if not is_array(X):
            return self.generalization_.transform(X)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
        frame = as_frame(X, self._columns).to_native()
        return self.generalization_.transform(frame, output="codes").to_numpy()

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the attributes that are still collected."""
        check_is_fitted(self)
        return np.array(self.generalization_.needed, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = self._needs_label
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""

    def _partitions(self, data: CodedData) -> Sequence[AnyPartition]:
        raise ParameterError(f"{type(self).__name__} must implement _partitions, which makes the buckets.")

    def _fit_at(self, table: EngineTable, y: str | None, sample_weight: Any) -> None:
        """Learn from a table in an engine."""
        raise in_memory_only(self, table)

    def _fit_sample(self, X: Any, y: Any, sample: int, *, sample_weight: Any = None, **others: Any) -> Any:
        """Learn from a sample, and check on other records that it was enough."""
        from modicum.minimizers.sample_check import check_sample, draw_samples

        if sample_weight is not None:
            raise ParameterError("sample draws records that count one each; give it or sample_weight, not both.")
        pair = draw_samples(X, y, sample, getattr(self, "random_state", 0))
        learning, other = (replace(part, X=self._convert_sample(part.X)) for part in pair)
        self.fit(learning.X, learning.y, **others)
        self.sample_check_ = check_sample(self, learning, other)
        return self

    def _convert_sample(self, X: Any) -> Any:
        """Convert a sample to what the method takes."""
        return X

    def _seed(self) -> int:
        return int(check_random_state(getattr(self, "random_state", 0)).randint(2**31))

    def _forget_sample(self) -> None:
        self.__dict__.pop("sample_check_", None)

    def _leaves(self, X: Any) -> Codes | None:
        """Return each record's leaf, if the method predicts by the leaves of a tree."""
        return None

    def _attributes(self, X: Any) -> nw.DataFrame[Any]:
        """Convert records to what the generalization takes."""
        return as_frame(X, self._columns)

    def _encode_data(self, X: Any, y: Any, sample_weight: Any) -> CodedData:
        if stays_in_engine(X, y):
            raise in_memory_only(self, table_at(X))
        frame = self._frame(X)
        schema = self._resolve_schema(frame)
        weights = record_counts(sample_weight, len(frame))
        self._check_label(y)
        values = None if y is None else label_values(y, len(frame))
        if weights is not None and (weights == 0).any():
            rows = np.flatnonzero(weights > 0)
            frame, weights = frame[rows.tolist()], weights[rows]
            values = None if values is None else values[rows]
        label = None
        if values is not None:
            self._labels = Labels.fit(values, self._check_bins(), weights, name=label_name(y))
            label = self._labels.encode(values)
        coder = Coder.fit(frame, schema, weights)
        return CodedData(coder, coder.encode(frame), label, weights, frame)

    def _frame(self, X: Any) -> nw.DataFrame[Any]:
        """Return X as a frame (an array gets the schema's names), and remember its columns."""
        frame = frame_of(self, X)
        self._columns = list(frame.columns)
        return frame

    def _resolve_schema(self, frame: Any) -> Schema:
        return self._with_roles(schema_of(self, frame))

    def _with_roles(self, found: Schema) -> Schema:
        schema = found.with_roles(personal=self.personal)
        if not schema.features:
            raise DataError("The data has no attribute to minimize besides the label and identifiers.")
        return schema

    def _check_label(self, y: Any) -> None:
        if y is None and self._needs_label:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")

    def _check_bins(self) -> int | None:
        bins: int | None = getattr(self, "label_bins", None)
        if bins is not None:
            check_number(self, "label_bins", 2)
        return bins


def stays_in_engine(X: Any, y: Any) -> bool:
    """Return whether X is a table in an engine and y, if given, one of its columns: the records then stay there."""
    return is_table(X) and (y is None or isinstance(y, str))


def in_memory_only(method: Any, table: EngineTable) -> DataError:
    """Return the error of a method that needs the records themselves."""
    return DataError(
        f"{type(method).__name__} learns from records in memory, not from a table in {table.engine}: give sample= to "
        "draw some of them, or use PrivacyTree, Uniform or FeatureSelection, which learn from counts."
    )


def enforce_schema(coder: Coder, partitions: Sequence[AnyPartition]) -> Generalization:
    """Make a generalization of a method's partitions; keep what the schema locks, drop what it forbids."""
    pairs = zip(coder.codings, partitions, strict=True)
    ruled = [keep(c) if c.attribute.locked else drop(c) if c.attribute.forbidden else p for c, p in pairs]
    return Generalization(coder.schema, ruled)


def make_guess_codes(coding: Coding) -> Codes:
    """Map each code (missing last) to what an adversary guesses: the category, or the number's tenth of the records."""
    own = np.arange(coding.n_values)
    if isinstance(coding, NumberCoding):
        own = np.cumsum(equal_starts(coding.counts, BINS)) - 1
    return np.append(own, own.max() + 1) if coding.missing else own


# Minimizers that need only counts, so that the records may stay in an engine


@dataclass(frozen=True)
class TableData:
    """The training data in an engine, with the interface of `CodedData` that counting minimizers use."""

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

    def regroup_numbers(self, grouping: Grouping) -> dict[str, NumberCoding]:
        """Group the values of every number again."""
        names = [coding.attribute.name for coding in self.coder.codings if isinstance(coding, NumberCoding)]
        return numbers_at(self.table, dict.fromkeys(names, grouping), self.schema) if names else {}


AnyData = CodedData | TableData


class CountingMinimizer(Minimizer):
    """The base class of minimizers that fit on a table in an engine as on a frame."""

    def _partitions(self, data: AnyData) -> Sequence[AnyPartition]:
        raise ParameterError(f"{type(self).__name__} must implement _partitions, which makes the buckets.")

    def _fit_at(self, table: EngineTable, y: str | None, sample_weight: Any) -> None:
        if sample_weight is not None:
            raise DataError(
                "sample_weight counts rows in memory; a table in an engine has one row per record, so leave it out."
            )
        self._check_label(y)
        schema = self._schema_at(table, y)
        labels, label = None, None
        if y is not None:
            labels = self._labels = labels_at(table, y, self._check_bins())
            label = y, labels
        coder = coder_at(table, schema)
        with CodedTable.of(table, coder, label) as coded:
            self.generalization_ = enforce_schema(coder, self._partitions(TableData(table, coder, labels, coded)))

    def _schema_at(self, table: EngineTable, y: str | None) -> Schema:
        """Return the schema of the features, by the engine's column types; remember their names."""
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
