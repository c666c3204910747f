"""Input tables: schema, reading (`frames`, `files`), coding, splitting and counting."""
