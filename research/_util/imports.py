"""Import a library without the packages that it imports only for their types."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Refusal:
    """Refuses packages to one thread; others may be importing them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)
        return None


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Make this thread's imports of these packages fail, unless they are already imported."""
    refusal = _Refusal(names)
    # New lists, because another thread may be iterating the old one.
    sys.meta_path = [refusal, *sys.meta_path]
    try:
        yield
    finally:
        sys.meta_path = [finder for finder in sys.meta_path if finder is not refusal]
