"""Align the steps of runs in rows: the same query or page shares a row, with a gap where a run did something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from research.events.rounds import CallView, RoundView
from research.events.view import RunView
from research.parsing.arguments import as_words
from research.search.merge import canonical
from research.text import content_tokens, numbers

ALIKE = 0.6
"""Least share of common words at which a query is a longer wording of another."""
MOMENT = 0.01
"""Weight of two requests with the same purpose: less than that of any shared call."""


@dataclass(frozen=True)
class Step:
    """One tool call of a run, or a request to the model without tool calls."""

    round: RoundView
    call: CallView | None = None

    @property
    def tool(self) -> str:
        """Name of the tool; empty for a request without tool calls."""
        return self.call.call.name if self.call else ""

    @cached_property
    def asked(self) -> str:
        """The query, address or code given to the tool, on one line."""
        if self.call is None:
            return ""
        given = self.call.call.arguments
        main = given.get("url") or given.get("code") or " ".join(map(as_words, given.values()))
        return " ".join(as_words(main).split())

    @property
    def answers(self) -> bool:
        """Whether this step is the answer of the run or of one of its agents."""
        return self.call is None and self.round.reply is not None and bool(self.round.reply.answer)

    @property
    def failed(self) -> bool:
        """Whether the call failed."""
        return self.call is not None and self.call.observation is not None and not self.call.observation.ok

    @property
    def edited(self) -> bool:
        """Whether the user changed the result of the call."""
        return self.call is not None and self.call.observation is not None and self.call.observation.edited

    @cached_property
    def _done(self) -> tuple[str, str, frozenset[str]]:
        """The kind of step, the text that must match, and the words that may differ slightly."""
        if self.call is None:
            done = "answer" if self.answers else "asked" if self.round.reply is not None else "asking"
            return "", f"{self.round.purpose} {done}", frozenset()
        given = self.call.call.arguments
        if isinstance(url := given.get("url"), str):
            return f"{self.tool} url", canonical(url.strip()), frozenset()  # ignores the goal, which is free text
        if isinstance(code := given.get("code"), str):
            return f"{self.tool} code", self.asked, frozenset(numbers(code))  # ignores names of variables
        return self.tool, self.asked.casefold(), frozenset(content_tokens(self.asked))

    def likeness(self, other: Step) -> float:
        """Return the similarity to another step, from 0 to 1; 1 for equal steps."""
        kind, said, words = self._done
        kind_, said_, words_ = other._done
        if kind != kind_:
            return 0.0
        if said == said_:
            return 1.0 if self.call else MOMENT
        # A replaced word makes a different query, however many words the two share.
        if not words or not words_ or not (words <= words_ or words_ <= words):
            return 0.0
        share = len(words & words_) / len(words | words_)
        return share if share >= ALIKE else 0.0


Row = tuple[Step | None, ...]
"""One step or None for each run, in the order of the runs."""


def identical(row: Row) -> bool:
    """Return whether every run did the same here: the same call with the same success, or a request of the same kind.

    A result that the user edited in one run only is a difference.
    """
    first, *rest = row
    return first is not None and all(
        each is not None
        and each.likeness(first) == (1.0 if first.call else MOMENT)
        and (each.failed, each.edited) == (first.failed, first.edited)
        for each in rest
    )


def steps(view: RunView, after: int = 0) -> list[Step]:
    """Return the steps of a run in order; those of parallel agents are grouped by agent.

    `after` skips the steps up to the main agent's round of that number.
    """
    ordered: list[RoundView] = []
    beside: list[RoundView] = []
    place = {agent: index for index, agent in enumerate(dict.fromkeys(current.agent for current in view.rounds))}
    over = (n for n, current in enumerate(view.rounds) if current.agent == "main" and current.number > after)
    for current in view.rounds[next(over, len(view.rounds)) if after else 0 :]:
        if current.agent == "main":
            ordered += [*sorted(beside, key=lambda each: place[each.agent]), current]
            beside = []
        else:
            beside.append(current)
    ordered += sorted(beside, key=lambda each: place[each.agent])
    found: list[Step] = []
    for current in ordered:
        if current.calls:
            found += [Step(current, call) for call in current.calls]
        elif current.ask:
            found.append(Step(current))
    return found


MOST = 1_000
"""Maximum number of steps of a run to align."""


def align(views: Sequence[RunView], after: int = 0) -> list[Row]:
    """Return the steps of all runs in rows, each run's in order, with as many shared rows as possible.

    `after` skips the steps up to the main agent's round of that number.  The first two runs are aligned, then each further
    one with the rows so far (progressive alignment; Feng and Doolittle 1987), by the heaviest common subsequence (Needleman
    and Wunsch 1970).  Time and memory grow with rows × steps, so only the first `MOST` steps of a run are aligned.
    """
    rows: list[Row] = []
    for column, view in enumerate(views):
        rows = _joined(rows, steps(view, after)[:MOST], column)
    return rows


def _joined(rows: Sequence[Row], added: Sequence[Step], column: int) -> list[Row]:
    weigh = _weights(rows, added)
    # best[i][j]: the greatest weight that rows from i and steps from j can have in common
    best = [[0.0] * (len(added) + 1) for _ in range(len(rows) + 1)]
    for i in reversed(range(len(rows))):
        for j in reversed(range(len(added))):
            weight = weigh(i, j)
            together = weight + best[i + 1][j + 1] if weight else 0.0
            best[i][j] = max(together, best[i + 1][j], best[i][j + 1])

    def first(i: int, j: int) -> bool:
        """Return whether the row precedes the step. If order does not matter, the earlier round does."""
        if best[i + 1][j] != best[i][j + 1]:
            return best[i + 1][j] > best[i][j + 1]
        return min(step.round.number for step in rows[i] if step) <= added[j].round.number

    gap: Row = (None,) * column
    joined: list[Row] = []
    i = j = 0
    while i < len(rows) or j < len(added):
        weight = weigh(i, j) if i < len(rows) and j < len(added) else 0.0
        if weight and best[i][j] <= weight + best[i + 1][j + 1]:
            joined.append((*rows[i], added[j]))
            i, j = i + 1, j + 1
        elif j == len(added) or (i < len(rows) and first(i, j)):
            joined.append((*rows[i], None))
            i += 1
        else:
            joined.append((*gap, added[j]))
            j += 1
    return joined


def _weights(rows: Sequence[Row], added: Sequence[Step]) -> Callable[[int, int], float]:
    """Return the function that weighs a row against a step; equal steps are compared once."""
    known: dict[tuple[tuple[str, str], tuple[str, str]], float] = {}
    row_steps = [[step for step in row if step is not None] for row in rows]

    def alike(step: Step, other: Step) -> float:
        key = step._done[:2], other._done[:2]
        if key not in known:
            known[key] = step.likeness(other)
        return known[key]

    table = [[max(alike(step, other) for step in row) for other in added] for row in row_steps]
    return lambda i, j: table[i][j]
