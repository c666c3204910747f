"""Export an artifact as JSON Schema (draft 2020-12): a contract that admits generalized records and nothing finer.

It admits the same records as `modicum.generalization.record_format`, spelled as that writes them: a bucket as its
label, a number in full detail as a finite number, a date in full detail as ISO text without a zone. A schema cannot
check two things, and its description then says so: whether a date in full detail lies within its cell, and whether the
answers to a questionnaire are sufficient and no finer than needed.
"""

import json
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from modicum.generalization.bins import AnyPartition, FullDetail, Intervals
from modicum.generalization.cells import CellPartition, same_bucket
from modicum.generalization.core import Generalization
from modicum.generalization.loading import Collected
from modicum.generalization.questionnaire import Questionnaire
from modicum.provenance import identity
from modicum.table.schema import Attribute
from modicum.typing import Mask

_LEAP = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29"
_DAY = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP})"
)
_TIME = r"T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{3}(?:[0-9]{3})?)?)?"
_END = r"(?![\s\S])"  # not $, which in some languages matches before a final newline
_DATES = [
    {"type": "string", "format": "date", "pattern": f"^(?!0000){_DAY}{_END}"},
    {"type": "string", "pattern": f"^(?!0000){_DAY}{_TIME}{_END}"},
]
_LARGEST = sys.float_info.max

JsonSchema = dict[str, object]  # or a part of one


def to_json_schema(artifact: Collected) -> JsonSchema:
    """Write the contract of an artifact's records: see `Generalization.to_json_schema`.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.json_schema import to_json_schema
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> to_json_schema(g)["properties"]
    {'age': {'title': 'age', 'enum': ['≤ 50', '≥ 51', '(missing)']}}
    """
    if isinstance(artifact, Questionnaire):
        return _questionnaire(artifact)
    return _cells(artifact) if isinstance(artifact, CellPartition) else _generalization(artifact)


def _generalization(g: Generalization) -> JsonSchema:
    schemas = {name: _build_value_schema(g[name]) for name in g.needed}
    return _record(g, schemas, g.needed, "What is collected of a person: one bucket of each attribute.")


def _cells(cells: CellPartition) -> JsonSchema:
    kept = {name: cells.code_buckets(name)[0] for name in cells.kept}
    schemas = {
        name: _build_value_schema(kept[name]) if name in kept else _labels(cells.labels(name)) for name in cells.needed
    }
    description = "What is collected of a person: what one of the cells tells."
    asked = [cells.names[j] for j in cells.tree.asked]
    if any(_is_full_date(partition) and name in asked for name, partition in kept.items()):
        description += " In which cell a date lies is checked by the service."
    record = _record(cells, schemas, cells.needed, description)
    local = [name for name in cells.needed if name not in kept]
    branches = [_cell(cells, cell, local, kept) for cell in range(cells.n_cells)]
    different = list({json.dumps(branch): branch for branch in branches}.values())
    return record if {} in different else record | {"anyOf": different}


def _questionnaire(form: Questionnaire) -> JsonSchema:
    cells = form.cells
    schemas = {
        name: _build_value_schema(cells.code_buckets(name)[0])
        if name in cells.kept
        else {"type": "array", "items": _labels(cells.detail[name].labels), "uniqueItems": True, "minItems": 1}
        for name in cells.needed
    }
    description = (
        "The answers to a questionnaire: of each attribute that was asked the buckets that are left possible. Whether "
        "they are enough, and no finer than they need be, is checked by the service."
    )
    return _record(form, schemas, cells.kept, description)


def _record(
    artifact: Collected, schemas: Mapping[str, JsonSchema], required: Sequence[str], description: str
) -> JsonSchema:
    attributes = (artifact.cells if isinstance(artifact, Questionnaire) else artifact).schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "x-modicum-artifact": identity(artifact),
        "title": "Generalized record",
        "description": description,
        "type": "object",
        "properties": {name: _words(attributes[name]) | schema for name, schema in schemas.items()},
        "required": list(required),
        "additionalProperties": False,
    }


def _words(attribute: Attribute) -> JsonSchema:
    helping = {} if attribute.help is None else {"description": attribute.help}
    return {"title": attribute.question or attribute.name, **helping}


def _labels(labels: Sequence[str]) -> JsonSchema:
    return {"enum": list(labels)}


def _build_value_schema(partition: AnyPartition) -> JsonSchema:
    """Write the schema of an attribute that every record has in the same form."""
    if not isinstance(partition, FullDetail):
        return _labels(partition.labels)
    absent = [{"type": "null"}] if partition.missing == "separate" else []
    if partition.attribute.kind == "date":
        return {"anyOf": [*_DATES, *absent]}
    kinds = ["number", "null"] if absent else "number"
    return {"type": kinds, "minimum": -_LARGEST, "maximum": _LARGEST}


def _cell(cells: CellPartition, cell: int, local: Sequence[str], kept: dict[str, AnyPartition]) -> JsonSchema:
    """Write the restrictions of one cell beyond those of each attribute; empty if there are none."""
    schemas: dict[str, JsonSchema] = {n: {"const": cells.labels(n)[cells.cell_codes(n)[cell]]} for n in local}
    box = cells.tree.boxes[cell]
    for name, partition in kept.items():
        mask = box.get(cells.names.index(name))
        if mask is not None and not mask.all() and not _is_full_date(partition):
            schemas[name] = _within(partition, cells.detail[name], mask)
    return {"properties": schemas} if schemas else {}


def _within(kept: AnyPartition, detail: AnyPartition, mask: Mask) -> JsonSchema:
    """Write the values of a kept attribute that a cell with the side `mask` admits."""
    if isinstance(kept, FullDetail) and isinstance(detail, Intervals):
        absent = [{"type": "null"}] if detail.missing_code >= 0 and mask[detail.missing_code] else []
        own = np.flatnonzero(mask[: detail.n_buckets]).tolist()
        return {"anyOf": [*(_range(detail, code) for code in own), *absent]}
    codes = [same_bucket(kept, code, detail) for code in range(len(kept.labels))]
    return _labels([label for label, code in zip(kept.labels, codes, strict=True) if code >= 0 and mask[code]])


def _range(partition: Intervals, code: int) -> JsonSchema:
    ends = [None, *partition.edges.tolist(), None]
    low = {} if ends[code] is None else {"exclusiveMinimum": ends[code]}
    high = {} if ends[code + 1] is None else {"maximum": ends[code + 1]}
    return {"type": "number", **low, **high}


def _is_full_date(partition: AnyPartition) -> bool:
    return isinstance(partition, FullDetail) and partition.attribute.kind == "date"
