"""Reports: one plain dict, and the same numbers as a page to read."""

from modicum.reporting._report import Report, report

__all__ = ["Report", "report"]
