"""The whole workflow: `minimize` splits, learns and chooses; its result gathers evidence and makes the report.

Python and the command line share this code, so they give the same artifact and the same report.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import narwhals.stable.v2 as nw
import pandas as pd

from modicum.engines import is_table, table_at
from modicum.errors import DataError, ParameterError, check_choice_is, format_names
from modicum.generalization import Generalization
from modicum.table.estimator_input import as_names
from modicum.table.frames import as_frame
from modicum.table.inference import infer_attribute
from modicum.table.schema import Schema, require_schema
from modicum.table.splits import Split, check_split, split_rows, take_rows
from modicum.table.targets import Labels, label_name, label_values

if TYPE_CHECKING:
    from modicum.evaluation import Effect, Evidence
    from modicum.evaluation._evidence import Depth
    from modicum.evaluation.search import SearchChoice
    from modicum.generalization.description import Description
    from modicum.minimizers.merge_path.choice import PathChoice
    from modicum.minimizers.merge_path.merge_path import PathPoint
    from modicum.minimizers.sample_check import Sample, SampleCheck
    from modicum.reporting import Report
    from modicum.reporting.generalization.data import GeneralizationContent

Method = Literal["merge", "pat"]
Risk = Literal["adversary", "certificate"]


class Declaration(TypedDict):
    """Declarations about columns, as `Schema.declare` takes them."""

    personal: list[str] | None
    identifiers: list[str] | None
    person: str | None
    categories: list[str] | None
    missing: str | Iterable[str]


class TreeSettings(TypedDict):
    """PAT's parameters, as for `PrivacyTree`; None means the default."""

    max_leaves: int | None
    privacy: float | None
    min_leaf: int | None


@dataclass(frozen=True, eq=False)
class Minimization:
    """What to collect, how it was chosen, and the records to evaluate it.

    Attributes
    ----------
    generalization : what to collect, and in what detail
    schema : kinds and roles of the columns; check its `suggestions`
    choice : how it was chosen on validation records; None if there was nothing to choose
    path : the points of the merge path, from most detail to none; empty for PAT
    split : the rows to learn from, to choose on and to test on; None if the records stay in an engine
    coarsening : the effect of `min_group` on PAT's result on test records, if it was given
    sample_check : whether the drawn sample was large enough, if one was drawn
    records : features and label that the split refers to
    label_bins, random_state : the arguments of `minimize`; evidence uses them too

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "hours-per-week", "sex"]][:4_000], y[:4_000]
    >>> found = md.minimize(X, y, personal=["age", "sex"], keep=0.5)
    >>> found.choice.skill_kept >= 0.5, len(found.path) > 5, len(found.split.test)
    (True, True, 1200)
    """

    generalization: Generalization
    schema: Schema
    choice: "PathChoice | SearchChoice | None" = None
    path: "Sequence[PathPoint]" = ()
    split: Split | None = None
    coarsening: "Effect | None" = None
    sample_check: "SampleCheck | None" = None
    records: tuple[Any, Any] | None = None
    label_bins: int | None = None
    random_state: int = 0

    def __repr__(self) -> str:
        return f"<Minimization: {self.generalization!r}; {self.why or 'nothing was chosen'}>"

    @property
    def why(self) -> str | None:
        """The choice in a sentence; None if there was nothing to choose."""
        if self.choice is None:
            return None
        among = f"{self.choice.considered} {'points of the path' if self.path else 'candidates'}"
        if len(self.path) == 1:
            among = "the one point of the path"
        kept = self.choice.skill_kept
        return (
            f"Chosen among {among} on validation records: {self.choice.why}; on these it keeps "
            f"{'none' if kept != kept else f'{round(kept, 2) + 0.0:.0%}'} of the skill, with an error of "
            f"{self.choice.error:.1%} (raw data {self.choice.raw_error:.1%})."
        )

    @cached_property
    def description(self) -> "Description":
        """The description of what is collected, with shares of the test records if they are available."""
        if self.records is None or self.split is None:
            return self.generalization.describe()
        return self.generalization.describe(take_rows(self.records[0], self.split.test))

    def evidence(
        self,
        *,
        depth: "Depth" = "full",
        path: Sequence[Generalization] | None = None,
        why: str | None = None,
        **options: Any,
    ) -> "Evidence":
        """Gather the evidence on the test records, which were not used to learn or choose.

        `options` are those of `md.evidence` about a generalization, such as `by`, `population` or `confidence`. With
        depth="full" the evidence compares other generalizations: those of `path`, by default the points of its own
        path. `why` is the rule of the choice among them.
        """
        X, y, split = self._require_records()
        path = path or [point.generalization for point in self.path] or None
        options = {"label_bins": self.label_bins, "random_state": self.random_state} | options
        return gather_evidence(self.generalization, X, y, split, depth=depth, path=path, why=why or self.why, **options)

    def report(
        self,
        purpose: str | None = None,
        *,
        people: str | None = None,
        date: str | None = None,
        command: str | None = None,
        **options: Any,
    ) -> "Report[GeneralizationContent]":
        """Report the evidence. The first four parameters are those of `md.report`, `options` those of `evidence`."""
        from modicum.reporting import report
        from modicum.reporting.disclosure import check_people
        from modicum.reporting.parts import Heading

        X, _, split = self._require_records()
        Heading(purpose, people, date, command)  # refuse bad values before the work
        check_people(self.generalization.schema, take_rows(X, split.test))
        return report(self.evidence(**options), purpose, people=people, date=date, command=command)

    def _require_records(self) -> tuple[Any, Any, Split]:
        if self.records is None or self.split is None:
            raise DataError(
                "Evidence needs records in memory; draw some of them from the engine with the 'sample' parameter."
            )
        return *self.records, self.split


def minimize(
    X: Any,
    y: Any,
    *,
    personal: Iterable[str] | None = None,
    identifiers: Iterable[str] | None = None,
    person: str | None = None,
    categories: Iterable[str] | None = None,
    schema: Schema | None = None,
    keep: float | None = None,
    max_error: float | None = None,
    min_group: int | None = None,
    method: Method | None = None,
    risk: Risk | None = None,
    max_leaves: int | None = None,
    privacy: float | None = None,
    min_leaf: int | None = None,
    label_bins: int | None = None,
    sample: int | None = None,
    split: Split | None = None,
    missing: str | Iterable[str] = (),
    for_report: bool = False,
    progress: bool = True,
    random_state: int = 0,
) -> Minimization:
    """Decide what to collect, and in what detail, to predict y: split, learn, choose.

    In memory it learns from 60% of the rows and chooses on 10%; the other 30% test the choice (`result.evidence()`,
    `result.report()`). From a table in an engine it grows PAT's tree from counts of all records, without a choice; with
    `sample` it draws some records into memory.

    Parameters
    ----------
    X : pandas or polars frame, or array
        Full records. Or a table in an engine: DuckDB, Spark, a polars LazyFrame, Ibis.
    y : array-like, or the name of a column of X
        The label to predict; every row needs a value. An array without a name is the schema's label, or "y".
    personal : names, optional
        Attributes that an adversary should not learn; by default all.
    identifiers, person : columns that identify a person, never collected; the column with one value per person
    categories : columns whose numbers are codes, not amounts
    schema : Schema, optional
        Kinds and roles, which the four above override; by default inferred from the data.
    keep : float from 0 to 1, optional
        Take the most private result that keeps this share of the raw model's skill (`Utility.skill_kept`).
    max_error : float from 0 to 1, optional
        Or: the most private one with at most this error. With neither, merging takes the inflection point of its path,
        and the tree is grown once.
    min_group : int, optional
        The fewest people of the training part who may share a combination of answers.
    method : "merge" or "pat"
        Merge buckets (`MergePath`, the default), or grow the privacy-aware tree (`PrivacyTree`; also the default in an
        engine, or with one of its parameters).
    risk : "adversary" or "certificate", optional
        The risk that merging lowers, as for `MergePath`.
    max_leaves, privacy, min_leaf : optional
        Parameters of `PrivacyTree`; with `keep` or `max_error` they narrow the search.
    label_bins : int, optional
        Cut a numeric label into ranges.
    sample : int, optional
        Learn from this many records, and check on as many others whether they are enough (`sample_check`).
    split : Split, optional
        Your own rows to learn from, to choose on and to test on.
    missing : texts that mean missing when the artifact is applied to files
    for_report : whether a report will follow; refuses a test part with too few people for one before learning
    progress : whether long work shows a bar on a terminal
    random_state : the seed of the split and of the models

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "hours-per-week", "sex"]][:4_000], y[:4_000]
    >>> found = md.minimize(X, y, personal=["age", "sex"])
    >>> found.generalization.schema.personal, found.generalization.schema.label
    (['age', 'sex'], 'income')
    >>> quick = found.evidence(depth="quick")
    >>> quick.utility.error < quick.utility.majority_error
    True
    """
    if schema is not None:
        require_schema(schema)
    in_engine = is_table(X) and sample is None
    tree = TreeSettings(max_leaves=max_leaves, privacy=privacy, min_leaf=min_leaf)
    limits = {"keep": keep, "max_error": max_error, "min_group": min_group, "split": split}
    method = check_settings(method, risk, tree, in_engine=in_engine, **limits)
    declared: Declaration = {
        "personal": as_names(personal),
        "identifiers": as_names(identifiers),
        "person": person,
        "categories": as_names(categories),
        "missing": missing,
    }
    if is_table(X) and (not isinstance(y, str) or y not in table_at(X).columns):
        raise DataError("The label of a table in an engine must be the name of one of its columns.")
    if in_engine and for_report:
        raise ParameterError("A report needs the records in memory: draw some of them with the 'sample' parameter.")
    if in_engine:
        return _minimize_in_engine(X, y, schema, declared, label_bins, tree)
    if split is not None and sample is not None:
        raise ParameterError("The 'split' and 'sample' parameters exclude each other: give only one.")
    X, y = (X, y) if is_table(X) else _part_label(X, y, schema)
    other: Sample | None = None
    if sample is not None:
        X, y, other = _draw(X, y, sample, random_state)
    schema = _describe_columns(X, y, schema, declared)
    persons = _read_persons(X, schema.person)
    if split is None:
        split = split_rows(y, persons=persons, random_state=random_state)
    else:
        check_split(split, len(as_frame(X)), persons)
    if for_report:
        from modicum.reporting.disclosure import check_people

        check_people(schema, take_rows(X, split.test))
    check_min_group(min_group, X, schema.person, split)
    task = _MinimizationTask(
        X, y, schema, split, keep, max_error, min_group, risk, tree, label_bins, progress, random_state
    )
    result = task.merge() if method == "merge" else task.grow()
    return result if other is None else replace(result, sample_check=_check_sample(result, other))


def split_task(X: Any, y: Any, person: str | None = None, random_state: int = 0) -> Split:
    """Split rows 60/10/30 to learn from, to choose on and to test on; a person's rows stay together.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.workflow import split_task
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> parts = split_task(X[:1_000], y[:1_000])
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (600, 100, 300)
    """
    return split_rows(y, persons=_read_persons(X, person), random_state=random_state)


def _read_persons(X: Any, person: str | None) -> Any:
    """Return the person of each row; None without a person column."""
    frame = as_frame(X)
    if person is None:
        return None
    if person not in frame.columns:
        raise DataError(
            f"The person column {person!r} is not in the data; it has {format_names(frame.columns, limit=8)}."
        )
    return frame[person].to_numpy()


def gather_evidence(
    g: Generalization,
    X: Any,
    y: Any,
    split: Split,
    *,
    depth: "Depth" = "full",
    path: Sequence[Generalization] | None = None,
    why: str | None = None,
    progress: bool = True,
    **options: Any,
) -> "Evidence":
    """Gather the evidence about a generalization on the test part of a split, compared with alternatives.

    Parameters
    ----------
    g : Generalization
    X, y, split : records, labels, and their training and test rows
    depth : as for `md.evidence`; only "full" includes alternatives
    path, why : the generalizations that were considered, and the rule of the choice
    progress : whether long work shows a bar on a terminal
    **options : as for `md.evidence`

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.workflow import gather_evidence, split_task
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "sex"]][:1_000], y[:1_000]
    >>> g = md.Uniform(buckets=2).fit(X).generalization_
    >>> found = gather_evidence(g, X, y, split_task(X, y), progress=False)
    >>> found.alternatives.points[-1].name
    'nothing collected'
    """
    from modicum.evaluation import alternatives
    from modicum.evaluation._evidence import evidence

    train, test = ((take_rows(X, rows), take_rows(y, rows)) for rows in (split.train, split.test))
    result = evidence(g, *train, *test, depth=depth, progress=progress, **options)
    if depth == "quick" or options.get("alternatives") is not None:
        return result
    names = ("personal", "weights", "label_bins", "n_jobs", "random_state")
    shared = {name: options[name] for name in names if name in options}
    return replace(result, alternatives=alternatives(g, *train, *test, path=path, why=why, **shared))


def check_settings(
    method: Method | None, risk: Risk | None, tree: TreeSettings, *, in_engine: bool, **in_memory: object
) -> Method:
    """Return the method; refuse settings of the other method, and settings that an engine does not support.

    Parameters
    ----------
    method, risk : as for `minimize`
    tree : the parameters of the tree
    in_engine : whether the records stay in an engine
    **in_memory : parameters that need the records in memory; None means not given

    Examples
    --------
    >>> from modicum.workflow import TreeSettings, check_settings
    >>> check_settings(None, None, TreeSettings(max_leaves=None, privacy=None, min_leaf=None), in_engine=False)
    'merge'
    >>> check_settings(None, None, TreeSettings(max_leaves=4, privacy=None, min_leaf=None), in_engine=False)
    'pat'
    """
    if method is not None:
        check_choice_is(method, "method", "minimize", ("merge", "pat"))
    of_tree = list(_select_given(tree))
    chosen: Method = method or ("pat" if of_tree or (in_engine and risk is None) else "merge")
    if chosen == "merge" and of_tree:
        raise ParameterError(f"The {of_tree[0]!r} parameter belongs to method 'pat': leave it out, or use that method.")
    if chosen == "pat" and risk is not None:
        raise ParameterError("The 'risk' parameter belongs to method 'merge': leave it out, or use that method.")
    needs = [f"The {name!r} parameter" for name, value in in_memory.items() if value is not None]
    if chosen == "merge":
        needs.append("The 'risk' parameter" if risk is not None else "The 'method' parameter with 'merge'")
    if in_engine and needs:
        raise ParameterError(
            f"{needs[0]} needs the records in memory: leave it out, or draw some of them with the 'sample' parameter."
        )
    return chosen


def _select_given(tree: TreeSettings) -> dict[str, object]:
    return {name: value for name, value in tree.items() if value is not None}


def check_min_group(min_group: int | None, X: Any, person: str | None, split: Split) -> None:
    """Refuse a group size above the number of people in the training part.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.workflow import check_min_group, split_task
    >>> X = pd.DataFrame({"age": range(10)})
    >>> check_min_group(3, X, None, split_task(X, [0, 1] * 5))
    """
    if min_group is None:
        return
    if not isinstance(min_group, Integral) or isinstance(min_group, bool) or min_group < 1:
        raise ParameterError(f"The 'min_group' parameter must be an int ≥ 1. Got {min_group!r} instead.")
    persons = _read_persons(X, person)
    people = len(split.train) if persons is None else pd.Series(persons[split.train]).nunique(dropna=False)
    if min_group > people:
        raise ParameterError(
            f"The 'min_group' parameter is {min_group:,}, more than the {people:,} "
            f"{'records' if person is None else 'people'} of the training part."
        )


# Features, label and schema


def _part_label(X: Any, y: Any, schema: Schema | None) -> tuple[Any, Any]:
    """Split records in memory into a frame of features and a named label; the default name is the schema's."""
    frame = as_frame(X)
    if isinstance(y, str):
        if y not in frame.columns:
            raise DataError(f"The label {y!r} is not in the data; it has {format_names(frame.columns, limit=8)}.")
        return frame.drop(y).to_native(), frame[y].to_native()
    has_name = bool(getattr(y, "name", None))
    label = (None if has_name or schema is None else schema.label) or label_name(y)
    if label in frame.columns and has_name:
        raise DataError(f"The label {label!r} is also a column of X; leave it out, or give its name alone.")
    if label in frame.columns:
        raise DataError(f"X has a column {label!r}, and the label has no name: give it one, as pd.Series(y, name=…).")
    values = label_values(y, len(frame))
    return frame.to_native(), y if has_name else pd.Series(values, name=label)


def _draw(X: Any, y: Any, sample: int, seed: int) -> "tuple[Any, Any, Sample]":
    """Draw records to learn from, and others to check the result."""
    from modicum.minimizers.sample_check import Sample, draw_samples

    learning, other = draw_samples(X, y, sample, seed)
    if is_table(X):
        learning, other = (Sample(part.X.to_pandas(), part.y) for part in (learning, other))
    return learning.X, learning.y, other


def _describe_columns(X: Any, y: Any, schema: Schema | None, declared: Declaration) -> Schema:
    """Return the schema of features and label with the declarations."""
    frame, label = as_frame(X), label_name(y)
    values = label_values(y, len(frame)).tolist()
    whole = frame.with_columns(nw.new_series(label, values, backend=frame.implementation))
    schema = Schema.infer(whole.to_native()) if schema is None else schema
    if label not in schema:
        schema = schema.model_copy(update={"attributes": (*schema.attributes, infer_attribute(whole[label]))})
    return schema.declare(label=label, **declared)


# The methods


@dataclass(frozen=True)
class _MinimizationTask:
    """The records and the settings of `minimize`."""

    X: Any
    y: Any
    schema: Schema
    split: Split
    keep: float | None
    max_error: float | None
    min_group: int | None
    risk: Risk | None
    tree: TreeSettings
    label_bins: int | None
    progress: bool
    seed: int

    @property
    def train(self) -> tuple[Any, Any]:
        return take_rows(self.X, self.split.train), take_rows(self.y, self.split.train)

    @property
    def validation(self) -> tuple[Any, Any]:
        return take_rows(self.X, self.split.validation), take_rows(self.y, self.split.validation)

    def merge(self) -> Minimization:
        """Merge buckets and choose a point of the path."""
        from modicum.minimizers import MergePath

        method = MergePath(
            keep=self.keep,
            max_error=self.max_error,
            risk=self.risk or "adversary",
            min_group=self.min_group or 1,
            label_bins=self.label_bins,
            schema=self.schema,
            progress=self.progress,
            random_state=self.seed,
        )
        X_val, y_val = self.validation
        method.fit(*self.train, X_val=X_val, y_val=y_val)
        return self._build_result(method.generalization_, choice=method.choice_, path=method.path_)

    def grow(self) -> Minimization:
        """Grow PAT's tree, or search for the most private one within the target; then enlarge groups to `min_group`."""
        from modicum.minimizers import PrivacyTree

        choice, coarsening = None, None
        if self.keep is None and self.max_error is None:
            tree = PrivacyTree(label_bins=self.label_bins, schema=self.schema).set_params(**_select_given(self.tree))
            g: Generalization = tree.fit(*self.train).generalization_
        else:
            choice = self._search()
            g = choice.generalization
        if self.min_group is not None:
            from modicum.evaluation import effect

            coarser = g.coarsen(*self.train, min_group=self.min_group, label_bins=self.label_bins)
            coarsening = effect(g, coarser, self.train[0], take_rows(self.X, self.split.test))
            g = coarser
        return self._build_result(g, choice=choice, coarsening=coarsening)

    def _search(self) -> "SearchChoice":
        """Search PAT's trees; given settings of the tree narrow the grid."""
        from modicum.evaluation.search import MIN_LEAF, PRIVACY, SIZES, most_private

        most, privacy, min_leaf = self.tree["max_leaves"], self.tree["privacy"], self.tree["min_leaf"]
        return most_private(
            *self.train,
            *self.validation,
            schema=self.schema,
            label_bins=self.label_bins,
            progress=self.progress,
            random_state=self.seed,
            keep=self.keep,
            max_error=self.max_error,
            sizes=SIZES if most is None else [*(size for size in SIZES if size < most), most],
            privacy=PRIVACY if privacy is None else [privacy],
            min_leaf=MIN_LEAF if min_leaf is None else [min_leaf],
        )

    def _build_result(self, g: Generalization, **how: Any) -> Minimization:
        return Minimization(
            g,
            self.schema,
            records=(self.X, self.y),
            label_bins=self.label_bins,
            random_state=self.seed,
            split=self.split,
            **how,
        )


def _minimize_in_engine(
    X: Any, y: str, schema: Schema | None, declared: Declaration, label_bins: int | None, tree: TreeSettings
) -> Minimization:
    """Grow PAT's tree from counts of all records of a table."""
    from modicum.engines.coding import schema_at
    from modicum.minimizers import PrivacyTree

    table = table_at(X)
    schema = (schema_at(table, table.columns) if schema is None else schema).declare(label=y, **declared)
    method = PrivacyTree(label_bins=label_bins, schema=schema).set_params(**_select_given(tree))
    g = method.fit(X, y).generalization_
    return Minimization(g, schema, label_bins=label_bins)


def _check_sample(result: Minimization, other: "Sample") -> "SampleCheck":
    """Compare the result on the drawn records with the other ones; warn if the sample was too small."""
    from modicum.minimizers.sample_check import answers_to, compare_samples, warn_of_sample

    assert result.records is not None
    X, y = result.records
    answers = answers_to(result.generalization, X, other.X)
    check = compare_samples(*answers, Labels.fit(y, result.label_bins), y, other.y)
    warn_of_sample(check)
    return check
