"""Orders of a questionnaire's questions: how many questions people get, and how much they disclose [Goldsteen22 §3.2].

Whether and how finely an attribute is asked depends on the record and on the attributes answered so far, not on the
order of the answers. So the cost of an order is a sum of steps (attributes answered so far, next attribute), and the
best order is a shortest path over sets of attributes.

**Records.** All, equal ones together; more than 2,000 different ones are represented by a sample of 2,000 records.
**Disclosure.** NCP as in `modicum.measures.information_loss`, with two differences: for a number, the widths of all
ranges of a choice are summed, and an attribute that is not asked counts 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from modicum.errors import DataError, ParameterError, check_number_is
from modicum.generalization.bins import AnyPartition, Groups, Intervals
from modicum.generalization.questionnaire import Equivalence, Questionnaire
from modicum.measures.information_loss import category_sizes, domain_of, ncp, share_of_width
from modicum.table.codes import first_rows, group_rows
from modicum.table.estimator_input import attribute_weights
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.typing import Codes, Floats, Mask

# One question after others: how often it is asked, and how much its answer discloses.

_MOST_RECORDS = 2_000
_MOST_STEPS = 25_000  # steps in memory, at most 8 kB each

Asked = frozenset[int]


@dataclass(frozen=True)
class Node:
    """The state after some attributes were answered.

    Records with the same `ids` are in the same situation (-1: no further question). The other fields are by attribute:
    the choice that each record would make, the share of records that are asked, and the mean NCP of their answers.
    """

    ids: Codes
    choices: dict[int, npt.NDArray[np.int32]]
    asked: dict[int, float]
    lost: dict[int, float]


class Steps:
    """The different records, and a cache of the sets of attributes visited so far."""

    def __init__(
        self, questionnaire: Questionnaire, X: Any, sensitivity: Mapping[str, float] | None, random_state: int
    ) -> None:
        if not isinstance(questionnaire, Questionnaire):
            raise ParameterError(f"An order needs a questionnaire. Got {type(questionnaire).__name__} instead.")
        self.cells, whole = questionnaire.cells, questionnaire.equivalence
        frame = as_frame(X, self.cells.names)
        if not len(frame):
            raise DataError("The data has no rows; give at least one record.")
        weights = amounts(sensitivity, "sensitivity", self.cells.names)
        if not any(weights.values()):
            raise ParameterError("The 'sensitivity' parameter must give at least one attribute a number above 0.")
        self.shares = list(attribute_weights(self.cells.names, weights).values())
        kept = {a for a, name in enumerate(self.cells.names) if name in self.cells.kept}
        # Merge codes that are equivalent from the start; `places` maps each code to its class.
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
        """Return for an order the share of records that are asked each attribute, and the NCP of all answers."""
        asked, lost, done = dict.fromkeys(self.cells.kept, 1.0), dict(self.kept_losses), self.first
        for a in places:
            node = self.node(done)
            asked[self.cells.names[a]], lost[self.cells.names[a]] = node.asked[a], node.lost[a]
            done |= {a}
        pairs = zip(self.cells.names, self.shares, strict=True)
        return asked, float(sum(share * lost.get(attribute, 1.0) for attribute, share in pairs))

    def node(self, done: Asked) -> Node:
        """Return the state after these attributes were answered."""
        if done not in self._nodes:
            node = self._make_node(done, self._ids(done))
            if sum(len(known.choices) for known in self._nodes.values()) > _MOST_STEPS:
                self._nodes.clear()
            self._nodes[done] = node
        return self._nodes[done]

    def _ids(self, done: Asked) -> Codes:
        if done == self.first:
            return group_rows(self.codes[:, sorted(done)])
        before = [(done - {a}, a) for a in done - self.first]
        parent, a = next((each for each in before if each[0] in self._nodes), before[0])
        node = self.node(parent)
        ids, active = node.ids.copy(), node.ids >= 0
        ids[active] = group_rows(np.column_stack([node.ids, node.choices[a]])[active])
        return ids

    def _make_node(self, done: Asked, ids: Codes) -> Node:
        active = np.flatnonzero(ids >= 0)
        ones = active[first_rows(ids[active])]  # one record for each id
        reached = np.ones((len(ones), self.cells.n_cells), dtype=bool)
        for b in done:
            reached &= self.alike.boxes[b].T[self.codes[ones, b]]
        rows = sparse.csr_array(reached).astype(float)
        boxes = {b: box for b, box in self.alike.boxes.items() if b not in done}
        choices, asked, lost = {}, {}, {}
        undecided = np.zeros(len(ones), dtype=bool)
        for a, classes in self.alike.classes(boxes, rows).items():
            differ: Mask = np.any(classes > 0, axis=1)
            undecided |= differ
            choices[a] = np.zeros(len(ids), dtype=np.int32)
            choices[a][active] = classes[ids[active], self.codes[active, a]]
            at = active[differ[ids[active]]]  # the records that are asked
            asked[a] = float(self.weights[at].sum())
            lost[a] = 1 - asked[a] + self._sum_ncp(a, classes, ids[at], choices[a][at], self.weights[at])
        ids = ids.copy()
        ids[active] = np.where(undecided[ids[active]], ids[active], -1)
        return Node(ids, choices, asked, lost)

    def _sum_ncp(self, a: int, classes: Codes, ids: Codes, choices: npt.NDArray[np.int32], weights: Floats) -> float:
        """Return the weighted sum of the NCP of these records' choices."""
        cases = group_rows(np.column_stack([ids, choices]))
        ones = first_rows(cases)
        sets = classes[ids[ones]] == choices[ones][:, None]
        return float(self.losses[a](sets[:, self.places[a]]) @ np.bincount(cases, weights=weights))


def _distinct(codes: Codes, random_state: int) -> tuple[Codes, Floats]:
    """Return the different rows and the share of each; a sample if there are too many."""
    groups = group_rows(codes)
    weights = np.bincount(groups) / len(groups)
    if len(weights) > _MOST_RECORDS:
        weights = np.random.default_rng(random_state).multinomial(_MOST_RECORDS, weights) / _MOST_RECORDS
    return codes[first_rows(groups)][weights > 0], weights[weights > 0]


def _losses(partition: AnyPartition, frame: Any) -> Callable[[Mask], Floats]:
    """Return a function that computes the NCP of sets of codes, one set per row."""
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
        losses = np.where(values > 1, values / sizes.sum(), 0.0)
        return losses if unseen is None else np.where(sets[:, unseen] & (sets.sum(axis=1) == 1), 1.0, losses)

    return shares


def amounts(given: Mapping[str, float] | None, what: str, names: Sequence[str]) -> dict[str, float]:
    """Return a finite number ≥ 0 for each attribute, by default 1."""
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(f"The {what!r} parameter must map names to numbers. Got {type(given).__name__} instead.")
    for name, amount in (given or {}).items():
        if name not in names:
            raise ParameterError(f"The {what!r} parameter names {name!r}, which is not an attribute of the cells.")
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < np.inf:
            raise ParameterError(f"The {what!r} parameter must give {name!r} a number ≥ 0.")
    return {name: float((given or {}).get(name, 1.0)) for name in names}


# The orders

_WIDTH = 252  # sets of attributes followed at a time: all of them, for up to 10 attributes
_WORK = 1_000_000  # limit of width × attributes² × cells for more than 8 attributes

Cost = tuple[float, float]


@dataclass(frozen=True)
class Order:
    """An order of questions and its costs, as means over records.

    Attributes
    ----------
    name : the goal of the order
    attributes : the order; None for the mean over random ones
    questions : the number of questions per record
    ncp : the detail that stays hidden: 1 means nothing is disclosed, 0 everything; attributes count by their
        sensitivity
    asked : attribute → the share of records that are asked it
    proven : whether no other order can do better in its goal on these records

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
        """Return the same as plain data."""
        return asdict(self)


def measure_order(
    questionnaire: Questionnaire,
    X: Any,
    attributes: Sequence[str],
    *,
    sensitivity: Mapping[str, float] | None = None,
    random_state: int = 0,
) -> Order:
    """Measure one order of questions.

    Parameters
    ----------
    questionnaire : Questionnaire
    X : frame
        Records with their full values.
    attributes : names in the order of the questions
        Attributes that are not named come last. Those kept in full always come first: everyone is asked them, and
        their answers can only make the other questions coarser.
    sensitivity : attribute → its weight in the NCP; 1 by default
    random_state : seed of the sample, if there are too many different records

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
        raise ParameterError("The 'attributes' parameter must be a list of names of the cells' attributes.")
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
    """Compare four orders: fewest questions, least told, cheapest first, and random.

    The first two are the best of all orders for up to 8 attributes. For more, a beam search with a lower bound follows
    only some sets of attributes, fewer for more attributes and cells; `proven` says whether its result is certainly the
    best. It may take a minute for 50 attributes. Of orders with equally few questions the first discloses least, and
    vice versa.

    Parameters
    ----------
    questionnaire : Questionnaire
    X : frame
        Records with their full values.
    cost : attribute → the organisation's cost of asking it; 1 by default, equal costs in the artifact's order
    sensitivity : attribute → its weight in the NCP; 1 by default
    random_orders : the number of orders whose mean is 'random'
    random_state : seed of the random orders, and of the sample if there are too many different records

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
    check_number_is(random_orders, "random_orders", "compare_orders", 1)
    random = np.random.default_rng(random_state)
    drawn = [_order(steps, "random", random.permutation(steps.free).tolist()) for _ in range(random_orders)]
    return [
        _best("fewest questions", steps, lambda questions, disclosed: (questions, disclosed)),
        _best("least told", steps, lambda questions, disclosed: (disclosed, questions)),
        _order(steps, "cheapest first", sorted(steps.free, key=lambda a: costs[names[a]])),
        _mean(drawn),
    ]


def _order(steps: Steps, name: str, places: Sequence[int], proven: bool = False) -> Order:
    asked, ncp = steps.measure(places)
    return Order(name, tuple(asked), sum(asked.values()), ncp, asked, proven)


def _mean(orders: Sequence[Order]) -> Order:
    questions, ncp = np.mean([(order.questions, order.ncp) for order in orders], axis=0).tolist()
    asked = {name: float(np.mean([order.asked[name] for order in orders])) for name in orders[0].asked}
    return Order("random", None, questions, ncp, asked)


# The best order


def _best(name: str, steps: Steps, cost: Callable[[float, float], Cost]) -> Order:
    """Find the order of least cost by beam search, adding one attribute at a time to the most promising sets."""

    def step(done: Asked, a: int) -> Cost:
        node = steps.node(done)
        return cost(node.asked[a], steps.shares[a] * (1 - node.lost[a]))

    everything = steps.first | set(steps.free)
    # Earlier answers only make a question coarser, so it costs least after all others.
    least = {a: step(everything - {a}, a)[0] for a in steps.free}
    n_free = len(steps.free)
    width = _WIDTH if n_free <= 8 else max(1, min(_WIDTH, _WORK // (n_free**2 * steps.cells.n_cells)))
    level: dict[Asked, tuple[Cost, tuple[int, ...]]] = {steps.first: ((0.0, 0.0), ())}
    passed_by = np.inf
    for _ in steps.free:
        candidates: dict[Asked, tuple[Cost, tuple[int, ...]]] = {}
        for done, (so_far, order) in level.items():
            for a in (a for a in steps.free if a not in done):
                here = step(done, a)
                reached = (round(so_far[0] + here[0], 12), round(so_far[1] + here[1], 12)), (*order, a)
                candidates[done | {a}] = min(candidates.get(done | {a}, reached), reached)
        bounds = {s: reached[0][0] + sum(least[a] for a in everything - s) for s, reached in candidates.items()}
        ranked = sorted(candidates, key=lambda s: (bounds[s], candidates[s]))
        passed_by = min([passed_by, *(bounds[s] for s in ranked[width:])])
        level = {s: candidates[s] for s in ranked[:width]}
    best, order = level[everything]
    return _order(steps, name, order, proven=bool(best[0] <= passed_by + 1e-9))
