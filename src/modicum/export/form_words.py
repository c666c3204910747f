"""How a form words buckets: by the names that an officer gave, else from edges and members by the page itself."""

from typing import Any

from modicum.generalization.bins import AnyPartition, Groups, Intervals, group_label
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.loading import Collected
from modicum.generalization.questionnaire import Questionnaire

RANGE = True  # an ordered group that is called by its first and last member


def wording(artifact: Collected) -> list[list[Any] | None]:
    """For each attribute and bucket its own name, true where it is a range of an order, or null for the page to word.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.form_words import wording
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> wording(g)
    [[None, None]]
    """
    return [_names(partition) for partition in asked_partitions(artifact)]


def asked_partitions(artifact: Collected) -> list[AnyPartition]:
    """The buckets in which each attribute is asked, kept ones as they are kept."""
    if isinstance(artifact, Generalization):
        return list(artifact.partitions)
    cells = artifact.cells if isinstance(artifact, Questionnaire) else artifact
    return [cells.told(name)[0] for name in cells.names]


def _names(partition: AnyPartition) -> list[Any] | None:
    if isinstance(partition, Intervals):
        return [bucket.label for bucket in partition.buckets]
    if isinstance(partition, Groups):
        return [bucket.label or _group_name(bucket.values, partition) for bucket in partition.buckets]
    return None


def _group_name(values: tuple[str, ...], partition: Groups) -> str | bool | None:
    """The ancestor that a group is; true for a range of an order."""
    attribute = partition.attribute
    plain = group_label(values, attribute.model_copy(update={"hierarchy": None}))
    named = group_label(values, attribute)
    if named != plain:
        return named
    unordered = group_label(values, attribute.model_copy(update={"hierarchy": None, "kind": "category"}))
    return RANGE if plain != unordered else None


def told_codes(artifact: Collected) -> list[list[Any] | None] | None:
    """Of cells, for each attribute: every label that a cell may tell, with its buckets; null for kept attributes."""
    if not isinstance(artifact, CellPartition):
        return None
    return [
        None
        if name in artifact.kept
        else list(map(list, zip(artifact.labels(name), artifact.told(name)[1], strict=True)))
        for name in artifact.names
    ]
