"""Records that trained a model (members) and records that did not (others), each with its labels."""

import warnings
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.attacks.breach import OverlapWarning, count_shared_rows
from modicum.errors import DataError, ParameterError
from modicum.table.estimator_input import unit_codes
from modicum.table.frames import as_frame, is_array, is_lazy
from modicum.table.schema import Schema
from modicum.table.splits import take_rows
from modicum.table.targets import label_values
from modicum.typing import Codes

FEWEST = 10  # records of a side


@dataclass(frozen=True)
class RecordSide:
    """Records as the model takes them, and their labels."""

    X: Any
    y: Any

    @classmethod
    def of(cls, given: Any, what: str) -> "RecordSide":
        """A pair (X, y); what is none is refused."""
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError(
                f"The {what!r} parameter must be a pair (X, y) of records and labels. Got {_kind(given)} instead."
            )
        X = _native(given[0], what)
        if len(X) < FEWEST:
            raise DataError(f"The {what} are {len(X)} records, too few for an attack: it takes at least {FEWEST}.")
        return cls(X, label_values(given[1], len(X)))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def is_text(self) -> bool:
        """Whether the labels are anything but numbers."""
        return bool(self.y.dtype.kind not in "biuf")

    def some(self, rows: Codes) -> "RecordSide":
        """The records at these places."""
        return RecordSide(take_rows(self.X, rows), self.y[rows])


def both_sides(members: Any, others: Any) -> tuple[RecordSide, RecordSide]:
    """The members and the others, of the same columns."""
    first, second = RecordSide.of(members, "members"), RecordSide.of(others, "others")
    names = [list(as_frame(side.X).columns) for side in (first, second)]
    if names[0] != names[1]:
        raise DataError("The members and the others must have the same columns in the same order.")
    if isinstance(first.X, np.ndarray) != isinstance(second.X, np.ndarray) or first.is_text != second.is_text:
        raise DataError("The members and the others must be of the same type: frames or arrays, and labels alike.")
    return first, second


def concat_rows(first: Any, second: Any) -> Any:
    """The rows of two frames or arrays of the same columns, one after the other."""
    if isinstance(first, np.ndarray):
        return np.vstack([first, second])
    frames = [nw.from_native(X, eager_only=True) for X in (first, second)]
    try:
        return nw.to_native(nw.concat(frames, how="vertical"))
    except Exception:
        raise DataError("The members and the others must have the same types of columns.") from None


def warn_of_shared(members: RecordSide, others: RecordSide) -> int:
    """Count the others that are members as well, and warn where there are any."""
    frame = as_frame(concat_rows(members.X, others.X))
    schema = Schema.infer(frame)
    count = count_shared_rows(members.X, others.X, schema, schema.features)
    if count:
        warnings.warn(
            f"{count:,} of the {len(others):,} others are also among the members, so that the model was trained on "
            "them: the attack looks weaker than it is.",
            OverlapWarning,
            stacklevel=3,
        )
    return count


def person_units(persons: Any, sizes: tuple[int, int]) -> Codes | None:
    """A number per person over members and others together, where it is said whose each record is."""
    if persons is None:
        return None
    if not isinstance(persons, tuple | list) or len(persons) != 2:
        raise ParameterError("The 'persons' parameter must be a pair: whose the members are, and whose the others are.")
    for whose, size, what in zip(persons, sizes, ("members", "others"), strict=True):
        if len(whose) != size:
            raise DataError(f"There are {len(whose)} persons for {size} {what}.")
        if unit_codes(whose).max() + 1 < FEWEST:
            raise DataError(f"The {what} are of fewer than {FEWEST} persons, too few for an attack.")
    return unit_codes(np.concatenate([np.asarray(whose, dtype=object) for whose in persons]))


def _native(X: Any, what: str) -> Any:
    if hasattr(X, "tocsr"):
        raise DataError(f"The {what} are a sparse matrix; give a frame or a dense array.")
    if is_lazy(X) or isinstance(X, nw.DataFrame):
        return as_frame(X).to_native()
    X = np.asarray(X) if is_array(X) else X
    as_frame(X)  # refuses what has no rows and columns
    return X


def _kind(given: Any) -> str:
    many = f" of {len(given)}" if isinstance(given, tuple | list) else ""
    return type(given).__name__ + many
