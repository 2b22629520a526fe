"""A trial of a model: a small job of three rounds with tool calls, then a long prompt whose reply is stopped.

The results are kept in the home folder; together they show what works here.
"""

from __future__ import annotations

import csv
import io
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from research._util import decoding
from research._util.egress import Egress
from research._util.redaction import mask_keys
from research.config.named_endpoints import BY_SETTINGS, Configured
from research.errors import ConfigError, WorkbenchError
from research.models import bounded, tokens
from research.models.traits import Served, Windowed, cost
from research.protocols.tagged import read_calls
from research.text import cell
from research.types import Completion, Delta, Message, Model, Request, ToolCall, ToolSpec, Usage
from research.workbench import endpoint_registry
from research.workbench.verifier_registry import Host

FILE: Final = "endpoint-tests.json"
"""The file in the home folder with the last trial of each model."""
STOPS_WITHIN_S: Final = 2.0
MOST_REQUESTS: Final = 6
"""Requests after which a model still calling tools has failed."""
_TASK: Final = (
    "A secret word is in a safe, and the code of the safe is in the red box. Open the red box with `open_box`, then open "
    "the safe with the code, using `open_safe`: one call at a time, and never guess. Then answer with the secret word alone."
)
_LINES: Final = 400
"""Lines of the long prompt, about 5,600 tokens: servers that cut prompts will cut it."""
_LONG: Final = (
    "Which word does the second line of this list name as the password? Answer with it first, then count from one to three "
    "hundred in words."
)


class Trial(Struct, frozen=True, kw_only=True):
    """What worked when a model was tested."""

    endpoint: str
    model: str
    at: float
    """Seconds since the epoch."""
    ok: bool
    """Whether the job was done in native tool calls."""
    rounds: int = 0
    answers: bool = False
    tool_calls: bool = False
    """Whether it called a tool natively, with valid arguments."""
    uses_results: bool = False
    """Whether the second call used the result of the first, and the answer that of the second."""
    streams: bool = False
    usage: bool = False
    """Whether it reports the tokens it used."""
    reads_prompt: bool = True
    """False: it reported far fewer tokens than were sent, so it has cut the prompt."""
    long_prompt: bool | None = None
    """Whether it found the word at the start of a long prompt; None: not tried."""
    stops: bool | None = None
    """Whether its reply could be stopped; None: it came at once."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    problem: str = ""

    @property
    def also(self) -> dict[str, bool | None]:
        """Results besides the job; None: not tried."""
        return {
            "streaming": self.streams,
            "token counts": self.usage,
            "long prompts": self.long_prompt,
            "stopping": self.stops,
        }

    def line(self) -> str:
        """Return the result as a sentence."""
        if self.ok:
            worked = [word for word, has in self.also.items() if has]
            also = f"; {', '.join(worked)} too" if worked else ""
            return f"{self.rounds} rounds with tool calls{also} worked with {self.model} in {self.seconds:.1f} s"
        return f"{self.model}: {self.problem}"


def run(bench: Host, name: str, model: str = "") -> Trial:
    """Do the job on a model of the endpoint, keep the result and return it.

    `model` empty: the endpoint's own, or the only one that its server lists.  Raises `ConfigError` for an endpoint that
    is not set up or without a model; a failure on the server is a result.
    """
    if not endpoint_registry.is_endpoint(bench.settings, name) and name not in BY_SETTINGS:
        raise endpoint_registry.unknown(bench.settings, name)
    endpoint_registry.find(bench.settings, name)
    model = model or chosen_model(bench, name)
    opened = bench.model(f"{name}:{model}")
    job = _Job(opened)
    started = time.monotonic()
    problem = ""
    try:
        job.run()
    except WorkbenchError as error:
        problem = str(error)
    found = job.result(name, model, time.monotonic() - started, problem)
    if found.ok:
        with suppress(WorkbenchError):  # the job was done anyway
            job.read_long_prompt()
        found = job.result(name, model, found.seconds, "")
    found = msgspec.structs.replace(found, problem=mask_keys(found.problem, list(bench.settings.secrets())))
    keep(bench.settings.home, found)
    return found


def chosen_model(bench: Host, name: str) -> str:
    """Return the model of an endpoint to test when none is named.  Raises `ConfigError` that lists its models."""
    configured: Configured | None = bench.settings.endpoints.get(name)
    if configured and configured.entry.model:
        return configured.entry.model
    settings_model = bench.settings.model
    if settings_model.startswith(f"{name}:"):
        return settings_model.partition(":")[2]
    listed: list[str] = []
    if endpoint_registry.lists_models(bench.settings, name):
        opened = bench.model(f"{name}:*")
        listed = opened.list_models() if isinstance(opened, Served) else []
    if len(listed) == 1:
        return listed[0]
    has = f"; the server has {', '.join(listed[:8])}" if listed else ""
    raise ConfigError(f"endpoint {name!r}: name the model to test{has}")


def results(home: Path) -> dict[str, Trial]:
    """Return the last trial of each endpoint.  Raises `ConfigError` if the file is damaged."""
    return {each.endpoint: each for each in sorted(_read(home).values(), key=lambda each: each.at)}


def table(home: Path) -> list[Trial]:
    """Return the last trial of each model, in the order of their names.  Raises `ConfigError` if the file is damaged."""
    return sorted(_read(home).values(), key=lambda each: (each.endpoint, each.model))


COLUMNS: Final = ("model", "tools", *Trial(endpoint="", model="", at=0, ok=True).also, "seconds", "tested", "problem")
"""Columns of the table of what works here."""


def cells(found: Trial) -> list[str]:
    """Return the cells of a trial, one for each column of the table."""
    words = {True: "yes", False: "no", None: ""}
    day = time.strftime("%Y-%m-%d", time.gmtime(found.at))
    worked = [words[each] for each in (found.ok, *found.also.values())]
    return [f"{found.endpoint}:{found.model}", *worked, f"{found.seconds:.1f}", day, found.problem]


def as_csv(found: list[Trial]) -> str:
    """Return the table for a spreadsheet; no cell is a formula."""
    out = io.StringIO()
    csv.writer(out).writerows([COLUMNS, *([cell(each) for each in cells(one)] for one in found)])
    return out.getvalue()


def _read(home: Path) -> dict[str, Trial]:
    return decoding.saved(home / FILE, Trial, "test the endpoints again")


def forget(home: Path, name: str) -> list[Trial]:
    """Remove and return the results of an endpoint that is removed."""
    everything = _read(home)
    found = [each for each in everything.values() if each.endpoint == name]
    if found:
        decoding.save(home / FILE, {key: each for key, each in everything.items() if each.endpoint != name})
    return found


def keep(home: Path, *found: Trial) -> None:
    """Keep these results in place of earlier ones of the same models."""
    # Earlier versions kept one per endpoint, under its name.
    names = {each.endpoint for each in found}
    earlier = {key: each for key, each in _read(home).items() if key not in names}
    decoding.save(home / FILE, earlier | {f"{each.endpoint}:{each.model}": each for each in found})


def _closing(pieces: Iterator[Delta | Completion], closed: threading.Event) -> Iterator[Delta | Completion]:
    """Yield the pieces of a reply, and report its closed connection."""
    try:
        yield from pieces
    finally:
        closed.set()


class _Job:
    """The conversation of one trial."""

    def __init__(self, model: Model) -> None:
        self._model = model
        # Random, so that only the tools can reveal them.
        self._code = f"{secrets.randbelow(9000) + 1000}"
        self._word = f"heron-{secrets.randbelow(9000) + 1000}"
        self._messages: list[Message] = [Message("user", _TASK)]
        self._called: list[str] = []
        self._rounds = 0
        self._usage: list[Usage] = []
        self._streams = self._reports = False
        self._reads_prompt = True
        self._long_prompt: bool | None = None
        self._stops: bool | None = None
        self._answer = ""

    def run(self) -> None:
        """Ask until the model answers."""
        while self._rounds < MOST_REQUESTS and not self._answer:
            request = Request(tuple(self._messages), _TOOLS, max_tokens=2048)
            self._rounds += 1
            deltas, completion = 0, Completion()
            for piece in bounded.stream(self._model, request, Egress()):
                if isinstance(piece, Completion):
                    completion = piece
                    break
                deltas += 1
            self._streams = self._streams or deltas > 1 or bool(completion.calls)
            self._count(completion)
            if not completion.calls:
                self._answer = completion.text.strip() or "nothing"
                return
            calls = tuple(
                msgspec.structs.replace(call, id=call.id or f"call-{self._rounds}-{number}")
                for number, call in enumerate(completion.calls, 1)
            )
            self._messages.append(
                Message(
                    "assistant",
                    completion.text,
                    calls,
                    reasoning=completion.reasoning or None,
                    blocks=completion.blocks,
                )
            )
            self._messages += [Message("tool", self._use(call), call_id=call.id) for call in calls]

    def read_long_prompt(self) -> None:
        """Ask for a word at the beginning of a long prompt, and stop the reply once it came."""
        word = f"osprey-{secrets.randbelow(9000) + 1000}"
        lines = [f"{n}. A heron waits at the water's edge until noon." for n in range(1, _LINES)]
        lines.insert(1, f"The password is {word}.")
        messages = (Message("user", "\n".join([*lines, _LONG])),)
        sent = tokens.count_messages(messages, self._model.name)
        if isinstance(self._model, Windowed) and 0 < self._model.window < sent + 1000:
            return
        said, usage, closed = "", Usage(sent, 0, estimated=True), threading.Event()
        asked = self._model.stream(Request(messages, max_tokens=1024))
        pieces = bounded.within(_closing(asked, closed), self._model.name, Egress())
        for piece in pieces:
            if isinstance(piece, Completion):
                said, usage = piece.text, piece.usage or usage
            elif piece.kind == "text":
                said += piece.text
                if word in said:
                    pieces.close()
                    self._stops = closed.wait(STOPS_WITHIN_S)
                    break
        self._long_prompt = word in said
        self._usage.append(usage)

    def _count(self, completion: Completion) -> None:
        sent = tokens.count_messages(self._messages, self._model.name)
        if completion.usage is None:
            self._usage.append(Usage(sent, 0, estimated=True))
            return
        self._reports = True
        self._usage.append(completion.usage)
        self._reads_prompt = self._reads_prompt and 2 * completion.usage.prompt_tokens >= sent

    def _use(self, call: ToolCall) -> str:
        if call.name == "open_box" and call.arguments.get("colour") == "red":
            self._called.append("open_box")
            return f"The code of the safe is {self._code}."
        if call.name == "open_safe" and str(call.arguments.get("code")) == self._code:
            self._called.append("open_safe")
            return f"The secret word is {self._word}."
        return f"{call.name} found nothing with {msgspec.json.encode(call.arguments).decode()[:200]}."

    def result(self, endpoint: str, model: str, seconds: float, problem: str) -> Trial:
        """Return what worked; `problem` is the error that ended the job, if any."""
        used = self._called == ["open_box", "open_safe"] and self._word in self._answer
        if not problem and not used:
            problem = self._problem()
        costs = [cost(self._model, each) for each in self._usage]
        return Trial(
            endpoint=endpoint,
            model=model,
            at=time.time(),
            ok=used and not problem,
            rounds=self._rounds,
            answers=bool(self._answer) and self._answer != "nothing",
            tool_calls=bool(self._called),
            uses_results=used,
            streams=self._streams,
            usage=self._reports,
            reads_prompt=self._reads_prompt,
            long_prompt=self._long_prompt,
            stops=self._stops,
            prompt_tokens=sum(each.prompt_tokens for each in self._usage),
            completion_tokens=sum(each.completion_tokens for each in self._usage),
            cost_usd=sum(known)
            if (known := [each for each in costs if each is not None]) and len(known) == len(costs)
            else None,
            seconds=seconds,
            problem=problem,
        )

    def _problem(self) -> str:
        said = " ".join(self._answer.split())[:120]
        if not self._answer:
            return f"it was still calling tools after {self._rounds} requests"
        if not self._called and read_calls(self._answer):
            return "it writes its calls as text, not as native calls: use `--protocol tagged` with it"
        if not self._called:
            return f"it called no tool and answered {said!r}: try `--protocol tagged` or another model"
        return f"it called {', '.join(self._called)} and answered {said!r}, which is not what the tools said"


_TOOLS: Final = (
    ToolSpec(
        "open_box",
        "Open a box and read what is in it.",
        {
            "type": "object",
            "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
            "required": ["colour"],
        },
    ),
    ToolSpec(
        "open_safe",
        "Open the safe with its code and read what is in it.",
        {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    ),
)
