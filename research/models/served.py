"""Build the client of a model from its endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research.errors import ConfigError
from research.models.client import ServedModel
from research.models.endpoint import Endpoint

if TYPE_CHECKING:
    from research.models.ollama import OllamaModel


def model_of(endpoint: Endpoint, name: str) -> ServedModel | OllamaModel:
    """Return the client of the model that an endpoint's service calls `name`.  Raises `ConfigError`."""
    if not name:
        raise ConfigError(f"{endpoint.name}: name a model after the colon")
    match endpoint.kind:
        case "ollama":
            from research.models.ollama import OllamaModel

            return OllamaModel(name, endpoint)
        case "openai" | "azure":
            from research.models.openai import OpenAIModel

            return OpenAIModel(name, endpoint)
        case "anthropic" | "bedrock" | "vertex":
            from research.models.anthropic import AnthropicModel

            return AnthropicModel(name, endpoint)
