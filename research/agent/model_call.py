"""Asking the model: streams the reply, retries provider errors, parses the reply, and asks again if that fails."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from research._util.nul import without_nul
from research._util.said import speaking
from research.agent.context import MAIN, RunContext, Steps
from research.agent.cut_off import gone_on, is_cut_answer, kept
from research.agent.reply_stream import ReplyStream, priced
from research.errors import FormatError, LimitReached, ProviderError, RunPaused, StoreUnavailable
from research.events.branches import step_purposes
from research.events.events import Asked, Rejected, Replied, Warned, Withdrawn
from research.events.recipe import Recipe
from research.models import tokens
from research.models.traits import Yielding
from research.protocols.protocol import CallProtocol
from research.text import clip
from research.types import Completion, Message, Model, Reply, Request, ToolSpec, Usage

Reads = Callable[[Reply], object]
"""Checks a reply; to reject it, raises `FormatError`, and the model is shown the message and asked again."""

TRIES = 3
"""Times a request is sent before a retryable provider error pauses the run."""
REASKS = 3
"""Times the model is asked again after a reply that cannot be parsed."""
REFUSALS = 1
"""Refusals after which the model is asked again."""
WARN_FROM_S = 1.0
"""A longer wait for the rate limit causes a warning, once per run."""


class Prompt(Struct, frozen=True):
    """The messages of a request, and the figures for its `Asked` event."""

    messages: tuple[Message, ...]
    rounds: int
    """Rounds so far."""
    rounds_shown: int = 0
    """Rounds whose observations the messages contain."""
    window: int = 0
    """Largest prompt, in tokens; 0: unknown."""


class Terms(Struct, frozen=True):
    """How the model is asked, apart from the messages."""

    must_call: bool = False
    """Like `schema` and `report`, constrains the reply if the provider can (see `Request`)."""
    must_act: bool = False
    """Under the native protocol the reply must call a tool; `final_answer` is offered, since no other reply would end the run."""
    schema: dict[str, Any] | None = None
    report: bool = False
    rounds: int = 0
    """The limit of rounds that this and later prompts state."""
    limits: bool = True
    """False: the model is asked even without budget."""


USUAL = Terms()

Shorten = Callable[[], Steps[Prompt]]
"""Composes the prompt again with less in it.  Raises `LimitReached` when nothing is left to drop."""


class ModelCalls:
    """The requests of one agent to its models."""

    def __init__(
        self,
        agent: str,
        recipe: Recipe,
        context: RunContext,
        protocol: CallProtocol,
        count: tokens.Counter,
        language: str,
    ) -> None:
        self.agent = agent
        self.language = language
        self.recipe = recipe
        self.context = context
        self.protocol = protocol
        self.sent: tuple[Message, ...] = ()
        """The messages of the last request; an `Asked` event contains only those that differ."""
        self.prompt_tokens = 0
        """Estimated size of the last request."""
        self.count = count
        self.asks = 0
        """Number of the last request."""
        self.cut_answer = ""
        """The beginning of an answer that the budget cut off."""
        self._uncounted: dict[str, int] = {}
        """By model, tokens of its last reply that the rate limit has not counted yet."""

    def next_recorded(self) -> Reply | None:
        """Count another request; return the reply that the journal contains for it, if any."""
        self.asks += 1
        recorded = self.context.journal.reply(self.agent, self.asks)
        if recorded is None:
            return None
        self.context.meter.spend(recorded.usage)
        return recorded.reply

    def request(
        self, messages: tuple[Message, ...], purpose: str, offered: Sequence[ToolSpec], terms: Terms
    ) -> Request:
        """Return a request with the recipe's temperature and seed, and the tools as the protocol offers them."""
        return Request(
            messages,
            self.protocol.offer(offered),
            purpose,
            self.agent,
            self.protocol.stop,
            self.recipe.temperature,
            must_call=(terms.must_call or terms.must_act) and self.protocol.name == "native",
            schema=terms.schema,
            report=terms.report,
            seed=self.recipe.seed,
        )

    def converse(
        self,
        prompt: Prompt,
        request: Request,
        offered: Sequence[ToolSpec],
        reads: Reads | None,
        shorten: Shorten | None,
    ) -> Steps[Reply]:
        """Call the model and parse its reply; ask again while that fails.  Rejected replies are events, not history.

        `shorten` is called when the prompt is too long for the model; None: the caller gave the messages.
        """
        ask = self.asks  # composing a shorter prompt may itself make requests
        model = self.context.models(self.recipe.model_for(request.purpose))
        messages = prompt.messages
        yield from self._warn_of_protocol(model)
        written, refusals = "", 0
        for attempt in range(REASKS + 1):
            self.context.check_pause()
            messages = tuple(map(_without_nul, messages))
            request = msgspec.structs.replace(request, messages=messages)
            yield self._asked(prompt, request, ask, model, offered)
            started = time.monotonic()
            try:
                completion = yield from self._call(model, request, ask)
                shorter = shorten is not None and prompt.rounds_shown > 1 and attempt < REASKS
                yield from self._check_cut(model, completion, ask, shorter=shorter)
            except ProviderError as error:
                first = self.agent == MAIN and not prompt.rounds  # nothing can be left out of it
                if not error.context_overflow or shorten is None or first:
                    self.context.failure = str(error)
                    raise
                prompt = yield from shorten()
                messages = prompt.messages
                continue
            yield from self._warn_of_server(model, completion)
            usage = self._spend(model, completion)
            before, completion = gone_on(written, completion, self.protocol, offered)
            written = completion.text if self._is_cut(completion, request, offered) else ""
            try:
                with speaking(self.language):
                    if written:
                        completion = kept(completion, go_on=attempt < REASKS and written != before)
                    reply = self._read(completion, ask, offered)
                    if reads is not None:
                        reads(reply)
            except FormatError as error:
                yield Rejected(agent=self.agent, ask=ask, text=completion.text, problem=str(error), usage=usage)
                self.context.failure = str(error)
                refusals += completion.finish_reason == "content_filter"
                if refusals > REFUSALS:
                    raise refused(model, completion) from error
                rejected = [Message("assistant", completion.text)] if completion.text.strip() else []
                messages = (*prompt.messages, *rejected, Message("user", str(error)))
                continue
            seconds = time.monotonic() - started
            yield Replied(agent=self.agent, ask=ask, purpose=request.purpose, reply=reply, usage=usage, seconds=seconds)
            return reply
        raise LimitReached("failed")

    def _is_cut(self, completion: Completion, request: Request, offered: Sequence[ToolSpec]) -> bool:
        return request.schema is None and is_cut_answer(completion, self.protocol, offered)

    def _asked(self, prompt: Prompt, request: Request, ask: int, model: Model, offered: Sequence[ToolSpec]) -> Asked:
        keep = tokens.common_prefix(self.sent, request.messages)
        self.sent, self.prompt_tokens = request.messages, self.count(request.messages, model.name)
        return Asked(
            agent=self.agent,
            ask=ask,
            round=prompt.rounds + 1,
            purpose=request.purpose,
            model=model.name,
            keep=keep,
            messages=request.messages[keep:],
            tools=tuple(tool.name for tool in offered),
            prompt_tokens=self.prompt_tokens,
            rounds_shown=prompt.rounds_shown,
            rounds_so_far=prompt.rounds,
            window=prompt.window,
            role=self.recipe.role_of(request.purpose),
            step=request.purpose in step_purposes(),
        )

    def _spend(self, model: Model, completion: Completion) -> Usage:
        """Count and return the usage that the service reports, or an estimate; with its cost if the price is known."""
        usage = completion.usage or Usage(
            self.prompt_tokens, tokens.count(completion.text + completion.reasoning, model.name), estimated=True
        )
        usage = priced(model, usage)
        self._uncounted[model.name] = usage.completion_tokens
        self.context.meter.spend(usage)
        return usage

    def _warn_of_server(self, model: Model, completion: Completion) -> Steps[None]:
        """Warn once of each parameter the service does not accept, such as a temperature that was never sent, and of
        impossible numbers."""
        if completion.false_usage:
            text = f"{model.name} reports numbers of tokens that cannot be true; they are estimated here."
            yield from self._warn_once(model, "usage", text)
        for name in model.left_out if isinstance(model, Yielding) else ():
            yield from self._warn_once(model, name, f"{model.name} does not accept {name}.")

    def _check_cut(self, model: Model, completion: Completion, ask: int, *, shorter: bool) -> Steps[None]:
        """Warn once if a server reports far fewer tokens than were sent: it probably cuts prompts silently.

        If a `shorter` prompt can be sent, raises `ProviderError` as for a refused one.
        """
        text = self.context.cut_prompts.notice(model.name, completion.usage, self.prompt_tokens)
        if text:
            yield from self._warn_once(model, "cut", text, kind="cut")
        if text and shorter:
            yield Rejected(
                agent=self.agent, ask=ask, text=completion.text, problem=text, usage=self._spend(model, completion)
            )
            raise ProviderError(text, context_overflow=True)

    def _warn_of_protocol(self, model: Model) -> Steps[None]:
        """Warn once of a role's model that has no native tool calls although the recipe asks for them."""
        if self.recipe.protocol == "native" and not model.native:
            yield from self._warn_once(
                model, "native", f"{model.name} has no native tool calls; it is asked in tagged text."
            )

    def _warn_once(self, model: Model, about: str, text: str, kind: Literal["cut", "model"] = "model") -> Steps[None]:
        """Warn of what a model's server does, once in the run."""
        if (model.name, about) not in self.context.warned_parameters:
            self.context.warned_parameters.add((model.name, about))
            yield from self.context.mark(Warned(agent=self.agent, kind=kind, text=text))

    def _read(self, completion: Completion, ask: int, tools: Sequence[ToolSpec]) -> Reply:
        prefix = re.sub(r"[^A-Za-z0-9]+", "-", self.agent)
        return self.protocol.read(completion, lambda index: f"{prefix}-{ask}-{index + 1}", tools)

    def _call(self, model: Model, request: Request, ask: int) -> Steps[Completion]:
        for attempt in range(1, TRIES + 1):
            yield from self._await_rate_limit(request.purpose)
            try:
                stream = ReplyStream(self.agent, ask, model, request, self.context)
                return (yield from stream.events(self.prompt_tokens))
            except LimitReached:
                self._keep_cut_answer(stream)
                raise
            except ProviderError as error:
                if not error.retryable:
                    raise
                # A pause loses nothing, and the framework cannot continue without a reply.
                if attempt == TRIES or error.at_work:
                    why = "; it may still be computed, so it is not sent again by itself" if error.at_work else ""
                    raise RunPaused(f"{error}{why}") from error
                backoff = random.uniform(0.5, 1.0) * 2 ** (attempt - 1)
                wait_s = error.retry_after_s if error.retry_after_s is not None else backoff
                yield Withdrawn(agent=self.agent, ask=ask, error=str(error), wait_s=wait_s)
                self.context.wait(wait_s)
        raise AssertionError("unreachable: the last try returns or raises")

    def _await_rate_limit(self, purpose: str) -> Steps[None]:
        """Wait until the administrator's rate limit admits another request."""
        name = self.recipe.model_for(purpose)
        count = self.prompt_tokens + self._uncounted.pop(name, 0)
        while (wait_s := _turn(self.context, name, count)) is None:  # the store that counts requests is unavailable
            self.context.wait(WARN_FROM_S)
        if wait_s > WARN_FROM_S and not self.context.warned_of_rate_limit:
            self.context.warned_of_rate_limit = True
            text = f"Requests to {name.partition(':')[0]} are limited here: each waits for its turn."
            yield from self.context.mark(Warned(agent=self.agent, kind="model", text=text))
        if wait_s > 0:
            self.context.wait(wait_s)

    def _keep_cut_answer(self, stream: ReplyStream) -> None:
        """Keep the words of a reply that the budget cut off, if they begin an answer to the user."""
        purpose, offered = stream.request.purpose, ()
        cut = Completion(stream.text, reasoning=stream.reasoning, finish_reason="length")
        if purpose in (*step_purposes(), "conclude") and self._is_cut(cut, stream.request, offered):
            with speaking(self.language):
                self.cut_answer = self._read(kept(cut, go_on=False, spent=True), self.asks, offered).answer


def _turn(context: RunContext, name: str, count: int) -> float | None:
    """Return the seconds until a request may be sent; None if that is unknown."""
    try:
        return context.services.rate_limit(name, count)
    except StoreUnavailable:
        return None


def refused(model: Model, completion: Completion) -> ProviderError:
    """Return the error for a refusal, with the model's words."""
    words = clip(" ".join(completion.text.split()), 300)
    return ProviderError(f"{model.name} refused to answer" + (f": {words}" if words else "; it gave no reason"))


def _without_nul(message: Message) -> Message:
    # The quick test first: a prompt of many rounds is checked in every round.
    found = "\0" in message.content or "\0" in (message.reasoning or "")
    return without_nul(message, Message) if found else message
