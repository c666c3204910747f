"""Methods that learn a `Generalization`: what to collect, and in what detail."""

from modicum.minimizers.feature_selection import FeatureSelection
from modicum.minimizers.privacy_tree import PrivacyTree
from modicum.minimizers.uniform import Uniform

__all__ = ["FeatureSelection", "PrivacyTree", "Uniform"]
