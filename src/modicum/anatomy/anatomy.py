"""Split a table in two: every value stays exact, whose the sensitive one is gets hidden [Mancuhan16 Definition 10]."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from modicum.anatomy.checks import AnatomyTask, build_task, find_repeated_persons, generator, leaks, order_words
from modicum.anatomy.grouping import (
    Deal,
    Numbering,
    bucketize,
    largest_l,
    most_of_a_value,
    numbers_of,
    random_groups,
    select_jointly,
    select_records,
)
from modicum.engines import is_table, table_at
from modicum.engines.failures import asking
from modicum.errors import DataError, PrivacyWarning, format_names
from modicum.measures.diversity import l_diversity
from modicum.releases.anatomy_release import AnatomyRelease, group_column
from modicum.table.codes import first_rows
from modicum.table.estimator_input import frame_of, schema_of
from modicum.table.frames import texts
from modicum.table.schema import Attribute, Schema
from modicum.typing import Codes


class Anatomy(BaseEstimator):
    """An identifying and a sensitive table, tied by groups in which no sensitive value has more than 1/ℓ.

    The identifying table has all columns but the sensitive one, the class and the number of the group, its rows in
    random order; the sensitive table has the values of each group in an order that says nothing [Mancuhan16 Definition
    10]. Before anything is released, another count than the one that made the groups checks Definition 9 on it. What
    the tables tell all the same is warned of: columns from which the sensitive value follows, a person with several
    records, several sensitive attributes that follow from each other.

    Parameters
    ----------
    l : int
        ℓ of [Mancuhan16 Definition 9]: no sensitive value is more than 1/ℓ of its group.
    sensitive : name, or several
        The column to protect; the schema's where none is named. Several get groups and a table of their own each.
    grouping : "bucketize", "random" or "dealt"
        How groups are made: by Xiao and Tao's algorithm, by chance alone, or dealt out in turn (`anatomy.grouping`),
        which an engine can do too: `release_to` takes no other.
    max_suppressed : number from 0 to 1
        The largest share of the records that may be left out where a value is too frequent for ℓ. As few as possible
        are; with several sensitive attributes of more than 2,000 combinations of values the fewest for one after
        another, until all have groups. Where more would have to go, nothing is released.
    schema : Schema, optional
        Kinds and roles of the columns. Identifiers, persons' numbers and forbidden attributes are not released.
    random_state : int, optional
        By default every fit draws anew. A number makes the release the same, byte for byte, each time: whoever knows
        it could redo part of the assignment, so keep it as secret as the data.

    Attributes
    ----------
    release_ : AnatomyRelease
        The two tables; a `WrittenAnatomy`, without them, where `release_to` has written them.
    rows_ : array of int
        Which record of X each row of the identifying table is. It undoes the hiding, and is never in the release.
    suppressed_ : array of int
        Which records of X were left out.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "sex", "hours-per-week", "education"]]
    >>> release = md.Anatomy(l=3, sensitive="education", random_state=0).fit(X[:3_000], y[:3_000]).release_
    >>> release.identifying.columns.tolist(), release.sensitive.columns.tolist()
    (['age', 'sex', 'hours-per-week', 'income', 'GID'], ['GID', 'education'])
    >>> release.l, release.n_groups, len(release.sensitive)
    (3, 1000, 3000)
    """

    def __init__(
        self,
        l: int = 3,
        sensitive: str | Iterable[str] | None = None,
        *,
        grouping: str = "bucketize",
        max_suppressed: float = 0.0,
        schema: Schema | None = None,
        random_state: int | None = None,
    ) -> None:
        self.l = l
        self.sensitive = sensitive
        self.grouping = grouping
        self.max_suppressed = max_suppressed
        self.schema = schema
        self.random_state = random_state

    release_: Any  # AnatomyRelease; WrittenAnatomy where it was written by an engine

    def fit(self, X: Any, y: Any = None) -> "Anatomy":
        """Make the release.

        Parameters
        ----------
        X : pandas or polars frame, or array
            The records, one a person, with the sensitive columns among them (an array's are called x0, x1, …).
        y : array-like, optional
            The class, which goes into the identifying table.
        """
        if is_table(X):
            raise DataError("The table lives in an engine; Anatomy.release_to(X, folder) writes its release there.")
        frame = frame_of(self, X)
        schema = schema_of(self, frame)
        asked = build_task(self, frame, schema, y)
        random = generator(self.random_state)
        ordered = {name: value_order(asked, name) for name in asked.sensitive}
        values = {name: codes for name, (codes, _) in ordered.items()}
        if self.grouping == "dealt":
            kept, found = self._dealt(asked, values)
        else:
            kept = self._select_records(values, random)
            self._check_suppressed(len(frame) - len(kept), len(frame))
            found = {name: self._groups(codes[kept], random) for name, codes in values.items()}
        order = random.permutation(len(kept))
        groups = {name: own[order] for name, own in found.items()}
        self.rows_: Codes = kept[order]
        self.suppressed_: Codes = np.setdiff1d(np.arange(len(frame)), kept, assume_unique=True)
        self.release_ = build_release(asked, ordered, groups, self.rows_, self.l, self.grouping)
        for message in (*find_repeated_persons(frame, schema), *leaks(asked, values)):
            warnings.warn(message, PrivacyWarning, stacklevel=2)
        return self

    def release_to(
        self, X: Any, folder: str | os.PathLike[str], y: str | None = None, *, format: str = "parquet"
    ) -> "Anatomy":
        """Make the release of a table where it lives, and write it: for tables too large for memory.

        It needs grouping="dealt". The tables have the same rows as `fit` gives of the same records in memory with the
        same `random_state`. What was written is checked in the engine before the folder gets its name. What the tables
        tell all the same is looked for in a sample of 50,000 records.

        Parameters
        ----------
        X : DuckDB relation, Spark DataFrame, polars LazyFrame or Ibis table
        folder : path
            A new or empty folder; `AnatomyRelease.load` reads it where it fits into memory.
        y : name of a column, optional
            The class, which goes into the identifying table.
        format : "parquet" or "csv"
            Spark writes Parquet.

        Returns
        -------
        self
            `release_` is a `WrittenAnatomy`: what was measured, without records.

        Examples
        --------
        >>> import duckdb, modicum as md, tempfile
        >>> X = duckdb.sql("SELECT range % 90 AS age, 'illness ' || range % 7 AS illness FROM range(5000)")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     anatomy = md.Anatomy(l=3, sensitive="illness", grouping="dealt", random_state=0)
        ...     anatomy.release_to(X, f"{folder}/released").release_.to_dict()["sensitive"]["illness"]["groups"]
        1666
        """
        from modicum.anatomy.engine_tables import release_at  # deferred: it needs all that engines need

        table = table_at(X)
        with asking(table.engine):
            self.release_, said = release_at(self, table, folder, y, format)
        self.__dict__.pop("rows_", None)
        self.__dict__.pop("suppressed_", None)
        for message in said:
            warnings.warn(message, PrivacyWarning, stacklevel=2)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _groups(self, codes: Codes, random: np.random.Generator) -> Codes:
        """A group for each record, numbered at random: the order in which groups are made tells of their values."""
        make = bucketize if self.grouping == "bucketize" else random_groups
        groups = make(_renumber_codes(codes), int(self.l), random)
        return random.permutation(int(groups.max()) + 1)[groups]

    def _dealt(self, asked: AnatomyTask, values: dict[str, Codes]) -> tuple[Codes, dict[str, Codes]]:
        """The records that stay, and their groups, which depend on no order of the rows."""
        deals, numbering = self._deals(asked, {name: np.bincount(codes) for name, codes in values.items()})
        hashes = numbering.hashes(asked.frame)
        numbers = {name: numbers_of(codes, hashes) for name, codes in values.items()}
        stays = np.all([own < deals[name].most for name, own in numbers.items()], axis=0)
        groups = {name: deals[name].group(codes, numbers[name])[stays] for name, codes in values.items()}
        return np.flatnonzero(stays), groups

    def _deals(self, asked: AnatomyTask, counts: dict[str, Codes]) -> tuple[dict[str, Deal], Numbering]:
        """The plan for each sensitive column, from how many records each of its values has."""
        tight = [name for name, own in counts.items() if largest_l(own) < self.l]
        for name in tight:
            self._check_possible(name, counts[name])
            kept = int(np.minimum(counts[name], most_of_a_value(counts[name], int(self.l))).sum())
            self._check_suppressed(int(counts[name].sum()) - kept, int(counts[name].sum()))
        if tight and len(counts) > 1:  # what goes for one column may be missed by another
            raise DataError(
                f"The column {tight[0]!r} has one value too often for l = {self.l}, and with several sensitive columns "
                "grouping='dealt' leaves no record out; take a smaller l, or grouping='bucketize' in memory."
            )
        random = generator(self.random_state)
        numbering = Numbering.of((*asked.identifying, *asked.sensitive), random)
        return {name: Deal.of(own, int(self.l), random) for name, own in counts.items()}, numbering

    def _select_records(self, sensitive: dict[str, Codes], random: np.random.Generator) -> Codes:
        """The records that stay, so that groups exist for every sensitive attribute: the most that can stay.

        With several attributes the search for the most ends early where it would take long, and where they have very
        many combinations of values each in turn loses the fewest instead.
        """
        everyone = np.arange(len(next(iter(sensitive.values()))))
        tight = [name for name, codes in sensitive.items() if largest_l(np.bincount(codes)) < self.l]
        for name in tight:
            self._check_possible(name, np.bincount(sensitive[name]))
        if tight and len(sensitive) > 1:
            jointly = select_jointly(list(sensitive.values()), int(self.l), random)
            everyone = everyone if jointly is None else everyone[jointly]
            if not len(everyone):
                raise DataError(
                    f"Whatever is left out, no records remain for which {format_names(sensitive)} all have groups for "
                    f"l = {self.l}; take a smaller l, or fewer sensitive attributes."
                )
        return self._in_turn(everyone, sensitive, random)

    def _in_turn(self, kept: Codes, sensitive: dict[str, Codes], random: np.random.Generator) -> Codes:
        """Those of these records that stay when each attribute in turn loses the fewest, until all have groups."""
        while True:
            left = kept
            for name, codes in sensitive.items():
                own = _renumber_codes(codes[kept])
                counts = np.bincount(own)
                if largest_l(counts) >= self.l:
                    continue
                if len(counts) < self.l:
                    raise DataError(
                        f"What was left out for other sensitive columns leaves {len(counts)} different values of "
                        f"{name!r}, fewer than l = {self.l}; take a smaller l, or fewer sensitive attributes."
                    )
                kept = kept[select_records(own, self.l, random)]
            if len(kept) == len(left):
                return kept

    def _check_possible(self, name: str, counts: Codes) -> None:
        """Refuse a column for which leaving records out is needed but not allowed, or would not help."""
        if len(counts) < self.l:
            raise DataError(
                f"The sensitive column {name!r} has {len(counts)} different values, fewer than l = {self.l}."
            )
        if not self.max_suppressed:
            raise DataError(
                f"The column {name!r} has one value too often for l = {self.l}: the largest possible l is "
                f"{largest_l(counts)}, unless the 'max_suppressed' parameter lets records be left out."
            )

    def _check_suppressed(self, left_out: int, records: int) -> None:
        """Refuse to leave out more than may be."""
        if left_out > self.max_suppressed * records + 1e-9:  # a share of whole records may be a rounding below them
            raise DataError(
                f"To reach l = {self.l}, {left_out:,} of {records:,} records would have to be left out, a larger share "
                f"than the 'max_suppressed' parameter allows ({self.max_suppressed:g})."
            )


def _renumber_codes(codes: Codes) -> Codes:
    """The same numbers from 0 without gaps."""
    there = np.bincount(codes) > 0
    return codes if there.all() else (np.cumsum(there) - 1)[codes]


# From groups to the two tables, checked by code that did not make the groups.


def value_order(asked: AnatomyTask, name: str) -> tuple[Codes, Codes]:
    """A sensitive column as codes in the order of its values, and for each value a record that has it."""
    codes, words = texts(asked.frame[name])
    place = {word: i for i, word in enumerate(order_words(asked.schema[name], words))}
    ordered = np.array([place[word] for word in words], dtype=np.int64)[codes]
    return ordered, first_rows(ordered)


def build_release(
    asked: AnatomyTask,
    ordered: Mapping[str, tuple[Codes, Codes]],
    groups: Mapping[str, Codes],
    rows: Codes,
    l: int,
    grouping: str,
) -> AnatomyRelease:
    """The release of these rows in this order; refused where a group is not ℓ-diverse or a record was lost or doubled.

    Parameters
    ----------
    asked : the records and their columns
    ordered : for each sensitive column what `value_order` says of all records
    groups : for each sensitive column the group of each released row
    rows : the records that are released, in the order of the identifying table
    l : what is asked of every group
    grouping : how they were made
    """
    many = len(groups)
    numbers = {group_column(name, many): own + 1 for name, own in groups.items()}
    identifying = _with(_rows(asked.frame.select(asked.identifying), rows), numbers)
    tables = {name: _build_sensitive(asked, name, ordered[name], own, rows, many) for name, own in groups.items()}
    release = AnatomyRelease(
        _plain(identifying),
        {name: _plain(table) for name, table in tables.items()},
        _narrow_schema(asked, [identifying, *tables.values()]),
        suppressed=len(asked.frame) - len(rows),
        grouping=grouping,
    )
    for name, table in tables.items():
        _check_table(asked, table, name, group_column(name, many), rows, l)
    return release


def _check_table(asked: AnatomyTask, table: nw.DataFrame[Any], name: str, gid: str, rows: Codes, l: int) -> None:
    """Refuse a table that is not ℓ-diverse, or does not hold the values of exactly these records."""
    whole = np.bincount(rows).max() == 1 and len(rows) == len(table)
    before, after = (_count_values(series) for series in (asked.frame[name][rows], table[name]))
    if l_diversity(table, [gid], name, kind="frequency") < l or not whole or before != after:
        raise DataError(f"The groups of {name!r} are not what was asked for, so that nothing is released.")


def _count_values(series: nw.Series[Any]) -> dict[str, int]:
    """How often each value occurs."""
    codes, words = texts(series)
    return dict(zip(words, np.bincount(codes).tolist(), strict=True))


def _build_sensitive(
    asked: AnatomyTask, name: str, ordered: tuple[Codes, Codes], groups: Codes, rows: Codes, many: int
) -> nw.DataFrame[Any]:
    """The table of one sensitive attribute, by group and value; equal values are written alike."""
    codes, typical = ordered
    pairs = np.sort(groups * len(typical) + codes[rows])
    values = _rows(asked.frame.select([name]), typical[pairs % len(typical)])
    return _with(values, {group_column(name, many): pairs // len(typical) + 1}).select(group_column(name, many), name)


def _rows(frame: nw.DataFrame[Any], rows: Codes) -> nw.DataFrame[Any]:
    """Some rows, numbered anew: a frame's index may tell where a record was, and unused categories who was left out."""
    taken = nw.maybe_reset_index(frame[rows])
    typed = [name for name, dtype in taken.schema.items() if dtype in (nw.Categorical, nw.Enum)]
    return taken.with_columns(*(_drop_unused_categories(taken[name]) for name in typed)) if typed else taken


def _drop_unused_categories(series: nw.Series[Any]) -> nw.Series[Any]:
    """A categorical column whose type names only the values that it has."""
    native = series.to_native()
    if isinstance(native, pd.Series):
        return nw.from_native(native.cat.remove_unused_categories(), series_only=True)
    words = series.cast(nw.String())
    if series.dtype != nw.Enum:
        return words.cast(nw.Categorical())  # numbered anew
    there = set(words.to_list())
    return words.cast(nw.Enum([each for each in series.cat.get_categories().to_list() if each in there]))


def _plain(frame: nw.DataFrame[Any]) -> Any:
    """The frame as its library has it, without what pandas notes beside the values."""
    native = frame.to_native()
    if not isinstance(native, pd.DataFrame):
        return native
    native = native.rename_axis(columns=None)
    native.attrs = {}
    return native


def _narrow_schema(asked: AnatomyTask, tables: Sequence[nw.DataFrame[Any]]) -> Schema:
    """The schema, in which a domain that nobody declared names only values that are released."""
    columns = {name: table[name] for table in tables for name in table.columns}

    def narrow(attribute: Attribute) -> Attribute:
        if attribute.name not in asked.inferred or attribute.domain is None:
            return attribute
        there = set(texts(columns[attribute.name])[1])
        return attribute.model_copy(update={"domain": tuple(value for value in attribute.domain if value in there)})

    return asked.schema.model_copy(update={"attributes": tuple(map(narrow, asked.schema))})


def _with(frame: nw.DataFrame[Any], columns: Mapping[str, Codes]) -> nw.DataFrame[Any]:
    made = [nw.new_series(name, values, backend=frame.implementation) for name, values in columns.items()]
    return frame.with_columns(*made)
