"""Where the data lives: tables in DuckDB, Spark and other engines, counted and written there."""

from modicum.engines.file_tables import is_table, table_at

__all__ = ["is_table", "table_at"]
