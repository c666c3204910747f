"""NCP (Normalized Certainty Penalty): the share of an attribute's domain that a record may lie in [Goldsteen22 §2.2].

**Width.** A number's range counts from its first to its last possible value: whole numbers or whole days if the
attribute is stored as such (20–63 is 43 wide), otherwise its edges. **Domain.** The one that the schema declares, else
from the lowest to the highest measured value; open ends are clipped to it. **Records.** Each record counts once. An
attribute that is not collected counts 1, one in full detail counts 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.engines import is_table, table_at
from modicum.engines.buckets import bucket_counts, ends_at, missing_at
from modicum.errors import DataError, ParameterError
from modicum.generalization import Generalization
from modicum.generalization.bins import Dropped, FullDetail, Groups, Intervals
from modicum.generalization.cells import CellPartition
from modicum.table.estimator_input import attribute_weights
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Attribute
from modicum.typing import Codes, Floats

Domain = tuple[float, float]


@dataclass(frozen=True)
class InformationLoss(PlainResult):
    """NCP of each attribute, mean over the records, and their weighted mean: the Global Certainty Penalty.

    0 is full detail, 1 means that nothing is collected.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [20, 40, 60], "job": ["nurse", "clerk", "nurse"]})
    >>> found = md.measures.ncp(md.Uniform(buckets=2).fit(X).generalization_.drop("job"), X)
    >>> found.by_attribute["job"], round(found.gcp, 3)
    (1.0, 0.783)
    """

    gcp: float
    by_attribute: dict[str, float]


def ncp(g: Generalization | CellPartition, X: Any, *, weights: Mapping[str, float] | None = None) -> InformationLoss:
    """Measure how much detail an artifact removes from these records [Goldsteen22 equations 1 and 2].

    For a number NCP(G) = (max G − min G) / (max D − min D). For a category NCP(G) = |G| / |D|, and 0 for a single
    value; if a value is missing, missing counts as one more category. A value that the artifact does not know counts 1.

    Parameters
    ----------
    g : Generalization or CellPartition
    X : frame
        Records with their full values; a table in an engine is counted there.
    weights : attribute → its weight in the mean, by default 1

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [20, 40, 60], "job": ["nurse", "clerk", "nurse"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> g.buckets["age"]
    ('≤ 30', '≥ 31', '(missing)')
    >>> found = md.measures.ncp(g, X)  # 10 of 40 years for one record, 29 of 40 for two; no job
    >>> {name: round(loss, 3) for name, loss in found.by_attribute.items()}, round(found.gcp, 3)
    ({'age': 0.567, 'job': 1.0}, 0.783)
    """
    if not isinstance(g, Generalization | CellPartition):
        raise ParameterError(f"The NCP needs a generalization or cells. Got {type(g).__name__} instead.")
    unknown = [name for name in weights or {} if name not in g.names]
    if unknown:
        raise ParameterError(f"The 'weights' parameter names {unknown[0]!r}, which the artifact does not have.")
    shares = attribute_weights(g.names, weights)
    records = _records_in_engine(g, X) if is_table(X) else _records_in_memory(g, X)
    losses = {name: _mean_loss(g, j, records) for j, name in enumerate(g.names)}
    return InformationLoss(float(sum(shares[name] * loss for name, loss in losses.items())), losses)


@dataclass(frozen=True)
class _LossRecords:
    """What a loss needs from the records: counts in the n buckets of column j, missing values, and numbers."""

    buckets: Callable[[int, int], Codes]
    has_missing: Callable[[Attribute], bool]
    values: Callable[[Attribute], Floats]


_EMPTY = "The data has no rows; give at least one record."


def _records_in_memory(g: Generalization | CellPartition, X: Any) -> _LossRecords:
    frame = as_frame(X, g.names)
    if not len(frame):
        raise DataError(_EMPTY)
    codes = g.codes(frame)
    return _LossRecords(
        lambda j, n: np.bincount(codes[:, j], minlength=n),
        lambda attribute: bool((texts(column(frame, attribute.name))[0] < 0).any()),
        lambda attribute: numbers(column(frame, attribute.name), attribute),
    )


def _records_in_engine(g: Generalization | CellPartition, X: Any) -> _LossRecords:
    table = table_at(X)
    if not table.rows():
        raise DataError(_EMPTY)
    if not isinstance(g, Generalization):
        raise ParameterError(
            f"The NCP of cells needs the records in memory; {table.engine} only counts buckets of a generalization."
        )
    counted = list(bucket_counts(table, g).values())
    return _LossRecords(
        lambda j, n: counted[j],
        lambda attribute: missing_at(table, attribute) > 0,
        lambda attribute: ends_at(table, attribute),
    )


def _mean_loss(g: Generalization | CellPartition, j: int, records: _LossRecords) -> float:
    """Return the mean loss of the j-th attribute."""
    partition, outputs = g.code_buckets(g.names[j])
    if isinstance(partition, Dropped | FullDetail):
        return float(isinstance(partition, Dropped))
    if isinstance(partition, Groups):
        losses = _category_losses(partition, outputs, records.has_missing(partition.attribute))
    else:
        domain = domain_of(partition.attribute, records.values(partition.attribute))
        losses = _number_losses(partition, outputs, domain)
    counts = records.buckets(j, len(outputs))
    return float(losses @ counts / counts.sum())


def _category_losses(partition: Groups, outputs: Sequence[Sequence[int]], has_missing: bool) -> Floats:
    sizes = category_sizes(partition, has_missing)
    domain = int(sizes.sum())
    losses = np.array([share_of_values(int(sizes[list(codes)].sum()), domain) for codes in outputs])
    unseen = partition.unseen_code
    if unseen >= len(partition.buckets):
        losses[[tuple(codes) == (unseen,) for codes in outputs]] = 1.0
    return losses


def category_sizes(partition: Groups, has_missing: bool) -> Floats:
    """Count the values in each bucket of a category; missing is one of them if the records have it."""
    sizes = np.zeros(len(partition.labels))
    sizes[: len(partition.buckets)] = [len(bucket.values) for bucket in partition.buckets]
    if has_missing and partition.missing_code >= 0:
        sizes[partition.missing_code] += 1
    return sizes


def _number_losses(partition: Intervals, outputs: Sequence[Sequence[int]], domain: Domain) -> Floats:
    ends = [-math.inf, *partition.edges.tolist(), math.inf]
    losses = []
    for codes in outputs:
        own = [code for code in codes if code < partition.n_buckets]
        losses.append(share_of_width(ends[min(own)], ends[max(own) + 1], partition.attribute, domain) if own else 0.0)
    return np.array(losses)


def domain_of(attribute: Attribute, values: Floats) -> Domain:
    """Return the declared domain of a number or date, else the lowest and highest of these values.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import Attribute
    >>> from modicum.measures.information_loss import domain_of
    >>> domain_of(Attribute(name="age", kind="number"), np.array([17.0, np.nan, 90.0]))
    (17.0, 90.0)
    """
    if attribute.domain is not None:
        return attribute.bounds
    present = values[np.isfinite(values)]
    return (float(present.min()), float(present.max())) if len(present) else (0.0, 0.0)


def share_of_width(low: float, high: float, attribute: Attribute, domain: Domain) -> float:
    """Return equation (1) for the range low < x <= high, clipped to the domain.

    Examples
    --------
    >>> import math
    >>> from modicum import Attribute
    >>> from modicum.measures.information_loss import share_of_width
    >>> age = Attribute(name="age", kind="number", storage="integer")
    >>> share_of_width(19.5, 59.5, age, (0, 100)), share_of_width(59.5, math.inf, age, (0, 100))
    (0.39, 0.4)
    """
    unit = {"integer": 1, "date": 86_400}.get(attribute.storage, 0)
    if unit:
        low = (math.floor(low / unit) + 1) * unit if math.isfinite(low) else low
        high = math.floor(high / unit) * unit if math.isfinite(high) else high
    whole = domain[1] - domain[0]
    return max(0.0, min(high, domain[1]) - max(low, domain[0])) / whole if whole > 0 else 0.0


def share_of_values(values: int, domain: int) -> float:
    """Return equation (2): the share of a category's values that remain possible, 0 for a single value.

    Examples
    --------
    >>> from modicum.measures.information_loss import share_of_values
    >>> share_of_values(1, 8), share_of_values(2, 8)
    (0.0, 0.25)
    """
    return values / domain if values > 1 else 0.0


# NCP of published groups: the same penalty for groups of records instead of buckets [Goldsteen22 §2.2].
#
# A number counts (max − min) / (width of its domain) over the group. A category counts (number of its values in the
# group) / (number of all values), and 0 for a single value. A number that may also be missing counts 1.


def number_widths(values: Floats, groups: Codes, domain: tuple[float, float]) -> Floats:
    """Return the NCP of a number in each group; NaN is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.information_loss import number_widths
    >>> number_widths(np.array([20.0, 40, 50, np.nan]), np.array([0, 0, 1, 1]), (0, 100)).tolist()
    [0.2, 1.0]
    """
    n_groups = int(groups.max()) + 1
    is_missing = np.isnan(values)
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, groups[~is_missing], values[~is_missing])
    np.maximum.at(high, groups[~is_missing], values[~is_missing])
    has_missing = np.bincount(groups, weights=is_missing, minlength=n_groups) > 0
    empty = np.isinf(low)
    whole = domain[1] - domain[0]
    width = np.zeros(n_groups)
    if whole > 0:
        width[~empty] = (high[~empty] - low[~empty]) / whole
    return np.where(empty, 0.0, np.where(has_missing, 1.0, width))


def category_widths(codes: npt.NDArray[np.integer], groups: Codes, possible: int | None = None) -> Floats:
    """Return the NCP of a category in each group; missing is a value like any other.

    `possible` is the number of values that can occur; by default those that do.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.information_loss import category_widths
    >>> category_widths(np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1])).round(2).tolist()
    [0.67, 0.0]
    """
    values, numbers = np.unique(codes, return_inverse=True)
    pairs = np.unique(groups * len(values) + numbers)
    n_values = np.bincount(pairs // len(values), minlength=int(groups.max()) + 1)
    return np.where(n_values > 1, n_values / (possible or len(values)), 0.0)


def group_ncp(names: Sequence[str], widths: Sequence[Floats], groups: Codes) -> InformationLoss:
    """Return the NCP of each attribute, mean over the records, and the unweighted mean of these."""
    sizes = np.bincount(groups)
    losses = {name: float(np.average(width, weights=sizes)) for name, width in zip(names, widths, strict=True)}
    return InformationLoss(float(np.mean(list(losses.values()))), losses)
