"""`Dialogue`: what one agent says to its model, and to the user."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from research import plugins, prompts
from research._util.said import say
from research.agent.asking import asks_user
from research.agent.context import MAIN, RunContext, Steps
from research.agent.conversation import Conversation
from research.agent.model_call import USUAL, ModelCalls, Prompt, Reads, Terms
from research.errors import FormatError, ProviderError
from research.events.branches import step_purposes
from research.events.events import ReportUpdated, Warned
from research.events.recipe import Recipe
from research.events.transcript import Composed, Interaction
from research.parsing.calls import FINAL_ANSWER
from research.parsing.leaks import calls_in
from research.types import Message, Observation, Reply, ToolSpec


class Dialogue(Conversation):
    """One agent's requests to its model, and its questions to the user."""

    def __init__(
        self, question: str, recipe: Recipe, context: RunContext, agent: str, prompt: str, tools: Sequence[ToolSpec]
    ) -> None:
        super().__init__(question, recipe, context, agent, prompt, tools)
        self._spoken = self.protocol.name
        """The protocol of the last request."""
        self._model_calls = ModelCalls(agent, recipe, context, self.protocol, self._tokens, self.language)
        if agent == MAIN:
            for text in (question, *(each.reply for each in context.journal.exchanges)):
                context.add_user_text(text)
            if context.journal.adopted:
                self._model_calls.asks = context.journal.asks

    @property
    def question(self) -> str:
        """The question, with the user's replies to questions about it."""
        told = self.context.journal.told(self.agent, self._model_calls.asks + 1)
        return "\n".join([self._question, *(self._replied(each.question, each.reply) for each in told)])

    @property
    def prompt_tokens(self) -> int:
        """Estimated size of the last request."""
        return self._model_calls.prompt_tokens

    @property
    def requests(self) -> int:
        """Number of the last request."""
        return self._model_calls.asks

    def take_request(self, number: int) -> None:
        """Count a recorded request and its cost without making it."""
        self._model_calls.asks = number - 1
        self._model_calls.next_recorded()

    def ask(
        self,
        purpose: str = "act",
        *,
        messages: Sequence[Message] | None = None,
        extra: str = "",
        tools: Sequence[ToolSpec] | None = None,
        reads: Reads | None = None,
        terms: Terms = USUAL,
    ) -> Steps[Reply]:
        """Ask the model to continue the conversation that the context strategy composes, or `messages`.

        If the reply asks the user for a missing detail, waits for the user's answer and asks the model again.

        `extra` is a last user message.  `tools` are offered (None: all of the run's; empty: none).  `reads` raises
        `FormatError` for an unusable reply; the model is shown the message and asked again.
        Raises `LimitReached`, `NeedsInput`, `ProviderError`, `RunPaused`, `Stopped`.
        """
        steps = self.asks and purpose in step_purposes()

        def asks_back(reply: Reply) -> bool:
            return steps and self._is_question(reply)

        def check(reply: Reply) -> None:
            if reads is not None and not asks_back(reply):
                reads(reply)
            elif terms.schema is None and tools is not None and not tools and calls_in(reply.answer, self.tools):
                raise FormatError(say("No tool can be called any more. Give the answer from what is known."))

        self._rounds = terms.rounds or self._rounds
        while True:
            number = self._model_calls.asks
            try:
                with self._protocol_for(purpose, terms):
                    reply = yield from self._request(purpose, messages, extra, tools, check)
            except ProviderError as error:
                yield from self._without_tools(error, purpose, number)
                continue
            if not asks_back(reply):
                return reply
            if messages is None:
                yield from self.ask_user(reply)
            else:
                text = self._reply_to(reply.answer)
                messages = (
                    *messages,
                    Message("assistant", reply.text),
                    Message("user", self._replied(reply.answer, text)),
                )

    def _without_tools(self, error: ProviderError, purpose: str, number: int) -> Steps[None]:
        """Let the request after this number be made again in tagged text, if the service refused its tools."""
        if self.recipe.protocol == "native" or self._protocol_of(purpose).name == self._spoken:
            raise error
        self._model_calls.asks, self.context.failure = number, ""
        text = f"{str(error).rstrip('.')}. It is asked in tagged text now."
        yield from self.context.mark(Warned(agent=self.agent, kind="model", text=text))

    def _request(
        self,
        purpose: str,
        messages: Sequence[Message] | None,
        extra: str,
        tools: Sequence[ToolSpec] | None,
        reads: Reads,
    ) -> Steps[Reply]:
        """Make one request, or take its reply from the journal; see `ask`."""
        last = (Message("user", extra),) if extra else ()
        composed = messages is None
        messages = (*((yield from self._compose()) if messages is None else messages), *last)
        recorded = self._model_calls.next_recorded()
        if recorded is not None:
            return recorded
        if self._terms.limits:
            self.context.meter.admit()
        offered = self.tools if tools is None else tuple(map(self.worded, tools))
        if self._terms.must_act:
            offered = (*offered, self.worded(FINAL_ANSWER))
        request = self._model_calls.request(messages, purpose, offered, self._terms)

        def shorten() -> Steps[Prompt]:
            dropped = self._drop_older_half()
            text = f"The prompt is too long for the model: observations of rounds 1 to {dropped} were dropped."
            yield Warned(agent=self.agent, kind="context", text=text)
            return self._prompt_of((*(yield from self._compose()), *last), purpose, composed=True)

        prompt = self._prompt_of(messages, purpose, composed=composed)
        return (yield from self._model_calls.converse(prompt, request, offered, reads, shorten if composed else None))

    @contextmanager
    def _protocol_for(self, purpose: str, terms: Terms) -> Iterator[None]:
        """Set the protocol for this purpose's model, and make the prompt say what the reply must be."""
        before, self.protocol = self.protocol, self._protocol_of(purpose)
        verbatim, self._verbatim = self._verbatim, self._verbatim_for(purpose)
        asked = self._terms
        must_act = terms.must_act and self.protocol.name == "native"
        self._terms = msgspec.structs.replace(terms, must_act=must_act)
        self._model_calls.protocol = self.protocol
        try:
            yield
        finally:
            self._spoken = self.protocol.name
            self.protocol = self._model_calls.protocol = before
            self._verbatim = verbatim
            self._terms = asked

    def _is_question(self, reply: Reply) -> bool:
        """Return whether a reply asks the user; what an earlier version recorded as a question stays one."""
        waited = self.context.journal.next_prompt(self.agent)
        return asks_user(reply) or bool(reply.answer) and reply.answer == waited

    def ask_user(self, reply: Reply) -> Steps[str]:
        """Put the question of a reply to the user, add the round, and return what the user replied.

        `ask` does this itself.  Raises `NeedsInput` while there is no reply.
        """
        text = self._reply_to(reply.answer)
        yield from self.report(reply.report)
        self.add_round(reply, hint=text)
        return text

    def _reply_to(self, question: str) -> str:
        return self.context.user_reply(self.agent, question, ask=self._model_calls.asks)

    def _replied(self, question: str, reply: str) -> str:
        return prompts.text("replied", self.language, asked=" ".join(question.split()), reply=reply)

    def recorded_purpose(self) -> str:
        """Return the purpose of the next request whose reply the journal contains; empty if there is none."""
        recorded = self.context.journal.reply(self.agent, self._model_calls.asks + 1)
        return recorded.purpose if recorded else ""

    def recorded_verdicts(self) -> Steps[dict[tuple[Message, ...], Reply]]:
        """Take the requests to the judge that come next in the journal; return their messages and replies."""
        found: dict[tuple[Message, ...], Reply] = {}
        while (messages := self.context.journal.asked_judge(self.agent, self._model_calls.asks + 1)) is not None:
            found[messages] = yield from self.ask("verify", messages=messages, tools=())
        return found

    def add_round(self, reply: Reply, observations: Sequence[Observation] = (), hint: str = "") -> None:
        """Add a round to the transcript; `use` does this itself."""
        if self._spoken != self._own_protocol:
            self._written_under[self.transcript.length] = self._spoken
        left = self.context.meter.tokens_left
        interaction = Interaction(reply, tuple(observations), hint, tokens_left=left)
        self._write(interactions=(*self.transcript.interactions, interaction))

    def report(self, text: str) -> Steps[None]:
        """Replace the evolving report."""
        if not text:
            return
        changed = text != self.transcript.report
        self._write(report=text, report_covers=self.transcript.length)
        if changed:
            yield from self.context.mark(ReportUpdated(agent=self.agent, report=text))

    def _compose(self) -> Steps[tuple[Message, ...]]:
        """Return the context strategy's messages, and store the summary or report they come with."""
        entry = plugins.context.get(self.recipe.context)
        composed: Composed | Steps[Composed] = entry.function(self, **entry.parse(self.recipe.context_options))
        if isinstance(composed, Generator):
            composed = yield from composed
        if composed.report:
            yield from self.report(composed.report.text)
            self._write(report_covers=composed.report.covers)
        if composed.summary:
            self._write(summary=composed.summary)
        return tuple(self.without_repeats(composed.messages))

    def _prompt_of(self, messages: tuple[Message, ...], purpose: str, *, composed: bool) -> Prompt:
        model = self.context.models(self.recipe.model_for(purpose)).name
        shown = self._rounds_shown(messages) if composed else 0
        return Prompt(messages, self.transcript.length, shown, window=self._window(model, composed=composed))
