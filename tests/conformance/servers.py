"""Servers that play one behaviour of a service, around a model that does what any framework asks."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import Body, FakeOpenAI, FakeReply, history_problem
from tests.player import Player

Refuse = Callable[[Body], str | None]
Shape = Callable[[Body], Body]


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """One behaviour of a service, and what has to come of it."""

    id: str
    service: str
    """The preset of its endpoint."""
    what: str
    """What the service does; then, after an arrow, what the workbench does."""
    api: str = "chat"
    refuse: Refuse | None = None
    """Returns why the service refuses a request with 400, or None."""
    code: str = ""
    param: str = ""
    status: int = 400
    """Of its refusals."""
    faults: Mapping[int, FakeReply] = field(default_factory=dict)
    """What comes instead of the reply of that number, from 1."""
    message: Shape | None = None
    """Changes the message of a reply that is not streamed."""
    deltas: Callable[[Body], list[Body]] | None = None
    """Splits that message into the deltas of a stream; by default one for each field."""
    finish: str = ""
    """The finish reason of every reply, instead of OpenAI's."""
    usage: Body | None = None
    between: str = ""
    """Lines between the events of a stream."""
    first: Sequence[Body] = ()
    """Chunks before the others."""
    late: Sequence[Body] = ()
    """Chunks after the others."""
    body: Callable[[Body], Any] = lambda error: error
    """Changes the body of an error."""
    thinking: bool = False
    """The model refuses a history without its reasoning."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    entry: Mapping[str, Any] = field(default_factory=dict)
    """Of the endpoint."""
    modes: Sequence[str] = ("streamed", "plain")
    ends: str = "answered"
    """The outcome of the run; with `failed`, `says` is in its error."""
    says: str = ""
    fake: str = "openai"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the fake."""
    apart: str = ""
    """The framework to which it is not played: it plans in text, so that no call of its history was made by the model."""
    learns: bool = False
    """Whether a refusal is a part of it; other behaviours must never be refused anything."""


class Playing:
    """Adds a behaviour to a fake.  `problems` lists what it refused."""

    behaviour: Behaviour
    problems: list[str]
    _count: int = 0

    def play(self, behaviour: Behaviour) -> None:
        self.behaviour, self.problems = behaviour, []

    def trouble(self, body: Body) -> FakeReply | None:
        """Return a refusal of this request, or the fault that is due."""
        behaviour = self.behaviour
        if behaviour.refuse and (problem := behaviour.refuse(body)):
            self.problems.append(problem)
            return refusal(behaviour, problem)
        self._count += 1
        last = max(behaviour.faults, default=0)
        lasting = behaviour.ends == "failed" and self._count > last > 0
        if fault := behaviour.faults.get(last if lasting else self._count):
            return fault
        return None


class Chat(Playing, FakeOpenAI):
    """A service with OpenAI's chat completions."""

    def refused_body(self, body: Body, headers: Mapping[str, str]) -> FakeReply | None:
        return self.trouble(body)

    def whole(self, reply: FakeReply, body: Body) -> Body:
        if reply.deltas is not None or reply.error_inside is not None:
            return reply.error_inside or {"choices": []}
        whole = copy.deepcopy(super().whole(reply, body))
        message = whole["choices"][0]["message"]
        whole["choices"][0]["message"] = self._message(message)
        if self.behaviour.finish and reply.finish_reason == "auto":
            whole["choices"][0]["finish_reason"] = self.behaviour.finish
        if self.behaviour.usage:
            whole["usage"] = self.behaviour.usage
        return whole

    def _message(self, message: Body) -> Body:
        message = {key: value for key, value in message.items() if value is not None}
        return self.behaviour.message(message) if self.behaviour.message else message

    def frames(self, reply: FakeReply, body: Body) -> Iterator[bytes]:
        """Yield the stream in pieces of random size, which cut lines and characters."""
        if reply.raw is not None:
            text = reply.raw
        else:
            text = "".join(f"{self.behaviour.between}data: {data}\n\n" for data in self._chunks(reply, body))
        data, dice = text.encode(), random.Random(len(text))
        while data:
            size = dice.randint(1, 400)
            yield data[:size]
            data = data[size:]

    def _chunks(self, reply: FakeReply, body: Body) -> Iterator[str]:
        behaviour = self.behaviour
        if reply.deltas is not None:
            yield from (_chunk({"delta": each, "finish_reason": None}) for each in reply.deltas)
            if reply.error_inside is not None:
                yield json.dumps(reply.error_inside)
            return
        whole = self.whole(reply, body)
        if "choices" not in whole:
            yield json.dumps(whole)
            return
        choice = whole["choices"][0]
        yield from (json.dumps(each) for each in behaviour.first)
        for delta in (behaviour.deltas or split)(choice["message"]):
            yield _chunk({"delta": delta, "finish_reason": None})
        yield _chunk({"delta": {}, "finish_reason": choice["finish_reason"]})
        yield from (json.dumps(each) for each in behaviour.late)
        yield json.dumps({"choices": [], "usage": whole["usage"]})
        yield "[DONE]"


def split(message: Body) -> list[Body]:
    """Return deltas as OpenAI sends them: a few characters at a time, id and name with a call's first part."""
    found: list[Body] = [{"role": "assistant", "content": ""}]
    for key, value in message.items():
        if key == "tool_calls":
            for index, call in enumerate(value):
                arguments = call["function"]["arguments"]
                start = {**call["function"], "arguments": ""}
                found.append({"tool_calls": [{**call, "index": index, "function": start}]})
                for at in range(0, len(arguments), 9):
                    part = {"index": index, "function": {"arguments": arguments[at : at + 9]}}
                    found.append({"tool_calls": [part]})
        elif isinstance(value, str) and key != "role":
            found += [{key: value[at : at + 7]} for at in range(0, len(value), 7)]
        elif key != "role":
            found.append({key: value})
    return found


def _chunk(choice: Body) -> str:
    return json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]})


class Responses(Playing, FakeOpenAI):
    """OpenAI's Responses API without a store, as strict as the real one."""

    paths = ("/v1/responses",)

    def refused_body(self, body: Body, headers: Mapping[str, str]) -> FakeReply | None:
        if problem := items_problem(body):
            self.problems.append(problem)
            return refusal(self.behaviour, problem)
        return self.trouble(body)

    def reply_to(self, body: Body) -> FakeReply:
        return super().reply_to(chat_of(body))

    def items(self, reply: FakeReply) -> list[Body]:
        """Return the output of a reply: reasoning, then what it led to."""
        n = len(self.requests)
        thought = {
            "type": "reasoning",
            "id": f"rs_{n}",
            "summary": [],
            "encrypted_content": f"secret-{n}",
            "status": None,
        }
        found: list[Body] = [thought]
        if reply.text:
            found.append(
                {
                    "type": "message", "id": f"msg_{n}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
                }
            )  # fmt: skip
        for i, (name, given) in enumerate(reply.calls):
            arguments = given if isinstance(given, str) else json.dumps(given)
            found.append(
                {
                    "type": "function_call", "id": f"fc_{n}_{i}", "call_id": f"call_{n}_{i}", "name": name,
                    "arguments": arguments, "status": "completed",
                }
            )  # fmt: skip
        return found

    def whole(self, reply: FakeReply, body: Body) -> Body:
        if reply.error_inside is not None:
            return {"object": "response", "status": "failed", "output": [], "error": reply.error_inside}
        output = self.items(reply)
        ended: Body = {"status": "completed"}
        if reply.finish_reason == "length":
            output[-1]["status"] = "incomplete"
            ended = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        usage = {"input_tokens": 9, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4}}
        return {"id": "resp_1", "object": "response", "output": output, "usage": usage, "error": None, **ended}

    def events(self, reply: FakeReply, body: Body) -> Iterator[str]:
        for n, event in enumerate(self._events(reply, body)):
            yield f"event: {event['type']}\ndata: {json.dumps({'sequence_number': n, **event})}\n\n"

    def _events(self, reply: FakeReply, body: Body) -> Iterator[Body]:
        whole = self.whole(reply, body)
        yield {"type": "response.created", "response": {"status": "in_progress", "output": []}}
        for n, item in enumerate(whole["output"]):
            yield {"type": "response.output_item.added", "output_index": n, "item": {"type": item["type"]}}
            yield {"type": "response.something_new", "delta": {"of": "tomorrow"}} | {"delta": "?"}
            if item["type"] == "message":
                yield {"type": "response.output_text.delta", "delta": item["content"][0]["text"]}
            elif item["type"] == "function_call":
                yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
            yield {"type": "response.output_item.done", "output_index": n, "item": item}
        yield {"type": f"response.{whole['status']}", "response": {**whole, "output": []}}


def items_problem(body: Body) -> str | None:
    """Return why the Responses API without a store refuses a request."""
    if body.get("store") is not False or "reasoning.encrypted_content" not in body.get("include", ()):
        return "store: only false is played here, with include reasoning.encrypted_content"
    if "messages" in body or "stop" in body or "max_tokens" in body:
        return "Unknown parameter: 'messages', 'stop' or 'max_tokens'"
    if any("function" in tool or "name" not in tool for tool in body.get("tools") or ()):
        return "Missing required parameter: 'tools[0].name'"
    if "previous_response_id" in body:
        return "Previous response not found"
    open_calls: set[str] = set()
    items = body["input"]
    for n, item in enumerate(items):
        kind = item.get("type")
        if kind == "item_reference" or str(item.get("id", "")).startswith(("msg_", "fc_")):
            return f"Item {item.get('id')!r} not found. Items are not persisted when store is false."
        if kind == "reasoning":
            follows = items[n + 1].get("type") if n + 1 < len(items) else None
            if "summary" not in item:
                return f"Missing required parameter: 'input[{n}].summary'"
            if not item.get("encrypted_content"):
                return f"Item {item.get('id')!r} not found. Items are not persisted when store is false."
            if follows not in ("function_call", "message"):
                return f"Item {item.get('id')!r} of type 'reasoning' was provided without its required following item."
        if kind == "function_call":
            open_calls.add(item["call_id"])
        if kind == "function_call_output":
            if item["call_id"] not in open_calls:
                return f"No tool call found for function call output with call_id {item['call_id']}"
            open_calls.remove(item["call_id"])
    return f"No tool output found for function call {sorted(open_calls)}" if open_calls else None


def chat_of(body: Body) -> Body:
    """Return a request of the Responses API as one of chat completions."""
    messages: list[Body] = []
    for item in body["input"]:
        match item.get("type"):
            case None:
                messages.append({"role": item["role"], "content": item["content"]})
            case "message":
                messages.append({"role": "assistant", "content": item["content"][0]["text"]})
            case "function_call":
                call = {"id": item["call_id"], "function": {"name": item["name"], "arguments": item["arguments"]}}
                if messages[-1]["role"] == "assistant" and messages[-1].get("tool_calls"):
                    messages[-1]["tool_calls"].append(call)
                else:
                    messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            case "function_call_output":
                messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
    return {**body, "messages": messages}


class Claude(Playing, FakeAnthropic):
    """Anthropic's messages API."""

    def refused_body(self, body: Body, headers: Mapping[str, str]) -> FakeReply | None:
        refused = super().refused_body(body, headers)
        if refused is not None:
            self.problems.append(str(refused.body))
            return refused
        return self.trouble(body)


def refusal(behaviour: Behaviour, problem: str) -> FakeReply:
    """Return the error with which a service refuses a request."""
    error = {"message": problem, "type": "invalid_request_error", "code": behaviour.code or None}
    if behaviour.param:
        error["param"] = behaviour.param
    return FakeReply(status=behaviour.status, body=behaviour.body({"error": error}))


FAKES: Mapping[str, Callable[..., Any]] = {"openai": Chat, "responses": Responses, "anthropic": Claude}


def serve(behaviour: Behaviour) -> Any:
    """Return a server that plays a behaviour for five rounds: four searches, then the answer."""
    player = Player("native", laps=4, thinking=behaviour.thinking)
    made = FAKES[behaviour.fake](player, **{"strict": False, **behaviour.options})
    made.play(behaviour)
    made.player = player
    return made


def paired(body: Body) -> str | None:
    """Return why every strict service refuses a history, or None."""
    return history_problem(body["messages"])
