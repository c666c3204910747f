"""The report on the adversaries."""
