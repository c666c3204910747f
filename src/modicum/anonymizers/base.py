"""What every anonymizer shares: reading the data, publishing groups, and the scikit-learn contract."""

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from modicum.anonymizers.group_representatives import (
    REPRESENTATIVES,
    GroupMembers,
    GroupValues,
    Representatives,
    draw_values,
    mean,
    median,
    nearest_records,
    of_codes,
)
from modicum.anonymizers.out_of_core.cut_tree import Upper
from modicum.anonymizers.out_of_core.whole_task import WholeTask
from modicum.anonymizers.publishing import loss, measure_anonymity, release, replace_values
from modicum.anonymizers.task import Task, task_of
from modicum.engines import is_table, table_at
from modicum.engines.failures import asking
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError, PrivacyWarning, check_choice, check_number
from modicum.measures.closeness import Distance
from modicum.measures.diversity import Diversity
from modicum.releases.release import Release, ReleaseTerms
from modicum.table.estimator_input import frame_of, schema_of
from modicum.table.frames import is_array
from modicum.table.schema import Schema
from modicum.typing import Codes


class Anonymizer(TransformerMixin, BaseEstimator):
    """The common parent of all anonymizers: `fit` makes `release_`, `fit_transform` returns its table.

    There is no `transform`, as `TSNE` has none: a release is of these records alone. A model that was trained on it
    takes records to predict for as they are [Goldsteen21 §3].

    A subclass implements `_groups(task)`: for each record the number of its group, from 0 without gaps.

    Parameters
    ----------
    k : int
        The fewest records that share their quasi-identifiers; persons, where the schema has a person column.
    quasi_identifiers : names
        The attributes by which people could be recognised: the schema's, or all but the sensitive one.
    l : number, optional
        ℓ-diversity of the sensitive attribute in every group: see `modicum.measures.l_diversity`.
    t : number from 0 to 1, optional
        t-closeness of the sensitive attribute: see `modicum.measures.t_closeness`.
    sensitive : name, optional
        The attribute that `l` and `t` protect, and only they. It is released as it is.
    diversity : "distinct", "entropy" or "recursive"
        What `l` means; "recursive" is (c, ℓ)-diversity.
    c : number
        Of recursive diversity.
    distance : "equal", "ordered" or "hierarchical", optional
        What `t` measures; by default what fits the attribute: its hierarchy, its order, or neither.
    representatives : "median", "mean", "random" or "record"
        What stands for a group: made-up values (medians and most frequent categories, means, or a value drawn for each
        attribute by itself), or the actual record nearest to the median, as in the paper, which publishes a person's
        record and warns.
    output : "values" or "ranges"
        Records of the original domain, on which any model trains as on raw data; or intervals and lists of values, as
        people read them: their ends are the lowest and highest value that somebody of the group has.
    max_suppressed : number from 0 to 1
        The largest share of records that `fit_resample` may leave out; `fit` and `fit_transform` leave out none.
    schema : Schema, optional
        Kinds and roles. A column with the role identifier or person is never released.
    random_state : int
        For "random" representatives, and for what is tried where a model rejects the median.
    """

    def __init__(
        self,
        k: int = 10,
        *,
        quasi_identifiers: Iterable[str] | None = None,
        l: float | None = None,
        t: float | None = None,
        sensitive: str | None = None,
        diversity: Diversity = "distinct",
        c: float = 4.0,
        distance: Distance | None = None,
        representatives: Representatives = "median",
        output: str = "values",
        max_suppressed: float = 0.05,
        schema: Schema | None = None,
        random_state: int = 0,
    ) -> None:
        self.k = k
        self.quasi_identifiers = quasi_identifiers
        self.l = l
        self.t = t
        self.sensitive = sensitive
        self.diversity = diversity
        self.c = c
        self.distance = distance
        self.representatives = representatives
        self.output = output
        self.max_suppressed = max_suppressed
        self.schema = schema
        self.random_state = random_state

    release_: Release
    _flags: tuple[str, ...] = ()  # parameters that are True or False

    def fit(self, X: Any, y: Any = None) -> Any:
        """Anonymize these records: `release_`.

        Parameters
        ----------
        X : pandas or polars frame, or array
        y : array-like, optional
            The label, for the classification metric, and for methods that look at it.
        """
        task = self._task(X, y)
        self._publish(task, self._groups(task), 0)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The anonymized records: as many as were given, in their order; only quasi-identifiers are changed."""
        self.fit(X, y)
        return self._like(self.release_.frame, X)

    def fit_resample(self, X: Any, y: Any = None) -> tuple[Any, Any]:
        """Anonymize, and leave out the groups that lose most detail, up to the share `max_suppressed` of the records.

        Returns
        -------
        X, y : the released records and their labels; `release_.suppressed` counts what was left out, and
            `sample_indices_` tells which rows stayed.
        """
        check_number(self, "max_suppressed", 0, 1, whole=False)
        task = self._task(X, y)
        groups = self._groups(task)
        rows = self._select_rows(task, groups)
        if not len(rows):
            raise DataError("Every record would be left out; allow fewer with the 'max_suppressed' parameter.")
        few = task.some(rows)
        self._publish(few, np.unique(groups[rows], return_inverse=True)[1], len(groups) - len(rows))
        self.sample_indices_ = rows
        return self._like(self.release_.frame, X), _rows_of(y, rows)

    def release_to(
        self,
        X: Any,
        path: str | os.PathLike[str],
        y: str | None = None,
        *,
        partition_by: Sequence[str] = (),
        rows_at_once: int = 1_000_000,
    ) -> Any:
        """Anonymize a table where it lives, into files: the same records as `fit` would release of it in memory.

        For tables too large for memory. The upper levels of the partition are grown from counts; a part of at most
        `rows_at_once` records is finished by itself, on this machine part after part, in Spark by its executors (a part
        that cannot be split is finished whole, however large). What was written is measured in the engine, and put in
        its place only where it has what was asked for.

        Parameters
        ----------
        X : DuckDB relation, Spark DataFrame, polars LazyFrame or Ibis table
        path : path
            A name that ends in .parquet or .csv is a file, another one a folder of Parquet files. Spark writes folders.
        y : name of a column, optional
            The label, which is released as it is.
        partition_by : names
            Columns that become folders, `column=value`.
        rows_at_once : int
            How many records may be held in memory at once, by each worker.

        Returns
        -------
        self
            `release_` says what was measured; its `frame` is the lazy table that was written, in no particular order.

        Examples
        --------
        >>> import duckdb, modicum as md, tempfile
        >>> X = duckdb.sql("SELECT range % 90 AS age, range % 7 AS job FROM range(5000)")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     anonymizer = md.Mondrian(k=50).release_to(X, f"{folder}/released.parquet", rows_at_once=1_000)
        ...     anonymizer.release_.rows, anonymizer.release_.k >= 50, anonymizer.release_.frame.columns
        (5000, True, ['age', 'job'])
        """
        from modicum.anonymizers.out_of_core.engine_release import (
            release_at,  # deferred: it needs all that engines need
        )

        self._check_settings()
        table = table_at(X)
        with asking(table.engine):
            self.release_ = release_at(self, table, y, path, partition_by, rows_at_once)
        return self

    def _check_engine(self) -> None:
        """Refuse what cannot be had where a table lives."""
        raise ParameterError(
            f"{type(self).__name__} takes all records at once; Mondrian, RPlusTree and AccuracyGuided release a table "
            "where it lives."
        )

    def _complete_task(self, table: EngineTable, task: WholeTask, y: str | None) -> WholeTask:
        """What else must be known of the whole table before its parts are told."""
        return task

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        raise DataError(f"{type(self).__name__} does not say how it takes a table apart.")

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The names of the columns that are released."""
        check_is_fitted(self)
        return np.array(self._published, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _groups(self, task: Task) -> Codes:
        raise DataError(f"{type(self).__name__} does not say how it makes groups.")

    def _check_settings(self) -> None:
        check_choice(self, "representatives", REPRESENTATIVES)
        check_choice(self, "output", ("values", "ranges"))
        check_number(self, "random_state", 0)
        for name in self._flags:
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ParameterError(
                    f"The {name!r} parameter of {type(self).__name__} must be True or False. Got {value!r}."
                )

    def _task(self, X: Any, y: Any) -> Task:
        self._check_settings()
        if is_table(X):
            raise DataError(
                f"The table lives in an engine; {type(self).__name__}.release_to(X, path) writes its release there."
            )
        self.__dict__.pop("sample_indices_", None)
        frame = frame_of(self, X)
        self._columns = list(frame.columns)
        task = task_of(self, frame, schema_of(self, frame), y)
        self._published = task.published
        return task

    def _publish(self, task: Task, groups: Codes, suppressed: int) -> None:
        values = None if self.output == "ranges" else self._values(task, groups)
        asked = self._describe_requirement(task.needs.requirement.distance)
        self.release_ = release(task, groups, values, method=type(self).__name__, asked=asked, suppressed=suppressed)

    def _describe_requirement(self, distance: Distance) -> ReleaseTerms:
        """What was asked for, as a release tells it."""
        asked: ReleaseTerms = {"k": self.k}
        if self.l is not None:
            asked["l"] = self.l
            asked["diversity"] = self.diversity
            if self.diversity == "recursive":
                asked["c"] = self.c
        if self.t is not None:
            asked["t"] = self.t
            asked["distance"] = distance
        return asked

    def _values(self, task: Task, groups: Codes) -> list[GroupValues]:
        """What stands for each group, one attribute after another."""
        members = [GroupMembers(column, groups, task.needs.persons) for column in task.ranked.columns]
        if self.representatives == "record":
            warnings.warn(
                "representatives='record' publishes the quasi-identifiers of one actual person for each group.",
                PrivacyWarning,
                stacklevel=4,
            )
            rows = nearest_records(task.ranked, groups, task.label if task.guide is None else task.guide)
            return [of_codes(column, column.codes[rows].astype(np.int64)) for column in task.ranked.columns]
        if self.representatives == "random":
            random = np.random.default_rng(self.random_state)
            return [draw_values(each, random) for each in members]
        return [mean(each) if self.representatives == "mean" else median(each) for each in members]

    def _select_rows(self, task: Task, groups: Codes) -> Codes:
        """The rows that stay when the groups with the highest loss go, as many as may and as keep t."""
        sizes = np.bincount(groups)
        cost = loss(task, groups)[1]
        order = np.argsort(-cost, kind="stable")
        gone = np.cumsum(sizes[order]) <= self.max_suppressed * len(groups)
        many = int((gone & (cost[order] > 0)).sum())
        while many:
            rows = np.flatnonzero(~np.isin(groups, order[:many]))
            if not len(rows) or self._still_close(task, groups, rows):
                return rows
            many //= 2
        return np.arange(len(groups))

    def _still_close(self, task: Task, groups: Codes, rows: Codes) -> bool:
        """Whether what stays is as close to all that stays as it must be: leaving records out moves both."""
        if self.t is None:
            return True
        few = task.some(rows)
        ranges = replace_values(few, np.unique(groups[rows], return_inverse=True)[1], None)
        return float(measure_anonymity(few, ranges)[2] or 0.0) <= self.t

    def _like(self, frame: Any, X: Any) -> Any:
        """The table as what was given: an array for an array."""
        return frame.to_numpy() if is_array(X) else frame


def _rows_of(y: Any, rows: Codes) -> Any:
    """Some of the labels, in the form in which they were given."""
    if y is None:
        return None
    if hasattr(y, "iloc"):
        return y.iloc[rows]
    if isinstance(y, list | tuple):
        return [y[row] for row in rows.tolist()]
    return y[rows]
