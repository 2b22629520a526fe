"""Control and count what a run sends from this machine.

A run carries its `Egress` in the context of its threads. Every channel of ours asks `sending` before it connects, and
counts what it writes. Where the scope forbids sending, an audit hook refuses the connections of everything else too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct

from research._util.interruptible import each_within
from research._util.said import say
from research.errors import ToolError


class Sent(Struct, frozen=True, omit_defaults=True):
    """What a run has sent to one host."""

    host: str
    requests: int = 0
    bytes: int = 0
    kinds: tuple[str, ...] = ()
    """What it was: `question`, `passages`, `memory`, `search words`, `addresses`, `arguments`."""


T = TypeVar("T")
Scope = Literal["open", "private", "offline"]
SCOPES: Final[tuple[Scope, ...]] = ("open", "private", "offline")


class StaysHere(ToolError):
    """The scope of the run forbids a connection."""


class Egress:
    """What one run with all its agents may send, and has sent.  Thread-safe."""

    def __init__(
        self, scope: Scope = "open", *, declared: bool = False, seen: Callable[[], bool] = lambda: False
    ) -> None:
        """`declared`: whether the run has a private source; `seen`: whether its context has private data."""
        self.scope = scope
        self._declared, self._seen = declared, seen
        self._lock = threading.Lock()
        self._sent: dict[str, Sent] = {}

    @property
    def restricted(self) -> bool:
        """Whether nothing may leave this machine now."""
        return self.scope == "offline" or (self.scope == "private" and (self._declared or self._seen()))

    def admit(self, host: str, *, near: bool) -> None:
        """Raise `StaysHere` if nothing may be sent to this host; `near`: it is marked as local, so data stays here."""
        if not self.restricted or (near and self.scope != "offline"):
            return
        if self.scope == "offline":
            raise StaysHere(say("{host} was not contacted: the run is offline", host=host), "refused")
        raise StaysHere(
            say("{host} was not contacted: private data of the run stays on this machine", host=host), "refused"
        )

    def add(self, host: str, *, requests: int = 0, size: int = 0, kinds: tuple[str, ...] = ()) -> None:
        """Count what was sent to a host."""
        with self._lock:
            before = self._sent.get(host) or Sent(host)
            known = (*before.kinds, *(kind for kind in kinds if kind not in before.kinds))
            self._sent[host] = Sent(host, before.requests + requests, before.bytes + size, known)

    def taken(self) -> tuple[Sent, ...]:
        """Return what was sent since the last call, largest first."""
        with self._lock:
            found, self._sent = self._sent, {}
        return tuple(sorted(found.values(), key=lambda each: (-each.bytes, each.host)))


_current: ContextVar[Egress | None] = ContextVar("egress of the run", default=None)
_host: ContextVar[str] = ContextVar("host that may be contacted now", default="")
_kinds: ContextVar[tuple[str, ...]] = ContextVar("what is sent", default=())


def carrying(egress: Egress, steps: Iterator[T]) -> Iterator[T]:
    """Yield the steps of a run, each made under its egress."""
    context = copy_context()
    context.run(_current.set, egress)
    if egress.scope != "open":
        _hook()
    yield from each_within(context, steps)


def carried() -> Egress:
    """Return the egress of this thread's run; outside runs, one that allows everything."""
    return _current.get() or Egress()


def naming(kinds: tuple[str, ...]) -> None:
    """Set what this thread sends from now on, such as `question` or `passages`."""
    _kinds.set(kinds)


@contextmanager
def sending(host: str, *, near: bool = False, kinds: tuple[str, ...] = ()) -> Iterator[None]:
    """Let this thread contact a host within the block, and count the request.  Raises `StaysHere` before it connects."""
    egress, before = _current.get(), _host.get()
    if egress is None:
        yield
        return
    egress.admit(host, near=near)
    egress.add(host, requests=1, kinds=kinds or _kinds.get())
    _host.set(host)
    try:
        yield
    finally:
        _host.set(before)


def count(size: int) -> None:
    """Count bytes that this thread has sent to the host of `sending`."""
    egress, host = _current.get(), _host.get()
    if egress is not None and host:
        egress.add(host, size=size)


_CONNECTS: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKS_UP: Final = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
"""DNS servers see what is looked up."""


@cache
def _hook() -> None:
    """From now on, refuse every connection and name look-up that a run with a scope makes without `sending`."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CONNECTS and event not in _LOOKS_UP:
            return
        egress = _current.get()
        if egress is None or _host.get() or not egress.restricted:
            return
        address = arguments[1] if event in _CONNECTS and len(arguments) > 1 else arguments[:1]
        if isinstance(address, tuple) and address[0]:  # addresses of pipes between processes are texts
            egress.admit(str(address[0]), near=False)

    sys.addaudithook(refuse)
