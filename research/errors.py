"""Errors, by who has to act on them.

    WorkbenchError
    ├── ConfigError     the user: a setting, an option or an argument is wrong; names it and what is accepted
    ├── ToolError       the model: becomes the observation of its call, so that it can try something else
    ├── FormatError     the model: its reply cannot be read; it is shown the problem and asked again
    ├── ProviderError   nobody yet: a model service failed; says whether trying again can help
    ├── StoreUnavailable nobody yet: runs cannot be read or kept just now; the same may succeed later
    ├── LimitReached    the run: a budget is spent; the run concludes with what is known
    ├── NeedsInput      the user: the agent asks something before it can go on
    ├── Rests           the run: it is to pause, because the user wants it or a service stays away
    └── Stopped         the run: the user asked it to stop

Anything else ends the run as `failed`, with its traceback among the events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from research.types import Outcome


class WorkbenchError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(WorkbenchError):
    """A setting, an option or an argument is wrong.  The message names it and says what is accepted."""


class ToolError(WorkbenchError):
    """A tool could not do what it was asked.  The message goes to the model."""


class FormatError(WorkbenchError):
    """A reply of the model cannot be read.  The message says what was wrong and what is accepted."""


class ProviderError(WorkbenchError):
    """A model service failed.  Classified where the service is known, inside each client."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        context_overflow: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        """The same request may succeed later (429, 5xx, a lost connection)."""
        self.context_overflow = context_overflow
        """The request was too long for the model: send less, never the same again."""
        self.retry_after_s = retry_after_s
        """Seconds the service asked us to wait, if it said."""


class StoreUnavailable(WorkbenchError):
    """What is kept cannot be read or added to just now: a full disk, a database that restarts.  Nothing is damaged."""


REFUSED = (ConfigError, StoreUnavailable)
"""What somebody who asks for something is told: it can be mended, or waited for."""


class LimitReached(WorkbenchError):
    """A limit ends the loop; `limit` is the outcome's name."""

    def __init__(self, limit: Outcome) -> None:
        super().__init__(f"a limit ends the loop: {limit}")
        self.limit = limit


class NeedsInput(WorkbenchError):
    """The run waits for the user's reply; it goes on from its journal when the reply is there."""


class Rests(WorkbenchError):
    """The run is to pause; it goes on from its journal when the user wants."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "paused by the user")
        self.reason = reason
        """Why nobody can go on just now; empty: the user asked for it."""


class Stopped(WorkbenchError):
    """The user asked the run to stop."""
