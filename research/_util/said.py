"""What the workbench says to models, in checks and in exported files, in the language of the run.

The English texts are in the code; `said_zh.toml` has their Chinese.  A test compares the two.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

_LANGUAGE: ContextVar[str] = ContextVar("language of the run", default="en")


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Let `say` speak this language within the block, `en` or `zh`."""
    token = _LANGUAGE.set(language)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def spoken() -> str:
    """Return the language that `say` speaks."""
    return _LANGUAGE.get()


def say(text: str, /, **values: object) -> str:
    """Return a text in the language of the run, with its `{slots}` filled as `str.format` does.

    >>> say("the query {query!r} has no words to search for", query="?")
    "the query '?' has no words to search for"
    """
    return translated(text, _LANGUAGE.get()).format(**values)


def translated(text: str, language: str) -> str:
    """Return an English text in that language; one that is not ours, such as a plug-in's, is unchanged."""
    return catalogue().get(text, text) if language == "zh" else text


def counted(number: int, noun: str, language: str) -> str:
    """Return `2 statements` in that language; in Chinese with a space before the number."""
    if language == "zh":
        return f" {number:,} {_tables()['counted'][noun]}"
    plural = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}" + ("" if number == 1 else plural)


def described(schema: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return a JSON schema with its descriptions in that language."""
    return {key: _described(key, value, language) for key, value in schema.items()}


def _described(key: str, value: Any, language: str) -> Any:
    if isinstance(value, dict):
        return described(value, language)
    if isinstance(value, list):
        return [_described("", each, language) for each in value]
    return translated(value, language) if key == "description" else value


def catalogue() -> Mapping[str, str]:
    """Map the English texts to the Chinese ones."""
    return _tables()["texts"]


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(Path(__file__).with_name("said_zh.toml").read_text("utf-8"))
