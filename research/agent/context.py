"""`RunContext`: what a run shares with its children, and how each of them notices a stop or a pause."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from research import plugins
from research._util.egress import Egress
from research.agent.budget import Meter
from research.agent.cut_off import CutPrompts
from research.agent.journal import Journal
from research.agent.toolbox import Toolbox
from research.citations import Ledger
from research.citations.judges import Judges
from research.errors import LimitReached, NeedsInput, ProviderError, RunPaused, Stopped
from research.events.events import Base, Event, Forecast
from research.search.embedders import Embedder
from research.types import Model, Observation, Outcome, Passage, ToolCall
from research.web.url_guard import UrlGuard

if TYPE_CHECKING:
    from research.memory.entries import Memory
    from research.memory.recalling import SourceCheck

T = TypeVar("T")
Steps = Generator[Event, None, T]
"""A generator that yields events and returns a T."""

MAIN = "main"
"""The agent that answers the user; its children are `main/…`."""
WAKE_EVERY_S = 0.25
"""How often a waiting run checks for a pause."""


def if_possible(steps: Steps[T]) -> Steps[T | None]:
    """Return what the steps return; None if the model cannot be asked, so that earlier results are not lost."""
    try:
        return (yield from steps)
    except (LimitReached, ProviderError, Stopped):
        return None
    except RunPaused as pause:
        if pause.reason:  # the model is unreachable; after a user's pause, the resumed run asks it instead
            return None
        raise


class Services(Struct, frozen=True):
    """What the workbench provides to a run."""

    embedder: Callable[[], Embedder] | None = None
    """Returns the encoder that compares texts; None: they are compared by words."""
    memory: Callable[[], Memory] | None = None
    """Returns the user's memory; None: the run has none."""
    still_says: SourceCheck = lambda entry: True
    """Whether the source of a memory entry still contains its quote."""
    rate_limit: Callable[[str, int], float] = lambda model, tokens: 0.0
    """Reserves a model request of so many tokens; returns the seconds to wait."""
    judges: Judges = field(default_factory=Judges)
    """The verifiers, their thresholds, and what they said before."""
    forecast: Callable[[str], Forecast | None] = lambda question: None
    """Returns what a run on this question is expected to take; None if unknown."""
    kind: Callable[[Passage], str] = lambda passage: ""
    """Returns what kind of publisher speaks (`Source.kind`)."""
    notices: Sequence[str] = ()
    """Warnings for the user before the first round, such as a withheld tool."""
    home: str = ""
    """The folder of all data, for other processes of the workbench that work on this run."""


class RunContext:
    """Models, tools, budget, journal and sources of a run: one for the main agent and all its children."""

    run_id = ""
    """The id of the run, once it is driven."""
    cut_by: Outcome | None = None
    """The limit reached within a call; None if none was."""

    @cached_property
    def egress(self) -> Egress:
        """What the run may send, and what it has sent."""
        return Egress()

    def __init__(
        self,
        models: Callable[[str], Model],
        tools: Toolbox,
        meter: Meter,
        journal: Journal | None = None,
        stop: threading.Event | None = None,
        services: Services | None = None,
    ) -> None:
        self.models = models
        """Returns the model named, such as `extractive` or `openai:NAME`."""
        self.tools = tools
        self.meter = meter
        self.journal = journal or Journal()
        self.stop = stop or threading.Event()
        """Set from outside to stop the run, at the latest after the call in flight."""
        self.pause = threading.Event()
        """Set from outside to pause the run after the call in flight."""
        self.services = services or Services()
        self.ledger = Ledger(self.journal.sources, self.services.kind)
        self.guard = UrlGuard(self.journal.history)
        """Decides which URLs may be visited once the run has seen private data."""
        self.recalled = self.journal.recalled
        """What the memory returned before the first round; None if it was not searched."""
        self._open_question: tuple[str, str, str] | None = None
        """Prompt, agent and site of the question the run waits on."""
        self.user_texts: list[str] = []
        """The question and the user's replies."""
        self.warned_of_rate_limit = False
        """Whether a warning said that requests wait for the rate limit."""
        self.warned_parameters: set[tuple[str, str]] = set()
        """(model, parameter) pairs whose refusal by the model was already warned of."""
        self.tool_calls: list[tuple[ToolCall, Observation]] = []
        """Every tool call with its result, listed in the report of a run that saw no source."""
        self.failure = ""
        """Why the latest agent failed; empty if none has."""
        self.computed: list[str] = []
        """What was calculated: numbers that an answer may state without a source."""
        self._replay()

    def _replay(self) -> None:
        """Count what the journal contains: time and tokens spent, adopted rounds, earlier findings."""
        self.plan = self.journal.plan if self.journal.plan_adopted else ()
        """The approved plan; empty until approved, or without one."""
        self.cut_prompts = CutPrompts(found=self.journal.cut)
        self.meter.seconds_before = self.journal.seconds
        for usage in self.journal.spent:
            self.meter.spend(usage)
        self.computed += self.journal.earlier.computed if self.journal.earlier else ()
        for each in self.journal.adopted:
            self.meter.spend_tool_calls(len(each.observations))
            by_id = {seen.call_id: seen for seen in each.observations}
            self.tool_calls += [(call, by_id[call.id]) for call in each.reply.calls]
            for seen in each.observations:
                if not seen.edited:
                    self.note_computed(seen)

    def note_computed(self, seen: Observation) -> None:
        """Record a tool's calculation, which an answer may state."""
        if seen.ok and plugins.tool.traits(seen.name).calculates:
            self.computed.append(seen.text)

    def add_user_text(self, text: str) -> None:
        """Record what the user wrote; URLs in it may be visited."""
        self.user_texts.append(text)
        self.guard.allow_from_user(text)

    def mark(self, event: Base) -> Steps[None]:
        """Emit an event that is neither a reply nor an observation, unless the journal already contains it."""
        if not self.journal.take_mark(event):
            yield event  # type: ignore[misc]

    def user_reply(self, agent: str, prompt: str, *, ask: int = 0, site: str = "") -> str:
        """Return what the user replied to an agent's question.  Without a reply raises `NeedsInput`, and the run waits.

        If the user answered another agent after the request `ask` was made, that answer is returned, so that branches
        lacking the same detail ask once.
        """
        reply = self.journal.user_reply(agent, prompt)
        if reply is None and ask:
            missed = self.journal.exchanges[len(self.journal.told(agent, ask)) :]
            reply = next((each.reply for each in missed if each.agent != agent), None)
        if reply is None:
            self.check_stop()
            self._open_question = (prompt, agent, site)
            raise NeedsInput(prompt, agent, site)
        return reply

    def check_stop(self) -> None:
        """Raise `Stopped` when the user stopped the run."""
        if self.stop.is_set():
            raise Stopped("stopped by the user")

    def check_pause(self) -> None:
        """Raise `RunPaused`, `NeedsInput` or `Stopped` before new work begins.

        Calls in flight finish; otherwise they would be paid for twice.
        """
        self.check_stop()
        if self._open_question:  # from a branch that runs beside this one
            raise NeedsInput(*self._open_question)
        if self.pause.is_set():
            raise RunPaused

    def wait(self, seconds: float) -> None:
        """Wait that long.  Raises `Stopped` or `RunPaused` as soon as the run is stopped or paused.

        Raises `LimitReached` at once if the run has no time for the wait.
        """
        if seconds > self.meter.seconds_left:
            self.cut_by = "time"
            raise LimitReached("time")
        until = time.monotonic() + seconds
        while (remaining := until - time.monotonic()) > 0 and not self.pause.is_set():
            if self.stop.wait(min(remaining, WAKE_EVERY_S)):
                break
        self.check_pause()
