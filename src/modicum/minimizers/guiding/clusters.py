"""Groups of similar records to learn, where a tree on predictions alone may be too simple (papers/1 §5.2)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError
from modicum.table.codes import Coder
from modicum.table.values import Codes

CLUSTERS = 8  # for each prediction
_MOST_CATEGORIES = 20  # of one attribute, that have a column of their own


def groups_of(generalizer: Any, frame: Any, said: Codes, coder: Coder, codes: Any, seed: int) -> npt.NDArray[np.uint16]:
    """What the tree learns besides the prediction: a group for each record.

    `generalizer` is 'clusters', or a function of the records and what the model says of them (as numbers from 0) that
    gives a group for each.
    """
    if callable(generalizer):
        return _numbered(generalizer, frame, said)
    if generalizer == "clusters":
        return _clusters(_points(coder, codes), said, seed)
    raise ParameterError(
        f"The 'generalizer' parameter of ModelGuided must be 'tree', 'clusters' or a function. Got {generalizer!r}."
    )


def _numbered(generalizer: Callable[[Any, Codes], Any], frame: Any, said: Codes) -> npt.NDArray[np.uint16]:
    found = np.asarray(generalizer(frame, said))
    if found.shape != said.shape:
        raise DataError(
            f"The generalizer gave {found.shape} groups for {len(said):,} records; it must give one for each."
        )
    return np.unique(found, return_inverse=True)[1].astype(np.uint16)


def _points(coder: Coder, codes: Any) -> npt.NDArray[np.float64]:
    """Records as points: ranks of numbers, a column for each of the most frequent categories."""
    columns = []
    for j, coding in enumerate(coder.codings):
        own = codes[:, j].astype(np.int64)
        if coding.attribute.has_order:
            columns.append(own[:, None] / max(1, coding.n_codes - 1))
        else:
            largest = np.argsort(-np.bincount(own, minlength=coding.n_codes), kind="stable")[:_MOST_CATEGORIES]
            columns.append((own[:, None] == largest) / np.sqrt(2))  # two categories are 1 apart
    return np.concatenate(columns, axis=1)


def _clusters(points: npt.NDArray[np.float64], said: Codes, seed: int) -> npt.NDArray[np.uint16]:
    """k-means among the records of each prediction."""
    from sklearn.cluster import MiniBatchKMeans

    found = np.zeros(len(said), dtype=np.int64)
    for value in np.unique(said):
        own = np.flatnonzero(said == value)
        k = min(CLUSTERS, len(np.unique(points[own], axis=0)))
        if k > 1:
            kmeans = MiniBatchKMeans(n_clusters=k, n_init=3, random_state=seed, batch_size=4096)
            found[own] = kmeans.fit_predict(points[own])
    return found.astype(np.uint16)
