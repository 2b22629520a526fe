"""The numbers of runs that stand side by side: what each took, which sources they share, and whether they compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Literal

from msgspec import Struct

from research.search.merge import canonical
from research.types import Outcome, Status
from research.view import RunView

Difference = Literal["question", "budget"]


class Figures(Struct, frozen=True):
    """One run as a column of the table."""

    run: str
    status: Status
    outcome: Outcome | None
    rounds: int
    model_calls: int
    tool_calls: int
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    """Tokens were counted by us, at least in part."""
    cost_usd: float | None
    """None when a price is unknown."""
    seconds: float
    sources: int
    """Seen; of them the report cites `cited`."""
    cited: int
    citations: dict[str, int] | None
    """How many statements are supported, partial, unsupported, dead; None before the report was checked."""
    uncited: int | None
    """Sentences that state a fact and cite nothing."""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def figures(view: RunView) -> Figures:
    """What a run took and brought so far.  Seconds are those of work, of a run that goes on up to its last event."""
    found = Counter(citation.status for citation in view.citations)
    over = view.status not in ("running", "waiting_input", "paused")
    return Figures(
        view.run, view.status, view.outcome, view.round_count(), view.model_calls, view.tool_calls,
        view.prompt_tokens, view.completion_tokens, view.estimated, view.cost_usd,
        view.elapsed(view.updated), len(view.sources), len(view.cited_sources),
        {status: found[status] for status in ("supported", "partial", "unsupported", "dead")} if over else None,
        len(view.uncited) if over else None,
    )  # fmt: skip


class Page(Struct, frozen=True):
    """A source, and where each run has it."""

    url: str
    title: str
    numbers: tuple[tuple[int, ...], ...]
    """For each run the numbers it has there; none where the run did not see it."""
    cited: tuple[bool, ...]
    """For each run whether its report cites it."""

    @property
    def runs(self) -> tuple[int, ...]:
        """The places of the runs that saw it."""
        return tuple(place for place, own in enumerate(self.numbers) if own)


def sources(views: Sequence[RunView]) -> list[Page]:
    """Every source of the runs once, by its canonical address; what most runs share comes first."""
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
    """One request to a model, as a point of a chart."""

    number: int
    """Among all requests of the run, from 1."""
    agent: str
    round: int
    purpose: str
    prompt_tokens: int
    """As the provider counted; before its reply an estimate."""


def requests(view: RunView) -> list[Request]:
    """The prompts of a run in the order they were sent, children's included."""
    sent = [current for current in view.rounds if current.ask]
    return [
        Request(number, each.agent, each.number, each.purpose, each.usage.prompt_tokens if each.usage else each.prompt_tokens)
        for number, each in enumerate(sent, 1)
    ]  # fmt: skip


def costs(view: RunView) -> list[float]:
    """US dollars spent after each answered request; it ends where a price is unknown.

    Replies that could not be read are not in it; they are in the run's total.
    """
    spent = (current.usage.cost_usd for current in view.rounds if current.usage is not None)
    return list(accumulate(cost for cost in takewhile(lambda cost: cost is not None, spent) if cost is not None))


def differences(views: Sequence[RunView]) -> tuple[Difference, ...]:
    """What should be the same and is not; empty when the runs can be compared."""
    asked = {" ".join(view.question.split()) for view in views}
    budgets = {view.recipe.budget for view in views}
    return (*(("question",) if len(asked) > 1 else ()), *(("budget",) if len(budgets) > 1 else ()))
