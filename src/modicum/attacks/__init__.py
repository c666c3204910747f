"""Adversaries who see generalized records [Staab24 §5] or query a model [Goldsteen21 §4.2]."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
