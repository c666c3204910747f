"""Arrays as the package passes them around: what they hold, and of which type."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int64]  # an attribute's values, or buckets, as small numbers
Mask = npt.NDArray[np.bool_]
