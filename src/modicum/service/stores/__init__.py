"""Where the service keeps records: one interface, DuckDB or PostgreSQL."""
