"""Reports: one plain dict, and the same numbers as a page to read, as Markdown and as JSON."""

from modicum.reporting._report import Report, report
from modicum.reporting.schema import json_schema

__all__ = ["Report", "json_schema", "report"]
