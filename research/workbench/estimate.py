"""Estimates what a run will take from its recipe: a range of model calls, tokens and dollars.

The low end is a run that answers after its first search, the high end one that uses every allowed round; most runs end
far below it.  `basis` states the other assumptions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt

from msgspec import Struct

from research import plugins
from research.agent.amending import reads
from research.agent.page_reader import MOST_TOKENS, PURPOSE
from research.agent.span_reader import PASSAGES, SEEN
from research.agent.toolbox import OUTPUT_LIMIT
from research.agent.work import ANSWER, Call, History, HistorySize, Loop, Span, work_of
from research.citations.judge import BATCH, BATCH_TOKENS, answers_yes_or_no
from research.citations.verification import MODEL
from research.errors import ConfigError
from research.events.events import Forecast
from research.events.recipe import Recipe
from research.models.traits import Priced
from research.text import estimate_tokens, language_of
from research.types import Model, Usage


class Estimate(Struct, frozen=True):
    """What a run is expected to take."""

    calls: Span
    prompt_tokens: Span
    completion_tokens: Span
    tokens: Span
    """Both together; under a cap on tokens, less than the sum of their high ends."""
    usd: Span | None
    """None if a model's price is unknown, 0 to 0 if all models are known to be free."""
    basis: str
    """The assumptions, in a sentence or two."""

    def line(self) -> str:
        """`3–30 calls, 8 k–240 k tokens, $0.01–0.35`."""
        calls = "call" if self.calls.high == 1 else "calls"
        return f"{_between(self.calls, _short)} {calls}, {_between(self.tokens, _short)} tokens, {_money(self.usd)}"


INSTRUCTIONS = Span(150, 900)
"""Tokens of a system prompt without the tools."""
TOOL = Span(50, 250)
"""Tokens of a tool's description; providers that receive it outside the messages may not count it."""
FOUND = Span(50, 500)
"""Tokens that a round adds to the history besides one full observation: the call, and more observations."""

STATEMENTS = 48
"""Cited statements of a long report; the judge sees some or all of them."""
VERDICT = 30
"""Tokens of a verdict with the numbers of its lines."""


class _Part(Struct, frozen=True):
    """The requests for one purpose, with their total tokens."""

    purpose: str
    calls: Span
    prompt: Span
    completion: Span
    largest: float
    """Tokens of the largest single request and its reply."""


def estimate(recipe: Recipe, question: str, *, models: Callable[[str], Model]) -> Estimate:
    """Return the estimate for this recipe and question.  Raises `ConfigError` for a wrong name or option."""
    entry = plugins.framework.get(recipe.framework)
    options = entry.filled(recipe.framework_options)
    language = recipe.language if recipe.language != "auto" else language_of(question)
    per_token = 1.5 if language == "zh" else 4.0  # characters, as `estimate_tokens` counts them
    growth = Span(FOUND.low, FOUND.high + OUTPUT_LIMIT / per_token)
    native = models(recipe.model).native if recipe.protocol == "auto" else recipe.protocol == "native"
    head = _head(recipe, question, native=native)
    parts: list[_Part] = []
    at_once = 1.0
    for piece in work_of(entry, options):
        if isinstance(piece, Call):
            parts.append(_call(piece, question))
        else:
            parts += _loop(piece, recipe, head, growth, per_token)
            at_once = max(at_once, piece.agents.high)
    if recipe.judged_by.startswith(MODEL):
        parts.append(_verdicts(recipe.judged_by))
    if reads(recipe):
        passages = Call(purpose="read", count=Span(0, 1), reads=Span(50, PASSAGES * SEEN / per_token))
        parts.append(_call(passages, question))
    if recipe.reads_pages and any(plugins.tool.traits(name).reads for name in recipe.tools):
        visits = max((part.calls.high for part in parts), default=0.0)
        parts.append(_call(Call(purpose=PURPOSE, count=Span(0, visits), reads=Span(50, MOST_TOKENS)), question))
    return _capped(recipe, models, [part for part in parts if part.calls.high], head, at_once, growth)


def forecast(recipe: Recipe, question: str, *, models: Callable[[str], Model]) -> Forecast | None:
    """Return the estimate for display with a plan; None if unknown."""
    try:
        found = estimate(recipe, question, models=models)
    except ConfigError:
        return None
    usd = (found.usd.low, found.usd.high) if found.usd else None
    calls, tokens = found.calls, found.tokens
    return Forecast((calls.low, calls.high), (tokens.low, tokens.high), usd, found.line())


def before_resuming(recipe: Recipe, question: str, *, models: Callable[[str], Model]) -> str:
    """Return what the whole run may take, as a line to read before it is resumed, or why it cannot be resumed here."""
    try:
        return f"the whole run may take {estimate(recipe, question, models=models).line()} with {recipe.model}"
    except ConfigError as error:
        return f"it cannot be resumed here: {error}"


def _verdicts(judge: str) -> _Part:
    """Return the requests that let a model judge the citations; a report may have none."""
    one_each = answers_yes_or_no(judge)
    size = 600 if one_each else BATCH_TOKENS + 600
    calls = Span(0, STATEMENTS * (2 if one_each else 1 / BATCH))
    reply = 10 if one_each else BATCH * VERDICT
    return _Part(
        "verify",
        Span(0, ceil(calls.high)),
        Span(0, ceil(calls.high) * size),
        Span(0, ceil(calls.high) * reply),
        size + reply,
    )


def _head(recipe: Recipe, question: str, *, native: bool) -> Span:
    """Return the tokens of system prompt and question; children have similar ones."""
    asked, tools = estimate_tokens(question), len(recipe.tools)
    described = 0 if native else TOOL.low * tools
    # Frameworks add their own tools, and an MCP server may add twenty.
    most = tools + 5 + 20 * len(recipe.mcp)
    return Span(INSTRUCTIONS.low + described + asked / 2, INSTRUCTIONS.high + TOOL.high * most + 2 * asked)


def _loop(loop: Loop, recipe: Recipe, head: Span, growth: Span, per_token: float) -> list[_Part]:
    context = loop.context or recipe.context
    strategy = plugins.context.get(context)
    given = recipe.context_options if context == recipe.context else {}
    options = strategy.filled(given)
    shown: HistorySize = strategy.shows(options, per_token) if strategy.shows else _everything
    each = growth.high + loop.report
    first, last = int(loop.earlier.high), int(loop.earlier.high) + loop.rounds + loop.forced
    top = [head.high + loop.notes + loop.report + shown(behind, each) for behind in range(first, last)]
    if loop.largest is not None:
        # The loop checks the prompt it sent last, so one more request and the forced answer may be larger.
        top = [min(size, loop.largest + 2 * each) for size in top]
    agents, least = loop.agents, min(loop.least, len(top))
    low = [
        head.low + (growth.low if behind else 0)
        for behind in range(int(loop.earlier.low), int(loop.earlier.low) + least)
    ]
    reply = ANSWER.high + loop.report
    parts = [
        _Part(
            loop.purpose,
            Span(agents.low * least, agents.high * len(top)),
            Span(agents.low * sum(low), agents.high * sum(top)),
            Span(agents.low * least * ANSWER.low, agents.high * len(top) * reply),
            max(top, default=0) + reply,
        )
    ]
    if strategy.extra:
        history = History(
            loop=loop,
            framework=plugins.framework.get(recipe.framework),
            rounds=last - 1,
            head=head.high,
            growth=growth,
            each=each,
        )
        parts += [_call(call, "") for call in strategy.extra(options, history)]
    return parts


def _everything(behind: int, each: float) -> float:
    """Return the size of the whole history: the most shown by a strategy without the trait `shows`."""
    return behind * each


def _call(call: Call, question: str) -> _Part:
    """Return the part for a call; its instructions are short and contain the question."""
    low, high = 30 + estimate_tokens(question) / 2, 600 + 2 * estimate_tokens(question)
    return _Part(
        call.purpose,
        call.count,
        Span(call.count.low * (low + call.reads.low), call.count.high * (high + call.reads.high)),
        Span(call.count.low * ANSWER.low, call.count.high * ANSWER.high),
        high + call.reads.high + ANSWER.high,
    )


def _capped(
    recipe: Recipe, models: Callable[[str], Model], parts: Sequence[_Part], head: Span, at_once: float, growth: Span
) -> Estimate:
    budget = recipe.budget
    calls, prompt, completion = (_sum([getattr(p, name) for p in parts]) for name in ("calls", "prompt", "completion"))
    tokens = Span(prompt.low + completion.low, prompt.high + completion.high)
    basis = [
        f"{recipe.framework} with {recipe.context} context: one search to all rounds, up to {growth.high:,.0f} tokens of "
        f"results and {ANSWER.high:,.0f} of reply a round on average; requests that have to be repeated do not count."
    ]
    if budget.tokens is not None:
        # Requests in flight at the cap are still paid for, as is the forced answer.  A prompt that grows
        # by a round each time cannot exceed `reach` before all prompts together reach the cap.
        reach = head.high + sqrt(2 * budget.tokens * growth.high) + 2 * growth.high + ANSWER.high
        cap = budget.tokens + (at_once + 1) * min(max(part.largest for part in parts), reach)
        prompt, completion, tokens = (_at_most(span, cap) for span in (prompt, completion, tokens))
        calls = _at_most(calls, cap // (head.low + ANSWER.low))
        basis.append("The cap on tokens leaves room for the requests in flight and the forced answer.")
    whole = _sum([part.prompt for part in parts]).high, _sum([part.completion for part in parts]).high
    shares = [
        high / before if before else 1.0 for high, before in zip((prompt.high, completion.high), whole, strict=True)
    ]
    usd = _cost(recipe, models, parts, shares)
    if usd is not None and budget.usd is not None:
        dearest = max(_price(models(recipe.model_for(p.purpose)), 1, p.largest, ANSWER.high) or 0.0 for p in parts)
        usd = _at_most(usd, budget.usd + (at_once + 1) * dearest)
        basis.append("The cap on cost leaves room for the requests in flight and the forced answer.")
    if usd is not None and usd.high > 0:
        basis.append("Listed prices; what a provider keeps of earlier prompts costs less.")
    return Estimate(calls, prompt, completion, tokens, usd, " ".join(basis))


def _cost(
    recipe: Recipe, models: Callable[[str], Model], parts: Sequence[_Part], shares: Sequence[float]
) -> Span | None:
    low = high = 0.0
    for part in parts:
        model = models(recipe.model_for(part.purpose))
        least = _price(model, part.calls.low, part.prompt.low, part.completion.low)
        most = _price(model, part.calls.high, part.prompt.high * shares[0], part.completion.high * shares[1])
        if least is None or most is None:
            return None
        low, high = low + least, high + most
    return Span(low, max(low, high))


def _price(model: Model, calls: float, prompt: float, completion: float) -> float | None:
    """Return the price of that many calls of equal size, since some prices rise with the size of a prompt."""
    if not isinstance(model, Priced):
        return None
    if not calls:
        return 0.0 if model.price(Usage()) is not None else None
    each = model.price(Usage(ceil(prompt / calls), ceil(completion / calls)))
    return None if each is None else calls * each


def _sum(spans: Sequence[Span]) -> Span:
    return Span(sum(span.low for span in spans), sum(span.high for span in spans))


def _at_most(span: Span, cap: float) -> Span:
    return Span(min(span.low, cap), min(span.high, cap))


def _between(span: Span, write: Callable[[float], str]) -> str:
    low, high = write(span.low), write(span.high)
    if high[-1].isalpha() and low.isdecimal():
        low = f"{span.low / 1_000:.1g} k"  # "697–820 k" would look like thousands on both sides
    return low if low == high else f"{low}–{high}"


def _short(number: float) -> str:
    """Return the number in two digits: `812`, `8 k`, `1.2 M`."""
    if number < 999.5:
        return f"{number:.0f}"
    if number < 999_500:
        return f"{number / 1_000:.1f} k".replace(".0 k", " k") if number < 9_950 else f"{number / 1_000:.0f} k"
    return f"{number / 1_000_000:.1f} M".replace(".0 M", " M")


def _money(usd: Span | None) -> str:
    if usd is None:
        return "cost unknown"
    return "free" if usd.high == 0 else f"${_between(usd, _cents)}"


def _cents(usd: float) -> str:
    return f"{usd:.2f}" if usd >= 0.095 or usd == 0 else f"{usd:.1g}" if usd >= 0.0001 else "0.0001"
