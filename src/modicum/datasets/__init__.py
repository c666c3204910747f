"""Data to try things on: UCI Adult comes with the package, the others are read from a folder of your own.

A loader gives a `Dataset` (features, label, schema with roles, source), or `(X, y)` with `return_X_y=True`. For all but
Adult, name the folder that holds the files as `folder=` or in the environment variable MODICUM_DATA.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
