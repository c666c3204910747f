"""What another choice of attributes would bring or cost a PriSM classifier: trained, and tried on test records."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from modicum.evaluation.prism_scores import balanced, balanced_interval
from modicum.measures.intervals import Interval, difference_interval
from modicum.prism import Correlation, PrismClassifier
from modicum.prism.base import Prepared, forbidden_units
from modicum.prism.solver.pool import TIE
from modicum.prism.solver.supports import Limits
from modicum.table.values import Codes, Floats, plain

_NOTHING = 100 * TIE  # relative change of the objective that is rounding


@dataclass(frozen=True)
class PrismAlternative:
    """Another choice of attributes beside the one that was made.

    Attributes
    ----------
    predictors : what it asks for
    objective : the change of what training minimizes, relative to that of the choice made; below 0 it predicts better
        on the training records
    error : the change of the error on the test records; below 0 it predicts better
    interval : of that change, at 95%, from the same records under both choices
    instead_of : the attribute that it does not ask for, where it takes one's place

    Examples
    --------
    >>> from modicum.evaluation import PrismAlternative
    >>> PrismAlternative(("age",), objective=0.2, error=0.01, interval=(0.0, 0.02)).is_nothing
    False
    """

    predictors: tuple[str, ...]
    objective: float
    error: float
    interval: Interval
    instead_of: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether training comes to the same with it."""
        return abs(self.objective) <= _NOTHING

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return dict(plain(asdict(self)))


class PrismAlternatives:
    """Other choices of attributes, each trained on the records of the choice that was made.

    The others stay as they are: they are not chosen anew. Where labels count the same (`class_weight="balanced"`), the
    error is the mean of each label's own.

    Parameters
    ----------
    model : fitted
    prepared : what it was trained from
    test : records that trained nothing, with all columns
    truth : their labels
    units : whose each test record is, where one person has several
    random_state : of resampling
    """

    def __init__(
        self,
        model: PrismClassifier,
        prepared: Prepared,
        test: Any,
        truth: Any,
        units: Codes | None,
        random_state: int = 0,
    ) -> None:
        self.columns = list(test.columns)
        self._model, self._prepared, self._test = model, prepared, test.to_native()
        self._names = list(prepared.task.design.attributes)
        self._truth, self._units, self._random_state = truth, units, random_state
        self._labels = np.unique(truth, return_inverse=True)[1] if is_balanced(model) else None
        self._limits = Limits.of(
            len(self._names), model.max_predictors, forbidden_units(model.correlations_.sets, self._names)
        )
        self._base = self._wrong(model)

    def without(self, name: str) -> PrismAlternative:
        """All that is asked for but this one."""
        return self._tried([each for each in self._model.predictors_ if each != name])

    def with_also(self, name: str) -> PrismAlternative:
        """All that is asked for and this one, whether that reveals or not."""
        return self._tried([*self._model.predictors_, name])

    def in_place(self, name: str, completes: Iterable[Correlation]) -> PrismAlternative | None:
        """The allowed choice with this one in place of another of the sets it completes that predicts best."""
        members = {each for one in completes for each in one.attributes} - {name}
        choices = {each: [one for one in self._model.predictors_ if one != each] + [name] for each in sorted(members)}
        allowed = {each: choice for each, choice in choices.items() if self._limits.allow(self._places(choice))}
        if not allowed:
            return None
        best = min(allowed, key=lambda each: self._objective(allowed[each]))
        return self._tried(allowed[best], best)

    def _places(self, names: Sequence[str]) -> list[int]:
        return sorted(self._names.index(each) for each in names)

    def _objective(self, names: Sequence[str]) -> float:
        return self._prepared.trainer.on_support(self._places(names)).objective

    def _tried(self, names: Sequence[str], instead_of: str | None = None) -> PrismAlternative:
        places = self._places(names)
        found = self._prepared.trainer.on_support(places)
        other = copy(self._model)
        other.predictors_ = [self._names[place] for place in places]
        other._design = self._prepared.task.design.only(other.predictors_)
        units = self._prepared.task.design.units
        other._coefficients = found.coefficients[:, [at for place in places for at in units[place]]]
        other._intercepts = found.intercepts
        error, interval = self._moved(self._wrong(other) - self._base)
        return PrismAlternative(
            predictors=tuple(other.predictors_),
            objective=found.objective / self._model.objective_ - 1 if self._model.objective_ else 0.0,
            error=error,
            interval=interval,
            instead_of=instead_of,
        )

    def _wrong(self, model: PrismClassifier) -> Floats:
        return np.asarray(model.predict(self._test) != self._truth, dtype=np.float64)

    def _moved(self, differences: Floats) -> tuple[float, Interval]:
        """The change of the error, from what changes of each record, with its interval."""
        if self._labels is None:
            return float(differences.mean()), difference_interval(differences, self._units)
        interval = balanced_interval(self._labels, differences, self._units, self._random_state, difference_interval)
        return balanced(self._labels, differences), interval


def is_balanced(model: PrismClassifier) -> bool:
    """Whether every label counts the same, however many records have it."""
    return isinstance(model.class_weight, str) and model.class_weight == "balanced"
