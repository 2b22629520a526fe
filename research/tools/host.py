"""`Host`: the parts of the workbench that a tool may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from research.config.settings import Settings
    from research.memory.entries import Memory
    from research.search.embedders import Embedder
    from research.search.library.documents import Library


class Host(Protocol):
    """The open workbench as a tool sees it; nothing heavy is loaded before its first use."""

    settings: Settings

    @property
    def embedder(self) -> Embedder:
        """The sentence encoder of the settings; loads when it first encodes."""

    @property
    def library(self) -> Library:
        """The library; its sample documents may not be indexed yet."""

    def indexed_library(self) -> Library:
        """Return the library with the sample documents indexed."""

    @property
    def memory(self) -> Memory: ...

    def calculating(self) -> AbstractContextManager[None]:
        """Calculate within this block; it may wait.  Raises `ConfigError` when the user may not calculate now."""
