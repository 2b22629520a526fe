"""Caps per user: how much of this server each user may use, a day and at once.

What a user spends is saved as small entries in the user's own store, one for each hour and process, so that processes need
no lock and a deleted run still counts.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from research._util.bounds import named_numbers
from research.errors import ConfigError, RunPaused
from research.events.events import Asked, Event, Rejected, Replied
from research.events.recipe import provider_of
from research.ops import disk_usage
from research.store import Store
from research.store.saved import readable

SETTING: Final = "WORKBENCH_USER_CAPS"
DAY_S: Final = 86_400.0
_HOUR_S: Final = 3_600.0
_MB: Final = 1_000_000
KIND: Final = "spent"
SANDBOX_WAIT_S: Final = 10.0
"""How long a calculation waits for another one to end before it is refused."""

DAILY: Final[Mapping[str, str]] = {
    "runs_per_day": "runs",
    "tokens_per_day": "tokens",
    "usd_per_day": "usd",
    "uploads_per_day": "uploads",
    "upload_mb_per_day": "upload_mb",
}
"""Daily caps, each with the field of `Spent` that it counts."""
USUAL: Final = "runs_per_day=1000,uploads_per_day=2000,runs_at_once=8,sandboxes_at_once=4,disk_mb=20000"
"""Each user's caps unless the administrator sets some; `none`: no caps."""
AT_ONCE: Final = ("runs_at_once", "sandboxes_at_once", "disk_mb")
WORDS: Final[Mapping[str, str]] = {
    "runs_per_day": "runs started in a day",
    "tokens_per_day": "tokens in a day",
    "usd_per_day": "dollars in a day",
    "uploads_per_day": "files uploaded in a day",
    "upload_mb_per_day": "megabytes uploaded in a day",
    "runs_at_once": "runs at once",
    "sandboxes_at_once": "calculations at once",
    "disk_mb": "megabytes on disk",
}
"""What each cap counts."""


class Spent(Struct, frozen=True, omit_defaults=True):
    """What one process spent for the user in one hour."""

    hour: float
    """When the hour began, in seconds since the epoch."""
    key: str
    """The key of this entry in the store."""
    runs: int = 0
    tokens: int = 0
    usd: float = 0.0
    uploads: int = 0
    upload_mb: float = 0.0


class Use(Struct, frozen=True):
    """How much of one cap is used."""

    cap: str
    limit: float
    used: float
    free_in_s: float | None = None
    """Seconds until some of a daily cap is free again; None while some is, and for caps that are not daily."""

    @property
    def reached(self) -> bool:
        return self.used >= self.limit


def parse_caps(text: str) -> dict[str, float]:
    """Return the caps by name, from text such as `runs_per_day=50,usd_per_day=5` or `none`.  Raises `ConfigError`."""
    return named_numbers("" if text.strip() == "none" else text, SETTING, WORDS)


class Caps:
    """The caps of one user; safe for threads.  Without caps, nothing is checked or saved."""

    def __init__(
        self,
        limits: Mapping[str, float],
        store: Callable[[], Store],
        home: Path,
        free: Callable[[str], bool] = lambda model: provider_of(model).local,
    ) -> None:
        """`free` tells whether a model's tokens do not count."""
        self._limits = limits
        self._free = free
        self._open = store
        self._home = home
        self._starting = threading.Lock()
        """Held while a run starts, so that two do not both take the last place."""
        self._lock = threading.Lock()
        self._entry = Spent(0.0, "")
        self._token = secrets.token_hex(4)
        self._sandboxes = threading.BoundedSemaphore(max(1, int(limits.get("sandboxes_at_once", 1_000_000))))
        self._calculating = 0

    # -- what is refused ----------------------------------------------------------------------------------------------

    @contextmanager
    def new_run(self, *, resumed: bool = False) -> Iterator[None]:
        """Start a run within this block.  Raises `ConfigError` when a cap is reached."""
        if not self._limits:
            yield
            return
        with self._starting:
            names = ["runs_at_once", "tokens_per_day", "usd_per_day", "disk_mb"]
            self._refuse(names if resumed else ["runs_per_day", *names])
            yield
            if not resumed:
                self.spend(runs=1)

    def uploads(self, sizes: Sequence[int]) -> None:
        """Count files of these sizes in bytes, which are about to be saved.  Raises `ConfigError` when a cap is reached."""
        if self._limits and sizes:
            self._refuse(["uploads_per_day", "upload_mb_per_day", "disk_mb"])
            self.spend(uploads=len(sizes), upload_mb=sum(sizes) / _MB)

    def request(self, model: str) -> None:
        """Check the caps before a request to a model.  Raises `RunPaused` when one is reached: nothing is lost."""
        if self._limits and not self._free(model):
            try:
                self._refuse(["tokens_per_day", "usd_per_day"])
            except ConfigError as error:
                raise RunPaused(str(error)) from error

    @contextmanager
    def sandbox(self) -> Iterator[None]:
        """Calculate within this block; waits for other calculations.  Raises `ConfigError` after `SANDBOX_WAIT_S`."""
        if "sandboxes_at_once" not in self._limits:
            yield
            return
        if not self._limits["sandboxes_at_once"] or not self._sandboxes.acquire(timeout=SANDBOX_WAIT_S):
            raise ConfigError(_sentence(self.use("sandboxes_at_once")))
        self._calculating += 1
        try:
            yield
        finally:
            self._calculating -= 1
            self._sandboxes.release()

    def _refuse(self, names: Sequence[str]) -> None:
        spent = self._spent() if any(name in DAILY for name in names) else []
        for name in names:
            if name in self._limits and (use := self.use(name, spent)).reached:
                raise ConfigError(_sentence(use))

    # -- what is used -------------------------------------------------------------------------------------------------

    def all(self) -> list[Use]:
        """Return the use of each cap."""
        spent = self._spent() if self._limits else []
        return [self.use(name, spent) for name in WORDS if name in self._limits]

    def use(self, name: str, spent: Sequence[Spent] = ()) -> Use:
        """Return the use of one cap."""
        limit = self._limits[name]
        if name in DAILY:
            return _daily(name, limit, spent)
        if name == "runs_at_once":
            return Use(name, limit, len(self._open().stale(time.time() + 1)))
        if name == "sandboxes_at_once":
            return Use(name, limit, self._calculating)
        return Use(name, limit, sum(part.bytes for part in disk_usage.parts(self._home)) / _MB)

    def _spent(self) -> list[Spent]:
        """Return what was spent in the last day."""
        since = time.time() - DAY_S
        found = readable(self._open().values(KIND), Spent, "record of what was spent")
        for each in found:
            if each.hour <= since:
                self._open().remove(KIND, each.key)
        return [each for each in found if each.hour > since]

    def spend(
        self, *, runs: int = 0, tokens: int = 0, usd: float = 0.0, uploads: int = 0, upload_mb: float = 0.0
    ) -> None:
        """Save what the user has spent."""
        if not self._limits:
            return
        with self._lock:
            hour, before = time.time() // _HOUR_S * _HOUR_S, self._entry
            if before.hour != hour:
                before = Spent(hour, f"{hour:.0f}-{self._token}")
            self._entry = Spent(
                hour,
                before.key,
                before.runs + runs,
                before.tokens + tokens,
                before.usd + usd,
                before.uploads + uploads,
                before.upload_mb + upload_mb,
            )
            self._open().put(KIND, self._entry.key, msgspec.json.encode(self._entry))

    def observe(self, past: Sequence[Event]) -> Callable[[Event], None]:
        """Return the function that counts what a run spends from now on."""
        models = {(event.agent, event.ask): event.model for event in past if isinstance(event, Asked)}

        def receive(event: Event) -> None:
            if isinstance(event, Asked):
                models[event.agent, event.ask] = event.model
            elif isinstance(event, Replied | Rejected):
                model = models.get((event.agent, event.ask), "")
                if not self._free(model):
                    usage = event.usage
                    self.spend(tokens=usage.prompt_tokens + usage.completion_tokens, usd=usage.cost_usd or 0.0)

        return receive


def _daily(name: str, limit: float, spent: Sequence[Spent]) -> Use:
    """Return the use of a daily cap, and when enough of it is a day old."""
    amounts = sorted((each.hour, float(getattr(each, DAILY[name]))) for each in spent)
    used = rest = sum(amount for _, amount in amounts)
    if used < limit:
        return Use(name, limit, used)
    for hour, amount in amounts:
        rest -= amount
        if rest < limit:
            return Use(name, limit, used, max(0.0, hour + DAY_S - time.time()))
    return Use(name, limit, used)


def _sentence(use: Use) -> str:
    """Return which cap is reached, how much of it is used, and when some is free again."""
    if use.cap in DAILY:
        when = f"some is free again in {_duration(use.free_in_s)}" if use.free_in_s is not None else "none is free"
    elif use.cap == "disk_mb":
        when = "delete runs, documents or entries of the memory, then clean up under Settings › Data"
    else:
        when = "one is free again when another has ended"
    used, limit = f"{use.used:,.10g}", f"{use.limit:,.10g}"
    if use.cap == "usd_per_day":
        used = f"{use.used:,.2f}"
    elif use.cap.endswith(("mb", "mb_per_day")):
        used = f"{use.used:,.0f}"
    return f"your cap on {WORDS[use.cap]} is reached: {used} of {limit} used; {when}"


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60) + 1
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
