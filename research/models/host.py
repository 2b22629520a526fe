"""The part of the workbench that a model provider may use."""

from __future__ import annotations

from typing import Protocol

from research.config.settings import Settings
from research.store import Store


class Host(Protocol):
    """The open workbench, as far as a provider needs it."""

    settings: Settings

    @property
    def store(self) -> Store: ...
