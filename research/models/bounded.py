"""Ask a model outside a run, where no budget ends its reply."""

from __future__ import annotations

import time
from collections.abc import Iterator

from research._util.interruptible import interruptible
from research.errors import ProviderError
from research.types import Completion, Delta, Model, Request

MOST_S = 600.0
"""Seconds that a reply may take: a slow machine of the user's own needs minutes for a page."""
MOST_CHARACTERS = 1_000_000


def stream(model: Model, request: Request, seconds: float = MOST_S) -> Iterator[Delta | Completion]:
    """Yield what `model.stream` does.  Raises `ProviderError` for a reply that takes too long, or is too long."""
    until = time.monotonic() + seconds
    received = 0

    def check() -> None:
        if time.monotonic() > until:
            raise ProviderError(f"{model.name} was still answering after {seconds:g} s")

    for piece in interruptible(model.stream(request), check):
        check()
        received += len(piece.text)
        if received > 2 * MOST_CHARACTERS:
            raise ProviderError(f"{model.name} sent more than {MOST_CHARACTERS:,} characters")
        yield piece


def completion(model: Model, request: Request, seconds: float = MOST_S) -> Completion:
    """Return the whole reply; raises as `stream` does."""
    (whole,) = (each for each in stream(model, request, seconds) if isinstance(each, Completion))
    return whole
