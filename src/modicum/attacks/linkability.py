"""A7: find out which halves of records belong to the same person [Staab24 §5, §8.1, Appendix A]."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.engines.counting import count_combinations, with_keys
from modicum.engines.dispatch import is_table, table_at
from modicum.errors import DataError, ParameterError, format_names
from modicum.generalization import Artifact, Generalization
from modicum.generalization.core import raw_generalization
from modicum.measures.intervals import Interval, mean_interval
from modicum.table.codes import first_rows, group_rows
from modicum.table.estimator_input import as_names, person_codes
from modicum.table.frames import as_frame, column
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.typing import Codes, Floats

# The records of A7: each combination of both halves, with its number of records.
#
# The random draws depend only on these counts, not on the order of records or the engine.


@dataclass(frozen=True)
class LinkedSide:
    """Records in memory, or distinct records with their counts."""

    frame: Any
    records: Codes | None
    persons: Codes | None

    @classmethod
    def of(cls, g: Generalization, X: Any, names: Sequence[str]) -> "LinkedSide":
        """Read the named attributes of records; a table in an engine is counted there."""
        if not is_table(X):
            frame = as_frame(X, g.names)
            return cls(frame, None, person_codes(g.schema, frame))
        table = table_at(X)
        if g.schema.person is not None and g.schema.person in table.types:
            raise ParameterError(
                f"The records have the person column {g.schema.person!r}, but {table.engine} links records only by "
                "their counts. Give a sample in memory, or omit the column if everyone has one record."
            )
        lazy, keys = with_keys(table, names)
        found, records = count_combinations(lazy, keys, "both halves")
        return cls(found.rename(dict(zip(keys, names, strict=True))), records, None)

    def __len__(self) -> int:
        return len(self.frame) if self.records is None else int(self.records.sum())

    @property
    def people(self) -> int:
        """The number of people."""
        return len(self) if self.persons is None else int(self.persons.max(initial=-1)) + 1


@dataclass(frozen=True)
class Halves:
    """Every combination of two halves, numbered in full and by their buckets, with its counts.

    Attributes
    ----------
    full, seen : for the halves a and b, the number of each combination's half, by full values and by buckets
    breached : the number of breached records with each combination
    people : the combination of each row to link
    """

    full: list[Codes]
    seen: list[Codes]
    breached: Codes
    people: Codes

    @classmethod
    def of(cls, g: Generalization, breach: LinkedSide, people: LinkedSide, halves: Sequence[Sequence[str]]) -> "Halves":
        """Number and count the combinations."""
        names = [name for half in halves for name in half]
        sides = [breach] if people is breach else [breach, people]
        schema = Schema(attributes=tuple(g.schema[name].model_copy(update={"roles": ()}) for name in names))
        raw = raw_generalization(people.frame, schema)
        full, seen = (np.vstack([_codes(each, side.frame, names) for side in sides]) for each in (raw, g))
        groups = group_rows(np.hstack([full, seen]))
        first, cut = first_rows(groups), len(breach.frame)
        which = [slice(0, len(halves[0])), slice(len(halves[0]), None)]
        return cls(
            full=[group_rows(full[first][:, half]) for half in which],
            seen=[group_rows(seen[first][:, half]) for half in which],
            breached=_count_by_group(groups[:cut], breach.records, len(first)),
            people=groups if people is breach else groups[cut:],
        )


def _draw_people(groups: Codes, people: LinkedSide, many: int, k: int, random_state: int) -> list[Codes]:
    """Draw disjoint samples of k people, with one record each; return the combinations of their records."""
    random = np.random.default_rng(random_state)
    count = min(_ROUNDS, people.people // k)
    if people.persons is not None:
        order = random.permutation(len(groups))
        order = order[np.sort(np.unique(people.persons[order], return_index=True)[1])]
        return [groups[order[i * k : (i + 1) * k]] for i in range(count)]
    ends = np.cumsum(_count_by_group(groups, people.records, many))
    places = random.choice(int(ends[-1]), count * k, replace=False)
    return list(np.searchsorted(ends, places, side="right").reshape(count, k))


def _codes(g: Generalization, frame: Any, names: Sequence[str]) -> Codes:
    """Return the codes of some attributes; 0 for an attribute that is not collected."""
    return np.column_stack([g[name].encode(column(frame, name)) for name in names])


def _count_by_group(groups: Codes, records: Codes | None, many: int) -> Codes:
    return np.bincount(groups, weights=records, minlength=many).astype(np.int64)


# The attack

MOST_PEOPLE = 3_000  # linked at once: the time of the matching grows with their third power
_ROUNDS = 10
_NEVER = 0.01  # count of a pair that never occurs
_BALANCING = 50


@dataclass(frozen=True)
class LinkResult(PlainResult):
    """How many halves were linked correctly.

    Attributes
    ----------
    error : share of people whose halves were linked wrongly; higher is more private
    interval : its 95% interval; with five rounds or more, links of the same round do not count as independent
    naive, raw : the same for a random matching, which does not use the breach, and for breached raw records
    linked : share of people linked correctly, 1 − error; equal halves count as the same
    same_person, same_person_naive : share linked to the very same person, with ties among equal halves broken at
        random; and the same by chance
    a, b : the attributes of each half
    k : how many people were linked at once
    people : how many people were linked in all rounds
    random_state, seconds : the seed and the time

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["education", "occupation", "sex"]]
    >>> g = md.Uniform(buckets=4).fit(X[:2_000]).generalization_
    >>> found = md.attacks.Linkability(["education"], ["occupation"], k=50).run(g, breached=X[2_000:3_000])
    >>> found.k, found.linked == 1 - found.error, found.raw < found.naive
    (50, True, True)
    """

    error: float
    interval: Interval
    naive: float
    raw: float
    same_person: float
    same_person_naive: float
    a: tuple[str, ...]
    b: tuple[str, ...]
    k: int
    people: int
    random_state: int
    seconds: float

    _properties = ("linked",)

    @property
    def linked(self) -> float:
        """The share of people whose halves were linked correctly."""
        return 1 - self.error


class Linkability:
    """The adversary A7, who holds full halves x_A and x_B of k people, and a breach S'_min.

    From the breach it estimates (Appendix A)

        p(x_A = a | x_B = b) ≈ |{z ∈ S'_min : z_{A∪B} = g_{A∪B}(a, b)}| / |{z ∈ S'_min : z_B = g_B(b)}|,

    or, if b's bucket never occurs, as the share of a's bucket. It scales these chances until every half belongs to one
    person, and links the halves by the matching with the highest sum. A pair that never occurs counts as a hundredth of
    a record. Up to ten rounds link k different people each. Halves that look the same to the adversary are linked at
    random; the expected share of correct links is computed, not drawn.

    Parameters
    ----------
    a, b : names of attributes; none may be in both
    k : int
        How many people are linked at once, at most 3,000; by default a tenth of them, up to 1,000.
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=8).fit(X[:9_000], y[:9_000]).generalization_
    >>> attack = md.attacks.Linkability(["education"], ["occupation"], k=200)
    >>> result = attack.run(g, breached=X[9_000:12_000])
    >>> result.raw < result.error < result.naive
    True
    """

    def __init__(self, a: Sequence[str], b: Sequence[str], k: int | None = None, *, random_state: int = 0) -> None:
        self.a = as_names(a)
        self.b = as_names(b)
        self.k = k
        self.random_state = random_state

    def run(self, g: Artifact, breached: Any, people: Any = None) -> LinkResult:
        """Link halves with the help of a breach.

        Parameters
        ----------
        g : Generalization
        breached : frame with full records, of which the adversary sees the buckets; a table in an engine is counted
            there, by the combinations of both halves
        people : frame with full records of the people whose halves are linked; by default the breached ones
        """
        start = time.perf_counter()
        self._check_halves(g)
        assert isinstance(g, Generalization)
        a, b = (list(dict.fromkeys(half)) for half in (self.a, self.b))
        breach = LinkedSide.of(g, breached, [*a, *b])
        drawn_from = breach if people is None else LinkedSide.of(g, people, [*a, *b])
        k = self._size(drawn_from.people, len(breach))
        found = Halves.of(g, breach, drawn_from, (a, b))
        rounds = _draw_people(found.people, drawn_from, len(found.breached), k, self.random_state)
        right, raw_right = (
            np.concatenate([_compute_chances(found, by, rows, self.random_state + i) for i, rows in enumerate(rounds)])
            for by in (found.seen, found.full)
        )
        alike = np.concatenate([_count_alike(found.full[0][rows]) for rows in rounds])
        units = np.repeat(np.arange(len(rounds)), k) if len(rounds) > 4 else None
        return LinkResult(
            error=float(1 - right.mean()),
            interval=mean_interval(1 - right, units),
            naive=float(1 - alike.mean() / k),
            raw=float(1 - raw_right.mean()),
            same_person=float((right / alike).mean()),
            same_person_naive=1 / k,
            a=tuple(a),
            b=tuple(b),
            k=k,
            people=k * len(rounds),
            random_state=self.random_state,
            seconds=time.perf_counter() - start,
        )

    def check(self, g: Artifact, breached: Any, people: Any = None) -> int:
        """Refuse data that cannot be linked, and return how many people are linked at once."""
        self._check_halves(g)
        breach = as_frame(breached, g.names)
        drawn_from = breach if people is None else as_frame(people, g.names)
        return self._size(people_in(g, drawn_from), len(breach))

    def _check_halves(self, g: Artifact) -> None:
        if not isinstance(g, Generalization):
            raise ParameterError(
                "Linkability needs an artifact that generalizes attribute by attribute, such as a `Generalization`."
            )
        for letter, half in (("a", self.a), ("b", self.b)):
            if not isinstance(half, list) or not half:
                raise ParameterError(
                    f"The {letter!r} parameter of Linkability must list at least one attribute. Got {half!r} instead."
                )
            unknown = [name for name in half if name not in g.names]
            if unknown:
                raise ParameterError(
                    f"The {letter!r} parameter of Linkability names {unknown[0]!r}, which the generalization does not "
                    f"have; it has {format_names(g.names, limit=8)}."
                )
        both = [name for name in self.a if name in self.b]
        if both:
            raise ParameterError(f"The attribute {both[0]!r} is in both halves. Remove it from one of them.")

    def _size(self, people: int, breached: int) -> int:
        if not breached:
            raise DataError("The breached data has 0 rows, so nothing can be linked.")
        k = max(2, min(1_000, people // _ROUNDS)) if self.k is None else self.k
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 2 <= k <= MOST_PEOPLE:
            raise ParameterError(
                f"The 'k' parameter of Linkability must be an int from 2 to {MOST_PEOPLE:,}. Got {self.k!r} instead."
            )
        if k > people:
            raise DataError(f"The data has {people:,} people, so {k:,} of them cannot be linked (parameter 'k').")
        return k


def people_in(g: Artifact, frame: Any) -> int:
    """Count the people of the records."""
    return LinkedSide(frame, None, person_codes(g.schema, frame)).people


def _compute_chances(found: Halves, seen: Sequence[Codes], rows: Codes, random_state: int) -> Floats:
    """Compute for each drawn person the chance that the half linked to their x_B equals their own x_A.

    To the adversary, people with the same buckets of B look the same, and so do halves with the same buckets of A. If f
    of the n_b people who look like this one are linked to the n_a halves that look like theirs, and c of these halves
    equal theirs, the chance is f/n_b · c/n_a.
    """
    from scipy.optimize import linear_sum_assignment

    kinds_a, of_a, many_a = np.unique(seen[0][rows], return_inverse=True, return_counts=True)
    kinds_b, of_b, many_b = np.unique(seen[1][rows], return_inverse=True, return_counts=True)
    chances = _balance_chances(_chances(seen, kinds_a, kinds_b, found.breached), many_a, many_b)
    # If several matchings are equally good, the order of the halves must not reveal the truth.
    random = np.random.default_rng(random_state)
    b, a = random.permutation(of_b), random.permutation(of_a)
    people, joined = linear_sum_assignment(chances[b][:, a], maximize=True)
    flow = np.zeros(chances.shape)
    np.add.at(flow, (b[people], a[joined]), 1)
    return np.asarray(flow[of_b, of_a] / many_b[of_b] * _count_alike(found.full[0][rows]) / many_a[of_a])


def _chances(seen: Sequence[Codes], kinds_a: Codes, kinds_b: Codes, breached: Codes) -> Floats:
    """Estimate p(a | b) for all kinds of halves by counting among the breached."""
    a, b = seen
    width = int(a.max()) + 1
    there = np.flatnonzero(breached)
    pairs, which = np.unique((b * width + a)[there], return_inverse=True)
    counts = np.bincount(which, weights=breached[there])
    wanted = kinds_b[:, None] * width + kinds_a
    at = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    both = np.where(pairs[at] == wanted, counts[at], _NEVER)
    alone = np.bincount(b, weights=breached)[kinds_b][:, None]
    marginal = np.maximum(np.bincount(a, weights=breached)[kinds_a], _NEVER) / breached.sum()
    return np.where(alone > 0, both / np.maximum(alone, 1), marginal)


def _balance_chances(chances: Floats, many_a: Codes, many_b: Codes) -> Floats:
    """Scale the chances until every half belongs to one person: rows and columns sum to one (Sinkhorn)."""
    for _ in range(_BALANCING):
        chances = chances / (many_b @ chances)
        chances = chances / (chances @ many_a)[:, None]
    return chances


def _count_alike(halves: Codes) -> Codes:
    """Return how many of the drawn people have the same half."""
    return np.bincount(halves)[halves]
