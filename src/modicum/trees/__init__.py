"""The tree that PAT, the model-guided minimizer and the anonymizer share: split search, growth, buckets."""

from modicum.trees.grow import grow
from modicum.trees.splitting import Criterion
from modicum.trees.tree import Tree

__all__ = ["Criterion", "Tree", "grow"]
