"""Clients of model services for tests, without settings."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from research.models.anthropic import AnthropicModel
from research.models.endpoint import Endpoint, Quirks
from research.models.openai import OpenAIModel


def endpoint_of(
    kind: Any, *, base_url: str | None = None, api_key: str = "", send_reasoning: bool = False, **fields: Any
) -> Endpoint:
    """Return an endpoint as today's settings would describe it."""
    if send_reasoning:
        fields["quirks"] = Quirks(reasoning="send")
    names = {"key_setting": f"{kind.upper()}_API_KEY", "url_setting": f"{kind.upper()}_BASE_URL"}
    fields = {"name": kind, "kind": kind, **names, **fields}
    return Endpoint(base_url=base_url, key=SecretStr(api_key) if api_key else None, **fields)


def openai_model(name: str = "fake", *, native: bool = True, **fields: Any) -> OpenAIModel:
    """Return a client of a server with OpenAI's API; the fields are those of `endpoint_of`."""
    return OpenAIModel(name, endpoint_of("openai", **fields), native=native)


def anthropic_model(name: str = "fake", *, native: bool = True, **fields: Any) -> AnthropicModel:
    """Return a client of a server with Anthropic's API; the fields are those of `endpoint_of`."""
    return AnthropicModel(name, endpoint_of("anthropic", **fields), native=native)
