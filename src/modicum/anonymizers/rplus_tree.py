"""R+-tree: the boxes of a bulk-loaded spatial index are the groups (Iwuchukwu and Naughton 2007)."""

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.grouping import split
from modicum.anonymizers.task import Task
from modicum.table.values import Codes


class RPlusTree(Anonymizer):
    """k-anonymous records by the leaves of an R+-tree: the third of the three comparators of papers/2 §4.

    Leaves of an R+-tree do not overlap, and each is published as its bounding box. The tree is loaded in bulk, from the
    top down: of the cuts nearest to each attribute's median, the one whose two boxes lose least (NCP) is made, until no
    side could keep k records. `fit_batches` does the same for a table that does not fit into memory.

    Parameters
    ----------
    k, quasi_identifiers, l, t, sensitive, diversity, c, distance, representatives, output, suppress, schema,
    random_state
        As in `modicum.anonymizers.base.Anonymizer`.

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

    def _groups(self, task: Task) -> Codes:
        return split(task.ranked, task.needs, tight=True)
