"""A sentence encoder that needs no model, for tests that need many vectors or two encoders."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from research.text import tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray


class WordEncoder:
    """A fast encoder that sums one direction per word; its id is `words:64`."""

    def __init__(self, dimension: int = 64) -> None:
        self.id = f"words:{dimension}"
        self.dimension = dimension
        self.encoded = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += len(texts)
        rows = np.stack([sum(map(self._direction, tokens(text) or [""]), np.zeros(self.dimension)) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def _direction(self, word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
        return np.random.default_rng(seed).standard_normal(self.dimension)
