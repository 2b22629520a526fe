"""Redact the key of a model's server in its replies: a server that echoes the key must not put it into a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from research._util import decoding
from research._util.redaction import StreamRedactor, key_pattern
from research.types import Completion, Delta


def redacted(pieces: Iterator[Delta | Completion], key: str) -> Iterator[Delta | Completion]:
    """Redact the key in the pieces of a reply, even if split among deltas; an empty key changes nothing."""
    if not key:
        yield from pieces
        return
    streams = {"text": StreamRedactor(key), "reasoning": StreamRedactor(key)}
    for piece in pieces:
        if isinstance(piece, Delta):
            if text := streams[piece.kind].add(piece.text):
                yield Delta(text, piece.kind)
        else:
            for kind, stream in streams.items():
                if rest := stream.end():
                    yield Delta(rest, "reasoning" if kind == "reasoning" else "text")
            yield _completion(piece, key)


def _completion(whole: Completion, key: str) -> Completion:
    pattern = key_pattern(key)
    if not pattern.search(msgspec.json.encode(whole).decode()):
        return whole

    def clean(value: Any) -> Any:
        match value:
            case str():
                return pattern.sub("***", value)
            case dict():
                return {clean(name): clean(inner) for name, inner in value.items()}
            case list() | tuple():
                return [clean(inner) for inner in value]
            case _:
                return value

    return decoding.convert(clean(msgspec.to_builtins(whole)), Completion)
