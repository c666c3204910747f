"""A8: find a description that fits exactly one breached person [Staab24 §5, §8.1, Appendix A]."""

import math
import time
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.attacks.breach import check_artifact
from modicum.engines import is_table, table_at
from modicum.engines.buckets import buckets_at, number_key
from modicum.engines.counting import (
    PERSON,
    count_lone_records,
    persons_alone,
    rarest,
    records_of,
    sizes_at,
    with_keys,
    with_person,
)
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError
from modicum.generalization import Artifact, Generalization
from modicum.generalization.bins import Dropped, FullDetail, Groups, Intervals
from modicum.generalization.core import raw_generalization
from modicum.generalization.description import persons_in
from modicum.measures.intervals import Interval, compute_interval_from_counts, share_interval
from modicum.measures.uniqueness import Uniqueness, check_population, estimate_uniques
from modicum.table.codes import first_rows, group_rows
from modicum.table.estimator_input import person_codes
from modicum.table.frames import as_frame
from modicum.table.plain_data import LEFT_OUT, PlainResult
from modicum.table.schema import Schema
from modicum.table.values import iso
from modicum.typing import Codes

# How many people have the same buckets: the counts behind A8, from memory or from an engine.

Counted = tuple[Codes, Codes]  # the sizes of groups in ascending order, and the number of groups of each size


@dataclass(frozen=True)
class SeenCrowd:
    """The groups of people with the same buckets.

    Attributes
    ----------
    people : the number of people
    alone : how many of them have a unique record
    sizes : the sizes of the groups, and the number of groups of each size
    persons : whether one person may have several records
    rarest : the buckets of the first of the smallest groups
    alike : the sizes of groups of people who are equal in all their records, if requested
    raw_alone : how many are alone in full detail
    """

    people: int
    alone: int
    sizes: Counted
    persons: bool
    rarest: Codes
    alike: Counted | None
    raw_alone: int

    @property
    def interval(self) -> Interval:
        """Wilson's interval of the share that is not alone, for the effective number of independent people."""
        if not self.alone or self.persons:
            return share_interval(self.people - self.alone, self.people)
        sizes, often = self.sizes
        return compute_interval_from_counts(np.where(sizes > 1, sizes, 0), often, sizes)


_EMPTY = "The breached data has 0 rows, so nobody can be singled out."


def crowd(g: Artifact, frame: nw.DataFrame[Any], wants_alike: bool) -> SeenCrowd:
    """Count the people of a breach in memory."""
    if not len(frame):
        raise DataError(_EMPTY)
    persons = person_codes(g.schema, frame)
    codes = g.codes(frame)
    groups = group_rows(codes)
    sizes = persons_in(groups, persons)
    raw_groups = group_rows(raw_generalization(frame, g.schema).codes(frame))
    return SeenCrowd(
        people=len(frame) if persons is None else int(persons.max()) + 1,
        alone=_count_alone(groups, sizes, persons),
        sizes=np.unique(sizes, return_counts=True),
        persons=persons is not None,
        rarest=codes[first_rows(groups)[int(sizes.argmin())]],
        alike=np.unique(_alike_sizes(groups, sizes, persons), return_counts=True) if wants_alike else None,
        raw_alone=_count_alone(raw_groups, persons_in(raw_groups, persons), persons),
    )


def crowd_at(g: Artifact, table: EngineTable, wants_alike: bool) -> SeenCrowd:
    """Count the people of a breach in an engine."""
    table = with_person(table, g.schema)
    person = PERSON if PERSON in table.types else None
    if person is not None and wants_alike:
        raise ParameterError(
            f"The 'population' parameter compares people by all their records, which {table.engine} cannot count with "
            f"the person column {g.schema.person!r}. Give a sample in memory."
        )
    seen = buckets_at(table, g)
    sizes = sizes_at(seen.lazy, seen.keys, person)
    if not len(sizes[0]):
        raise DataError(_EMPTY)
    raw, keys = _raw(table, g.schema)
    return SeenCrowd(
        people=int((sizes[0] * sizes[1]).sum()) if person is None else int(records_of(table.lazy, person)[1].sum()),
        alone=int(sizes[1][sizes[0] == 1].sum()) if person is None else persons_alone(seen.lazy, seen.keys, person),
        sizes=sizes,
        persons=person is not None,
        rarest=seen.codes(rarest(seen.lazy, seen.keys, person, int(sizes[0][0])))[0],
        alike=sizes if wants_alike else None,
        raw_alone=count_lone_records(raw, keys) if person is None else persons_alone(raw, keys, person),
    )


def _raw(table: EngineTable, schema: Schema) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Return the records in full detail: categories as they are, numbers as numbers."""
    table.check(schema.features)
    words = [name for name in schema.features if schema[name].is_category]
    lazy, keys = with_keys(table, words)
    numbers = {
        f"modicum_number{i}": number_key(table, schema[name])
        for i, name in enumerate(schema.features)
        if name not in words
    }
    return lazy.with_columns(*(made.alias(key) for key, made in numbers.items())), [*keys, *numbers]


def _count_alone(groups: Codes, sizes: Codes, persons: Codes | None) -> int:
    """Count the people with a unique record."""
    single = sizes[groups] == 1
    return int(single.sum()) if persons is None else len(np.unique(persons[single]))


def _alike_sizes(groups: Codes, sizes: Codes, persons: Codes | None) -> Codes:
    """Return the sizes of groups of people equal in all their records; with one record each, the group sizes."""
    if persons is None:
        return sizes
    width = int(persons.max()) + 1
    pairs = np.unique(groups * width + persons)
    sign = np.random.default_rng(0).integers(0, 2**63, len(sizes), dtype=np.uint64)  # one per group, summed per person
    signs = np.zeros(width, dtype=np.uint64)
    np.add.at(signs, pairs % width, sign[pairs // width])
    return np.unique(signs, return_counts=True)[1]


# The attack

_STEPS = (1, 2, 5, 10, 20, 50, 100, 1000, 10_000)  # the starts of the histogram's bars


@dataclass(frozen=True)
class SinglingOutResult(PlainResult):
    """How many people are unique in a breach.

    Attributes
    ----------
    error : share of people who are not alone with their buckets; higher is more private
    interval : its 95% interval; people who share their buckets do not count as independent
    naive, raw : the same if nothing is collected (nobody is alone), and on raw data
    unique : how many people have a unique combination of buckets
    least : how many people share a rarest combination of buckets: the k of k-anonymity
    rarest : how many combinations are that rare
    groups : the number of combinations
    sizes : people in a group ("1", "2–4", …) → number of such groups
    predicate : a description in words that fits only one rarest combination (the first in the order of the buckets)
    population : the expected number of unique people in the whole population, if its size was given
    people, random_state, seconds : the number of breached people, the seed, and the time

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [18, 35, 36, 71], "job": ["nurse", "clerk", "nurse", "smith"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> found = md.attacks.SinglingOut().run(g, X)
    >>> found.unique, found.least, found.groups, found.predicate
    (1, 1, 2, 'age is ≥ 51')
    """

    error: float
    interval: Interval
    naive: float
    raw: float
    unique: int
    least: int
    rarest: int
    groups: int
    sizes: dict[str, int]
    predicate: str = field(metadata=LEFT_OUT)  # it fits few
    population: Uniqueness | None
    people: int
    random_state: int
    seconds: float


class SinglingOut:
    """The adversary A8, who sees all breached records and singles out one.

    The rarity of a combination of buckets z is the number of breached people who have it, |z|. If |z| = 1, the
    description of z is a predicate that isolates one person. With a person column in the schema, persons are counted;
    for the whole population, persons who are equal in all their records.

    Parameters
    ----------
    population : int, optional
        The size of the population of which the breached people are a random sample; the result then also has the
        expected number of unique people in it (see `modicum.measures.uniqueness`).
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:9_000], y[:9_000]).generalization_
    >>> result = md.attacks.SinglingOut(population=250_000).run(g, X[9_000:12_000])
    >>> result.least == md.measures.k_anonymity(g.transform(X[9_000:12_000]))
    True
    """

    def __init__(self, population: int | None = None, *, random_state: int = 0) -> None:
        self.population = population
        self.random_state = random_state

    def run(self, g: Artifact, breached: Any) -> SinglingOutResult:
        """Look for the rarest of the breached records; a table in an engine is counted there."""
        start = time.perf_counter()
        check_artifact(g)
        wants_alike = self.population is not None
        if is_table(breached):
            found = crowd_at(g, table_at(breached), wants_alike)
        else:
            found = crowd(g, as_frame(breached, g.names), wants_alike)
        least = int(found.sizes[0][0])
        return SinglingOutResult(
            error=1 - found.alone / found.people,
            interval=found.interval,
            naive=1.0 if found.people > 1 else 0.0,
            raw=1 - found.raw_alone / found.people,
            unique=found.alone,
            least=least,
            rarest=int(found.sizes[1][0]),
            groups=int(found.sizes[1].sum()),
            sizes=_histogram(*found.sizes),
            predicate=predicate(g, found.rarest),
            population=self._estimate_uniqueness(g, found),
            people=found.people,
            random_state=self.random_state,
            seconds=time.perf_counter() - start,
        )

    def _estimate_uniqueness(self, g: Artifact, found: SeenCrowd) -> Uniqueness | None:
        if self.population is None:
            return None
        check_population(self.population, found.people)
        assert found.alike is not None
        # The number of possible combinations is unknown if a number is kept in full detail.
        possible = math.prod(g.sizes) if all(g.sizes) and not found.persons else None
        return estimate_uniques(found.alike, self.population, self.random_state, possible)


def _histogram(sizes: Codes, often: Codes) -> dict[str, int]:
    """Count the groups by size, in bars of growing width."""
    found = {}
    for low, high in zip(_STEPS, [*_STEPS[1:], None], strict=True):
        name = f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}" if high else f"{low:,} or more"
        found[name] = int(often[(sizes >= low) & (True if high is None else sizes < high)].sum())
    last = max(i for i, many in enumerate(found.values()) if many)
    return dict(list(found.items())[: last + 1])


def predicate(g: Artifact, codes: Codes) -> str:
    """Describe the buckets of one record in words.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.attacks.singling_out import predicate
    >>> X = pd.DataFrame({"age": [18, 35, 70, 71], "job": ["nurse", "clerk", "nurse", "smith"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_
    >>> predicate(g, g.codes(X)[2])
    'age is ≥ 51 and job is nurse'
    """
    if not isinstance(g, Generalization):
        return "the record falls into cell " + ", ".join(str(code) for code in codes)
    conditions = []
    for partition, code in zip(g.partitions, codes.tolist(), strict=True):
        if isinstance(partition, Dropped):
            continue
        if isinstance(partition, FullDetail):
            value = float(partition.decode(np.array([code]))[0])
            conditions.append(f"{partition.name} is {_value(partition, value)}")
        else:
            conditions.append(f"{partition.name} is {_bucket(partition, code)}")
    return " and ".join(conditions) or "any record"


def _value(partition: FullDetail, value: float) -> str:
    if value != value:
        return "missing"
    return iso(value) if partition.attribute.kind == "date" else f"{value:g}"


def _bucket(partition: Groups | Intervals, code: int) -> str:
    label = partition.labels[code]
    if code >= len(partition.buckets):
        return label
    if isinstance(partition, Groups) and len(partition.buckets[code].values) > 1:
        values = partition.buckets[code].values
        label = "one of " + ", ".join(values) if len(values) <= 8 else f"in {label!r}"
    return " or ".join([label, *partition.buckets[code].takes])
