"""An anatomized release counted anew, by measures that know nothing of how it was made."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.measures.anonymity import alike, held
from modicum.measures.diversity import l_diversity
from modicum.measures.uniqueness import Crowd, crowd
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.table.frames import as_frame
from modicum.table.values import Codes

IDENTIFYING, WITH_CLASS = "identifying attributes", "every column of the identifying table"


@dataclass(frozen=True)
class SensitiveMeasured:
    """One sensitive attribute in its table, counted anew.

    Attributes
    ----------
    l : the largest ℓ such that no value is more than 1/ℓ of any group (papers/4 Definition 9)
    distinct_l : the fewest different values in a group
    highest : the largest share that one value has in any group, the promise being at most 1/ℓ
    groups, smallest, largest : how many groups, and how many records they have
    values : how many different values there are
    """

    name: str
    l: int
    distinct_l: int
    highest: float
    groups: int
    smallest: int
    largest: int
    values: int


@dataclass(frozen=True)
class AnatomyAttribute:
    """One column: its role, in which table it stands, and how many different values it has, all of them exact."""

    name: str
    role: str
    table: str
    values: int


def measured(release: AnatomyRelease, name: str) -> SensitiveMeasured:
    """What a sensitive table has, counted on it alone."""
    table, gid = as_frame(release.sensitive_tables[name]), release.group_column(name)
    found = held(alike(table, [gid]), alike(table, [name]))
    return SensitiveMeasured(
        name=name,
        l=int(l_diversity(table.to_native(), [gid], name, kind="frequency")),
        distinct_l=int(l_diversity(table.to_native(), [gid], name)),
        highest=float((found.count / found.sizes[found.group]).max()),
        groups=len(found.sizes),
        smallest=int(found.sizes.min()),
        largest=int(found.sizes.max()),
        values=int(np.count_nonzero(found.totals)),
    )


def published(release: AnatomyRelease, raw: nw.DataFrame[Any]) -> tuple[AnatomyAttribute, ...]:
    """Where each column stands; what is in no table was left out.

    `raw` are the full records of those who were released: values of others would tell of who was left out.
    """
    identifying, found = release.identifying_names, []
    for name in [*raw.columns, *([release.label] if release.label and release.label not in raw.columns else [])]:
        role, table = "left out", "none"
        if name in identifying or name == release.label:
            role, table = "class" if name == release.label else "identifying", "identifying table"
        elif name in release.sensitive_names:
            role, table = "sensitive", f"table of {name}"
        source = raw if name in raw.columns else as_frame(release.identifying)
        found.append(AnatomyAttribute(name, role, table, int(source[name].drop_nulls().n_unique())))
    return tuple(found)


def crowds(
    release: AnatomyRelease, population: int | None, random_state: int, persons: Codes | None = None
) -> dict[str, Crowd]:
    """Who is alike in the identifying table, without and with the class."""
    names = release.identifying_names
    found = {IDENTIFYING: crowd(release.identifying, names, persons, population, random_state)}
    if release.label is not None:
        found[WITH_CLASS] = crowd(release.identifying, [*names, release.label], persons)
    return found
