"""An endpoint: a model service with its address, key, limits and quirks, from which a client is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from pydantic import SecretStr

from research._util.http import is_loopback, is_nearby
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.config.settings import Settings

USUAL_S: Final = 120.0
"""Seconds to wait for a byte, unless the endpoint sets it."""

Kind = Literal["openai", "azure", "anthropic", "bedrock", "vertex", "ollama"]
"""The protocol of a service; `openai`: any server with OpenAI's API; `ollama`: Ollama's own API."""


class Quirks(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where a service differs from the documented API of its kind; the defaults follow the documentation."""

    reasoning: Literal["learn", "send", "never"] = "learn"
    """Whether past reasoning is sent back; `learn`: only after the service refuses a history without it."""
    reasoning_filler: str = ""
    """Sent as reasoning of messages with calls but without any."""
    token_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The parameter that limits a reply; the other is tried if this one is refused."""
    streams: bool = True
    """Whether replies are streamed."""
    usage_in_streams: bool = True
    """Whether `stream_options` may ask for the usage of a stream."""
    temperature: bool = True
    """Whether a temperature may be sent."""
    forced_calls: bool = True
    """Whether `tool_choice` may demand a call."""
    call_ids: Literal["any", "nine"] = "any"
    """The form of call ids: `nine` letters and digits, or any."""
    user_after_tool: bool = True
    """Whether a user's message may follow a tool's."""
    later_system: bool = True
    """Whether a system message may come after the first message."""
    schemas: Literal["full", "subset"] = "full"
    """The JSON Schema of tools; `subset` omits what OpenAPI 3.0 does not know."""
    empty_content: Literal["", "null", "omit"] = ""
    """How to send the content of a message with only calls."""
    signature_filler: str = ""
    """A thought signature for calls that another service made."""
    prompt_cache: Literal["auto", "marks", "off"] = "auto"
    """Whether parts of a prompt are marked for the service's cache; `auto`: if the model wants it (see `families`)."""
    body: dict[str, Any] = {}
    """Further parameters of each request."""


class Prices(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Prices in US dollars per million tokens, which replace those of the price table."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    """None: as `input`."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """A model service; a model of it is named `NAME:MODEL`."""

    name: str
    kind: Kind
    base_url: str | None = None
    """None: the maker's own address."""
    key: SecretStr | None = None
    api: Literal["chat", "responses", "auto"] = "auto"
    """The API of OpenAI to use; `auto`: the one the model wants (see `families`), mostly chat completions."""
    quirks: Quirks = Quirks()
    headers: dict[str, str] = {}
    """Headers sent with each request, besides the key's."""
    window: int = 0
    """The context window in tokens, if it is not that of the price table; 0: unknown."""
    near: bool = False
    """Whether it is marked local: data sent to it stays with the user."""
    prices: Prices | None = None
    api_version: str = ""
    """Azure's `api-version`, for addresses with deployments."""
    region: str = ""
    """The region of Bedrock or Vertex."""
    project: str = ""
    """The Google project of Vertex."""
    allow_hosts: tuple[str, ...] | None = None
    """The private hosts that the address may lead to; None: any, because the administrator chose the address."""
    timeout_s: float = 0
    """Seconds without a byte after which a request counts as lost; 0: see `wait_s`."""
    key_setting: str = ""
    url_setting: str = ""
    """What errors tell the user to set; empty: the endpoint's key and address by name."""

    @property
    def secret(self) -> str:
        """The key, or an empty text."""
        return self.key.get_secret_value() if self.key else ""

    @property
    def wait_s(self) -> float | None:
        """Seconds to wait for a byte of a reply; None: as long as the connection lasts.

        A local server reads a long prompt for minutes before its first byte; a retry would make it start over.
        """
        return self.timeout_s or (None if self.base_url and is_nearby(self.base_url) else USUAL_S)

    @property
    def key_name(self) -> str:
        """Name of the key in errors."""
        return self.key_setting or f"the key of endpoint {self.name!r}"

    @property
    def url_name(self) -> str:
        """Name of the address in errors."""
        return self.url_setting or f"the address of endpoint {self.name!r}"


def by_settings(settings: Settings, name: str, model: str = "NAME") -> Endpoint:
    """Return the endpoint `openai` or `anthropic`, from its key and address in the settings.  Raises `ConfigError`."""
    key: SecretStr | None = getattr(settings, f"{name}_api_key")
    url: str | None = getattr(settings, f"{name}_base_url")
    if not key and url is None:
        raise ConfigError(
            f"{name}:{model} has no key: enter one, or the address of a server of your own, in Settings, or set "
            f"{name.upper()}_API_KEY or {name.upper()}_BASE_URL"
        )
    return Endpoint(
        name=name,
        kind="openai" if name == "openai" else "anthropic",
        base_url=url,
        near=is_loopback(url or ""),
        key=key,
        quirks=Quirks(reasoning="send" if name == "openai" and settings.openai_send_reasoning else "learn"),
        allow_hosts=settings.allowed_for(f"{name}_base_url"),
        key_setting=settings.named(f"{name}_api_key"),
        url_setting=settings.named(f"{name}_base_url"),
    )
