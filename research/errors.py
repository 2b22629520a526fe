"""Errors, by who has to act on them.

    WorkbenchError
    ├── ConfigError     the user: a setting, an option or an argument is wrong; names it and what is accepted
    ├── ToolError       the model: becomes the observation of its call, so that it can try something else
    ├── FormatError     the model: its reply cannot be read; it is shown the problem and asked again
    ├── ProviderError   the run: a model service failed; says whether a retry can help
    ├── StoreUnavailable the caller: runs cannot be read or saved at the moment; a retry may succeed
    ├── LimitReached    the run: a budget is spent; the run concludes with what is known
    ├── NeedsInput      the user: the agent asks something before it can continue
    ├── RunPaused       the run: it pauses, because the user asked or a service is unavailable
    └── Stopped         the run: the user asked it to stop

Anything else that a tool raises is the observation of its call; from elsewhere it ends the run as `failed`, with its
traceback among the events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from research.types import Outcome


class WorkbenchError(Exception):
    """Base of every error that this package raises on purpose.

    >>> try:
    ...     view = research.run(question, model="openai:gpt-5-nano")
    ... except research.WorkbenchError as error:
    ...     print(error)
    """


class ConfigError(WorkbenchError):
    """A setting, an option or an argument is wrong.  The message names it and what is accepted.

    >>> raise ConfigError(f"unknown unit {unit!r}; known: km, mi")
    """


class ToolError(WorkbenchError):
    """A tool could not do its work.  The message goes to the model, as the observation of its call.

    >>> raise ToolError(f"no station called {name!r}; did you mean {nearest!r}?")
    """

    def __init__(self, message: str, code: str = "") -> None:
        """`code` names the cause where a caller acts on it: `status 404`, `refused`, `timeout`, `no host`, `unreadable` …"""
        super().__init__(message)
        self.code = code


class FormatError(WorkbenchError):
    """A reply of the model cannot be read.  The message goes to the model, which is asked again.

    >>> raise FormatError("the plan has no step; write at least one line that begins with #E1")
    """


class ProviderError(WorkbenchError):
    """A model service failed.  Each client says whether the same request may succeed later.

    >>> raise ProviderError("the server answered 503", retryable=True, retry_after_s=5)
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        context_overflow: bool = False,
        retry_after_s: float | None = None,
        at_work: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        """The same request may succeed later (429, 5xx, a lost connection)."""
        self.at_work = at_work
        """The service may still be working on the request, so sending it again would only add work."""
        self.context_overflow = context_overflow
        """The request was too long for the model; only a shorter one can succeed."""
        self.retry_after_s = retry_after_s
        """Seconds the service asked us to wait, if it said."""


class StoreUnavailable(WorkbenchError):
    """Runs cannot be read or saved at the moment, for example because the disk is full.  Nothing is damaged.

    >>> try:
    ...     rows = workbench.store.runs()
    ... except research.StoreUnavailable:
    ...     time.sleep(5)  # the database restarts
    """


REFUSED = (ConfigError, StoreUnavailable)
"""Errors whose message the user sees instead of the result."""


class LimitReached(WorkbenchError):
    """A limit of the run is reached; `limit` is the name of the outcome.

    >>> try:
    ...     reply = yield from run.ask()
    ... except research.LimitReached as reached:
    ...     return (yield from run.conclude(reached.limit))
    """

    def __init__(self, limit: Outcome) -> None:
        super().__init__(f"a limit ends the loop: {limit}")
        self.limit = limit


class NeedsInput(WorkbenchError):
    """The run waits for the user's reply; it continues from its journal when the reply arrives."""

    def __init__(self, prompt: str, agent: str, site: str = "", *, plan: bool = False) -> None:
        """The fields of the event `WaitingForUser`."""
        super().__init__(prompt)
        self.prompt, self.agent, self.site, self.plan = prompt, agent, site, plan


class RunPaused(WorkbenchError):
    """The run pauses; it continues from its journal when it is resumed."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "paused by the user")
        self.reason = reason
        """Why the run cannot continue; empty: the user asked for the pause."""


class Stopped(WorkbenchError):
    """The user asked the run to stop."""
