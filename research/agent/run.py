"""`Run`: what a framework is given.  It asks the model, uses tools, concludes, and has children.

A framework is a generator of events; `yield from run.ask()` emits events and returns the reply.  Retries, repair, budget,
journal and loop detection happen inside these calls, so that a framework reads like its paper's algorithm box.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from research import plugins
from research.agent import branches, prompts
from research.agent.context import MAIN, RunContext, Steps, T
from research.agent.conversation import Conversation
from research.agent.model_call import ModelCalls, Prompt, Reads
from research.agent.tool_calls import MOST_CALLS, ToolCalls
from research.agent.toolbox import Local
from research.errors import LimitReached, NeedsInput, ProviderError
from research.events.events import ChildFinished, ChildStarted, Concluding, ReportUpdated, WaitingForUser, Warned
from research.events.recipe import Recipe
from research.events.transcript import Composed, Interaction, Transcript
from research.types import Answer, Message, Observation, Outcome, Reply, ToolSpec


class Run(Conversation):
    """One agent working on one question."""

    def __init__(
        self,
        question: str,
        recipe: Recipe,
        context: RunContext,
        *,
        agent: str = MAIN,
        prompt: str = "",
        tools: Sequence[ToolSpec] = (),
        reflections: Sequence[str] = (),
    ) -> None:
        """`prompt` names the system prompt; empty: the framework's.  `tools` are offered besides the recipe's."""
        super().__init__(question, recipe, context, agent, prompt, tools)
        self._transcript = Transcript(question, reflections=tuple(reflections))
        self._model_calls = ModelCalls(agent, recipe, context, self.protocol, self._tokens)
        self._tool_calls = ToolCalls(agent, self.language, context)
        if agent == MAIN:
            context.add_user_text(question)
            if context.journal.adopted:
                self._transcript = context.journal.adopted_transcript(question, self.protocol.name)
                self._model_calls.asks = context.journal.asks

    @property
    def prompt_tokens(self) -> int:
        """Estimated size of the last request."""
        return self._model_calls.prompt_tokens

    def ask(
        self,
        purpose: str = "act",
        *,
        messages: Sequence[Message] | None = None,
        extra: str = "",
        tools: Sequence[ToolSpec] | None = None,
        reads: Reads | None = None,
        limits: bool = True,
        must_call: bool = False,
        schema: dict[str, Any] | None = None,
        report: bool = False,
    ) -> Steps[Reply]:
        """Ask the model to continue the conversation that the context strategy composes, or `messages`.

        `extra` is a last user message.  `tools` are offered (None: all of the run's; empty: none).  `reads` raises
        `FormatError` for an unusable reply; the model is shown the message and asked again.  `must_call`, `schema`
        and `report` constrain the reply if the provider can (see `Request`).  `limits` False: asks even without budget.
        Raises `LimitReached`, `ProviderError`, `RunPaused`, `Stopped`.
        """
        last = (Message("user", extra),) if extra else ()
        composed = messages is None
        messages = (*((yield from self._compose()) if messages is None else messages), *last)
        recorded = self._model_calls.next_recorded()
        if recorded is not None:
            return recorded
        if limits:
            self.context.meter.admit()
        offered = self.tools if tools is None else tuple(tools)
        request = self._model_calls.request(
            messages, purpose, offered, must_call=must_call, schema=schema, report=report
        )

        def shorten() -> Steps[Prompt]:
            dropped = self._drop_older_half()
            text = f"The prompt is too long for the model: observations of rounds 1 to {dropped} were dropped."
            yield Warned(agent=self.agent, kind="context", text=text)
            return self._prompt_of((*(yield from self._compose()), *last), purpose, composed=True)

        prompt = self._prompt_of(messages, purpose, composed=composed)
        return (yield from self._model_calls.converse(prompt, request, offered, reads, shorten if composed else None))

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

    def use(
        self, reply: Reply, local: Mapping[str, Local] | None = None, *, most: int = MOST_CALLS
    ) -> Steps[tuple[Observation, ...]]:
        """Run the calls of a reply in parallel and add the round to the transcript.

        Each call gets exactly one observation, in order; one failure does not affect the others.  `local` are the
        framework's own tools, by name; calls after the first `most` are refused.  When a limit is reached no call runs,
        and `LimitReached` is raised after the round was added.
        """
        observations, hint, limit = yield from self._tool_calls.use(reply, local or {}, most)
        self.add_round(reply, observations, hint)
        if limit:
            raise limit
        return observations

    def add_round(self, reply: Reply, observations: Sequence[Observation] = (), hint: str = "") -> None:
        """Add a round to the transcript; `use` does this itself."""
        self._transcript = self._transcript.add(Interaction(reply, tuple(observations), hint))

    def conclude(self, reason: Outcome) -> Steps[Answer]:
        """Ask for the forced last answer, without tools, so that every run ends with an answer and a reason.

        When cost or time is spent no request is made, and the answer lists what was seen.  The same holds for a child
        when the shared budget is spent: at most one request exceeds the budget, however many children there are.
        """
        yield from self.context.mark(Concluding(agent=self.agent, reason=reason))
        if reason in ("cost", "time"):
            return Answer(self.known(), reason)
        instruction = prompts.text("conclude", self.language, reason=reason)
        try:
            reply = yield from self.ask("conclude", extra=instruction, tools=(), limits=self.agent != MAIN)
        except (LimitReached, ProviderError):
            return Answer(self.known(), reason)
        return Answer(reply.answer or self.known(), reason)

    def ask_user(self, reply: Reply) -> Steps[str]:
        """Show the agent's question to the user and return the reply; the run waits for it."""
        yield from self.context.mark(WaitingForUser(agent=self.agent, prompt=reply.answer))
        text = self.context.journal.user_reply(self.agent)
        if text is None:
            self.context.check_stop()
            raise NeedsInput(reply.answer)
        self.context.add_user_text(text)
        self.add_round(reply, hint=text)
        return text

    def rephrase(self, question: str) -> None:
        """Replace the question in the prompts from now on."""
        self._question = question

    def offer(self, tools: Sequence[ToolSpec]) -> None:
        """Replace the tools that the agent may call."""
        self._tools = tuple(tools)

    def report(self, text: str) -> Steps[None]:
        """Replace the evolving report."""
        if not text:
            return
        changed = text != self.transcript.report
        self._transcript = msgspec.structs.replace(self.transcript, report=text, report_covers=self.transcript.length)
        if changed:
            yield from self.context.mark(ReportUpdated(agent=self.agent, report=text))

    def child(
        self,
        name: str,
        question: str | None = None,
        *,
        prompt: str = "",
        tools: Sequence[ToolSpec] = (),
        reflections: Sequence[str] = (),
        **changes: Any,
    ) -> Run:
        """Return a sub-agent with its own transcript and a share of the same budget; `changes` are fields of its recipe."""
        # A child's framework has options of its own.
        if changes.get("framework", self.recipe.framework) != self.recipe.framework:
            changes.setdefault("framework_options", {})
        recipe = msgspec.structs.replace(self.recipe, **changes)
        agent = f"{self.agent}/{name}"
        about = question or self.question
        return Run(about, recipe, self.context, agent=agent, prompt=prompt, tools=tools, reflections=reflections)

    def work(self) -> Steps[Answer]:
        """Run the recipe's framework to its answer; when the budget is spent, `conclude`."""
        entry = plugins.framework.get(self.recipe.framework)
        try:
            answer: Answer = yield from entry.function(self, **entry.parse(self.recipe.framework_options))
        except LimitReached as limit:
            answer = yield from self.conclude(limit.limit)
        if entry.writes_report and not answer.report:
            answer = msgspec.structs.replace(answer, report=self.transcript.report)
        return answer

    def delegate(self, child: Run, work: Steps[Answer] | None = None) -> Steps[Answer]:
        """Run a child to its answer, by its framework or by `work`, between its start and end events."""
        started = ChildStarted(agent=child.agent, question=child.question, recipe=child.recipe.label)
        yield from self.context.mark(started)
        answer = yield from (work or child.work())
        yield from self.context.mark(ChildFinished(agent=child.agent, outcome=answer.outcome, answer=answer.text))
        return answer

    def together(self, steps: Sequence[Steps[T]], limit: int = 5) -> Steps[list[T]]:
        """Run several generators in threads, at most `limit` at once; return their results in the order given."""
        return branches.together(steps, limit, self.agent)

    def _compose(self) -> Steps[tuple[Message, ...]]:
        """Return the context strategy's messages, and store the summary or report that comes with them."""
        entry = plugins.context.get(self.recipe.context)
        composed: Composed | Steps[Composed] = entry.function(self, **entry.parse(self.recipe.context_options))
        if isinstance(composed, Generator):
            composed = yield from composed
        self._bound = composed.bound
        if composed.report:
            yield from self.report(composed.report.text)
            self._transcript = msgspec.structs.replace(self._transcript, report_covers=composed.report.covers)
        if composed.summary:
            self._transcript = msgspec.structs.replace(self._transcript, summary=composed.summary)
        return tuple(composed.messages)

    def _prompt_of(self, messages: tuple[Message, ...], purpose: str, *, composed: bool) -> Prompt:
        model = self.context.models(self.recipe.model_for(purpose)).name
        shown = len(self._rounds_shown) if composed else 0
        return Prompt(messages, self.transcript.length, shown, window=self._window(model, composed=composed))
