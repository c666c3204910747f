"""Guess one attribute: a sensitive one from predictors (papers/3 §5.2), or any from a model (papers/2 §4.2)."""
