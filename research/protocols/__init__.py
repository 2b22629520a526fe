"""How tool calls travel between the workbench and a model: as the provider's own structures, or as tags in plain text.

Frameworks and context strategies need not know which.  May import `parsing`, `prompts`, `events`."""

from __future__ import annotations

from research.errors import ConfigError
from research.protocols.protocol import CallProtocol, ProtocolName
from research.types import Model


def choose(name: str, model: Model) -> CallProtocol:
    """Return the protocol that a recipe names; `auto` is native if the model supports it.  Raises `ConfigError`."""
    native = model.native if name == "auto" else name == "native"
    if native and not model.native:
        raise ConfigError(f"model {model.name!r} has no native tool calls; accepted protocols: auto, tagged")
    return create("native" if native else "tagged")


def choose_for_role(name: str, model: Model) -> CallProtocol:
    """Return the protocol of a role's model: the recipe's, or tagged if the model has no native tool calls."""
    return choose(name if model.native or name != "native" else "tagged", model)


def create(name: ProtocolName) -> CallProtocol:
    """Return the protocol of that name."""
    if name == "native":
        from research.protocols.native import Native

        return Native()
    from research.protocols.tagged import Tagged

    return Tagged()
