"""Read saved messages (eml): head, text, and the attachments that can be read."""

from __future__ import annotations

from collections.abc import Callable
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Any

from research.text import clip
from research.web import charsets
from research.web.places import Part
from research.web.table import Table

_HEADER, _ATTACHMENTS, _PARTS = 1_000, 20, 200
"""Longest header in characters, most attachments to read, and most parts of a message."""

Attached = Callable[[bytes, str, str], tuple[list[Part], list[Table]]]
"""Reads an attachment from its bytes, suffix and name; its errors are reasons."""


def message(
    data: bytes, html_text: Callable[[bytes, str], str], attached: Attached, refuse: Callable[[str], Exception]
) -> tuple[str, list[Part], list[Table], dict[str, Any]]:
    """Return the subject of a message, its parts, their tables, and its data as CSL."""
    try:
        mail = message_from_bytes(data)
        found = list(mail.walk())[:_PARTS]
    except (MessageError, ValueError, LookupError, RecursionError) as error:
        raise refuse(f"is a damaged message ({str(error)[:160]}); save it again") from error
    head = {name: _header(mail, name) for name in ("From", "To", "Cc", "Date", "Subject")}
    if not (head["From"] or head["Subject"] or head["Date"]):
        raise refuse("has no head of a message (From, Date, Subject); save it again from the mail program")
    texts: dict[str, str] = {}
    parts: list[Part] = []
    tables: list[Table] = []
    for part in found:
        name, kind = _decoded(part.get_filename() or ""), part.get_content_type()
        content = part.get_payload(decode=True)
        if part.is_multipart() or not isinstance(content, bytes):
            continue
        if name or part.get_content_disposition() == "attachment":
            if len(parts) < _ATTACHMENTS:
                more, some = attached(content, PurePosixPath(name).suffix.lower(), name or "attachment")
                parts += more
                tables += some
        elif kind == "text/plain":
            texts.setdefault("plain", charsets.decoded(content, header=str(part.get_content_charset() or "")) or "")
        elif kind == "text/html":
            texts.setdefault("html", html_text(content, str(part.get_content_charset() or "")))
    body = texts.get("plain", "").strip() or texts.get("html", "")
    lines = "\n".join(f"{name}: {value}" for name, value in head.items() if value)
    return head["Subject"], [Part("message", f"{lines}\n\n{body}"), *parts], tables, _csl(head)


def _header(mail: Message, name: str) -> str:
    return _decoded(str(mail.get(name, ""))[:_HEADER])


def _decoded(text: str) -> str:
    """Return a header without its encoded words; only the charsets of the web are used."""
    try:
        pieces = decode_header(text[:_HEADER])
    except (HeaderParseError, ValueError):
        return text
    said = [
        piece if isinstance(piece, str) else charsets.decoded(piece, header=code or "") or "" for piece, code in pieces
    ]
    return clip(" ".join("".join(said).split()), _HEADER)


def _csl(head: dict[str, str]) -> dict[str, Any]:
    csl: dict[str, Any] = {"type": "personal_communication", "title": head["Subject"]}
    senders = [name or address for name, address in getaddresses([head["From"]]) if name or address]
    if senders:
        csl["author"] = [{"literal": sender} for sender in senders[:5]]
    try:
        sent = parsedate_to_datetime(head["Date"])
        csl["issued"] = {"date-parts": [[sent.year, sent.month, sent.day]]}
    except (TypeError, ValueError):
        pass
    return {key: value for key, value in csl.items() if value}
