"""`Run`: what a framework is given.  It asks the model, uses tools, concludes, and has children.

A framework is a generator of events; `yield from run.ask()` emits events and returns the reply.  Retries, repair,
budget, journal and loop detection happen inside these calls, so a framework reads like its paper's algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from research import plugins, prompts
from research._util.said import say
from research.agent import concurrency
from research.agent.asking import ASK_USER, question_in
from research.agent.context import MAIN, RunContext, Steps, T
from research.agent.dialogue import Dialogue
from research.agent.model_call import Terms
from research.agent.page_reader import PageReader
from research.agent.tool_calls import MOST_CALLS, ToolCalls
from research.agent.toolbox import Local
from research.errors import LimitReached, ProviderError, ToolError
from research.events.events import ChildFinished, ChildStarted, Concluding
from research.events.recipe import Recipe
from research.types import Answer, Observation, Outcome, Reply, ToolCall, ToolSpec


class Run(Dialogue):
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
    ) -> None:
        """`prompt` names the system prompt; empty: the framework's.  `tools` are offered besides the recipe's.

        An agent with its own prompt has a part of the work and does not ask the user.
        """
        super().__init__(question, recipe, context, agent, prompt, tools)
        self._tool_calls = ToolCalls(
            agent,
            self.language,
            context,
            novelty=recipe.novelty,
            page_reader=PageReader(lambda: self.child("reader"), context.services.embedder)
            if recipe.reads_pages
            else None,
        )

    def use(
        self,
        reply: Reply,
        local: Mapping[str, Local] | None = None,
        *,
        most: int = MOST_CALLS,
        asking: str = ASK_USER,
    ) -> Steps[tuple[Observation, ...]]:
        """Run the calls of a reply in parallel and add the round to the transcript.

        Each call gets exactly one observation, in order; one failure does not affect the others.  `local` are the
        framework's own tools, by name; calls after the first `most` are refused.  The tool `asking` takes a question to
        the user, whose reply is the observation.  When a limit is reached no call runs, and `LimitReached` is raised
        after the round was added.
        """
        local = dict(local or {})
        if self.asks:
            local[asking] = self._user_replies([call for call in reply.calls[:most] if call.name == asking])
        observations, hint, limit = yield from self._tool_calls.use(reply, local, most)
        self.add_round(reply, observations, hint)
        if limit:
            raise limit
        return observations

    def _user_replies(self, calls: Sequence[ToolCall]) -> Local:
        """Return the tool that asks the user, with the replies to these calls; the run waits for missing ones."""
        asked = dict.fromkeys(filter(None, map(question_in, (call.arguments for call in calls))))
        replies = {question: self._reply_to(question) for question in asked}

        def reply(arguments: dict[str, Any]) -> str:
            question = question_in(arguments)
            if not question:
                raise ToolError(say("the question to the user is empty; write what to ask"))
            return replies[question]

        return reply

    def conclude(self, reason: Outcome) -> Steps[Answer]:
        """Ask for the forced last answer, without tools, so that every run ends with an answer and a reason.

        When cost or time is spent no request is made, and the answer lists what was seen.  The same holds for a child
        when the shared budget is spent: at most one request exceeds the budget, however many children there are.
        """
        yield from self.context.mark(Concluding(agent=self.agent, reason=reason))
        if self._model_calls.cut_answer or reason in ("cost", "time"):
            return Answer(self._model_calls.cut_answer or self.known(), reason)
        form = prompts.text(f"answer_{self._protocol_of('conclude').name}", self.language)
        instruction = prompts.text("conclude", self.language, reason=reason, form=form)
        try:
            reply = yield from self.ask("conclude", extra=instruction, tools=(), terms=Terms(limits=self.agent != MAIN))
        except (LimitReached, ProviderError):
            return Answer(self._model_calls.cut_answer or self.known(), reason)
        return Answer.of(reply, reason) if reply.answer else Answer(self.known(), reason)

    def rephrase(self, question: str) -> None:
        """Replace the question in the prompts from now on."""
        self._question = question

    def instruct(self, text: str) -> None:
        """Add a paragraph to the system prompt from now on; an empty one changes nothing."""
        self._instructions = text.strip()

    def remind(self, reflections: Sequence[str]) -> None:
        """From now on, show the lessons of earlier attempts."""
        self._write(reflections=tuple(reflections))

    def offer(self, tools: Sequence[ToolSpec]) -> None:
        """Replace the tools that the agent may call."""
        self._tools = tuple(map(self.worded, tools))

    def child(
        self,
        name: str,
        question: str | None = None,
        *,
        prompt: str = "",
        tools: Sequence[ToolSpec] = (),
        **changes: Any,
    ) -> Run:
        """Return a sub-agent with its own transcript and a share of the same budget; `changes` are fields of its recipe."""
        # A child's framework has options of its own.
        if changes.get("framework", self.recipe.framework) != self.recipe.framework:
            changes.setdefault("framework_options", {})
        recipe = msgspec.structs.replace(self.recipe, **changes)
        agent = f"{self.agent}/{name}"
        about = question or self._question
        child = Run(about, recipe, self.context, agent=agent, prompt=prompt, tools=tools)
        if self._alone:
            child.ask_nobody()
        return child

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
        """Run several generators in threads, at most `limit` at once; return their results in that order."""
        return concurrency.together(steps, limit, self.agent)
