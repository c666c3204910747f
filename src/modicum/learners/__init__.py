"""Models on coded rows with counts: they guess values from what a generalization shows.

`PrivateNetwork` stands apart: a classifier on numbers whose training is differentially private.
"""

from modicum.learners.private_network import PrivateNetwork

__all__ = ["PrivateNetwork"]
