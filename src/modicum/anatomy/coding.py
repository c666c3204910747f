"""The coding of papers/4 Appendix B: every attribute as one number that is 0 at its mean, or at its mode.

- A number or date is x minus its mean over the joined data; where it is missing it counts as the mean, 0.
- An ordered category is the place of its value in the domain, 1 to |dom|, minus the place of the mode: the paper sets
  "mode of the discrete values to be mean". A missing value has no place and counts as the mode, 0.
- A nominal category is 0 for its mode and 1 for every other value; missing is a value like any other.

Means and modes are those of the joined data, in which a record occurs once for each candidate: `weights` say how often.
Of equally frequent values the first is the mode, in the order of the domain or by name, so that the order of the
records does not matter.
"""

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anatomy.joining import Join
from modicum.learners.columns import moderate
from modicum.table.codes import values_in_order
from modicum.table.frames import texts
from modicum.table.schema import Attribute
from modicum.table.values import Floats


def coded(series: nw.Series[Any], attribute: Attribute, weights: Floats) -> Floats:
    """One column in the paper's coding.

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> from modicum.anatomy.coding import coded
    >>> from modicum.table.frames import as_frame
    >>> frame = as_frame(pd.DataFrame({"age": [20, 30, 70], "job": ["nurse", "clerk", "nurse"]}))
    >>> schema = md.Schema.infer(frame)
    >>> coded(frame["age"], schema["age"], np.ones(3)).tolist()
    [-20.0, -10.0, 30.0]
    >>> coded(frame["job"], schema["job"], np.ones(3)).tolist()
    [0.0, 1.0, 0.0]
    """
    if not attribute.is_category:
        return _number(series, attribute, weights)
    return _ordered(series, attribute, weights) if attribute.kind == "ordered" else _nominal(series, weights)


def _number(series: nw.Series[Any], attribute: Attribute, weights: Floats) -> Floats:
    values = moderate(series, attribute)
    there = ~np.isnan(values)
    if not there.any():
        return np.zeros(len(values))
    return np.where(there, values - np.average(values[there], weights=weights[there]), 0.0)


def _ordered(series: nw.Series[Any], attribute: Attribute, weights: Floats) -> Floats:
    codes, words = texts(series)
    if not words:
        return np.zeros(len(series))
    values = values_in_order(attribute, words)
    position = {value: i for i, value in enumerate(values)}
    places = np.array([position[word] for word in words] + [-1])[codes]
    known = places >= 0
    mode = int(np.bincount(places[known], weights[known], len(values)).argmax())
    return np.where(known, places - mode, 0).astype(np.float64)


def _nominal(series: nw.Series[Any], weights: Floats) -> Floats:
    codes, words = texts(series)
    counts = np.bincount(codes + 1, weights, len(words) + 1)  # missing first
    by_name = sorted(range(len(counts)), key=lambda code: (-counts[code], code == 0, words[code - 1] if code else ""))
    return (codes + 1 != by_name[0]).astype(np.float64)


def coded_sensitive(join: Join, a: int) -> Floats:
    """A sensitive attribute in the paper's coding, for all its candidates in the join's order."""
    series, weights = join.distinct_values(a)
    return coded(series, join.sensitive_attributes[a], weights)[join.candidates[a].codes]


def squared_norms(columns: Iterable[tuple[Attribute, Floats]], n: int) -> Floats:
    """The sum of squares of each row; whole numbers first, which are exact, so that equal rows in any order are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import Attribute
    >>> from modicum.anatomy.coding import squared_norms
    >>> age, job = Attribute(name="age", kind="number"), Attribute(name="job", kind="category")
    >>> squared_norms([(age, np.array([3.0, 0.5])), (job, np.array([1.0, 0.0]))], 2).tolist()
    [10.0, 0.25]
    """
    whole, other = np.zeros(n), np.zeros(n)
    for attribute, values in columns:
        target = whole if attribute.is_category else other
        target += values * values
    return other + whole
