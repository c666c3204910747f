"""Stores for the service's records: one interface, in DuckDB or PostgreSQL."""
