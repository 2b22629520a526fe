"""The connection to one MCP server: opened at the first use, kept open, and reopened after it is lost.

The protocol is asynchronous: its coroutines run in one event loop in a thread of its own (`portal`), and the methods
here wait for them.  A session is one task of that loop, because the same task must enter and exit the transport.
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
import msgspec

from research._util import cancel, egress
from research._util.said import say
from research.errors import ConfigError, Stopped, ToolError
from research.mcp import intake
from research.mcp.config import Launch, Redactor, Server
from research.mcp.sanitising import clean
from research.text import clip

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client
    from mcp_types import CallToolResult, Tool

    from research.mcp.transport import AsyncVettedNetwork

VERSION = "0.1"
"""The version of this client, which is sent to servers."""
HANDSHAKE_S = 20.0
"""Seconds that each request of the handshake may take."""
START_S = 60.0
"""Seconds that a server may take to start: some install themselves first."""
CLOSE_S = 8.0
"""Seconds that a server may take to end; the library closes its input, then terminates it, then kills it."""
STARTS = 5
STARTS_WITHIN_S = 60.0
"""A server is started at most `STARTS` times in this many seconds, in case it always fails at once."""
MAX_TOOLS = 256
"""Tools read from one server's list."""

_STDERR_BYTES = 2_000
"""Bytes kept from the end of a server's error output."""
_STDERR_WAIT_S = 2.0
"""Seconds to wait for the rest of an ended process's error output; its children may keep it open."""

T = TypeVar("T")


class Connection:
    """The connection to one server.  Safe for threads; calls run concurrently."""

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
        self.redact = Redactor()
        """Apply it to the server's texts; it knows the secrets once the server is started."""
        self._launch = launch
        self._portal = portal
        self._folder = folder
        self._allow_hosts = allow_hosts
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self._starts: deque[float] = deque(maxlen=STARTS)
        self._closed = False

    def tools(self) -> list[Tool]:
        """Return the tools that the server offers now.  Raises `ToolError` when the server cannot be used."""
        return self._request(_list, HANDSHAKE_S * 2)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool.  Raises `ToolError` when the call times out, is refused, or loses its connection.

        Does not repeat a call that lost its connection, because it may have had effects.
        """

        async def request(client: Client) -> CallToolResult:
            from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

            # Not `client.call_tool`: it checks the server's output schema, regular expressions included, in the event loop.
            return await client.session.send_request(
                CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments))),
                CallToolResult,
                request_read_timeout_seconds=self.server.timeout_s + 1,
            )

        with egress.sending(f"MCP server {self.name}", kinds=("arguments",)):
            egress.count(len(msgspec.json.encode(dict(arguments))))
            return self._request(request, self.server.timeout_s, tool)

    def close(self) -> None:
        """End the session and the server's process, even during its start. The connection cannot be reopened."""
        self._closed = True  # without the lock: another thread holds it while a server starts
        session = self._session
        if session is not None:
            session.close()

    def _request(self, request: Callable[[Client], Coroutine[Any, Any, T]], seconds: float, tool: str = "") -> T:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        session = self._open()
        what = f"{session.redact(clean(tool))} of MCP server {self.name}" if tool else f"MCP server {self.name}"

        async def bounded() -> T:
            with anyio.fail_after(seconds):
                return await request(session.client)

        session.intake.asked()
        try:
            return _wait_for(session.portal.start_task_soon(bounded)).result()
        except TimeoutError:
            if session.intake.line:  # it is in the middle of a message that may never end
                self._drop(session, what, TimeoutError())
            raise ToolError(
                say("{what} did not answer within {seconds:g} s; try something else", what=what, seconds=seconds)
            ) from None
        except MCPError as error:
            if error.code != CONNECTION_CLOSED and error.message != "Session terminated":
                raise ToolError(
                    say("{what} refused the request: {value}", what=what, value=session.message(error))
                ) from None
            raise self._drop(session, what, error) from None
        except ValueError as error:  # from pydantic: the answer violates the protocol
            raise ToolError(
                say(
                    "{what} sent an answer that violates the protocol: {value}", what=what, value=session.message(error)
                )
            ) from None
        except (CancelledError, RuntimeError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self._drop(session, what, error) from None

    def _drop(self, session: _Session, what: str, error: BaseException) -> ToolError:
        """Close a session whose connection was lost, and return the error for its caller."""
        with self._lock:
            if self._session is session:
                self._session = None
        session.close()
        reason = session.reason(error)
        return ToolError(
            say(
                "{what} lost its connection ({reason}); the server is started again at the next call, or try something else",
                what=what,
                reason=reason,
            )
        )

    def _open(self) -> _Session:
        with self._lock:
            if self._session is not None and self._session.alive and not self._closed:
                return self._session
            now = time.monotonic()
            if len(self._starts) == STARTS and now - self._starts[0] < STARTS_WITHIN_S:
                raise ToolError(
                    say(
                        "MCP server {name} has ended {starts} times within {starts_within_s:g} s "
                        "and will not be restarted for a while; try something else",
                        name=self.name,
                        starts=STARTS,
                        starts_within_s=STARTS_WITHIN_S,
                    )
                )
            self._starts.append(now)
            try:
                launch = self._launch()
                self.redact = launch.redact
                self._session = _Session(self.name, launch, self._portal(), self._folder, self._allow_hosts)
                self._session.open()
            except ConfigError as error:
                raise ToolError(str(error)) from error
            if self._closed:
                self._session.close()
                raise ToolError(say("MCP server {name} is closed", name=self.name))
            return self._session


class _Session:
    def __init__(
        self, name: str, launch: Launch, portal: BlockingPortal, folder: Path, allow_hosts: tuple[str, ...]
    ) -> None:
        self.portal = portal
        self.redact = launch.redact
        self._name = name
        self._launch = launch
        self._folder = folder
        self._allow_hosts = allow_hosts
        self._opened: Future[Client] = Future()
        self._ended: Future[None] = Future()
        self._close_requested = anyio.Event()
        self._errors = _StderrTail()
        self._network: AsyncVettedNetwork | None = None
        self.intake = intake.Intake(self._close_requested.set)

    @property
    def alive(self) -> bool:
        return not self._ended.done()

    @property
    def client(self) -> Client:
        return self._opened.result(0)

    def open(self) -> None:
        """Start the session.  Raises `ToolError` with the reason when the server cannot be used."""
        # The library logs what servers send, which may contain keys; our own errors report failures.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL + 1)
        self._ended = self.portal.start_task_soon(self._run)
        self._ended.add_done_callback(self._report_end)
        try:
            ready = _wait_for(self._opened, START_S).done()
        except Stopped:
            self._ended.cancel()
            raise
        if not ready:
            self._ended.cancel()
            raise ToolError(
                say(
                    "MCP server {name} was not ready within {start_s:g} s{stderr_note}",
                    name=self._name,
                    start_s=START_S,
                    stderr_note=self._stderr_note,
                )
            )
        problem = self._opened.exception()
        if problem is not None:
            raise ToolError(
                say("MCP server {name} cannot be used: {value}", name=self._name, value=self.reason(problem))
            ) from None

    def close(self) -> None:
        """Ask the session to end; cancel it after `CLOSE_S`, or at once when it is not yet open."""
        if self._opened.done():
            # RuntimeError: the loop has ended, and the session with it.  How it ended no longer matters.
            with contextlib.suppress(RuntimeError, CancelledError, TimeoutError):
                self.portal.start_task_soon(self._close_requested.set)
                self._ended.exception(CLOSE_S)
        self._ended.cancel()

    def message(self, error: BaseException) -> str:
        """Return an error's message on one line, redacted and shortened."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return clip(self.redact(" ".join(str(error).split())), 300) or type(error).__name__

    def reason(self, error: BaseException) -> str:
        """Return the best available explanation of why the session failed, with the end of the server's error output."""
        if self.intake.problem:
            return self.intake.problem
        if self._network is not None and self._network.refusal:
            return clip(self.redact(self._network.refusal), 300)
        if self._ended.done() and not self._ended.cancelled():
            error = self._ended.exception() or error
        return self.message(error) + self._stderr_note

    @property
    def _stderr_note(self) -> str:
        text = " ".join(self._errors.text().split())
        return f"; its error output ends with: {clip(self.redact(text)[-500:], 500)}" if text else ""

    def _report_end(self, ended: Future[None]) -> None:
        if not self._opened.done():
            self._opened.set_exception(
                CancelledError() if ended.cancelled() else ended.exception() or ToolError(say("it ended at once"))
            )

    async def _run(self) -> None:
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
            await self._close_requested.wait()

    async def _transport(self, stack: contextlib.AsyncExitStack[bool | None]) -> Any:
        if self._launch.command:
            from mcp.client.stdio import StdioServerParameters, stdio_client

            intake.install()
            intake.current.set(self.intake)
            command, *args = (word.get_secret_value() for word in self._launch.command)
            parameters = StdioServerParameters(
                command=command,
                args=args,
                # The library passes on PATH, HOME and a few others; add these.
                env={key: value.get_secret_value() for key, value in self._launch.env.items()},
                cwd=self._folder,
                encoding_error_handler="replace",
            )
            return stdio_client(parameters, errlog=stack.enter_context(self._errors.sink()))
        from mcp.client.streamable_http import streamable_http_client

        from research.mcp.transport import AsyncVettedNetwork, http_client
        from research.web.fetch import parse_url

        url = self._launch.url.get_secret_value()
        parse_url(url)
        self._network = AsyncVettedNetwork(self._allow_hosts)
        headers = {key: value.get_secret_value() for key, value in self._launch.headers.items()}
        http = await stack.enter_async_context(http_client(self._network, headers))
        return streamable_http_client(url, http_client=http)


def _wait_for(future: Future[T], seconds: float = float("inf")) -> Future[T]:
    """Wait until the future is done or the time is over, and return it.

    Cancels the future and raises `Stopped` when the caller of this thread was cancelled.
    """
    deadline = time.monotonic() + seconds
    while not future.done() and (left := deadline - time.monotonic()) > 0:
        try:
            cancel.check()
        except Stopped:
            future.cancel()
            raise
        wait([future], min(left, cancel.CHECK_EVERY_S))
    return future


class _StderrTail:
    """Reads a process's error output and keeps the last `_STDERR_BYTES` of it."""

    def __init__(self) -> None:
        self._kept = b""
        self._reader: threading.Thread | None = None

    def text(self) -> str:
        """Return the end of the error output of a process that has ended."""
        if self._reader is not None:
            self._reader.join(_STDERR_WAIT_S)
        return self._kept.decode("utf-8", "replace")

    def sink(self) -> TextIO:
        """Return a file that the process can write to, read by a thread of its own."""
        out, into = os.pipe()
        self._reader = threading.Thread(target=self._drain, args=(out,), name="mcp-stderr", daemon=True)
        self._reader.start()
        return os.fdopen(into, "w", encoding="utf-8")

    def _drain(self, out: int) -> None:
        with os.fdopen(out, "rb", buffering=0) as pipe:
            while piece := pipe.read(65_536):
                self._kept = (self._kept + piece)[-_STDERR_BYTES:]


async def _list(client: Client) -> list[Tool]:
    from mcp_types import PaginatedRequestParams

    found: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or not page.tools or len(found) >= MAX_TOOLS:
            return found[:MAX_TOOLS]
