"""One run shown to whoever has its link, as long as its owner wants it.

A link holds a random token; only its digest is kept, in two places that must agree: what all users have in common leads
from the digest to the run, and the owner's own store says that it is shared.  Taking it back there is enough.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from research import decoding
from research.desk import Keeper
from research.errors import ConfigError
from research.events import Event
from research.store import RunRow, Store

TOKEN_BYTES = 24
"""192 bits: nobody finds one by trying."""
LONGEST = 100
"""Characters of what may be a token."""


class Share(Struct, frozen=True):
    """A run that is shared; the same value is kept in common and by its owner."""

    owner: str
    """Key of the user, see `research.users`."""
    run: str
    digest: str
    """SHA-256 of the token, in hex."""
    created: float
    """Seconds since the epoch."""


class SharedRun:
    """What a link opens: this one run of a store, to be read and nothing else."""

    def __init__(self, store: Store, share: Share) -> None:
        self._store, self._share = store, share

    @property
    def run(self) -> str:
        return self._share.run

    def row(self) -> RunRow:
        """The run without what ties it to others: its origin and tags.  Raises `ConfigError` when it was deleted."""
        row = self._store.run(self.run)
        if row.id != self.run:  # a store also takes the beginning of an id
            raise ConfigError(f"unknown run {self.run!r}")
        return msgspec.structs.replace(row, origin=None, tags=())

    def events(self, after: int = -1) -> list[Event]:
        """The events with a seq above `after`, in order.  Raises `ConfigError` when the run was deleted."""
        self.row()
        return self._store.events(self.run, after)


def share(common: Keeper, own: Keeper, owner: str, run: str) -> str:
    """A new token for a run of the owner's store; one that was there before opens nothing any more.

    `common` keeps what all users have in common, `own` what is the owner's.
    """
    stop(common, own, run)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    made = Share(owner, run, _digest(token), time.time())
    body = msgspec.json.encode(made)
    common.keep("share", made.digest, body)
    own.keep("share", run, body)
    return token


def stop(common: Keeper, own: Keeper, run: str) -> None:
    """Take it back: what opens the run is closed when this returns."""
    before = shared(own, run)
    own.drop("share", run)
    if before is not None:
        common.drop("share", before.digest)


def shared(own: Keeper, run: str) -> Share | None:
    """The share of a run, as its owner has it."""
    return next((each for body in own.kept("share", run) if (each := _share(body)).run == run), None)


def opened(common: Keeper, store_of: Callable[[str], Store], token: str) -> SharedRun | None:
    """What a token opens; None for one that opens nothing (any more).  `store_of`: the store of an owner."""
    if not 0 < len(token) <= LONGEST:
        return None
    digest = _digest(token)
    found = next((each for body in common.kept("share", digest) if (each := _share(body)).digest == digest), None)
    if found is None:
        return None
    store = store_of(found.owner)
    return SharedRun(store, found) if shared(store, found.run) == found else None


def _share(body: bytes) -> Share:
    return decoding.decode(body, Share)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
