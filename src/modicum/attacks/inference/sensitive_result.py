"""Records whose sensitive attribute is attacked, and the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.attacks.result import Estimate
from modicum.errors import DataError, ParameterError
from modicum.generalization.core import raw_generalization
from modicum.learners.inputs import Inputs
from modicum.table.estimator_input import person_codes, unit_codes
from modicum.table.frames import MISSING, as_frame, column, distinct_texts, sorted_texts
from modicum.table.inference import infer_attribute
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target
from modicum.typing import Codes

# Records whose sensitive value is guessed: the visible predictors and the hidden value.

ACCURACY, MCC = AIMS = ("accuracy", "mcc")
FEW_NUMBERS = 20  # a number with at most this many values is not binned


@dataclass(frozen=True)
class Attacked:
    """All records, some to learn from and others to guess.

    Attributes
    ----------
    inputs : the predictors of each record in full detail
    values : each record's sensitive value, from 0 to `size` − 1; with critical values 1 for these, 0 for the rest
    units : the person of each record, if known
    critical : the values that are compared with the rest; None if all values are distinguished
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
        """Read a frame to guess every value, or each of the `contrasts` of critical values with the rest."""
        frame = as_frame(X)
        if not len(frame):
            raise DataError("The data has no rows.")
        codes, words = _values(frame, sensitive, schema, bins, values, by_value=critical is not None)
        if int(codes.max()) < 1:
            raise DataError(f"The sensitive column {sensitive!r} has a single value, so there is nothing to guess.")
        whole = cls(_inputs(frame, predictors, schema), codes, int(codes.max()) + 1, _units(frame, schema, persons))
        if critical is None:
            return [whole]
        return [whole.binarize_values(each, words) for each in contrasts(sensitive, critical, words)]

    def binarize_values(self, critical: tuple[str, ...], words: Sequence[str]) -> "Attacked":
        """Return the same records, to guess only whether the value is one of these."""
        wanted = np.isin(np.array(words, dtype=object), critical).astype(np.int64)
        return Attacked(self.inputs, wanted[self.values], 2, self.units, critical)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def shares(self) -> Any:
        """The share of each value."""
        return np.bincount(self.values, minlength=self.size) / len(self)

    def units_of(self, rows: Codes) -> Codes | None:
        """Return the persons of these records."""
        return None if self.units is None else self.units[rows]


@dataclass(frozen=True)
class SensitiveAnswer:
    """One adversary's guesses for the records of one part, for one aim.

    Attributes
    ----------
    guess : the guessed value of each held-out record
    expected : the figure that it expects from cross-validation on its training records
    tried : the approximate number of independent records behind this expectation
    settings : how it guesses, as plain data
    rows : the number of distinct rows that trained it
    """

    guess: Codes
    expected: float
    tried: float
    settings: Mapping[str, object]
    rows: int


def always(attacked: Attacked, train: Codes, test: Codes) -> dict[str, SensitiveAnswer]:
    """Guess the most frequent value of the records `train` for all records `test`, for every aim."""
    values, units = attacked.values[train], attacked.units_of(train)
    counts = np.bincount(values)
    guess, how = np.full(len(test), int(counts.argmax())), {"model": "most frequent value"}
    expected = {ACCURACY: float(counts.max() / len(values)), MCC: 0.0}
    return {
        aim: SensitiveAnswer(guess, expected[aim], count_independent_records(aim, values, units), how, 0)
        for aim in AIMS
    }


def count_independent_records(aim: str, values: Codes, units: Codes | None) -> float:
    """Count the independent records behind an expectation: persons, for a correlation twice those of rarer values.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.inference.sensitive_result import count_independent_records
    >>> values = np.array([0] * 95 + [1] * 5)
    >>> count_independent_records("accuracy", values, None), count_independent_records("mcc", values, None)
    (100.0, 10.0)
    """
    many = len(values) if aim == ACCURACY else min(len(values), 2 * (len(values) - int(np.bincount(values).max())))
    return float(many if units is None else many * len(np.unique(units)) / len(units))


def standard_error(aim: str, answer: SensitiveAnswer) -> float:
    """Return the approximate standard error of an expectation."""
    spread = answer.expected * (1 - answer.expected) if aim == ACCURACY else (1 - answer.expected**2) ** 2
    return float(np.sqrt(max(0.0, spread) / max(1.0, answer.tried)))


def contrasts(name: str, critical: Any, words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets of values to compare with the rest: each critical one, then all together [Barbato25 §3.1].

    Examples
    --------
    >>> from modicum.attacks.inference.sensitive_result import contrasts
    >>> contrasts("ill", ["flu", None], ["cold", "flu", "hiv", "(missing)"])
    [('flu',), ('(missing)',), ('flu', '(missing)')]
    >>> contrasts("ill", "flu", ["cold", "flu"])
    [('flu',)]
    """
    named = distinct_texts(critical)
    absent = len(set(named) - set(words))
    if absent or not named:
        raise ParameterError(
            f"The 'critical_values' parameter of SensitiveInference must list values that occur in {name!r}. "
            f"Got {f'{absent} that do not' if absent else 'none'}."
        )
    if len(words) == 2:  # both values make the same comparison
        return [named[:1]]
    together = [named] if 1 < len(named) < len(words) else []
    return [*((value,) for value in named), *together]


def _attribute(frame: nw.DataFrame[Any], name: str, schema: Schema | None) -> Attribute:
    """Return the column's attribute from the schema, or inferred from the data; without its roles."""
    series = column(frame, name)
    known = schema is not None and name in schema
    return (schema[name] if schema is not None and known else infer_attribute(series)).model_copy(update={"roles": ()})


def _inputs(frame: nw.DataFrame[Any], predictors: Sequence[str], schema: Schema | None) -> Inputs:
    if not predictors:
        return Inputs.join([], len(frame))
    chosen = Schema(attributes=tuple(_attribute(frame, name, schema) for name in predictors))
    visible = frame.select(list(predictors))
    return Inputs.of(raw_generalization(visible, chosen), visible)


def _units(frame: nw.DataFrame[Any], schema: Schema | None, persons: Any) -> Codes | None:
    """Return the person of each record, from the caller or the schema."""
    units = None if schema is None else person_codes(schema, frame)
    if persons is not None:
        units = unit_codes(persons)
    if units is not None and len(units) != len(frame):
        raise DataError(f"There are {len(units)} persons for {len(frame)} rows.")
    if units is not None and int(units.max(initial=0)) == 0:
        raise DataError("All records belong to one person, so there is nobody else to learn from.")
    return units


def _values(
    frame: nw.DataFrame[Any], name: str, schema: Schema | None, bins: int, given: Any, by_value: bool
) -> tuple[Codes, list[str]]:
    """Return each record's value as a code, and the names of the values; bins of a number have no names."""
    if given is not None:
        return sorted_texts(_one_each(name, given, len(frame)))
    attribute, series = _attribute(frame, name, schema), column(frame, name)
    codes, words = sorted_texts(series)
    if by_value or attribute.is_category or len(words) - (MISSING in words) <= FEW_NUMBERS:
        return codes, words
    return np.unique(Target.fit(frame, attribute, bins).encode(frame), return_inverse=True)[1], []


def _one_each(name: str, given: Any, n: int) -> nw.Series[Any]:
    values = np.asarray(given)
    if values.shape != (n,):
        raise DataError(f"The values of {name!r} have shape {values.shape}; they must be one for each of {n} rows.")
    return as_frame(pd.DataFrame({name: values}))[name]


# The result


@dataclass(frozen=True)
class GuessedSensitive:
    """How well one adversary guesses records that it did not learn from.

    Attributes
    ----------
    accuracy : share of records guessed right when it aims at accuracy; `naive` is the class frequency
    mcc : Matthews' correlation of guess and truth when it aims at this; `naive` is 0, that of a constant guess
    settings : for "accuracy" and "mcc", how it guesses in each fold
    expected : for each of the two, what it expected from its training records, averaged over the folds
    rows : the most distinct rows (merged by value) that it learned from in a fold

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame({"cure": random.integers(0, 3, 300)})
    >>> X["ill"] = np.where(random.random(300) < 0.8, X["cure"] == 2, random.random(300) < 0.3)
    >>> found = md.attacks.SensitiveInference("ill", folds=3).run(X, predictors=["cure"])
    >>> guessed = found.by_adversary["portfolio"]
    >>> guessed.accuracy.value > guessed.accuracy.naive, len(guessed.settings["mcc"])
    (True, 3)
    """

    accuracy: Estimate
    mcc: Estimate
    settings: Mapping[str, tuple[Mapping[str, object], ...]]
    expected: Mapping[str, float]
    rows: int


@dataclass(frozen=True)
class SensitiveInferenceResult(PlainResult):
    """How well a sensitive attribute can be guessed from the predictors that a classifier asks for.

    Attributes
    ----------
    sensitive : the attribute
    predictors : the attributes that the adversary sees
    critical : the values that are compared with the rest; None if all values are distinguished
    accuracy, mcc : the two figures (see `GuessedSensitive`), each fold guessed by the adversary chosen for it
    expected : for "accuracy" and "mcc", what these expected from their training records, averaged over the folds
    chosen : for "accuracy" and "mcc", the adversary of each fold: the portfolio, unless "nu-SVC" expected more by over
        a standard error; the records of the fold itself do not influence this choice
    by_adversary : "nu-SVC" and "portfolio", each with its figures
    by_contrast : with several critical values, the results for each of them, and for all together, against the rest;
        this result is the one with the highest expected correlation
    values : the number of possible values; two if critical values are compared with the rest
    class_frequency : share of the most frequent value, which any guess should beat
    records : the number of guessed records
    folds : the number of parts, each guessed after learning from the others
    distinct : the number of distinct rows of the predictors
    random_state, seconds : the seed and the time

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame({"cure": random.integers(0, 3, 300)})
    >>> X["ill"] = np.where(random.random(300) < 0.8, X["cure"] == 2, random.random(300) < 0.3)
    >>> found = md.attacks.SensitiveInference("ill", folds=3).run(X, predictors=["cure"])
    >>> found.predictors, found.records, found.folds
    (('cure',), 300, 3)
    >>> found.accuracy.value > found.class_frequency
    True
    """

    sensitive: str
    predictors: tuple[str, ...]
    critical: tuple[str, ...] | None
    accuracy: Estimate
    mcc: Estimate
    expected: Mapping[str, float]
    chosen: Mapping[str, tuple[str, ...]]
    by_adversary: Mapping[str, GuessedSensitive]
    by_contrast: "tuple[SensitiveInferenceResult, ...]"
    values: int
    class_frequency: float
    records: int
    folds: int
    distinct: int
    random_state: int
    seconds: float

    def __str__(self) -> str:
        many = len(self.predictors)
        critical = "" if self.critical is None else f" ({' or '.join(map(repr, self.critical))} or not)"
        by = {aim: " and ".join(sorted(set(each))) for aim, each in self.chosen.items()}
        return "\n".join(
            [
                f"{self.sensitive!r}{critical} guessed from {many} predictor{'' if many == 1 else 's'}, "
                f"{self.records:,} records",
                f"  accuracy ({by[ACCURACY]}): {self.accuracy}",
                f"  Matthews correlation ({by[MCC]}): {self.mcc}",
            ]
        )


# Parts of records for cross-validation: every value in each if possible, all records of a person in one.


def fold_codes(values: Codes, units: Codes | None, folds: int, random: np.random.Generator) -> Codes:
    """Assign each record to one of at most `folds` parts; the records of a unit (person) stay together.

    A unit counts for the rarest of its values, and the units of each value are dealt out evenly. There are at most as
    many parts as units that count for the second most frequent value, so that two values remain without any one part;
    but at least two.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.inference.sensitive_result import fold_codes
    >>> parts = fold_codes(np.array([0] * 6 + [1] * 3), None, 5, np.random.default_rng(0))
    >>> np.bincount(parts).tolist(), np.bincount(parts[6:]).tolist()
    ([3, 3, 3], [1, 1, 1])
    """
    of_row = np.arange(len(values)) if units is None else np.unique(units, return_inverse=True)[1]
    counts = np.bincount(values)
    rarity = np.argsort(np.argsort(counts, kind="stable"), kind="stable")  # the rarest value has 0
    stratum = np.full(int(of_row.max()) + 1, len(counts), dtype=np.int64)
    np.minimum.at(stratum, of_row, rarity[values])
    often = np.sort(np.bincount(stratum, minlength=len(counts)))
    parts = max(2, min(folds, int(often[-2]) if len(often) > 1 else 0))
    shuffled = random.permutation(len(stratum))
    ordered = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    dealt = np.empty(len(stratum), dtype=np.int64)
    dealt[ordered] = np.arange(len(stratum)) % parts
    return dealt[of_row]
