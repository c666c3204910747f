"""Mondrian: split the widest attribute at its median while both sides keep what is asked (LeFevre et al. 2006)."""

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
    """k-anonymous records by median splits: the first of the three comparators of [Goldsteen21 §4].

    From all records down, the attribute that takes the largest share of its domain is split at its median; where that
    would leave a side with fewer than k records (or not diverse or close enough), the next widest is tried. In a
    *strict* partition equal values stay together, in a relaxed one those at the median go to both sides, so that halves
    are equal. A category's values are split in their order: as declared, by hierarchy, by size or name. Where a number
    is missing in some records, these are split off first.

    Parameters
    ----------
    strict : bool
        Keep equal values together.
    k : int
        The fewest records (persons, where the schema says whose a record is) that share their quasi-identifiers.
    quasi_identifiers : names
        By which people could be recognised; all attributes but the sensitive one by default.
    l, t, sensitive
        ℓ-diversity and t-closeness of one attribute in every group.
    diversity, c, distance, representatives, output, max_suppressed, schema, random_state
        As in `modicum.anonymizers.base.Anonymizer`; `fit` leaves no record out, whatever `max_suppressed` is.

    Attributes
    ----------
    release_ : Release
        The anonymous table and what was measured of it.

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
                "Mondrian with strict=False deals equal values out in the order of the rows, which an engine does not "
                "keep; release_to needs strict=True."
            )

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        return upper_levels(table, task, rows, tight=False)

    def _groups(self, task: Task) -> Codes:
        return split(task.ranked, task.needs, tight=False, relaxed=not self.strict)
