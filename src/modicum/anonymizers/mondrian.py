"""Mondrian: split the widest attribute at its median while both sides meet the requirements (LeFevre et al. 2006)."""

from collections.abc import Iterable

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.group_representatives import Representatives
from modicum.anonymizers.out_of_core.cut_tree import Upper
from modicum.anonymizers.out_of_core.upper_tree import upper_levels
from modicum.anonymizers.out_of_core.whole_task import WholeTask
from modicum.anonymizers.task import Task, split
from modicum.engines.table import EngineTable
from modicum.errors import ParameterError
from modicum.measures.closeness import Distance
from modicum.measures.diversity import Diversity
from modicum.table.schema import Schema
from modicum.typing import Codes


class Mondrian(Anonymizer):
    """k-anonymous records by median splits, the first of three comparators in [Goldsteen21 §4].

    Starting from all records, the attribute with the largest share of its domain is split at its median. If a side
    would have fewer than k records (or not be diverse or close enough), the next widest attribute is tried. In a
    *strict* partition equal values stay together; in a relaxed one, values at the median go to both sides, so that the
    halves are equal. Categories are split in their order: as declared, by hierarchy, by size or by name. Records with a
    missing number are split off first.

    Parameters
    ----------
    strict : bool
        Keep equal values together.
    k : int
        The minimum number of records (persons, if the schema has a person column) with equal quasi-identifiers.
    quasi_identifiers : names
        The attributes that could identify people; by default all except the sensitive one.
    l, t, sensitive
        ℓ-diversity and t-closeness of one attribute in every group.
    diversity, c, distance, representatives, output, max_suppressed, schema, random_state
        As in `modicum.anonymizers.base.Anonymizer`; `fit` ignores `max_suppressed` and leaves no record out.

    Attributes
    ----------
    release_ : Release
        The anonymous table and its measured privacy and loss.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> anonymizer = md.Mondrian(k=50, quasi_identifiers=["age", "sex", "race", "native-country"])
    >>> Z = anonymizer.fit_transform(X[:5_000])
    >>> len(Z), md.measures.k_anonymity(Z, anonymizer.quasi_identifiers) >= 50
    (5000, True)
    """

    _flags = ("strict",)

    def __init__(
        self,
        k: int = 10,
        *,
        strict: bool = True,
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
            max_suppressed=max_suppressed,
            schema=schema,
            random_state=random_state,
        )
        self.strict = strict

    def _check_engine(self) -> None:
        if not self.strict:
            raise ParameterError(
                "Mondrian with strict=False divides equal values by row order, which an engine does not keep; use "
                "strict=True for release_to."
            )

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        return upper_levels(table, task, rows, tight=False)

    def _groups(self, task: Task) -> Codes:
        return split(task.ranked, task.needs, tight=False, relaxed=not self.strict)
