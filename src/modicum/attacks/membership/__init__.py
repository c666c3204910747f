"""Membership inference: was this record in a model's training data? [Goldsteen21 §4.2]"""
