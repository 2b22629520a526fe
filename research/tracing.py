"""Runs as OpenTelemetry spans, by the semantic conventions for generative AI (status Development, as of autumn 2026).

A run is one trace: `invoke_agent` for it and for each sub-agent, below them `chat` for each request to a model and
`execute_tool` for each tool call.  The spans are a fold of the events like everything else, and their ids follow from
the events: a run that a second process goes on with is still one trace, and a saved run gives the spans it gave live.

Nothing of OpenTelemetry is imported unless spans are wanted.  Prompts, replies, arguments and results are left out
unless they are asked for.  Names: https://github.com/open-telemetry/semantic-conventions-genai (gen-ai-spans,
gen-ai-agent-spans).
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from research import events as e
from research.errors import ConfigError
from research.types import Message, Reply, ToolCall, Usage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SERVICE = "research-workbench"
HERE = frozenset({"extractive", "gguf", "scripted", "recorded"})
"""Kinds of model that work in this process: no client calls a server."""
NAMES = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
"""Exporters as OpenTelemetry's packages register them, by protocol."""

_log = logging.getLogger(__name__)

Value = str | int | float | bool
Kind = Literal["internal", "client"]
Hear = Callable[[e.Event], None]


class Span(Struct, frozen=True):
    """One thing that was done, with its begin and its end."""

    trace: int
    """128 bits."""
    id: int
    """64 bits."""
    parent: int | None
    name: str
    kind: Kind
    start: float
    end: float
    """Both in seconds since the epoch; never before the start, though clocks are set back."""
    attributes: Mapping[str, Value]
    error: str = ""
    """What went wrong, in a word; empty: nothing."""
    marks: tuple[tuple[str, float], ...] = ()
    """What happened within it, and when."""


class _Begun(Struct):
    id: int
    parent: int | None
    name: str
    kind: Kind
    start: float
    attributes: Mapping[str, Value]
    marks: list[tuple[str, float]] = []


class Spans:
    """The spans of one run.  Events come in the order of `seq`; what never ends gives no span."""

    def __init__(self, *, content: bool = False) -> None:
        self._content = content
        self._trace = 0
        self._run: _Begun | None = None
        self._agents: dict[str, _Begun] = {}
        self._asks: dict[tuple[str, int], _Begun] = {}
        self._calls: dict[str, _Begun] = {}
        self._sent: dict[str, list[Message]] = {}
        self._read = self._written = 0
        self._failure = "failed"

    def apply(self, event: e.Event) -> Iterator[Span]:
        """Take one more event in; gives the spans that end with it."""
        match event:
            case e.RunStarted():
                self._begin(event)
            case e.ChildStarted(agent=agent):
                told: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
                self._agents[agent] = self._opened(event, f"invoke_agent {agent}", told, agent.rpartition("/")[0])
            case e.ChildFinished(agent=agent, outcome=outcome):
                error = "failed" if outcome == "failed" else ""
                yield from self._ended(event, self._agents.pop(agent, None), {"workbench.outcome": outcome}, error)
            case e.Asked(agent=agent, ask=ask):
                self._asks[agent, ask] = self._asked(event)
            case e.Withdrawn(agent=agent, ask=ask, wait_s=wait_s):
                asked = self._asks.pop((agent, ask), None)
                yield from self._ended(event, asked, {}, "withdrawn")
                if asked:  # the same request is made again
                    again = self._opened(event, asked.name, asked.attributes, agent, asked.kind)
                    again.start += wait_s
                    self._asks[agent, ask] = again
            case e.Rejected(agent=agent, ask=ask, usage=usage, text=text):
                used = self._used(usage, Reply(text))
                yield from self._ended(event, self._asks.pop((agent, ask), None), used, "unreadable")
            case e.Replied(agent=agent, ask=ask, usage=usage, reply=reply):
                yield from self._ended(event, self._asks.pop((agent, ask), None), self._used(usage, reply))
            case e.ToolStarted(call=call):
                self._calls[call.id] = self._called(event, call)
            case e.ToolFinished(observation=seen):
                came: dict[str, Value] = {"workbench.tool.cached": seen.cached}
                if self._content:
                    came["gen_ai.tool.call.result"] = seen.text
                yield from self._ended(
                    event, self._calls.pop(seen.call_id, None), came, "" if seen.ok else "tool_error"
                )
            case e.Paused() | e.WaitingForUser() | e.Resumed() | e.UserReplied() | e.Concluding():
                if self._run:
                    self._run.marks.append((_MARKS[type(event)], event.time))
            case e.RunFailed(error=error, traceback=trace) if trace:
                self._failure = error.partition(":")[0][:80]
            case e.RunFinished():
                yield from self._finished(event)
            case _:
                pass

    def _begin(self, event: e.RunStarted) -> None:
        # Ids of runs are unique in a home; a collector may hear of many homes.
        self._trace = _number(16, event.run, event.time)
        recipe = event.recipe
        told: dict[str, Value] = {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": recipe.framework,
            "gen_ai.conversation.id": event.run, **_model(recipe.model),
            "workbench.context": recipe.context, "workbench.recipe": recipe.hash,
        }  # fmt: skip
        self._run = self._agents["main"] = self._opened(event, f"invoke_agent {recipe.framework}", told, "")

    def _finished(self, event: e.RunFinished) -> Iterator[Span]:
        told: dict[str, Value] = {
            "workbench.outcome": event.outcome, "workbench.work_s": event.seconds,
            "gen_ai.usage.input_tokens": self._read, "gen_ai.usage.output_tokens": self._written,
        }  # fmt: skip
        yield from self._ended(event, self._run, told, self._failure if event.outcome == "failed" else "")

    def _asked(self, event: e.Asked) -> _Begun:
        told: dict[str, Value] = {
            "gen_ai.operation.name": "chat", **_model(event.model), "gen_ai.request.stream": True,
            "gen_ai.conversation.id": event.run, "workbench.purpose": event.purpose, "workbench.round": event.round,
        }  # fmt: skip
        if self._content:
            sent = self._sent[event.agent] = [*self._sent.get(event.agent, [])[: event.keep], *event.messages]
            told["gen_ai.input.messages"] = _json([_message(each) for each in sent])
        kind: Kind = "internal" if event.model.partition(":")[0] in HERE else "client"
        return self._opened(event, f"chat {told['gen_ai.request.model']}", told, event.agent, kind)

    def _called(self, event: e.ToolStarted, call: ToolCall) -> _Begun:
        told: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name, "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function", "gen_ai.conversation.id": event.run,
        }  # fmt: skip
        if self._content:
            told["gen_ai.tool.call.arguments"] = _json(call.arguments)
        return self._opened(event, f"execute_tool {call.name}", told, event.agent)

    def _used(self, usage: Usage, reply: Reply) -> dict[str, Value]:
        self._read += usage.prompt_tokens
        self._written += usage.completion_tokens
        told: dict[str, Value] = {
            "gen_ai.usage.input_tokens": usage.prompt_tokens, "gen_ai.usage.output_tokens": usage.completion_tokens,
        }  # fmt: skip
        if usage.cache_read_tokens:
            told["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens
        if usage.cache_write_tokens:
            told["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write_tokens
        if usage.cost_usd is not None:
            told["workbench.cost_usd"] = usage.cost_usd
        if usage.estimated:
            told["workbench.usage.estimated"] = True
        if self._content:
            said = _message(Message("assistant", reply.text, reply.calls, reasoning=reply.reasoning or None))
            told["gen_ai.output.messages"] = _json([{**said, "finish_reason": "tool_call" if reply.calls else "stop"}])
        return told

    def _opened(
        self, event: e.Event, name: str, told: Mapping[str, Value], above: str, kind: Kind = "internal"
    ) -> _Begun:
        """A span below that of the agent `above`, or of the closest above it that has one."""
        while above and above not in self._agents:
            above = above.rpartition("/")[0]
        parent = self._agents[above].id if above else self._run.id if self._run else None
        return _Begun(_number(8, self._trace, event.seq), parent, name, kind, event.time, told)

    def _ended(self, event: e.Event, span: _Begun | None, told: Mapping[str, Value], error: str = "") -> Iterator[Span]:
        if span:
            attributes = {**span.attributes, **told} | ({"error.type": error} if error else {})
            end = max(span.start, event.time)
            yield Span(
                self._trace, span.id, span.parent, span.name, span.kind, span.start, end, attributes, error,
                tuple(span.marks),
            )  # fmt: skip


_MARKS: Mapping[type[e.Base], str] = {
    e.Paused: "rests", e.WaitingForUser: "waits for the user", e.Resumed: "goes on", e.UserReplied: "the user replied",
    e.Concluding: "concludes",
}  # fmt: skip


def spans(events: Iterable[e.Event], *, content: bool = False) -> Iterator[Span]:
    """The spans of a run, in the order in which they ended."""
    fold = Spans(content=content)
    for event in events:
        yield from fold.apply(event)


def _number(size: int, *of: object) -> int:
    """A number of so many bytes that follows from these values; never 0, which means none."""
    return int.from_bytes(hashlib.sha256(repr(of).encode()).digest()[:size]) or 1


def _model(name: str) -> dict[str, Value]:
    provider, _, model = name.partition(":")
    # Of models that work here the rest of the name is a path of this machine.
    known = model if model and provider not in HERE else provider
    return {"gen_ai.provider.name": provider, "gen_ai.request.model": known}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _message(message: Message) -> dict[str, Any]:
    """As the JSON schemas of input and output messages have it."""
    if message.role == "tool":
        part = {"type": "tool_call_response", "id": message.call_id, "response": message.content}
        return {"role": "tool", "parts": [part]}
    parts: list[dict[str, Any]] = []
    if message.reasoning:
        parts.append({"type": "reasoning", "content": message.reasoning})
    if message.content:
        parts.append({"type": "text", "content": message.content})
    parts += [{"type": "tool_call", "id": c.id, "name": c.name, "arguments": c.arguments} for c in message.calls]
    return {"role": message.role, "parts": parts}


# -- handing them on --------------------------------------------------------------------------------------------------


class Tracing:
    """Hands the spans of runs on to an exporter, in batches and in a thread of its own; a run never waits for it."""

    def __init__(self, exporter: SpanExporter, *, content: bool = False) -> None:
        import atexit

        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._content = content
        # What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say counts more than our name.
        own = Resource.create({"service.name": SERVICE})
        self._resource = own.merge(OTELResourceDetector().detect())
        self._processor = BatchSpanProcessor(exporter)
        atexit.register(self._processor.shutdown)

    def follow(self, past: Sequence[e.Event]) -> Hear:
        """What is to hear of the rest of a run, given its events so far: their spans were handed on when they ended."""
        fold = Spans(content=self._content)
        for event in past:
            for _ in fold.apply(event):
                pass

        def hear(event: e.Event) -> None:
            for span in fold.apply(event):
                self._processor.on_end(self._readable(span))

        return hear

    def export(self, events: Iterable[e.Event]) -> None:
        """Hand on a saved run."""
        for span in spans(events, content=self._content):
            self._processor.on_end(self._readable(span))

    def flush(self) -> None:
        """Wait until what was handed on has left this process, or could not."""
        self._processor.force_flush()

    def _readable(self, span: Span) -> ReadableSpan:
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        def context(id_: int) -> SpanContext:
            return SpanContext(span.trace, id_, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

        return ReadableSpan(
            span.name, context(span.id), context(span.parent) if span.parent is not None else None, self._resource,
            span.attributes, [Event(name, timestamp=_ns(when)) for name, when in span.marks],
            kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
            start_time=_ns(span.start), end_time=_ns(span.end), instrumentation_scope=InstrumentationScope(SERVICE),
        )  # fmt: skip


def _ns(seconds: float) -> int:
    return int(seconds * 1_000_000_000)


def from_environment(variables: Mapping[str, str] = os.environ) -> Tracing | None:
    """Tracing as OpenTelemetry's own variables want it; None where they want none.

    They are read where its exporters read them, which is the environment of the process.  Raises `ConfigError` when
    spans are wanted and the package that sends them is not installed.
    """
    if not variables.get(ENDPOINT) or variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    from importlib.metadata import entry_points

    protocol = variables.get(PROTOCOL) or "http/protobuf"
    if protocol not in NAMES:
        raise ConfigError(f"{PROTOCOL} {protocol!r} is not known; known: {', '.join(NAMES)}")
    name = NAMES[protocol]
    package = f"opentelemetry-exporter-{name.replace('_', '-')}"
    found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
    if not found:
        raise ConfigError(f"{ENDPOINT} is set, and {package} is not installed: pip install {package}")
    content = variables.get(CONTENT, "").lower() in ("true", "span_only", "span_and_event")
    _log.info("spans are sent as %s says, %s prompts and replies", ENDPOINT, "with" if content else "without")
    return Tracing(found[0].load()(), content=content)
