"""The values and protocols that all rooms use.  Every value is frozen; nothing here does any work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

Outcome = Literal[
    "answered",
    "partly_answered",
    "rejected",
    "rounds",
    "tokens",
    "cost",
    "time",
    "tool_errors",
    "loop",
    "no_evidence",
    "needs_input",
    "stopped",
    "failed",
]
"""Why a run ended, in one word (contract of `run --json`)."""


class Passage(Struct, frozen=True, omit_defaults=True):
    """A piece of a source as a tool returned it."""

    url: str
    title: str
    quote: str
    """The text that was seen, verbatim."""
    csl: dict[str, Any] = {}
    """The source's bibliographic data as CSL JSON: type, author, issued, DOI, container-title, …"""
    memory: str = ""
    """Id of the memory entry that contains the quote; empty if this run saw the source itself."""
    notes: tuple[str, ...] = ()
    """Notes for readers of the source: what was left out, or that it is an earlier copy."""


class Source(Struct, frozen=True, omit_defaults=True):
    """A passage with its number in the run, which the model cites as `[n]`.

    >>> Source(1, "https://example.org/japan", "Japan", "Population: 123,201,945 (2024)").n
    1
    """

    n: int
    url: str
    title: str
    quote: str
    csl: dict[str, Any] = {}
    memory: str = ""
    """Both as in `Passage`."""
    kind: str = ""
    """What kind of publisher speaks, e.g. `journal` (`research/search/classes.py`); empty for the user's documents, and
    in earlier versions' runs."""
    also: tuple[str, ...] = ()
    """In a view: the other addresses at which the run saw the same work."""
    notes: tuple[str, ...] = ()
    """As in `Passage`."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return every address at which the run saw the work."""
        return (self.url, *self.also)

    @property
    def retracted(self) -> bool:
        """Return whether the work was retracted, as far as the service that found it knows."""
        return bool((self.csl.get("custom") or {}).get("retracted"))


class ToolCall(Struct, frozen=True):
    """One call the model asks for.  `id` is unique within the run."""

    id: str
    name: str
    arguments: dict[str, Any]


class RawCall(Struct, frozen=True):
    """One native call as the provider sent it, before it is parsed."""

    id: str
    name: str
    arguments: str
    """JSON, possibly invalid."""


class CallError(Struct, frozen=True, omit_defaults=True):
    """A call of a reply that cannot run."""

    index: int
    """Position among all calls of the reply, from 0."""
    code: str
    """One word: bad_json, truncated, duplicate_key, unknown_tool, missing_name, missing_arg, bad_args, too_large."""
    message: str
    """The problem, for the model."""
    name: str = ""
    """The tool's name, if it is known."""
    id: str = ""
    """The call id of its observation, unique within the run."""


class ToolOutput(Struct, frozen=True):
    """What a tool returns: free text, and the passages it quotes from sources."""

    text: str = ""
    passages: tuple[Passage, ...] = ()
    private: bool = False
    """Contains content of the user's files, memory or servers; from then on the run may visit only known URLs."""
    images: tuple[bytes, ...] = ()
    """Plots, as PNG."""
    document: str = ""
    """The text of the first passage's source, if a reader is to choose from it instead."""
    searched: dict[str, int] = {}
    """The collections and services that were searched, each with the number of its results among the passages."""
    failed: dict[str, str] = {}
    """The services that were asked, too, and failed, each with the reason."""


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
    read: int = 0
    """Number of the request in which a reader was asked for its passages (`main/reader`); 0: none was."""
    new: int | None = None
    """Least number of statements new to its agent; None: not counted."""
    code: str = ""
    """The cause of a failure, as in `ToolError`; empty where the tool named none."""
    edited: bool = False
    """The user replaced the tool's text; the new text is neither a source nor a computed result."""
    searched: dict[str, int] = {}
    failed: dict[str, str] = {}
    """Both as in `ToolOutput`."""
    world: str = ""
    """In a recorded world: `recorded` for a played result, `missing` for a call refused because none is recorded, `new`
    for a call made; empty outside one."""


class ToolSpec(Struct, frozen=True):
    """A tool as it is offered to a model."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments, an object."""
    each: str = ""
    """The argument that may be a list, with one call of the tool for each item; empty: none."""


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
    """The provider's own blocks of an assistant message, which must be sent back unchanged (signed thinking)."""


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one model call."""

    prompt_tokens: int = 0
    """All of the prompt, cached or not."""
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    """Part of the prompt that the provider read from its cache."""
    cache_write_tokens: int = 0
    """Part of the prompt that the provider wrote to its cache."""
    estimated: bool = False
    """Estimated here because the provider did not report it."""
    cost_usd: float | None = None
    """None when the price is unknown; 0.0 only when the model is known to be free."""


class Request(Struct, frozen=True):
    """Everything a model needs for one reply."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    """Offered as native tools; empty under the tagged protocol and for a tools-off call."""
    purpose: str = "act"
    """Why the model is asked: act, conclude, summarise, plan, ...  A scripted model selects its line by it."""
    agent: str = "main"
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    """For services that take one and try to repeat the reply to an equal request."""
    must_call: bool = False
    """The reply must call one of the tools."""
    schema: dict[str, Any] | None = None
    """JSON Schema (an object) that the text of the reply must match."""
    report: bool = False
    """The reply must contain the evolving report in `<report>` tags."""


class Delta(Struct, frozen=True):
    """The next few characters of a streamed reply."""

    text: str
    kind: Literal["text", "reasoning"] = "text"


class Completion(Struct, frozen=True):
    """A whole reply as the provider returned it."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """Native calls only; tagged ones are still in `text`."""
    reasoning: str = ""
    finish_reason: str = "stop"
    usage: Usage | None = None
    """None if the provider reported nothing plausible: the caller estimates."""
    raw_calls: tuple[RawCall, ...] = ()
    """All native calls with arguments as the model wrote them, if the provider returns text; `calls` are the parsable
    ones."""
    blocks: tuple[dict[str, Any], ...] = ()
    """The provider's own blocks, which must be sent back unchanged with this message."""
    false_usage: bool = False
    """Whether the provider reported impossible numbers."""


class Model(Protocol):
    """A language model, or a stand-in for one."""

    @property
    def name(self) -> str:
        """As written in a recipe, e.g. `openai:gpt-5-mini`."""

    @property
    def native(self) -> bool:
        """Whether it accepts tools and replies with native calls."""

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield deltas as they arrive, then exactly one `Completion`.  Raises `ProviderError`."""


class Tool(Protocol):
    """Something the model can call."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def timeout_s(self) -> float:
        """Seconds after which the call is abandoned."""

    def __call__(self, *args: Any, **arguments: Any) -> ToolOutput:
        """Called by keyword.  Raises `ToolError` with a message the model can act on."""


class Searcher(Protocol):
    """A source of search results."""

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        """Return results, best first.  Raises `ToolError`."""


class Part(Struct, frozen=True, omit_defaults=True):
    """One thing that the question asks for, and whether the answer gives it by its own account."""

    text: str
    status: Literal["answered", "not_found"]
    reason: str = ""
    """Why it counts as not found."""


class Reply(Struct, frozen=True, omit_defaults=True):
    """A parsed completion: the model's reasoning, calls, answer and report."""

    text: str = ""
    """The reply as it appears in the conversation, without observations that the model invented."""
    thinking: str = ""
    """From `<think>` tags or from the provider's reasoning field."""
    calls: tuple[ToolCall, ...] = ()
    answer: str = ""
    report: str = ""
    """The evolving report, if the framework asks for one."""
    reasoning: str = ""
    """The provider's reasoning field, separate because some providers require it to be sent back."""
    blocks: tuple[dict[str, Any], ...] = ()
    """The provider's own blocks, sent back unchanged with this reply."""
    errors: tuple[CallError, ...] = ()
    """Calls that cannot run, next to at least one that can; each gets a failed observation."""
    short: str = ""
    """The answer in one line, if the model gives it."""
    parts: tuple[Part, ...] = ()
    """The parts of the question as the model lists them, each with whether it was found."""


Verdict = Literal["supported", "calculated", "partial", "unverified", "unsupported", "contradicted", "dead"]
"""What is known about a cited statement.

`supported` and `contradicted` are given only if right at least nine times in ten.  `calculated`: the figures
follow from the cited ones by the formula in the reason.  `unverified`: neither the rules nor a judge could decide.  `dead`:
no source has the number.  Only models give `partial` and `unsupported`; runs of earlier versions have them too.
"""


HOLDS: frozenset[Verdict] = frozenset(("supported", "calculated"))
"""Verdicts on a statement that its source bears out."""
FAILS: frozenset[Verdict] = frozenset(("contradicted", "unsupported", "dead"))
"""Verdicts on a statement that its source does not bear out; `partial` and `unverified` are in neither set."""
WORST: tuple[Verdict, ...] = (
    "contradicted",
    "unsupported",
    "dead",
    "partial",
    "unverified",
    "calculated",
    "supported",
)
"""The verdict on a statement with several sources is the first of these given on any of them."""


class Judgement(Struct, frozen=True, omit_defaults=True):
    """What one judge says of a statement."""

    by: str
    """`rules`, `cross-encoder:NAME` or `model:NAME`."""
    status: Verdict
    probability: float | None = None
    """Probability of being supported, if given."""
    reason: str = ""
    contradicted: float | None = None
    """Probability of being contradicted, if the judge gives one."""
    quote: str = ""
    """The passage that the judge relies on; it is in the source."""


class Reason(Struct, frozen=True, omit_defaults=True):
    """Why a claim gets no better verdict: a template that the pages translate.

    >>> str(Reason("the source does not state {figure}", (("figure", "5 km"),)))
    'the source does not state 5 km'
    """

    text: str
    values: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.text.format(**dict(self.values)) if self.values else self.text


class Citation(Struct, frozen=True, omit_defaults=True):
    """A cited statement of the report, checked against the source that it cites.

    >>> Citation(1, "Japan has 123,201,945 people.", "supported").status
    'supported'
    """

    n: int
    claim: str
    status: Verdict
    quote: str = ""
    """The source's lines that support the claim, or the line that comes closest."""
    reason: str = ""
    """Why: what the source has, the formula of a calculated figure, or what the judge said."""
    by: str = ""
    """The judge whose verdict this is; empty in runs of earlier versions."""
    judgements: tuple[Judgement, ...] = ()
    """What each judge said, if there were several."""
    reasons: tuple[Reason, ...] = ()
    """The parts of `reason`, for other languages; empty in runs of earlier versions."""


class Checked(Struct, frozen=True):
    """Citations that a framework checked itself."""

    citations: tuple[Citation, ...] = ()
    uncited: tuple[str, ...] = ()


class Answer(Struct, frozen=True):
    """What a framework returns: the answer, and why the run ended."""

    text: str
    outcome: Outcome = "answered"
    report: str = ""
    """A longer text, if the framework writes one; empty: the answer is the report."""
    checked: Checked | None = None
    """Set if the report is about another text: it is kept unchanged, and not checked again."""
    short: str = ""
    parts: tuple[Part, ...] = ()
    """Both as in `Reply`."""

    @classmethod
    def of(cls, reply: Reply, outcome: Outcome = "answered") -> Answer:
        """Return the answer in a reply."""
        return cls(reply.answer, outcome, short=reply.short, parts=reply.parts)
