"""The pruning mechanism of papers/4 §4 and Appendix B: of each record's candidates, the one nearest to a sphere.

The squared norm of a joined row is a + s², where a is the record's own part and s² that of the sensitive values. So the
smallest and the largest over the join follow from each group's smallest and largest s², the expected squared radius is
the middle between them (Figure B.1), and nothing needs the join itself.

Definition 13 eliminates ℓ − 1 of the ℓ candidates, and Theorem 4.1 has N records before and after: so each record keeps
one candidate (`keep="record"`). Figure B.2, read literally, keeps one row of each group of the joined data, which is
one record in ℓ (`keep="group"`). Candidates that are equally near are drawn from with the same chance each.
"""

from dataclasses import dataclass

import numpy as np

from modicum.anatomy.coding import coded, coded_sensitive, squared_norms
from modicum.anatomy.joining import Join
from modicum.errors import DataError
from modicum.releases.anatomy_release import Candidates
from modicum.table.frames import column
from modicum.table.values import Codes, Floats

MOST_LOOKED_AT = 2**31  # rows of the join, one after another
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Radii:
    """The squared norms that rows of the join can have: the smallest, the largest, and the middle between them."""

    smallest: float
    largest: float

    @property
    def middle(self) -> float:
        """The expected squared radius E[‖R‖²] of Figure B.1."""
        return (self.smallest + self.largest) / 2

    @property
    def slack(self) -> float:
        """How much rounding can move a squared norm."""
        return float(_ROUNDING * self.largest)


@dataclass(frozen=True)
class Chosen:
    """What pruning keeps: rows of the identifying table, and where their sensitive values stand in the join's list."""

    records: Codes
    places: Codes


@dataclass(frozen=True)
class Norms:
    """The parts of the squared norms: each record's own, and that of each sensitive value in the join's list."""

    own: Floats
    squares: Floats

    @classmethod
    def of(cls, join: Join) -> "Norms":
        """In the paper's coding."""
        weights, frame = join.repeats.astype(np.float64), join.identifying
        columns = ((each, coded(column(frame, each.name), each, weights)) for each in join.identifying_attributes)
        parts = [coded_sensitive(join, a) ** 2 for a in range(len(join.candidates))]
        return cls(squared_norms(columns, len(frame)), np.concatenate(parts))

    def radii(self, join: Join) -> Radii:
        """The smallest and the largest over the join (Figure B.1)."""
        low, high = self.own.copy(), self.own.copy()
        for found, offset in zip(join.candidates, join.offsets, strict=True):
            squares = self.squares[offset : offset + len(found.codes)]
            low += np.minimum.reduceat(squares, found.starts[:-1])[found.groups]
            high += np.maximum.reduceat(squares, found.starts[:-1])[found.groups]
        return Radii(float(low.min()), float(high.max()))


def pruned(join: Join, keep: str, random: np.random.Generator) -> Chosen:
    """The rows of the join nearest to the middle radius: one for each record, or one for each group."""
    norms = Norms.of(join)
    radii = norms.radii(join)
    if keep == "group":
        return _of_groups(only_one(join), norms, radii, random)
    draws = random.random(len(norms.own))
    return _of_records(join, norms, radii, draws) if len(join.candidates) == 1 else _of_all(join, norms, radii, draws)


def _of_records(join: Join, norms: Norms, radii: Radii, draws: Floats) -> Chosen:
    from modicum.anatomy.prune_kernel import nearest_in_order  # deferred: numba loads slowly

    found, order = join.candidates[0], _ascending(join.candidates[0], norms.squares)
    wanted = radii.middle - norms.own
    places = nearest_in_order(wanted, norms.squares[order], found.groups, found.starts, draws, radii.slack)
    return Chosen(np.arange(len(wanted)), order[places][:, None])


def _of_groups(found: Candidates, norms: Norms, radii: Radii, random: np.random.Generator) -> Chosen:
    from modicum.anatomy.prune_kernel import nearest_of_groups  # deferred: numba loads slowly

    order, own = _ascending(found, norms.squares), np.argsort(found.groups, kind="stable")
    draws = random.random(len(found.sizes))
    records, places = nearest_of_groups(
        norms.own, norms.squares[order], own, found.starts, radii.middle, draws, radii.slack
    )
    back = np.argsort(records)  # as they stand in the identifying table
    return Chosen(records[back], order[places[back]][:, None])


def _of_all(join: Join, norms: Norms, radii: Radii, draws: Floats) -> Chosen:
    from modicum.anatomy.prune_kernel import nearest_of_combinations  # deferred: numba loads slowly

    join.check_rows(MOST_LOOKED_AT)
    wanted = radii.middle - norms.own
    combination = nearest_of_combinations(wanted, norms.squares, join.first, join.sizes, draws, radii.slack)
    records = np.arange(len(wanted))
    return Chosen(records, join.places(records, combination))


def _ascending(found: Candidates, squares: Floats) -> Codes:
    """The places of the candidates, in each group from the smallest square to the largest."""
    own = np.repeat(np.arange(len(found.sizes)), found.sizes)
    of_value = np.zeros(len(found.values))
    of_value[found.codes] = squares
    rank = np.unique(of_value, return_inverse=True)[1]
    return np.argsort(own * len(rank) + rank[found.codes], kind="stable")


def only_one(join: Join) -> Candidates:
    """The candidates of the one sensitive attribute; with several there are no groups of joined rows."""
    if len(join.candidates) > 1:
        raise DataError(
            "keep='group' keeps one row of each group, but each of the "
            f"{len(join.candidates)} sensitive attributes has groups of its own; use keep='record'."
        )
    return join.candidates[0]
