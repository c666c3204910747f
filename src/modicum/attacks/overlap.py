"""People who are among the known and the breached: an adversary that has seen them is no test."""

import warnings
from typing import Any

import numpy as np
import pandas as pd

from modicum.attacks.breach import Breach
from modicum.table.codes import group_rows
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.schema import Schema
from modicum.table.values import Codes


class OverlapWarning(UserWarning):
    """Some of the breached records are also among the known ones.

    Examples
    --------
    >>> import warnings, modicum as md
    >>> X = md.datasets.load_adult().X[["age", "race", "sex"]][:1_000]
    >>> g = md.Uniform(buckets=2).fit(X).generalization_
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     found = md.attacks.Reconstruction(personal=["sex"]).run(g, known=X, breached=X[:500])
    >>> [warning.category.__name__ for warning in said]
    ['OverlapWarning']
    """


def warn_of_overlap(breach: Breach) -> int:
    """Count the breached rows that the adversary has seen before, and warn where there are any."""
    count = shared_rows(breach.known, breach.breached, breach.artifact.schema, breach.artifact.names)
    if count:
        warnings.warn(
            overlap_text(count, len(breach.breached)),
            OverlapWarning,
            stacklevel=3,
        )
    return count


def overlap_text(count: int | str, breached: int) -> str:
    """What the overlap means; the count is a number, or words where it may not be told."""
    told = count if isinstance(count, str) else f"{count:,}"
    return (
        f"{told} of the {breached:,} breached rows are also among the known ones, so that the adversary has seen "
        "them: the errors say less than they seem to."
    )


def shared_rows(known: Any, breached: Any, schema: Schema, names: list[str]) -> int:
    """How many breached rows are the same people's as known ones.

    With a person column: the rows of persons who are in both. Else the rows with an index label that both frames have,
    where these are equal in every attribute far more often than any two rows. Else, from equal rows: of records drawn
    independently, as many breached rows have an equal known one as known rows have another; what is beyond that by four
    standard errors or more is taken for the same people.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.attacks.overlap import shared_rows
    >>> X = pd.DataFrame({"age": range(100)})
    >>> shared_rows(X[:60], X[50:], md.Schema.infer(X), ["age"])
    10
    """
    known, breached = as_frame(known), as_frame(breached)
    person = schema.person
    if person is not None and person in known.columns and person in breached.columns:
        return _persons_in_both(known[person], breached[person])
    rows = _numbered(known, breached, schema, names)
    first, second = rows[: len(known)], rows[len(known) :]
    labelled = _same_label(known, breached, first, second)
    if labelled:
        return labelled
    often = np.bincount(first, minlength=int(rows.max()) + 1)
    by_chance = float(np.mean(often[first] > 1))
    found = float(np.mean(often[second] > 0))
    doubt = np.sqrt(max(by_chance * (1 - by_chance), 1 / len(first)) * (1 / len(first) + 1 / len(second)))
    if found - by_chance <= 4 * doubt or by_chance == 1:
        return 0
    return round(len(second) * (found - by_chance) / (1 - by_chance))


def _persons_in_both(known: Any, breached: Any) -> int:
    codes, words = texts(breached)
    seen = np.isin(np.array([*words, ""], dtype=object), texts(known)[1])
    return int(np.sum(seen[codes] & (codes >= 0)))


def _numbered(known: Any, breached: Any, schema: Schema, names: list[str]) -> Codes:
    """A number per row, known rows first, equal where all attributes are."""
    columns = []
    for name in names:
        pair = [column(frame, name) for frame in (known, breached)]
        if schema[name].is_category:
            words = [np.array([*found, None], dtype=object)[codes] for codes, found in map(texts, pair)]
            columns.append(pd.factorize(np.concatenate(words), use_na_sentinel=False)[0])
        else:
            values = np.concatenate([numbers(series, schema[name]) for series in pair])
            columns.append(np.unique(values, return_inverse=True)[1])
    return group_rows(np.column_stack(columns))


def _same_label(known: Any, breached: Any, first: Codes, second: Codes) -> int:
    frames = [frame.to_native() for frame in (known, breached)]
    if not all(isinstance(frame, pd.DataFrame) and frame.index.is_unique for frame in frames):
        return 0
    at = frames[0].index.get_indexer(frames[1].index)
    common = at >= 0
    equal = int(np.sum(first[at[common]] == second[common]))
    size = int(max(first.max(), second.max())) + 1
    by_chance = float(
        np.bincount(first, minlength=size) / len(first) @ np.bincount(second, minlength=size) / len(second)
    )
    return equal if equal > common.sum() * (1 + by_chance) / 2 else 0
