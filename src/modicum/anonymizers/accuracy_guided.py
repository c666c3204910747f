"""Accuracy-guided anonymization: groups in which a model says the same (papers/2 §3, Algorithm 1)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.grouping import split
from modicum.anonymizers.guided_tree import guided_groups
from modicum.anonymizers.guiding_model import GuidingModel
from modicum.anonymizers.part_release import Upper, WholeTask
from modicum.anonymizers.stand_ins import Members, Representatives, Values
from modicum.anonymizers.task import Task, class_codes
from modicum.anonymizers.upper_guided import guide_at, guided_parts
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError
from modicum.measures.closeness import Distance
from modicum.measures.diversity import Diversity
from modicum.table.frames import is_array
from modicum.table.schema import Schema
from modicum.table.targets import MAX_CATEGORIES_OF_LABEL, Labels, label_values
from modicum.table.values import Codes

_BINS = 10  # of predictions that are numbers


class AccuracyGuided(Anonymizer):
    """k-anonymous records that keep a model accurate (papers/2, Algorithm 1).

    A decision tree on the quasi-identifiers learns what a model predicts (or the label, where there is no model); each
    leaf holds at least k records, and all records of a leaf get the same quasi-identifiers. Records that the model
    treats alike are made alike, so that little of what it needs is lost.

    **How this differs from the paper.** The tree grows on the records that are released. The paper grows it on another
    40% of the data, which does not by itself leave k of the released records in every leaf. Categories are split into
    subsets of values, without one-hot columns. Where the model says the same of a whole leaf, the paper stops; by
    default such leaves are split further, so that records stay near to what they were (`refine`). ℓ-diversity and
    t-closeness, which the paper names as extensions, hold at every split. What stands for a leaf is made up by default,
    not a person's record; where a model is given, it is one of which the model says what it says of most of the leaf,
    if such a one is found nearby.

    Parameters
    ----------
    model : fitted estimator or function of a frame, optional
        The model to keep accurate. It is asked about the records in X; without one, y guides.
    refine : bool
        Split the leaves further where the tree has nothing left to learn, as `RPlusTree` does. The paper's algorithm is
        False with `representatives="record"`.
    k : int
        The fewest records (persons, where the schema says whose a record is) that share their quasi-identifiers.
    quasi_identifiers : names
        By which people could be recognised; all attributes but the sensitive one by default.
    l, t, sensitive
        ℓ-diversity and t-closeness of one attribute in every group.
    diversity, c, distance, representatives, output, suppress, schema, random_state
        As in `modicum.anonymizers.base.Anonymizer`; `fit` leaves no record out, whatever `suppress` is.

    Attributes
    ----------
    release_ : Release
        The anonymous table and what was measured of it.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> anonymizer = md.AccuracyGuided(k=100, quasi_identifiers=["age", "sex", "education", "occupation"])
    >>> Z = anonymizer.fit_transform(X[:5_000], y[:5_000])
    >>> len(Z), md.measures.k_anonymity(Z, anonymizer.quasi_identifiers) >= 100
    (5000, True)
    """

    def __init__(
        self,
        k: int = 10,
        quasi_identifiers: Iterable[str] | None = None,
        model: Any = None,
        *,
        refine: bool = True,
        l: float | None = None,
        t: float | None = None,
        sensitive: str | None = None,
        diversity: Diversity = "distinct",
        c: float = 4.0,
        distance: Distance | None = None,
        representatives: Representatives = "median",
        output: str = "values",
        suppress: float = 0.05,
        schema: Schema | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            k,
            quasi_identifiers=quasi_identifiers,
            l=l,
            t=t,
            sensitive=sensitive,
            diversity=diversity,
            c=c,
            distance=distance,
            representatives=representatives,
            output=output,
            suppress=suppress,
            schema=schema,
            random_state=random_state,
        )
        self.model = model
        self.refine = refine

    def __sklearn_clone__(self) -> "AccuracyGuided":
        """A new estimator with the same, fitted model; a clone of the model would know nothing."""
        params = self.get_params(deep=False)
        return type(self)(**{n: v if n == "model" else clone(v, safe=False) for n, v in params.items()})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.model is None
        return tags

    def _check_settings(self) -> None:
        super()._check_settings()
        if not isinstance(self.refine, bool):
            raise ParameterError(
                f"The 'refine' parameter of AccuracyGuided must be True or False. Got {self.refine!r}."
            )

    def _check_engine(self) -> None:
        if self.model is not None:
            raise ParameterError(
                "AccuracyGuided asks a model about all records at once, in memory; release_to is guided by the label: "
                "write what the model says into a column of the table, and name that column as y."
            )

    def _known(self, table: EngineTable, task: WholeTask, y: str | None) -> WholeTask:
        if y is None:
            raise DataError("AccuracyGuided requires y to be passed: the name of the column that guides it.")
        return replace(task, guide=guide_at(table, task, y, _BINS))

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        return guided_parts(table, task, rows)

    def _task(self, X: Any, y: Any) -> Task:
        self._check_settings()
        if self.model is None and y is None:
            raise DataError("AccuracyGuided requires y to be passed, but the target y is None; or give it a model.")
        task = super()._task(X, y)
        asked = None if self.model is None else GuidingModel(self.model, task, is_array(X))
        said = label_values(y) if asked is None else asked.said
        return replace(task, guide=_guide(said, len(task.frame)), asked=asked)

    def _groups(self, task: Task) -> Codes:
        assert task.guide is not None
        groups = guided_groups(task, task.guide)
        return split(task.ranked, task.needs, tight=True, groups=groups) if self.refine else groups

    def _values(self, task: Task, groups: Codes) -> list[Values]:
        if task.asked is None or self.representatives != "median":
            return super()._values(task, groups)
        members = [Members(column, groups, task.needs.persons) for column in task.ranked.columns]
        found: list[Values] = task.asked.stand_ins(task, members, self.random_state)
        return found


def _guide(said: Any, n: int) -> Codes:
    """What the tree learns as class numbers; predictions or labels that are numbers by tenths of the records."""
    codes = class_codes(said, n)
    if codes is None:
        return Labels.fit(said, bins=_BINS).encode(said)
    if codes.max() >= MAX_CATEGORIES_OF_LABEL:
        raise DataError(f"There are {codes.max() + 1:,} classes to keep apart, more than {MAX_CATEGORIES_OF_LABEL:,}.")
    return codes
