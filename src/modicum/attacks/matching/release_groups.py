"""The groups of a release as flat arrays: their records in sequence, and the possible values of each group."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import DataError
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.table.frames import texts
from modicum.typing import Codes, Floats, Mask

_TIES = 1e-9  # noise that breaks ties, far below any real difference of chances


def start_places(counts: Codes) -> Codes:
    """Return where each of several consecutive blocks begins, from their lengths, and where the last one ends.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.matching.release_groups import start_places
    >>> start_places(np.array([2, 1, 3])).tolist()
    [0, 2, 3, 6]
    """
    return np.concatenate([[0], np.cumsum(counts)])


@dataclass(frozen=True)
class ReleaseGroups:
    """The possible values of each group, in the form that `modicum.attacks.matching.kernel` reads.

    Attributes
    ----------
    order : the rows of the identifying table, group by group
    starts : where each group's records begin in `order`, and where the last ones end
    firsts : where each group's options (its distinct values) begin, and where the last ones end
    options : the value of each option, as a position in `values`
    caps : how many records of the group have it
    values : the distinct values, as canonical texts
    shares : the share of each value in the whole release
    """

    order: Codes
    starts: Codes
    firsts: Codes
    options: Codes
    caps: Codes
    values: tuple[str, ...]
    shares: Floats

    @classmethod
    def of(cls, release: AnatomyRelease, sensitive: str | None = None) -> "ReleaseGroups":
        """Read the groups of one sensitive attribute."""
        found = release.candidates(sensitive)
        many = len(found.values)
        own = np.repeat(np.arange(len(found.sizes)), found.sizes)
        pairs, caps = np.unique(own * many + found.codes, return_counts=True)
        firsts = start_places(np.bincount(pairs // many, minlength=len(found.sizes)))
        order = np.argsort(found.groups, kind="stable")
        shares = np.bincount(found.codes, minlength=many) / len(order)
        options = pairs % many
        return cls(order, found.starts, firsts, options, caps.astype(np.int64), found.values, shares)

    @cached_property
    def sizes(self) -> Codes:
        """The number of records of each group."""
        return np.diff(self.starts)

    @cached_property
    def groups(self) -> Codes:
        """The group of each record, in `order`."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def widths(self) -> Codes:
        """The number of options of each record, in `order`."""
        return np.diff(self.firsts)[self.groups]

    @cached_property
    def blocks(self) -> Codes:
        """Where each group's block begins; it has one entry for each record and option."""
        return start_places(self.sizes * np.diff(self.firsts))

    @cached_property
    def pair_records(self) -> Codes:
        """The record of each entry of the blocks."""
        return np.repeat(np.arange(len(self.order)), self.widths)

    @cached_property
    def pair_options(self) -> Codes:
        """The option of each entry of the blocks."""
        before = np.cumsum(self.widths) - self.widths
        within = np.arange(int(self.widths.sum())) - before[self.pair_records]
        return self.firsts[self.groups[self.pair_records]] + within

    @property
    def random_worlds(self) -> float:
        """The share of records guessed right by their group's most frequent value; at most 1/ℓ."""
        return float(np.maximum.reduceat(self.caps, self.firsts[:-1]).sum() / len(self.order))

    @cached_property
    def _option_groups(self) -> Codes:
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.firsts))

    def uniform(self) -> Floats:
        """Return each record's chance of each option if every matching is equally likely."""
        return self.caps[self.pair_options] / self.sizes[self.groups[self.pair_records]]

    @cached_property
    def alike(self) -> Codes:
        """A number per value, equal for values of which each group has equally many: swapping these changes nothing."""
        from scipy.sparse import coo_array  # deferred: scipy takes long to load

        whole = coo_array((self.caps, (self.options, self._option_groups)), (len(self.values), len(self.sizes))).tocsr()
        whole.sort_indices()
        ends = whole.indptr[1:-1]
        where = zip(np.split(whole.indices, ends), np.split(whole.data, ends), strict=True)
        numbers: dict[tuple[bytes, bytes], int] = {}
        found = [numbers.setdefault((own.tobytes(), many.tobytes()), len(numbers)) for own, many in where]
        return np.array(found, dtype=np.int64)

    @property
    def tellable(self) -> bool:
        """Whether some group has values that are not alike, so that a release can show who has which value."""
        return bool((np.diff(self.merge_alike().firsts) > 1).any())

    def merge_alike(self) -> "ReleaseGroups":
        """Return the same groups with values that are alike merged into one."""
        many = int(self.alike.max()) + 1
        if many == len(self.values):
            return self
        pairs, own = np.unique(self._option_groups * many + self.alike[self.options], return_inverse=True)
        caps = np.bincount(own, weights=self.caps).astype(np.int64)
        firsts = start_places(np.bincount(pairs // many, minlength=len(self.sizes)))
        names = tuple(str(i) for i in range(many))
        shares = np.asarray(np.bincount(self.alike, weights=self.shares), dtype=np.float64)
        return ReleaseGroups(self.order, self.starts, firsts, pairs % many, caps, names, shares)

    def spread(self, merged: "ReleaseGroups", scores: Floats) -> Floats:
        """Expand scores of the merged groups to all original options."""
        if merged is self:
            return scores
        many = len(merged.values)
        there = merged.pair_records * many + merged.options[merged.pair_options]
        wanted = self.pair_records * many + self.alike[self.options[self.pair_options]]
        return np.asarray(scores[np.searchsorted(there, wanted)])

    def some(self, wanted: Mask) -> "ReleaseGroups":
        """Return some of the groups; their `order` holds positions in the order of all."""
        return ReleaseGroups(
            np.flatnonzero(wanted[self.groups]),
            start_places(self.sizes[wanted]),
            start_places(np.diff(self.firsts)[wanted]),
            self.options[wanted[self._option_groups]],
            self.caps[wanted[self._option_groups]],
            self.values,
            self.shares,
        )

    def chances(self, scores: Floats) -> tuple[Floats, float]:
        """Return each record's chance of each option, and the log of the mean likelihood of matchings, per record."""
        from modicum.attacks.matching.kernel import match_all  # deferred: numba takes long to load

        found = np.empty(len(scores))
        total = match_all(self.starts, self.firsts, self.caps, self.blocks, scores, found)
        return found, float(total) / len(self.order)

    def likeliest(self, scores: Floats, random: np.random.Generator) -> Codes:
        """Return each record's likeliest value over all matchings, with ties broken at random."""
        chances = self.chances(scores)[0] + _TIES * random.random(len(scores))
        highest = np.maximum.reduceat(chances, np.cumsum(self.widths) - self.widths)
        return self.options[self.pair_options[np.flatnonzero(chances == highest[self.pair_records])]]

    def encode(self, series: nw.Series[Any]) -> Codes:
        """Return each value's position in `values`; -1 for any other value."""
        codes, words = texts(series)
        place = {value: i for i, value in enumerate(self.values)}
        return np.array([place.get(word, -1) for word in words] + [-1], dtype=np.int64)[codes]

    def truths(self, truth: Any, sensitive: str) -> Codes:
        """Return the true value of each record, in `order`; refuse values that differ from the groups'."""
        series = _one_column(truth, sensitive)
        if len(series) != len(self.order):
            raise DataError(
                f"The truth must hold the value of {sensitive!r} of each of the {len(self.order):,} records of the "
                f"release, in the order of its identifying table. Got {len(series):,} values."
            )
        codes = self.encode(series)[self.order]
        many = len(self.values)
        refused = DataError(
            f"The true values of {sensitive!r} are not those of this release: in some group they differ from the "
            "sensitive table. Give them in the row order of its identifying table."
        )
        if (codes < 0).any():
            raise refused
        pairs, counts = np.unique(self.groups * many + codes, return_counts=True)
        own = self._option_groups * many + self.options
        if not (np.array_equal(pairs, own) and np.array_equal(counts, self.caps)):
            raise refused
        return codes


def _one_column(truth: Any, sensitive: str) -> nw.Series[Any]:
    """Convert the truth to a series, from a series, a frame with one column, an array, a list or an iterator."""
    given = nw.from_native(truth, allow_series=True, pass_through=True)
    if isinstance(given, nw.Series):
        return given
    if isinstance(given, nw.DataFrame) and given.shape[1] == 1:
        return given.get_column(given.columns[0])
    whole = list(truth) if isinstance(truth, Iterator) else truth
    values = np.atleast_1d(np.asarray([whole] if isinstance(whole, str) else whole, dtype=object))
    if isinstance(given, nw.DataFrame) or (values.ndim > 1 and values.size != len(values)):
        raise DataError(f"The truth must be one column, the values of {sensitive!r}. Got {values.shape[1]:,} columns.")
    return nw.from_native(pd.Series(values.ravel().tolist()), series_only=True)
