"""The values that everything else passes around.  All frozen; nothing here does anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Outcome = Literal[
    "answered", "rounds", "tokens", "cost", "time", "tool_errors", "loop", "no_evidence",
    "needs_input", "stopped", "failed",
]  # fmt: skip
"""Why a run ended, in one word (contract of `run --json`)."""

Status = Literal["queued", "running", "completed", "waiting_input", "paused", "stopped", "failed"]

ProtocolName = Literal["native", "tagged"]
"""How calls travel: the provider's own tool calls, or tags in the text."""


class Passage(Struct, frozen=True, omit_defaults=True):
    """A piece of a source as a tool returned it."""

    url: str
    title: str
    quote: str
    """The text that was seen, verbatim."""
    csl: dict[str, Any] = {}
    """What the source told of itself, as CSL JSON names it: type, author, issued, DOI, container-title, …"""
    memory: str = ""
    """Id of the entry of the memory that the quote was kept in; empty for what was seen in this run."""


class Source(Struct, frozen=True, omit_defaults=True):
    """A passage with its number, stable within the run: the model cites `[n]`."""

    n: int
    url: str
    title: str
    quote: str
    csl: dict[str, Any] = {}
    memory: str = ""
    """Both as in `Passage`."""


class ToolCall(Struct, frozen=True):
    """One call the model asks for.  `id` is unique within the run."""

    id: str
    name: str
    arguments: dict[str, Any]


class RawCall(Struct, frozen=True):
    """One native call as the provider sent it, before anybody has tried to understand it."""

    id: str
    name: str
    arguments: str
    """JSON, as far as the model managed it."""


class CallError(Struct, frozen=True, omit_defaults=True):
    """A call of a reply that cannot run."""

    index: int
    """Place among all calls of the reply, from 0."""
    code: str
    """One word: bad_json, truncated, duplicate_key, unknown_tool, missing_name, missing_arg, bad_args, too_large."""
    message: str
    """What was wrong, for the model."""
    name: str = ""
    """The tool, as far as it is known."""
    id: str = ""
    """The id its observation answers, unique within the run."""


class ToolOutput(Struct, frozen=True):
    """What a tool gives back: free text, and the passages it quotes from sources."""

    text: str = ""
    passages: tuple[Passage, ...] = ()
    private: bool = False
    """Holds what only the user's own files, memory or servers know: from then on urls are no longer free."""
    images: tuple[bytes, ...] = ()
    """Plots, as PNG."""


class Observation(Struct, frozen=True, omit_defaults=True):
    """The one result of one tool call, as the model reads it."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    sources: tuple[Source, ...] = ()
    seconds: float = 0.0
    cached: bool = False
    private: bool = False
    images: tuple[bytes, ...] = ()
    """Both as in `ToolOutput`."""
    edited: bool = False
    """The user wrote the text in the place of what the tool gave: it is no source, and nothing in it was computed."""


class ToolSpec(Struct, frozen=True):
    """A tool as it is offered to a model."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments, an object."""


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    """Native calls of an assistant message."""
    call_id: str | None = None
    """The call that a `tool` message answers."""
    reasoning: str | None = None
    """Reasoning that came with an assistant message."""
    blocks: tuple[dict[str, Any], ...] = ()
    """The provider's own blocks of an assistant message, which it wants back unchanged (signed thinking)."""


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one model call."""

    prompt_tokens: int = 0
    """All of the prompt, cached or not."""
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    """Part of the prompt that the provider had kept from an earlier call."""
    cache_write_tokens: int = 0
    """Part of the prompt that it keeps for later ones."""
    estimated: bool = False
    """Counted by us because the provider did not say."""
    cost_usd: float | None = None
    """None when the price is unknown; 0.0 only when the model is known to be free."""


class Request(Struct, frozen=True):
    """Everything a model needs for one reply."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    """Offered as native tools; empty under the tagged protocol and for a tools-off call."""
    purpose: str = "act"
    """Who asks: act, conclude, summarise, plan, ...  A scripted model selects by it."""
    agent: str = "main"
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    must_call: bool = False
    """The reply has to be a call of one of the tools."""
    schema: dict[str, Any] | None = None
    """JSON Schema (an object) that the text of the reply has to follow."""


class Delta(Struct, frozen=True):
    """A few characters of a reply while it is written."""

    text: str
    kind: Literal["text", "reasoning"] = "text"


class Completion(Struct, frozen=True):
    """A whole reply, as the provider gave it."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """Native calls only; tagged ones are still in `text`."""
    reasoning: str = ""
    finish_reason: str = "stop"
    usage: Usage | None = None
    """None when the provider did not report it: the caller estimates."""
    raw_calls: tuple[RawCall, ...] = ()
    """All native calls with their arguments as written, where the provider gives text; `calls` holds the readable."""
    blocks: tuple[dict[str, Any], ...] = ()
    """What the provider wants back unchanged with this message."""


class Model(Protocol):
    """A language model, or something that plays one."""

    @property
    def name(self) -> str:
        """As written in a recipe, e.g. `openai:gpt-5-mini`."""

    @property
    def native(self) -> bool:
        """Whether it takes tools and answers with native calls."""

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield deltas as they come, then exactly one `Completion`.  Raises `ProviderError`."""


@runtime_checkable
class Scripted(Protocol):
    """A model that plays lines once, and can be told that some were played before."""

    def take(self, purpose: str, agent: str) -> object:
        """Use up the next line for this asker."""


@runtime_checkable
class Priced(Protocol):
    """A model whose calls have a known price, or may have."""

    def price(self, usage: Usage) -> float | None:
        """US dollars of a call with that usage; None when the price is unknown."""


@runtime_checkable
class Windowed(Protocol):
    """A model of which it may be known how long a prompt can be."""

    @property
    def window(self) -> int:
        """Tokens of prompt and reply together; 0: unknown."""


@runtime_checkable
class Yielding(Protocol):
    """A model whose service does not accept every parameter."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters that it refused so far; requests go without them, or with what stands for them."""


@runtime_checkable
class Served(Protocol):
    """A model on a server that can be asked what it has."""

    def list_models(self) -> list[str]:
        """The names the server knows, sorted.  Raises `ProviderError`, which says exactly what is wrong."""


class Tool(Protocol):
    """Something the model can call."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def timeout_s(self) -> float:
        """Seconds after which the call is given up."""

    def __call__(self, *args: Any, **arguments: Any) -> ToolOutput:
        """Called by keyword.  Raises `ToolError` with a message the model can act on."""


class Searcher(Protocol):
    """A source of search results."""

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        """Best first.  Raises `ToolError`."""


class Embedder(Protocol):
    """A sentence encoder."""

    @property
    def id(self) -> str:
        """Stored beside every vector: vectors of different encoders are never mixed."""

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension)."""


class Reply(Struct, frozen=True, omit_defaults=True):
    """A completion as the workbench reads it: what the model thinks, wants and says."""

    text: str = ""
    """The reply as it goes back into the conversation (a hallucinated observation is cut off)."""
    thinking: str = ""
    """From `<think>` tags or from the provider's reasoning field."""
    calls: tuple[ToolCall, ...] = ()
    answer: str = ""
    report: str = ""
    """The evolving report, where the framework asks for one."""
    reasoning: str = ""
    """The provider's reasoning, kept apart because some providers need it sent back."""
    blocks: tuple[dict[str, Any], ...] = ()
    """The provider's own blocks, sent back unchanged with this reply."""
    errors: tuple[CallError, ...] = ()
    """Calls that cannot run, beside at least one that can; each gets one failed observation."""


class Citation(Struct, frozen=True, omit_defaults=True):
    """One cited statement of the answer, checked against the source it names."""

    n: int
    claim: str
    status: Literal["supported", "partial", "unsupported", "dead"]
    quote: str = ""
    """The seen lines that the claim rests on, or the one that comes closest."""
    reason: str = ""
    """What does not stand in the source; empty when supported."""


class Answer(Struct, frozen=True):
    """How a framework ends: its words, and why it ended."""

    text: str
    outcome: Outcome = "answered"
    report: str = ""
    """Longer text where the framework writes one; empty means that the answer is the report."""
