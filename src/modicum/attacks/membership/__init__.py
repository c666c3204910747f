"""Membership inference: was this record in a model's training data? (papers/2 §4.2)"""
