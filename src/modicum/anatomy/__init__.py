"""Learn from anatomized data [Mancuhan16]: tables with every value exact that hide whose the sensitive one is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
