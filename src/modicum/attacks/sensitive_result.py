"""What can be guessed of a sensitive attribute from predictors."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from modicum.attacks.attacked import ACCURACY, MCC
from modicum.attacks.estimate import Estimate
from modicum.table.values import plain


@dataclass(frozen=True)
class GuessedSensitive:
    """How well one adversary guesses records that it did not learn from.

    Attributes
    ----------
    accuracy : share of records whose value is guessed, when it aims at that; beside it the class frequency
    mcc : Matthews' correlation of guess and truth, when it aims at that; beside it the 0 of a constant guess
    settings : for "accuracy" and "mcc", how it guesses in each fold
    expected : for each of the two, what it expected from the records it learned from, mean over the folds
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
    settings: Mapping[str, tuple[Mapping[str, Any], ...]]
    expected: Mapping[str, float]
    rows: int


@dataclass(frozen=True)
class SensitiveInferenceResult:
    """What someone guesses of a sensitive attribute who sees the predictors that a classifier asks for.

    Attributes
    ----------
    sensitive : the attribute
    predictors : the attributes that are seen
    critical : the values that are told from the rest; None where every value is told from every other
    accuracy, mcc : the two figures (see `GuessedSensitive`), each fold guessed by the adversary chosen for it
    expected : for "accuracy" and "mcc", what those expected from the records they learned from, mean over the folds
    chosen : for "accuracy" and "mcc", the adversary of each fold: the portfolio, unless "nu-SVC" expected more by over
        a standard error; the records of the fold itself have no part in it, so that the figures are honest ones
    by_adversary : "nu-SVC" and "portfolio", each with its figures
    by_contrast : where several values are critical, the result of telling each of them, and all together, from the
        rest; this result is the one of them whose expected correlation is highest
    values : how many values there are to choose from; two where critical values are told from the rest
    class_frequency : share of the most frequent value, which any guess should beat
    records : how many records were guessed
    folds : in how many parts, each guessed after learning from the others
    distinct : how many different rows the predictors have
    random_state, seconds : the seed, and how long it took

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

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        return dict(plain(asdict(self)))

    def __str__(self) -> str:
        many = len(self.predictors)
        told = "" if self.critical is None else f" ({' or '.join(map(repr, self.critical))} or not)"
        by = {aim: " and ".join(sorted(set(each))) for aim, each in self.chosen.items()}
        return "\n".join(
            [
                f"{self.sensitive!r}{told} guessed from {many} predictor{'' if many == 1 else 's'}, "
                f"{self.records:,} records",
                f"  accuracy ({by[ACCURACY]}): {self.accuracy}",
                f"  Matthews correlation ({by[MCC]}): {self.mcc}",
            ]
        )
