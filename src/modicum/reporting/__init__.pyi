from ._report import Report, json_schema, report

__all__ = ["Report", "json_schema", "report"]
