"""Tables in DuckDB, Spark and other engines: count and write them where the data lives."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
