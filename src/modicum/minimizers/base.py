"""What every minimizer shares: reading X and y, roles, and the transformer's half of the scikit-learn contract."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from modicum.errors import DataError, ParameterError, check_number
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, keep
from modicum.table.codes import CodeArray, Coder, Coding, NumberCoding, Weights, equal_starts
from modicum.table.estimator_input import frame_of, record_counts, schema_of
from modicum.table.frames import as_frame, is_array
from modicum.table.labels import Labels, label_name, label_values
from modicum.table.schema import Schema
from modicum.table.targets import BINS
from modicum.table.values import Codes


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
        return self.coder.schema

    @property
    def n_classes(self) -> int:
        return 0 if self.label is None else int(self.label.max()) + 1


class Minimizer(TransformerMixin, BaseEstimator):
    """The common parent of all minimizers: `fit` learns `generalization_`, `transform` applies it.

    A subclass implements `_partitions(data)`, one partition per feature.
    """

    _needs_label = True

    schema: Schema | None
    personal: Iterable[str] | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn a generalization.

        Parameters
        ----------
        X : pandas or polars frame, or array
            The features; a column of X that the schema calls label, person or identifier is left out.
        y : array-like
            The label to predict.
        sample_weight : array-like of int, optional
            How many records each row stands for.
        """
        self._check_parameters()
        data = self._coded(X, y, sample_weight)
        self.generalization_ = obeying(data.coder, self._partitions(data))
        return self

    def transform(self, X: Any) -> Any:
        """X with no more detail than `generalization_` collects: labels for a frame, codes for an array."""
        check_is_fitted(self)
        if not is_array(X):
            return self.generalization_.transform(X)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
        frame = as_frame(X, self._columns).to_native()
        return self.generalization_.transform(frame, output="codes").to_numpy()

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The names of the attributes still collected."""
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
        raise ParameterError(f"{type(self).__name__} does not say how it makes buckets.")

    def _coded(self, X: Any, y: Any, sample_weight: Any) -> CodedData:
        frame = self._frame(X)
        schema = self._resolved_schema(frame)
        weights = record_counts(sample_weight, len(frame))
        values = self._label_values(y, len(frame))
        if weights is not None and (weights == 0).any():
            rows = np.flatnonzero(weights > 0)
            frame, weights = frame[rows.tolist()], weights[rows]
            values = None if values is None else values[rows]
        label = None if values is None else self._label_codes(values, label_name(y), weights)
        coder = Coder.fit(frame, schema, weights)
        return CodedData(coder, coder.encode(frame), label, weights, frame)

    def _frame(self, X: Any) -> nw.DataFrame[Any]:
        """X as a frame, an array under the schema's names; its columns are remembered."""
        frame = frame_of(self, X)
        self._columns = list(frame.columns)
        return frame

    def _resolved_schema(self, frame: Any) -> Schema:
        schema = schema_of(self, frame).with_roles(personal=self.personal)
        if not schema.features:
            raise DataError("The data has no attribute to minimize besides the label and identifiers.")
        return schema

    def _label_values(self, y: Any, n: int) -> npt.NDArray[Any] | None:
        if y is None:
            if self._needs_label:
                raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
            return None
        return label_values(y, n)

    def _label_codes(self, values: npt.NDArray[Any], name: str, weights: Weights | None) -> npt.NDArray[np.int64]:
        bins = getattr(self, "label_bins", None)
        if bins is not None:
            check_number(self, "label_bins", 2)
        self._labels = Labels.fit(values, bins, weights, name=name)
        return self._labels.encode(values)


def obeying(coder: Coder, partitions: Sequence[AnyPartition]) -> Generalization:
    """The partitions a method found; what the schema locks is kept, what it forbids is dropped, whatever it found."""
    pairs = zip(coder.codings, partitions, strict=True)
    ruled = [keep(c) if c.attribute.locked else drop(c) if c.attribute.forbidden else p for c, p in pairs]
    return Generalization(coder.schema, ruled)


def guessed_codes(coding: Coding) -> Codes:
    """Each code (missing last) as an adversary guesses it: a category as it is, a number by tenths of the records."""
    own = np.arange(coding.n_values)
    if isinstance(coding, NumberCoding):
        own = np.cumsum(equal_starts(coding.counts, BINS)) - 1
    return np.append(own, own.max() + 1) if coding.missing else own
