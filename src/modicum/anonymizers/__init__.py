"""Anonymous training data: records that share their quasi-identifiers with at least k - 1 others [Goldsteen21]."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
