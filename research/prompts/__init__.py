"""The prompts, one file each and language: `NAME.en.md`, `NAME.zh.md`.  A recipe records their hash."""

from __future__ import annotations

import datetime
import hashlib
import re
from functools import cache
from pathlib import Path

from research.types import ProtocolName

_FOLDER = Path(__file__).parent
_TAG = re.compile(
    r"<(?=\s{0,3}/?\s{0,3}(?:earlier|recalled|think(?:ing)?|tool_call|tool_response|report|previous_research_summary|"
    r"action|answer)\b)",
    re.I,
)
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def text(name: str, language: str, **values: str) -> str:
    """The prompt with its `{{slots}}` filled, once: braces inside a value stay as they are."""
    return _SLOT.sub(lambda match: values[match.group(1)], _read(name, language))


def system(name: str, protocol: ProtocolName, language: str, *, tools: str) -> str:
    """The system prompt of a framework: role and rules, date, and how to call tools under the protocol."""
    calling = text(f"calling_{protocol}", language, tools=tools)
    return text(name, language, date=today(), calling=calling)


def quoted(tag: str, words: str) -> str:
    """Material between two tags, which it can neither end nor pass for anything else that stands in tags."""
    return f"<{tag}>\n{escape(words)}\n</{tag}>"


def escape(text: str) -> str:
    """Make our tags inside foreign text harmless: a page cannot close its own quotation."""
    return _TAG.sub("&lt;", text)


def today() -> str:
    """The date as prompts state it."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


@cache
def digest() -> str:
    """Twelve hex digits that change when any prompt does."""
    content = b"".join(path.read_bytes() for path in sorted(_FOLDER.glob("*.md")))
    return hashlib.sha256(content).hexdigest()[:12]


@cache
def _read(name: str, language: str) -> str:
    return (_FOLDER / f"{name}.{language}.md").read_text(encoding="utf-8").strip()
