"""Send requests on to their endpoint, with only the caller's body and plain headers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from research._util import connections
from research._util.http import base_url, check_key
from research._util.redaction import is_secret, key_pattern
from research.errors import ConfigError, ProviderError
from research.models import prices, sdk
from research.models.endpoint import Endpoint
from research.types import Usage

if TYPE_CHECKING:
    import httpx2

Headers = list[tuple[str, str]]

_OF_A_HOP: Final = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split()
)
_OF_THE_CALLER: Final = _OF_A_HOP | frozenset(
    "host content-length accept-encoding authorization x-api-key api-key x-goog-api-key cookie expect forwarded via "
    "x-forwarded-for x-forwarded-host x-forwarded-proto x-real-ip origin referer x-research-run".split()
)
"""Headers that are not sent on: the caller's keys, and what belongs to the connection."""
_OF_THE_ANSWER: Final = _OF_A_HOP | {"content-length", "set-cookie", "date", "server"}
REPLAYED: Final = ("content-type", "content-encoding", "request-id", "x-request-id")
"""Headers of an answer that are recorded."""


MOST_BYTES: Final = 64_000_000
"""Most bytes of an answer, also unpacked; it is kept whole for replays."""


class HttpAnswer(Struct):
    """The answer of an endpoint."""

    status: int
    headers: Headers
    response: httpx2.Response
    key: bytes

    async def whole(self) -> bytes:
        """Return the body at once.  Raises `ProviderError` when the connection is lost."""
        import httpx2

        try:
            return b"".join([piece async for piece in self._bounded()])
        except httpx2.RequestError as error:
            raise ProviderError(f"the connection was lost ({str(error) or type(error).__name__})") from error

    async def _bounded(self) -> AsyncIterator[bytes]:
        received = 0
        async for piece in self.response.aiter_raw():
            received += len(piece)
            if received > MOST_BYTES:
                raise ProviderError(f"the answer is longer than {MOST_BYTES // 10**6} MB")
            yield piece

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives.  Raises `ProviderError` when the connection is lost, or the body has the key."""
        import httpx2

        tail = b""
        try:
            async for piece in self._bounded():
                if self.key and self.key in tail + piece:
                    raise ProviderError("the answer contains the endpoint's key, and is therefore not passed on")
                tail = (tail + piece)[-len(self.key) :] if self.key else b""
                yield piece
        except httpx2.RequestError as error:
            raise ProviderError(f"the connection was lost ({str(error) or type(error).__name__})") from error


class HttpUpstream:
    """A named endpoint."""

    def __init__(self, endpoint: Endpoint, client: httpx2.AsyncClient) -> None:
        """Raises `ConfigError` for an endpoint that cannot take these requests."""
        if endpoint.kind in ("bedrock", "vertex"):
            raise ConfigError(
                f"endpoint {endpoint.name!r} is of kind {endpoint.kind}, which has another request format; the gateway "
                "forwards to openai, azure, anthropic and ollama"
            )
        if endpoint.allow_hosts is not None:
            raise ConfigError(
                f"endpoint {endpoint.name!r} belongs to a signed-in user; the gateway serves only endpoints of the team"
            )
        check_key(endpoint.secret, endpoint.key_name)
        self.name, self._endpoint, self._client = endpoint.name, endpoint, client
        url = base_url(sdk.address(endpoint), endpoint.url_name)
        self._base, self.host = str(url).rstrip("/"), url.netloc.decode("ascii")
        self._timeout = connections.timeout(endpoint.wait_s)

    def price(self, model: str, usage: Usage) -> float | None:
        if self._endpoint.prices is not None:
            return prices.stated_cost(self._endpoint.prices, usage)
        return prices.cost_usd(self._base, model, usage)

    @asynccontextmanager
    async def sent(
        self, method: str, path: str, query: str, headers: Iterable[tuple[str, str]], body: bytes, model: str
    ) -> AsyncIterator[HttpAnswer]:
        """Send a request and yield its answer.  Raises `ProviderError` when the endpoint cannot be reached."""
        import httpx2

        url = self._url(path, model) + (f"?{query}" if query else "")
        request = self._client.build_request(
            method, url, headers=self._headers(path, headers), content=body, timeout=self._timeout
        )
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.RequestError as error:
            raise ProviderError(f"cannot reach {self._base} ({str(error) or type(error).__name__})") from error
        try:
            passed = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_ANSWER]
            key = self._endpoint.secret
            yield HttpAnswer(response.status_code, passed, response, key.encode() if is_secret(key) else b"")
        finally:
            await response.aclose()

    def clean(self, body: bytes, status: int) -> bytes:
        """Return a body without the endpoint's key, which services that refuse it quote in various spellings."""
        key = self._endpoint.secret
        if status < 400:
            return body.replace(key.encode(), b"***") if is_secret(key) else body
        text = body.decode("utf-8", "surrogateescape")
        return key_pattern(key).sub("***", text).encode("utf-8", "surrogateescape") if key else body

    def _url(self, path: str, model: str) -> str:
        base, kind = self._base, self._endpoint.kind
        if kind == "azure" and self._endpoint.api_version:
            root = base if base.endswith("/openai") else f"{base}/openai"
            return f"{root}/deployments/{model}/{path}?api-version={self._endpoint.api_version}"
        if kind in ("anthropic", "ollama"):
            base = base.removesuffix("/v1") + "/v1"
        return f"{base}/{path}"

    def _headers(self, path: str, given: Iterable[tuple[str, str]]) -> Headers:
        own = {name.lower(): value for name, value in {**self._auth(path), **self._endpoint.headers}.items()}
        passed = [
            (name, value) for name, value in given if name.lower() not in _OF_THE_CALLER and name.lower() not in own
        ]
        return [*passed, *own.items(), ("accept-encoding", "identity")]

    def _auth(self, path: str) -> Mapping[str, str]:
        key, kind = self._endpoint.secret, self._endpoint.kind
        if not key:
            return {}
        if kind == "azure":
            return {"api-key": key}
        if path.startswith("messages"):
            return {"x-api-key": key} if kind == "anthropic" else {"x-api-key": key, "authorization": f"Bearer {key}"}
        return {"authorization": f"Bearer {key}"}


def open_client() -> httpx2.AsyncClient:
    """Return the client for all endpoints; it keeps connections open, and no cookies."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx2

    return httpx2.AsyncClient(
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30),
        verify=connections.ssl_context(),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={},
    )


def recorded_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the answer's headers that a replay repeats."""
    return {name.lower(): value for name, value in headers if name.lower() in REPLAYED}
