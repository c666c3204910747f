"""Models on coded rows with counts: they guess values from what a generalization shows.

`PrivateNetwork` stands apart: a classifier on numbers whose training is differentially private.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
