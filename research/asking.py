"""Asking the model: stream the reply, retry what passes, read it, and ask again while it cannot be read."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from research import tokens
from research.errors import FormatError, LimitReached, ProviderError, Rests, StoreUnavailable
from research.events import Asked, Event, Rejected, Replied, Streamed, Warned, Withdrawn
from research.types import Completion, Delta, Message, Model, Priced, Reply, Request, ToolSpec, Usage, Yielding

if TYPE_CHECKING:
    from research.run import Run, Steps

Reads = Callable[[Reply], object]
"""Looks at a reply; raises `FormatError` for one that will not do."""

TRIES = 3
"""Times a request is sent before a passing fault of the provider lets the run rest."""
REASKS = 3
"""Times the model is asked again for a reply that can be read."""
TELL_FROM_S = 1.0
"""A wait for a turn that is longer is told, once a run."""
STREAM_EVERY_S = 0.05
"""Deltas are gathered this long into one event."""


def converse(
    run: Run, request: Request, ask: int, offered: Sequence[ToolSpec], reads: Reads | None,
    last: tuple[Message, ...] | None,
) -> Steps[Reply]:  # fmt: skip
    """Call, read, and ask again while the reply cannot be read; bad replies are events, not history.

    A request that is too long is composed again with less, `last` after it; None: it was not composed by us.
    """
    purpose = request.purpose
    model = run.shared.models(run.recipe.model_for(purpose))
    base = messages = request.messages
    for _attempt in range(REASKS + 1):
        run.check_rest()
        request = msgspec.structs.replace(request, messages=messages)
        keep = tokens.common(run.sent, messages)
        run.sent, run.prompt_tokens = messages, run.tokens(messages, model.name)
        yield Asked(
            agent=run.agent, ask=ask, round=run.transcript.length + 1, purpose=purpose, model=model.name,
            keep=keep, messages=messages[keep:], tools=tuple(tool.name for tool in offered),
            prompt_tokens=run.prompt_tokens, rounds_shown=0 if last is None else len(run.shown),
            rounds_so_far=run.transcript.length, window=run.window(model.name, composed=last is not None),
        )  # fmt: skip
        started = time.monotonic()
        try:
            completion = yield from _call(run, model, request, ask)
        except ProviderError as error:
            if not error.context_overflow or last is None:
                raise
            yield from _forget(run)
            base = messages = (*(yield from run.compose()), *last)
            continue
        yield from _tell_left_out(run, model)
        usage = completion.usage or Usage(
            run.prompt_tokens, tokens.count(completion.text + completion.reasoning, model.name), estimated=True
        )
        if usage.cost_usd is None and isinstance(model, Priced):
            usage = msgspec.structs.replace(usage, cost_usd=model.price(usage))
        run.shared.meter.spend(usage)
        try:
            reply = _read(run, completion, ask, offered)
            if reads is not None:
                reads(reply)
        except FormatError as error:
            yield Rejected(agent=run.agent, ask=ask, text=completion.text, problem=str(error), usage=usage)
            said = [Message("assistant", completion.text)] if completion.text.strip() else []
            messages = (*base, *said, Message("user", str(error)))
            continue
        seconds = time.monotonic() - started
        yield Replied(agent=run.agent, ask=ask, purpose=purpose, reply=reply, usage=usage, seconds=seconds)
        return reply
    raise LimitReached("failed")


def _tell_left_out(run: Run, model: Model) -> Steps[None]:
    """Say once what a service refused, so that nobody compares temperatures that were never sent."""
    for name in model.left_out if isinstance(model, Yielding) else ():
        if (model.name, name) not in run.shared.left_out:
            run.shared.left_out.add((model.name, name))
            yield from run.mark(Warned(agent=run.agent, kind="model", text=f"{model.name} does not accept {name}."))


def _read(run: Run, completion: Completion, ask: int, tools: Sequence[ToolSpec]) -> Reply:
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", run.agent)
    return run.protocol.read(completion, lambda index: f"{prefix}-{ask}-{index + 1}", tools)


def _call(run: Run, model: Model, request: Request, ask: int) -> Steps[Completion]:
    for attempt in range(1, TRIES + 1):
        yield from _turn(run, request.purpose)
        try:
            return (yield from _stream(run, model, request, ask))
        except ProviderError as error:
            if not error.retryable:
                raise
            if attempt == TRIES:  # no framework is to make do without it: nothing is lost by waiting
                raise Rests(str(error)) from error
            backoff = random.uniform(0.5, 1.0) * 2 ** (attempt - 1)
            wait_s = error.retry_after_s if error.retry_after_s is not None else backoff
            yield Withdrawn(agent=run.agent, ask=ask, error=str(error), wait_s=wait_s)
            run.wait(wait_s)
    raise AssertionError("unreachable: the last try returns or raises")


def _turn(run: Run, purpose: str) -> Steps[None]:
    """Wait until the model may be asked again, where the administrator has limited that."""
    name = run.recipe.model_for(purpose)
    while (wait_s := _turn_at(run, name)) is None:  # nobody can count just now; nothing is lost by waiting
        run.wait(TELL_FROM_S)
    if wait_s > TELL_FROM_S and not run.shared.paced:
        run.shared.paced = True
        kind = name.partition(":")[0]
        yield from run.mark(
            Warned(agent=run.agent, kind="model", text=f"Requests to {kind} are limited here: each waits for its turn.")
        )
    if wait_s > 0:
        run.wait(wait_s)


def _turn_at(run: Run, name: str) -> float | None:
    try:
        return run.shared.pace(name)
    except StoreUnavailable:
        return None


def _stream(run: Run, model: Model, request: Request, ask: int) -> Steps[Completion]:
    gathered: list[Delta] = []
    last = time.monotonic()
    for piece in model.stream(request):
        run.check_stop()
        if isinstance(piece, Completion):
            yield from _flush(run, gathered, ask)
            return piece
        if gathered and gathered[0].kind != piece.kind:
            yield from _flush(run, gathered, ask)
        gathered.append(piece)
        if time.monotonic() - last >= STREAM_EVERY_S:
            yield from _flush(run, gathered, ask)
            last = time.monotonic()
    raise ProviderError(f"{model.name} ended its reply without completing it", retryable=True)


def _flush(run: Run, gathered: list[Delta], ask: int) -> Iterator[Event]:
    if gathered:
        yield Streamed(agent=run.agent, ask=ask, text="".join(d.text for d in gathered), kind=gathered[0].kind)
        gathered.clear()


def _forget(run: Run) -> Steps[None]:
    """Make room: drop the bodies of the older half of the observations that are still there."""
    left = run.transcript.length - run.forgotten
    if left == 0:
        raise LimitReached("tokens")
    run.forgotten += (left + 1) // 2
    yield Warned(
        agent=run.agent, kind="context",
        text=f"The prompt is too long for the model: observations of rounds 1 to {run.forgotten} were dropped.",
    )  # fmt: skip


def transcribed(messages: Sequence[Message]) -> str:
    """A conversation as text, for a model that is to read and not to continue it."""
    lines = []
    for message in messages:
        calls = "\n".join(f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in message.calls)
        lines.append(f"[{message.role}] " + "\n".join(filter(None, [message.content, calls])))
    return "\n\n".join(lines)
