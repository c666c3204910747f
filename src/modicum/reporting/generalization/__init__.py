"""The report on one generalization."""
