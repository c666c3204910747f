"""Types of the arrays that the package passes around."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int64]  # an attribute's values or buckets as small numbers
Mask = npt.NDArray[np.bool_]
