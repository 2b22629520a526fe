"""A pdf as Markdown with its links and superscripts, and its lines joined to paragraphs."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from pypdf import PageObject

_ENTRY = re.compile(
    r"\s{0,9}(?:\[\^?\d{1,3}\](?=:?\s{0,9}[\w“\"*(])|\(?\d{1,3}[.)]\s|[-*•·–]\s|<sup>|[¹²³⁴-⁹⁰]|\*\*|#{1,6} |【)"
)
_ENDS = re.compile(
    r"[.!?。！？:：;][\"'”’)\]]{0,9}"
    r"(?:\s{0,9}(?:\[\d[\d, ]{0,40}\]|<sup>[^<]{1,20}</sup>|[¹²³⁴-⁹⁰]{1,9}|\]\([^)\s]{0,2000}\)|【[^】]{0,200}】)){0,20}\s{0,9}$"
)
_URL_TAIL = re.compile(r"https?://[^\s<>)\]]*$|\bdoi:\s?10\.\S*$|\b10\.\d{4,9}/\S*$")
_SAME_LINK = re.compile(r"(\[[^\[\]]{0,300})\]\(([^)\s]{0,2000})\) ?\[([^\[\]]{0,300})\]\(\2\)")
"""Two halves of a link broken at a line's end."""
_PAGE_NUMBER = re.compile(r"(?:page )?\d{1,4}(?:\s{0,9}/\s{0,9}\d{1,4})?", re.I)
_APART = 1.2
"""Least space between paragraphs, as a multiple of that between lines."""
_SMALL = 0.85
"""Largest size of raised digits, as a share of the body's letters."""
_HEADING = 1.12
_MOST_LINKS = 400


class _Piece(Struct):
    text: str
    x: float
    y: float
    size: float


class Line(Struct, frozen=True):
    """A line of a page, and its height there; None if unknown."""

    text: str
    y: float | None = None


class _Target(Struct, frozen=True):
    left: float
    bottom: float
    right: float
    top: float
    url: str


def markdown(data: bytes) -> str:
    """Return the text of all pages."""
    from pypdf import PdfReader

    pages = [(_pieces(page), _targets(page)) for page in PdfReader(io.BytesIO(data)).pages]
    sizes = Counter[float]()
    for pieces, _ in pages:
        for piece in pieces:
            sizes[round(piece.size, 1)] += len(piece.text.strip())
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    return joined([line for pieces, targets in pages for line in _lines(pieces, targets, body)], body)


def _pieces(page: PageObject) -> list[_Piece]:
    found: list[_Piece] = []

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], font: Any, size: float) -> None:
        if text:
            x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
            scale = abs(tm[3] * cm[3]) or 1.0
            found.append(_Piece(text, x, y, (size or 0) * scale))

    page.extract_text(visitor_text=visit)
    return found


def _targets(page: PageObject) -> list[_Target]:
    found = []
    for each in (page.annotations or [])[:_MOST_LINKS]:
        item = each.get_object()
        action = item.get("/A")
        action = action.get_object() if action is not None else {}
        url = str(action.get("/URI") or "")
        box = item.get("/Rect")
        if url.startswith(("http://", "https://")) and box is not None and len(box) == 4:
            a, b, c, d = (float(side) for side in box)
            found.append(_Target(min(a, c), min(b, d), max(a, c), max(b, d), url))
    return found


def _lines(pieces: Sequence[_Piece], targets: Sequence[_Target], body: float) -> list[Line]:
    """Return the lines of a page, with its links and raised digits marked; a large one is a heading."""
    text = ""
    largest: list[float] = []
    used: set[_Target] = set()
    lines: list[Line] = []
    y: float | None = None

    def end() -> None:
        nonlocal text, largest, y
        big = bool(largest) and min(largest) > body * _HEADING and 0 < len(text.strip()) < 160
        lines.append(Line(f"# {text.strip()}" if big else text, y))
        text, largest, y = "", list[float](), None

    for piece in pieces:
        for number, part in enumerate(piece.text.split("\n")):
            if number:
                end()
            if not part.strip():
                text += part
                continue
            largest.append(piece.size)
            y = piece.y if y is None else y
            here = _target(piece, targets)
            if here is not None:
                used.add(here)
                text += f"[{part.strip()}]({here.url})" if "http" not in part else part
            elif piece.size <= body * _SMALL and re.fullmatch(r"\s{0,9}\[?\d{1,3}(?:[,–-]\d{1,3})*\]?\s{0,9}", part):
                largest.pop()
                text += f"<sup>{part.strip()}</sup>"
            else:
                text += part
    end()
    return _with_rest(lines, [each for each in targets if each not in used])


def _target(piece: _Piece, targets: Sequence[_Target]) -> _Target | None:
    inside = (t for t in targets if t.left - 1.5 <= piece.x <= t.right - 0.5 and t.bottom - 1 <= piece.y <= t.top - 0.5)
    return next(inside, None)


def _with_rest(lines: list[Line], rest: Sequence[_Target]) -> list[Line]:
    """Return the lines, then the links whose words are unknown, so that none is lost."""
    text = "\n".join(line.text for line in lines)
    return [*lines, *(Line(f"<{each.url}>") for each in dict.fromkeys(rest) if each.url not in text)]


def joined(lines: Sequence[Line], body: float) -> str:
    """Join the lines of a pdf to paragraphs: by the space between them, or else by how they end and begin."""
    lines = [line for line in lines if line.text.strip() and not _PAGE_NUMBER.fullmatch(line.text.strip())]
    width = max(
        sorted((len(line.text) for line in lines), reverse=True)[len(lines) // 10 : len(lines) // 10 + 1] or [80]
    )
    step = _step(lines, body)
    found: list[str] = []
    open_, above = False, None
    for line in lines:
        plain = line.text.strip()
        drop = above - line.y if above is not None and line.y is not None else 0.0
        if step and found and not found[-1].startswith("# "):  # at the top of a page, by the end of the previous one
            open_ = drop <= step * _APART if drop > 0 else not (_ENDS.search(found[-1]) or _URL_TAIL.search(found[-1]))
        heading = plain.startswith("# ")
        if open_ and found and not heading and not _ENTRY.match(plain):
            found[-1] = _with_line(found[-1], plain)
        else:
            found.append(plain)
        bare = re.sub(r"\]\([^)\s]{0,2000}\)|</?sup>|\[", "", plain)
        open_ = not heading and (len(bare) > width * 0.62 or not _ENDS.search(plain))
        above = line.y
    return _SAME_LINK.sub(r"\1 \3](\2)", "\n\n".join(found))


def _step(lines: Sequence[Line], body: float) -> float:
    """Return the space between two lines of a paragraph; 0 if paragraphs are not set apart."""
    heights = [line.y for line in lines]
    drops = Counter(
        round((a - b) * 2) / 2
        for a, b in zip(heights, heights[1:], strict=False)
        if a is not None and b is not None and body * 0.8 < a - b < body * 6
    )
    common = [drop for drop, count in drops.items() if count >= max(2, sum(drops.values()) * 0.05)]
    return min(common) if common and max(common) > min(common) * _APART else 0.0


def _with_line(text: str, line: str) -> str:
    if _URL_TAIL.search(text) and re.match(r"[\w/.\-?=&%#~]+(?:\s|$|\.)", line) and _url_goes_on(line):
        return text + line
    if text.endswith("-") and line[:1].islower():
        return text[:-1] + line
    return f"{text} {line}"


def _url_goes_on(line: str) -> bool:
    first = line.split()[0]
    return bool(re.search(r"[/\-_=&%?\d]|\.\w", first)) or len(line.split()) == 1
