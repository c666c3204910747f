"""Evaluation: what a result costs the prediction, and which risks remain."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
