"""In which order a questionnaire had best ask: how many questions people get, and how much they tell [Goldsteen22
§3.2].

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
import numpy.typing as npt
from scipy import sparse

from modicum.errors import DataError, ParameterError
from modicum.generalization.bins import AnyPartition, Groups, Intervals
from modicum.generalization.questionnaire import Equivalence, Questionnaire
from modicum.measures.information_loss import category_sizes, domain_of, ncp, share_of_width
from modicum.table.codes import first_rows, group_rows
from modicum.table.estimator_input import attribute_weights
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.typing import Codes, Floats, Mask

# One question after others: how often it is asked, and how much its answer tells (for `asking_orders`).

_MOST_RECORDS = 2_000
_MOST_STEPS = 25_000  # kept in memory, at most 8 kB each

Asked = frozenset[int]


@dataclass(frozen=True)
class Node:
    """After some attributes were answered.

    `ids` says which records have come to the same (-1: nothing more is asked of them); the others are by attribute:
    the choice each record would make, the share of records it is asked of, and the mean NCP of what they would tell.
    """

    ids: Codes
    told: dict[int, npt.NDArray[np.int32]]
    asked: dict[int, float]
    lost: dict[int, float]


class Steps:
    """All records that differ, and every set of attributes that was looked at."""

    def __init__(
        self, questionnaire: Questionnaire, X: Any, sensitivity: Mapping[str, float] | None, random_state: int
    ) -> None:
        if not isinstance(questionnaire, Questionnaire):
            raise ParameterError(f"Orders are those of a questionnaire. Got {type(questionnaire).__name__} instead.")
        self.cells, whole = questionnaire.cells, questionnaire.equivalence
        frame = as_frame(X, self.cells.names)
        if not len(frame):
            raise DataError("The data has no rows, so that nothing can be measured.")
        weights = amounts(sensitivity, "sensitivity", self.cells.names)
        if not any(weights.values()):
            raise ParameterError("The 'sensitivity' parameter must give at least one attribute a number above 0.")
        self.shares = list(attribute_weights(self.cells.names, weights).values())
        kept = {a for a, name in enumerate(self.cells.names) if name in self.cells.kept}
        # Codes that are equivalent from the start are taken together; `places` leads from each code to its class.
        firsts = {a: found[0] for a, found in whole.classes(whole.boxes).items()}
        own = {a: np.unique(first) for a, first in firsts.items()}
        self.places = {a: np.searchsorted(own[a], first) for a, first in firsts.items()}
        self.alike = Equivalence(
            {a: box[:, own[a]] for a, box in whole.boxes.items()},
            {a: drawn[own[a]] for a, drawn in whole.drawn.items()},
            whole.results,
        )
        self.first: Asked = frozenset(a for a in own if a in kept or len(own[a]) == 1)
        self.free = [a for a in own if a not in self.first]
        codes = self.cells.detail.codes(frame)
        for a in range(codes.shape[1]):
            codes[:, a] = self.places[a][codes[:, a]] if a in own else 0
        self.codes, self.weights = _distinct(codes, random_state)
        by_attribute = ncp(self.cells, frame).by_attribute
        self.kept_losses = {name: by_attribute[name] for name in self.cells.kept}
        self.losses = {a: _losses(self.cells.detail.partitions[a], frame) for a in self.free}
        self._nodes: dict[Asked, Node] = {}

    def measure(self, places: Sequence[int]) -> tuple[dict[str, float], float]:
        """For an order, the share of records that each attribute is asked of, and the NCP of what is told in all."""
        asked, lost, done = dict.fromkeys(self.cells.kept, 1.0), dict(self.kept_losses), self.first
        for a in places:
            node = self.node(done)
            asked[self.cells.names[a]], lost[self.cells.names[a]] = node.asked[a], node.lost[a]
            done |= {a}
        pairs = zip(self.cells.names, self.shares, strict=True)
        return asked, float(sum(share * lost.get(attribute, 1.0) for attribute, share in pairs))

    def node(self, done: Asked) -> Node:
        """Where records stand after these attributes."""
        if done not in self._nodes:
            node = self._make_node(done, self._ids(done))
            if sum(len(known.told) for known in self._nodes.values()) > _MOST_STEPS:
                self._nodes.clear()
            self._nodes[done] = node
        return self._nodes[done]

    def _ids(self, done: Asked) -> Codes:
        if done == self.first:
            return group_rows(self.codes[:, sorted(done)])
        before = [(done - {a}, a) for a in done - self.first]
        parent, a = next((each for each in before if each[0] in self._nodes), before[0])
        node = self.node(parent)
        ids, going_on = node.ids.copy(), node.ids >= 0
        ids[going_on] = group_rows(np.column_stack([node.ids, node.told[a]])[going_on])
        return ids

    def _make_node(self, done: Asked, ids: Codes) -> Node:
        going_on = np.flatnonzero(ids >= 0)
        ones = going_on[first_rows(ids[going_on])]  # one record for each id
        reached = np.ones((len(ones), self.cells.n_cells), dtype=bool)
        for b in done:
            reached &= self.alike.boxes[b].T[self.codes[ones, b]]
        rows = sparse.csr_array(reached).astype(float)
        boxes = {b: box for b, box in self.alike.boxes.items() if b not in done}
        told, asked, lost = {}, {}, {}
        undecided = np.zeros(len(ones), dtype=bool)
        for a, classes in self.alike.classes(boxes, rows).items():
            differ: Mask = np.any(classes > 0, axis=1)
            undecided |= differ
            told[a] = np.zeros(len(ids), dtype=np.int32)
            told[a][going_on] = classes[ids[going_on], self.codes[going_on, a]]
            of = going_on[differ[ids[going_on]]]
            asked[a] = float(self.weights[of].sum())
            lost[a] = 1 - asked[a] + self._lost(a, classes, ids[of], told[a][of], self.weights[of])
        ids = ids.copy()
        ids[going_on] = np.where(undecided[ids[going_on]], ids[going_on], -1)
        return Node(ids, told, asked, lost)

    def _lost(self, a: int, classes: Codes, ids: Codes, told: npt.NDArray[np.int32], weights: Floats) -> float:
        """NCP of what these records tell, summed by weight."""
        cases = group_rows(np.column_stack([ids, told]))
        ones = first_rows(cases)
        sets = classes[ids[ones]] == told[ones][:, None]
        return float(self.losses[a](sets[:, self.places[a]]) @ np.bincount(cases, weights=weights))


def _distinct(codes: Codes, random_state: int) -> tuple[Codes, Floats]:
    """The different rows and the share of each; a sample where there are too many."""
    groups = group_rows(codes)
    weights = np.bincount(groups) / len(groups)
    if len(weights) > _MOST_RECORDS:
        weights = np.random.default_rng(random_state).multinomial(_MOST_RECORDS, weights) / _MOST_RECORDS
    return codes[first_rows(groups)][weights > 0], weights[weights > 0]


def _losses(partition: AnyPartition, frame: Any) -> Callable[[Mask], Floats]:
    """NCP of sets of codes, a row each."""
    series = column(frame, partition.name)
    if isinstance(partition, Groups):
        return _category_losses(partition, bool((texts(series)[0] < 0).any()))
    assert isinstance(partition, Intervals)
    domain = domain_of(partition.attribute, numbers(series, partition.attribute))
    edges = partition.edges.tolist()
    lows = np.array([1 - share_of_width(low, np.inf, partition.attribute, domain) for low in [-np.inf, *edges]])
    highs = np.array([share_of_width(-np.inf, high, partition.attribute, domain) for high in [*edges, np.inf]])

    def widths(sets: Mask) -> Floats:
        own = np.pad(sets[:, : len(lows)], [(0, 0), (1, 1)])
        starts, ends = own[:, 1:-1] & ~own[:, :-2], own[:, 1:-1] & ~own[:, 2:]
        return np.maximum(ends @ highs - starts @ lows, 0.0)

    return widths


def _category_losses(partition: Groups, has_missing: bool) -> Callable[[Mask], Floats]:
    sizes = category_sizes(partition, has_missing)
    unseen = partition.unseen_code if partition.unseen_code >= len(partition.buckets) else None

    def shares(sets: Mask) -> Floats:
        values = sets @ sizes
        found = np.where(values > 1, values / sizes.sum(), 0.0)
        return found if unseen is None else np.where(sets[:, unseen] & (sets.sum(axis=1) == 1), 1.0, found)

    return shares


def amounts(given: Mapping[str, float] | None, what: str, names: Sequence[str]) -> dict[str, float]:
    """One finite number ≥ 0 for each attribute, 1 where none is given."""
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(f"The {what!r} parameter must map names to numbers. Got {type(given).__name__} instead.")
    for name, amount in (given or {}).items():
        if name not in names:
            raise ParameterError(f"The {what!r} parameter names {name!r}, which the cells do not have.")
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < np.inf:
            raise ParameterError(f"The {what!r} parameter must give {name!r} a number ≥ 0.")
    return {name: float((given or {}).get(name, 1.0)) for name in names}


# The orders

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
    asked, told = steps.measure(places)
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
