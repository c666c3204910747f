"""HiGHS through scipy, without what it writes to the standard output though it is told to be silent.

When it repairs a solution it prints a line from C, whatever the options. So file descriptor 1 is a temporary file while
it works; what others wrote meanwhile is passed on after it, its own lines are not.
"""

import ctypes
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OWN = b"HighsMipSolverData::"
_ALONE = threading.Lock()  # there is one standard output


def solve_milp(*args: Any, **kwargs: Any) -> Any:
    """What `scipy.optimize.milp` gives, in silence.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import Bounds, LinearConstraint
    >>> from modicum.prism.choosing.highs import solve_milp
    >>> hit = LinearConstraint(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), lb=1)
    >>> solve_milp(np.ones(3), integrality=np.ones(3), bounds=Bounds(0, 1), constraints=hit).x.tolist()
    [0.0, 1.0, 0.0]
    """
    from scipy.optimize import milp  # deferred: it takes a while to load

    with _ALONE, _without_own_lines():
        return milp(*args, **kwargs)


@contextmanager
def _without_own_lines() -> Iterator[None]:
    try:
        flush = ctypes.CDLL(None).fflush
        saved = os.dup(1)
    except (OSError, TypeError, AttributeError):  # no C library of this kind, or no standard output
        yield
        return
    flush(None)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            flush(None)
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            _pass_on(file.read())


def _pass_on(written: bytes) -> None:
    others = b"".join(line for line in written.splitlines(keepends=True) if not line.startswith(_OWN))
    while others:
        others = others[os.write(1, others) :]
