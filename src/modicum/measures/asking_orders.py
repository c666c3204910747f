"""In which order a questionnaire had best ask: how many questions people get, and how much they tell (papers/1 §3.2).

What is asked next, and how finely, depends on which attributes were answered and on the record, not on the order of
the answers. So the cost of an order is a sum of steps (attributes answered so far, next attribute), and the best order
is a shortest path over sets of attributes.

**Which records.** All, equal ones together; of more than 2,000 different ones a sample of 2,000 records stands for
them. **What is told.** NCP as in `modicum.measures.information_loss`, with two conventions of its own: of a number the
widths of all ranges that a choice names are summed, and an attribute that is not asked counts 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from modicum.errors import ParameterError
from modicum.generalization.questionnaire import Questionnaire
from modicum.measures.asking_steps import Asked, Steps, amounts

_WIDTH = 252  # sets of attributes in view at a time: all of them, for up to 10 attributes
_WORK = 1_000_000  # beyond 8 attributes the width, times their number squared, times cells, stays below it

Cost = tuple[float, float]


@dataclass(frozen=True)
class Order:
    """What an order of questions comes to, as a mean over records.

    Attributes
    ----------
    name : what it was made for
    attributes : the order; None for the mean over random ones
    questions : how many questions are asked
    ncp : how little is told: 1 is nothing, 0 everything; attributes count by their sensitivity
    asked : attribute → the share of records that it is asked of
    proven : whether it is certain that no other order of these records does better in what it was made for

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "hours-per-week"]][:1_000]
    >>> form = md.Questionnaire(md.ModelGuided(lambda X: X["age"] > 40, random_state=0).fit(X).cells_)
    >>> order = md.measures.measure_order(form, X, ["age"])
    >>> order.attributes, order.questions
    (('age',), 1.0)
    """

    name: str
    attributes: tuple[str, ...] | None
    questions: float
    ncp: float
    asked: dict[str, float]
    proven: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def measure_order(
    questionnaire: Questionnaire,
    X: Any,
    attributes: Sequence[str],
    *,
    sensitivity: Mapping[str, float] | None = None,
    random_state: int = 0,
) -> Order:
    """What one order of questions comes to.

    Parameters
    ----------
    questionnaire : Questionnaire
    X : frame
        Records with their full values.
    attributes : names, the first to be asked first
        One that is not named comes last; those that are kept in full come first in any case, for they are asked of
        everyone and can only make the others coarser.
    sensitivity : attribute → how much it counts in NCP; 1 by default
    random_state : seed of the sample, where there are too many different records

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.measures.asking_orders import measure_order
    >>> X = md.datasets.load_adult().X[["age", "hours-per-week", "capital-gain"]][:3000]
    >>> rule = lambda X: (X["capital-gain"] > 5000) | (X["age"] > 40) & (X["hours-per-week"] > 45)
    >>> form = md.Questionnaire(md.ModelGuided(rule, random_state=0).fit(X).cells_)
    >>> order = measure_order(form, X, ["capital-gain", "hours-per-week", "age"])
    >>> {name: round(share, 2) for name, share in order.asked.items()}
    {'capital-gain': 1.0, 'hours-per-week': 0.95, 'age': 0.2}
    """
    steps = Steps(questionnaire, X, sensitivity, random_state)
    if isinstance(attributes, str) or not set(attributes) <= set(questionnaire.cells.names):
        raise ParameterError("The 'attributes' parameter must be a list of names that the cells have.")
    places = [questionnaire.cells.names.index(name) for name in dict.fromkeys(attributes)]
    return _order(
        steps, "as given", [*(a for a in places if a in steps.free), *(a for a in steps.free if a not in places)]
    )


def compare_orders(
    questionnaire: Questionnaire,
    X: Any,
    *,
    cost: Mapping[str, float] | None = None,
    sensitivity: Mapping[str, float] | None = None,
    random_orders: int = 20,
    random_state: int = 0,
) -> list[Order]:
    """Four orders side by side: fewest questions, least told, cheapest first, and random.

    The first two are the best of all orders for up to 8 attributes. For more, some sets of attributes are followed, the
    fewer the more attributes and cells there are (a beam search with a bound on what must still come, greedy in the
    end), and `proven` says whether the order found is the best nevertheless. It may take a minute for 50 attributes. Of
    orders that ask equally few questions the first is the one that tells least, and the second the other way round.

    Parameters
    ----------
    questionnaire : Questionnaire
    X : frame
        Records with their full values.
    cost : attribute → what it costs the organisation to ask; 1 by default, equal costs in the artifact's order
    sensitivity : attribute → how much it counts in what is told; 1 by default
    random_orders : of how many orders 'random' is the mean
    random_state : seed of the random orders, and of the sample where there are too many different records

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.measures.asking_orders import compare_orders
    >>> X = md.datasets.load_adult().X[["age", "hours-per-week", "capital-gain"]][:3000]
    >>> rule = lambda X: (X["capital-gain"] > 5000) | (X["age"] > 40) & (X["hours-per-week"] > 45)
    >>> form = md.Questionnaire(md.ModelGuided(rule, random_state=0).fit(X).cells_)
    >>> for order in compare_orders(form, X, cost={"capital-gain": 2}):
    ...     print(order.name, order.attributes, round(order.questions, 2))
    fewest questions ('hours-per-week', 'age', 'capital-gain') 2.11
    least told ('hours-per-week', 'age', 'capital-gain') 2.11
    cheapest first ('age', 'hours-per-week', 'capital-gain') 2.33
    random None 2.26
    """
    steps = Steps(questionnaire, X, sensitivity, random_state)
    names = questionnaire.cells.names
    costs = amounts(cost, "cost", names)
    if isinstance(random_orders, bool) or not isinstance(random_orders, int) or random_orders < 1:
        raise ParameterError(f"The 'random_orders' parameter must be an int ≥ 1. Got {random_orders!r} instead.")
    random = np.random.default_rng(random_state)
    drawn = [_order(steps, "random", random.permutation(steps.free).tolist()) for _ in range(random_orders)]
    return [
        _best("fewest questions", steps, lambda asked, told: (asked, told)),
        _best("least told", steps, lambda asked, told: (told, asked)),
        _order(steps, "cheapest first", sorted(steps.free, key=lambda a: costs[names[a]])),
        _mean(drawn),
    ]


def _order(steps: Steps, name: str, places: Sequence[int], proven: bool = False) -> Order:
    asked, told = steps.measured(places)
    return Order(name, tuple(asked), sum(asked.values()), told, asked, proven)


def _mean(orders: Sequence[Order]) -> Order:
    questions, ncp = np.mean([(order.questions, order.ncp) for order in orders], axis=0).tolist()
    asked = {name: float(np.mean([order.asked[name] for order in orders])) for name in orders[0].asked}
    return Order("random", None, questions, ncp, asked)


# The best order


def _best(name: str, steps: Steps, cost: Callable[[float, float], Cost]) -> Order:
    """The order of least cost, from one number of attributes asked to the next; most promising sets first."""

    def step(done: Asked, a: int) -> Cost:
        node = steps.node(done)
        return cost(node.asked[a], steps.shares[a] * (1 - node.lost[a]))

    everything = steps.first | set(steps.free)
    # Answers before a question only make it coarser, so that it costs least after all others.
    least = {a: step(everything - {a}, a)[0] for a in steps.free}
    many = len(steps.free)
    width = _WIDTH if many <= 8 else max(1, min(_WIDTH, _WORK // (many**2 * steps.cells.n_cells)))
    level: dict[Asked, tuple[Cost, tuple[int, ...]]] = {steps.first: ((0.0, 0.0), ())}
    passed_by = np.inf
    for _ in steps.free:
        found: dict[Asked, tuple[Cost, tuple[int, ...]]] = {}
        for done, (so_far, order) in level.items():
            for a in (a for a in steps.free if a not in done):
                here = step(done, a)
                reached = (round(so_far[0] + here[0], 12), round(so_far[1] + here[1], 12)), (*order, a)
                found[done | {a}] = min(found.get(done | {a}, reached), reached)
        bounds = {s: reached[0][0] + sum(least[a] for a in everything - s) for s, reached in found.items()}
        ranked = sorted(found, key=lambda s: (bounds[s], found[s]))
        passed_by = min([passed_by, *(bounds[s] for s in ranked[width:])])
        level = {s: found[s] for s in ranked[:width]}
    best, order = level[everything]
    return _order(steps, name, order, proven=bool(best[0] <= passed_by + 1e-9))
