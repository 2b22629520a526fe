"""The official SDKs carry raw requests: they do sign-in, urls, time-outs, event streams and errors.

Their typed calls are not used: they validate the whole history again for each request (decision 0033).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec

from research._util import connections, threads
from research._util.http import tidied
from research.errors import ConfigError
from research.models import lines
from research.models.endpoint import Endpoint

if TYPE_CHECKING:
    import anthropic
    import httpx2
    import openai

    Client = openai.OpenAI | anthropic.Anthropic | anthropic.AnthropicBedrock | anthropic.AnthropicVertex


LIST_S = 60.0
"""Seconds to wait for a list, which no model has to compute."""
_PATHS = {
    "openai": re.compile(r"(?<!/)/+(?:chat/completions|completions|responses|embeddings|(?<=/v1/)models)\Z"),
    "anthropic": re.compile(r"(?<!/)(?:/+v1)?(?:/+messages|(?<=/v1)/+models)?\Z"),
}
"""Paths of requests, which users copy with the address."""
_CLASSES: Final[Mapping[str, str]] = {
    "openai": "OpenAI",
    "azure": "AzureOpenAI",
    "anthropic": "Anthropic",
    "bedrock": "AnthropicBedrock",
    "vertex": "AnthropicVertex",
}
"""The SDK's client for each kind of endpoint."""


def preload(endpoint: Endpoint) -> None:
    """Start importing an endpoint's SDK in another thread, and return at once."""

    def work() -> None:
        with suppress(ImportError):  # the first request imports it again, and reports what is missing
            _class(endpoint)

    threads.start(work)


class Carrier:
    """Sends the requests of one endpoint.  Safe to share between threads."""

    def __init__(self, endpoint: Endpoint, url: str) -> None:
        self._endpoint = endpoint
        self._client = _client(endpoint, url)
        # Azure, Bedrock and Vertex read the model from the body to build the url; others take bytes.
        self._as_bytes = endpoint.kind in ("openai", "anthropic")
        omit = _module(endpoint).omit
        measured = ("retry-count", "read-timeout", "timeout")
        self._unsent: dict[str, Any] = {f"x-stainless-{name}": omit for name in measured}
        if self._as_bytes and not endpoint.secret:
            self._unsent["Authorization"] = omit

    def post(self, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> httpx2.Response:
        """Send a request and return its response, which is open.  Raises the SDK's errors, see `failures`."""
        import httpx2

        sent: Any = {"body": body}
        if self._as_bytes:
            sent = {"content": msgspec.json.encode(body)}
        given: Any = {**self._unsent, "Content-Type": "application/json", **headers}
        response: httpx2.Response = self._client.post(
            path, cast_to=httpx2.Response, stream=True, options={"headers": given}, **sent
        )
        return response

    def get(self, path: str, params: Mapping[str, str | int], headers: Mapping[str, str]) -> httpx2.Response:
        """Send a request and return its response, which is open.  Raises the SDK's errors, see `failures`."""
        import httpx2

        options: Any = {"headers": {**self._unsent, **headers}, "params": dict(params)}
        options["timeout"] = connections.timeout(min(self._endpoint.wait_s or LIST_S, LIST_S))
        stream: Any = True
        response: httpx2.Response = self._client.get(path, cast_to=httpx2.Response, stream=stream, options=options)
        return response

    def events(self, texts: Iterator[str], host: str) -> Iterator[str]:
        """Yield the data of each event in these pieces of a response's body.  Raises `ProviderError`."""
        # The decoder of the SDK's own streams, which would also turn each event into a pydantic model.
        decoder: Any = self._client._make_sse_decoder()
        size = 0
        for line in chain(lines.lines(texts, host), ["", ""]):
            size = size + len(line) if line else 0
            if size > lines.LONGEST:
                raise lines.too_long(host)
            event = decoder.decode(line)
            if event is not None and event.data:
                yield _error(event.data) if event.event == "error" else event.data


def _error(data: str) -> str:
    """Return the data of an event named `error`, converted to the form of an error if necessary."""
    try:
        value = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        value = data
    if isinstance(value, dict) and (value.get("error") or value.get("type") == "error"):
        return data
    return msgspec.json.encode({"error": value}).decode()


class Failures:
    """The classes of an SDK's errors."""

    def __init__(self, endpoint: Endpoint) -> None:
        sdk: Any = _module(endpoint)
        self.status: type[openai.APIStatusError | anthropic.APIStatusError] = sdk.APIStatusError
        """The service refused a request."""
        self.connection: type[openai.APIConnectionError | anthropic.APIConnectionError] = sdk.APIConnectionError
        """A request did not reach the service, or no response came."""


def _module(endpoint: Endpoint) -> Any:
    return import_module("openai" if endpoint.kind in ("openai", "azure") else "anthropic")


def _class(endpoint: Endpoint) -> Callable[..., Client]:
    """Import and return the class of an endpoint's client."""
    if endpoint.kind not in _CLASSES:
        raise ConfigError(f"endpoint {endpoint.name!r}: no SDK speaks the API of Ollama")
    # Azure's addresses without versions take the plain client.
    plain = endpoint.kind == "azure" and not endpoint.api_version
    made: Callable[..., Client] = getattr(_module(endpoint), "OpenAI" if plain else _CLASSES[endpoint.kind])
    return made


def _client(endpoint: Endpoint, url: str) -> Client:
    key = endpoint.secret
    make: dict[str, Callable[[], dict[str, Any]]] = {
        "openai": lambda: {"api_key": key, "admin_api_key": "", "base_url": url, "_enforce_credentials": False},
        "azure": lambda: _azure(endpoint, url),
        "anthropic": lambda: {"api_key": key, "base_url": url},
        "bedrock": lambda: _bedrock(endpoint, url),
        "vertex": lambda: _vertex(endpoint, url),
    }
    own = make[endpoint.kind]()
    client = _class(endpoint)(
        **own,
        max_retries=0,  # runs retry themselves, to withdraw the draft already shown
        timeout=connections.timeout(endpoint.wait_s),
        http_client=connections.pool(key, endpoint.allow_hosts),
    )
    # The SDKs also read headers, an organisation and a project from the environment: only our settings may set those.
    # Their details of this machine are useless to a service, and cost a tenth of a short request.
    unsent: Any = dict.fromkeys([*client.platform_headers(), "X-Stainless-Async"], _module(endpoint).omit)
    client._custom_headers = {**unsent, **_own_headers(endpoint), **endpoint.headers}
    for name in ("organization", "project"):
        if hasattr(client, name):
            setattr(client, name, None)
    return client


def _own_headers(endpoint: Endpoint) -> dict[str, str]:
    key = endpoint.secret
    if not key:
        return {}
    if endpoint.kind == "anthropic":
        return {"X-Api-Key": key}  # Anthropic and older gateways read this header; the SDK sends the other
    return {"api-key": key} if endpoint.kind == "azure" else {}


def _azure(endpoint: Endpoint, url: str) -> dict[str, Any]:
    if not endpoint.api_version:
        return {"api_key": endpoint.secret, "admin_api_key": "", "base_url": url, "_enforce_credentials": False}
    place = {"base_url": url} if "/openai" in url else {"azure_endpoint": url}
    return {"api_key": endpoint.secret, "admin_api_key": "", "api_version": endpoint.api_version, **place}


def _bedrock(endpoint: Endpoint, url: str) -> dict[str, Any]:
    if not endpoint.secret:  # then the credentials of AWS sign each request
        _need("boto3", "bedrock", endpoint)
    return {"api_key": endpoint.secret or None, "aws_region": endpoint.region or "us-east-1", "base_url": url}


def _vertex(endpoint: Endpoint, url: str) -> dict[str, Any]:
    if not endpoint.secret:  # then the credentials of this machine or account make tokens
        _need("google.auth", "vertex", endpoint)
    return {
        "region": endpoint.region or "global",
        "project_id": endpoint.project,
        "access_token": endpoint.secret or None,
        "base_url": url,
    }


def _need(module: str, extra: str, endpoint: Endpoint) -> None:
    """Raise `ConfigError` unless the package for an SDK's extra is installed."""
    if find_spec(module.partition(".")[0]) is None or find_spec(module) is None:
        raise ConfigError(
            f"{endpoint.key_name} is not set; signing in without it needs: pip install 'anthropic[{extra}]'"
        )


def address(endpoint: Endpoint) -> str:
    """Return the default address of an endpoint without one.  Raises `ConfigError` if it needs one, or a region."""
    place = endpoint.region
    if endpoint.kind == "vertex" and not endpoint.project:
        raise ConfigError(f"endpoint {endpoint.name!r} needs the id of a Google project")
    if endpoint.base_url is not None:
        return tidied(_PATHS.get(endpoint.kind, _PATHS["openai"]).sub("", tidied(endpoint.base_url).rstrip("/")))
    if endpoint.kind == "azure":
        raise ConfigError(f"endpoint {endpoint.name!r} needs its address, e.g. https://RESOURCE.openai.azure.com")
    if endpoint.kind in ("bedrock", "vertex") and not place:
        raise ConfigError(f"endpoint {endpoint.name!r} needs a region, e.g. us-east-1")
    match endpoint.kind:
        case "bedrock":
            return f"https://bedrock-runtime.{place}.amazonaws.com"
        case "vertex":
            hosts = {"global": "aiplatform", "us": "aiplatform.us.rep", "eu": "aiplatform.eu.rep"}
            return f"https://{hosts.get(place, f'{place}-aiplatform')}.googleapis.com/v1"
        case "anthropic":
            return "https://api.anthropic.com"
        case _:
            return "https://api.openai.com/v1"
