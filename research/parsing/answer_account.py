"""An answer's account of itself: the answer in one line, and for each thing asked whether it was found.

It is in separate lines, not part of the answer's text; native calls carry it as fields of `final_answer`:

    <short>89.1 %</short>
    <part status="answered">the share of hydropower</part>
    <part status="not_found" reason="the page gives no year">the year of the figure</part>
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from research.text import clip, one_line
from research.types import Part

LONGEST = 500
"""Most characters of the short answer, of a part and of its reason."""
MOST = 20
"""Most parts."""
LINE = 20_000
"""Most characters of a line of the account."""

_LINE = re.compile(r"\s*<(?:short|part)\b.*</(?:short|part)>\s*\Z")
_ELEMENT = re.compile(
    r"<short>(?P<short>.{0,3000}?)</short>|"
    r"<part\s+status=[\"'](?P<status>answered|not_found)[\"'](?:\s+reason=\"(?P<reason>[^\"<>]{0,3000})\")?\s*>"
    r"(?P<part>.{1,3000}?)</part>"
)
_BEGUN = re.compile(r"\n[ \t]*<(?:(?:short|part)\b[^\n]*|/?(?:s|sh|sho|shor|p|pa|par)?)\Z")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")


def read_account(answer: str) -> tuple[str, str, tuple[Part, ...]]:
    """Return the text of an answer without its account, the short answer, and the parts.

    A line not exactly in this form stays in the text.
    """
    kept: list[str] = []
    short, parts, fenced = "", list[Part](), False
    for line in answer.splitlines():
        fenced ^= _FENCE.match(line) is not None
        found = [] if fenced or len(line) > LINE or not _LINE.match(line) else list(_ELEMENT.finditer(line))
        if not found or _ELEMENT.sub("", line).strip():
            kept.append(line)
            continue
        short = next((one_line(html.unescape(each["short"])) for each in found if each["short"]), short)
        parts += [_part(each["part"], each["status"], each["reason"]) for each in found if each["part"]]
    if not (short or parts):
        return answer, "", ()
    return "\n".join(kept).strip() or short, short, tuple(parts[:MOST])


def write_account(short: str, parts: Iterable[Part]) -> str:
    """Return the lines that `read_account` reads; empty if there is nothing to say."""
    lines = [f"<short>{_escaped(short)}</short>"] if short else []
    for part in parts:
        reason = f' reason="{_escaped(part.reason)}"' if part.reason else ""
        lines.append(f'<part status="{part.status}"{reason}>{_escaped(part.text)}</part>')
    return "\n".join(lines)


def with_account(answer: str, short: str, parts: Sequence[Part]) -> str:
    """Return the answer followed by its account."""
    return "\n\n".join(filter(None, [answer, write_account(short, parts)]))


def without_account(draft: str) -> str:
    """Return an answer that is still being written without its account."""
    return read_account(_BEGUN.sub("", draft))[0]


def _part(text: str, status: str, reason: str | None) -> Part:
    text, reason = (one_line(html.unescape(each or "")) for each in (text, reason))
    return Part(text, "answered" if status == "answered" else "not_found", reason)


def _escaped(text: str) -> str:
    return html.escape(clip(" ".join(text.split()), LONGEST), quote=True)
