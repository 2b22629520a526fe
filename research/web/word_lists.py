"""The list numbers of a Word document, which its text does not contain."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


class Lists:
    """The lists of a document, and how far each has been counted."""

    def __init__(self, document: Document) -> None:
        self._styles = {each.style_id: each.element for each in document.styles}
        self._levels: dict[str, dict[str, _Element]] = {}
        self._count: Counter[tuple[str, int]] = Counter()
        parts = (rel.target_part for rel in document.part.rels.values() if rel.reltype.endswith("/numbering"))
        for numbering in (part.element for part in parts):
            kinds = {_value(kind, "", "abstractNumId"): kind for kind in numbering.iterfind(f"{_W}abstractNum")}
            for each in numbering.iterfind(f"{_W}num"):
                kind = kinds.get(_value(each, "abstractNumId"))
                levels = kind.iterfind(f"{_W}lvl") if kind is not None else ()
                self._levels[each.get(f"{_W}numId", "")] = {level.get(f"{_W}ilvl", ""): level for level in levels}

    def label(self, paragraph: _Element) -> str:
        """Count a paragraph; return its number as shown, `•` for a bullet, or an empty text outside lists."""
        style = self._styles.get(_value(paragraph, "pPr/pStyle"))
        owners = [each for each in (paragraph, style) if each is not None]
        number = next(filter(None, (_value(each, "pPr/numPr/numId") for each in owners)), "")
        depth = next(filter(None, (_value(each, "pPr/numPr/ilvl") for each in owners)), "0")
        levels = self._levels.get(number, {})
        if depth not in levels:
            return ""
        level = int(depth)
        self._count[number, level] += 1
        for deeper in [key for key in self._count if key[0] == number and key[1] > level]:
            del self._count[deeper]
        if _value(levels[depth], "numFmt") == "bullet":
            return "•"
        text = _value(levels[depth], "lvlText")
        for each, found in levels.items():
            start = _value(found, "start")
            counted = max(1, self._count[number, int(each)]) + (int(start) if start.isdecimal() else 1) - 1
            text = text.replace(f"%{int(each) + 1}", _written(counted, _value(found, "numFmt")))
        return text


def _value(element: _Element, path: str, name: str = "val") -> str:
    found = element.find("/".join(f"{_W}{part}" for part in path.split("/"))) if path else element
    return found.get(f"{_W}{name}", "") if found is not None else ""


def _written(number: int, form: str) -> str:
    """Return a number as letters, as a Roman one, or in digits."""
    if form.endswith("Letter"):
        written = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 % 9 + 1)
    elif form.endswith("Roman"):
        written, left = "", number % 4000
        for value, sign in _ROMAN:
            written += sign * (left // value)
            left %= value
    else:
        written = str(number)
    return written.upper() if form.startswith("upper") else written
