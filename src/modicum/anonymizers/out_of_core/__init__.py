"""Releases of tables that do not fit into memory, made where the records live."""
