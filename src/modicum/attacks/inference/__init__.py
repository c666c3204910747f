"""Guess one attribute: a sensitive one from predictors [Barbato25 §5.2], or any one from a model [Goldsteen21 §4.2]."""
