"""Guess one attribute: a sensitive one from predictors [Barbato25 §5.2], or any from a model [Goldsteen21 §4.2]."""
