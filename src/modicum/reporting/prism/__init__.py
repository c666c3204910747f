"""The report on a PriSM classifier."""
