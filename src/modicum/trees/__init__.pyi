from .growth import grow
from .splitting import Criterion
from .tree import Tree

__all__ = ["Criterion", "Tree", "grow"]
