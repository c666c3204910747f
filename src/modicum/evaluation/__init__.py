"""Judgement: what a generalization costs the prediction, and what it leaves at risk."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
