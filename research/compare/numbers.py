"""The numbers of compared runs: what each cost, which sources they share, and whether they are comparable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Literal

from msgspec import Struct

from research.events.events import Status
from research.events.view import RunView
from research.search.merge import canonical
from research.types import Outcome

Difference = Literal["question", "budget"]


class Figures(Struct, frozen=True, omit_defaults=True):
    """One run, as a column of the table."""

    run: str
    status: Status
    outcome: Outcome | None
    rounds: int
    model_calls: int
    tool_calls: int
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    """Some token counts are estimates, because the provider did not report them."""
    cost_usd: float | None
    """None if a price is unknown."""
    seconds: float
    sources: int
    """Number of sources seen; the report cites `cited` of them."""
    cited: int
    citations: dict[str, int] | None
    """Number of citations by status; None before the check."""
    uncited: int | None
    """Number of sentences that state a fact and cite nothing."""
    short: str = ""
    """The answer in one line, if it has one."""
    parts: tuple[int, int] | None = None
    """How many parts of the question are answered, and how many there are; None before the check."""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def figures(view: RunView) -> Figures:
    """Return the numbers of a run so far.  `seconds` counts working time, up to the last event of an unfinished run."""
    over = view.status not in ("running", "waiting_input", "paused")
    return Figures(
        view.run,
        view.status,
        view.outcome,
        view.round_count(),
        view.model_calls,
        view.tool_calls,
        view.prompt_tokens,
        view.completion_tokens,
        view.estimated,
        view.cost_usd,
        view.elapsed(view.updated),
        len(view.sources),
        len(view.cited_sources),
        {str(each): n for each, n in view.verdicts.items()} if over else None,
        len(view.uncited) if over else None,
        view.short,
        (sum(part.status == "answered" for part in view.parts), len(view.parts)) if view.parts else None,
    )


class Page(Struct, frozen=True):
    """A source, with its numbers in each run."""

    url: str
    title: str
    numbers: tuple[tuple[int, ...], ...]
    """The numbers of the source in each run; empty if the run did not see it."""
    cited: tuple[bool, ...]
    """Whether the report of each run cites it."""

    @property
    def runs(self) -> tuple[int, ...]:
        """Indexes of the runs that saw the source."""
        return tuple(place for place, own in enumerate(self.numbers) if own)


def sources(views: Sequence[RunView]) -> list[Page]:
    """Return the sources of all runs, merged by canonical address; those that most runs saw come first."""
    seen: dict[str, list[dict[int, bool]]] = {}
    named: dict[str, tuple[str, str]] = {}
    for place, view in enumerate(views):
        cited = {source.n for source in view.cited_sources}
        for source in view.seen_sources:
            key = canonical(source.url)
            named.setdefault(key, (source.url, source.title))
            seen.setdefault(key, [{} for _ in views])[place][source.n] = source.n in cited
    pages = [
        Page(*named[key], tuple(tuple(own) for own in held), tuple(any(own.values()) for own in held))
        for key, held in seen.items()
    ]
    return sorted(pages, key=lambda page: -len(page.runs))


class Request(Struct, frozen=True):
    """One request to a model, as a point in a chart."""

    number: int
    """Position among all requests of the run, from 1."""
    agent: str
    prompt_tokens: int
    """The provider's count; an estimate until its reply has arrived."""


def requests(view: RunView) -> list[Request]:
    """Return the requests of a run and its child agents, in the order they were sent."""
    sent = [current for current in view.rounds if current.ask]
    return [
        Request(
            number,
            each.agent,
            each.usage.prompt_tokens if each.usage else each.prompt_tokens,
        )
        for number, each in enumerate(sent, 1)
    ]


def costs(view: RunView) -> list[float]:
    """Return the US dollars spent after each answered request, up to the first unknown price.

    Unreadable replies are not included; the run's total includes them.
    """
    spent = (current.usage.cost_usd for current in view.rounds if current.usage is not None)
    return list(accumulate(cost for cost in takewhile(lambda cost: cost is not None, spent) if cost is not None))


def differences(views: Sequence[RunView]) -> tuple[Difference, ...]:
    """Return what should be equal but is not; empty if the runs are comparable."""
    asked = {" ".join(view.question.split()) for view in views}
    budgets = {view.recipe.budget for view in views}
    return (*(("question",) if len(asked) > 1 else ()), *(("budget",) if len(budgets) > 1 else ()))
