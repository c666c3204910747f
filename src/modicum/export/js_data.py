"""An artifact as the data of its JavaScript module: lists and fixed field names, so that no name of it is ever a key."""

import json
import math
from typing import Any

from modicum.errors import ParameterError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals
from modicum.generalization.core import Generalization
from modicum.generalization.identity import Collected, identity
from modicum.table.schema import Attribute


def content(artifact: Collected, representatives: bool) -> dict[str, Any]:
    """All that a module knows of its artifact; the artifact's identity refuses what must not be passed on."""
    if isinstance(artifact, Generalization):
        attributes = [described(p.attribute, p) for p in artifact.partitions]
        return {"kind": "generalization", "artifact": identity(artifact), "attributes": attributes}
    raise ParameterError("The 'artifact' parameter must be a Generalization, CellPartition or Questionnaire.")


def described(attribute: Attribute, partition: AnyPartition | None) -> dict[str, Any]:
    """An attribute as a form shows it, and its buckets; no partition where it is not collected."""
    dropped = partition is None or isinstance(partition, Dropped)
    return {
        "name": attribute.name,
        "kind": attribute.kind,
        "storage": attribute.storage,
        "action": "dropped" if partition is None else partition.action,
        "question": attribute.question,
        "help": attribute.help,
        "domain": None if attribute.domain is None else [_number(value) for value in attribute.domain],
        "told": None if dropped or partition is None else bucketed(partition),
    }


def bucketed(partition: AnyPartition) -> dict[str, Any] | None:
    """A partition's buckets: labels by code, then edges or groups of values, and where unseen and missing ones go."""
    if isinstance(partition, FullDetail):
        return {"missing": -1 if partition.missing == "refuse" else 0}
    if isinstance(partition, Intervals):
        edges = partition.edges.tolist()
        return {"labels": list(partition.labels), "edges": edges, "missing": partition.missing_code}
    if isinstance(partition, Groups):
        return {
            "labels": list(partition.labels),
            "groups": [list(bucket.values) for bucket in partition.buckets],
            "unseen": partition.unseen_code,
            "missing": partition.missing_code,
        }
    return None


def _number(value: Any) -> Any:
    """A bound as JSON has it: null where it is open."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def literal(value: Any) -> str:
    r"""Plain data as a JavaScript literal in ASCII that no HTML reader can take for markup.

    Examples
    --------
    >>> from modicum.export.js_data import literal
    >>> print(literal(["</script>", "é"]))
    ["\u003c/script\u003e", "\u00e9"]
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for sign in "<>&":  # in JSON they occur inside texts only
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
