"""The base class of the encoders: one batch at a time, from any number of threads."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from research.text import storable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 32
"""Texts per batch.  A query waits for at most one batch while a library is being indexed."""


RESTS_S = 1.0
"""Seconds after its last text until a thread counts as done with the encoder: a question encodes hundreds one by one."""


class BatchEncoder(ABC):
    """Loads the encoder once, encodes one batch at a time, truncates long texts, and returns unit vectors.

    Safe to use from many threads.  Texts that are empty to the encoder also get a unit vector.
    """

    max_chars: int
    """Longer texts are truncated to this many characters, so that no page can use up the memory."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._next = threading.Lock()
        self._encode: Callable[[list[str]], NDArray[np.float32]] | None = None
        self._user, self._used = 0, -RESTS_S
        """The thread that used it last, and when."""

    def others_use(self) -> bool:
        """Return whether another thread has used it within `RESTS_S`: background work then waits."""
        return self._user != threading.get_ident() and time.monotonic() - self._used < RESTS_S

    @property
    @abstractmethod
    def id(self) -> str: ...

    @property
    @abstractmethod
    def dimension(self) -> int: ...

    @abstractmethod
    def _load(self) -> Callable[[list[str]], NDArray[np.float32]]:
        """Load the model and return its function from n texts to vectors of shape (n, dimension).

        Runs in one thread at a time.  Raises `ConfigError`.
        """

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimension).  Raises `ConfigError` if the encoder cannot be loaded."""
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            self._user, self._used = threading.get_ident(), time.monotonic()
            batch = [self._clean(text[: self.max_chars]) for text in texts[start : start + BATCH]]
            with self._turn():
                rows = self._ready()(batch)
            vectors[start : start + BATCH] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return vectors

    def _clean(self, text: str) -> str:
        return storable(text)

    def _ready(self) -> Callable[[list[str]], NDArray[np.float32]]:
        if self._encode is None:
            self._encode = self._load()
        return self._encode

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # Two locks make a queue: a waiting thread holds `_next`, so a long job cannot re-acquire `_busy` before it.
        with self._next:
            self._busy.acquire()
        try:
            yield
        finally:
            self._busy.release()
