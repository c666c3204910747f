"""Data in: what a column means (`schema`), how it is read (`frames`, `files`), coded, split and counted."""
