"""An artifact as JSON Schema (draft 2020-12): a contract that admits generalized records and nothing finer.

It admits what `modicum.generalization.record_format` admits, in the spelling that it writes: a bucket by its label, a
number in full detail as a finite number, a date in full detail as ISO text without a zone. Two things are beyond a
schema, and its description then says so: in which range of a cell a date in full detail lies, and whether the answers
to a questionnaire are enough and no finer than they need be.
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
_END = r"(?![\s\S])"  # not $, which some languages match before a last newline
_DATES = [
    {"type": "string", "format": "date", "pattern": f"^(?!0000){_DAY}{_END}"},
    {"type": "string", "pattern": f"^(?!0000){_DAY}{_TIME}{_END}"},
]
_LARGEST = sys.float_info.max

JsonSchema = dict[str, object]  # or a part of one


def to_json_schema(artifact: Collected) -> JsonSchema:
    """The contract of an artifact's records: see `Generalization.to_json_schema`.

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
    told = {name: _build_value_schema(g[name]) for name in g.needed}
    return _record(g, g.needed, told, g.needed, "What is collected of a person: one bucket of each attribute.")


def _cells(cells: CellPartition) -> JsonSchema:
    kept = {name: cells.told(name)[0] for name in cells.kept}
    told = {
        name: _build_value_schema(kept[name]) if name in kept else _labels(cells.labels(name)) for name in cells.needed
    }
    said = "What is collected of a person: what one of the cells tells."
    asked = [cells.names[j] for j in cells.tree.asked]
    if any(_is_full_date(partition) and name in asked for name, partition in kept.items()):
        said += " In which cell a date lies is checked by the service."
    found = _record(cells, cells.needed, told, cells.needed, said)
    local = [name for name in cells.needed if name not in kept]
    branches = [_cell(cells, cell, local, kept) for cell in range(cells.n_cells)]
    different = list({json.dumps(branch): branch for branch in branches}.values())
    return found if {} in different else found | {"anyOf": different}


def _questionnaire(form: Questionnaire) -> JsonSchema:
    cells = form.cells
    told = {
        name: _build_value_schema(cells.told(name)[0])
        if name in cells.kept
        else {"type": "array", "items": _labels(cells.detail[name].labels), "uniqueItems": True, "minItems": 1}
        for name in cells.needed
    }
    said = (
        "The answers to a questionnaire: of each attribute that was asked the buckets that are left possible. Whether "
        "they are enough, and no finer than they need be, is checked by the service."
    )
    return _record(form, cells.needed, told, cells.kept, said)


def _record(
    artifact: Collected, names: Sequence[str], told: Mapping[str, JsonSchema], required: Sequence[str], said: str
) -> JsonSchema:
    attributes = (artifact.cells if isinstance(artifact, Questionnaire) else artifact).schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "x-modicum-artifact": identity(artifact),
        "title": "Generalized record",
        "description": said,
        "type": "object",
        "properties": {name: _words(attributes[name]) | told[name] for name in names},
        "required": list(required),
        "additionalProperties": False,
    }


def _words(attribute: Attribute) -> JsonSchema:
    helping = {} if attribute.help is None else {"description": attribute.help}
    return {"title": attribute.question or attribute.name, **helping}


def _labels(labels: Sequence[str]) -> JsonSchema:
    return {"enum": list(labels)}


def _build_value_schema(partition: AnyPartition) -> JsonSchema:
    """What may be sent of an attribute that is told the same way in every record."""
    if not isinstance(partition, FullDetail):
        return _labels(partition.labels)
    absent = [{"type": "null"}] if partition.missing == "separate" else []
    if partition.attribute.kind == "date":
        return {"anyOf": [*_DATES, *absent]}
    kinds = ["number", "null"] if absent else "number"
    return {"type": kinds, "minimum": -_LARGEST, "maximum": _LARGEST}


def _cell(cells: CellPartition, cell: int, local: Sequence[str], kept: dict[str, AnyPartition]) -> JsonSchema:
    """What one cell admits beyond what each attribute admits by itself; nothing where it admits all of that."""
    told: dict[str, JsonSchema] = {n: {"const": cells.labels(n)[cells.told_by_cell(n)[cell]]} for n in local}
    box = cells.tree.boxes[cell]
    for name, partition in kept.items():
        mask = box.get(cells.names.index(name))
        if mask is not None and not mask.all() and not _is_full_date(partition):
            told[name] = _within(partition, cells.detail[name], mask)
    return {"properties": told} if told else {}


def _within(kept: AnyPartition, detail: AnyPartition, mask: Mask) -> JsonSchema:
    """What a cell whose side is `mask` admits of an attribute that is told besides."""
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
