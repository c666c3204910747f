"""The kinds of report: what each says as data, and the document it becomes.

Every kind is a module with `Content`, a pydantic model that documents and checks each number of the JSON, and
`document`, which makes the document of that data and computes nothing.
"""

from typing import Any, Protocol

from pydantic import BaseModel

from modicum.reporting import (
    anatomy_document,
    attack_document,
    prism_document,
    release_document,
    report_document,
    study_document,
)
from modicum.reporting.document import Document


class Kind(Protocol):
    """What a kind of report offers."""

    @property
    def Content(self) -> type[BaseModel]: ...

    def document(self, content: dict[str, Any]) -> Document: ...


KINDS: dict[str, Kind] = {
    "report": report_document,
    "attacks": attack_document,
    "study": study_document,
    "release": release_document,
    "anatomy": anatomy_document,
    "prism": prism_document,
}
