"""`Run`: what a framework holds in its hand.  Ask the model, use tools, conclude, have children.

A framework is a generator of events; `yield from run.ask()` emits what happens and returns the reply.  Retries, repair,
budget, journal and the loop detector are in here, so that a framework reads like the algorithm box of its paper.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

import msgspec

from research import prompts, protocols, registry, tokens
from research.acting import observe, refuse, watch_for_loops
from research.asking import Reads, converse
from research.citations import cited
from research.errors import ConfigError, LimitReached, NeedsInput, ProviderError, Rests, Stopped
from research.events import (
    Base,
    ChildFinished,
    ChildStarted,
    Concluding,
    Event,
    ReportUpdated,
    WaitingForUser,
    Warned,
)
from research.inherited import SHOWN, retold, told
from research.protocols.tagged import write_call
from research.recipe import Recipe
from research.remembering import told as remembered
from research.shared import Shared as Shared  # what makes a run takes both from here
from research.text import clip, language_of
from research.toolbox import Local
from research.transcript import Interaction, Transcript
from research.types import (
    Answer,
    Message,
    Observation,
    Outcome,
    Reply,
    Request,
    ToolCall,
    ToolSpec,
    Windowed,
)

T = TypeVar("T")
Steps = Generator[Event, None, T]
"""Emits events, returns a T."""

WAKE_EVERY_S = 0.25
"""How often a waiting run looks whether it is to rest."""
MAIN = "main"
"""The agent that answers the user; its children are `main/…`."""


class Run:
    """One agent at work on one question."""

    def __init__(self, question: str, recipe: Recipe, shared: Shared, *, agent: str = MAIN) -> None:
        self.question = question
        self.recipe = recipe
        self.shared = shared
        self.agent = agent
        self.transcript = Transcript(question)
        if agent == MAIN:
            shared.hear(question)
        self.language = recipe.language if recipe.language != "auto" else language_of(question)
        model = shared.models(recipe.model)
        native = model.native if recipe.protocol == "auto" else recipe.protocol == "native"
        if native and not model.native:
            raise ConfigError(f"model {model.name!r} has no native tool calls; accepted protocols: auto, tagged")
        self.protocol = protocols.create("native" if native else "tagged")
        self.prompt: str = registry.framework.get(recipe.framework).traits.get("prompt", recipe.framework)
        """Name of the system prompt."""
        self.tools: tuple[ToolSpec, ...] = shared.tools.specs
        """What the agent knows of: the recipe's tools, and those that a framework adds for itself."""
        self.prompt_tokens = 0
        """Estimated size of the last request."""
        self.bound = 0
        """Largest prompt that the context strategy allows, in tokens; 0: it names none."""
        self.shown: set[int] = set()
        """Rounds whose observations stand in the conversation as it was composed last."""
        self.scribed = 0
        """Rounds that a scribe has merged into the report."""
        self.forgotten = 0
        """Oldest interactions whose observation bodies no longer fit into the model's context."""
        self.tokens = tokens.Counter()
        self._windows: dict[str, int] = {}
        self._asks = 0
        self.sent: tuple[Message, ...] = ()
        self.actions: list[str] = []
        self.hinted = False
        if agent == MAIN and shared.journal.adopted:
            rounds = tuple(retold(each, self.protocol.name) for each in shared.journal.adopted)
            self.transcript = Transcript(question, rounds, shared.journal.report)
            self.scribed = len(rounds) - 1 if self.transcript.report else 0
            self._asks = shared.journal.asks

    @property
    def computed(self) -> list[str]:
        """What the python tool printed in this run and all its children."""
        return self.shared.computed

    # -- what frameworks call ---------------------------------------------------------------------------------------

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
    ) -> Steps[Reply]:
        """One reply of the model to the conversation as the context strategy shapes it, or to `messages`.

        `extra` is a last user message.  `tools` are offered (None: all of the run; empty: none).  `reads` looks at the
        reply and raises `FormatError` for one that will not do, which is then shown to the model; without tools it gets
        the plain text.  `must_call` and `schema` bind the reply where the provider can (see `Request`); `reads` still judges
        what came.  Raises `LimitReached`, `ProviderError`, `Rests`, `Stopped`.
        """
        last = (Message("user", extra),) if extra else ()
        composed = messages is None
        messages = (*((yield from self.compose()) if messages is None else messages), *last)
        self._asks += 1
        ask = self._asks
        recorded = self.shared.journal.reply(self.agent, ask)
        if recorded is not None:
            # `sent` stays empty: what was sent then stands in the log, and may have told another date.
            self.shared.meter.spend(recorded.usage)
            return recorded.reply
        if limits:
            self.shared.meter.admit()
        offered = self.tools if tools is None else tuple(tools)
        wanted = Request(
            messages, self.protocol.offer(offered), purpose, self.agent, self.protocol.stop, self.recipe.temperature,
            must_call=must_call and self.protocol.name == "native", schema=schema,
        )  # fmt: skip
        return (yield from converse(self, wanted, ask, offered, reads, last if composed else None))

    def use(self, reply: Reply, local: Mapping[str, Local] | None = None) -> Steps[tuple[Observation, ...]]:
        """Run the calls of a reply in parallel and add the round to the transcript.

        Each call gets exactly one observation, in the order asked; one failure does not touch its siblings.  A call
        that cannot run fails with the reason, and so do all of them when a limit is reached, which is then raised.
        `local` are tools of the framework itself, by name.
        """
        hint, spent = "", None
        observations: list[Observation] = []
        try:
            hint = yield from watch_for_loops(self, reply.calls)
            observations += yield from observe(self, reply.calls, local or {})
        except LimitReached as limit:
            spent = limit
            for call in reply.calls:
                why = f"(not run: the limit of {limit.limit} is reached)"
                observations.append((yield from refuse(self, call.id, call.name, why)))
        for error in reply.errors:
            yield from self.mark(Warned(agent=self.agent, kind="tool", text=error.message))
            observations.insert(error.index, (yield from refuse(self, error.id, error.name, error.message)))
        self.transcript = self.transcript.add(Interaction(reply, tuple(observations), hint))
        if spent:
            raise spent
        return tuple(observations)

    def conclude(self, reason: Outcome) -> Steps[Answer]:
        """The forced last answer: one tools-off call, so that every run ends with an answer and a reason.

        When cost or time is spent that call is not made either, and the answer is what was seen.  The same holds for a
        child when the shared budget is spent: what goes beyond it is one call, however many children there are.
        """
        yield from self.mark(Concluding(agent=self.agent, reason=reason))
        if reason in ("cost", "time"):
            return Answer(self.known(), reason)
        instruction = prompts.text("conclude", self.language, reason=reason)
        try:
            reply = yield from self.ask("conclude", extra=instruction, tools=(), limits=self.agent != MAIN)
        except (LimitReached, ProviderError):
            return Answer(self.known(), reason)
        return Answer(reply.answer or self.known(), reason)

    def ask_user(self, reply: Reply) -> Steps[str]:
        """Put the agent's question to the user; the run rests until the reply is there."""
        yield from self.mark(WaitingForUser(agent=self.agent, prompt=reply.answer))
        text = self.shared.journal.user_reply(self.agent)
        if text is None:
            self.check_stop()
            raise NeedsInput(reply.answer)
        self.shared.hear(text)
        self.transcript = self.transcript.add(Interaction(reply, hint=text))
        return text

    def report(self, text: str) -> Steps[None]:
        """The evolving report as it stands now."""
        if text and text != self.transcript.report:
            self.transcript = msgspec.structs.replace(self.transcript, report=text)
            yield from self.mark(ReportUpdated(agent=self.agent, report=text))

    def brief(self, prompt: str, **values: str) -> list[Message]:
        """A conversation of its own for one question: the named prompt as system, the filled `…_task` as user."""
        if "question" in values:
            values["question"] = self._with_earlier(values["question"])
        return [
            Message("system", prompts.text(prompt, self.language, date=prompts.today())),
            Message("user", prompts.text(f"{prompt}_task", self.language, **values)),
        ]

    def child(self, name: str, question: str | None = None, **changes: Any) -> Run:
        """A sub-agent with its own transcript and a share of the same budget, stop flag and sources."""
        # A child's framework has options of its own.
        if changes.get("framework", self.recipe.framework) != self.recipe.framework:
            changes.setdefault("framework_options", {})
        recipe = msgspec.structs.replace(self.recipe, **changes)
        return Run(question or self.question, recipe, self.shared, agent=f"{self.agent}/{name}")

    def work(self) -> Steps[Answer]:
        """Follow the recipe's framework to its answer; a spent budget ends in `conclude`."""
        entry = registry.framework.get(self.recipe.framework)
        try:
            answer: Answer = yield from entry.function(self, **entry.parse(self.recipe.framework_options))
        except LimitReached as limit:
            answer = yield from self.conclude(limit.limit)
        return answer

    def delegate(self, child: Run, work: Steps[Answer] | None = None) -> Steps[Answer]:
        """A child's whole work, by its framework unless given, framed by its two events."""
        yield from self.mark(ChildStarted(agent=child.agent, question=child.question, recipe=child.recipe.label))
        answer = yield from (work or child.work())
        yield from self.mark(ChildFinished(agent=child.agent, outcome=answer.outcome, answer=answer.text))
        return answer

    def together(self, steps: Sequence[Steps[T]], limit: int = 5) -> Steps[list[T]]:
        """Run several generators in threads, at most `limit` at once; their events interleave as they happen.

        Returns the results in the order given.  The first error is raised after all have ended.
        """
        if not steps:
            return []
        events: queue.SimpleQueue[tuple[Event, threading.Semaphore] | None] = queue.SimpleQueue()
        turns, left = [threading.Semaphore(0) for _ in steps], threading.Event()

        def drive(step: Steps[T], turn: threading.Semaphore) -> T:
            try:
                while not left.is_set():
                    events.put((next(step), turn))
                    turn.acquire()  # nobody runs ahead of what is on record: after a crash it would be done again
                step.close()
                raise Stopped("nobody keeps what happens any more")
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                events.put(None)

        with ThreadPoolExecutor(min(limit, len(steps)), thread_name_prefix=self.agent) as pool:
            try:  # from the first on: where no further thread can be started, those that are must not wait for a turn
                futures = [
                    pool.submit(copy_context().run, drive, step, turn) for step, turn in zip(steps, turns, strict=True)
                ]
                running = len(futures)
                while running:
                    came = events.get()
                    if came is None:
                        running -= 1
                    else:
                        event, turn = came
                        yield event
                        turn.release()
            finally:
                left.set()
                for turn in turns:
                    turn.release()
            return [future.result() for future in futures]

    def known(self) -> str:
        """What was seen so far, in the sources' own words: the answer when no model can be asked."""
        report = self.transcript.report
        firsts = {source.n: source for source in reversed(self.shared.ledger.sources)}
        if cited(report) or not firsts:
            return report or prompts.text("nothing", self.language)
        lines = [f"- {source.title}: {clip(source.quote.splitlines()[0], 200)} [{n}]"
                 for n, source in sorted(firsts.items())[:10] if source.quote]  # fmt: skip
        return "\n\n".join(filter(None, [report, prompts.text("known", self.language), "\n".join(lines)]))

    # -- what context strategies call -------------------------------------------------------------------------------

    def head(self) -> list[Message]:
        """System prompt and question, with what was known before: they stay whatever a strategy drops."""
        self.shown.clear()
        tools = self.protocol.instructions(self.tools, self.language)
        system = prompts.system(self.prompt, self.protocol.name, self.language, tools=tools)
        if self.transcript.reflections:
            notes = "\n".join(f"- {text}" for text in self.transcript.reflections)
            system += "\n\n" + prompts.text("reflections", self.language, notes=notes)
        return [Message("system", system), Message("user", self._with_earlier(self.question))]

    def _with_earlier(self, question: str) -> str:
        """A question with what the memory gave and, in a follow-up, what was found before it: a part of what a prompt
        can hold."""
        earlier, recalled = self.shared.journal.earlier, self.shared.recalled
        parts = [question]
        window = self.window(self.recipe.model)
        if earlier:
            parts.append(told(earlier, self.language, min(SHOWN, window // 2) if window else SHOWN))
        if recalled and (words := remembered(recalled, self.language, window // 4 if window else SHOWN)):
            parts.append(words)
        return "\n\n".join(parts)

    def window(self, model: str, *, composed: bool = True) -> int:
        """Largest prompt for that model, in tokens, as far as it or the strategy (of what it composed) says; 0: unknown."""
        if model not in self._windows:
            asked = self.shared.models(model)
            self._windows[model] = asked.window if isinstance(asked, Windowed) else 0
        known = (self.bound if composed else 0, self._windows[model])
        return min(filter(None, known), default=0)

    def turns(self, first: int = 0) -> list[Message]:
        """The rounds from the `first` on, as the protocol writes them."""
        rounds = range(first, self.transcript.length)
        return [message for index in rounds for message in self.protocol.turn(self.remembered(index))]

    def remembered(self, index: int) -> Interaction:
        """A round, without the bodies of its observations where they no longer fit into the model's context."""
        interaction = self.transcript.interactions[index]
        if index >= self.forgotten:
            self.shown.add(index)
            return interaction
        short = tuple(msgspec.structs.replace(seen, text="(dropped: no room)") for seen in interaction.observations)
        return msgspec.structs.replace(interaction, observations=short)

    def written(self, words: str, calls: Sequence[ToolCall]) -> str:
        """The text of an assistant's message that makes these calls: tags belong to it, native calls stand beside it."""
        tags = [write_call(call.name, **call.arguments) for call in calls] if self.protocol.name == "tagged" else []
        return "\n".join(filter(None, [words, *tags]))

    # -- the machinery ----------------------------------------------------------------------------------------------

    def compose(self) -> Steps[tuple[Message, ...]]:
        entry = registry.context.get(self.recipe.context)
        messages = entry.function(self, **entry.parse(self.recipe.context_options))
        if isinstance(messages, Generator):
            messages = yield from messages
        return tuple(messages)

    def mark(self, event: Base) -> Steps[None]:
        """Emit an event that is neither a reply nor an observation, unless it is on record already."""
        if not self.shared.journal.recalls(event):
            yield event  # type: ignore[misc]

    def check_stop(self) -> None:
        if self.shared.stop.is_set():
            raise Stopped("stopped by the user")

    def check_rest(self) -> None:
        """Before anything new is begun.  What is in flight goes on to its end: it would have to be paid again."""
        self.check_stop()
        if self.shared.rest.is_set():
            raise Rests

    def wait(self, seconds: float) -> None:
        """Wait, unless the run is to stop or rest."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.shared.rest.is_set():
            if self.shared.stop.wait(min(left, WAKE_EVERY_S)):
                break
        self.check_rest()
