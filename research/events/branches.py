"""The rounds of a run that works in branches, and what each branch wrote.

Usually the main agent takes the steps, and its rounds are the run's.  Where only sub-agents take steps, parallel agents
share rounds of the run, an agent that starts after others ended continues their count, and the main agent's work
between or after them is one more round.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from research import plugins
from research._util.registry import derived
from research.events import events as e
from research.types import Outcome

PROPOSE = "propose"
"""The purpose of the request for a plan."""
VERIFY = "verify"
"""The purpose of the requests to the judge of citations."""


_STEPS = frozenset({"act", "plan", "solve", "outline", "research"})
"""The purposes of steps in runs of earlier versions, whose events do not say it."""


@derived
def step_purposes() -> frozenset[str]:
    """Return the purposes of requests that are steps; saved events say so themselves (`is_step`)."""
    return frozenset({"act", *(purpose for entry in plugins.framework.all() for purpose in entry.steps)})


def is_step(event: e.Asked) -> bool:
    """Return whether a request is a step, whatever plug-ins are now installed."""
    return event.purpose in _STEPS if event.step is None else event.step


@dataclass
class Branch:
    """A sub-agent, with its answer and the reports it wrote."""

    agent: str
    question: str
    started: float
    before: int = 0
    """Rounds of the run before its first one."""
    ended: float | None = None
    outcome: Outcome | None = None
    answer: str = ""
    reports: list[tuple[int, str]] = field(default_factory=list)
    """Its evolving report after each of its rounds that changed it, as (round, text)."""

    @property
    def text(self) -> str:
        """Return the answer above the last report; either may be missing."""
        report = self.reports[-1][1] if self.reports else ""
        return report if self.answer in report else "\n\n".join(filter(None, [self.answer, report]))


@dataclass
class Branches:
    """The sub-agents of a run, and the count of its rounds."""

    found: dict[str, Branch] = field(default_factory=dict)
    """Sub-agents by path, in the order in which they started."""
    parallel: bool | None = None
    """Whether only sub-agents take steps; None before the first step."""
    _at: dict[str, int] = field(default_factory=dict)
    """Each agent's current round of the run."""
    _most: int = 0
    """The latest of them."""
    _ended: int = 0
    """The latest round in which a sub-agent ended."""

    def apply(self, event: e.Event) -> int:
        """Take the next event and return the run's round that it belongs to; 0 before the first."""
        match event:
            case e.Asked():
                self._put(event.agent, self._asked(event))
            case e.ChildStarted():
                before = max(self._at.get(event.agent.rpartition("/")[0], 0), self._ended)
                again = event.agent in self.found
                self.found[event.agent] = Branch(event.agent, event.question, event.time, before)
                if again:
                    self._ended = max(
                        (self._at.get(b.agent, 0) for b in self.found.values() if b.ended is not None), default=0
                    )
                self._put(event.agent, before)
                return self._at.get("main", 0) if self.parallel is False else before + 1
            case e.ChildFinished() if event.agent in self.found:
                branch = self.found[event.agent]
                branch.ended, branch.outcome, branch.answer = event.time, event.outcome, event.answer
                self._ended = max(self._ended, self._at.get(event.agent, 0))
        if self.parallel is False:
            return self._at.get("main", 0)
        return self._most if event.agent == "main" else self._at.get(event.agent, 0)

    def _put(self, agent: str, number: int) -> None:
        before, self._at[agent] = self._at.get(agent), number
        self._most = max(self._at.values()) if before == self._most > number else max(self._most, number)

    def _asked(self, event: e.Asked) -> int:
        if self.parallel is None and is_step(event):
            self.parallel = event.agent != "main"
        if event.purpose == PROPOSE:
            return 0  # the plan comes before the first round
        if event.agent == "main":
            return 1 + max((self._at[name] for name in self.found), default=0) if self.parallel else event.round
        branch = self.found.get(event.agent)
        if branch is None:  # it works within a round of its parent
            return self._at.get(event.agent.rpartition("/")[0], event.round)
        return branch.before + event.round


def first_rounds(events: Iterable[e.Event], number: int) -> list[e.Event]:
    """Return the events up to the end of the run's round `number`; of branches that ran on, only these rounds.

    The finished report and its check belong to no round.
    """
    branches = Branches()
    found: list[e.Event] = []
    pauses: list[e.Event] = []
    for event in events:
        if isinstance(event, e.ReportUpdated) and event.citations:
            break
        if branches.apply(event) <= number:
            found += [*pauses, event]
            pauses = []
        elif branches.parallel is False:
            break
        elif isinstance(event, e.Paused | e.Resumed):
            pauses.append(event)  # they belong to all branches, so they count if any branch goes on within its rounds
    return found
