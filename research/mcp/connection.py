"""One MCP server at the other end: started or reached on first use, kept, taken up again after it broke.

The protocol is asynchronous; its coroutines live in one event loop in a thread of its own (`portal`), and what is here
waits for them.  A session is one task there: the transport is entered and left by the same task.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import anyio

from research import cancel
from research.errors import ConfigError, Stopped, ToolError
from research.mcp.config import Launch, Mask, Server
from research.mcp.schemas import clean
from research.text import clip

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client
    from mcp_types import CallToolResult, Tool

    from research.mcp.network import AsyncVettedNetwork

VERSION = "0.1"
"""Ours, as servers are told it."""
HANDSHAKE_S = 20.0
"""Seconds for the answer to one request of the handshake."""
START_S = 60.0
"""Seconds until a server is ready: one that installs itself first needs a while."""
CLOSE_S = 8.0
"""Seconds for a server to end: it is asked, then told, then killed."""
STARTS = 5
STARTS_WITHIN_S = 60.0
"""A server is started at most so often in so many seconds: one that dies at once is not started for ever."""
LISTED = 256
"""Tools of one server that are looked at."""

_TAIL = 2_000
"""Bytes of a server's error output that are kept."""

T = TypeVar("T")


class Connection:
    """The way to one server.  Safe for threads; calls run side by side."""

    def __init__(
        self,
        name: str,
        server: Server,
        launch: Callable[[], Launch],
        portal: Callable[[], BlockingPortal],
        *,
        folder: Path,
        allow_hosts: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.server = server
        self.mask = Mask()
        """For what the server says; its secrets are known once it has been started."""
        self._launch = launch
        self._portal = portal
        self._folder = folder
        self._allow_hosts = allow_hosts
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self._starts: deque[float] = deque(maxlen=STARTS)
        self._closed = False

    def tools(self) -> list[Tool]:
        """What the server offers now.  Raises `ToolError` that says what is wrong, `ConfigError` for its entry."""
        return self._within(_list, HANDSHAKE_S * 2)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool.  Raises `ToolError` when there is no result: too slow, broken off, refused.

        A call that broke off is not repeated by itself, because it may have had effects.
        """

        async def request(client: Client) -> CallToolResult:
            from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

            # Not `client.call_tool`: it runs the server's own output schema, patterns and all, in the event loop.
            return await client.session.send_request(
                CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments))),
                CallToolResult,
                request_read_timeout_seconds=self.server.timeout_s + 1,
            )

        return self._within(request, self.server.timeout_s, tool)

    def close(self) -> None:
        """End the session, and with it the server's process, also while it starts.  It cannot be opened again."""
        self._closed = True  # not under the lock, which is held while a server starts
        session = self._session
        if session is not None:
            session.close()

    def _within(self, request: Callable[[Client], Coroutine[Any, Any, T]], seconds: float, tool: str = "") -> T:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        session = self._open()
        what = f"{session.mask(clean(tool))} of MCP server {self.name}" if tool else f"MCP server {self.name}"

        async def bounded() -> T:
            with anyio.fail_after(seconds):
                return await request(session.client)

        try:
            return _wanted(session.portal.start_task_soon(bounded)).result()
        except TimeoutError:
            raise ToolError(f"{what} did not answer within {seconds:g} s; try something else") from None
        except MCPError as error:
            if error.code != CONNECTION_CLOSED and error.message != "Session terminated":
                raise ToolError(f"{what} refuses: {session.said(error)}") from None
            raise self._lost(session, what, error) from None
        except ValueError as error:  # pydantic: the answer is not what the protocol says
            raise ToolError(f"{what} answers in a way that cannot be read: {session.said(error)}") from None
        except (CancelledError, RuntimeError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self._lost(session, what, error) from None

    def _lost(self, session: _Session, what: str, error: BaseException) -> ToolError:
        with self._lock:
            if self._session is session:
                self._session = None
        session.close()
        reason = session.reason(error)
        return ToolError(f"{what} broke off ({reason}); it is started again at the next call, or try something else")

    def _open(self) -> _Session:
        with self._lock:
            if self._session is not None and self._session.alive and not self._closed:
                return self._session
            now = time.monotonic()
            if len(self._starts) == STARTS and now - self._starts[0] < STARTS_WITHIN_S:
                raise ToolError(
                    f"MCP server {self.name} has ended {STARTS} times within {STARTS_WITHIN_S:g} s and is not started "
                    "again for a while; try something else"
                )
            self._starts.append(now)
            try:
                launch = self._launch()
                self.mask = launch.mask
                self._session = _Session(self.name, launch, self._portal(), self._folder, self._allow_hosts)
                self._session.open()
            except ConfigError as error:
                raise ToolError(str(error)) from error
            if self._closed:
                self._session.close()
                raise ToolError(f"MCP server {self.name} is closed")
            return self._session


class _Session:
    def __init__(
        self, name: str, launch: Launch, portal: BlockingPortal, folder: Path, allow_hosts: tuple[str, ...]
    ) -> None:
        self.portal = portal
        self.mask = launch.mask
        self._name = name
        self._launch = launch
        self._folder = folder
        self._allow_hosts = allow_hosts
        self._opened: Future[Client] = Future()
        self._ended: Future[None] = Future()
        self._leave = anyio.Event()
        self._errors = _Tail()
        self._network: AsyncVettedNetwork | None = None

    @property
    def alive(self) -> bool:
        return not self._ended.done()

    @property
    def client(self) -> Client:
        return self._opened.result(0)

    def open(self) -> None:
        """Raises `ToolError` that says why the server cannot be used."""
        # Its records quote what servers send, which may hold keys; what matters comes back as our errors.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL + 1)
        self._ended = self.portal.start_task_soon(self._live)
        self._ended.add_done_callback(self._tell)
        try:
            ready = _wanted(self._opened, START_S).done()
        except Stopped:
            self._ended.cancel()
            raise
        if not ready:
            self._ended.cancel()
            raise ToolError(f"MCP server {self._name} was not ready within {START_S:g} s{self._errors_said}")
        problem = self._opened.exception()
        if problem is not None:
            raise ToolError(f"MCP server {self._name} cannot be used: {self.reason(problem)}") from None

    def close(self) -> None:
        """Ask the session to end; after `CLOSE_S`, or when it has not begun, it is cancelled."""
        if self._opened.done():
            # RuntimeError: the loop has ended, and the session with it.  How it ended is of no interest any more.
            with contextlib.suppress(RuntimeError, CancelledError, TimeoutError):
                self.portal.start_task_soon(self._leave.set)
                self._ended.exception(CLOSE_S)
        self._ended.cancel()

    def said(self, error: BaseException) -> str:
        """An error's words, on one line, masked and bounded."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return clip(self.mask(" ".join(str(error).split())), 300) or type(error).__name__

    def reason(self, error: BaseException) -> str:
        """Why a session could not be opened or went on no longer, as well as can be known."""
        if self._network is not None and self._network.refusal:
            return clip(self.mask(self._network.refusal), 300)
        if self._ended.done() and not self._ended.cancelled():
            error = self._ended.exception() or error
        return self.said(error) + self._errors_said

    @property
    def _errors_said(self) -> str:
        text = " ".join(self._errors.text().split())
        return f"; its last words: {clip(self.mask(text)[-500:], 500)}" if text else ""

    def _tell(self, ended: Future[None]) -> None:
        if not self._opened.done():
            self._opened.set_exception(
                CancelledError() if ended.cancelled() else ended.exception() or ToolError("it ended at once")
            )

    async def _live(self) -> None:
        from mcp import Client
        from mcp_types import Implementation

        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                Client(
                    await self._transport(stack),
                    read_timeout_seconds=HANDSHAKE_S,
                    client_info=Implementation(name="research-workbench", version=VERSION),
                    cache=None,
                )
            )
            self._opened.set_result(client)
            await self._leave.wait()

    async def _transport(self, stack: contextlib.AsyncExitStack[bool | None]) -> Any:
        if self._launch.command:
            from mcp.client.stdio import StdioServerParameters, stdio_client

            command, *args = (word.get_secret_value() for word in self._launch.command)
            parameters = StdioServerParameters(
                command=command,
                args=args,
                # On top of PATH, HOME and the like, which is all that the library hands on.
                env={key: value.get_secret_value() for key, value in self._launch.env.items()},
                cwd=self._folder,
                encoding_error_handler="replace",
            )
            return stdio_client(parameters, errlog=stack.enter_context(self._errors.sink()))
        from mcp.client.streamable_http import streamable_http_client

        from research.fetch import parsed
        from research.mcp.network import AsyncVettedNetwork, http_client

        url = self._launch.url.get_secret_value()
        parsed(url)
        self._network = AsyncVettedNetwork(self._allow_hosts)
        headers = {key: value.get_secret_value() for key, value in self._launch.headers.items()}
        http = await stack.enter_async_context(http_client(self._network, headers))
        return streamable_http_client(url, http_client=http)


def _wanted(future: Future[T], seconds: float = float("inf")) -> Future[T]:
    """The future when it is done or the time is over; cancelled, with `Stopped`, when nobody waits for it any more."""
    deadline = time.monotonic() + seconds
    while not future.done() and (left := deadline - time.monotonic()) > 0:
        try:
            cancel.check()
        except Stopped:
            future.cancel()
            raise
        wait([future], min(left, cancel.ASK_EVERY_S))
    return future


class _Tail:
    """The end of what a process writes to its error output, however much that is."""

    def __init__(self) -> None:
        self._kept = b""

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    def sink(self) -> TextIO:
        """A file for the process to write to."""
        out, into = os.pipe()
        threading.Thread(target=self._drain, args=(out,), name="mcp-stderr", daemon=True).start()
        return os.fdopen(into, "w", encoding="utf-8")

    def _drain(self, out: int) -> None:
        with os.fdopen(out, "rb", buffering=0) as pipe:
            while piece := pipe.read(65_536):
                self._kept = (self._kept + piece)[-_TAIL:]


async def _list(client: Client) -> list[Tool]:
    from mcp_types import PaginatedRequestParams

    found: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or not page.tools or len(found) >= LISTED:
            return found[:LISTED]
