"""Load a model file into memory, and stream its replies.

xllamacpp packages llama.cpp's server as a library.  It streams by a callback in the calling thread, so each reply has a
thread that passes pieces on; the callback's return value can end the reply at any token.  The server also listens on
a loopback port, which cannot be turned off and is therefore protected by a random key.  We do not use that port: proxy
settings, time-outs or other programs could interfere, and it notices a closed connection later.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import weakref
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from research._util import extras
from research.errors import ConfigError, ProviderError
from research.models.llama.header import control_token_pattern, read_header
from research.text import clip

if TYPE_CHECKING:
    import xllamacpp

_KEPT = 2
"""Models to keep in memory while no run uses them."""
_PROMPT_CACHE_MIB = 1024
_BATCH = 512
"""Prompt tokens per batch: a reply can be cancelled between batches."""

_loading = threading.Lock()


class Loaded:
    """A loaded model.  Safe to share between threads; it generates one reply at a time, the others wait."""

    def __init__(self, path: Path, context: int) -> None:
        """`context` is the largest context window to use, in tokens.  Raises `ConfigError`."""
        try:
            header = read_header(path)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}; give a readable GGUF model file") from error
        self.context = min(header.context, context)
        self._control_tokens = control_token_pattern(header.control)
        self._state = _State(_serve(path, self.context))
        # Runs when the last reference is gone, or at exit: a callback into a finalized interpreter would abort.
        weakref.finalize(self, self._state.close)

    def defuse(self, text: str) -> str:
        """Break up control tokens in the text with a zero-width space, so that a page cannot start a chat turn."""
        return self._control_tokens.sub(lambda match: f"{match.group()}\u200b", text)

    def chat(self, body: dict[str, Any]) -> Iterator[bytes]:
        """Stream the chunks of a chat completion, or an error, as encoded by llama.cpp's server.

        Closing the iterator ends it at the next token.  Raises `ProviderError`.
        """
        reply = _ReplyThread(self._state, msgspec.json.encode(body | {"stream": True, "return_progress": True}))
        self._state.begin(reply)
        try:
            while (piece := reply.pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise ProviderError(f"llama.cpp refused the request: {clip(str(piece), 300)}") from piece
                yield piece
        finally:
            reply.cancelled.set()


def load(path: Path, context: int) -> Loaded:
    """Return the model of that file, loaded once per process.  Raises `ConfigError` with the path."""
    try:
        path = path.expanduser().resolve()
        if path.is_dir():
            raise ConfigError(f"{path} is a folder; give a GGUF model file")
        stat = path.stat()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; give a GGUF model file") from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name, or no home folder for ~
        raise ConfigError(f"{path}: {error}; give a GGUF model file") from error
    extras.need("gguf", f"model 'gguf:{path}'")
    with _loading:
        return _load(path, context, stat.st_mtime_ns, stat.st_size)


@lru_cache(_KEPT)
def _load(path: Path, context: int, _changed: int, _size: int) -> Loaded:
    return Loaded(path, context)


def grammar_of(schema: dict[str, Any]) -> str:
    """Convert a JSON Schema to a grammar for llama.cpp.

    The grammar allows no extra white space: some models would generate it without end.
    """
    import xllamacpp

    layout = {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}
    grammar: str = xllamacpp.json_schema_to_grammar({**schema, "x-guidance": layout})
    return grammar


class _ReplyThread(threading.Thread):
    """Generates one reply.  A daemon thread, so that an open reply does not keep the program from exiting."""

    def __init__(self, state: _State, body: bytes) -> None:
        super().__init__(name="gguf", daemon=True)
        self.pieces: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()
        self.cancelled = threading.Event()
        self._state = state
        self._body = body

    def run(self) -> None:
        try:
            server = self._state.server
            if server is not None:
                server.handle_chat_completions(self._body, self._take)
        except (ValueError, RuntimeError) as error:  # the binding's types for C++ exceptions
            self.pieces.put(error)
        finally:
            self._state.replies.discard(self)
            self.pieces.put(None)

    def _take(self, piece: bytes) -> bool:
        """Pass a piece on; return True to end the reply."""
        self.pieces.put(piece)
        return self.cancelled.is_set()


class _State:
    """The resources to release; separate from `Loaded`, so that the finalizer does not keep it alive."""

    def __init__(self, server: xllamacpp.Server) -> None:
        self.server: xllamacpp.Server | None = server
        self.replies: set[_ReplyThread] = set()
        self._lock = threading.Lock()

    def begin(self, reply: _ReplyThread) -> None:
        with self._lock:
            if self.server is None:
                raise ProviderError("the model is closed: the program is exiting")
            self.replies.add(reply)
            reply.start()

    def close(self) -> None:
        with self._lock:
            replies = list(self.replies)
            for reply in replies:
                reply.cancelled.set()
            for reply in replies:
                if reply is not threading.current_thread():  # the garbage collector may run this in any thread
                    reply.join()
            self.server = None


def _serve(path: Path, context: int) -> xllamacpp.Server:
    import xllamacpp

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    # The threads spin until all of them finish a layer, so one core stays free: otherwise a busy machine stalls them
    # (on two busy cores: 13 tokens/s with two threads, 40 with one; on two idle cores: 70 and 50).
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, cores - 1)
    params.warmup = False
    params.offline = True
    params.verbosity = -1
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = ""
    params.api_keys = [secrets.token_urlsafe(32)]
    try:
        return xllamacpp.Server(params)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(
            f"{path} cannot be loaded: it is damaged, truncated, not supported by this version of llama.cpp, or too "
            "large for the memory; give another GGUF model file"
        ) from error
