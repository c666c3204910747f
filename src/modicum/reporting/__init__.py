"""Reports: one plain dict, and the same numbers as a page to read, as Markdown and as JSON."""

from modicum.reporting._report import Report, json_schema, report

__all__ = ["Report", "json_schema", "report"]
