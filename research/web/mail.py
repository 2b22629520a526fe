"""Read saved messages (eml): head, text, and the attachments that can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Any

from research.text import clip
from research.web import charsets, flow, locators
from research.web.locators import Part
from research.web.table import Table

_HEADER, _ATTACHMENTS, _PARTS = 1_000, 20, 200
"""Longest header in characters, most attachments to read, and most parts of a message."""

Attached = Callable[[bytes, str, str], tuple[list[Part], list[Table]]]
"""Reads an attachment from its bytes, suffix and name; its errors are reasons."""


def message(
    data: bytes, page_text: Callable[[bytes, str], str], attached: Attached, refuse: Callable[[str], Exception]
) -> tuple[str, list[Part], list[Table], dict[str, Any], tuple[str, ...]]:
    """Return the subject of a message, its parts, their tables, its CSL data, and what was left out."""
    reader = _Reader(page_text, attached)
    try:
        mail = message_from_bytes(data)
        head = _head(mail)
        if not (head["From"] or head["Subject"] or head["Date"]):
            raise refuse("has no head of a message (From, Date, Subject); save it again from the mail program")
        reader.read(mail, "message")
    except (MessageError, LookupError, RecursionError) as error:
        raise refuse(f"is a damaged message ({str(error)[:160]}); save it again") from error
    return head["Subject"], reader.parts, reader.tables, _csl(head), reader.notes()


class _Reader:
    def __init__(self, page_text: Callable[[bytes, str], str], attached: Attached) -> None:
        self.parts: list[Part] = []
        self.tables: list[Table] = []
        self._page_text = page_text
        self._attached = attached
        self._left_out: Counter[str] = Counter()
        self._read = self._files = 0

    def notes(self) -> tuple[str, ...]:
        """Return what was left out, and why."""
        more = self._files - _ATTACHMENTS
        beyond = f"only the first {_ATTACHMENTS} attachments were read, {more} were not" if more > 0 else ""
        cut = f"only the first {_PARTS} parts of the message were read" if self._read > _PARTS else ""
        return (*locators.left_out(self._left_out), *filter(None, (beyond, cut)))

    def read(self, mail: Message, place: str) -> None:
        """Read a message with its attachments, and the messages in it."""
        lines = "\n".join(f"{name}: {value}" for name, value in _head(mail).items() if value)
        at, inner = len(self.parts), list[Message]()
        body = "\n\n".join(filter(None, self._texts(mail, inner)))
        self.parts.insert(at, Part(place, f"{lines}\n\n{body}"))
        for each in inner:
            self.read(each, f"message {_header(each, 'Subject')}".strip())

    def _texts(self, part: Message, inner: list[Message]) -> Iterator[str]:
        """Yield the visible parts of a message; attachments and inner messages are kept apart."""
        self._read += 1
        kind, under = part.get_content_type(), part.get_payload()
        if self._read > _PARTS:
            return
        if isinstance(under, list):
            found = [each for each in under if isinstance(each, Message)]
            if kind == "message/rfc822":
                inner += found
            elif kind == "multipart/alternative":
                yield _fullest(["\n\n".join(self._texts(each, inner)).strip() for each in found])
            else:
                for each in found:
                    yield from self._texts(each, inner)
            return
        name, content = _decoded(part.get_filename() or ""), part.get_payload(decode=True)
        charset = str(part.get_content_charset() or "")
        if not isinstance(content, bytes):
            return
        if name or part.get_content_disposition() == "attachment":
            self._file(content, name)
        elif kind == "text/html":
            yield self._page_text(content, charset)
        elif part.get_content_maintype() == "text":
            yield (charsets.decoded(content, header=charset) or "").strip()
        else:
            self._left_out["picture" if part.get_content_maintype() == "image" else "part of another kind"] += 1

    def _file(self, content: bytes, name: str) -> None:
        self._files += 1
        if self._files <= _ATTACHMENTS:
            parts, tables = self._attached(content, PurePosixPath(name).suffix.lower(), name or "attachment")
            self.parts += parts
            self.tables += tables


def _fullest(versions: Sequence[str]) -> str:
    """Return the version of a text with words that earlier ones lack: many mails say little without html."""
    best = ""
    for each in versions:
        best = each if set(flow.words(each)) - set(flow.words(best)) else best
    return best


def _head(mail: Message) -> dict[str, str]:
    return {name: _header(mail, name) for name in ("From", "To", "Cc", "Date", "Subject")}


def _header(mail: Message, name: str) -> str:
    return _decoded(str(mail.get(name, ""))[:_HEADER])


def _decoded(text: str) -> str:
    """Return a header with its encoded words decoded; only web charsets are used."""
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
