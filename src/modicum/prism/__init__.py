"""PriSM [Barbato25]: a classifier that needs neither a sensitive attribute nor any attributes that reveal it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
