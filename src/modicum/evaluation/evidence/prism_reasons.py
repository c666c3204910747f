"""Why PriSM asks for or leaves out each attribute, from the revealing sets and the choice made."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal

import numpy as np

from modicum.errors import ModicumError, format_names
from modicum.evaluation.evidence.prism_cost import Part, compute_balanced_interval, compute_balanced_mean
from modicum.measures.intervals import Interval, difference_interval
from modicum.prism import Correlation, PrismClassifier
from modicum.prism.base import PreparedTask, forbidden_units
from modicum.prism.solver.pool import TIE
from modicum.prism.solver.supports import SupportLimits
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.typing import Floats

# The effect of another choice of attributes: trained, and tried on test records

_NOTHING = 100 * TIE  # a smaller relative change of the objective is rounding


@dataclass(frozen=True)
class PrismAlternative(PlainResult):
    """Another choice of attributes, compared with the choice made.

    Attributes
    ----------
    predictors : the attributes that it asks for
    objective : the relative change of the training objective; below 0 it predicts better on the training records
    error : the change of the error on the test records; below 0 it predicts better
    interval : 95% interval of that change, from the same records under both choices
    instead_of : the attribute that it replaces, if any

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
        """Whether training gives the same result with it."""
        return abs(self.objective) <= _NOTHING


class PrismAlternatives:
    """Other choices of attributes, each trained on the records of the choice made.

    All other attributes stay the same; they are not chosen again. If all labels count the same
    (`class_weight="balanced"`), the error is the mean of the labels' errors.

    Parameters
    ----------
    model : fitted
    prepared : its training data
    test : other records with all columns, for testing only
    random_state : of resampling
    """

    def __init__(self, model: PrismClassifier, prepared: PreparedTask, test: Part, random_state: int) -> None:
        self.columns = list(test.frame.columns)
        self.model, self.prepared, self._test = model, prepared, test.frame.to_native()
        self._names = list(prepared.task.design.attributes)
        self._truth, self._units, self._random_state = test.values, test.units, random_state
        self._labels = np.unique(test.values, return_inverse=True)[1] if is_balanced(model) else None
        self._limits = SupportLimits.of(
            len(self._names), model.max_predictors, forbidden_units(model.correlations_.sets, self._names)
        )
        self._base = self._wrong(model)

    def try_without(self, name: str) -> PrismAlternative:
        """Try the choice made without this attribute."""
        return self._try_predictors([each for each in self.model.predictors_ if each != name])

    def with_also(self, name: str) -> PrismAlternative:
        """Try the choice made with this attribute added, even if that reveals."""
        return self._try_predictors([*self.model.predictors_, name])

    def in_place(self, name: str, completes: Iterable[Correlation]) -> PrismAlternative | None:
        """Try the best allowed choice in which this attribute replaces another member of a set it completes."""
        members = {each for one in completes for each in one.attributes} - {name}
        choices = {each: [one for one in self.model.predictors_ if one != each] + [name] for each in sorted(members)}
        allowed = {each: choice for each, choice in choices.items() if self._limits.allow(self._places(choice))}
        if not allowed:
            return None
        best = min(allowed, key=lambda each: self._objective(allowed[each]))
        return self._try_predictors(allowed[best], best)

    def _places(self, names: Sequence[str]) -> list[int]:
        return sorted(self._names.index(each) for each in names)

    def _objective(self, names: Sequence[str]) -> float:
        return self.prepared.trainer.on_support(self._places(names)).objective

    def _try_predictors(self, names: Sequence[str], instead_of: str | None = None) -> PrismAlternative:
        places = self._places(names)
        found = self.prepared.trainer.on_support(places)
        other = copy(self.model)
        other.predictors_ = [self._names[place] for place in places]
        other._design = self.prepared.task.design.only(other.predictors_)
        units = self.prepared.task.design.units
        other._coefficients = found.coefficients[:, [at for place in places for at in units[place]]]
        other._intercepts = found.intercepts
        error, interval = self._measure_change(self._wrong(other) - self._base)
        return PrismAlternative(
            predictors=tuple(other.predictors_),
            objective=found.objective / self.model.objective_ - 1 if self.model.objective_ else 0.0,
            error=error,
            interval=interval,
            instead_of=instead_of,
        )

    def _wrong(self, model: PrismClassifier) -> Floats:
        return np.asarray(model.predict(self._test) != self._truth, dtype=np.float64)

    def _measure_change(self, differences: Floats) -> tuple[float, Interval]:
        """Compute the change of the error and its interval from each record's change."""
        if self._labels is None:
            return float(differences.mean()), difference_interval(differences, self._units)
        interval = compute_balanced_interval(
            self._labels, differences, self._units, self._random_state, difference_interval
        )
        return compute_balanced_mean(self._labels, differences), interval


def is_balanced(model: PrismClassifier) -> bool:
    """Whether every label counts the same, whatever its number of records."""
    return isinstance(model.class_weight, str) and model.class_weight == "balanced"


# The reasons

Status = Literal["asked", "left out", "sensitive", "not considered"]
Reason = Literal["predicts", "sensitive", "alone", "together", "no use", "no place", "not settled", "one value", "role"]
_ROLES = {"label": "the label", "person": "the person ID", "identifier": "an identifier"}


@dataclass(frozen=True)
class AttributeReason(PlainResult):
    """One attribute, and why it is asked for or not.

    Attributes
    ----------
    name, columns : the attribute, and its columns in the data
    status : "asked", "left out", "sensitive", or "not considered" (an identifier, or a column of one value)
    reason : "predicts"; "sensitive"; "alone" (it reveals by itself); "together" (it would complete a revealing set with
        attributes that are asked); "no use"; "no place" (`max_predictors` are asked already); "not settled" (time ran
        out); "one value"; "role"
    why : the reason in a sentence
    alone : its association with the sensitive attribute by itself; None if not measured
    sets : number of minimal revealing sets that contain it
    completes : the revealing sets that asking for it would complete, the strongest first
    other : the effect of removing it if it is asked, else of adding it; None if it may never be asked (the sensitive
        attribute, or one that was not considered)
    instead : if one attribute of a set had to stay out: the best allowed choice with this one in place of another

    Examples
    --------
    >>> from modicum.evaluation import AttributeReason
    >>> AttributeReason("sex", ("sex",), "sensitive", "sensitive", "It is the sensitive attribute.").to_dict()["status"]
    'sensitive'
    """

    name: str
    columns: tuple[str, ...]
    status: Status
    reason: Reason
    why: str
    alone: Correlation | None = None
    sets: int = 0
    completes: tuple[Correlation, ...] = ()
    other: PrismAlternative | None = None
    instead: PrismAlternative | None = None


def reasons(schema: Schema, tried: PrismAlternatives) -> list[AttributeReason]:
    """Give the reason for every attribute, in the data's order.

    Parameters
    ----------
    schema : the roles of the columns
    tried : the fitted model, which trains other choices on the same records
    """
    discovery = tried.prepared.task.discovery
    check_promise(tried.model.correlations_.sets, tried.model.predictors_, discovery.sensitive)
    attribute_of = {each: name for name, columns in discovery.attributes.items() for each in columns}
    attribute_of |= {each: name for name, columns in discovery.sensitive.items() for each in columns}
    columns_of: dict[str, list[str]] = {}
    for each in tried.columns:
        columns_of.setdefault(attribute_of.get(each, each), []).append(each)
    return [_reason(name, tuple(columns), schema, tried) for name, columns in columns_of.items()]


def check_promise(
    sets: Sequence[Sequence[str]], predictors: Sequence[str], sensitive: dict[str, tuple[str, ...]]
) -> None:
    """Check again, by names alone, that no complete revealing set is asked for.

    Examples
    --------
    >>> from modicum.evaluation.evidence.prism_reasons import check_promise
    >>> check_promise([("a", "b")], ["a", "c"], {"ill": ("ill",)})
    >>> check_promise([("a", "b")], ["a", "b"], {"ill": ("ill",)})
    Traceback (most recent call last):
    ...
    modicum.errors.ModicumError: The attributes asked for include a revealing set: 'a' and 'b'.
    """
    asked = set(predictors)
    complete = [each for each in sets if not set(each) - asked]
    if complete:
        raise ModicumError(
            f"The attributes asked for include a revealing set: {format_names(complete[0], len(complete[0]))}."
        )
    asked_sensitive = asked & {name for each, columns in sensitive.items() for name in (each, *columns)}
    if asked_sensitive:
        raise ModicumError(f"The sensitive attribute {sorted(asked_sensitive)[0]!r} is asked for.")


def _reason(name: str, columns: tuple[str, ...], schema: Schema, tried: PrismAlternatives) -> AttributeReason:
    model, discovery, design = tried.model, tried.prepared.task.discovery, tried.prepared.task.design
    if name in discovery.sensitive:
        return AttributeReason(name, columns, "sensitive", "sensitive", "It is the sensitive attribute itself.")
    if name not in discovery.attributes:
        return AttributeReason(name, columns, "not considered", "role", _role(columns, schema))
    if name not in design.attributes:
        return AttributeReason(name, columns, "not considered", "one value", "All records have the same value.")
    containing = [each for each in model.correlations_ if name in each.attributes]
    alone, asked = discovery.assess([name]), name in model.predictors_
    if asked:
        other = tried.try_without(name)
        why = _explain_choice(len(containing), other)
        return AttributeReason(name, columns, "asked", "predicts", why, alone, len(containing), other=other)
    completed = [each for each in containing if set(each.attributes) - {name} <= set(model.predictors_)]
    completes = tuple(sorted(completed, key=lambda each: -each.strength))
    other = tried.with_also(name)
    reason = _find_reason(name, model, completes, other)
    instead = tried.in_place(name, completes) if reason == "together" else None
    why = _why_left_out(reason, model, completes, other, instead)
    return AttributeReason(name, columns, "left out", reason, why, alone, len(containing), completes, other, instead)


def _find_reason(
    name: str, model: PrismClassifier, completes: Sequence[Correlation], other: PrismAlternative
) -> Reason:
    """Find why an attribute is left out: no use comes before a forbidden combination."""
    if (name,) in [each.attributes for each in completes]:
        return "alone"
    if other.is_nothing:
        return "no use"
    if completes:
        return "together"
    if len(model.predictors_) >= model.max_predictors:
        return "no place"
    return "no use" if model.optimality_gap_ <= model.tol else "not settled"


def _role(columns: Sequence[str], schema: Schema) -> str:
    roles = {role for each in columns if each in schema for role in schema[each].roles}
    words = [text for role, text in _ROLES.items() if role in roles]
    if words:
        return f"It is {words[0]}, which no prediction may use."
    return "The schema marks it as forbidden or sensitive, so it is not used."


def _explain_choice(sets: int, without: PrismAlternative) -> str:
    """Explain why an attribute is asked for: the objective is worse without it, or equal up to rounding."""
    helps = "It helps the prediction on the training records"
    if without.objective <= 0 or without.is_nothing:
        helps = "It was chosen, although training gives the same result without it"
    if not sets:
        return f"{helps}, and it is in no revealing set."
    revealing = "1 revealing set" if sets == 1 else f"{sets:,} revealing sets"
    return f"{helps}. It is in {revealing}, but another attribute of each is not asked for."


def _why_left_out(
    reason: Reason,
    model: PrismClassifier,
    completes: Sequence[Correlation],
    other: PrismAlternative,
    instead: PrismAlternative | None,
) -> str:
    match reason:
        case "alone":
            return f"By itself it reveals {completes[0].sensitive!r}: {_strength(completes[0], model)}."
        case "together":
            return _why_together(model, completes, instead)
        case "no use":
            return _why_no_use(completes, other)
        case "no place":
            many = "one attribute" if model.max_predictors == 1 else f"{model.max_predictors} attributes"
            return f"At most {many} may be asked for, and the best choice leaves this one out{_proven(model)}."
        case _:
            return "The search ended before it was clear whether the prediction needs it."


def _why_together(model: PrismClassifier, completes: Sequence[Correlation], instead: PrismAlternative | None) -> str:
    first = completes[0]
    others = [name for name in first.attributes if name in model.predictors_]
    names, further = format_names(others, len(others)), len(completes) - 1
    more = f" (and it completes {further:,} more such {'set' if further == 1 else 'sets'})" if further else ""
    least = (
        f"leaving this one out costs the prediction least{_proven(model)}"
        if model.optimality_gap_ <= model.tol and (instead is None or instead.objective >= -model.tol)
        else "the search ended before it was clear which of them is needed least"
    )
    return (
        f"Together with {names} it reveals {first.sensitive!r}: {_strength(first, model)}{more}. One of them "
        f"had to stay out, and {least}."
    )


def _why_no_use(completes: Sequence[Correlation], other: PrismAlternative) -> str:
    lower = f"it would lower the objective by {-other.objective:.2g} of its value"
    change = "it would change nothing" if other.is_nothing else lower
    sets = "set" if len(completes) == 1 else "sets"
    also = f" It would also complete {len(completes):,} revealing {sets}." if completes else ""
    return f"Not needed: together with the attributes that are asked for, {change}.{also}"


def _strength(found: Correlation, model: PrismClassifier) -> str:
    """Describe the strength, the threshold and the strength by chance."""
    chance = "" if found.by_chance is None else f", and chance alone would give {found.by_chance:.3f}"
    strength = f"strength {found.strength:.3f}, where {model.threshold:g} or more reveals{chance}"
    return f"the data's owner says so (measured: {strength})" if found.encoding == "given" else strength


def _proven(model: PrismClassifier) -> str:
    return " (proven, on the training records)" if model.optimality_gap_ <= model.tol else " (as far as time allowed)"
