"""What someone with complete records of other people makes of a release, and of its identifying table alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.attacks.matching_groups import Groups
from modicum.attacks.matching_learning import BAYES, learners_for, new_model
from modicum.attacks.matching_model import Coded, Coder, Model
from modicum.attacks.matching_scores import pair_scores, truth_table
from modicum.errors import DataError
from modicum.learners.inputs import chunks
from modicum.table.frames import as_frame, column, texts
from modicum.table.values import Codes, Floats

_ASIDE = 0.2  # of the known records
_FEWEST = 10


@dataclass(frozen=True)
class Informed:
    """Scores of each record and option, the value guessed from attributes alone, and how many others are known."""

    matched: Floats
    guess: Codes
    records: int


def known_scores(known: Any, sensitive: str, coder: Coder, coded: Coded, groups: Groups, random_state: int) -> Informed:
    """Learn from complete records of others; a value that the release does not have is left out, as are missing ones.

    The model is the one that finds the values of a fifth of the known records likelier after learning from the others.
    """
    frame = as_frame(known)
    absent = [name for name in coder.names if name not in frame.columns]
    if absent:
        raise DataError(f"The known records have no column {absent[0]!r}, which the identifying table has.")
    codes, words = texts(column(frame, sensitive))
    place = {value: i for i, value in enumerate(groups.values)}
    values = np.array([place.get(word, -1) for word in words] + [-1], dtype=np.int64)[codes]
    there = np.flatnonzero(values >= 0)
    if len(there) < _FEWEST:
        raise DataError(f"Fewer than {_FEWEST} of the known records have a value of {sensitive!r} that was released.")
    model = _learned(coder.encode(frame)[there], values[there], len(groups.values), random_state)
    return Informed(pair_scores(model, coded, groups), _most_likely(model, coded, len(groups.values)), len(there))


def _learned(coded: Coded, values: Codes, size: int, random_state: int) -> Model:
    aside = np.zeros(len(values), dtype=bool)
    order = np.random.default_rng([random_state, 3]).permutation(len(values))
    aside[order[: max(1, round(_ASIDE * len(values)))]] = True

    def fit(name: str) -> float:
        model = new_model(name, random_state).fit(coded[~aside], truth_table(values[~aside], size))
        return float(model.logs(coded[aside])[np.arange(int(aside.sum())), values[aside]].mean())

    best = max(learners_for(size), key=fit) if coded.sizes else BAYES
    return new_model(best, random_state).fit(coded, truth_table(values, size))


def _most_likely(model: Model, coded: Coded, size: int) -> Codes:
    parts = [model.logs(coded[rows]).argmax(axis=1) for rows in chunks(len(coded), size)]
    return np.concatenate(parts).astype(np.int64)
