"""An artifact as one JavaScript module without dependencies, so that full detail never leaves the person's device.

The module puts every value into the bucket that Python puts it into (`modicum.generalization.bins` says which). It is
plain ASCII and safe inside an HTML page's `<script type="module">`, whatever attributes and categories are called:
names and categories are data, never code or property names that mean something. Records that it returns have no
prototype, so that an attribute may be called `__proto__` or `constructor`.

It reads values as Python's tables do, with a few exceptions, all refused here: dates given as `now`, `today` or a
number; infinity and years beyond 1 to 9999 in full detail, which no generalized record may hold; lists and objects.
Whole numbers beyond 2**53 are exact as text or BigInt only. An attribute that a record lacks is missing.
"""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modicum.errors import ParameterError
from modicum.export.js_data import content, literal
from modicum.generalization.loading import Collected
from modicum.table.atomic_writing import replacing

_PIECES = Path(__file__).parent / "javascript"
_COMMON = ["kind", "artifact", "attributes", "Refusal"]
_KINDS: dict[str, tuple[list[str], list[str]]] = {  # the pieces of each kind, and what it offers
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
        """Write the module, and its declarations beside it (`a.js` and `a.d.ts`, `a.mjs` and `a.d.mts`).

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
        beside = target.with_suffix(f".d{target.suffix.replace('js', 'ts')}")
        with ExitStack() as both:  # neither takes its place before both are written
            for file, text in ((target, self.module), (beside, self.types)):
                temporary = both.enter_context(replacing(file))
                Path(temporary).write_text(text, encoding="ascii", newline="\n")


def to_javascript(artifact: Collected, *, representatives: bool = False) -> JavaScript:
    """An artifact as a JavaScript module with types: what is told of a record, worked out where the record is.

    Parameters
    ----------
    artifact : Generalization, CellPartition or Questionnaire
        Cells that hold the records of actual people are refused.
    representatives : bool
        Whether cells bring their made-up values along, for a model that runs in the same place.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> print(g.to_javascript().module.splitlines()[2])
    export const { kind, artifact, attributes, Refusal, bucketOf, generalize } = (() => {
    >>> print(g.to_javascript().types.splitlines()[-1])
    export declare function generalize(record: FullRecord): { [name: string]: string | number | null };
    """
    data = content(artifact, representatives)
    if representatives and data["kind"] == "generalization":
        raise ParameterError(
            "The 'representatives' parameter is for cells and questionnaires, not for a generalization."
        )
    pieces, offered = _KINDS[data["kind"]]
    if representatives and data["kind"] == "cells":
        offered = [*offered, "representative"]
    names = ", ".join([*_COMMON, *offered])
    inner = "\n".join([f"const data = {literal(data)};", *(_piece(f"{piece}.js") for piece in pieces)])
    module = f"{_HEADER}export const {{ {names} }} = (() => {{\n{inner}\nreturn {{ {names} }};\n}})();\n"
    return JavaScript(module, _types(data["kind"], representatives))


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
