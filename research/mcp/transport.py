"""HTTP to an MCP server under the same rules as for web pages: only vetted, pinned addresses and answers of bounded size."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Sequence

import anyio.to_thread
import httpcore2
import httpx2

from research._util.connections import ssl_context
from research._util.network import VettedNetwork
from research.errors import ToolError

CONNECT_S = 15.0
MAX_ANSWER_BYTES = 20_000_000
"""Maximum bytes of one answer."""


class AsyncVettedNetwork(httpcore2.AsyncNetworkBackend):
    """`VettedNetwork` for an event loop.  Each connection resolves and vets the name again, so DNS rebinding is useless."""

    def __init__(self, allow_hosts: Sequence[str]) -> None:
        """Raises `ConfigError` when `allow_hosts` is malformed."""
        VettedNetwork(allow_hosts, CONNECT_S)
        self._allow_hosts = allow_hosts
        self._tcp = httpcore2.AnyIOBackend()
        self.refusal = ""
        """Why the latest connection failed; transports report only that it failed."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.refusal = ""
        deadline = time.monotonic() + CONNECT_S
        network = VettedNetwork(self._allow_hosts, CONNECT_S)
        try:
            addresses = await anyio.to_thread.run_sync(network.vetted_addresses, host, port, abandon_on_cancel=True)
            for left in range(len(addresses), 0, -1):
                seconds = max(0.1, deadline - time.monotonic()) / left
                try:
                    # The address: the name might resolve to another one by now.
                    return await self._tcp.connect_tcp(addresses[-left], port, seconds, local_address, socket_options)
                except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                    if left == 1:
                        raise
            raise httpcore2.ConnectError(f"{host} has no address")
        except ToolError as error:
            self.refusal = str(error).removesuffix("; try another source")
            raise httpcore2.ConnectError(self.refusal) from error
        except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
            self.refusal = f"{host}:{port} cannot be reached: {error or type(error).__name__}"
            raise


class VettedTransport(httpx2.AsyncHTTPTransport):
    """An HTTP transport over an `AsyncVettedNetwork`, without proxies; answers are uncompressed and of bounded size."""

    def __init__(self, network: AsyncVettedNetwork) -> None:
        super().__init__()
        self._pool = httpcore2.AsyncConnectionPool(ssl_context=ssl_context(), network_backend=network)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # A few compressed bytes can unpack to a gigabyte; nothing here needs compression.
        request.headers["Accept-Encoding"] = "identity"
        response = await super().handle_async_request(request)
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the answer is compressed, which was not requested", request=request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise httpx2.ReadError(f"the answer is bigger than {MAX_ANSWER_BYTES / 1e6:g} MB")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(network: AsyncVettedNetwork, headers: dict[str, str]) -> httpx2.AsyncClient:
    """Return a client for one server.  Its own transport makes it ignore the proxies of the environment."""
    return httpx2.AsyncClient(
        headers=headers,
        transport=VettedTransport(network),
        follow_redirects=False,
        timeout=httpx2.Timeout(CONNECT_S, read=300.0),  # a server may keep a stream open
    )
