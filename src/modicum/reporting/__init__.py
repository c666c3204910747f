"""Reports: typed data, and the same numbers as a page to read, as Markdown and as JSON."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
