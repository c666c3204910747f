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
    by_adversary : "nu-SVC" and "portfolio", each with its figures
    chosen : for "accuracy" and "mcc", the adversary that expected more from the records it learned from; it is not the
        one that did better on those held out, so that its figure is an honest one
    values : how many values there are to choose from; two where critical values are told from the rest
    critical : whether critical values are told from the rest
    class_frequency : share of the most frequent value, which any guess should beat
    records : how many records were guessed
    folds : in how many parts, each guessed after learning from the others
    distinct : how many different rows the predictors have
    random_state, seconds : the seed, and how long it took
    """

    sensitive: str
    predictors: tuple[str, ...]
    by_adversary: Mapping[str, GuessedSensitive]
    chosen: Mapping[str, str]
    values: int
    critical: bool
    class_frequency: float
    records: int
    folds: int
    distinct: int
    random_state: int
    seconds: float

    @property
    def accuracy(self) -> Estimate:
        """Of the adversary chosen for it."""
        return self.by_adversary[self.chosen[ACCURACY]].accuracy

    @property
    def mcc(self) -> Estimate:
        """Of the adversary chosen for it."""
        return self.by_adversary[self.chosen[MCC]].mcc

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        return dict(plain({**asdict(self), ACCURACY: asdict(self.accuracy), MCC: asdict(self.mcc)}))

    def __str__(self) -> str:
        many = len(self.predictors)
        return "\n".join(
            [
                f"{self.sensitive!r} guessed from {many} predictor{'' if many == 1 else 's'}, {self.records:,} records",
                f"  accuracy ({self.chosen[ACCURACY]}): {self.accuracy}",
                f"  Matthews correlation ({self.chosen[MCC]}): {self.mcc}",
            ]
        )
