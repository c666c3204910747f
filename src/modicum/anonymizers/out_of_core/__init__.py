"""Releases of tables that do not fit into memory, made in their engine."""
