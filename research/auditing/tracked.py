"""The corrected copy as a Word document with tracked changes, which the reader accepts or rejects one by one."""

from __future__ import annotations

import io
from collections.abc import Sequence

from research.auditing.pieces import Line, Piece

AUTHOR = "Research Workbench"
_DATE = "2000-01-01T00:00:00Z"
"""The same input makes the same file; Word requires a date."""
_TAGS = {"deleted": ("w:del", "w:delText"), "inserted": ("w:ins", "w:t")}


def document(lines: Sequence[Line], title: str) -> bytes:
    """Return the document."""
    import docx

    found = docx.Document()
    found.core_properties.title = title[:200]
    found.core_properties.author = AUTHOR
    number = 0
    for line in lines:
        if not any(piece.text.strip() for piece in line.pieces):
            continue
        bullet = line.bullet.strip()
        if line.level:
            paragraph = found.add_heading("", min(line.level, 6))
        elif bullet in ("-", "*", "+", "•", "·"):
            paragraph = found.add_paragraph(style="List Bullet")
        else:
            paragraph = found.add_paragraph(f"{bullet} " if bullet else "")
        for piece in line.pieces:
            if piece.text:
                number += 1
                _write(paragraph, piece, number)
    written = io.BytesIO()
    found.save(written)
    return written.getvalue()


def _write(paragraph: object, piece: Piece, number: int) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    text = "".join(c for c in piece.text if c in "\t\n" or ord(c) >= 32)
    outer, inner = _TAGS.get(piece.change, ("", "w:t"))
    run = OxmlElement("w:r")
    words = OxmlElement(inner)
    words.set(qn("xml:space"), "preserve")
    words.text = text
    run.append(words)
    if outer:
        change = OxmlElement(outer)
        change.set(qn("w:id"), str(number))
        change.set(qn("w:author"), AUTHOR)
        change.set(qn("w:date"), _DATE)
        change.append(run)
        run = change
    paragraph._p.append(run)  # type: ignore[attr-defined]
