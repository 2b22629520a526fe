"""Read the binary event stream of AWS, in which Bedrock wraps the events of Anthropic's API.

The SDK reads it with botocore, 17 MB that nothing else here needs.  Source: Smithy, "Amazon Event Stream Specification".
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from collections.abc import Iterator

import msgspec

from research.errors import ProviderError

_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; 6 and 7 are preceded by their length."""
_LONGEST = 24 * 1024 * 1024
"""The specification's limit of a message."""


def events(pieces: Iterator[bytes]) -> Iterator[str]:
    """Yield the data of each event; an exception becomes an event of type `error`.  Raises `ProviderError`."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) >= 12:
            total, headers, check = struct.unpack_from(">III", buffer)
            if zlib.crc32(buffer[:8]) != check or not headers + 16 <= total <= _LONGEST:
                raise ProviderError("the event stream of AWS is damaged", retryable=True)
            if len(buffer) < total:
                break
            frame = bytes(buffer[:total])
            del buffer[:total]
            if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:], "big"):
                raise ProviderError("an event of AWS is damaged", retryable=True)
            yield from _event(_headers(frame[12 : 12 + headers]), frame[12 + headers : -4])


def _headers(data: bytes) -> dict[str, str]:
    found, at = {}, 0
    while at < len(data):
        name = data[at + 1 : at + 1 + data[at]].decode()
        at += 1 + data[at]
        kind, at = data[at], at + 1
        if kind in (6, 7):
            size = int.from_bytes(data[at : at + 2], "big")
            at += 2
            found[name] = data[at : at + size].decode()
        else:
            size = _SIZES[kind]
        at += size
    return found


def _event(headers: dict[str, str], payload: bytes) -> Iterator[str]:
    try:
        value = msgspec.json.decode(payload)
        if headers.get(":message-type") == "event":
            if "bytes" in value:
                yield b64decode(value["bytes"]).decode()
            return
    except (ValueError, TypeError) as error:
        raise ProviderError(f"an event of AWS is unreadable: {error}", retryable=True) from error
    kind = headers.get(":exception-type") or headers.get(":error-code") or "error"
    message = value.get("message") if isinstance(value, dict) else None
    error_ = {"type": kind, "message": message or headers.get(":error-message") or kind}
    yield msgspec.json.encode({"type": "error", "error": error_}).decode()
