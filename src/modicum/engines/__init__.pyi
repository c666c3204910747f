from .dispatch import is_table, table_at

__all__ = ["is_table", "table_at"]
