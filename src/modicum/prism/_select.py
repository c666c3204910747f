"""The attributes that PriSM would ask for, for any other classifier (papers/3 §7: other families are future work)."""

from dataclasses import dataclass
from typing import Any

from modicum.errors import ParameterError
from modicum.prism.discovery.correlation_result import Correlation, Correlations
from modicum.prism.prism_classifier import PrismClassifier
from modicum.prism.prism_regressor import PrismRegressor
from modicum.table.plain_data import PlainResult


@dataclass(frozen=True)
class Selection(PlainResult):
    """What to ask for.

    Attributes
    ----------
    attributes : the chosen attributes
    columns : their columns in the data: `X[selection.columns]` is what another model may see
    correlations : the minimal correlated sets, none of which is chosen whole
    association : strength, p-value and strength by chance of the chosen attributes together
    max_feasible : how many attributes can be used without one of these sets
    gap : of the proof that no other choice has a lower objective

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "relationship", "sex"]][:1_000], y[:1_000]
    >>> chosen = md.prism.select(X, y, "sex", threshold=0.4, max_predictors=2, class_weight="balanced")
    >>> chosen.attributes, chosen.correlations.sets
    (['education'], [('relationship',)])
    """

    attributes: list[str]
    columns: list[str]
    correlations: Correlations
    association: Correlation
    max_feasible: int
    gap: float


def select(X: Any, y: Any, sensitive: Any = None, *, task: str = "classification", **settings: Any) -> Selection:
    """The attributes that predict the label best among those that do not reveal the sensitive one, for any classifier.

    Best is by the linear model of PriSM, with its proof; a classifier that bends may find use in others as well. That
    no set of up to `max_size` of them correlates holds whatever classifier sees them.

    Parameters
    ----------
    X, y : the records, with the sensitive attribute among their columns, and the label
    sensitive : name, or several
    task : "classification" or "regression"
    **settings : the other parameters of `PrismClassifier`

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "hours-per-week", "relationship", "sex"]][:2_000], y[:2_000]
    >>> chosen = md.prism.select(X, y, "sex", threshold=0.4, max_predictors=2, class_weight="balanced")
    >>> chosen.columns
    ['age', 'education']
    >>> seen = X[chosen.columns]  # what any other classifier may be trained on
    """
    kinds: dict[str, type[PrismClassifier | PrismRegressor]] = {
        "classification": PrismClassifier,
        "regression": PrismRegressor,
    }
    if task not in kinds:
        raise ParameterError(f"The 'task' parameter must be 'classification' or 'regression'. Got {task!r} instead.")
    model = kinds[task](sensitive, **settings).fit(X, y)
    return Selection(
        attributes=model.predictors_,
        columns=model.needed_columns_,
        correlations=model.correlations_,
        association=model.association_,
        max_feasible=model.max_feasible_predictors_,
        gap=model.optimality_gap_,
    )
