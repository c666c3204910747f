"""Records as numbers, and back as input for the model: any mix of representatives and exact values.

A record is a row of integers, one per attribute. A number below the attribute's `n_codes` represents that code's
typical value (null for missing); the others, from `n_codes` on, represent the exact values that occur.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.generalization.bins import Scalar
from modicum.generalization.build import plain, value_of
from modicum.generalization.representatives import build_typed_column
from modicum.learners.asking import Model, Predictions, ask_representatives
from modicum.minimizers.model_guided.outcomes import Outcomes
from modicum.table.codes import CategoryCoding, Coder, Coding, usual_code
from modicum.table.frames import as_frame, column, is_array, numbers, same_kind, texts
from modicum.table.values import canonical
from modicum.typing import Codes, Floats

# What the model gets and what people are asked: one-hot columns are a category, scaled numbers have original units

_MARKS = " _-=:."
_DIGITS = 9  # significant, of a number that was scaled and scaled back


@dataclass(frozen=True)
class ModelView:
    """Convert the model's columns to attributes that people can be asked for, and back.

    Parameters
    ----------
    columns : the model's columns, in its order
    labels : their names in X, which need not be texts
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
    def of(cls, X: Any, columns: Sequence[str], slices: Any, scaler: Any) -> "ModelView":
        """Check the caller's description of the model's columns."""
        named = _parse_slices(slices, columns)
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
        """Whether the model gets exactly what people are asked for."""
        return not self.slices and self.scaler is None

    def select_columns(self, frame: nw.DataFrame[Any]) -> Any:
        """Return the records with the model's columns only."""
        native = frame.select(list(self.columns)).to_native()
        return native.to_numpy() if self.array else self._label_columns(native)

    def attributes(self, X: Any) -> Any:
        """Return the model's columns as attributes: categories from one-hot groups, numbers in original units."""
        if self.is_plain:
            return X
        frame = as_frame(X, self.columns)
        found: dict[str, object] = {}
        unscaled = self._unscale(frame)
        group_of = {member: name for name, members in self.slices.items() for member in members}
        for name in self.columns:
            if name in group_of:
                attribute = group_of[name]
                if attribute not in found:
                    found[attribute] = self._category(frame, attribute)
            else:
                found[name] = unscaled[name] if name in unscaled else _native(column(frame, name))
        return pd.DataFrame(found) if self.array else same_kind(found, like=frame.to_native())

    def feed(self, attributes: Any) -> Any:
        """Return attributes as the model's columns: the inverse of `attributes`, in the model's order."""
        frame = as_frame(attributes)
        if self.is_plain:
            wanted = list(self.columns)
            native = frame.to_native() if frame.columns == wanted else frame.select(wanted).to_native()
            return native.to_numpy() if self.array else self._label_columns(native)
        found: dict[str, object] = {
            name: _native(column(frame, name)) for name in self.columns if name in frame.columns
        }
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
        return self._label_columns(same_kind(ordered, like=frame.to_native()))

    def _label_columns(self, native: Any) -> Any:
        """Give columns the names that the model knows, which may be numbers."""
        return native if self.labels == self.columns else native.set_axis(list(self.labels), axis=1)

    def _unscale(self, frame: Any) -> dict[str, Floats]:
        if self.scaler is None:
            return {}
        found = {name: column(frame, name).to_numpy() for name in self.scaled}
        values = self._scale("inverse_transform", found)
        return {name: _round_numbers(values[:, j]) for j, name in enumerate(self.scaled)}

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
                f"The columns of {attribute!r} in feature_slices are not one-hot: in each row at most one may be 1."
            )
        values = np.array([*_values(members), None], dtype=object)
        return values[np.where(flags.any(axis=1), flags.argmax(axis=1), len(members))]


def _native(series: nw.Series[Any]) -> Any:
    """Return a column with its own type, if the frame's library can take it."""
    native = series.to_native()
    return native if isinstance(native, pd.Series) else series.to_numpy()


def _parse_slices(slices: Any, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    if slices is None:
        return {}
    if isinstance(slices, Mapping):
        named = {str(name): _members(members, columns) for name, members in slices.items()}
    elif isinstance(slices, Iterable) and not isinstance(slices, str):
        found = [_members(members, columns) for members in slices]
        named = {_common(members): members for members in found}
        if len(named) < len(found):
            raise ParameterError("Two groups of feature_slices would have one name; give them as a dict with names.")
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
        raise ParameterError(f"A group of feature_slices has the name of another column, {taken[0]!r}; rename it.")
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
            raise DataError(f"The feature_slices name column {member}, but there are only {len(columns)} columns.")
        return columns[int(member)]
    return str(member)


def _common(members: Sequence[str]) -> str:
    """Return the common beginning of a group's names, else all of them."""
    return _beginning(members).rstrip(_MARKS) or " | ".join(members)


def _values(members: Sequence[str]) -> list[str]:
    """Return each member's name without the common beginning."""
    short = [canonical(name.removeprefix(_beginning(members))) for name in members]
    return short if all(short) else [canonical(name) for name in members]


def _beginning(members: Sequence[str]) -> str:
    """Return the common beginning of all names, up to a mark such as an underscore."""
    first, last = min(members), max(members)  # what these two share, all share
    same = [one == other for one, other in zip(first, last, strict=False)]
    shared = first[: same.index(False) if False in same else len(same)]
    return shared[: max(shared.rfind(mark) for mark in _MARKS) + 1]


def _round_numbers(values: Any) -> Any:
    """Remove the noise of scaling and unscaling; return integers if all numbers are whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(values == 0, 0.0, np.floor(np.log10(np.abs(values))))
        unit = 10.0 ** (size - _DIGITS + 1)
        found = np.where(np.isfinite(values) & (values != 0), np.round(values / unit) * unit, values)
    near = np.round(found)
    if np.isfinite(found).all() and np.abs(found).max() >= 1 and np.allclose(found, near, rtol=0, atol=1e-6):
        return near.astype(np.int64)
    return found


# The records

Matrix = npt.NDArray[np.int64]
_STEADY, _SLIPS = 100, 0.02  # records to ask the model about twice, and the share that may differ by rounding


@dataclass(frozen=True)
class Records:
    """Some records of X: their codes, their exact values, and the model that is asked about them.

    `rows` are their places among all records, by which `outcomes` finds the predictions for the full ones.
    """

    model: Model
    view: ModelView
    coder: Coder
    outcomes: Outcomes
    everyone: nw.DataFrame[Any]  # all records, as attributes
    rows: Codes

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        return self.everyone[self.rows.tolist()]

    def preceded_by(self, rows: Codes, start: int) -> "Records":
        """Return other records, followed by those from `start` on."""
        return replace(self, rows=np.concatenate([rows, self.rows[start:]]))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def codes(self) -> Codes:
        """Each record's code in each attribute."""
        return self.coder.encode(self.frame).astype(np.int64)

    @cached_property
    def exact(self) -> Matrix:
        """The exact records, except for categories that the coder has never seen: an artifact cannot name them."""
        own = [c.n_codes + at for c, (_, at) in zip(self.coder.codings, self._distinct, strict=True)]
        return np.where(self.strange >= 0, self.strange, np.column_stack(own))

    @cached_property
    def strange(self) -> Matrix:
        """What an artifact gives for values that the coder never saw: the usual category, or null; -1 elsewhere."""
        found = np.full((len(self), len(self.coder.codings)), -1, dtype=np.int64)
        for j, (coding, (values, at)) in enumerate(zip(self.coder.codings, self._distinct, strict=True)):
            if isinstance(coding, CategoryCoding):
                known = {*coding.values, None}
                unseen = np.array([value not in known for value in values], dtype=bool)[at]
                found[unseen, j] = usual_code(coding)
            if not coding.missing and None in values:
                found[at == values.index(None), j] = coding.n_codes + values.index(None)
        return found

    @cached_property
    def _distinct(self) -> list[tuple[list[Scalar], Codes]]:
        return [_distinct(coding, column(self.frame, coding.attribute.name)) for coding in self.coder.codings]

    def value(self, attribute: int, number: int) -> Scalar:
        """Return what a number represents, as an artifact writes it."""
        coding = self.coder.codings[attribute]
        if number < coding.n_codes:
            return value_of(coding, number)
        return self._distinct[attribute][0][number - coding.n_codes]

    @cached_property
    def _tables(self) -> list[Any]:
        """For each attribute a column of all values that its numbers represent, of the type in X."""
        found = []
        for coding, (values, _) in zip(self.coder.codings, self._distinct, strict=True):
            every = [*(value_of(coding, code) for code in range(coding.n_codes)), *values]
            found.append(build_typed_column(coding.attribute, every, np.arange(len(every)), self.frame))
        return found

    def check_rebuilt(self) -> None:
        """Refuse a model whose predictions change if records are rebuilt value by value, as a search does."""
        plain = np.flatnonzero((self.strange < 0).all(axis=1))[:_STEADY]
        if len(plain) and self.misses(self.exact[plain], plain).mean() > _SLIPS:
            raise DataError(
                "The model's predictions change if the same records are rebuilt value by value: it may be random, or "
                "depend on other records or on how a column is stored. Give a model that does not."
            )

    def misses(self, matrix: Matrix, which: Codes) -> Floats:
        """How far the prediction for each row of numbers is from that for the full record `which`."""
        return self.outcomes.misses(self.predictions(matrix), self.rows[which])

    def predictions(self, matrix: Matrix) -> Predictions:
        """Return the predictions for rows of numbers; the model is asked about each row only once."""
        return self._known.look_up(matrix, self._ask_model)

    def _ask_model(self, matrix: Matrix) -> Predictions:
        names = [coding.attribute.name for coding in self.coder.codings]

        def with_columns(chosen: Sequence[str]) -> Any:
            stays = np.array([name not in chosen for name in names])
            return self._feed(np.where(stays, self.exact[:1], matrix))

        return ask_representatives(self.model, self._feed(matrix), names, with_columns)

    @cached_property
    def _known(self) -> "_Memory":
        return _Memory()

    def _feed(self, matrix: Matrix) -> Any:
        if self.view.array and self.view.is_plain:
            place = {coding.attribute.name: j for j, coding in enumerate(self.coder.codings)}
            order = [place[name] for name in self.view.columns]
            return np.column_stack([self._arrays[j][matrix[:, j]] for j in order])
        return self.view.feed(self._build_frame(matrix))

    @cached_property
    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [table.to_numpy() for table in self._tables]

    def _build_frame(self, matrix: Matrix) -> Any:
        names = [coding.attribute.name for coding in self.coder.codings]
        if isinstance(self.frame.to_native(), pd.DataFrame):
            columns = {n: t.array.take(matrix[:, j]) for j, (n, t) in enumerate(zip(names, self._tables, strict=True))}
            return pd.DataFrame(columns, copy=False)
        taken = [nw.from_native(t, series_only=True)[matrix[:, j]] for j, t in enumerate(self._tables)]
        return same_kind(dict(zip(names, taken, strict=True)), like=self.frame.to_native())


class _Memory:
    """Known predictions by a 64-bit hash of each row (two of a million rows share one with probability 1e-7)."""

    def __init__(self) -> None:
        self.marks = np.empty(0, dtype=np.uint64)  # in order
        self.values: Predictions | None = None

    def look_up(self, matrix: Matrix, ask: Callable[[Matrix], Predictions]) -> Predictions:
        marks, first, places = np.unique(_marks(matrix), return_index=True, return_inverse=True)
        if self.values is None:
            self.marks, self.values = marks, ask(matrix[first])
            return self.values[places]
        at = np.searchsorted(self.marks, marks)
        new = np.flatnonzero(self.marks[np.minimum(at, len(self.marks) - 1)] != marks)
        if len(new):
            answers = ask(matrix[first[new]])
            self.values = np.insert(self.values.astype(np.result_type(self.values, answers)), at[new], answers)
            self.marks = np.insert(self.marks, at[new], marks[new])
            at = np.searchsorted(self.marks, marks)
        return self.values[at][places]


def _marks(matrix: Matrix) -> npt.NDArray[np.uint64]:
    """A hash per row: its numbers times odd random ones, summed and mixed."""
    keys: Any = np.random.default_rng(0).integers(0, 2**64, matrix.shape[1], dtype=np.uint64) | np.uint64(1)
    mark = np.zeros(len(matrix), dtype=np.uint64)
    for j in range(matrix.shape[1]):
        mark = (mark ^ (matrix[:, j].astype(np.uint64) + np.uint64(1))) * keys[j]
        mark ^= mark >> np.uint64(29)
    return mark


def _distinct(coding: Coding, series: nw.Series[Any]) -> tuple[list[Scalar], Codes]:
    """Return the distinct values of a column as an artifact writes them (None for missing), and each record's place."""
    if coding.attribute.is_category:
        codes, words = texts(series)
        missing: list[Scalar] = [None] if (codes < 0).any() else []  # a null would change the column's type
        return [*words, *missing], np.where(codes < 0, len(words), codes)
    values, places = np.unique(numbers(series, coding.attribute), return_inverse=True)
    return [None if np.isnan(v) else plain(v, coding.attribute) for v in values], places.astype(np.int64)
