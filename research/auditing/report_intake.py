"""Read the report that is checked: a file, a web page, pasted text, or the export of a chat."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from research.auditing import styles
from research.auditing.references import LINK
from research.citations.marks import without_marks
from research.errors import ConfigError
from research.events.audit_findings import Given
from research.text import clip
from research.web import charsets
from research.web.fetch import FetchPolicy, fetch
from research.web.isolated import FILE_S, read_isolated
from research.web.readers import MAX_BYTES

FORMATS = (".md", ".txt", ".html", ".htm", ".docx", ".pdf", ".json")
"""Formats of a report; `.json` is the export of a chat."""
_PLAIN = (".md", ".txt", ".markdown")
_FRONT = re.compile(r"\A---\r?\n(?:\w[^\n]*\n)+?---\r?\n\s*")
"""The properties of a Markdown file, before its text."""
_HEADING = re.compile(r"(?:\A#{0,5}|^)#\s{1,9}(.+)", re.M)
_TITLE = 80
"""Characters of a title."""
_WORDS = 40
"""Characters of a report's first words, its name where it has no title."""
_DEEPEST = 12


def read_text(text: str, title: str = "", address: str = "") -> Given:
    """Return pasted text as a report.  Raises `ConfigError` if there is nothing to check."""
    text = _FRONT.sub("", text.replace("\x00", "").strip())
    if not re.search(r"\w", text):
        raise ConfigError("the report is empty; paste its text, or name a file or a link")
    if len(text) > styles.LONGEST:
        raise ConfigError(
            f"the report has {len(text):,} characters; at most {styles.LONGEST:,} are accepted: check it in parts"
        )
    if re.match(r"\s{0,9}(?:<!doctype html|<html)", text, re.I):
        return read_bytes(text.encode("utf-8", "replace"), title or "report.html", ".html")
    heading = _HEADING.search(text)
    first = next((line for line in text.splitlines() if re.search(r"\w", line)), "")
    named = heading[1] if heading else title
    plain = LINK.sub(r"\1", without_marks(named or first)).strip("*_# ")
    return Given(text, clip(plain, _TITLE if named else _WORDS), address)


def read_bytes(data: bytes, name: str, suffix: str = "") -> Given:
    """Return the content of a file as a report.  Raises `ConfigError` that says which formats are read."""
    kind = (suffix or Path(name).suffix or _sniffed(data)).lower()
    if kind not in (*FORMATS, *_PLAIN):
        raise ConfigError(f"{name}: a report is read from {', '.join(FORMATS)}; save it in one of these formats")
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{name} is too big: {len(data) / 1e6:.0f} MB, the limit is {MAX_BYTES / 1e6:.0f} MB")
    if kind == ".json":
        return _chat(data, name)
    if kind in _PLAIN:
        text = charsets.decoded(data)
        if text is None:
            raise ConfigError(f"{name} is not text; save it as text in UTF-8")
        return read_text(text, Path(name).stem, name)
    found = read_isolated(data, kind, Path(name).stem, timeout_s=FILE_S, links=True)
    given = read_text(found.text, found.title, name)
    return msgspec.structs.replace(
        given, title=given.title if found.text.startswith("# ") else clip(found.title, _TITLE)
    )


def read_file(path: Path) -> Given:
    """Return a file as a report.  Raises `ConfigError`."""
    try:
        if not path.is_file():
            raise ConfigError(f"{path} is not a file; name a report, a link, or - for standard input")
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} is too big; the limit is {MAX_BYTES / 1e6:.0f} MB")
        return read_bytes(path.read_bytes(), path.name)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def read_url(url: str, allow_hosts: tuple[str, ...] = ()) -> Given:
    """Fetch a report from the web, under the same rules as every other page.  Raises `ToolError` and `ConfigError`."""
    page = fetch(url, policy=FetchPolicy(allow_hosts=allow_hosts, links=True))
    return read_text(page.text, page.title, page.url)


def _sniffed(data: bytes) -> str:
    head = data[:1_000].lstrip()
    if head.startswith(b"%PDF-"):
        return ".pdf"
    if head.startswith(b"PK\x03\x04"):
        return ".docx"
    if re.match(rb"<!doctype html|<html", head, re.I):
        return ".html"
    return ".json" if head[:1] in (b"{", b"[") and b'"' in head else ".md"


def _chat(data: bytes, name: str) -> Given:
    """Return the longest reply of an exported chat, with the links that the export lists beside it."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{name} is not valid JSON: {clip(str(error), 160)}") from error
    replies: list[str] = []
    _replies(found, replies, 0)
    if not replies:
        raise ConfigError(f"{name} has no reply of an assistant; export the chat again, or paste the report")
    title = found.get("title") if isinstance(found, dict) else ""
    return read_text(max(replies, key=len), title if isinstance(title, str) else "", name)


def _replies(value: Any, found: list[str], depth: int) -> None:
    """Collect the texts of an assistant at any depth: `{"role": "assistant", "content": …}` and its relatives."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for each in value:
            _replies(each, found, depth + 1)
    elif isinstance(value, dict):
        author = value.get("author")
        role = value.get("role") or value.get("sender") or (author.get("role") if isinstance(author, dict) else author)
        if role in ("assistant", "model", "bot", "ai"):
            text = _text(value.get("content") or value.get("text") or value.get("parts") or "")
            if text.strip():
                found.append(text + _links(value))
                return
        for each in value.values():
            _replies(each, found, depth + 1)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    return (
        _text(value.get("parts") or value.get("text") or value.get("content") or "") if isinstance(value, dict) else ""
    )


def _links(message: dict[str, Any]) -> str:
    """Return the citations that an export keeps beside the text, as a reference list."""
    metadata = message.get("metadata")
    listed = (
        message.get("citations") or message.get("sources") or (metadata or {}).get("citations")
        if isinstance(metadata, dict | None)
        else None
    )
    lines = []
    for number, each in enumerate(listed if isinstance(listed, list) else [], 1):
        inner = each.get("metadata", each) if isinstance(each, dict) else {"url": each}
        url, title = (inner.get("url"), inner.get("title") or "") if isinstance(inner, dict) else (None, "")
        if isinstance(url, str):
            lines.append(f"[{number}] {title}. {url}" if title else f"[{number}] {url}")
    return "\n\n## References\n" + "\n".join(lines) if lines else ""
