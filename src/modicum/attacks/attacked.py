"""Records whose sensitive value is guessed: what is seen of each, and the value that is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError
from modicum.generalization.raw import raw_generalization
from modicum.learners.inputs import Inputs
from modicum.table.frames import as_frame, column, texts
from modicum.table.inference import infer_attribute
from modicum.table.roles import person_codes
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target
from modicum.table.values import Codes, canonical

ACCURACY, MCC = AIMS = ("accuracy", "mcc")


@dataclass(frozen=True)
class Attacked:
    """All records, of which some are learned from and others guessed.

    Attributes
    ----------
    inputs : the predictors of each record in full detail
    values : each record's sensitive value, from 0 to `size` − 1
    units : whose record it is, where the schema says
    """

    inputs: Inputs
    values: Codes
    size: int
    units: Codes | None

    @classmethod
    def of(
        cls,
        X: Any,
        sensitive: str,
        predictors: Sequence[str],
        critical: Sequence[Any] | None,
        schema: Schema | None,
        bins: int,
    ) -> "Attacked":
        """The predictors and the sensitive column of a frame."""
        frame = as_frame(X)
        values, size = _values(frame, _attribute(frame, sensitive, schema), critical, bins)
        units = None if schema is None else person_codes(schema, frame)
        if units is not None and int(units.max(initial=0)) == 0:
            raise DataError("All records are of one person, so that nobody is left to learn from.")
        return cls(_inputs(frame, predictors, schema), values, size, units)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def shares(self) -> Any:
        """How frequent each value is."""
        return np.bincount(self.values, minlength=self.size) / len(self)

    def units_of(self, rows: Codes) -> Codes | None:
        """Whose these records are."""
        return None if self.units is None else self.units[rows]


@dataclass(frozen=True)
class Answer:
    """What one adversary guesses of the records of one part, when it aims at one figure.

    Attributes
    ----------
    guess : the value of each record held out
    expected : the figure that it expects, from records that it learned from but held out in turn
    settings : how it guesses, in plain data
    rows : how many distinct rows trained it
    """

    guess: Codes
    expected: float
    settings: Mapping[str, Any]
    rows: int


def always(values: Codes, many: int, aim: str) -> Answer:
    """Always the value that is most frequent among those known."""
    counts = np.bincount(values)
    expected = float(counts.max() / len(values)) if aim == ACCURACY else 0.0
    return Answer(np.full(many, int(counts.argmax())), expected, {"model": "most frequent value"}, 0)


def _attribute(frame: nw.DataFrame[Any], name: str, schema: Schema | None) -> Attribute:
    """The column as the schema has it, without its roles; as the data shows it where there is none."""
    series = column(frame, name)
    known = schema is not None and name in schema
    return (schema[name] if schema is not None and known else infer_attribute(series)).model_copy(update={"roles": ()})


def _inputs(frame: nw.DataFrame[Any], predictors: Sequence[str], schema: Schema | None) -> Inputs:
    if not predictors:
        return Inputs.beside([], len(frame))
    chosen = Schema(attributes=tuple(_attribute(frame, name, schema) for name in predictors))
    shown = frame.select(list(predictors))
    return Inputs.of(raw_generalization(shown, chosen), shown)


def _values(
    frame: nw.DataFrame[Any], attribute: Attribute, critical: Sequence[Any] | None, bins: int
) -> tuple[Codes, int]:
    """Each record's value and how many there are; with critical values, 1 for those and 0 for the rest."""
    if not len(frame):
        raise DataError("The data has no rows.")
    if critical is None:
        target = Target.fit(frame, attribute, bins)
        codes = np.unique(target.encode(frame), return_inverse=True)[1]
    else:
        codes = _critical(column(frame, attribute.name), critical)
    size = int(codes.max()) + 1
    if size < 2 or codes.min() > 0:
        raise DataError(f"The sensitive column {attribute.name!r} has a single value, so there is nothing to guess.")
    return codes, size


def _critical(series: nw.Series[Any], critical: Sequence[Any]) -> Codes:
    codes, words = texts(series)
    wanted = {canonical(value) for value in critical}
    if not wanted <= set(words):
        raise ParameterError(
            "The 'critical_values' parameter of SensitiveInference must be values that the column "
            f"{series.name!r} has. Got {len(wanted - set(words))} that it does not have."
        )
    return np.append(np.isin(np.array(words, dtype=object), list(wanted)), False)[codes].astype(np.int64)
