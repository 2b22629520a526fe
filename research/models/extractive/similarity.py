"""How near two texts are in meaning, by the encoder that the workbench comes with."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def cosine(one: str, other: str) -> float:
    """Return how similar two texts are in meaning, at most 1."""
    return float(_vector(one) @ _vector(other))


@lru_cache(maxsize=8_192)
def _vector(text: str) -> NDArray[np.float32]:
    """Return the unit vector of a text; one question follows another about the same documents and columns."""
    from research.search.embedders import DEFAULT, cached

    vector: NDArray[np.float32] = cached(DEFAULT).encode([text])[0]
    return vector
