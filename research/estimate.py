"""What a run will take, before it starts: a range of model calls, tokens and dollars, from the recipe alone.

The ends are what can be known: the low one is a run that finds its answer with the first search, the high one uses every
round it may.  Most runs end far below the high end.  What is assumed beside the options stands in `basis`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, sqrt
from typing import Any

from msgspec import Struct

from research import registry
from research.recipe import Recipe
from research.text import estimate_tokens, language_of
from research.toolbox import OUTPUT_LIMIT
from research.types import Model, Priced, Usage


class Span(Struct, frozen=True):
    """From the least to the most that is expected."""

    low: float
    high: float


class Estimate(Struct, frozen=True):
    """What a run is expected to take."""

    calls: Span
    prompt_tokens: Span
    completion_tokens: Span
    tokens: Span
    """Both together; with a cap on tokens less than the sum of their high ends."""
    usd: Span | None
    """None when a model's price is unknown, 0 to 0 when all are known to be free."""
    basis: str
    """What the numbers rest on, in a sentence or two."""

    def line(self) -> str:
        """`3–30 calls, 8 k–240 k tokens, $0.01–0.35`."""
        calls = "call" if self.calls.high == 1 else "calls"
        return f"{_between(self.calls, _short)} {calls}, {_between(self.tokens, _short)} tokens, {_money(self.usd)}"


# What a framework asks for ---------------------------------------------------------------------------------------------


class Loop(Struct, frozen=True, kw_only=True):
    """Agents of one kind, each asking round after round until it answers or is made to."""

    rounds: int
    """Requests at most, without the forced answer."""
    purpose: str = "act"
    agents: Span = Span(1, 1)
    least: int = 2
    """Requests of the shortest way: a search and the answer."""
    forced: int = 1
    """Requests for the forced answer."""
    earlier: Span = Span(0, 0)
    """Rounds of tools that lie before the first request."""
    largest: int | None = None
    """Tokens of a prompt at which the loop ends."""
    report: float = 0
    """Tokens of a report that each reply writes anew."""
    notes: float = 0
    """Tokens at most that the framework adds to the system prompt."""
    context: str = ""
    """Strategy, where it is not the recipe's."""


class Call(Struct, frozen=True, kw_only=True):
    """Requests with a conversation of their own."""

    purpose: str
    count: Span = Span(1, 1)
    reads: Span
    """Tokens that are read, beside the instructions."""


Work = Sequence[Loop | Call]
Formula = Callable[[Mapping[str, Any]], Work]
"""From a framework's options to what it asks for; a framework may bring its own as the trait `work`."""

INSTRUCTIONS = Span(150, 900)
"""Tokens of a system prompt without the tools."""
TOOL = Span(50, 250)
"""Tokens of a tool's description; a model that takes it apart from the messages may not count it."""
ANSWER = Span(10, 1_000)
"""Tokens of a reply, with what a model thinks before it; over many rounds, the mean."""
FOUND = Span(50, 500)
"""Tokens that a round adds to the history beside one full observation: the call, and more observations."""
SECTIONS = 10
"""Most sections that a supervisor names."""


def _rounds(options: Mapping[str, Any]) -> Work:
    """The rule for a framework that says nothing else: a loop of its `rounds`; two to ten requests if it has none."""
    return [Loop(rounds=int(options.get("rounds", 10)))]


def _tool_rounds(options: Mapping[str, Any]) -> Work:
    return [Loop(rounds=options["rounds"], largest=3 * options["max_tokens"])]


def _iter_research(options: Mapping[str, Any]) -> Work:
    rounds = options["rounds"]
    return [Loop(rounds=rounds - 1, least=min(2, rounds), report=options["report_tokens"])]


def _rewoo(options: Mapping[str, Any]) -> Work:
    return [
        Call(purpose="plan", reads=Span(0, 1_000)),
        Call(purpose="worker", count=Span(0, 5), reads=Span(0, ANSWER.high)),
        Loop(rounds=1, purpose="solve", least=1, forced=0, earlier=Span(1, 12)),
    ]


def _reflexion(options: Mapping[str, Any]) -> Work:
    trials = options["trials"]
    judged = Span(1, trials) if options["evaluator"] == "self" else Span(0, 0)
    told = Span(0, trials - 1) if options["memory"] in ("reflexion", "both") else Span(0, 0)
    return [
        Loop(rounds=options["rounds"], agents=Span(1, trials), notes=3 * ANSWER.high),
        Call(purpose="evaluate", count=judged, reads=Span(50, 4_000)),
        Call(purpose="reflect", count=told, reads=Span(50, 4_000)),
    ]


def _parallel(options: Mapping[str, Any]) -> Work:
    n, branch = options["n"], registry.framework.get(options["branch"])
    inner = _formula(branch)({option.name: option.default for option in branch.options} | {"rounds": options["rounds"]})
    context = "evolving" if options["branch"] == "iter_research" else ""
    each = [part for part in inner if isinstance(part, Loop)]
    return [
        *(_replaced(part, agents=Span(n, n), context=context) for part in each),
        Call(purpose="synthesise", reads=Span(n * 10, n * 2 * ANSWER.high)),
    ]


def _supervisor(options: Mapping[str, Any]) -> Work:
    planning, written = options["planning"], SECTIONS * ANSWER.high
    return [
        Loop(rounds=planning, purpose="outline", least=1, forced=0),
        Loop(rounds=options["rounds"], purpose="research", agents=Span(1, SECTIONS), forced=0),
        Loop(rounds=1, purpose="introduce", least=1, forced=0, earlier=Span(0, planning), notes=written),
        Loop(rounds=1, purpose="finish", least=1, forced=0, earlier=Span(1, planning + 1), notes=written),
    ]


FORMULAS: dict[str, Formula] = {
    "tool_rounds": _tool_rounds,
    "iter_research": _iter_research,
    "rewoo": _rewoo,
    "reflexion": _reflexion,
    "parallel": _parallel,
    "supervisor": _supervisor,
}
"""Of the frameworks that do more than a loop of `rounds`."""


def _formula(entry: registry.Entry[Callable[..., Any]]) -> Formula:
    formula: Formula = entry.traits.get("work") or FORMULAS.get(entry.id, _rounds)
    return formula


# What a context strategy shows -----------------------------------------------------------------------------------------

Shown = Callable[[int, float], float]
"""From the rounds that lie behind a request, and the tokens of each, to the tokens of them that it shows."""


def _shown(context: str, options: Mapping[str, Any], per_token: float) -> Shown:
    match context:
        case "window":
            return lambda behind, each: min(behind, options["k"]) * each
        case "resum":
            # A round more than fits: the summary is made when it has become too long.
            room = options["threshold"] * options["max_tokens"]
            return lambda behind, each: min(behind * each, max(room, each) + each)
        case "evolving":
            room = options["observation"] / per_token + ANSWER.high
            return lambda behind, each: min(1, behind) * min(each, room)
        case _:  # the whole history; a strategy that is not known here shows no more than that
            return lambda behind, each: behind * each


# Putting it together ---------------------------------------------------------------------------------------------------


class _Part(Struct, frozen=True):
    """Requests for one purpose, with the tokens of all of them."""

    purpose: str
    calls: Span
    prompt: Span
    completion: Span
    largest: float
    """Tokens of the largest single request and its reply."""


def estimate(recipe: Recipe, question: str, *, models: Callable[[str], Model]) -> Estimate:
    """What this recipe will take for this question.  Raises `ConfigError` for a name or option that is wrong."""
    entry = registry.framework.get(recipe.framework)
    options = {option.name: option.default for option in entry.options} | entry.parse(recipe.framework_options)
    language = recipe.language if recipe.language != "auto" else language_of(question)
    per_token = 1.5 if language == "zh" else 4.0  # characters, as `estimate_tokens` counts them
    growth = Span(FOUND.low, FOUND.high + OUTPUT_LIMIT / per_token)
    native = models(recipe.model).native if recipe.protocol == "auto" else recipe.protocol == "native"
    head = _head(recipe, question, native=native)
    parts: list[_Part] = []
    at_once = 1.0
    for piece in _formula(entry)(options):
        if isinstance(piece, Call):
            parts.append(_call(piece, question))
        else:
            parts += _loop(piece, recipe, head, growth, per_token)
            at_once = max(at_once, piece.agents.high)
    return _capped(recipe, models, [part for part in parts if part.calls.high], head, at_once, growth)


def _head(recipe: Recipe, question: str, *, native: bool) -> Span:
    """Tokens of system prompt and question; children repeat it in words of their own."""
    asked, tools = estimate_tokens(question), len(recipe.tools)
    described = 0 if native else TOOL.low * tools
    # Frameworks have tools of their own, and a server may bring twenty.
    most = tools + 5 + 20 * len(recipe.mcp)
    return Span(INSTRUCTIONS.low + described + asked / 2, INSTRUCTIONS.high + TOOL.high * most + 2 * asked)


def _loop(loop: Loop, recipe: Recipe, head: Span, growth: Span, per_token: float) -> list[_Part]:
    context = loop.context or recipe.context
    strategy = registry.context.get(context)
    given = recipe.context_options if context == recipe.context else {}
    options = {option.name: option.default for option in strategy.options} | strategy.parse(given)
    shown = _shown(context, options, per_token)
    each = growth.high + loop.report
    first, last = int(loop.earlier.high), int(loop.earlier.high) + loop.rounds + loop.forced
    top = [head.high + loop.notes + loop.report + shown(behind, each) for behind in range(first, last)]
    if loop.largest is not None:
        # The loop looks at the prompt it sent last, so that one request and the forced answer may go beyond.
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
    behind = last - 1
    if context == "evolving" and not registry.framework.get(recipe.framework).traits.get("context") and not loop.report:
        scribed = Call(
            purpose="scribe", count=Span(agents.low * (least - 1), agents.high * behind),
            reads=Span(growth.low, growth.high + ANSWER.high),
        )  # fmt: skip
        parts.append(_call(scribed, ""))
    if context == "resum":
        room = options["threshold"] * options["max_tokens"]
        times = min(behind, ceil(behind * each / max(1.0, room - head.high))) if room > head.high else behind
        summed = Call(purpose="summarise", count=Span(0, agents.high * times), reads=Span(0, max(room, each) + each))
        parts.append(_call(summed, ""))
    return parts


def _call(call: Call, question: str) -> _Part:
    """Its instructions are short, and hold the question."""
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
        # What is in flight when a cap is reached is still paid for, and so is the forced answer.  A prompt that grows by
        # a round each time cannot be larger than this before the prompts together reach the cap.
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
    """Of that many calls of the same size: prices can rise with the size of a prompt."""
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


def _replaced(loop: Loop, **changes: Any) -> Loop:
    from msgspec.structs import replace

    return replace(loop, **changes)


def _between(span: Span, write: Callable[[float], str]) -> str:
    low, high = write(span.low), write(span.high)
    if high[-1].isalpha() and low.isdecimal():
        low = f"{span.low / 1_000:.1g} k"  # "697–820 k" would read as thousands on both sides
    return low if low == high else f"{low}–{high}"


def _short(number: float) -> str:
    """`812`, `8 k`, `1.2 M`: two figures say enough of an estimate."""
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
