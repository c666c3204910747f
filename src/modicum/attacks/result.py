"""What an attack found, always beside what it is compared to."""

from dataclasses import asdict, dataclass
from typing import Any

from modicum.measures.intervals import Interval
from modicum.table.values import plain


@dataclass(frozen=True)
class AttributeResult:
    """The adversary's success on one attribute.

    Attributes
    ----------
    error : share of records whose value it guesses wrong
    interval : 95% interval of the error
    naive : the error of always guessing the most frequent known value
    raw : the error on raw data
    values : how many values there are to choose from
    method : the model that was strongest on known data
    """

    error: float
    interval: Interval
    naive: float
    raw: float
    values: int
    method: str

    @property
    def gain(self) -> float:
        """How many more records it gets right than the naive guess, as a share of all."""
        return self.naive - self.error


@dataclass(frozen=True)
class AttackResult:
    """The adversary's success, mean over attributes and for each.

    Attributes
    ----------
    error : mean share of wrong guesses over the attributes (papers/0 §5, PR_A1); higher is more private
    interval : 95% interval of the error
    naive, raw : the same mean for the naive guess and for raw data
    by_attribute : attribute → `AttributeResult`
    records : how many breached records were attacked
    known : how many records the adversary learned from
    random_state, seconds : the seed, and how long it took
    """

    error: float
    interval: Interval
    naive: float
    raw: float
    by_attribute: dict[str, AttributeResult]
    records: int
    known: int
    random_state: int
    seconds: float

    @property
    def worst(self) -> str:
        """The attribute about which the adversary gains most over the naive guess."""
        return max(self.by_attribute, key=lambda name: self.by_attribute[name].gain)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return plain({**asdict(self), "worst": self.worst})
