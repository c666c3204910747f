"""Anonymous training data: records with the same quasi-identifiers as at least k - 1 others [Goldsteen21]."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
