"""Formulas in the markup of Word.

Format: ECMA-376, part 1, 22.1 (Office Math).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from research.exports.formulas import Sign

_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_PARTS = {
    "mfrac": ("f", "num", "den"),
    "msub": ("sSub", "e", "sub"),
    "msup": ("sSup", "e", "sup"),
    "msubsup": ("sSubSup", "e", "sub", "sup"),
    "munder": ("limLow", "e", "lim"),
    "mover": ("limUpp", "e", "lim"),
}


def omml(sign: Sign, *, display: bool = False) -> Any:
    """Return a formula as an element of a paragraph."""
    made = _element("oMath", *_signs(sign))
    return _element("oMathPara", made) if display else made


def _element(name: str, *inner: Any) -> Any:
    from lxml.etree import Element

    element = Element(f"{{{_NAMESPACE}}}{name}", nsmap={"m": _NAMESPACE})
    element.extend(inner)
    return element


def _valued(name: str, value: str) -> Any:
    element = _element(name)
    element.set(f"{{{_NAMESPACE}}}val", value)
    return element


def _signs(sign: Sign) -> Iterable[Any]:
    """Yield the elements of one element of MathML."""
    match sign.tag:
        case "mi" | "mn" | "mo" | "mtext":
            yield _run(sign.text, upright=sign.tag == "mtext" or dict(sign.looks).get("mathvariant") == "normal")
        case "mspace":
            yield _run(" ")
        case "msqrt":
            hidden = _element("radPr", _valued("degHide", "1"))
            yield _element("rad", hidden, _element("deg"), _element("e", *_all(sign.inner)))
        case "mroot":
            inside, degree = sign.inner
            yield _element("rad", _element("deg", *_signs(degree)), _element("e", *_signs(inside)))
        case "munderover":
            base, below, above = sign.inner
            low = _element("limLow", _element("e", *_signs(base)), _element("lim", *_signs(below)))
            yield _element("limUpp", _element("e", low), _element("lim", *_signs(above)))
        case "mtable":
            yield _element(
                "m", *(_element("mr", *(_element("e", *_signs(c)) for c in row.inner)) for row in sign.inner)
            )
        case tag if tag in _PARTS:
            name, *places = _PARTS[tag]
            bare = [_element("fPr", _valued("type", "noBar"))] if ("linethickness", "0") in sign.looks else []
            parts = (_element(p, *_signs(each)) for p, each in zip(places, sign.inner, strict=True))
            yield _element(name, *bare, *parts)
        case _:
            yield from _all(sign.inner)


def _all(signs: Iterable[Sign]) -> Iterable[Any]:
    for each in signs:
        yield from _signs(each)


def _run(text: str, *, upright: bool = False) -> Any:
    written = _element("t")
    written.text = text
    if text != text.strip():
        written.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    looks = [_element("rPr", _valued("sty", "p"))] if upright else []
    return _element("r", *looks, written)
