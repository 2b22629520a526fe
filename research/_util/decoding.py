"""Decoding of JSON into structs that is safe for threads.

msgspec inspects a struct type when it is decoded for the first time, and a thread that decodes the same type meanwhile
reads an incomplete result, which crashes the process (msgspec 0.22: 11 of 40 processes in which eight threads started at
once).  Here one thread inspects each type, under a lock; decoding is faster, too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import msgspec

from research.errors import ConfigError

T = TypeVar("T")

_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_making = threading.Lock()


@overload
def decode(data: bytes | str, kind: type[T]) -> T: ...
@overload
def decode(data: bytes | str, kind: Any) -> Any: ...
def decode(data: bytes | str, kind: Any) -> Any:
    """Decode JSON as `msgspec.json.decode(data, type=kind)` does."""
    return _decoder(kind).decode(data)


def convert(value: object, kind: type[T], *, strict: bool = True) -> T:
    """Convert a value as `msgspec.convert(value, kind)` does."""
    _decoder(kind)
    return msgspec.convert(value, kind, strict=strict)


def loosely(value: object, kind: type[T]) -> T | None:
    """Convert what a server sent beside its reply, also numbers sent as text; None if it does not fit."""
    try:
        return convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return None


def saved(path: Path, kind: type[T], remedy: str) -> dict[str, T]:
    """Return a file's entries by name; none if there is no file.  Raises `ConfigError` if it is damaged."""
    try:
        return cast(dict[str, T], decode(path.read_bytes(), dict[str, kind]))  # type: ignore[valid-type]
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; delete it and {remedy}") from error


def save(path: Path, values: Mapping[str, object]) -> None:
    """Replace the file atomically: no reader sees half of it."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(values)))
    temporary.replace(path)


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    found = _decoders.get(kind)
    if found is None:
        with _making:
            found = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return found


def unfenced(text: str) -> str:
    """Return a reply without the code fence that models put around JSON, if the fence encloses all of it."""
    body = text.strip()
    if body.startswith("```") and body.endswith("```"):
        return body.removeprefix("```json").removeprefix("```").removesuffix("```")
    return body
