"""A release counted again, by measures that do not depend on how it was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from modicum.measures.anonymity import count_group_values, k_anonymity, number_equal_rows
from modicum.measures.closeness import Distance, t_closeness
from modicum.measures.diversity import l_diversity
from modicum.measures.intervals import Interval, mean_interval
from modicum.releases.release import Release
from modicum.table.frames import as_frame, column
from modicum.table.inference import infer_attribute
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import BINS, Target
from modicum.typing import Codes

Published = Literal["unchanged", "generalized", "the same for all", "left out"]

_WHO = "\0who"  # a column name that does not occur in data


@dataclass(frozen=True)
class Measured:
    """The measured k, ℓ and t of a release.

    Attributes
    ----------
    k : people in the smallest group
    distinct_l : the fewest different sensitive values in a group
    l : diversity of the requested kind
    t : the largest distance between a group's sensitive values and everybody's, by `distance`
    sensitive : the attribute of ℓ and t
    kept : whether the release meets the request
    """

    k: int
    distinct_l: int | None
    l: float | None
    t: float | None
    distance: str | None
    sensitive: str | None
    kept: bool


@dataclass(frozen=True)
class PublishedAttribute:
    """One column: its role, how it was published, and what it lost.

    Attributes
    ----------
    role : "quasi-identifier", "sensitive", "label", "identifier", "person" or "other"
    published : "unchanged", "generalized", "the same for all" or "left out"
    ncp : its information loss, from 0 (full detail) to 1 (nothing)
    values_before, values_after : number of different values, without missing ones
    """

    name: str
    role: str
    published: Published
    ncp: float
    values_before: int
    values_after: int


def measure_release(release: Release, frame: nw.DataFrame[Any], schema: Schema, persons: Codes | None) -> Measured:
    """Count k, ℓ and t on the released records."""
    names, asked = list(release.quasi_identifiers), release.asked
    table = frame
    if persons is not None:
        table = frame.with_columns(nw.new_series(_WHO, persons, backend=frame.implementation))
    k = k_anonymity(table.to_native(), names, person=None if persons is None else _WHO)
    sensitive = release.sensitive if release.sensitive in frame.columns else None
    distinct = diversity = closeness = distance = None
    if sensitive is not None:
        distinct = int(l_diversity(frame.to_native(), names, sensitive))
        kind = asked.get("diversity", "distinct")
        diversity = l_diversity(frame.to_native(), names, sensitive, kind=kind, c=asked.get("c"))
        distance, closeness = _closeness(frame, names, schema, sensitive, asked.get("distance"))
    kept = k >= asked["k"] and (diversity is None or diversity >= asked.get("l", 0) - 1e-9)
    kept = kept and (closeness is None or closeness <= asked.get("t", 1) + 1e-9)
    return Measured(k, distinct, diversity, closeness, distance, sensitive, kept)


def _closeness(
    frame: nw.DataFrame[Any], names: list[str], schema: Schema, sensitive: str, asked: Any
) -> tuple[str, float]:
    """Compute t by the requested distance, by default with equal distances between values."""
    attribute = schema[sensitive]
    distance: Distance = asked or "equal"
    order = attribute.domain if distance == "ordered" and attribute.kind == "ordered" else None
    tree = attribute.hierarchy if distance == "hierarchical" else None
    found = t_closeness(frame.to_native(), names, sensitive, distance=distance, order=order, hierarchy=tree)
    return distance, float(found)


def describe_attributes(
    release: Release, raw: nw.DataFrame[Any], frame: nw.DataFrame[Any], schema: Schema, label: str | None
) -> tuple[PublishedAttribute, ...]:
    """Describe how each column was published; `raw` are the full records of the released people.

    Values before and after are counted on the same people. Otherwise the difference would reveal values of people who
    were left out.
    """
    attributes = []
    for name in raw.columns:
        is_published, before = name in frame.columns, _count_values(raw[name])
        after = _count_values(frame[name]) if is_published else 0
        loss = release.ncp_by_attribute.get(name, 0.0 if is_published else 1.0)
        how = _describe_publication(loss, before, after) if name in release.quasi_identifiers else "unchanged"
        role = _role(release, schema, name, label)
        attributes.append(PublishedAttribute(name, role, how if is_published else "left out", loss, before, after))
    return tuple(attributes)


def _describe_publication(loss: float, before: int, after: int) -> Published:
    """Describe how a quasi-identifier was published."""
    if not loss and after == before:
        return "unchanged"
    return "the same for all" if after <= 1 < before else "generalized"


def _role(release: Release, schema: Schema, name: str, label: str | None) -> str:
    if name in release.quasi_identifiers:
        return "quasi-identifier"
    if name == release.sensitive or (name in schema and "sensitive" in schema[name].roles):
        return "sensitive"
    if name == label:
        return "label"
    roles = schema[name].roles if name in schema else ()
    return next((role for role in ("person", "identifier", "label") if role in roles), "other")


def _count_values(series: nw.Series[Any]) -> int:
    return int(series.drop_nulls().n_unique())


# What a group reveals: everybody in it is guessed to have its most frequent value (homogeneity)

MOST_VALUES = 20  # a number with more values is guessed in ranges


@dataclass(frozen=True)
class GroupGuess:
    """How often a value is guessed correctly from a person's group.

    Attributes
    ----------
    right : share of records whose value is the most frequent of their group
    interval : its interval, which treats groups, not records, as independent
    certain : share of records in a group with only one value, where the guess is certain
    highest : the largest share of one value in any group
    """

    right: float
    interval: Interval
    certain: float
    highest: float


@dataclass(frozen=True)
class GroupInference:
    """A value guessed from the group in the release, from the group in the raw records, and without groups.

    Attributes
    ----------
    attribute : what is guessed
    values : number of possible values
    in_ranges : whether the values are ranges of a number
    naive : share of records with the overall most frequent value
    release, raw : the guess from the released and from the raw quasi-identifiers
    """

    attribute: str
    values: int
    in_ranges: bool
    naive: float
    release: GroupGuess
    raw: GroupGuess


def guess_from_groups(groups: Codes, values: Codes) -> GroupGuess:
    """Guess the most frequent value of the group for everybody in it.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.evaluation.evidence.release_measures import guess_from_groups
    >>> found = guess_from_groups(np.array([0, 0, 0, 1, 1]), np.array([7, 7, 7, 7, 8]))
    >>> found.right, found.certain, found.highest
    (0.8, 0.6, 1.0)
    """
    found = count_group_values(groups, values)
    most = np.zeros(len(found.sizes), dtype=np.int64)
    np.maximum.at(most, found.group, found.count)
    shares = most / found.sizes
    # Groups are the units: each record gets its group's share of correct guesses.
    interval = mean_interval(shares[groups], groups if len(shares) > 1 else None)
    return GroupGuess(
        right=float(most.sum() / len(groups)),
        interval=interval,
        certain=float(found.sizes[most == found.sizes].sum() / len(groups)),
        highest=float(shares.max()),
    )


def value_targets(frame: Any, name: str, known: Attribute | None = None) -> tuple[Codes, int, bool]:
    """Encode a column for guessing: return codes, the number of values, and whether they are ranges of a number.

    Without a known attribute, its kind is inferred.
    """
    table = as_frame(frame)
    attribute = known or infer_attribute(column(table, name))
    if attribute.is_category or table[name].n_unique() <= MOST_VALUES:
        codes = number_equal_rows(table, [name])
        return codes, int(codes.max()) + 1, False
    target = Target.fit(table, attribute, BINS)
    return target.encode(table), target.size, True


def group_inference(
    attribute: str, released: Any, raw: Any, quasi: Sequence[str], values: tuple[Codes, int, bool]
) -> GroupInference:
    """Measure how well an attribute is guessed from released and from raw quasi-identifiers.

    Parameters
    ----------
    released, raw : the released records, and the full records of the same people in the same order
    quasi : the quasi-identifiers
    values : result of `value_targets` for these records
    """
    codes, size, in_ranges = values
    return GroupInference(
        attribute=attribute,
        values=size,
        in_ranges=in_ranges,
        naive=float(np.unique(codes, return_counts=True)[1].max() / len(codes)),
        release=guess_from_groups(number_equal_rows(as_frame(released), quasi), codes),
        raw=guess_from_groups(number_equal_rows(as_frame(raw), quasi), codes),
    )
