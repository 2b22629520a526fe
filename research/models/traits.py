"""Optional traits of a model beside `stream` that the workbench asks for."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from research.types import Usage


@runtime_checkable
class Scripted(Protocol):
    """A model that plays each line of a script once, and can skip lines played before."""

    def take(self, purpose: str, agent: str) -> object:
        """Skip the next line for this purpose and agent."""


@runtime_checkable
class Priced(Protocol):
    """A model whose calls may have a known price."""

    def price(self, usage: Usage) -> float | None:
        """Return the price of a call with that usage in US dollars; None if it is unknown."""


def cost(model: object, usage: Usage) -> float | None:
    """Return what a call cost in US dollars: as the service said, else by the model's price; None if it is unknown."""
    if usage.cost_usd is None and isinstance(model, Priced):
        return model.price(usage)
    return usage.cost_usd


@runtime_checkable
class Windowed(Protocol):
    """A model whose context window may be known."""

    @property
    def window(self) -> int:
        """Tokens of prompt and reply together; 0: unknown."""


@runtime_checkable
class Verbatim(Protocol):
    """A model that reads each result alone and does not follow references to earlier ones."""

    @property
    def verbatim(self) -> bool:
        """Whether results in its prompts repeat what earlier ones show."""


@runtime_checkable
class Yielding(Protocol):
    """A model whose service does not accept every parameter."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters that the service rejected so far; requests leave them out or use a replacement."""


@runtime_checkable
class Served(Protocol):
    """A model on a server that lists its models."""

    def list_models(self) -> list[str]:
        """Return the names of the server's models, sorted.  Raises `ProviderError`."""
