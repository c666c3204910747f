"""The report on a study."""
