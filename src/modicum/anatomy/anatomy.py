"""Split a table in two: values stay exact, but who has which sensitive value is hidden [Mancuhan16 Definition 10]."""

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
    """An identifying and a sensitive table, linked by groups in which no sensitive value has a share above 1/ℓ.

    The identifying table has all columns except the sensitive one, the class and the group number, with rows in random
    order. The sensitive table lists the values of each group in an order that reveals nothing [Mancuhan16 Definition
    10]. Before the release, Definition 9 is checked by code that did not make the groups. A `PrivacyWarning` names what
    the tables still reveal: columns that determine the sensitive value, persons with several records, sensitive
    attributes that determine each other.

    Parameters
    ----------
    l : int
        ℓ of [Mancuhan16 Definition 9]: no sensitive value is more than 1/ℓ of its group.
    sensitive : name or names
        The columns to protect; by default those with that role in the schema. Each gets its own groups and table.
    grouping : "bucketize", "random" or "dealt"
        How groups are made: by Xiao and Tao's algorithm, by chance alone, or dealt out in turn (`anatomy.grouping`).
        An engine can also deal: `release_to` requires it.
    max_suppressed : number from 0 to 1
        The largest share of records that may be left out if a value is too frequent for ℓ. As few as possible are left
        out. If several sensitive attributes have more than 2,000 combinations of values, the fewest are left out for
        one attribute after another until all have groups. If the share would be exceeded, nothing is released.
    schema : Schema, optional
        Kinds and roles of the columns. Identifiers, person columns and forbidden attributes are not released.
    random_state : int, optional
        By default every fit is random. A number makes the release reproducible byte for byte. With it an adversary
        could repeat part of the assignment, so keep it as secret as the data.

    Attributes
    ----------
    release_ : AnatomyRelease
        The two tables; after `release_to` a `WrittenAnatomy`, without the tables.
    rows_ : array of int
        The record of X in each row of the identifying table. It undoes the hiding and is never released.
    suppressed_ : array of int
        The records of X that were left out.

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

    release_: Any  # AnatomyRelease, or WrittenAnatomy after release_to

    def fit(self, X: Any, y: Any = None) -> "Anatomy":
        """Make the release.

        Parameters
        ----------
        X : pandas or polars frame, or array
            The records, one per person, including the sensitive columns (an array's columns are called x0, x1, …).
        y : array-like, optional
            The class, which goes into the identifying table.
        """
        if is_table(X):
            raise DataError("The table is in an engine; use Anatomy.release_to(X, folder) to release it.")
        frame = frame_of(self, X)
        schema = schema_of(self, frame)
        task = build_task(self, frame, schema, y)
        random = generator(self.random_state)
        ordered = {name: value_order(task, name) for name in task.sensitive}
        values = {name: codes for name, (codes, _) in ordered.items()}
        if self.grouping == "dealt":
            rows, groups = self._deal_groups(task, values)
        else:
            rows = self._select_records(values, random)
            self._check_suppressed(len(frame) - len(rows), len(frame))
            groups = {name: self._make_groups(codes[rows], random) for name, codes in values.items()}
        order = random.permutation(len(rows))
        groups = {name: own[order] for name, own in groups.items()}
        self.rows_: Codes = rows[order]
        self.suppressed_: Codes = np.setdiff1d(np.arange(len(frame)), rows, assume_unique=True)
        self.release_ = build_release(task, ordered, groups, self.rows_, self.l, self.grouping)
        for message in (*find_repeated_persons(frame, schema), *leaks(task, values)):
            warnings.warn(message, PrivacyWarning, stacklevel=2)
        return self

    def release_to(
        self, X: Any, folder: str | os.PathLike[str], y: str | None = None, *, format: str = "parquet"
    ) -> "Anatomy":
        """Release a table inside its engine and write the tables to a folder, for data too large for memory.

        It needs grouping="dealt". The tables have the same rows that `fit` would release in memory with the same
        `random_state`. The engine checks the written tables before the folder gets its name. A sample of 50,000 records
        shows what the tables still reveal.

        Parameters
        ----------
        X : DuckDB relation, Spark DataFrame, polars LazyFrame or Ibis table
        folder : path
            A new or empty folder. `AnatomyRelease.load` reads it if it fits into memory.
        y : name of a column, optional
            The class, which goes into the identifying table.
        format : "parquet" or "csv"
            Spark writes only Parquet.

        Returns
        -------
        self
            `release_` is a `WrittenAnatomy`: the measured figures, without records.

        Examples
        --------
        >>> import duckdb, modicum as md, tempfile
        >>> X = duckdb.sql("SELECT range % 90 AS age, 'illness ' || range % 7 AS illness FROM range(5000)")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     anatomy = md.Anatomy(l=3, sensitive="illness", grouping="dealt", random_state=0)
        ...     anatomy.release_to(X, f"{folder}/released").release_.to_dict()["sensitive"]["illness"]["groups"]
        1666
        """
        from modicum.anatomy.engine_tables import release_at  # deferred: it imports the engines

        table = table_at(X)
        with asking(table.engine):
            self.release_, messages = release_at(self, table, folder, y, format)
        self.__dict__.pop("rows_", None)
        self.__dict__.pop("suppressed_", None)
        for message in messages:
            warnings.warn(message, PrivacyWarning, stacklevel=2)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _make_groups(self, codes: Codes, random: np.random.Generator) -> Codes:
        """Assign a group to each record. Groups get random numbers: the order of making them depends on the values."""
        make = bucketize if self.grouping == "bucketize" else random_groups
        groups = make(_renumber_codes(codes), int(self.l), random)
        return random.permutation(int(groups.max()) + 1)[groups]

    def _deal_groups(self, task: AnatomyTask, values: dict[str, Codes]) -> tuple[Codes, dict[str, Codes]]:
        """Return the released records and their groups, which do not depend on the order of the rows."""
        deals, numbering = self._plan_deals(task, {name: np.bincount(codes) for name, codes in values.items()})
        hashes = numbering.hashes(task.frame)
        numbers = {name: numbers_of(codes, hashes) for name, codes in values.items()}
        stays = np.all([own < deals[name].most for name, own in numbers.items()], axis=0)
        groups = {name: deals[name].group(codes, numbers[name])[stays] for name, codes in values.items()}
        return np.flatnonzero(stays), groups

    def _plan_deals(self, task: AnatomyTask, counts: dict[str, Codes]) -> tuple[dict[str, Deal], Numbering]:
        """Plan the groups of each sensitive column from the number of records of each value."""
        tight = [name for name, own in counts.items() if largest_l(own) < self.l]
        for name in tight:
            self._check_possible(name, counts[name])
            released = int(np.minimum(counts[name], most_of_a_value(counts[name], int(self.l))).sum())
            self._check_suppressed(int(counts[name].sum()) - released, int(counts[name].sum()))
        if tight and len(counts) > 1:  # a record left out for one column may be needed by another
            raise DataError(
                f"One value of the column {tight[0]!r} is too frequent for l = {self.l}, and grouping='dealt' cannot "
                "leave records out if there are several sensitive columns; use a smaller l, or grouping='bucketize' in "
                "memory."
            )
        random = generator(self.random_state)
        numbering = Numbering.of((*task.identifying, *task.sensitive), random)
        return {name: Deal.of(own, int(self.l), random) for name, own in counts.items()}, numbering

    def _select_records(self, sensitive: dict[str, Codes], random: np.random.Generator) -> Codes:
        """Select as many records as possible for which groups exist for every sensitive attribute.

        With several attributes the search stops early if it would take long. If they have very many combinations of
        values, each attribute in turn loses as few records as possible.
        """
        rows = np.arange(len(next(iter(sensitive.values()))))
        tight = [name for name, codes in sensitive.items() if largest_l(np.bincount(codes)) < self.l]
        for name in tight:
            self._check_possible(name, np.bincount(sensitive[name]))
        if tight and len(sensitive) > 1:
            jointly = select_jointly(list(sensitive.values()), int(self.l), random)
            rows = rows if jointly is None else rows[jointly]
            if not len(rows):
                raise DataError(
                    f"No selection of records has groups with l = {self.l} for all of {format_names(sensitive)}; use a "
                    "smaller l, or fewer sensitive attributes."
                )
        return self._select_in_turn(rows, sensitive, random)

    def _select_in_turn(self, rows: Codes, sensitive: dict[str, Codes], random: np.random.Generator) -> Codes:
        """Leave out as few of these records as possible for each attribute in turn, until all have groups."""
        while True:
            before = len(rows)
            for name, codes in sensitive.items():
                own = _renumber_codes(codes[rows])
                counts = np.bincount(own)
                if largest_l(counts) >= self.l:
                    continue
                if len(counts) < self.l:
                    raise DataError(
                        f"The records that other sensitive columns allow have {len(counts)} different values of "
                        f"{name!r}, fewer than l = {self.l}; use a smaller l, or fewer sensitive attributes."
                    )
                rows = rows[select_records(own, self.l, random)]
            if len(rows) == before:
                return rows

    def _check_possible(self, name: str, counts: Codes) -> None:
        """Refuse a column for which leaving records out is not allowed or would not help."""
        if len(counts) < self.l:
            raise DataError(
                f"The sensitive column {name!r} has {len(counts)} different values, fewer than l = {self.l}; use a "
                "smaller l."
            )
        if not self.max_suppressed:
            raise DataError(
                f"One value of the column {name!r} is too frequent for l = {self.l}: the largest possible l is "
                f"{largest_l(counts)}, unless the 'max_suppressed' parameter allows leaving records out."
            )

    def _check_suppressed(self, left_out: int, records: int) -> None:
        """Refuse to leave out more records than allowed."""
        if left_out > self.max_suppressed * records + 1e-9:  # the product may be rounded down
            raise DataError(
                f"To reach l = {self.l}, {left_out:,} of {records:,} records would have to be left out, a larger share "
                f"than the 'max_suppressed' parameter allows ({self.max_suppressed:g})."
            )


# Build the two tables from groups, and check them by code that did not make the groups.


def _renumber_codes(codes: Codes) -> Codes:
    """Number the codes that occur from 0 without gaps, in their order; counting is faster than sorting."""
    present = np.bincount(codes) > 0
    return codes if present.all() else (np.cumsum(present) - 1)[codes]


def value_order(task: AnatomyTask, name: str) -> tuple[Codes, Codes]:
    """Code a sensitive column in the order of its values; also return one record for each value."""
    codes, words = texts(task.frame[name])
    place = {word: i for i, word in enumerate(order_words(task.schema[name], words))}
    ordered = np.array([place[word] for word in words], dtype=np.int64)[codes]
    return ordered, first_rows(ordered)


def build_release(
    task: AnatomyTask,
    ordered: Mapping[str, tuple[Codes, Codes]],
    groups: Mapping[str, Codes],
    rows: Codes,
    l: int,
    grouping: str,
) -> AnatomyRelease:
    """Build the release; refuse it if a group is not ℓ-diverse or a record is lost or repeated.

    Parameters
    ----------
    task : the records and their columns
    ordered : the `value_order` of each sensitive column
    groups : for each sensitive column the group of each released row
    rows : the released records, in the order of the identifying table
    l : the ℓ that every group must have
    grouping : how the groups were made
    """
    many = len(groups)
    numbers = {group_column(name, many): own + 1 for name, own in groups.items()}
    identifying = _add_columns(_select_rows(task.frame.select(task.identifying), rows), numbers)
    tables = {name: _build_sensitive(task, name, ordered[name], own, rows, many) for name, own in groups.items()}
    release = AnatomyRelease(
        _plain(identifying),
        {name: _plain(table) for name, table in tables.items()},
        _narrow_schema(task, [identifying, *tables.values()]),
        suppressed=len(task.frame) - len(rows),
        grouping=grouping,
    )
    for name, table in tables.items():
        _check_table(task, table, name, group_column(name, many), rows, l)
    return release


def _check_table(task: AnatomyTask, table: nw.DataFrame[Any], name: str, gid: str, rows: Codes, l: int) -> None:
    """Refuse a table that is not ℓ-diverse or does not contain exactly the values of these records."""
    whole = np.bincount(rows).max() == 1 and len(rows) == len(table)
    before, after = (_count_values(series) for series in (task.frame[name][rows], table[name]))
    if l_diversity(table, [gid], name, kind="frequency") < l or not whole or before != after:
        raise DataError(f"The groups of {name!r} failed the check of l or of the records, so nothing is released.")


def _count_values(series: nw.Series[Any]) -> dict[str, int]:
    """Count how often each value occurs."""
    codes, words = texts(series)
    return dict(zip(words, np.bincount(codes).tolist(), strict=True))


def _build_sensitive(
    task: AnatomyTask, name: str, ordered: tuple[Codes, Codes], groups: Codes, rows: Codes, many: int
) -> nw.DataFrame[Any]:
    """Build the table of one sensitive attribute, sorted by group and value; equal values are written identically."""
    codes, typical = ordered
    pairs = np.sort(groups * len(typical) + codes[rows])
    values = _select_rows(task.frame.select([name]), typical[pairs % len(typical)])
    gid = group_column(name, many)
    return _add_columns(values, {gid: pairs // len(typical) + 1}).select(gid, name)


def _select_rows(frame: nw.DataFrame[Any], rows: Codes) -> nw.DataFrame[Any]:
    """Select rows, with a new index and only used categories: the old ones could reveal positions and omissions."""
    taken = nw.maybe_reset_index(frame[rows])
    typed = [name for name, dtype in taken.schema.items() if dtype in (nw.Categorical, nw.Enum)]
    return taken.with_columns(*(_drop_unused_categories(taken[name]) for name in typed)) if typed else taken


def _drop_unused_categories(series: nw.Series[Any]) -> nw.Series[Any]:
    """Remove categories without records from a categorical column's type."""
    native = series.to_native()
    if isinstance(native, pd.Series):
        return nw.from_native(native.cat.remove_unused_categories(), series_only=True)
    words = series.cast(nw.String())
    if series.dtype != nw.Enum:
        return words.cast(nw.Categorical())  # this numbers the categories again
    present = set(words.to_list())
    return words.cast(nw.Enum([each for each in series.cat.get_categories().to_list() if each in present]))


def _plain(frame: nw.DataFrame[Any]) -> Any:
    """Return the native frame, without the metadata that pandas keeps with it."""
    native = frame.to_native()
    if not isinstance(native, pd.DataFrame):
        return native
    native = native.rename_axis(columns=None)
    native.attrs = {}
    return native


def _narrow_schema(task: AnatomyTask, tables: Sequence[nw.DataFrame[Any]]) -> Schema:
    """Limit inferred domains in the schema to released values."""
    columns = {name: table[name] for table in tables for name in table.columns}

    def narrow(attribute: Attribute) -> Attribute:
        if attribute.name not in task.inferred or attribute.domain is None:
            return attribute
        present = set(texts(columns[attribute.name])[1])
        return attribute.model_copy(update={"domain": tuple(value for value in attribute.domain if value in present)})

    return task.schema.model_copy(update={"attributes": tuple(map(narrow, task.schema))})


def _add_columns(frame: nw.DataFrame[Any], columns: Mapping[str, Codes]) -> nw.DataFrame[Any]:
    series = [nw.new_series(name, values, backend=frame.implementation) for name, values in columns.items()]
    return frame.with_columns(*series)
