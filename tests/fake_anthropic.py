"""A fake of Anthropic's messages API over real HTTP on loopback, as strict as the service's documentation says.

    with FakeAnthropic([FakeReply("Paris", reasoning="France")]) as server:
        model = anthropic_model("fake", base_url=server.base_url, api_key="")

The script is that of `FakeOpenAI`; a function receives the request in OpenAI's format (see `as_chat`), so that the same
players work behind both.  Thinking is signed, and rejected unless the client returns it unchanged.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from tests.fake_openai import Body, FakeOpenAI, FakeReply, Script

VERSIONS = ("2023-06-01", "2026-10-21")
KNOWN = {
    "model", "max_tokens", "messages", "stream", "system", "tools", "tool_choice", "output_config", "stop_sequences",
    "thinking", "temperature", "metadata", "cache_control",
}  # fmt: skip
KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
         413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}  # fmt: skip
THINKING = ("thinking", "redacted_thinking")
MOST_TOKENS = 64_000


class FakeAnthropic(FakeOpenAI):
    """A server that runs inside a `with` block.

    `modes`: the thinking modes of its models.  `bound`: reject thinking when anything before it has changed.
    `page`: the number of models per page of `/v1/models`.  `usage` of a reply counts its whole prompt; with `caching`,
    a prompt has as many tokens as characters, and the breakpoints decide what the cache reads and writes.
    """

    paths: tuple[str, ...] = ("/v1/messages", "/v1/models")

    def __init__(
        self,
        script: Script = (),
        *,
        modes: Sequence[str] = ("adaptive", "enabled"),
        bound: bool = False,
        caching: bool = False,
        page: int = 20,
        most_tokens: int = MOST_TOKENS,
        **options: Any,
    ) -> None:
        super().__init__(script, **options)
        self.versions: list[str | None] = []
        self.bodies = self.tried
        self._modes, self._bound, self._caching, self._page, self._most = modes, bound, caching, page, most_tokens
        self._signed: dict[str, str] = {}
        """The text behind each signature: the thinking block and everything before it."""
        self._kept: set[str] = set()

    @property
    def base_url(self) -> str:
        return super().base_url.removesuffix("/v1")

    def reply_to(self, body: Body) -> FakeReply:
        return super().reply_to(as_chat(body))

    def listed(self, query: str) -> Any:
        asked = parse_qs(query)
        names = list(self.models)
        after = asked.get("after_id")
        first = names.index(after[0]) + 1 if after else 0
        size = min(self._page, int(asked.get("limit", ["20"])[0]))
        shown = names[first : first + size]
        return {
            "data": [{"type": "model", "id": name, "display_name": name} for name in shown],
            "has_more": first + size < len(names), "first_id": shown[0], "last_id": shown[-1],
        }  # fmt: skip

    def refused(self, headers: Mapping[str, str]) -> FakeReply | None:
        sent = headers.get("x-api-key") or (headers.get("Authorization") or "").removeprefix("Bearer ") or None
        self.authorizations.append(sent)
        self.versions.append(headers.get("anthropic-version"))
        if self.key is not None and sent != self.key:
            return self.error(401, f"invalid x-api-key: {sent}")
        if headers.get("anthropic-version") not in VERSIONS:
            return self.error(400, f"anthropic-version: {headers.get('anthropic-version')!r} is not a valid version")
        return None

    def refused_body(self, body: Body, headers: Mapping[str, str]) -> FakeReply | None:
        if body.get("model") not in self.models:
            return self.error(404, f"model: {body.get('model')}")
        problem = self._problem(body, headers["anthropic-version"])
        return self.error(400, problem) if problem else None

    def error(self, status: int, message: str, code: str | None = None, param: str | None = None) -> FakeReply:
        return FakeReply(status=status, body=error_body(status, message))

    def events(self, reply: FakeReply, body: Body) -> Iterator[str]:
        for event in self._stream_of(reply, body):
            yield f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"

    def whole(self, reply: FakeReply, body: Body) -> Body:
        """Return the message that the events of a stream would build."""
        message: Body = {"content": []}
        for event in self._stream_of(reply, body):
            match event["type"]:
                case "message_start":
                    message |= event["message"] | {"content": []}
                case "content_block_start":
                    message["content"].append(dict(event["content_block"]))
                case "content_block_delta":
                    _grow(message["content"][event["index"]], event["delta"])
                case "message_delta":
                    message["stop_reason"] = event["delta"]["stop_reason"]
                    message.setdefault("usage", {}).update(event.get("usage") or {})
                case "error":
                    return event
        for block in message["content"]:
            if "partial" in block:
                block["input"] = json.loads(block.pop("partial") or "{}")
        return message

    def _problem(self, body: Body, version: str) -> str | None:
        if unknown := set(body) - KNOWN:
            return f"{min(unknown)}: Extra inputs are not permitted"
        if "temperature" in body and version != "2023-06-01":
            return "temperature: Extra inputs are not permitted"
        for name in self.refuses:
            if name in body:
                return f"`{name}` is not supported on this model."
        if not isinstance(body.get("max_tokens"), int):
            return "max_tokens: Field required"
        if body["max_tokens"] > self._most:
            return (
                f"max_tokens: {body['max_tokens']} > {self._most}, which is the maximum allowed number of output tokens"
            )
        return (
            self._thinking_problem(body)
            or (turns_problem(body) if self.strict else None)
            or cache_problem(body)
            or self._signature_problem(body)
        )

    def _thinking_problem(self, body: Body) -> str | None:
        thinking = body.get("thinking")
        if thinking is None:
            return None
        if thinking["type"] not in self._modes:
            return f"thinking.type: {thinking['type']} thinking is not supported on this model"
        if body.get("temperature", 1) != 1:
            return "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
        if thinking["type"] != "enabled":
            return None
        if not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]:
            return "thinking.enabled.budget_tokens: has to be at least 1024 and less than max_tokens"
        if body.get("tool_choice", {}).get("type") in ("any", "tool"):
            return "Thinking may not be enabled when tool_choice forces tool use."
        last = next((turn["content"] for turn in reversed(body["messages"]) if turn["role"] == "assistant"), [])
        if any(block["type"] == "tool_use" for block in last) and last[0]["type"] not in THINKING:
            return (
                f"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{last[0]['type']}`."
            )
        return None

    def _signature_problem(self, body: Body) -> str | None:
        for n, turn in enumerate(body["messages"]):
            for i, block in enumerate(turn["content"]):
                if block["type"] not in THINKING:
                    continue
                given = self._signed.get(block.get("signature") or block.get("data") or "")
                where = f"messages.{n}.content.{i}: Invalid `signature` in `thinking` block"
                if given is None or not given.startswith(_text(block)):
                    return where
                if self._bound and given != _text(block) + _before(body, n):
                    return f"{where}. The block is bound to a different conversation."
        return None

    def _stream_of(self, reply: FakeReply, body: Body) -> Iterator[Body]:
        usage = self._usage(reply, body)
        start = {"id": "msg_fake", "type": "message", "role": "assistant", "model": body["model"], "content": [],
                 "stop_reason": None, "stop_sequence": None}  # fmt: skip
        yield {"type": "message_start", "message": start | ({"usage": {**usage, "output_tokens": 1}} if usage else {})}
        yield {"type": "ping"}
        if reply.deltas is not None:
            yield from reply.deltas
        else:
            yield from self._blocks(reply, body)
        if reply.error_inside is not None:
            yield reply.error_inside
            return
        reason = ("tool_use" if reply.calls else "end_turn") if reply.finish_reason == "auto" else reply.finish_reason
        if reason is not None:
            out = {"output_tokens": reply.usage[1]} if reply.usage else None
            delta = {"stop_reason": reason, "stop_sequence": None}
            yield {"type": "message_delta", "delta": delta} | ({"usage": out} if out else {})
        if reply.done:
            yield {"type": "message_stop"}

    def _blocks(self, reply: FakeReply, body: Body) -> Iterator[Body]:
        """Yield the events of each block in turn, a few characters at a time, as the service does."""
        index = itertools.count()
        if reply.reasoning:
            n = next(index)
            yield _start(n, {"type": "thinking", "thinking": "", "signature": ""})
            for piece in _pieces(reply.reasoning):
                yield _delta(n, type="thinking_delta", thinking=piece)
            yield _delta(n, type="signature_delta", signature=self.sign(reply.reasoning, body))
            yield {"type": "content_block_stop", "index": n}
        if reply.text:
            n = next(index)
            yield _start(n, {"type": "text", "text": ""})
            for piece in _pieces(reply.text):
                yield _delta(n, type="text_delta", text=piece)
            yield {"type": "content_block_stop", "index": n}
        for i, (name, given) in enumerate(reply.calls):
            n = next(index)
            yield _start(n, {"type": "tool_use", "id": f"toolu_fake_{i}", "name": name, "input": {}})
            written = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            for piece in ("", *_pieces(written)):
                yield _delta(n, type="input_json_delta", partial_json=piece)
            yield {"type": "content_block_stop", "index": n}

    def sign(self, thinking: str, body: Body) -> str:
        """Return a signature for this thinking at the end of this conversation."""
        given = thinking + _before(body, len(body["messages"]))
        signature = hashlib.sha256(f"{body['model']} {given}".encode()).hexdigest()
        self._signed[signature] = given
        return signature

    def _usage(self, reply: FakeReply, body: Body) -> Body | None:
        if reply.usage is None:
            return None
        read, written = reply.cached
        prompt = reply.usage[0]
        if self._caching:
            ends = prefixes(body)
            read = max((len(prefix) for prefix in ends if prefix in self._kept), default=0)
            written = max((len(prefix) for prefix in ends), default=0) - read
            self._kept.update(ends)
            prompt = len(_before(body, len(body["messages"])))
        return {"input_tokens": prompt - read - written, "cache_read_input_tokens": read,
                "cache_creation_input_tokens": written}  # fmt: skip


def error_body(status: int, message: str) -> Body:
    """Return an error body in the service's format."""
    error = {"type": KINDS.get(status, "api_error"), "message": message, "details": None}
    return {"type": "error", "error": error, "request_id": "req_fake"}


def turns_problem(body: Body) -> str | None:
    """Return why the service rejects a conversation, in its words, or None."""
    unanswered: list[str] = []
    before = "assistant"
    for n, turn in enumerate(body.get("messages") or ()):
        role, content = turn["role"], turn["content"]
        if role not in ("user", "assistant") or role == before:
            return f"messages.{n}.role: roles must alternate between user and assistant, found {role}"
        before = role
        if not isinstance(content, list) or not content:
            return f"messages.{n}: content must not be empty"
        if any(block["type"] == "text" and not block["text"].strip() for block in content):
            return f"messages.{n}: text content blocks must contain non-whitespace text"
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if sorted(results) != sorted(unanswered):
            return f"messages.{n}: `tool_use` ids {unanswered} and `tool_result` blocks {results} do not match"
        if [block["type"] == "tool_result" for block in content] != sorted(
            (block["type"] == "tool_result" for block in content), reverse=True
        ):
            return f"messages.{n}: tool_result blocks must come first"
        unanswered = [block["id"] for block in content if block["type"] == "tool_use"]
        if unanswered and (role == "user" or not body.get("tools")):
            return "Requests which include `tool_use` or `tool_result` blocks must define tools"
        types = [block["type"] for block in content]
        if "tool_use" in types and "text" in types[types.index("tool_use") :]:
            return f"messages.{n}: text after tool_use"
    if before == "assistant":
        return "This model does not support assistant message prefill. The conversation must end with a user message."
    return None


def cache_problem(body: Body) -> str | None:
    """Return why the service rejects the cache breakpoints, or None."""
    blocks = [*(body.get("tools") or ()), *(body.get("system") or ())]
    blocks += [block for turn in body["messages"] for block in turn["content"]]
    marked = [block for block in blocks if "cache_control" in block]
    if len(marked) > 4:
        return f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
    if any(block.get("type") in THINKING for block in marked):
        return "cache_control cannot be set for thinking blocks"
    return None


def prefixes(body: Body) -> list[str]:
    """Return the text up to and including each cache breakpoint."""
    flat = [("tools", block) for block in body.get("tools") or ()]
    flat += [("system", block) for block in body.get("system") or ()]
    flat += [(f"{n}", block) for n, turn in enumerate(body["messages"]) for block in turn["content"]]
    found, written = [], ""
    for place, block in flat:
        written += place + json.dumps({key: value for key, value in block.items() if key != "cache_control"})
        if "cache_control" in block:
            found.append(written)
    return found


def as_chat(body: Body) -> Body:
    """Convert the request to OpenAI's chat completions format."""
    system = "\n\n".join(block["text"] for block in body.get("system") or ())
    messages: list[Body] = [{"role": "system", "content": system}] if system else []
    for turn in body["messages"]:
        blocks = turn["content"]
        words = "".join(block["text"] for block in blocks if block["type"] == "text")
        for block in blocks:
            if block["type"] == "tool_result":
                result = {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block.get("content", "")}
                messages.append(result)
        calls = [
            {"id": block["id"], "type": "function",
             "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
            for block in blocks if block["type"] == "tool_use"
        ]  # fmt: skip
        if words or calls:
            said: Body = {"role": turn["role"], "content": words}
            if calls:
                said["tool_calls"] = calls
            thought = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
            messages.append(said | ({"reasoning_content": thought} if thought else {}))
    return {**body, "messages": messages}


def _grow(block: Body, delta: Body) -> None:
    for key, name in (
        ("text", "text"),
        ("thinking", "thinking"),
        ("signature", "signature"),
        ("partial_json", "partial"),
    ):
        if key in delta:
            block[name] = block.get(name, "") + delta[key]


def _text(block: Body) -> str:
    return str(block.get("thinking") or "")


def _before(body: Body, n: int) -> str:
    """Return everything before the n-th turn, as text."""
    plain = json.loads(json.dumps([body.get("system"), body.get("tools"), body["messages"][:n]]))
    for block in [*(plain[0] or ()), *(plain[1] or ()), *(b for turn in plain[2] for b in turn["content"])]:
        block.pop("cache_control", None)
    return json.dumps(plain)


def _start(index: int, block: Body) -> Body:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, **delta: str) -> Body:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _pieces(text: str, size: int = 4) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
