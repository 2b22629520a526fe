"""Split a response into lines, however its bytes arrive: in linear time, and none longer than an event may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from research.errors import ProviderError

LONGEST: Final = 10_000_000
"""Most characters of an event or an unstreamed reply: a reply of 4 MB with escaped letters."""
MOST: Final = 500_000
"""Most events of a reply; each usually has a token."""
MOST_BYTES: Final = 64_000_000
"""Bytes of all events of a reply; an event of one token has about 250."""
_NEWLINE = re.compile(r"\r\n|\n|\r(?!\Z)")


def lines(texts: Iterable[str], host: str) -> Iterator[str]:
    """Yield the lines of these texts, without their ends.  Raises `ProviderError` for a line that is too long."""
    held: list[str] = []
    size = 0
    for text in texts:
        if held and held[-1].endswith("\r"):  # it may be half of a line's end
            text = held.pop() + text
            size -= 1
        first, *more = _NEWLINE.split(text)
        held.append(first)
        size += len(first)
        for line in more:
            yield "".join(held)
            held, size = [line], len(line)
        if size > LONGEST:
            raise too_long(host)
    if last := "".join(held):
        yield last.removesuffix("\r")


def too_long(host: str) -> ProviderError:
    """Return the error for an endless event."""
    return ProviderError(f"{host} sent an event longer than {LONGEST // 10**6} MB")


def bounded(pieces: Iterable[bytes], host: str) -> Iterator[bytes]:
    """Yield the pieces of a reply.  Raises `ProviderError` when it is too long."""
    received = 0
    for piece in pieces:
        received += len(piece)
        if received > MOST_BYTES:
            raise ProviderError(f"the reply of {host} is longer than {MOST_BYTES // 10**6} MB")
        yield piece


def counted(events: Iterable[str], host: str) -> Iterator[str]:
    """Yield the events.  Raises `ProviderError` when there are too many for a reply."""
    for number, event in enumerate(events):
        if number >= MOST:
            raise ProviderError(f"the reply of {host} has more than {MOST:,} events")
        yield event
