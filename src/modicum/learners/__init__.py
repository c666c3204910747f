"""Models that guess values from generalized records, trained on coded rows with counts.

`PrivateNetwork` is different: a classifier on numbers whose training is differentially private.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
