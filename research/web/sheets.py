"""Read a workbook's content beside its cells: text boxes, charts, heads of printed pages, and hidden parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from research.web import drawings, locators
from research.web.drawings import R, paragraphs

if TYPE_CHECKING:
    from research.web.packages import Package

_MAIN, _STYLES = "xl/workbook.xml", "xl/styles.xml"
_PIECE = 2**20
_NO_VALUE = re.compile(
    rb'<c\b(?![^>]{0,200}\bt="str")[^>]{0,200}>\s{0,9}<f\b[^>]{0,200}(?:/>|>[^<]{0,9000}</f>)\s{0,9}(?:<v\s?/>|<v></v>)?\s{0,9}</c>'
)
"""A formula without a result; an empty text is a result."""
_CELL = re.compile(rb'<c r="([A-Z]{1,3})(\d{1,7})" s="(\d{1,6})"')
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^][-]*+)[^][]*\]|\[[^][]*\]|[_*].'
    r"|(?P<digit>[0#?][0#?,.]*)|(?P<sign>.)",
    re.S,
)
"""The pieces of the code of a number format: text, a currency, a condition, a space, digits, any other sign."""
_SIGNS = frozenset("%$€£¥ ")
"""Characters that a number format shows literally."""
_PROMPT = re.compile(rb'<dataValidation [^>]{0,999}\bprompt="')
_HEAD = re.compile(rb"<headerFooter.{0,20000}?</headerFooter>", re.S)
_CODE = re.compile(r'&(?:"[^"]{0,99}"|\d{1,3}|K[0-9A-F+-]{5,6}|[A-Z])')
"""Fonts, sizes, and fields such as the number of the page."""


class Around(Struct, frozen=True):
    """What a cell shows before and after its number; a share is shown times a hundred."""

    before: str = ""
    after: str = ""

    @property
    def share(self) -> bool:
        return "%" in (self.before.strip(), self.after.strip())


SHARE = Around(after="%")


class Beside(Struct):
    """Content of a workbook beside its cells."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    """By the name of the sheet."""
    hidden: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    shown: dict[str, dict[tuple[int, int], Around]] = field(default_factory=dict)
    """Number formats of cells, by sheet name, row and column."""
    cut: list[str] = field(default_factory=list)
    """Content beyond the limits."""
    without_value: int = 0
    """Formulas without a saved result."""

    def notes(self) -> tuple[str, ...]:
        """Return what was left out, and which sheets are hidden."""
        count = self.without_value
        formulas = f"{count:,} formula{'s' if count > 1 else ''} without a saved result; open the file in a spreadsheet"
        return (
            *locators.left_out(self.left_out),
            *locators.hidden(self.hidden),
            *self.cut,
            *([f"{formulas} program and save it again"] if count else []),
        )


def beside(package: Package) -> Beside:
    """Return an xlsx file's content beside its cells.  Raises one of `BROKEN`."""
    found = Beside()
    if _MAIN not in package.names:
        return found  # a binary workbook (xlsb)
    related, styles = package.related(_MAIN), _number_styles(package)
    for sheet in package.xml(_MAIN).iter("{*}sheet"):
        name, part = sheet.get("name", ""), related.get(sheet.get(f"{R}id", ""), ("", ""))[1]
        if sheet.get("state") in ("hidden", "veryHidden"):
            found.hidden.append(f"sheet {name}")
        if part in package.names:
            shown = found.shown.setdefault(name, {})
            found.lines[name] = [*_heads(package, part, found, styles, shown), *_parts(package, part, found)]
    return found


def _number_styles(package: Package) -> dict[bytes, Around]:
    """Return the text shown around a number, by style number."""
    if _STYLES not in package.names:
        return {}
    root = package.xml(_STYLES)
    codes = {each.get("numFmtId"): around(each.get("formatCode", "")) for each in root.iter("{*}numFmt")}
    codes |= dict.fromkeys(("9", "10"), SHARE)
    styles = enumerate(root.iterfind("{*}cellXfs/{*}xf"))
    return {str(at).encode(): shown for at, each in styles if (shown := codes.get(each.get("numFmtId")))}


def around(code: str) -> Around | None:
    """Return the text that a number format adds around a number; None for none, dates and fractions.

    >>> around('#,##0.00 "EUR"'), around("0.0%"), around("dd.mm.yyyy")
    (Around(before='', after='EUR'), Around(before='', after='%'), None)
    """
    before, after, digits = "", "", 0
    for token in _TOKEN.finditer(code.partition(";")[0]):
        if token["digit"]:
            if token["digit"].endswith(","):  # shown in thousands
                return None
            digits += not (after == "" and digits)
            continue
        sign = token["sign"] or ""
        if sign and sign not in _SIGNS and sign != ",":
            return None
        text = (token["quoted"] or token["escaped"] or token["currency"] or sign).replace(",", "")
        before, after = (before, after + text) if digits else (before + text, after)
    found = Around(before.strip(), after.strip())
    return found if digits == 1 and (found.before or found.after) else None


def _heads(
    package: Package, part: str, found: Beside, styles: Mapping[bytes, Around], shown: dict[tuple[int, int], Around]
) -> Iterator[str]:
    """Yield the head and the foot of the printed page; a sheet may be too big to be parsed as a whole."""
    from lxml import etree

    end = b""
    for piece in package.pieces(part, _PIECE):
        whole = end + piece
        cut = whole.rfind(b"</c>") + 4 if b"</c>" in whole else max(0, len(whole) - _PIECE // 8)
        found.without_value += len(_NO_VALUE.findall(whole[:cut]))
        for across, down, style in _CELL.findall(whole[:cut]) if styles else ():
            if style in styles:
                shown[int(down), _column(across)] = styles[style]
        end = whole[cut:]
    found.left_out["message of an input cell"] += len(_PROMPT.findall(end))
    for head in _HEAD.findall(end):
        said = (
            _CODE.sub(" ", each.text or "").split()
            for each in etree.fromstring(re.sub(rb"<(/?)\w{1,20}:", rb"<\1", head))
        )
        yield from dict.fromkeys(" ".join(words) for words in said if words)


def _column(letters: bytes) -> int:
    return sum((letter - 64) * 26**at for at, letter in enumerate(reversed(letters)))


def _parts(package: Package, part: str, found: Beside) -> Iterator[str]:
    for kind, name in package.related(part).values():
        if name not in package.names:
            continue
        if kind in ("comments", "threadedComment"):
            tag = "comment" if kind == "comments" else "threadedComment"
            refs = {each.get("ref") for each in package.xml(name).iter(f"{{*}}{tag}")}
            found.left_out["comment"] = max(found.left_out["comment"], len(refs))
        elif kind == "drawing":
            root = package.xml(name)
            found.left_out += drawings.pictures(root)
            for body in root.iter("{*}txBody", *drawings.DRAWN):
                yield from paragraphs(body) if body.tag not in drawings.DRAWN else drawings.drawn(package, name, body)
