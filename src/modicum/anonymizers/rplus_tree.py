"""R+-tree: the boxes of a bulk-loaded spatial index are the groups (Iwuchukwu and Naughton 2007)."""

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.out_of_core.cut_tree import Upper
from modicum.anonymizers.out_of_core.upper_tree import upper_levels
from modicum.anonymizers.out_of_core.whole_task import WholeTask
from modicum.anonymizers.task import Task, split
from modicum.engines.table import EngineTable
from modicum.typing import Codes


class RPlusTree(Anonymizer):
    """k-anonymous records from the leaves of an R+-tree, the third of three comparators in [Goldsteen21 §4].

    The leaves of an R+-tree do not overlap. Each leaf is a group, and `output="ranges"` publishes its bounding box. The
    tree is built in bulk from the top down, and only its leaves are kept. Among the cuts nearest to each attribute's
    median, the one with the smallest loss (NCP) of both boxes is made, until no side could have k records. The paper's
    incremental insertion is not implemented. `release_to` uses the same tree for a table that does not fit into memory,
    in files or an engine.

    Parameters
    ----------
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
    >>> anonymizer = md.RPlusTree(k=50, quasi_identifiers=["age", "sex", "race", "native-country"])
    >>> Z = anonymizer.fit_transform(X[:5_000])
    >>> len(Z), md.measures.k_anonymity(Z, anonymizer.quasi_identifiers) >= 50
    (5000, True)
    """

    def _check_engine(self) -> None:
        """Accept all settings."""

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        return upper_levels(table, task, rows, tight=True)

    def _groups(self, task: Task) -> Codes:
        return split(task.ranked, task.needs, tight=True)
