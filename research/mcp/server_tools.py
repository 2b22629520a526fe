"""Offers the tools of the configured MCP servers to a run."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from research._util import extras
from research.errors import ConfigError, ToolError, WorkbenchError
from research.mcp import config, results
from research.mcp.approvals import Approvals
from research.mcp.connection import START_S, Connection
from research.mcp.sanitising import clean, description, fingerprint, offered_name, parameters
from research.text import clip
from research.types import Tool, ToolOutput, ToolSpec
from research.web.url_guard import PrivateError

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp_types import Tool as Listed

_LONGEST_NAME = 128
"""Maximum length of a tool's name, as the specification recommends."""


class Withheld(Struct, frozen=True):
    """A tool that a server offers but the model does not get."""

    server: str
    tool: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.tool} of MCP server {self.server} is withheld: {self.reason}; check that you still trust the server, "
            f"then run `python -m research mcp approve {self.server}`"
        )


class Offer(Struct, frozen=True):
    """The tools that servers offer, and those that are withheld."""

    tools: tuple[Tool, ...] = ()
    withheld: tuple[Withheld, ...] = ()


class Check(Struct, frozen=True):
    """The result of testing the connection to one server."""

    name: str
    address: str
    """The server's command line or url."""
    tools: tuple[str, ...] = ()
    """Names of the tools on offer."""
    withheld: tuple[Withheld, ...] = ()
    problem: str = ""
    """Why the server cannot be used; empty when it can."""


class McpTool:
    """One tool of a server, callable like our own tools."""

    def __init__(self, connection: Connection, tool: str, spec: ToolSpec) -> None:
        self.spec = spec
        self._connection = connection
        self._tool = tool

    @property
    def timeout_s(self) -> float:
        """Longer than the time-outs for the server's start and for the call, whose error messages say more."""
        return self._connection.server.timeout_s + START_S + 10

    def __call__(self, /, **arguments: Any) -> ToolOutput:
        try:
            result = self._connection.call(self._tool, arguments)
        except ToolError as error:  # the message may quote the server
            raise PrivateError(str(error)) from error
        return results.output(result, self._connection.name, self._tool, arguments, self._connection.redact)


class McpServers:
    """The servers of a home folder's `mcp.json`.  Each is started or connected at its first use.  Safe for threads."""

    def __init__(
        self, home: Path, allow_hosts: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        """`allow_hosts`: private hosts that may be contacted; `environment`: where `${NAME}` is looked up."""
        self.path = home / config.FILE
        self._home = home
        self._allow_hosts = tuple(allow_hosts)
        self._environment = os.environ if environment is None else environment
        self._approvals = Approvals(home)
        self._lock = threading.Lock()
        self._connections: dict[str, Connection] = {}
        self._loop: tuple[BlockingPortal, ExitStack] | None = None

    def configured(self) -> list[tuple[str, str]]:
        """Return each server's name with its command line or url.  Raises `ConfigError` when the file is wrong."""
        return [(name, server.address) for name, server in config.read(self.path).items()]

    def offer(self, names: Sequence[str]) -> Offer:
        """Ask these servers for their tools, and return each under a name that every model provider accepts.

        Raises `ConfigError` for an unknown server name, and for a server that cannot be used, with the reason.
        """
        tools: list[Tool] = []
        withheld: list[Withheld] = []
        taken: set[str] = set()
        for connection in [self._connection(name) for name in dict.fromkeys(names)]:
            try:
                for found in self._offered(connection, taken):
                    if isinstance(found, Withheld):
                        withheld.append(found)
                    else:
                        tools.append(found)
            except ToolError as error:
                raise ConfigError(
                    f"{error}; it is configured in {self.path} as: {connection.server.address}"
                ) from error
        return Offer(tuple(tools), tuple(withheld))

    def check(self, name: str) -> Check:
        """Test the connection to one server.  Raises `ConfigError` for an unknown server name."""
        address = self._connection(name).server.address
        try:
            offer = self.offer([name])
        except WorkbenchError as error:
            return Check(name, address, problem=str(error))
        return Check(name, address, tuple(tool.spec.name for tool in offer.tools), offer.withheld)

    def approve(self, name: str) -> list[str]:
        """Accept a server's changed tools, as recorded at the change; return their names.

        Raises `ConfigError` for an unknown server name.
        """
        self._connection(name)
        return self._approvals.approve(name)

    def close(self) -> None:
        """End all sessions and the server programs that they started."""
        with self._lock:
            connections, self._connections = list(self._connections.values()), {}
            loop, self._loop = self._loop, None
        closing = [threading.Thread(target=connection.close) for connection in connections]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()
        if loop is not None:
            portal, stack = loop
            portal.call(portal.stop, True)
            stack.close()
            atexit.unregister(self.close)

    def _offered(self, connection: Connection, taken: set[str]) -> Iterator[Tool | Withheld]:
        listed: dict[str, Listed] = {}
        for tool in connection.tools():
            listed.setdefault(tool.name, tool)  # a second tool of that name does not replace the first
        marks = {name: fingerprint(tool.description or "", tool.input_schema) for name, tool in listed.items()}
        marks = {name: mark for name, mark in marks.items() if len(name) <= _LONGEST_NAME}
        refused = self._approvals.admit(connection.name, marks)
        for name, tool in listed.items():
            shown = clip(clean(connection.redact(name)), _LONGEST_NAME)
            if name not in marks:
                yield Withheld(connection.name, shown, f"its name has more than {_LONGEST_NAME} characters")
                continue
            if name in refused:
                yield Withheld(connection.name, shown, refused[name])
                continue
            offered = offered_name(connection.name, name, taken)
            taken.add(offered)
            text = connection.redact(clean(tool.description or tool.title or name))
            spec = ToolSpec(
                offered, description(connection.name, text), parameters(connection.redact.inside(tool.input_schema))
            )
            yield McpTool(connection, name, spec)

    def _connection(self, name: str) -> Connection:
        servers = config.read(self.path)
        if name not in servers:
            known = ", ".join(servers) or f"none; add them to {self.path}"
            raise ConfigError(f"unknown MCP server {name!r}; known: {known}")
        extras.need("mcp", f"MCP server {name!r}")
        server = servers[name]
        with self._lock:
            old = self._connections.get(name)
            if old is not None and old.server == server:
                return old
            fresh = self._connections[name] = Connection(
                name,
                server,
                partial(config.launch, self.path, name, server, self._environment),
                self._portal,
                folder=self._home,
                allow_hosts=self._allow_hosts,
            )
        if old is not None:  # the entry in the file has changed
            old.close()
        return fresh

    def _portal(self) -> BlockingPortal:
        """Return the event loop of all sessions; the first call starts it in a thread of its own."""
        with self._lock:
            if self._loop is None:
                from anyio.from_thread import start_blocking_portal

                stack = ExitStack()
                self._loop = stack.enter_context(start_blocking_portal(name="mcp")), stack
                atexit.register(self.close)
            return self._loop[0]
