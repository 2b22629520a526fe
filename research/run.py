"""`Run`: what a framework holds in its hand.  Ask the model, use tools, conclude, have children.

A framework is a generator of events; `yield from run.ask()` emits what happens and returns the reply.  Retries, repair,
budget, journal and the loop detector are in here, so that a framework reads like the algorithm box of its paper.
"""

from __future__ import annotations

import json
import queue
import random
import re
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from research import prompts, protocols, registry
from research.budget import Meter
from research.citations import Ledger, check, cited, shown
from research.errors import ConfigError, FormatError, LimitReached, NeedsInput, ProviderError, Stopped
from research.events import (
    Asked,
    Base,
    ChildFinished,
    ChildStarted,
    Concluding,
    Event,
    Rejected,
    Replied,
    ReportUpdated,
    RunFailed,
    RunFinished,
    RunStarted,
    Streamed,
    ToolFinished,
    ToolStarted,
    WaitingForUser,
    Warned,
    Withdrawn,
)
from research.journal import Journal
from research.protocols.tagged import write_call
from research.recipe import Recipe
from research.text import clip, estimate_tokens, language_of
from research.toolbox import Toolbox
from research.transcript import Interaction, Transcript
from research.types import (
    Answer,
    Completion,
    Delta,
    Message,
    Model,
    Observation,
    Outcome,
    Reply,
    Request,
    Status,
    ToolCall,
    ToolSpec,
    Usage,
)

T = TypeVar("T")
Steps = Generator[Event, None, T]
"""Emits events, returns a T."""

Reads = Callable[[Reply], object]
"""Looks at a reply; raises `FormatError` for one that will not do."""

Local = Callable[[dict[str, Any]], str]
"""A tool of a framework itself: arguments to observation.  Raises `ToolError`."""

MAIN = "main"
"""The agent that answers the user; its children are `main/…`."""
TRIES = 3
"""Times a request is sent before a passing fault of the provider ends the run."""
REASKS = 3
"""Times the model is asked again for a reply that can be read."""
STREAM_EVERY_S = 0.05
"""Deltas are gathered this long into one event."""


class Shared:
    """What a run and its children have in common."""

    def __init__(
        self,
        models: Callable[[str], Model],
        tools: Toolbox,
        *,
        meter: Meter,
        journal: Journal | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.models = models
        """Gives the model of a name such as `extractive` or `openai:NAME`."""
        self.tools = tools
        self.meter = meter
        self.journal = journal or Journal()
        self.stop = stop or threading.Event()
        """Set from outside to stop the run within one call in flight."""
        self.ledger = Ledger(self.journal.sources)
        self.computed: list[str] = []
        """What the python tool printed: numbers that an answer may state without a source saying them."""


class Run:
    """One agent at work on one question."""

    def __init__(self, question: str, recipe: Recipe, shared: Shared, *, agent: str = MAIN) -> None:
        self.question = question
        self.recipe = recipe
        self.shared = shared
        self.agent = agent
        self.transcript = Transcript(question)
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
        self.scribed = 0
        """Rounds that a scribe has merged into the report."""
        self.forgotten = 0
        """Oldest interactions whose observation bodies no longer fit into the model's context."""
        self._asks = 0
        self._sent: tuple[Message, ...] = ()
        self._actions: list[str] = []
        self._hinted = False

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
    ) -> Steps[Reply]:
        """One reply of the model to the conversation as the context strategy shapes it, or to `messages`.

        `extra` is a last user message.  `tools` are offered (None: all of the run; empty: none).  `reads` looks at the
        reply and raises `FormatError` for one that will not do, which is then shown to the model; without tools it gets
        the plain text.  Raises `LimitReached`, `ProviderError`, `Stopped`.
        """
        last = (Message("user", extra),) if extra else ()
        composed = messages is None
        messages = (*((yield from self._compose()) if messages is None else messages), *last)
        self._asks += 1
        ask = self._asks
        recorded = self.shared.journal.reply(self.agent, ask)
        if recorded is not None:
            self._sent = messages
            self.shared.meter.spend(recorded.usage)
            return recorded.reply
        if limits:
            self.shared.meter.admit()
        offered = self.tools if tools is None else tuple(tools)
        return (yield from self._converse(messages, ask, purpose, offered, reads, last if composed else None))

    def use(self, reply: Reply, local: Mapping[str, Local] | None = None) -> Steps[tuple[Observation, ...]]:
        """Run the calls of a reply in parallel and add the round to the transcript.

        Each call gets exactly one observation, in the order asked; one failure does not touch its siblings.  A call
        that cannot run fails with the reason, and so do all of them when a limit is reached, which is then raised.
        `local` are tools of the framework itself, by name.
        """
        hint, spent = "", None
        observations: list[Observation] = []
        try:
            hint = yield from self._watch_for_loops(reply.calls)
            observations += yield from self._observe(reply.calls, local or {})
        except LimitReached as limit:
            spent = limit
            for call in reply.calls:
                why = f"(not run: the limit of {limit.limit} is reached)"
                observations.append((yield from self._refuse(call.id, call.name, why)))
        for error in reply.errors:
            yield from self._mark(Warned(agent=self.agent, kind="tool", text=error.message))
            observations.insert(error.index, (yield from self._refuse(error.id, error.name, error.message)))
        self.transcript = self.transcript.add(Interaction(reply, tuple(observations), hint))
        if spent:
            raise spent
        return tuple(observations)

    def conclude(self, reason: Outcome) -> Steps[Answer]:
        """The forced last answer: one tools-off call, so that every run ends with an answer and a reason.

        When cost or time is spent that call is not made either, and the answer is what was seen.  The same holds for a
        child when the shared budget is spent: what goes beyond it is one call, however many children there are.
        """
        yield from self._mark(Concluding(agent=self.agent, reason=reason))
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
        yield from self._mark(WaitingForUser(agent=self.agent, prompt=reply.answer))
        text = self.shared.journal.user_reply(self.agent)
        if text is None:
            raise NeedsInput(reply.answer)
        self.transcript = self.transcript.add(Interaction(reply, hint=text))
        return text

    def report(self, text: str) -> Steps[None]:
        """The evolving report as it stands now."""
        if text and text != self.transcript.report:
            self.transcript = msgspec.structs.replace(self.transcript, report=text)
            yield from self._mark(ReportUpdated(agent=self.agent, report=text))

    def brief(self, prompt: str, **values: str) -> list[Message]:
        """A conversation of its own for one question: the named prompt as system, the filled `…_task` as user."""
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
        yield from self._mark(ChildStarted(agent=child.agent, question=child.question, recipe=child.recipe.label))
        answer = yield from (work or child.work())
        yield from self._mark(ChildFinished(agent=child.agent, outcome=answer.outcome, answer=answer.text))
        return answer

    def together(self, steps: Sequence[Steps[T]], limit: int = 5) -> Steps[list[T]]:
        """Run several generators in threads, at most `limit` at once; their events interleave as they happen.

        Returns the results in the order given.  The first error is raised after all have ended.
        """
        if not steps:
            return []
        events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()

        def drive(step: Steps[T]) -> T:
            try:
                while True:
                    events.put(next(step))
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                events.put(None)

        with ThreadPoolExecutor(min(limit, len(steps)), thread_name_prefix=self.agent) as pool:
            futures = [pool.submit(drive, step) for step in steps]
            running = len(futures)
            while running:
                event = events.get()
                if event is None:
                    running -= 1
                else:
                    yield event
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
        """System prompt and question: they stay whatever a strategy drops."""
        tools = self.protocol.instructions(self.tools, self.language)
        system = prompts.system(self.prompt, self.protocol.name, self.language, tools=tools)
        if self.transcript.reflections:
            notes = "\n".join(f"- {text}" for text in self.transcript.reflections)
            system += "\n\n" + prompts.text("reflections", self.language, notes=notes)
        return [Message("system", system), Message("user", self.question)]

    def turns(self, first: int = 0) -> list[Message]:
        """The rounds from the `first` on, as the protocol writes them."""
        rounds = range(first, self.transcript.length)
        return [message for index in rounds for message in self.protocol.turn(self.remembered(index))]

    def remembered(self, index: int) -> Interaction:
        """A round, without the bodies of its observations where they no longer fit into the model's context."""
        interaction = self.transcript.interactions[index]
        if index >= self.forgotten:
            return interaction
        short = tuple(msgspec.structs.replace(seen, text="(dropped: no room)") for seen in interaction.observations)
        return msgspec.structs.replace(interaction, observations=short)

    def written(self, words: str, calls: Sequence[ToolCall]) -> str:
        """The text of an assistant's message that makes these calls: tags belong to it, native calls stand beside it."""
        tags = [write_call(call.name, **call.arguments) for call in calls] if self.protocol.name == "tagged" else []
        return "\n".join(filter(None, [words, *tags]))

    # -- the machinery ----------------------------------------------------------------------------------------------

    def _compose(self) -> Steps[tuple[Message, ...]]:
        entry = registry.context.get(self.recipe.context)
        messages = entry.function(self, **entry.parse(self.recipe.context_options))
        if isinstance(messages, Generator):
            messages = yield from messages
        return tuple(messages)

    def _converse(
        self, messages: tuple[Message, ...], ask: int, purpose: str, tools: tuple[ToolSpec, ...], reads: Reads | None,
        last: tuple[Message, ...] | None,
    ) -> Steps[Reply]:  # fmt: skip
        """Call, read, and ask again while the reply cannot be read; bad replies are events, not history.

        A request that is too long is composed again with less, `last` after it; None: it was not composed by us.
        """
        model = self.shared.models(self.recipe.roles.get(purpose, self.recipe.model))
        base = messages
        for _attempt in range(REASKS + 1):
            self._check_stop()
            request = Request(
                messages, self.protocol.offer(tools), purpose, self.agent, self.protocol.stop, self.recipe.temperature
            )
            keep = _common(self._sent, messages)
            self._sent, self.prompt_tokens = messages, count_tokens(messages)
            yield Asked(
                agent=self.agent, ask=ask, round=self.transcript.length + 1, purpose=purpose, model=model.name,
                keep=keep, messages=messages[keep:], tools=tuple(tool.name for tool in tools),
                prompt_tokens=self.prompt_tokens,
            )  # fmt: skip
            started = time.monotonic()
            try:
                completion = yield from self._call(model, request, ask)
            except ProviderError as error:
                if not error.context_overflow or last is None:
                    raise
                yield from self._forget()
                base = messages = (*(yield from self._compose()), *last)
                continue
            usage = completion.usage or Usage(
                count_tokens(messages), estimate_tokens(completion.text + completion.reasoning), estimated=True
            )
            self.shared.meter.spend(usage)
            try:
                reply = self._read(completion, ask, tools)
                if reads is not None:
                    reads(reply)
            except FormatError as error:
                yield Rejected(agent=self.agent, ask=ask, text=completion.text, problem=str(error), usage=usage)
                said = [Message("assistant", completion.text)] if completion.text.strip() else []
                messages = (*base, *said, Message("user", str(error)))
                continue
            seconds = time.monotonic() - started
            yield Replied(agent=self.agent, ask=ask, purpose=purpose, reply=reply, usage=usage, seconds=seconds)
            return reply
        raise LimitReached("failed")

    def _read(self, completion: Completion, ask: int, tools: Sequence[ToolSpec]) -> Reply:
        prefix = re.sub(r"[^A-Za-z0-9]+", "-", self.agent)
        return self.protocol.read(completion, lambda index: f"{prefix}-{ask}-{index + 1}", tools)

    def _call(self, model: Model, request: Request, ask: int) -> Steps[Completion]:
        for attempt in range(1, TRIES + 1):
            try:
                return (yield from self._stream(model, request, ask))
            except ProviderError as error:
                if not error.retryable or attempt == TRIES:
                    raise
                backoff = random.uniform(0.5, 1.0) * 2 ** (attempt - 1)
                wait_s = error.retry_after_s if error.retry_after_s is not None else backoff
                yield Withdrawn(agent=self.agent, ask=ask, error=str(error), wait_s=wait_s)
                self.shared.stop.wait(wait_s)
                self._check_stop()
        raise AssertionError("unreachable: the last try returns or raises")

    def _stream(self, model: Model, request: Request, ask: int) -> Steps[Completion]:
        gathered: list[Delta] = []
        last = time.monotonic()
        for piece in model.stream(request):
            self._check_stop()
            if isinstance(piece, Completion):
                yield from self._flush(gathered, ask)
                return piece
            if gathered and gathered[0].kind != piece.kind:
                yield from self._flush(gathered, ask)
            gathered.append(piece)
            if time.monotonic() - last >= STREAM_EVERY_S:
                yield from self._flush(gathered, ask)
                last = time.monotonic()
        raise ProviderError(f"{model.name} ended its reply without completing it", retryable=True)

    def _flush(self, gathered: list[Delta], ask: int) -> Iterator[Event]:
        if gathered:
            yield Streamed(agent=self.agent, ask=ask, text="".join(d.text for d in gathered), kind=gathered[0].kind)
            gathered.clear()

    def _observe(self, calls: Sequence[ToolCall], local: Mapping[str, Local]) -> Steps[tuple[Observation, ...]]:
        journal, tools = self.shared.journal, self.shared.tools
        fresh = [call for call in calls if journal.observation(call.id) is None]
        if fresh or not all(journal.started(call.id) for call in calls):  # new, or refused before
            self.shared.meter.admit()
        self.shared.meter.spend_tool_calls(len(calls))
        observations: list[Observation] = []
        with ThreadPoolExecutor(max(1, len(fresh)), thread_name_prefix="use") as pool:
            futures = {call.id: pool.submit(tools.run, call, local.get(call.name)) for call in fresh}
            for call in fresh:
                if not journal.started(call.id):
                    yield ToolStarted(agent=self.agent, call=call)
            for call in calls:
                recorded = journal.observation(call.id)
                if recorded is None:
                    # In the order asked, so that sources get the same numbers every time.
                    result = futures[call.id].result()
                    sources = tuple(self.shared.ledger.add(passage) for passage in result.passages)
                    text = "\n\n".join([*([result.text] if result.text else []), *map(shown, sources)])
                    recorded = Observation(
                        call.id, call.name, text or "(nothing)", result.ok, sources, result.seconds, result.cached
                    )
                    yield ToolFinished(agent=self.agent, observation=recorded)
                observations.append(recorded)
                if recorded.name == "python" and recorded.ok:
                    self.shared.computed.append(recorded.text)
        self._check_stop()
        return tuple(observations)

    def _refuse(self, call_id: str, name: str, why: str) -> Steps[Observation]:
        """The failed observation of a call that is not run."""
        seen = Observation(call_id, name, why, ok=False)
        if self.shared.journal.observation(call_id) is None:
            yield ToolFinished(agent=self.agent, observation=seen)
        return seen

    def _watch_for_loops(self, calls: Sequence[ToolCall]) -> Steps[str]:
        """A hint the first time the actions repeat themselves, `LimitReached` the second time."""
        self._actions.append(json.dumps([[c.name, c.arguments] for c in calls], sort_keys=True))
        recent = self._actions[-5:]
        same = len(recent) >= 3 and len(set(recent[-3:])) == 1
        if not same and not (len(recent) == 5 and 1 - len(set(recent)) / 5 > 0.8):
            return ""
        if self._hinted:
            raise LimitReached("loop")
        self._hinted = True
        hint = prompts.text("loop", self.language)
        yield from self._mark(Warned(agent=self.agent, kind="loop", text=hint))
        return hint

    def _forget(self) -> Steps[None]:
        """Make room: drop the bodies of the older half of the observations that are still there."""
        left = self.transcript.length - self.forgotten
        if left == 0:
            raise LimitReached("tokens")
        self.forgotten += (left + 1) // 2
        yield Warned(
            agent=self.agent, kind="context",
            text=f"The prompt is too long for the model: observations of rounds 1 to {self.forgotten} were dropped.",
        )  # fmt: skip

    def _mark(self, event: Base) -> Steps[None]:
        """Emit an event that is neither a reply nor an observation, unless it is on record already."""
        if not self.shared.journal.recalls(event):
            yield event  # type: ignore[misc]

    def _check_stop(self) -> None:
        if self.shared.stop.is_set():
            raise Stopped("stopped by the user")


def execute(run: Run, run_id: str) -> Iterator[Event]:
    """Drive a run to its one terminal event; the events come stamped with run, seq and time."""
    seq = run.shared.journal.next_seq
    for event in _life(run):
        yield msgspec.structs.replace(event, run=run_id, seq=seq, time=time.time())
        seq += 1


def _life(run: Run) -> Iterator[Event]:
    yield from run._mark(RunStarted(question=run.question, recipe=run.recipe))
    try:
        answer = yield from run.work()
    except NeedsInput:
        return
    except Stopped:
        answer = Answer(run.known(), "stopped")
    except (ConfigError, ProviderError) as error:
        yield RunFailed(error=str(error), traceback="")
        answer = Answer(f"{error}\n\n{run.known()}", "failed")
    except Exception as error:  # noqa: BLE001 - the last stop: the run ends as failed, with its traceback on record
        yield RunFailed(error=f"{type(error).__name__}: {error}", traceback=traceback.format_exc())
        answer = Answer(run.known(), "failed")
    yield _finish(run, answer)


def _finish(run: Run, answer: Answer) -> RunFinished:
    """Judge the answer: what cites no source that was seen is not research, and is not presented as such."""
    sources = run.shared.ledger.sources
    numbers = {source.n for source in sources}
    outcome, text = answer.outcome, answer.text
    if outcome not in ("stopped", "failed") and not numbers & set(cited(text)):
        outcome = "no_evidence" if outcome == "answered" or not sources else outcome
        text = prompts.text("uncited", run.language) + "\n\n" + text
    statuses: dict[str, Status] = {"stopped": "stopped", "failed": "failed"}
    return RunFinished(
        status=statuses.get(outcome, "completed"),
        outcome=outcome,
        answer=text,
        report=answer.report or text,
        citations=check(text, sources, run.computed),
        seconds=run.shared.meter.seconds,
    )


def transcribed(messages: Sequence[Message]) -> str:
    """A conversation as text, for a model that is to read and not to continue it."""
    lines = []
    for message in messages:
        calls = "\n".join(f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in message.calls)
        lines.append(f"[{message.role}] " + "\n".join(filter(None, [message.content, calls])))
    return "\n\n".join(lines)


def _common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Length of the common prefix."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if old is not new and old != new:
            break
        count += 1
    return count


def count_tokens(messages: Sequence[Message]) -> int:
    """Estimated size of a conversation."""
    return sum(estimate_tokens(message.content) + 4 for message in messages)
