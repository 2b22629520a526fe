"""The numbers that a server sends: untrusted input, believed only within bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from research.errors import ProviderError
from research.types import Completion, Usage

LARGEST: Final = 10**12
"""Largest count, time or price believed, from a server or in an imported run's events."""
_FALSE: Final = -1
"""Stands for a value that is not a count."""


def whole_number(value: Any) -> int | None:
    """Return a count that a server sends; None for anything else, such as -1, 1e30, NaN or "many"."""
    if isinstance(value, str) and len(value) <= 20 and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and math.isfinite(value):
        value = round(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST else None


def counted(prompt: Any, completion: Any, read: Any = None, written: Any = None) -> Usage | None:
    """Return the usage in a reply; None without one.  A value that is not a count becomes negative, for `believed`."""
    if prompt is None:
        return None
    counts = (0 if value is None else whole_number(value) for value in (prompt, completion, read, written))
    tokens = [_FALSE if count is None else count for count in counts]
    return Usage(tokens[0], tokens[1], cache_read_tokens=tokens[2], cache_write_tokens=tokens[3])


def believed(completion: Completion) -> Completion:
    """Return a completion; if its numbers are impossible, drop and mark its usage, for the caller to estimate."""
    usage = completion.usage
    if usage is None:
        return completion
    counts = (usage.prompt_tokens, usage.completion_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    cost = usage.cost_usd
    if any(whole_number(count) is None for count in counts) or not (cost is None or 0 <= cost <= LARGEST):
        return msgspec.structs.replace(completion, usage=None, false_usage=True)
    if usage.cache_read_tokens + usage.cache_write_tokens > usage.prompt_tokens:
        usage = msgspec.structs.replace(usage, cache_read_tokens=0, cache_write_tokens=0)
        return msgspec.structs.replace(completion, usage=usage)
    return completion


@contextmanager
def unreadable(host: str) -> Iterator[None]:
    """Turn errors from data that violates a server's documented types into a `ProviderError`."""
    try:
        yield
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ProviderError(f"{host} sent a reply that cannot be read ({type(error).__name__}: {error})") from error
