"""R+-tree: the boxes of a bulk-loaded spatial index are the groups (Iwuchukwu and Naughton 2007)."""

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.out_of_core.cut_tree import Upper
from modicum.anonymizers.out_of_core.upper_tree import upper_levels
from modicum.anonymizers.out_of_core.whole_task import WholeTask
from modicum.anonymizers.task import Task, split
from modicum.engines.table import EngineTable
from modicum.typing import Codes


class RPlusTree(Anonymizer):
    """k-anonymous records by the leaves of an R+-tree: the third of the three comparators of [Goldsteen21 §4].

    Leaves of an R+-tree do not overlap; each is a group, and with `output="ranges"` its bounding box is published. The
    tree is loaded in bulk and only its leaves are kept: from the top down, of the cuts nearest to each attribute's
    median the one whose two boxes lose least (NCP) is made, until no side could keep k records. Records are not
    inserted one by one, as in the paper's incremental case. `release_to` releases a table that does not fit into
    memory, in files or an engine, by the same tree.

    Parameters
    ----------
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
    >>> anonymizer = md.RPlusTree(k=50, quasi_identifiers=["age", "sex", "race", "native-country"])
    >>> Z = anonymizer.fit_transform(X[:5_000])
    >>> len(Z), md.measures.k_anonymity(Z, anonymizer.quasi_identifiers) >= 50
    (5000, True)
    """

    def _check_engine(self) -> None:
        """Nothing that an engine cannot do."""

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        return upper_levels(table, task, rows, tight=True)

    def _groups(self, task: Task) -> Codes:
        return split(task.ranked, task.needs, tight=True)
