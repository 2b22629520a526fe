"""`Shared`: what a run and its children have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from research.budget import Meter
from research.citations import Ledger
from research.guard import Guard
from research.journal import Journal
from research.toolbox import Toolbox
from research.types import Embedder, Model, Observation, ToolCall

if TYPE_CHECKING:
    from research.memory.memory import Memory
    from research.memory.recalling import Stands


class Shared:
    """What a run and its children have in common."""

    def __init__(
        self,
        models: Callable[[str], Model],
        tools: Toolbox,
        *,
        meter: Meter,
        journal: Journal | None = None,
        stop: threading.Event | None = None,
        notices: Sequence[str] = (),
        embedder: Callable[[], Embedder] | None = None,
        memory: Callable[[], Memory] | None = None,
        stands: Stands = lambda entry: True,
        pace: Callable[[str], float] = lambda model: 0.0,
    ) -> None:
        self.models = models
        """Gives the model of a name such as `extractive` or `openai:NAME`."""
        self.tools = tools
        self.meter = meter
        self.journal = journal or Journal()
        self.stop = stop or threading.Event()
        """Set from outside to stop the run within one call in flight."""
        self.rest = threading.Event()
        """Set from outside to let it rest after the call in flight."""
        self.notices = notices
        """What the user should know of the parts before the first round, e.g. a tool that is withheld."""
        self.ledger = Ledger(self.journal.sources)
        self.guard = Guard(self.journal.observations)
        """Knows which urls may be visited once something private was seen."""
        self.embedder = embedder
        """Gives the encoder that helps to judge whether a source says what is cited from it."""
        self.memory = memory
        """Gives the memory of whoever asked."""
        self.stands = stands
        """Says of an entry whether its source still says so."""
        self.recalled = self.journal.recalled
        """What it gave before the first round; None: it was not asked."""
        self.words: list[str] = []
        """What the user said: the question and the replies."""
        self.pace = pace
        """Takes a turn at asking a model; gives the seconds to wait for it."""
        self.paced = False
        """Whether the user was told that requests wait for their turns."""
        self.left_out: set[tuple[str, str]] = set()
        """Models and parameters of which the user was told that they do not go together."""
        self.tried: list[tuple[ToolCall, Observation]] = []
        """Every tool call with its result: what a run that saw nothing has to show."""
        self.computed: list[str] = []
        """What the python tool printed: numbers that an answer may state without a source saying them."""
        self._take_over()

    def _take_over(self) -> None:
        """What is on record and will not come again: time and tokens that were spent, adopted rounds, earlier findings."""
        self.meter.before = self.journal.seconds
        for usage in self.journal.spent:
            self.meter.spend(usage)
        self.computed += self.journal.earlier.computed if self.journal.earlier else ()
        for each in self.journal.adopted:
            self.meter.spend_tool_calls(len(each.observations))
            by_id = {seen.call_id: seen for seen in each.observations}
            self.tried += [(call, by_id[call.id]) for call in each.reply.calls]
            self.computed += [
                seen.text for seen in each.observations if seen.name == "python" and seen.ok and not seen.edited
            ]
            if each.reply.answer:  # it asked the user something, who said this
                self.hear(each.hint)

    def hear(self, words: str) -> None:
        """Take note of what the user said."""
        self.words.append(words)
        self.guard.heard(words)
