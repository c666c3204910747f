"""Methods that learn a `Generalization`: what to collect, and in what detail."""

from modicum.minimizers.feature_selection import FeatureSelection
from modicum.minimizers.iterative import Iterative
from modicum.minimizers.merge_path.merge_path import MergePath
from modicum.minimizers.model_guided.model_guided import ModelGuided
from modicum.minimizers.neural.adversarial_training import AdversarialTraining
from modicum.minimizers.neural.mutual_information import MutualInformation
from modicum.minimizers.privacy_tree import PrivacyTree
from modicum.minimizers.uniform import Uniform

__all__ = [
    "AdversarialTraining",
    "FeatureSelection",
    "Iterative",
    "MergePath",
    "ModelGuided",
    "MutualInformation",
    "PrivacyTree",
    "Uniform",
]
