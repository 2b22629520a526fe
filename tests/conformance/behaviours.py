"""The behaviours of model services that are played, by the id of the list that they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.conformance.servers import Behaviour, Refuse, paired, split
from tests.fake_openai import Body, FakeReply

BUSY = {"error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}
NO_WAIT = {"Retry-After": "0"}


def assistants(body: Body) -> Iterator[Body]:
    return (message for message in body["messages"] if message["role"] == "assistant")


def absent(*names: str) -> Refuse:
    """Refuse a request with one of these parameters."""
    return lambda body: next((f"Unsupported parameter: '{n}' is not supported" for n in names if n in body), None)


def needs_reasoning(name: str, said: str) -> Refuse:
    """Refuse calls that come back without their reasoning."""
    return lambda body: next((said for m in assistants(body) if m.get("tool_calls") and not m.get(name)), None)


def knows_only(*fields: str) -> Refuse:
    """Refuse messages with another field."""

    def refuse(body: Body) -> str | None:
        for message in body["messages"]:
            if extra := set(message) - {"role", "content", "tool_calls", "tool_call_id", *fields}:
                return f"property '{min(extra)}' is unsupported"
        return None

    return refuse


def strict_schemas(body: Body) -> str | None:
    for tool in body.get("tools") or ():
        function = tool["function"]
        required = set(function["parameters"].get("required") or ())
        if function.get("strict") and required != set(function["parameters"].get("properties") or ()):
            return "invalid_function_parameters: 'required' is required to include every key"
    return None


def openapi_only(body: Body) -> str | None:
    """Refuse keywords that OpenAPI 3.0 does not know, as Gemini does."""
    text = json.dumps(body.get("tools") or [])
    for word in ("$schema", "$ref", "const", "additionalProperties", "exclusiveMinimum", "propertyNames"):
        if f'"{word}":' in text:
            return f"Invalid JSON payload received. Unknown name \"{word}\" at 'tools[0].function': Cannot find field."
    return 'Unknown name "type" at tools: list' if re.search(r'"type": \[', text) else None


def signed(body: Body) -> str | None:
    """Refuse calls without a thought signature."""
    for message in assistants(body):
        calls = message.get("tool_calls") or ()
        extra = calls[0].get("extra_content") if calls else None
        if calls and not (extra and str(extra["google"]["thought_signature"]).startswith(("sign-", "skip_"))):
            return "Function call is missing a thought_signature in functionCall parts."
    return None


def sign(message: Body) -> Body:
    for n, call in enumerate(message.get("tool_calls") or ()):
        if n == 0:
            call["extra_content"] = {"google": {"thought_signature": f"sign-{call['function']['arguments']}"}}
    return message


def unnumbered(message: Body) -> list[Body]:
    """Return deltas with whole calls without an index, and a signature in a delta of its own."""
    found: list[Body] = []
    for call in message.pop("tool_calls", ()):
        extra = call.pop("extra_content", None)
        found.append({"tool_calls": [call]})
        if extra:
            found.append({"tool_calls": [{"extra_content": extra}]})
    return [*split(message), *found]


def all_zero(message: Body) -> list[Body]:
    calls = message.pop("tool_calls", ())
    return [*split(message), *({"tool_calls": [{**call, "index": 0}]} for call in calls)]


def nine(body: Body) -> str | None:
    ids = [call["id"] for m in assistants(body) for call in m.get("tool_calls") or ()]
    ids += [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
    bad = next((each for each in ids if not re.fullmatch(r"[A-Za-z0-9]{9}", each)), None)
    return f"Tool call id was {bad} but must be a-z, A-Z, 0-9, with a length of 9. (code 3280)" if bad else paired(body)


def no_user_after_tool(body: Body) -> str | None:
    roles = [message["role"] for message in body["messages"]]
    if any(pair == ("tool", "user") for pair in zip(roles, roles[1:], strict=False)):
        return "invalid_request_message_order: Unexpected role 'user' after role 'tool' (code 3230)"
    return None


def thought_parts(message: Body) -> Body:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": message.pop("reasoning_content", "")}]}]
    return {**message, "content": [*parts, {"type": "text", "text": message.get("content") or ""}]}


def renamed(message: Body) -> Body:
    if "reasoning_content" in message:
        message["reasoning"] = message.pop("reasoning_content")
    return message


def details(message: Body) -> Body:
    thought = message.pop("reasoning_content", "")
    part = {"type": "reasoning.text", "text": thought, "signature": f"sig-{len(thought)}", "index": 0}
    return {**message, "reasoning_details": [part]}


def details_back(body: Body) -> str | None:
    for message in assistants(body):
        parts = message.get("reasoning_details") or [{}]
        if message.get("tool_calls") and not str(parts[0].get("signature", "")).startswith("sig-"):
            return "reasoning_details must be passed back unmodified"
    return None


def same_ids(message: Body) -> Body:
    for n, call in enumerate(message.get("tool_calls") or ()):
        call["id"] = f"functions.{call['function']['name']}:{n}"
    return message


def empty_turns(body: Body) -> str | None:
    turns = (m for m in assistants(body) if not m.get("tool_calls") and not str(m.get("content") or "").strip())
    return "message with role 'assistant' must not be empty" if any(turns) else None


def valid_arguments(body: Body) -> str | None:
    for message in assistants(body):
        for call in message.get("tool_calls") or ():
            try:
                given = json.loads(call["function"]["arguments"])
            except ValueError:
                given = None
            if not isinstance(given, dict):
                return "Failed to parse tool call arguments as JSON"
    return None


def late_system(body: Body) -> str | None:
    roles = [message["role"] for message in body["messages"]]
    return "System message must be at the beginning." if "system" in roles[1:] else None


def unthinking(body: Body) -> str | None:
    if not body.get("stream") and body.get("enable_thinking") is not False:
        return "parameter.enable_thinking must be set to false for non-streaming calls"
    return None


def error_list(error: Body) -> Any:
    return [{"error": {"code": 400, "message": error["error"]["message"], "status": "INVALID_ARGUMENT"}}]


def extra_forbidden(error: Body) -> Any:
    where = ["body", "messages", 3, "assistant", re.findall(r"'(\w+)'", error["error"]["message"])[0]]
    return {"detail": [{"type": "extra_forbidden", "loc": where, "msg": "Extra inputs are not permitted"}]}


def null_content(message: Body) -> Body:
    return message | {"content": None} if message.get("tool_calls") else message


def usage_of(**fields: Any) -> Body:
    return {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12, **fields}


def failed_call(kind: Callable[[str], Body]) -> FakeReply:
    return FakeReply(
        status=400, body=kind('<tool_call>{"name": "search", "arguments": {"query": "Japan"}}</tool_call>')
    )


OPENAI = [
    Behaviour(id="OAI-1", service="openai", refuse=absent("max_tokens"), code="unsupported_parameter", param="max_tokens",
              what="refuses max_tokens → max_completion_tokens is sent"),
    Behaviour(id="OAI-2", service="openai", refuse=absent("temperature"), code="unsupported_value", param="temperature",
              recipe={"temperature": 0.3}, learns=True,
              what="refuses a temperature → the request is sent again without, and so are all later ones"),
    Behaviour(id="OAI-3", service="openai", param="reasoning_effort", learns=True,
              refuse=lambda body: None if body.get("reasoning_effort") == "none" or "tools" not in body
              else "Function tools with reasoning_effort are not supported in /v1/chat/completions.",
              what="refuses tools with reasoning in chat completions → reasoning is switched off, or Responses is used"),
    Behaviour(id="OAI-4", service="openai", refuse=strict_schemas, param="tools[0].function.parameters",
              what="strict schemas must be closed → strict is asked for closed schemas only"),
    Behaviour(id="OAI-5", service="openai", fake="responses", entry={"api": "responses"},
              what="reasoning must be followed by its own item → all items go back in their order"),
    Behaviour(id="OAI-6", service="openai", fake="responses", entry={"api": "responses"},
              what="without a store, ids of items are not found → encrypted reasoning goes back whole, other ids do not"),
    Behaviour(id="OAI-7", service="openai", fake="responses", entry={"api": "responses"},
              what="a reasoning item without a summary is refused → empty lists are kept"),
    Behaviour(id="OAI-8", service="openai", fake="responses", entry={"api": "responses"},
              what="a previous response is not found → the whole input is sent"),
    Behaviour(id="OAI-9", service="openai", fake="responses", entry={"api": "responses"},
              what="each call needs exactly one output → results are paired by call_id"),
    Behaviour(id="OAI-10", service="openai", fake="responses", entry={"api": "responses"},
              what="events of unknown types, no [DONE] → built from response.output_item.done"),
    Behaviour(id="OAI-11", service="openai", fake="responses", entry={"api": "responses"},
              faults={2: FakeReply("", [("search", '{"query": "Ja')], finish_reason="length")},
              what="a response is incomplete → its partial call is not run, and the model is told"),
    Behaviour(id="OAI-12", service="openai", faults={2: FakeReply(deltas=[{"refusal": "I cannot help."}], finish_reason="stop")},
              modes=("streamed",), what="refuses to answer → the model is asked again, not taken at its word"),
    Behaviour(id="OAI-13", service="openai", ends="failed", says="quota",
              faults={2: FakeReply(status=429, body={"error": {"message": "You exceeded your quota",
                                                               "code": "insufficient_quota"}})},
              what="429 for a used-up quota → the run ends with the service's words; other 429 are waited for"),
    Behaviour(id="OAI-14", service="openai",
              faults={2: FakeReply(status=429, headers={"Retry-After-Ms": "1", "Retry-After": "250"}, body=BUSY)},
              what="sends retry-after-ms → it comes before retry-after; the run alone retries"),
    Behaviour(id="OAI-15", service="openai",
              faults={4: FakeReply(status=400, body={"error": {"message": "too long", "code": "context_length_exceeded"}})},
              what="the prompt is too long → the oldest observations are dropped, and it is sent again"),
    Behaviour(id="OAI-16", service="openai", usage=usage_of(prompt_tokens_details={"cached_tokens": 4}),
              what="reports cached tokens → they are counted and priced apart"),
    Behaviour(id="OAI-17", service="openai", what="the last chunk has no choices → its usage is read"),
]  # fmt: skip

FILTER = {"hate": {"filtered": False}}
AZURE = [
    Behaviour(id="AZ-1", service="azure", first=[{"id": "", "choices": [], "prompt_filter_results": [FILTER]}],
              late=[{"choices": [{"index": 0, "finish_reason": None, "content_filter_results": FILTER}]}],
              modes=("streamed",), what="chunks without choices or delta → they are passed over"),
    Behaviour(id="AZ-3", service="azure", ends="failed", says="content filter",
              faults={2: FakeReply(status=400, body={"error": {"code": "content_filter", "message": "filtered"}})},
              what="a filtered prompt is a 400 → the run ends and says so"),
]  # fmt: skip

CLAUDE = [
    Behaviour(id="ANT-1", service="anthropic", fake="anthropic", options={"modes": ["enabled"]}, learns=True,
              what="a turn with calls must begin with its thinking → blocks go back in their place"),
    Behaviour(id="ANT-2", service="anthropic", fake="anthropic",
              what="thinking is read-only and signed → it goes back unchanged, with its signature"),
    Behaviour(id="ANT-4", service="anthropic", fake="anthropic", options={"modes": ["enabled"]}, learns=True,
              recipe={"model": "anthropic:fake:thinking"},
              what="ways to think differ by model → adaptive is tried first, then a budget"),
    Behaviour(id="ANT-5", service="anthropic", fake="anthropic", options={"refuses": ["temperature"]},
              recipe={"temperature": 0.3}, learns=True, what="refuses a temperature → it is left out"),
    Behaviour(id="ANT-7", service="anthropic", fake="anthropic", options={"strict": True},
              what="results must follow their calls at once and first → one user turn for all results"),
    Behaviour(id="ANT-8", service="anthropic", fake="anthropic", options={"strict": True},
              what="refuses empty text → blank text is left out"),
    Behaviour(id="ANT-10", service="anthropic", fake="anthropic", faults={2: FakeReply("I wait", finish_reason="pause_turn")},
              what="pauses a turn → it counts as unfinished, and the model is asked again"),
    Behaviour(id="ANT-11", service="anthropic", fake="anthropic",
              faults={2: FakeReply(status=529, headers=NO_WAIT, body={"type": "error", "error": {
                  "type": "overloaded_error", "message": "Overloaded"}}),
                  3: FakeReply("Ja", error_inside={"type": "error", "error": {"type": "overloaded_error", "message": "x"}})},
              what="is overloaded, before or within a reply → the whole turn is tried again"),
    Behaviour(id="ANT-12", service="anthropic", fake="anthropic", ends="failed", says="429",
              faults={2: FakeReply(status=429, body={"type": "error", "error": {
                  "type": "rate_limit_error", "message": "limit", "details": {"error_code": "enforced_spend_limit_reached"}}})},
              what="a spend limit is reached → it is not tried again"),
    Behaviour(id="ANT-13", service="anthropic", fake="anthropic", what="requires max_tokens → it is always sent"),
    Behaviour(id="ANT-14", service="anthropic", fake="anthropic", options={"caching": True},
              what="allows four cache marks → three are set, and moved"),
]  # fmt: skip

GEMINI = [
    Behaviour(id="GEM-1", service="gemini", refuse=signed, message=sign, body=error_list,
              what="calls must come back with their thought signature → extra_content is kept whole"),
    Behaviour(id="GEM-2", service="gemini", refuse=signed, message=sign, deltas=unnumbered, modes=("streamed",),
              what="streamed calls have no index, a signature comes in its own delta → a new id or name starts a call"),
    Behaviour(id="GEM-3", service="gemini", finish="stop", what="ends with stop although calls came → the calls decide"),
    Behaviour(id="GEM-4", service="gemini", ends="failed", says="no such thing",
              faults={2: FakeReply(status=400, body=[{"error": {"code": 400, "message": "no such thing"}}])},
              what="an error is a list → it is unwrapped"),
    Behaviour(id="GEM-5", service="gemini", refuse=openapi_only, body=error_list,
              what="refuses keywords of JSON Schema → schemas of tools are translated"),
    Behaviour(id="GEM-6", service="gemini", faults={2: FakeReply("default_api.se", finish_reason="MALFORMED_FUNCTION_CALL")},
              what="could not write a call → the model is asked again"),
    Behaviour(id="GEM-7", service="gemini", refuse=valid_arguments, what='refuses "null" as arguments → {} is sent'),
]  # fmt: skip

CHINA = [
    Behaviour(id="DS-1", service="deepseek", refuse=needs_reasoning("reasoning_content", "reasoning_content must be passed back"),
              what="calls must come back with their reasoning → it is sent from the first request on"),
    Behaviour(id="DS-4", service="deepseek", usage=usage_of(prompt_cache_hit_tokens=4, prompt_cache_miss_tokens=5),
              what="has its own names for cached tokens → they are read"),
    Behaviour(id="DS-5", service="deepseek", between="\n: keep-alive\n\n", modes=("streamed",),
              what="keeps the connection with comments and blank lines → they are passed over"),
    Behaviour(id="QW-1", service="qwen", refuse=unthinking, learns=True,
              what="thinks in streams only → streams, or switches thinking off"),
    Behaviour(id="QW-2", service="qwen", faults={2: FakeReply("", reasoning="I should search.")},
              what="ends within its thinking → no answer; the model is asked again"),
    Behaviour(id="GLM-1", service="zai", refuse=needs_reasoning("reasoning_content", "reasoning_content is missing"),
              what="wants reasoning back in tool rounds → it is sent"),
    Behaviour(id="GLM-2", service="zai", message=null_content, what="content is null beside calls → read as empty"),
    Behaviour(id="KM-1", service="moonshot", message=same_ids, refuse=paired,
              what="ids of calls repeat in each reply → the run has its own"),
    Behaviour(id="KM-2", service="moonshot",
              refuse=needs_reasoning("reasoning_content", "reasoning_content is missing in assistant tool call message"),
              message=lambda message: {k: v for k, v in message.items() if k != "reasoning_content"},
              what="calls need reasoning even if none came → a filler is sent"),
    Behaviour(id="KM-3", service="moonshot", refuse=absent("temperature", "tool_choice"), recipe={"temperature": 0.3},
              what="allows one temperature and no forced call → neither is sent"),
    Behaviour(id="KM-4", service="moonshot", refuse=empty_turns, faults={2: FakeReply("", reasoning="hm")},
              what="refuses an empty turn → none is sent"),
    Behaviour(id="MM-1", service="minimax",
              message=lambda message: {**message, "content": f"<think>hm</think>{message.get('content') or ''}"},
              what="thinks in tags within the content → they are told apart"),
]  # fmt: skip

OTHERS = [
    Behaviour(id="MIS-1", service="mistral", refuse=nine, what="ids of calls have nine characters → they are mapped"),
    Behaviour(id="MIS-2", service="mistral", refuse=no_user_after_tool,
              faults={2: FakeReply("", [("search", {"query": "Japan"}), ("teleport", {"to": "Mars"})])},
              what="no user message after a result → its text joins the result"),
    Behaviour(id="MIS-3", service="mistral", refuse=knows_only(), body=extra_forbidden, status=422,
              what="refuses fields that it does not know → none is sent"),
    Behaviour(id="MIS-4", service="mistral", message=thought_parts, what="content is a list of parts → they are told apart"),
    Behaviour(id="XAI-1", service="xai", fake="responses",
              what="wants the Responses API → it is used, with encrypted reasoning"),
    Behaviour(id="COH-1", service="cohere", refuse=absent("stream_options"), what="refuses stream_options → not sent"),
    Behaviour(id="GRQ-1", service="groq",
              faults={2: failed_call(lambda text: {"error": {"message": "Failed to call a function.", "failed_generation": text,
                                                             "code": "tool_use_failed"}})},
              what="refuses what the model wrote as a call → it is parsed here, or the model is asked again"),
    Behaviour(id="GRQ-2", service="groq", refuse=knows_only(), what="refuses reasoning_content → not sent"),
    Behaviour(id="TF-1", service="together", message=renamed, what="thoughts are in reasoning → either name is read"),
    Behaviour(id="OR-1", service="openrouter", between=": OPENROUTER PROCESSING\n\n", modes=("streamed",),
              what="comments within the stream → passed over"),
    Behaviour(id="OR-2", service="openrouter",
              faults={2: FakeReply(deltas=[{"content": "Ja"}], error_inside={"error": {"code": 502, "message": "bad host"}})},
              what="errors come with status 200 → they count by their code, and the turn is tried again"),
    Behaviour(id="OR-3", service="openrouter", ends="failed", says="402",
              faults={2: FakeReply(status=402, body={"error": {"code": 402, "message": "Insufficient credits"}})},
              what="no credit → the run ends with the service's words"),
    Behaviour(id="OR-4", service="openrouter", apart="rewoo", refuse=details_back, message=details,
              what="reasoning_details must come back unmodified → they are kept raw"),
]  # fmt: skip

JINJA = {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}
AUTO = {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'}
LOCAL = [
    Behaviour(id="OLL-3", service="ollama (/v1)", deltas=all_zero, modes=("streamed",), entry={"kind": "openai"},
              faults={2: FakeReply("", [("search", {"query": "Japan economy"}), ("search", {"query": "France economy"})])},
              what="all streamed calls have index 0 → a new id or name starts a call"),
    Behaviour(id="OLL-4", service="ollama (/v1)", entry={"kind": "openai"},
              faults={2: FakeReply(status=500, body={"error": {
                  "message": "error parsing tool call: raw='{\"query\": \"x\"]', err=invalid character"}})},
              what="500 for the model's own bad JSON → it is parsed here, or the model is asked again"),
    Behaviour(id="LCP-1", service="llamacpp", apart="rewoo", ends="failed", says="start llama.cpp's server with --jinja",
              faults=dict.fromkeys(range(1, 9), FakeReply(status=500, body=JINJA)),
              what="was started without --jinja → the flag is named"),
    Behaviour(id="LCP-2", service="llamacpp", refuse=valid_arguments, faults={2: FakeReply("", [("search", '{"query": "x')])},
              what="fails for ever on a history with a broken call → only valid calls are kept"),
    Behaviour(id="LCP-3", service="llamacpp", refuse=late_system, message=same_ids,
              what="refuses later system messages; ids of calls are constant → system first, own ids"),
    Behaviour(id="LMS-1", service="lmstudio", message=null_content, what="content may be null → read as empty"),
    Behaviour(id="VL-1", service="vllm", ends="failed", says="--enable-auto-tool-choice",
              faults=dict.fromkeys(range(1, 9), FakeReply(status=400, body=AUTO)),
              what="was started without tools → the flags are named"),
    Behaviour(id="VL-2", service="vllm", message=renamed, refuse=needs_reasoning("reasoning", "reasoning is missing"),
              entry={"quirks": {"reasoning": "send"}}, what="reasoning has either name → it goes back as it came"),
    Behaviour(id="TXT-12", service="vllm", faults={2: FakeReply(raw='data: {"choices":[{"delta":{"content":"Ja"}}]}\n\n')},
              modes=("streamed",), what="a stream ends without a finish reason → a failure, tried again"),
]  # fmt: skip

ALL = [*OPENAI, *AZURE, *CLAUDE, *GEMINI, *CHINA, *OTHERS, *LOCAL]

ELSEWHERE = {
    "AZ-2": (
        "azure",
        "deployment and api-version are in the address, the key in its own header",
        "test_sdk_carriers.py",
    ),
    "CLD-1": ("bedrock", "the model is in the path, the stream binary", "test_sdk_carriers.py"),
    "CLD-2": ("bedrock", "errors within a stream of status 200", "test_sdk_carriers.py"),
    "CLD-3": ("vertex", "project, region and model are in the path", "test_sdk_carriers.py"),
    "ANT-3": ("anthropic", "thinking and a forced call exclude each other", "test_anthropic_client.py"),
    "ANT-6": ("anthropic", "a history must not end with the assistant", "test_same_transcript.py"),
    "ANT-9": ("anthropic", "unknown stop reasons end a reply", "test_anthropic_client.py"),
    "ANT-15": ("anthropic", "arguments come in parts, or not at all", "test_anthropic_client.py"),
    "OLL-1": ("ollama", "cuts long prompts at its default context without a word", "test_ollama.py"),
    "OLL-2": ("ollama", "its own API streams lines of JSON", "test_ollama.py"),
    "OLL-5": ("ollama", "some models cannot call tools", "test_ollama.py"),
}
"""Behaviours that other tests of tests/contract play, for single requests."""

NOT_PLAYED = {
    "DS-2": "switches of thinking are left to the endpoint's own parameters (`quirks.body`)",
    "DS-3": "calls that leak as text: the parser's tests",
    "QW-3": "as DS-2",
    "KM-5": "partial mode is not used",
    "OR-5": "the native finish reason is read, and not played alone",
    "VL-3": "`guided_json` is not used; schemas go in `response_format`",
}
