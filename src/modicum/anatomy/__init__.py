"""Learn from anatomized data [Mancuhan16]: tables with exact values that hide who has which sensitive value."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
