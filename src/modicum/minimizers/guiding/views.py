"""What the model is fed and what people are asked: one-hot columns as a category, scaled numbers in their own units."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.table.frames import as_frame, column, is_array, same_kind
from modicum.table.values import Floats, canonical

_MARKS = " _-=:."
_DIGITS = 9  # significant, of a number that was scaled and scaled back


@dataclass(frozen=True)
class View:
    """From the model's columns to attributes that a person can be asked for, and back.

    Parameters
    ----------
    columns : the model's columns, in its order
    labels : their names in X, where those are no texts
    slices : attribute → its one-hot columns
    scaler : a fitted transformer of the columns `scaled`, or None
    array : whether the model takes arrays
    hot : the type of one-hot columns
    """

    columns: tuple[str, ...]
    labels: tuple[Any, ...]
    slices: dict[str, tuple[str, ...]]
    scaler: Any
    scaled: tuple[str, ...]
    array: bool
    hot: Any  # the type of one-hot columns

    @classmethod
    def of(cls, X: Any, columns: Sequence[str], slices: Any, scaler: Any) -> "View":
        """Check what the caller says of the model's columns."""
        named = _named_slices(slices, columns)
        within = {name for members in named.values() for name in members}
        scaled: Sequence[str] = ()
        if scaler is not None:
            if isinstance(scaler, type) or not hasattr(scaler, "inverse_transform") or not hasattr(scaler, "transform"):
                raise ParameterError("The 'scaler' parameter of ModelGuided must have transform and inverse_transform.")
            known = getattr(scaler, "feature_names_in_", None)
            scaled = [str(name) for name in known] if known is not None else [c for c in columns if c not in within]
            absent = [name for name in scaled if name not in columns]
            if absent:
                raise DataError(f"The scaler was fitted to a column {absent[0]!r}, which is not in the data.")
        own = {str(label): label for label in X.columns} if isinstance(X, pd.DataFrame) else {}
        labels = tuple(own.get(name, name) for name in columns)
        kinds = [X[own[name]].dtype for name in within] if own else []
        hot = bool if kinds and all(pd.api.types.is_bool_dtype(kind) for kind in kinds) else np.float64
        return cls(tuple(columns), labels, named, scaler, tuple(scaled), is_array(X), hot)

    @property
    def is_plain(self) -> bool:
        """Whether the model is fed just what people are asked for."""
        return not self.slices and self.scaler is None

    def given(self, frame: nw.DataFrame[Any]) -> Any:
        """The records as they are, in the model's columns alone."""
        native = frame.select(list(self.columns)).to_native()
        return native.to_numpy() if self.array else self._labelled(native)

    def attributes(self, X: Any) -> Any:
        """The model's columns as attributes: categories from one-hot groups, numbers in original units."""
        if self.is_plain:
            return X
        frame = as_frame(X, self.columns)
        found: dict[str, Any] = {}
        unscaled = self._unscaled(frame)
        group_of = {member: name for name, members in self.slices.items() for member in members}
        for name in self.columns:
            if name in group_of:
                attribute = group_of[name]
                if attribute not in found:
                    found[attribute] = self._category(frame, attribute)
            else:
                found[name] = unscaled[name] if name in unscaled else _native(column(frame, name))
        return pd.DataFrame(found) if self.array else same_kind(found, like=frame.to_native())

    def fed(self, attributes: Any) -> Any:
        """Attributes as the model takes them: the inverse of `attributes`, in the model's order."""
        frame = as_frame(attributes)
        if self.is_plain:
            wanted = list(self.columns)
            native = frame.to_native() if frame.columns == wanted else frame.select(wanted).to_native()
            return native.to_numpy() if self.array else self._labelled(native)
        found: dict[str, Any] = {name: _native(column(frame, name)) for name in self.columns if name in frame.columns}
        for attribute, members in self.slices.items():
            values = np.asarray(column(frame, attribute).to_numpy(), dtype=object)
            for member, value in zip(members, _values(members), strict=True):
                found[member] = (values == value).astype(self.hot)
        if self.scaler is not None:
            scaled = self._scale("transform", found)
            found |= {name: scaled[:, j] for j, name in enumerate(self.scaled)}
        ordered = {name: found[name] for name in self.columns}
        if self.array:
            return np.column_stack([np.asarray(values, dtype=np.float64) for values in ordered.values()])
        return self._labelled(same_kind(ordered, like=frame.to_native()))

    def _labelled(self, native: Any) -> Any:
        """With the names that the model knows, which may be numbers."""
        return native if self.labels == self.columns else native.set_axis(list(self.labels), axis=1)

    def _unscaled(self, frame: Any) -> dict[str, Any]:
        if self.scaler is None:
            return {}
        found = {name: column(frame, name).to_numpy() for name in self.scaled}
        values = self._scale("inverse_transform", found)
        return {name: _rounded(values[:, j]) for j, name in enumerate(self.scaled)}

    def _scale(self, way: str, columns: Mapping[str, Any]) -> Floats:
        try:
            return np.asarray(getattr(self.scaler, way)(self._matrix(columns)), dtype=np.float64)
        except Exception as error:
            kind = type(error).__name__  # the text may show a value
            raise ParameterError(f"The scaler failed ({kind}); it must be fitted, to columns of numbers.") from None

    def _matrix(self, columns: Mapping[str, Any]) -> Any:
        values = {name: np.asarray(columns[name], dtype=np.float64) for name in self.scaled}
        if hasattr(self.scaler, "feature_names_in_"):
            return pd.DataFrame(values)
        return np.column_stack(list(values.values()))

    def _category(self, frame: Any, attribute: str) -> Any:
        members = self.slices[attribute]
        flags = np.column_stack([column(frame, name).to_numpy() for name in members]).astype(np.float64)
        if not np.isin(flags, (0.0, 1.0)).all() or (flags.sum(axis=1) > 1).any():
            raise DataError(
                f"The columns of {attribute!r} in feature_slices are not one-hot: one of them is 1, or none."
            )
        values = np.array([*_values(members), None], dtype=object)
        return values[np.where(flags.any(axis=1), flags.argmax(axis=1), len(members))]


def _native(series: nw.Series[Any]) -> Any:
    """A column with its own type, where the frame's library can take it as it is."""
    native = series.to_native()
    return native if isinstance(native, pd.Series) else series.to_numpy()


def _named_slices(slices: Any, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    if slices is None:
        return {}
    if isinstance(slices, Mapping):
        named = {str(name): _members(members, columns) for name, members in slices.items()}
    elif isinstance(slices, Iterable) and not isinstance(slices, str):
        found = [_members(members, columns) for members in slices]
        named = {_common(members): members for members in found}
        if len(named) < len(found):
            raise ParameterError("Two groups of feature_slices would bear one name; give them as a dict with names.")
    else:
        raise ParameterError(
            f"The 'feature_slices' parameter must be a dict or a list of groups of columns. Got {slices!r} instead."
        )
    every = [member for members in named.values() for member in members]
    absent = [name for name in every if name not in columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} of feature_slices is not in the data.")
    twice = [name for name in every if every.count(name) > 1]
    if twice:
        raise ParameterError(f"The column {twice[0]!r} is in more than one group of feature_slices.")
    taken = [name for name in named if name in columns and name not in every]
    if taken:
        raise ParameterError(f"A group of feature_slices is called {taken[0]!r}, as another column is.")
    return named


def _members(members: Any, columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise ParameterError(f"A group of feature_slices must be a list of columns. Got {members!r} instead.")
    found = tuple(_column(member, columns) for member in members)
    if len(found) < 2:
        raise ParameterError("A group of feature_slices needs at least two columns.")
    return found


def _column(member: Any, columns: Sequence[str]) -> str:
    """A column by name, or by its place."""
    if isinstance(member, int | np.integer) and not isinstance(member, bool):
        if not 0 <= member < len(columns):
            raise DataError(f"The feature_slices speak of column {member}, but there are {len(columns)}.")
        return columns[int(member)]
    return str(member)


def _common(members: Sequence[str]) -> str:
    """What the names of a group begin with, else all of them."""
    return _beginning(members).rstrip(_MARKS) or " | ".join(members)


def _values(members: Sequence[str]) -> list[str]:
    """Each member's name without what all begin with."""
    short = [canonical(name.removeprefix(_beginning(members))) for name in members]
    return short if all(short) else [canonical(name) for name in members]


def _beginning(members: Sequence[str]) -> str:
    """What all names begin with, up to a mark such as an underscore."""
    first, last = min(members), max(members)  # what these two share, all share
    same = [one == other for one, other in zip(first, last, strict=False)]
    shared = first[: same.index(False) if False in same else len(same)]
    return shared[: max(shared.rfind(mark) for mark in _MARKS) + 1]


def _rounded(values: Any) -> Any:
    """Without the noise of scaling there and back; whole numbers where all are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(values == 0, 0.0, np.floor(np.log10(np.abs(values))))
        unit = 10.0 ** (size - _DIGITS + 1)
        found = np.where(np.isfinite(values) & (values != 0), np.round(values / unit) * unit, values)
    near = np.round(found)
    if np.isfinite(found).all() and np.abs(found).max() >= 1 and np.allclose(found, near, rtol=0, atol=1e-6):
        return near.astype(np.int64)
    return found
