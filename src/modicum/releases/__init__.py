"""What is published once, tied to one dataset: a k-anonymous table, or an anatomy's pair of tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
