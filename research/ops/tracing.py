"""OpenTelemetry spans of runs, by the semantic conventions for generative AI (status Development, as of autumn 2026).

A run is one trace: `invoke_agent` for the run and for each sub-agent, with `chat` for each request to a model and
`execute_tool` for each tool call below it.  Spans are a fold of the events, and their ids are hashes of them: a run
continued by another process is still one trace, and exporting a saved run yields the same spans as the live run.

OpenTelemetry is imported only when spans are sent.  Prompts, replies, arguments and results are included only on request.
Names: https://github.com/open-telemetry/semantic-conventions-genai (gen-ai-spans, gen-ai-agent-spans).
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.events import events as e
from research.events.recipe import provider_of
from research.types import Message, Reply, ToolCall, Usage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SERVICE = "research-workbench"
NAMES = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
"""Entry point names of OpenTelemetry's exporters, by protocol."""

_log = logging.getLogger(__name__)

Value = str | int | float | bool
Kind = Literal["internal", "client"]
Receiver = Callable[[e.Event], None]


class Span(Struct, frozen=True):
    """One operation with its start and end."""

    trace: int
    """128 bits."""
    id: int
    """64 bits."""
    parent: int | None
    name: str
    kind: Kind
    start: float
    end: float
    """Seconds since the epoch; never before `start`, even if the clock was set back."""
    attributes: Mapping[str, Value]
    error: str = ""
    """The kind of error; empty without one."""
    marks: tuple[tuple[str, float], ...] = ()
    """Events within the span, each with its time."""


class _OpenSpan(Struct):
    id: int
    parent: int | None
    name: str
    kind: Kind
    start: float
    attributes: Mapping[str, Value]
    marks: list[tuple[str, float]] = []


class Spans:
    """Folds the events of one run, in the order of `seq`, into spans; operations that never end yield none."""

    def __init__(self, *, content: bool = False) -> None:
        self._content = content
        self._trace = 0
        self._run: _OpenSpan | None = None
        self._agents: dict[str, _OpenSpan] = {}
        self._asks: dict[tuple[str, int], _OpenSpan] = {}
        self._calls: dict[str, _OpenSpan] = {}
        self._sent: dict[str, list[Message]] = {}
        self._input_tokens = self._output_tokens = 0
        self._failure = "failed"

    def apply(self, event: e.Event) -> Iterator[Span]:
        """Process the next event, and yield the spans that end with it."""
        match event:
            case e.RunStarted():
                self._begin(event)
            case e.ChildStarted(agent=agent):
                attributes: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
                self._agents[agent] = self._open(event, f"invoke_agent {agent}", attributes, agent.rpartition("/")[0])
            case e.ChildFinished(agent=agent, outcome=outcome):
                error = "failed" if outcome == "failed" else ""
                yield from self._close(event, self._agents.pop(agent, None), {"workbench.outcome": outcome}, error)
            case e.Asked(agent=agent, ask=ask):
                self._asks[agent, ask] = self._request(event)
            case e.Withdrawn(agent=agent, ask=ask, wait_s=wait_s):
                asked = self._asks.pop((agent, ask), None)
                yield from self._close(event, asked, {}, "withdrawn")
                if asked:  # the same request is retried
                    again = self._open(event, asked.name, asked.attributes, agent, asked.kind)
                    again.start += wait_s
                    self._asks[agent, ask] = again
            case e.Rejected(agent=agent, ask=ask, usage=usage, text=text):
                used = self._usage(usage, Reply(text))
                yield from self._close(event, self._asks.pop((agent, ask), None), used, "unreadable")
            case e.Replied(agent=agent, ask=ask, usage=usage, reply=reply):
                yield from self._close(event, self._asks.pop((agent, ask), None), self._usage(usage, reply))
            case e.ToolStarted(call=call):
                self._calls[call.id] = self._call(event, call)
            case e.ToolFinished(observation=seen):
                came: dict[str, Value] = {"workbench.tool.cached": seen.cached}
                if self._content:
                    came["gen_ai.tool.call.result"] = seen.text
                yield from self._close(
                    event, self._calls.pop(seen.call_id, None), came, "" if seen.ok else "tool_error"
                )
            case e.Paused() | e.WaitingForUser() | e.Resumed() | e.UserReplied() | e.PlanApproved() | e.Concluding():
                if self._run:
                    self._run.marks.append((_MARKS[type(event)], event.time))
            case e.RunFailed(error=error, traceback=trace) if trace:
                self._failure = error.partition(":")[0][:80]
            case e.RunFinished():
                yield from self._finish(event)
            case _:
                pass

    def _begin(self, event: e.RunStarted) -> None:
        # Run ids are unique in one home, but a collector may receive runs of many homes.
        self._trace = _id(16, event.run, event.time)
        recipe = event.recipe
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": recipe.framework,
            "gen_ai.conversation.id": event.run,
            **_model(recipe.model),
            "workbench.context": recipe.context,
            "workbench.recipe": recipe.hash,
        }
        self._run = self._agents["main"] = self._open(event, f"invoke_agent {recipe.framework}", attributes, "")

    def _finish(self, event: e.RunFinished) -> Iterator[Span]:
        attributes: dict[str, Value] = {
            "workbench.outcome": event.outcome,
            "workbench.work_s": event.seconds,
            "gen_ai.usage.input_tokens": self._input_tokens,
            "gen_ai.usage.output_tokens": self._output_tokens,
        }
        yield from self._close(event, self._run, attributes, self._failure if event.outcome == "failed" else "")

    def _request(self, event: e.Asked) -> _OpenSpan:
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "chat",
            **_model(event.model),
            "gen_ai.request.stream": True,
            "gen_ai.conversation.id": event.run,
            "workbench.purpose": event.purpose,
            "workbench.round": event.round,
        }
        if self._content:
            sent = self._sent[event.agent] = [*self._sent.get(event.agent, [])[: event.keep], *event.messages]
            attributes["gen_ai.input.messages"] = _json([_message(each) for each in sent])
        kind: Kind = "internal" if provider_of(event.model).local else "client"
        return self._open(event, f"chat {attributes['gen_ai.request.model']}", attributes, event.agent, kind)

    def _call(self, event: e.ToolStarted, call: ToolCall) -> _OpenSpan:
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "gen_ai.conversation.id": event.run,
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = _json(call.arguments)
        return self._open(event, f"execute_tool {call.name}", attributes, event.agent)

    def _usage(self, usage: Usage, reply: Reply) -> dict[str, Value]:
        self._input_tokens += usage.prompt_tokens
        self._output_tokens += usage.completion_tokens
        attributes: dict[str, Value] = {
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
        }
        if usage.cache_read_tokens:
            attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens
        if usage.cache_write_tokens:
            attributes["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write_tokens
        if usage.cost_usd is not None:
            attributes["workbench.cost_usd"] = usage.cost_usd
        if usage.estimated:
            attributes["workbench.usage.estimated"] = True
        if self._content:
            said = _message(Message("assistant", reply.text, reply.calls, reasoning=reply.reasoning or None))
            attributes["gen_ai.output.messages"] = _json(
                [{**said, "finish_reason": "tool_call" if reply.calls else "stop"}]
            )
        return attributes

    def _open(
        self, event: e.Event, name: str, attributes: Mapping[str, Value], above: str, kind: Kind = "internal"
    ) -> _OpenSpan:
        """Open a span below that of the agent `above`, or of its closest ancestor with one."""
        while above and above not in self._agents:
            above = above.rpartition("/")[0]
        parent = self._agents[above].id if above else self._run.id if self._run else None
        return _OpenSpan(_id(8, self._trace, event.seq), parent, name, kind, event.time, attributes)

    def _close(
        self, event: e.Event, span: _OpenSpan | None, attributes: Mapping[str, Value], error: str = ""
    ) -> Iterator[Span]:
        if span:
            merged = {**span.attributes, **attributes} | ({"error.type": error} if error else {})
            end = max(span.start, event.time)
            yield Span(
                self._trace,
                span.id,
                span.parent,
                span.name,
                span.kind,
                span.start,
                end,
                merged,
                error,
                tuple(span.marks),
            )


_MARKS: Mapping[type[e.Base], str] = {
    e.Paused: "rests",
    e.WaitingForUser: "waits for the user",
    e.Resumed: "goes on",
    e.UserReplied: "the user replied",
    e.PlanApproved: "the user approved the plan",
    e.Concluding: "concludes",
}


def spans(events: Iterable[e.Event], *, content: bool = False) -> Iterator[Span]:
    """Yield the spans of a run in the order in which they end."""
    fold = Spans(content=content)
    for event in events:
        yield from fold.apply(event)


def _id(size: int, *of: object) -> int:
    """Return an id of `size` bytes as a hash of these values; never 0, which OpenTelemetry treats as invalid."""
    return int.from_bytes(hashlib.sha256(repr(of).encode()).digest()[:size]) or 1


def _model(name: str) -> dict[str, Value]:
    provider, _, model = name.partition(":")
    # For models that run here, the rest of the name may be a path on this machine.
    known = model if model and not provider_of(name).local else provider
    return {"gen_ai.provider.name": provider, "gen_ai.request.model": known}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _message(message: Message) -> dict[str, Any]:
    """Return the message in the form of the conventions' JSON schemas."""
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


# -- export --------------------------------------------------------------------------------------------------


class Tracing:
    """Sends the spans of runs to an exporter, in batches and in a background thread, so that no run waits for it."""

    def __init__(self, exporter: SpanExporter, *, content: bool = False) -> None:
        import atexit

        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._content = content
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence over our name.
        own = Resource.create({"service.name": SERVICE})
        self._resource = own.merge(OTELResourceDetector().detect())
        self._processor = BatchSpanProcessor(exporter)
        atexit.register(self._processor.shutdown)

    def observe(self, past: Sequence[e.Event]) -> Receiver:
        """Return the receiver of a run's later events; the spans of its past events were sent before."""
        fold = Spans(content=self._content)
        for event in past:
            for _ in fold.apply(event):
                pass

        def receive(event: e.Event) -> None:
            for span in fold.apply(event):
                self._processor.on_end(self._readable(span))

        return receive

    def export(self, events: Iterable[e.Event]) -> None:
        """Send the spans of a saved run."""
        for span in spans(events, content=self._content):
            self._processor.on_end(self._readable(span))

    def flush(self) -> None:
        """Wait until all spans were sent or failed."""
        self._processor.force_flush()

    def _readable(self, span: Span) -> ReadableSpan:
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        def context(id_: int) -> SpanContext:
            return SpanContext(span.trace, id_, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

        return ReadableSpan(
            span.name,
            context(span.id),
            context(span.parent) if span.parent is not None else None,
            self._resource,
            span.attributes,
            [Event(name, timestamp=_ns(when)) for name, when in span.marks],
            kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
            start_time=_ns(span.start),
            end_time=_ns(span.end),
            instrumentation_scope=InstrumentationScope(SERVICE),
        )


def _ns(seconds: float) -> int:
    return int(seconds * 1_000_000_000)


def from_environment(variables: Mapping[str, str] = os.environ) -> Tracing | None:
    """Return the tracing requested by OpenTelemetry's environment variables; None if none is.

    Only the environment of the process counts, because the exporters read nothing else.  Raises `ConfigError` when the
    exporter's package is not installed.
    """
    if not variables.get(ENDPOINT) or variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    from importlib.metadata import entry_points

    protocol = variables.get(PROTOCOL) or "http/protobuf"
    if protocol not in NAMES:
        raise ConfigError(f"unknown {PROTOCOL} {protocol!r}; known: {', '.join(NAMES)}")
    name = NAMES[protocol]
    package = f"opentelemetry-exporter-{name.replace('_', '-')}"
    found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
    if not found:
        raise ConfigError(f"{ENDPOINT} is set, but {package} is not installed: pip install {package}")
    content = variables.get(CONTENT, "").lower() in ("true", "span_only", "span_and_event")
    _log.info(
        "spans are sent to the endpoint in %s, %s prompts and replies", ENDPOINT, "with" if content else "without"
    )
    return Tracing(found[0].load()(), content=content)
