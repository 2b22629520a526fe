"""A model file in memory, and the chat with it.

xllamacpp brings llama.cpp's server as a library.  Its functions stream through a callback in the caller's thread, so a
thread per reply hands the pieces on; it ends with the token at which the callback says so.  The same server also listens
on a loopback port, which cannot be switched off: it gets a key that nobody knows.  We do not speak to it there, because
a proxy of the environment, a time-out or another program could come between, and hanging up is noticed later.
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
from msgspec import Struct

from research import decoding
from research.errors import ConfigError, ProviderError
from research.llama.header import read_header, spoiler
from research.text import clip

if TYPE_CHECKING:
    import xllamacpp

_KEPT = 2
"""Models that stay in memory without a run that uses them."""
_PROMPT_CACHE_MIB = 1024
_BATCH = 512
"""Tokens of a prompt between two chances to stop."""

_loading = threading.Lock()


class _Delta(Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Details(Struct):
    cached_tokens: int = 0


class _Counts(Struct):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _Details = msgspec.field(default_factory=_Details)


class _Problem(Struct):
    message: str = ""
    type: str = ""


class Chunk(Struct):
    """One piece of a reply, as llama.cpp's server writes it."""

    choices: list[_Choice] = []
    usage: _Counts | None = None
    error: _Problem | None = None


class Loaded:
    """A loaded model.  Safe to share between threads: one reply is written at a time, the others wait for their turn."""

    def __init__(self, path: Path, context: int) -> None:
        """`context`: tokens of prompt and reply together, at most.  Raises `ConfigError`."""
        try:
            header = read_header(path)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}; accepted: a GGUF model file that can be read") from error
        self.context = min(header.context, context)
        self._spoiler = spoiler(header.control)
        self._state = _State(_serve(path, self.context))
        # When nobody uses it any more, and at the latest before Python goes: a callback into a dying interpreter aborts.
        weakref.finalize(self, self._state.close)

    def harmless(self, text: str) -> str:
        """The text with a zero-width space in the model's control tokens: a page cannot begin a turn of its own."""
        return self._spoiler.sub(lambda match: f"{match.group()}\u200b", text)

    def chat(self, body: dict[str, Any]) -> Iterator[Chunk]:
        """Stream a chat completion.  Closing the iterator ends it at the next token.  Raises `ProviderError`."""
        talk = _Talk(self._state, msgspec.json.encode(body | {"stream": True, "return_progress": True}))
        self._state.begin(talk)
        try:
            while (piece := talk.pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise ProviderError(f"llama.cpp refused the request: {clip(str(piece), 300)}") from piece
                chunk = decoding.decode(piece, Chunk)
                if chunk.error is not None:
                    raise _failure(chunk.error)
                yield chunk
        finally:
            talk.cancelled.set()


def load(path: Path, context: int) -> Loaded:
    """The model of that file, loaded once for all who ask.  Raises `ConfigError` that names the file."""
    accepted = "accepted: a GGUF model file"
    try:
        path = path.expanduser().resolve()
        if path.is_dir():
            raise ConfigError(f"{path} is a folder; {accepted}")
        stat = path.stat()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; {accepted}") from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name; no home folder for ~
        raise ConfigError(f"{path}: {error}; {accepted}") from error
    with _loading:
        return _load(path, context, stat.st_mtime_ns, stat.st_size)


@lru_cache(_KEPT)
def _load(path: Path, context: int, _changed: int, _size: int) -> Loaded:
    return Loaded(path, context)


def grammar_of(schema: dict[str, Any]) -> str:
    """What holds llama.cpp to a JSON Schema: llguidance, told to write compactly, so that no model gets lost in spaces."""
    import xllamacpp

    layout = {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}
    grammar: str = xllamacpp.json_schema_to_grammar({**schema, "x-guidance": layout})
    return grammar


class _Talk(threading.Thread):
    """One reply while it is written.  A daemon: an open reply must not keep the program from ending."""

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
        except (ValueError, RuntimeError) as error:  # what the binding makes of C++ exceptions
            self.pieces.put(error)
        finally:
            self._state.talks.discard(self)
            self.pieces.put(None)

    def _take(self, piece: bytes) -> bool:
        """Called with each piece; True ends the reply."""
        self.pieces.put(piece)
        return self.cancelled.is_set()


class _State:
    """What has to be put away; apart from `Loaded`, so that it does not keep that alive."""

    def __init__(self, server: xllamacpp.Server) -> None:
        self.server: xllamacpp.Server | None = server
        self.talks: set[_Talk] = set()
        self._lock = threading.Lock()

    def begin(self, talk: _Talk) -> None:
        with self._lock:
            if self.server is None:
                raise ProviderError("the model is closed: the program ends")
            self.talks.add(talk)
            talk.start()

    def close(self) -> None:
        with self._lock:
            talks = list(self.talks)
            for talk in talks:
                talk.cancelled.set()
            for talk in talks:
                if talk is not threading.current_thread():  # where the garbage collector may have brought us
                    talk.join()
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
    # Threads wait for each other after every layer, spinning: with one core left to others, a busy machine does not
    # stall them (measured on two busy cores: 13 tokens a second with two threads, 40 with one; idle 70 and 50).
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
            f"{path} cannot be loaded: it is damaged or cut off, of a kind that this llama.cpp does not know, or too big "
            "for the memory; accepted: a GGUF model file"
        ) from error


def _failure(problem: _Problem) -> ProviderError:
    # Type of a prompt that does not fit; the words of a reply that reached the end.
    long = problem.type == "exceed_context_size_error" or "context size" in problem.message.lower()
    return ProviderError(f"llama.cpp: {clip(problem.message, 300)}", context_overflow=long)
