"""The tools of the MCP servers that the user has configured, as tools of our own."""

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

from research.errors import ConfigError, ToolError, WorkbenchError
from research.guard import PrivateError
from research.mcp import config, results
from research.mcp.connection import START_S, Connection
from research.mcp.schemas import clean, description, fingerprint, offered_name, parameters
from research.mcp.seen import Seen
from research.text import clip
from research.types import Tool, ToolOutput, ToolSpec

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp_types import Tool as Listed

_LONGEST_NAME = 128
"""Characters of a tool's name (the specification's own advice)."""


class Withheld(Struct, frozen=True):
    """A tool that a server offers and we do not pass on."""

    server: str
    tool: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.tool} of MCP server {self.server} is withheld: {self.reason}; look at what the server is, then "
            f"`python -m research mcp approve {self.server}`"
        )


class Offer(Struct, frozen=True):
    """What servers offer: the tools, and those that are withheld."""

    tools: tuple[Tool, ...] = ()
    withheld: tuple[Withheld, ...] = ()


class Check(Struct, frozen=True):
    """What testing the connection to one server found."""

    name: str
    how: str
    """The exact command or url."""
    tools: tuple[str, ...] = ()
    """Names of the tools on offer."""
    withheld: tuple[Withheld, ...] = ()
    problem: str = ""
    """What is wrong; empty when the server can be used."""


class McpTool:
    """One tool of a server."""

    def __init__(self, connection: Connection, tool: str, spec: ToolSpec) -> None:
        self.spec = spec
        self._connection = connection
        self._tool = tool

    @property
    def timeout_s(self) -> float:
        """More than starting the server and the call may take, so that their own messages arrive."""
        return self._connection.server.timeout_s + START_S + 10

    def __call__(self, /, **arguments: Any) -> ToolOutput:
        try:
            result = self._connection.call(self._tool, arguments)
        except ToolError as error:  # may quote the server
            raise PrivateError(str(error)) from error
        return results.output(result, self._connection.name, self._tool, arguments, self._connection.mask)


class McpServers:
    """The servers of a home's `mcp.json`.  Nothing is started or reached before it is used.  Safe for threads."""

    def __init__(
        self, home: Path, allow_hosts: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        """`allow_hosts`: private hosts that may be reached; `environment`: where `${NAME}` is looked up."""
        self.path = home / config.FILE
        self._home = home
        self._allow_hosts = tuple(allow_hosts)
        self._environment = os.environ if environment is None else environment
        self._seen = Seen(home)
        self._lock = threading.Lock()
        self._connections: dict[str, Connection] = {}
        self._loop: tuple[BlockingPortal, ExitStack] | None = None

    def configured(self) -> list[tuple[str, str]]:
        """Each server's name, and its exact command or url.  Raises `ConfigError` when the file is wrong."""
        return [(name, server.how) for name, server in config.read(self.path).items()]

    def tools(self, names: Sequence[str]) -> list[Tool]:
        """The tools of these servers, without those withheld.  Raises as `offer`."""
        return list(self.offer(names).tools)

    def offer(self, names: Sequence[str]) -> Offer:
        """What these servers offer now, each tool under a name that every provider accepts.

        Raises `ConfigError` for a name that is not configured, and for a server that cannot be used, with the reason.
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
                raise ConfigError(f"{error}; it is configured in {self.path} as: {connection.server.how}") from error
        return Offer(tuple(tools), tuple(withheld))

    def check(self, name: str) -> Check:
        """Test the connection to one server.  Raises `ConfigError` for a name that is not configured."""
        how = self._connection(name).server.how
        try:
            offer = self.offer([name])
        except WorkbenchError as error:
            return Check(name, how, problem=str(error))
        return Check(name, how, tuple(tool.spec.name for tool in offer.tools), offer.withheld)

    def approve(self, name: str) -> list[str]:
        """Accept the changed tools of a server, as they were when the change was noticed; returns their names.

        Raises `ConfigError` for a name that is not configured.
        """
        self._connection(name)
        return self._seen.approve(name)

    def close(self) -> None:
        """End all sessions and the programs behind them."""
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
            listed.setdefault(tool.name, tool)  # one that comes again cannot take the place of the first
        marks = {name: fingerprint(tool.description or "", tool.input_schema) for name, tool in listed.items()}
        marks = {name: mark for name, mark in marks.items() if len(name) <= _LONGEST_NAME}
        refused = self._seen.admit(connection.name, marks)
        for name, tool in listed.items():
            shown = clip(clean(connection.mask(name)), _LONGEST_NAME)
            if name not in marks:
                yield Withheld(connection.name, shown, f"its name has more than {_LONGEST_NAME} characters")
                continue
            if name in refused:
                yield Withheld(connection.name, shown, refused[name])
                continue
            offered = offered_name(connection.name, name, taken)
            taken.add(offered)
            said = connection.mask(clean(tool.description or tool.title or name))
            spec = ToolSpec(
                offered, description(connection.name, said), parameters(connection.mask.inside(tool.input_schema))
            )
            yield McpTool(connection, name, spec)

    def _connection(self, name: str) -> Connection:
        servers = config.read(self.path)
        if name not in servers:
            known = ", ".join(servers) or f"none; {self.path} names them"
            raise ConfigError(f"unknown MCP server {name!r}; known: {known}")
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
        if old is not None:  # its entry in the file has changed
            old.close()
        return fresh

    def _portal(self) -> BlockingPortal:
        """The event loop of all sessions, in a thread of its own."""
        with self._lock:
            if self._loop is None:
                from anyio.from_thread import start_blocking_portal

                stack = ExitStack()
                self._loop = stack.enter_context(start_blocking_portal(name="mcp")), stack
                atexit.register(self.close)
            return self._loop[0]
