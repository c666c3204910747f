"""The tree of PAT, the model-guided minimizer and the anonymizer: split search, growth, buckets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
