"""The runs that a gateway records: which conversation a request belongs to, and its calls as events."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from research.citations.ledger import Ledger
from research.events.events import (
    Asked,
    ChildStarted,
    Event,
    Forwarded,
    Replied,
    Resumed,
    Returned,
    RunStarted,
    Streamed,
    ToolFinished,
    ToolStarted,
    Warned,
    Withdrawn,
)
from research.events.recipe import PURPOSES, Recipe
from research.models.tokens import common_prefix
from research.servers.gateway_flow import Flow
from research.servers.gateway_requests import Asking, Item, read
from research.servers.gateway_sources import passages
from research.servers.gateway_spool import Append
from research.text import clip, estimate_tokens
from research.types import Completion, Delta, Message, Observation, Reply, ToolCall, Usage

FRAMEWORK: Final = "gateway"
QUESTION: Final = 20_000
"""Characters of a question."""
FINAL: Final = "final_"
"""Some frameworks take the answer as a call, such as `final_answer`, and send no result for it."""
_RESPONSE: Final = re.compile(rb'"id"\s*:\s*"(resp_[\w-]+)"')
_NUMBER: Final = re.compile(r"#\d+$")


class Pending(Struct):
    """A call whose result the agent has not sent yet."""

    call: ToolCall
    """The call, with an id that is unique within the run."""
    since: float


class Conversation:
    """One conversation of an agent with its model."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.ask = 0
        self.failed = False
        """Whether the last request failed, so that an equal one repeats it."""
        self.model = ""
        self.messages: tuple[Message, ...] = ()
        """The messages of the last request."""
        self.spoken: tuple[Message, ...] = ()
        """The messages of the last request without the rules, which may change with each request."""
        self.sizes: list[int] = []
        """Estimated tokens of each of the messages."""
        self.head: Item | None = None
        self.items: list[Any] = []
        self.pending: dict[str, Pending] = {}
        """By the provider's id."""
        self.responses: set[str] = set()
        self.asked = 0.0
        self.answered = False
        """Whether the last reply calls no tool, so it may be the agent's last."""

    def kept_of(self, asking: Asking) -> int | None:
        """Return how many of the last request's messages the request continues; None: it does not."""
        if asking.previous:
            return len(self.spoken) if asking.previous in self.responses else None
        whole = len(self.spoken) if asking.spoken[: len(self.spoken)] == self.spoken else 0
        if whole:
            return whole
        results = {message.call_id for message in asking.messages if message.role == "tool"}
        return 0 if results & self.pending.keys() else None  # e.g. the oldest messages were dropped


class Call:
    """One request with its answer so far."""

    def __init__(self, run: RecordedRun, conversation: Conversation, ask: int, sha256: str) -> None:
        self.run, self.conversation, self.ask, self.sha256 = run, conversation, ask, sha256
        self.returned: Returned | None = None
        """The complete answer of a request that succeeded."""
        self.delivered = False
        """Whether this process has sent an agent the whole answer."""
        self.flow: Flow | None = None
        """The answer as it arrives; None if the process that sent the request has ended."""


class RecordedRun:
    """One run, which collects requests and answers."""

    def __init__(self, run_id: str, append: Append, *, named: bool) -> None:
        self.id, self.named = run_id, named
        self._append = append
        self.conversations: list[Conversation] = []
        self.calls: list[Call] = []
        self.ledger = Ledger()
        self.touched = time.time()
        """When its agent last asked or got an answer."""
        self.at_work = 0
        self.closed = ""
        """Why no further request is accepted; empty while it is."""
        self.seq = 0
        self._ids: set[str] = set()

    # -- recording ----------------------------------------------------------------------------------------------------

    def start(self, asking: Asking, model: str) -> None:
        """Begin the run with its first request."""
        question = asking.question[:QUESTION].strip() or f"A conversation with {model}"
        recipe = Recipe(framework=FRAMEWORK, model=model, tools=(), search=(), ask=False, novelty=False)
        self.append(RunStarted(question=question, recipe=recipe))

    def append(self, *events: Event) -> None:
        """Write the next events of the run."""
        now = time.time()
        numbered = [
            msgspec.structs.replace(event, run=self.id, seq=self.seq + n, time=now) for n, event in enumerate(events)
        ]
        self._append(numbered)
        self.seq += len(events)
        self.touched = now

    def find(self, asking: Asking) -> Conversation | None:
        """Return the conversation that the request continues: the one with the most messages in common."""
        again = [each for each in self.conversations if each.failed and each.messages == asking.messages]
        if again or asking.begins:
            return again[-1] if again else None
        rated = [
            (kept, n, each) for n, each in enumerate(self.conversations) if (kept := each.kept_of(asking)) is not None
        ]
        return max(rated, default=(0, 0, None), key=lambda each: each[:2])[2]

    def repeated(self, asking: Asking, *, retried: bool) -> Call | None:
        """Return the call that the request repeats, if its answer is here or arriving and no agent has got it.

        `retried`: the agent's SDK says that this is a retry.
        """
        for call in reversed(self.calls):
            if call.sha256 != asking.sha256 or self.closed:
                continue
            orphan = call.flow is not None and not call.flow.done and not call.flow.readers
            if orphan or (call.returned is not None and (retried or not call.delivered)):
                return call
        return None

    def ask(self, asking: Asking, model: str) -> Call:
        """Record a request before it is sent."""
        conversation = self.find(asking)
        events: list[Event] = []
        if conversation is None:
            number = len(self.conversations) + 1
            conversation = Conversation("main" if number == 1 else f"main/conversation-{number}")
            if number > 1:
                question = asking.question[:QUESTION] or f"A conversation with {model}"
                events.append(ChildStarted(agent=conversation.agent, question=question, recipe=model))
            self.conversations.append(conversation)
        events += self._results(conversation, asking)
        again = conversation.failed and asking.messages == conversation.messages
        conversation.ask += not again
        keep = common_prefix(conversation.messages, asking.messages)
        known = conversation.sizes[:keep] if len(conversation.sizes) >= keep else []
        conversation.sizes = [*known, *(estimate_tokens(each.content) for each in asking.messages[len(known) :])]
        agent, ask = conversation.agent, conversation.ask
        kept_items = common_prefix(conversation.items, asking.items)
        shown = sum(message.role == "assistant" for message in asking.messages)
        events += [
            Asked(
                agent=agent,
                ask=ask,
                round=ask,
                purpose="act",
                model=model,
                keep=keep,
                messages=asking.messages[keep:],
                tools=asking.tools,
                prompt_tokens=sum(conversation.sizes),
                rounds_shown=min(shown, ask - 1),
                rounds_so_far=ask - 1,
                role=PURPOSES["act"],
                step=True,
            ),
            Forwarded(
                agent=agent,
                ask=ask,
                api=asking.api,
                sha256=asking.sha256,
                head=None if asking.head == conversation.head else asking.head,
                keep=kept_items,
                items=tuple(asking.items[kept_items:]),
            ),
        ]
        self._take_request(conversation, asking, model)
        self.append(*events)
        call = Call(self, conversation, ask, asking.sha256)
        self.calls.append(call)
        return call

    def _take_request(self, conversation: Conversation, asking: Asking, model: str) -> None:
        conversation.messages, conversation.spoken = asking.messages, asking.spoken
        conversation.head, conversation.items, conversation.model = asking.head, asking.items, model
        conversation.failed, conversation.answered, conversation.asked = False, False, time.time()

    def _results(self, conversation: Conversation, asking: Asking) -> list[Event]:
        """Return the observations that the request brings: the results of calls that waited for one.

        Some frameworks write them as a message of the user, whose text is then the result of each call.
        """
        given = [(message.call_id or "", message.content) for message in asking.messages if message.role == "tool"]
        results = [(each, text) for each, text in given if each in conversation.pending]
        if conversation.pending and not results and (text := _written_results(asking.messages)):
            results = [(each, text) for each in conversation.pending]
        events: list[Event] = []
        for call_id, text in results:
            pending = conversation.pending.pop(call_id, None)
            if pending is None:  # a second result of one call
                continue
            observation = Observation(
                pending.call.id,
                pending.call.name,
                text,
                ok=call_id not in asking.failed,
                sources=tuple(map(self.ledger.add, passages(pending.call, text))),
                seconds=max(0.0, time.time() - pending.since),
            )
            events.append(ToolFinished(agent=conversation.agent, observation=observation))
        return events

    def stream(self, call: Call, deltas: Iterable[Delta]) -> None:
        """Record pieces of a reply that is still being written."""
        pieces: dict[str, str] = {}
        for delta in deltas:
            pieces[delta.kind] = pieces.get(delta.kind, "") + delta.text
        if pieces:
            agent, ask = call.conversation.agent, call.ask
            self.append(
                *(
                    Streamed(agent=agent, ask=ask, text=text, kind="text" if kind == "text" else "reasoning")
                    for kind, text in pieces.items()
                )
            )

    def answer(
        self, call: Call, returned: Returned, completion: Completion, usage: Usage, *, response: str, problem: str
    ) -> None:
        """Record a complete answer before the agent gets its end."""
        conversation, now = call.conversation, time.time()
        agent, ask = conversation.agent, call.ask
        calls = tuple(self._unique(each) for each in completion.calls)
        text = completion.text
        reply = Reply(
            text=text,
            thinking=completion.reasoning,
            calls=calls,
            answer="" if calls else text,
            reasoning=completion.reasoning,
            blocks=completion.blocks,
        )
        returned = msgspec.structs.replace(returned, agent=agent, ask=ask)
        seconds = max(0.0, now - conversation.asked)
        events: list[Event] = [
            returned,
            Replied(agent=agent, ask=ask, purpose="act", reply=reply, usage=usage, seconds=seconds),
        ]
        notes = [problem] if problem else []
        if completion.finish_reason.startswith("bad_tool_call"):
            notes.append(f"A call cannot be read: {completion.finish_reason.partition(':')[2]}")
        events += [Warned(agent=agent, kind="model", text=clip(note, 500)) for note in notes]
        events += [ToolStarted(agent=agent, call=each) for each in calls]
        self._take_answer(call, returned, zip(completion.calls, calls, strict=True), response, now)
        self.append(*events)

    def _take_answer(
        self, call: Call, returned: Returned, calls: Iterable[tuple[ToolCall, ToolCall]], response: str, now: float
    ) -> None:
        conversation, call.returned = call.conversation, returned
        conversation.pending = {given.id: Pending(own, now) for given, own in calls}
        conversation.answered = all(each.call.name.startswith(FINAL) for each in conversation.pending.values())
        if response:
            conversation.responses.add(response)

    def fail(self, call: Call, error: str, returned: Returned | None = None) -> None:
        """Record that a request has no reply; `returned` is the error that the endpoint sent."""
        agent, ask = call.conversation.agent, call.ask
        call.conversation.failed = ask == call.conversation.ask
        events: list[Event] = [] if returned is None else [msgspec.structs.replace(returned, agent=agent, ask=ask)]
        self.append(*events, Withdrawn(agent=agent, ask=ask, error=clip(error, 500), wait_s=0.0))

    def repeat(self, call: Call) -> None:
        """Record that a request was answered again from the record."""
        text = f"Request {call.ask} was sent again, and answered from the record."
        self.append(Warned(agent=call.conversation.agent, kind="model", text=text))

    def _unique(self, call: ToolCall) -> ToolCall:
        """Return the call with an id unique in the run: some servers count from 0 in each reply."""
        name, n = call.id, 1
        while name in self._ids:
            n += 1
            name = f"{call.id}#{n}"
        self._ids.add(name)
        return call if name == call.id else msgspec.structs.replace(call, id=name)

    def go_on(self) -> None:
        """Record that a run that was paused goes on."""
        self.append(Resumed(by_itself=True))


def restored(events: Sequence[Event], append: Append, *, named: bool) -> RecordedRun:
    """Return a run as its events left it; each recorded answer may be given once more."""
    run = RecordedRun(events[0].run, append, named=named)
    run.seq = events[-1].seq + 1
    run.ledger = Ledger(s for each in events if isinstance(each, ToolFinished) for s in each.observation.sources)
    conversations: dict[str, Conversation] = {}
    calls: dict[tuple[str, int], Call] = {}
    model = ""
    for event in events:
        match event:
            case Asked():
                model = event.model
            case Forwarded():
                conversation = conversations.setdefault(event.agent, Conversation(event.agent))
                asking = asking_of(event, conversation)
                run._take_request(conversation, asking, model)
                conversation.ask = event.ask
                calls[event.agent, event.ask] = Call(run, conversation, event.ask, event.sha256)
            case Withdrawn():
                conversations[event.agent].failed = True
            case Returned() if event.status < 400:
                call = calls[event.agent, event.ask]
                run._take_answer(call, event, (), _response_id(event.body), event.time)
            case ToolStarted(call=made):
                run._ids.add(made.id)
                conversations[event.agent].pending[_NUMBER.sub("", made.id)] = Pending(made, event.time)
                conversations[event.agent].answered &= made.name.startswith(FINAL)
            case ToolFinished(observation=seen):
                pending = conversations[event.agent].pending
                for given in [given for given, each in pending.items() if each.call.id == seen.call_id]:
                    del pending[given]
    run.conversations, run.calls = list(conversations.values()), list(calls.values())
    for call in run.calls:
        if call.returned is None and not call.conversation.failed and call.ask == call.conversation.ask:
            run.fail(call, "the gateway was ended before the answer arrived")
    return run


def _written_results(messages: Sequence[Message]) -> str:
    """Return what the user says after the last reply."""
    said: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant":
            return "\n".join(reversed(said)).strip()
        said += [message.content] if message.role == "user" else []
    return ""


def asking_of(event: Forwarded, before: Conversation) -> Asking:
    """Return a recorded request; its bytes may differ from those sent in white space and escapes."""
    head = event.head if event.head is not None else before.head or {}
    items = [*before.items[: event.keep], *event.items]
    name = "input" if event.api == "responses" else "messages"
    body = head if name in head else {**head, name: items}
    asking = read(event.api, msgspec.json.encode(body))
    return msgspec.structs.replace(asking, sha256=event.sha256)


def _response_id(body: bytes) -> str:
    """Return the id of a response of OpenAI's responses; empty for other answers."""
    found = _RESPONSE.search(body)
    return found.group(1).decode() if found else ""
