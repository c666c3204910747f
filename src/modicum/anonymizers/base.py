"""The common base of anonymizers: reading the data, publishing groups, and the scikit-learn contract."""

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
from modicum.anonymizers.publishing import measure_anonymity, release, replace_values, widths_of
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
    """The base class of all anonymizers: `fit` makes `release_`, `fit_transform` returns its table.

    Like `TSNE` it has no `transform`: a release contains only these records. A model trained on it predicts unchanged
    records [Goldsteen21 §3].

    A subclass implements `_groups(task)`: the group number of each record, from 0 without gaps.

    Parameters
    ----------
    k : int
        The minimum number of records with equal quasi-identifiers; persons, if the schema has a person column.
    quasi_identifiers : names
        The attributes that could identify people; by default the schema's, or all except the sensitive one.
    l : number, optional
        ℓ-diversity of the sensitive attribute in every group: see `modicum.measures.l_diversity`.
    t : number from 0 to 1, optional
        t-closeness of the sensitive attribute: see `modicum.measures.t_closeness`.
    sensitive : name, optional
        The attribute that `l` and `t` protect; `k` alone does not. It is released unchanged.
    diversity : "distinct", "entropy" or "recursive"
        The definition of `l`; "recursive" is (c, ℓ)-diversity.
    c : number
        The constant of recursive diversity.
    distance : "equal", "ordered" or "hierarchical", optional
        The distance that `t` uses; by default it follows the attribute's hierarchy, its order, or neither.
    representatives : "median", "mean", "random" or "record"
        The values that represent a group: synthetic ones (medians and most frequent categories, means, or a value drawn
        for each attribute separately), or as in the paper the record nearest to the median. The latter publishes a
        person's actual record, with a warning.
    output : "values" or "ranges"
        Records in the original domain, on which any model can train as on raw data; or readable intervals and lists of
        values, whose ends are the lowest and highest value in the group.
    max_suppressed : number from 0 to 1
        The largest share of records that `fit_resample` may leave out; `fit` and `fit_transform` leave out none.
    schema : Schema, optional
        Kinds and roles. A column with the role identifier or person is never released.
    random_state : int
        Seed for "random" representatives, and for the search of records that a model accepts instead of the medians.
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
    _flags: tuple[str, ...] = ()  # boolean parameters

    def fit(self, X: Any, y: Any = None) -> Any:
        """Anonymize these records and store the result in `release_`.

        Parameters
        ----------
        X : pandas or polars frame, or array
        y : array-like, optional
            The label, for the classification metric and for methods that use it.
        """
        task = self._task(X, y)
        self._publish(task, self._groups(task), 0)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Return the anonymized records, all in the given order; only quasi-identifiers are changed."""
        self.fit(X, y)
        return self._like(self.release_.frame, X)

    def fit_resample(self, X: Any, y: Any = None) -> tuple[Any, Any]:
        """Anonymize, leaving out the groups that lose most detail, up to a share of `max_suppressed` records.

        Returns
        -------
        X, y : the released records and their labels; `release_.suppressed` counts the records left out, and
            `sample_indices_` lists the released rows.
        """
        check_number(self, "max_suppressed", 0, 1, whole=False)
        task = self._task(X, y)
        groups = self._groups(task)
        rows = self._select_rows(task, groups)
        if not len(rows):
            raise DataError("Every record would be left out; use a smaller 'max_suppressed' parameter.")
        released = task.some(rows)
        self._publish(released, np.unique(groups[rows], return_inverse=True)[1], len(groups) - len(rows))
        self.sample_indices_ = rows
        return self._like(self.release_.frame, X), _select_labels(y, rows)

    def release_to(
        self,
        X: Any,
        path: str | os.PathLike[str],
        y: str | None = None,
        *,
        partition_by: Sequence[str] = (),
        rows_at_once: int = 1_000_000,
    ) -> Any:
        """Anonymize a table inside its engine into files, with the same records that `fit` would release in memory.

        For tables too large for memory. The upper levels of the partition grow from counts. Each part of at most
        `rows_at_once` records is then finished separately: one after another on this machine, in Spark by the
        executors. A part that cannot be split is finished whole, whatever its size. The engine measures the written
        table, which is put in place only if it meets the requirements.

        Parameters
        ----------
        X : DuckDB relation, Spark DataFrame, polars LazyFrame or Ibis table
        path : path
            A name that ends in .parquet or .csv is a file, any other a folder of Parquet files. Spark writes folders.
        y : name of a column, optional
            The label, which is released unchanged.
        partition_by : names
            Columns that become folders, `column=value`.
        rows_at_once : int
            How many records each worker may hold in memory.

        Returns
        -------
        self
            `release_` has the measured figures; its `frame` is the written table, lazy and in no particular order.

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
            release_at,  # deferred: it imports the engines
        )

        self._check_settings()
        table = table_at(X)
        with asking(table.engine):
            self.release_ = release_at(self, table, y, path, partition_by, rows_at_once)
        return self

    def _check_engine(self) -> None:
        """Refuse settings that an engine cannot carry out."""
        raise ParameterError(
            f"{type(self).__name__} needs all records in memory; use Mondrian, RPlusTree or AccuracyGuided for a table "
            "in an engine."
        )

    def _complete_task(self, table: EngineTable, task: WholeTask, y: str | None) -> WholeTask:
        """Add what the method must know about the whole table before it is divided."""
        return task

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        raise DataError(f"{type(self).__name__} must implement _upper.")

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the released columns."""
        check_is_fitted(self)
        return np.array(self._published, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _groups(self, task: Task) -> Codes:
        raise DataError(f"{type(self).__name__} must implement _groups.")

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
            raise DataError(f"The table is in an engine; use {type(self).__name__}.release_to(X, path) to release it.")
        self.__dict__.pop("sample_indices_", None)
        frame = frame_of(self, X)
        self._columns = list(frame.columns)
        task = task_of(self, frame, schema_of(self, frame), y)
        self._published = task.published
        return task

    def _publish(self, task: Task, groups: Codes, suppressed: int) -> None:
        values = None if self.output == "ranges" else self._values(task, groups)
        terms = self._describe_requirement(task.needs.requirement.distance)
        self.release_ = release(task, groups, values, method=type(self).__name__, terms=terms, suppressed=suppressed)

    def _describe_requirement(self, distance: Distance) -> ReleaseTerms:
        """Return the requirements in the form that a release stores."""
        terms: ReleaseTerms = {"k": self.k}
        if self.l is not None:
            terms["l"] = self.l
            terms["diversity"] = self.diversity
            if self.diversity == "recursive":
                terms["c"] = self.c
        if self.t is not None:
            terms["t"] = self.t
            terms["distance"] = distance
        return terms

    def _values(self, task: Task, groups: Codes) -> list[GroupValues]:
        """Compute the representative values of each group, attribute by attribute."""
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
        """Leave out the groups with the highest loss, as many as allowed while t holds; return the remaining rows."""
        sizes = np.bincount(groups)
        cost = np.sum(widths_of(task, groups), axis=0)
        order = np.argsort(-cost, kind="stable")
        allowed = np.cumsum(sizes[order]) <= self.max_suppressed * len(groups)
        many = int((allowed & (cost[order] > 0)).sum())
        while many:
            rows = np.flatnonzero(~np.isin(groups, order[:many]))
            if not len(rows) or self._still_close(task, groups, rows):
                return rows
            many //= 2
        return np.arange(len(groups))

    def _still_close(self, task: Task, groups: Codes, rows: Codes) -> bool:
        """Whether the remaining groups are close to all remaining records: leaving records out changes both."""
        if self.t is None:
            return True
        remaining = task.some(rows)
        ranges = replace_values(remaining, np.unique(groups[rows], return_inverse=True)[1], None)
        return float(measure_anonymity(remaining, ranges)[2] or 0.0) <= self.t

    def _like(self, frame: Any, X: Any) -> Any:
        """Return the table as an array if X was one."""
        return frame.to_numpy() if is_array(X) else frame


def _select_labels(y: Any, rows: Codes) -> Any:
    """Select labels, keeping their type."""
    if y is None:
        return None
    if hasattr(y, "iloc"):
        return y.iloc[rows]
    if isinstance(y, list | tuple):
        return [y[row] for row in rows.tolist()]
    return y[rows]
