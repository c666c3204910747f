from .feature_selection import FeatureSelection
from .iterative import Iterative
from .merge_path.merge_path import MergePath
from .model_guided.model_guided import ModelGuided
from .neural.adversarial_training import AdversarialTraining
from .neural.mutual_information import MutualInformation
from .privacy_tree import PrivacyTree
from .uniform import Uniform

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
