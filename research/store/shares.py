"""Shared runs: one run that anyone with its link can read until the owner stops sharing it.

A link contains a random token, of which only the digest is stored, in two places that must agree: the store common to all
users maps the digest to the run, and the owner's own store confirms that the run is shared.  Removing either is enough.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from research._util import decoding
from research.errors import ConfigError
from research.events.events import Event
from research.store import KeyValue, RunLog, RunRow, Store

TOKEN_BYTES = 24
"""192 bits, too many to guess."""
LONGEST = 100
"""Most characters of a text looked up as a token."""


class Share(Struct, frozen=True):
    """A run that is shared; the same value is stored in common and with the owner."""

    owner: str
    """Key of the user, see `research.config.users`."""
    run: str
    digest: str
    """SHA-256 of the token, in hex."""
    created: float
    """Seconds since the epoch."""


class SharedRun:
    """Read access to the one run that a link opens."""

    def __init__(self, log: RunLog, share: Share) -> None:
        self._log, self._share = log, share

    @property
    def run(self) -> str:
        return self._share.run

    def row(self) -> RunRow:
        """Return the run without its origin and tags, which lead to other runs.  Raises `ConfigError` when deleted."""
        row = self._log.run(self.run)
        if row.id != self.run:  # the store also accepts the start of an id
            raise ConfigError(f"unknown run {self.run!r}")
        return msgspec.structs.replace(row, origin=None, tags=())

    def events(self, after: int = -1) -> list[Event]:
        """Return the events with a number above `after`, in order.  Raises `ConfigError` when the run was deleted."""
        self.row()
        return self._log.events(self.run, after)


def share(common: KeyValue, own: KeyValue, owner: str, run: str) -> str:
    """Share a run and return the new token; an earlier token of the run stops working.

    `common` is the store of all users, `own` that of the owner.
    """
    stop(common, own, run)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    made = Share(owner, run, _digest(token), time.time())
    body = msgspec.json.encode(made)
    common.put("share", made.digest, body)
    own.put("share", run, body)
    return token


def stop(common: KeyValue, own: KeyValue, run: str) -> None:
    """Stop sharing a run; its link no longer works when this returns."""
    before = share_of(own, run)
    own.remove("share", run)
    if before is not None:
        common.remove("share", before.digest)


def share_of(own: KeyValue, run: str) -> Share | None:
    """Return the share of a run from the owner's store; None when it is not shared."""
    return next((each for body in own.values("share", run) if (each := _share(body)).run == run), None)


def open_share(common: KeyValue, store_of: Callable[[str], Store], token: str) -> SharedRun | None:
    """Return the run that a token opens, or None.  `store_of` returns the store of an owner."""
    if not 0 < len(token) <= LONGEST:
        return None
    digest = _digest(token)
    found = next((each for body in common.values("share", digest) if (each := _share(body)).digest == digest), None)
    if found is None:
        return None
    store = store_of(found.owner)
    return SharedRun(store, found) if share_of(store, found.run) == found else None


def _share(body: bytes) -> Share:
    return decoding.decode(body, Share)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
