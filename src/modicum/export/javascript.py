"""Export an artifact as a JavaScript module without dependencies, so that full detail never leaves a person's device.

The module assigns every value to the same bucket as Python (defined in `modicum.generalization.bins`). It is plain
ASCII and safe inside an HTML page's `<script type="module">`, whatever the names of attributes and categories: names
and categories are data, never code or property names with a meaning. The records that it returns have no prototype, so
an attribute may be called `__proto__` or `constructor`.

It reads values as Python's tables do, except for values that it refuses: dates given as `now`, `today` or a number;
infinity and years beyond 1 to 9999 in full detail, which no generalized record may hold; lists and objects. Integers
beyond 2**53 are exact only as text or BigInt. An attribute that a record lacks is missing.
"""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modicum.errors import ParameterError
from modicum.generalization.bins import AnyPartition, FullDetail, Groups, Intervals
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.loading import Collected, check_collected, kind_of
from modicum.generalization.questionnaire import Questionnaire
from modicum.provenance import identity
from modicum.table.atomic_writing import replacing_together
from modicum.table.schema import Attribute

# The data of an artifact's JavaScript module: lists and fixed field names, so that no attribute name is a key.


def content(artifact: Collected, representatives: bool) -> dict[str, object]:
    """Collect the data of an artifact's module; `identity` refuses artifacts that must not be shared."""
    check_collected(artifact)
    if isinstance(artifact, Generalization):
        attributes = [describe_attribute(p.attribute, p) for p in artifact.partitions]
        return {"kind": "generalization", "artifact": identity(artifact), "attributes": attributes}
    return _cells(artifact, representatives)


def _cells(artifact: CellPartition | Questionnaire, representatives: bool) -> dict[str, object]:
    """Collect the data of cells or a questionnaire, with the cells' values only if `representatives` is true."""
    form = artifact if isinstance(artifact, Questionnaire) else None
    cells = artifact.cells if isinstance(artifact, Questionnaire) else artifact
    own = [_describe_in_cells(cells, name, form is not None, representatives) for name in cells.names]
    tree = cells.tree
    found: dict[str, object] = {
        "kind": "cells" if form is None else "questionnaire",
        "artifact": identity(artifact),
        "attributes": own,
        "questions": [
            {"column": column, "left": list(question.left), "children": children}
            for question, column, children in zip(
                tree.questions, tree.walk.columns.tolist(), tree.walk.children.tolist(), strict=True
            )
        ],
        "predictions": [cell.prediction for cell in tree.cells],
    }
    if form is not None:  # equal numbers where cells give the same
        found["results"] = np.unique(form.equivalence.results, axis=0, return_inverse=True)[1].reshape(-1).tolist()
    return found | ({"values": [list(cell.values) for cell in tree.cells]} if representatives else {})


def _describe_in_cells(cells: CellPartition, name: str, is_form: bool, representatives: bool) -> dict[str, object]:
    """Describe one attribute, and if it is not kept, its labels by cell or the words for them."""
    attribute, detail = cells.schema[name], cells.detail[name]
    if name not in cells.needed:
        return describe_attribute(attribute, None) | {"kept": False}
    partition = cells.code_buckets(name)[0]
    found = describe_attribute(attribute, partition) | {"kept": name in cells.kept}
    if name in cells.kept:
        found["detail"] = describe_buckets(detail)
        if representatives:
            found["representatives"] = list(partition.representatives)
    elif is_form:
        found["words"] = _words(attribute)
    else:
        found["tells"] = {"labels": list(cells.labels(name)), "byCell": cells.cell_codes(name).tolist()}
    return found


def _words(attribute: Attribute) -> dict[str, object]:
    """Collect the words for naming several categories together."""
    below: dict[str, dict[str, None]] = {}
    for value, path in (attribute.hierarchy or {}).items():
        for ancestor in path:
            below.setdefault(ancestor, {})[value] = None
    order = [str(value) for value in attribute.domain or ()] if attribute.kind == "ordered" else []
    return {
        "ancestors": [[ancestor, list(members)] for ancestor, members in below.items()],
        "order": order,
        "digits": [value for value in order if value.isdigit()],
    }


def describe_attribute(attribute: Attribute, partition: AnyPartition | None) -> dict[str, object]:
    """Describe an attribute for a form, with its buckets; `partition` is None if it is not collected."""
    return {
        "name": attribute.name,
        "kind": attribute.kind,
        "storage": attribute.storage,
        "action": "dropped" if partition is None else partition.action,
        "question": attribute.question,
        "help": attribute.help,
        "domain": None if attribute.domain is None else [_number(value) for value in attribute.domain],
        "told": None if partition is None else describe_buckets(partition),
    }


def describe_buckets(partition: AnyPartition) -> dict[str, object] | None:
    """Describe a partition's buckets: labels by code, edges or groups of values, the unseen and missing codes."""
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
    """Convert a bound to JSON: None if it is infinite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def literal(value: Any) -> str:
    r"""Write plain data as an ASCII JavaScript literal that HTML parsers cannot take for markup.

    Examples
    --------
    >>> from modicum.export.javascript import literal
    >>> print(literal(["</script>", "é"]))
    ["\u003c/script\u003e", "\u00e9"]
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for sign in "<>&":  # JSON has them only inside texts
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


# The module

_PIECES = Path(__file__).parent / "javascript"
_COMMON = ["kind", "artifact", "attributes", "Refusal"]
_KINDS: dict[str, tuple[list[str], list[str]]] = {  # the pieces of each kind, and its exports
    "generalization": (["values", "buckets", "generalization"], ["bucketOf", "generalize"]),
    "cells": (["values", "buckets", "cells", "local"], ["cellOf", "generalize", "predictionOf", "labels"]),
    "questionnaire": (
        ["values", "buckets", "cells", "labels", "equivalence", "questionnaire"],
        ["state", "answerOf", "answersOf", "least", "recordOf"],
    ),
}


@dataclass(frozen=True)
class JavaScript:
    """A JavaScript module and its TypeScript declarations.

    Attributes
    ----------
    module : the text of the ES module
    types : the text of its declarations (`.d.ts`)
    """

    module: str
    types: str

    def __str__(self) -> str:
        return self.module

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the module, and its declarations next to it (`a.js` and `a.d.ts`, `a.mjs` and `a.d.mts`).

        Examples
        --------
        >>> import tempfile, pathlib, pandas as pd, modicum as md
        >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     g.to_javascript().save(pathlib.Path(folder) / "age.mjs")
        ...     sorted(file.name for file in pathlib.Path(folder).iterdir())
        ['age.d.mts', 'age.mjs']
        """
        target = Path(path)
        if target.suffix not in (".js", ".mjs"):
            raise ParameterError(f"The 'path' parameter must end in .js or .mjs. Got {os.fspath(path)!r} instead.")
        types = target.with_suffix(f".d{target.suffix.replace('js', 'ts')}")
        replacing_together({target: self.module.encode("ascii"), types: self.types.encode("ascii")})


def to_javascript(artifact: Collected, *, representatives: bool = False) -> JavaScript:
    """Export an artifact as a JavaScript module with types, which generalizes records on the person's device.

    Parameters
    ----------
    artifact : Generalization, CellPartition or Questionnaire
        Cells that hold the records of actual people are refused.
    representatives : bool
        Whether to include the cells' made-up values, for a model that runs in JavaScript too.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> print(g.to_javascript().module.splitlines()[2])
    export const { kind, artifact, attributes, Refusal, bucketOf, generalize } = (() => {
    >>> print(g.to_javascript().types.splitlines()[-1])
    export declare function generalize(record: FullRecord): { [name: string]: string | number | null };
    """
    data, kind = content(artifact, representatives), kind_of(artifact)
    if representatives and kind == "generalization":
        raise ParameterError(
            "The 'representatives' parameter is for cells and questionnaires, not for a generalization."
        )
    pieces, offered = _KINDS[kind]
    if representatives and kind == "cells":
        offered = [*offered, "representative"]
    names = ", ".join([*_COMMON, *offered])
    inner = "\n".join([f"const data = {literal(data)};", *(_piece(f"{piece}.js") for piece in pieces)])
    module = f"{_HEADER}export const {{ {names} }} = (() => {{\n{inner}\nreturn {{ {names} }};\n}})();\n"
    return JavaScript(module, _types(kind, representatives))


_HEADER = """\
// Written by modicum: shows records in less detail, where they are. It sends nothing and needs nothing else.
// The artifact's buckets are data below; what differs from one artifact to another is that data alone.
"""


def _types(kind: str, representatives: bool) -> str:
    files = ["common.d.ts", f"{kind}.d.ts"]
    files += ["representatives.d.ts"] if representatives and kind == "cells" else []
    return "\n".join(_piece(file) for file in files)


def _piece(name: str) -> Any:
    return (_PIECES / name).read_text(encoding="ascii")
