"""Project vectors onto their two main directions, for a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def plane(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the first two principal components, shape (n, dimension) -> (n, 2), coordinates from -1 to 1.

    Pearson 1901.  The sign of a component is arbitrary; it is fixed so that the same vectors give the same map.
    """
    placed = np.zeros((len(vectors), 2), np.float32)
    if len(vectors) < 2:
        return placed
    centred = vectors - vectors.mean(axis=0)
    if len(vectors) < vectors.shape[1]:
        main = np.linalg.svd(centred, full_matrices=False)[2][:2].T
    else:  # the covariance matrix, dimension x dimension: an SVD of many thousand rows would take seconds
        main = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :2]
    main = main * np.where(main[np.abs(main).argmax(axis=0), np.arange(main.shape[1])] < 0, -1, 1)
    found = centred @ main
    largest = np.abs(found).max(axis=0)
    placed[:, : found.shape[1]] = found / np.where(largest > 1e-6, largest, 1)
    return placed
