"""One reply while it arrives: its deltas become events; the run's budget and a maximum size end it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from research._util import egress
from research._util.egress import StaysHere
from research._util.interruptible import interruptible
from research._util.nul import without_nul
from research.agent.context import MAIN, RunContext, Steps
from research.errors import LimitReached, ProviderError
from research.events.events import Event, Rejected, Streamed
from research.models import tokens
from research.models.heard import hearing
from research.models.traits import cost
from research.models.usage import believed
from research.types import Completion, Delta, Model, Outcome, Request, Usage

LONGEST_REPLY = 4_000_000
"""Bytes of a reply with its reasoning and calls, as JSON; services offer about a third of it today."""
MOST_DELTAS = 500_000
"""Deltas of a reply; a delta is usually a token."""
STREAM_EVERY_S = 0.05
"""Deltas are collected this long into one event."""
GRACE_TOKENS = 200
"""Tokens by which a reply may exceed the budget, so that a short one is not cut near its end."""
LAST_ANSWER_TOKENS = 16_384
"""Tokens that the forced last answer may have although the budget is spent."""


class ReplyStream:
    """A reply of a model to one request of an agent."""

    def __init__(self, agent: str, ask: int, model: Model, request: Request, context: RunContext) -> None:
        self.text, self.reasoning = "", ""
        """What has arrived, once the reply has ended or was cut."""
        self.request = request
        self._agent, self._ask, self._model, self._context = agent, ask, model, context
        self._pieces: dict[str, list[str]] = {"text": [], "reasoning": [], "unseen": []}
        self._bytes = self._unseen = self._deltas = 0
        self._counted = 0
        """Tokens when they were last counted."""
        self._count_at = 0
        """Bytes at which they are counted again: a token has at least one."""
        self._token_usd = _token_usd(model) if context.meter.budget.usd is not None else 0.0

    def events(self, prompt_tokens: int) -> Steps[Completion]:
        """Stream the reply.  Raises `LimitReached` when the budget is spent within it; the words so far are an event."""
        try:
            return (yield from self._events())
        except LimitReached as limit:
            self._context.cut_by = limit.limit
            if limit.limit == "time" and not self._bytes + self._unseen:
                seconds = self._context.meter.budget.seconds or 0
                self._context.failure = (
                    f"{self._model.name} had not begun its reply when the time limit of {seconds:g} s was reached"
                )
            self.text, self.reasoning = "".join(self._pieces["text"]), "".join(self._pieces["reasoning"])
            usage = priced(self._model, Usage(prompt_tokens, self._tokens(), estimated=True))
            self._context.meter.spend(usage)
            yield Rejected(
                agent=self._agent,
                ask=self._ask,
                text=without_nul(self.text, str),
                problem=f"The budget was spent within this reply ({limit.limit}); it was cut off.",
                usage=usage,
            )
            raise

    def _events(self) -> Steps[Completion]:
        deltas: list[Delta] = []
        last = time.monotonic()
        try:
            for piece in interruptible(self._arriving(), self._check):
                if isinstance(piece, Completion):
                    self._bytes, self._unseen = len(msgspec.json.encode(piece)), 0
                    self._check_size()
                    yield from self._flush(deltas)
                    return believed(piece)
                self._take(piece)
                if deltas and deltas[0].kind != piece.kind:
                    yield from self._flush(deltas)
                deltas.append(piece)
                if time.monotonic() - last >= STREAM_EVERY_S:
                    yield from self._flush(deltas)
                    last = time.monotonic()
        except LimitReached:
            yield from self._flush(deltas)
            raise
        except StaysHere as error:
            raise ProviderError(str(error)) from error
        except ProviderError as error:
            arrived = self._bytes + self._unseen
            error.at_work = error.at_work and not arrived  # a reply that has begun and stalled is asked for again
            raise
        raise ProviderError(f"{self._model.name} ended its reply without completing it", retryable=True)

    def _arriving(self) -> Iterator[Delta | Completion]:
        """Yield the pieces of the reply, in a thread that records what it sends."""
        context = self._context
        passages = ("passages",) if context.ledger.sources else ()
        egress.naming(("question", *passages, *(("memory",) if context.recalled else ())))
        yield from hearing(self._model.stream(self.request), self._hear)

    def _take(self, piece: Delta) -> None:
        self._pieces[piece.kind].append(piece.text)
        self._bytes += len(piece.text.encode("utf-8", "replace"))
        self._deltas += 1
        self._check()

    def _hear(self, text: str) -> None:
        """Count what is not shown; runs in the thread that reads the reply."""
        self._pieces["unseen"].append(text)
        self._unseen += len(text)

    def _check_size(self) -> None:
        if self._bytes + self._unseen > LONGEST_REPLY:
            raise ProviderError(f"{self._model.name} sent a reply longer than {LONGEST_REPLY // 10**6} MB")
        if self._deltas + len(self._pieces["unseen"]) > MOST_DELTAS:
            raise ProviderError(f"{self._model.name} sent a reply of more than {MOST_DELTAS:,} pieces")

    def _check(self) -> None:
        """Raise `Stopped`, `LimitReached` when the budget of the run is spent, or `ProviderError` for a reply too long."""
        self._context.check_stop()
        self._check_size()
        meter = self._context.meter
        meter.check_time()
        arrived = self._bytes + self._unseen
        if arrived < self._count_at:
            return
        limit, most = self._most_tokens()
        if most is not None:
            self._counted = self._tokens()
            most += GRACE_TOKENS
            if self._counted > most:
                raise LimitReached(limit)
            self._count_at = arrived + max(64, int(most - self._counted))

    def _most_tokens(self) -> tuple[Outcome, float | None]:
        """Return the tokens that the rest of the budget allows, and the outcome if they run out."""
        meter = self._context.meter
        forced = self.request.purpose == "conclude" and self._agent == MAIN
        limits: list[tuple[float, Outcome]] = []
        if (left := meter.tokens_left) is not None:
            limits.append((max(left, LAST_ANSWER_TOKENS) if forced else left, "tokens"))
        if (usd := meter.usd_left) is not None and self._token_usd:
            limits.append((usd / self._token_usd, "cost"))
        if not limits:
            return "tokens", None
        most, limit = min(limits)
        return limit, most

    def _tokens(self) -> int:
        return sum(tokens.count("".join(pieces), self._model.name) for pieces in self._pieces.values())

    def _flush(self, deltas: list[Delta]) -> Iterator[Event]:
        if deltas:
            text = without_nul("".join(d.text for d in deltas), str)
            yield Streamed(agent=self._agent, ask=self._ask, text=text, kind=deltas[0].kind)
            deltas.clear()


def priced(model: Model, usage: Usage) -> Usage:
    """Return a usage with its cost, priced here if the service gave none and the price is known."""
    return msgspec.structs.replace(usage, cost_usd=cost(model, usage))


def _token_usd(model: Model) -> float:
    """Return the price of one token of a reply; 0 if it is unknown."""
    many = 1_000_000
    return (priced(model, Usage(0, many)).cost_usd or 0.0) / many
