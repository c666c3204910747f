"""Records whose sensitive value is guessed: what is seen of each, and the value that is not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.generalization.core import raw_generalization
from modicum.learners.inputs import Inputs
from modicum.table.frames import as_frame, column, texts
from modicum.table.inference import infer_attribute
from modicum.table.roles import person_codes, unit_codes
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target
from modicum.table.values import Codes, canonical

ACCURACY, MCC = AIMS = ("accuracy", "mcc")


MISSING = "(missing)"  # how a missing value is called where it is critical
FEW_NUMBERS = 20  # a number with at most so many values is guessed by its values


@dataclass(frozen=True)
class Attacked:
    """All records, of which some are learned from and others guessed.

    Attributes
    ----------
    inputs : the predictors of each record in full detail
    values : each record's sensitive value, from 0 to `size` − 1; 1 for critical ones that are told from the rest
    units : whose record it is, where that is known
    critical : the values that are told from the rest; None where every value is told from every other
    """

    inputs: Inputs
    values: Codes
    size: int
    units: Codes | None
    critical: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        sensitive: str,
        predictors: Sequence[str],
        schema: Schema | None,
        bins: int,
        values: Any = None,
        persons: Any = None,
        *,
        critical: Any = None,
    ) -> "list[Attacked]":
        """What is to be guessed of a frame's records: every value, or whether it is critical (`contrasts`)."""
        frame = as_frame(X)
        if not len(frame):
            raise DataError("The data has no rows.")
        codes, words = _values(frame, sensitive, schema, bins, values, by_value=critical is not None)
        if int(codes.max()) < 1:
            raise DataError(f"The sensitive column {sensitive!r} has a single value, so there is nothing to guess.")
        whole = cls(_inputs(frame, predictors, schema), codes, int(codes.max()) + 1, _units(frame, schema, persons))
        return (
            [whole] if critical is None else [whole.told(each, words) for each in contrasts(sensitive, critical, words)]
        )

    def told(self, critical: tuple[str, ...], words: Sequence[str]) -> "Attacked":
        """The same records, of which only is guessed whether the value is one of these."""
        wanted = np.isin(np.array(words, dtype=object), critical).astype(np.int64)
        return Attacked(self.inputs, wanted[self.values], 2, self.units, critical)

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
    tried : on how many independent records that expectation rests, about
    settings : how it guesses, in plain data
    rows : how many distinct rows trained it
    """

    guess: Codes
    expected: float
    tried: float
    settings: Mapping[str, Any]
    rows: int


def always(values: Codes, units: Codes | None, many: int, aim: str) -> Answer:
    """Always the value that is most frequent among those known."""
    counts = np.bincount(values)
    expected = float(counts.max() / len(values)) if aim == ACCURACY else 0.0
    tried = tried_on(aim, values, units)
    return Answer(np.full(many, int(counts.argmax())), expected, tried, {"model": "most frequent value"}, 0)


def tried_on(aim: str, values: Codes, units: Codes | None) -> float:
    """On how many independent records an expectation rests: persons, and for a correlation twice those of rarer values.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.attacked import tried_on
    >>> values = np.array([0] * 95 + [1] * 5)
    >>> tried_on("accuracy", values, None), tried_on("mcc", values, None)
    (100.0, 10.0)
    """
    many = len(values) if aim == ACCURACY else min(len(values), 2 * (len(values) - int(np.bincount(values).max())))
    return float(many if units is None else many * len(np.unique(units)) / len(units))


def standard_error(aim: str, answer: Answer) -> float:
    """About how far an expectation may be off by chance."""
    spread = answer.expected * (1 - answer.expected) if aim == ACCURACY else (1 - answer.expected**2) ** 2
    return float(np.sqrt(max(0.0, spread) / max(1.0, answer.tried)))


def contrasts(name: str, critical: Any, words: Sequence[str]) -> list[tuple[str, ...]]:
    """Which values are told from the rest: each critical one, and where others are left all of them (papers/3 §3.1).

    Examples
    --------
    >>> from modicum.attacks.attacked import contrasts
    >>> contrasts("ill", ["flu", None], ["cold", "flu", "hiv", "(missing)"])
    [('flu',), ('(missing)',), ('flu', '(missing)')]
    >>> contrasts("ill", "flu", ["cold", "flu"])
    [('flu',)]
    """
    listed = [critical] if isinstance(critical, str) or not isinstance(critical, Iterable) else list(critical)
    named = tuple(dict.fromkeys(MISSING if _is_missing(value) else canonical(value) for value in listed))
    absent = len(set(named) - set(words))
    if absent or not named:
        raise ParameterError(
            f"The 'critical_values' parameter of SensitiveInference must be values that {name!r} has. "
            f"Got {f'{absent} that it does not have' if absent else 'none'}."
        )
    if len(words) == 2:  # one contrast, whichever way it is called
        return [named[:1]]
    together = [named] if 1 < len(named) < len(words) else []
    return [*((value,) for value in named), *together]


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value != value


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


def _units(frame: nw.DataFrame[Any], schema: Schema | None, persons: Any) -> Codes | None:
    """Whose each record is: as the caller says, or the schema."""
    units = None if schema is None else person_codes(schema, frame)
    if persons is not None:
        units = unit_codes(persons)
    if units is not None and len(units) != len(frame):
        raise DataError(f"There are {len(units)} persons for {len(frame)} rows.")
    if units is not None and int(units.max(initial=0)) == 0:
        raise DataError("All records are of one person, so that nobody is left to learn from.")
    return units


def _values(
    frame: nw.DataFrame[Any], name: str, schema: Schema | None, bins: int, given: Any, by_value: bool
) -> tuple[Codes, list[str]]:
    """Each record's value as a code, and what the codes stand for; the bins of a number of many values have no name."""
    if given is not None:
        return _named(_one_each(name, given, len(frame)))
    attribute, series = _attribute(frame, name, schema), column(frame, name)
    codes, words = _named(series)
    if by_value or attribute.is_category or len(words) - (MISSING in words) <= FEW_NUMBERS:
        return codes, words
    return np.unique(Target.fit(frame, attribute, bins).encode(frame), return_inverse=True)[1], []


def _one_each(name: str, given: Any, n: int) -> nw.Series[Any]:
    values = np.asarray(given)
    if values.shape != (n,):
        raise DataError(f"The values of {name!r} have shape {values.shape}; it needs one for each of the {n} rows.")
    return as_frame(pd.DataFrame({name: values}))[name]


def _named(series: nw.Series[Any]) -> tuple[Codes, list[str]]:
    """Codes in the order of the values' names, missing last."""
    codes, words = texts(series)
    order = np.argsort(np.array(words, dtype=object), kind="stable") if words else np.zeros(0, dtype=np.int64)
    rank = np.empty(len(words) + 1, dtype=np.int64)
    rank[[*order.tolist(), -1]] = np.arange(len(words) + 1)
    missing = [MISSING] if (codes < 0).any() else []
    return rank[codes], [*(words[i] for i in order), *missing]
