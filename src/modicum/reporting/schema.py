"""The format of a report's JSON, described: a JSON Schema of every kind, made of the models that check it."""

from typing import Any

from modicum.errors import ParameterError, quoted
from modicum.reporting.kinds import KINDS


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind of report; every field has a description.

    Parameters
    ----------
    kind : str
        What stands under `modicum` in the JSON: "report", "attacks", "study", "release", "anatomy" or "prism".

    Examples
    --------
    >>> from modicum.reporting import json_schema
    >>> json_schema("report")["properties"]["decision"]["description"]
    'The decision in one paragraph.'
    """
    if kind not in KINDS:
        raise ParameterError(
            f"The 'kind' parameter must be one of {quoted(list(KINDS), limit=9)}. Got {kind!r} instead."
        )
    return KINDS[kind].Content.model_json_schema()
