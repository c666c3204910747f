"""A8: find a description that fits exactly one breached person (papers/0 §5, §8.1, Appendix A)."""

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from modicum.attacks.breach import check_artifact
from modicum.attacks.crowds import Crowd, crowd, crowd_at
from modicum.engines import is_table, table_at
from modicum.errors import DataError
from modicum.generalization import Artifact, Generalization
from modicum.generalization.bins import Dropped, FullDetail, Groups
from modicum.measures.intervals import Interval
from modicum.measures.uniqueness import Uniqueness, check_population, expected_from
from modicum.table.frames import as_frame
from modicum.table.values import Codes, iso, plain

_STEPS = (1, 2, 5, 10, 20, 50, 100, 1000, 10_000)  # where the bars of the histogram start


@dataclass(frozen=True)
class SinglingOutResult:
    """Who stands out in a breach.

    Attributes
    ----------
    error : share of people who are not alone with their buckets; higher is more private
    interval : its 95% interval; people who share their buckets are not taken for independent
    naive, raw : the same where nothing is collected (nobody is alone), and on raw data
    unique : how many people have a combination of buckets to themselves
    least : how many people have a rarest combination of buckets: the k of k-anonymity
    rarest : how many combinations are that rare
    groups : how many combinations there are
    sizes : people in a group ("1", "2–4", …) → how many such groups there are
    predicate : a description in words that fits a rarest combination (the first, in the order of the buckets) alone
    population : how many people are expected to be unique in the whole population, where its size was given
    people, random_state, seconds : how many people were breached, the seed, how long it took

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
    predicate: str
    population: Uniqueness | None
    people: int
    random_state: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for the team: small counts are in it. The predicate, which fits few, is not."""
        content = asdict(self)
        content.pop("predicate")
        return dict(plain(content))


class SinglingOut:
    """The adversary A8, who sees all breached records and points at one.

    A combination of buckets z is as rare as the number of breached people who have it, |z|. Where |z| = 1, the
    description of z is a predicate that isolates one person. Where the schema has a person column, persons are counted;
    in the whole population, persons who are alike in all their records.

    Parameters
    ----------
    population : int, optional
        How many people there are of whom the breached ones are a random sample; then the expected number of unique
        people among all of them is given, too (see `modicum.measures.uniqueness`).
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
        found = self._crowd(g, breached)
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
            population=self._expected(g, found),
            people=found.people,
            random_state=self.random_state,
            seconds=time.perf_counter() - start,
        )

    def _crowd(self, g: Artifact, breached: Any) -> Crowd:
        """Who is alike in the breach, counted where it lies."""
        empty = DataError("The breached data has 0 rows, so nobody can be singled out.")
        asked = self.population is not None
        if is_table(breached):
            found = crowd_at(g, table_at(breached), asked)
        else:
            frame = as_frame(breached, g.names)
            if not len(frame):
                raise empty
            found = crowd(g, frame, asked)
        if not found.people:
            raise empty
        return found

    def _expected(self, g: Artifact, found: Crowd) -> Uniqueness | None:
        if self.population is None:
            return None
        check_population(self.population, found.people)
        assert found.alike is not None
        possible = None if found.persons else _possible(g)
        return expected_from(found.alike, self.population, self.random_state, possible)


def _possible(g: Artifact) -> int | None:
    """How many different combinations of buckets there can be; unknown where a number is kept in full detail."""
    return math.prod(g.sizes) if all(g.sizes) else None


def _histogram(sizes: Codes, often: Codes) -> dict[str, int]:
    """How many groups have each size, in bars that grow."""
    found = {}
    for low, high in zip(_STEPS, [*_STEPS[1:], None], strict=True):
        inside = int(often[(sizes >= low) & (True if high is None else sizes < high)].sum())
        name = f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}" if high else f"{low:,} or more"
        found[name] = inside
    last = max(i for i, many in enumerate(found.values()) if many)
    return dict(list(found.items())[: last + 1])


def predicate(g: Artifact, codes: Codes) -> str:
    """What the buckets of one record say, as a description in words.

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
    said = []
    for partition, code in zip(g.partitions, codes.tolist(), strict=True):
        if isinstance(partition, Dropped):
            continue
        if isinstance(partition, FullDetail):
            value = float(partition.decode(np.array([code]))[0])
            said.append(f"{partition.name} is {_value(partition, value)}")
        else:
            said.append(f"{partition.name} is {_bucket(partition, code)}")
    return " and ".join(said) or "any record"


def _value(partition: FullDetail, value: float) -> str:
    if value != value:
        return "missing"
    return iso(value) if partition.attribute.kind == "date" else f"{value:g}"


def _bucket(partition: Any, code: int) -> str:
    takes = partition.buckets[code].takes if code < len(partition.buckets) else ()
    if isinstance(partition, Groups) and code < len(partition.buckets) and len(partition.buckets[code].values) > 1:
        values = partition.buckets[code].values
        named = "one of " + ", ".join(values) if len(values) <= 8 else f"in {partition.labels[code]!r}"
        return " or ".join([named, *takes])
    return " or ".join([partition.labels[code], *takes])
