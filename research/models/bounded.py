"""Ask a model outside a run: no budget ends its reply, and only the caller's scope limits what may leave."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator

import msgspec

from research._util import egress
from research._util.egress import Egress
from research._util.interruptible import interruptible
from research.errors import ProviderError
from research.models.heard import hearing
from research.types import Completion, Delta, Model, Request

MOST_S = 600.0
"""Seconds that a reply may take: a user's slow machine needs minutes for a page."""
MOST_BYTES = 4_000_000
"""Bytes of a reply with its reasoning and calls, as JSON."""


def stream(model: Model, request: Request, held: Egress, seconds: float = MOST_S) -> Generator[Delta | Completion]:
    """Yield what `model.stream` does; `held` says what may be sent.

    Raises `ProviderError` for a reply that takes too long, or is too long, and `StaysHere`.
    """
    return within(model.stream(request), model.name, held, seconds)


def within(
    pieces: Iterator[Delta | Completion], name: str, held: Egress, seconds: float = MOST_S
) -> Generator[Delta | Completion]:
    """Yield these pieces of a reply of the model `name`; limits and errors as in `stream`."""
    until = time.monotonic() + seconds
    shown = unseen = 0

    def check() -> None:
        if time.monotonic() > until:
            raise ProviderError(f"{name} was still answering after {seconds:g} s")
        if shown + unseen > MOST_BYTES:
            raise ProviderError(f"{name} sent more than {MOST_BYTES // 10**6} MB")

    def hear(text: str) -> None:
        nonlocal unseen
        unseen += len(text)

    for piece in egress.carrying(held, interruptible(hearing(pieces, hear), check)):
        if isinstance(piece, Completion):  # the completion has all that was streamed
            shown, unseen = len(msgspec.json.encode(piece)), 0
        else:
            shown += len(piece.text.encode("utf-8", "replace"))
        check()
        yield piece


def completion(model: Model, request: Request, held: Egress, seconds: float = MOST_S) -> Completion:
    """Return the whole reply; raises as `stream` does."""
    (whole,) = (each for each in stream(model, request, held, seconds) if isinstance(each, Completion))
    return whole
