"""Members and others together: of one half the adversary knows which they are, the other half is attacked."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.attacks.attack_models import FOLDS
from modicum.attacks.evidence import Evidence
from modicum.attacks.membership_result import Answers
from modicum.attacks.two_sides import Side, joined
from modicum.errors import DataError
from modicum.learners.asking import AskedModel
from modicum.table.values import Codes, Floats, Mask


@dataclass(frozen=True)
class Pool:
    """All records, members first.

    Attributes
    ----------
    asked : the attacked model
    X, y : the records and their labels
    evidence : what the model says of them
    member : which of them it was trained on
    units : whose they are, where that was said
    known, attacked : rows of either half; in both as many members as others
    """

    asked: AskedModel
    X: Any
    y: Any
    evidence: Evidence
    member: Mask
    units: Codes | None
    known: Codes
    attacked: Codes

    @classmethod
    def of(cls, asked: AskedModel, members: Side, others: Side, units: Codes | None, random_state: int) -> "Pool":
        """Ask the model about everyone and draw the halves."""
        X, y = joined(members.X, others.X), np.concatenate([members.y, others.y])
        evidence = Evidence.of(asked, members).followed_by(Evidence.of(asked, others))
        if (evidence.labels < 0).all():
            raise DataError("None of the labels is a class that the model knows; are they written as in its training?")
        member = np.arange(len(y)) < len(members)
        return cls(asked, X, y, evidence, member, units, *halves(member, units, random_state))

    def folds(self, random_state: int) -> Codes:
        """For each known record one of three folds, of whole persons, members and others dealt out alike."""
        random = np.random.default_rng(random_state)
        member, units = self.member[self.known], _compact(self.units, self.known)
        found = np.zeros(len(member), dtype=np.int64)
        for side in (member, ~member):
            whose = np.arange(side.sum()) if units is None else np.unique(units[side], return_inverse=True)[1]
            found[side] = (random.permutation(int(whose.max()) + 1) % FOLDS)[whose]
        return found

    def answers(self, scores: Floats) -> Answers:
        """The scores of the attacked records beside the truth."""
        member = self.member[self.attacked]
        rows = np.where(member, self.attacked, self.attacked - int(self.member.sum()))
        return Answers(scores, member, rows, _compact(self.units, self.attacked))


def halves(member: Mask, units: Codes | None, random_state: int) -> tuple[Codes, Codes]:
    """Rows to know and rows to attack, at random, of whole persons; as many members as others in each.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.pool import halves
    >>> known, attacked = halves(np.arange(30) < 10, None, 0)
    >>> len(known), len(attacked), int((known < 10).sum()), int((attacked < 10).sum())
    (10, 10, 5, 5)
    """
    whose = np.arange(len(member)) if units is None else units
    rank = np.random.default_rng(random_state).permutation(int(whose.max()) + 1)[whose]
    parts = [_cut(np.flatnonzero(side), rank) for side in (member, ~member)]
    known, attacked = ([part[i] for part in parts] for i in (0, 1))
    return _balanced(known), _balanced(attacked)


def _cut(rows: Codes, rank: Codes) -> tuple[Codes, Codes]:
    """The rows of lower and of higher rank, about half each; rows of one rank stay together."""
    ordered = rows[np.argsort(rank[rows], kind="stable")]
    ranks = rank[ordered]
    half = int(np.searchsorted(ranks, ranks[len(rows) // 2]))
    half = half or int(np.searchsorted(ranks, ranks[0], side="right"))
    return ordered[:half], ordered[half:]


def _balanced(sides: list[Codes]) -> Codes:
    fewest = min(len(side) for side in sides)
    return np.sort(np.concatenate([side[:fewest] for side in sides]))


def _compact(units: Codes | None, rows: Codes) -> Codes | None:
    """The persons of some rows, numbered from 0 without gaps."""
    return None if units is None else np.unique(units[rows], return_inverse=True)[1]
