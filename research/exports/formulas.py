"""Formulas: LaTeX as a small closed tree of MathML, and as one line of text.

The tree has only elements and attributes listed here, so a model's formula cannot act, link anywhere, or outgrow its
place. Unknown, broken or more demanding LaTeX stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING, Final
from unicodedata import normalize

from msgspec import Struct

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LONGEST = 1_000
"""Maximum characters of a formula."""
_DEEPEST = 12
"""Maximum nesting of braces."""
PARTS: Final = {
    **dict.fromkeys(("mi", "mn", "mo", "mtext", "mspace"), 0),
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
    **dict.fromkeys(("math", "mrow", "msqrt", "mstyle", "mpadded", "menclose", "mtable", "mtr", "mtd"), -1),
}
"""Number of parts of each element; -1 for any number."""
ATTRIBUTES: Final = frozenset(
    ("mathvariant", "stretchy", "fence", "form", "accent", "linethickness", "columnalign", "displaystyle")
)
_COMMANDS = re.compile(
    r"\\(?:[egx]?def|let|futurelet|global|long|(?:re|provide)?newcommand|newenvironment|csname|expandafter|noexpand|char|"
    r"rule|m?kern|[hm]skip|[hv]space|raisebox|[rlc]lap|math[rlc]lap|smash|v?phantom|hphantom|"
    r"href|url|includegraphics|html\w*|(?:text|f?box|page)?color(?:box)?|tag|label|(?:eq)?ref|"
    r"[Hh]uge|LARGE|[Ll]arge|tiny|scriptsize|footnotesize)(?![A-Za-z])|\\\\\*?\s*\[|\]\(|!\[|://",
)
"""Definitions, links, colours, measures (which could cover the page), and Markdown links."""
_ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|alignedat|gathered|align|gather|eqnarray|multline)\*?\}")
_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_FANCY = re.compile("[\U0001d400-\U0001d7ff\u2102-\u2134]")
"""Letters of special shape, which few fonts have."""
_SPACED = re.compile(r"[=<>≤≥≈≠≡∼≃→←↔⇒⇔∈∉⊂⊆∪∩±×·÷∝+−]|:=")


class Sign(Struct, frozen=True):
    """An element of MathML."""

    tag: str
    text: str = ""
    inner: tuple[Sign, ...] = ()
    looks: tuple[tuple[str, str], ...] = ()
    """Its attributes."""


@lru_cache(2_000)
def formula(latex: str, display: bool = False) -> Sign | None:
    """Return a formula as a tree; None if it must stay text."""
    from latex2mathml.converter import convert_to_element

    if not latex.strip() or len(latex) > LONGEST or _COMMANDS.search(latex) or _depth(latex) > _DEEPEST:
        return None
    try:
        made = convert_to_element(_ALIGNED.sub(r"\\\1{align*}", latex), display="block" if display else "inline")
    except Exception:  # noqa: BLE001 - the converter raises many kinds of errors about broken LaTeX, which stays text
        return None
    return _closed(made)


def _depth(latex: str) -> int:
    deepest = depth = 0
    for sign in latex:
        depth += (sign == "{") - (sign == "}")
        deepest = max(deepest, depth)
    return deepest


def _closed(element: Element) -> Sign | None:
    """Return the element without anything unknown; None if that changes its meaning."""
    parts, text = PARTS.get(element.tag), unescape(element.text or "")
    inner = [_closed(each) for each in element]
    known = [each for each in inner if each is not None]
    if parts is None or len(known) < len(inner) or (parts > 0 and len(known) != parts) or text.startswith("\\"):
        return None
    looks = tuple(sorted((name, value) for name, value in element.attrib.items() if name in ATTRIBUTES))
    return Sign(element.tag, text, tuple(known), looks)


def size(sign: Sign) -> int:
    """Return the number of elements of a formula."""
    return 1 + sum(size(each) for each in sign.inner)


def line(latex: str) -> str:
    """Return a formula as one line that people can read: `(a + b)/2`, `x²`, `√(x)`."""
    made = formula(latex)
    return _FANCY.sub(lambda sign: normalize("NFKC", sign[0]), " ".join(_line(made).split())) if made else latex


def _line(sign: Sign) -> str:
    match sign.tag, [_line(each) for each in sign.inner]:
        case "mfrac", [over, under]:
            binomial = ("linethickness", "0") in sign.looks
            return f"{over} over {under}" if binomial else f"{_grouped(over)}/{_grouped(under)}"
        case "msqrt", inner:
            return f"√{_grouped(''.join(inner))}"
        case "mroot", [inside, degree]:
            return f"{_moved(degree, _RAISED, '')}√{_grouped(inside)}"
        case "msup", [base, above]:
            return base + (above if above.startswith("′") else _moved(above, _RAISED, "^"))
        case "msub" | "munder", [base, below]:
            return base + _moved(below, _LOWERED, "_")
        case "mover", [base, above]:
            return f"{base}{above}" if len(above) > 1 else base + _ACCENTS.get(above, above)
        case (("msubsup" | "munderover"), [base, below, above]):
            return f"{base}{_moved(below, _LOWERED, '_')}{_moved(above, _RAISED, '^')} "
        case "mtable", rows:
            return "; ".join(rows)
        case "mtr", cells:
            return " ".join(cells)
        case "mspace", _:
            return " "
        case "mo", _:
            word = len(sign.text) > 1 and sign.text.isalpha()
            if word or _SPACED.fullmatch(sign.text):
                return f" {sign.text} "
            return f"{sign.text} " if sign.text in (",", ";") else sign.text
        case _, inner:
            return sign.text + "".join(inner)


_ACCENTS: Final = {
    "^": "\u0302",
    "¯": "\u0304",
    "―": "\u0304",
    "→": "\u20d7",
    "~": "\u0303",
    "˙": "\u0307",
    "¨": "\u0308",
}


def _grouped(text: str) -> str:
    bare = text.strip()
    return bare if re.fullmatch(r"[\w.%]+|\(.*\)", bare) else f"({bare})"


def _moved(text: str, table: dict[int, int], sign: str) -> str:
    """Return an index in Unicode's raised or lowered digits, else after `^` or `_`."""
    bare = "".join(text.split())
    return bare.translate(table) if bare and all(ord(each) in table for each in bare) else sign + _grouped(bare)


def attributes(sign: Sign, display: bool = False) -> Iterable[tuple[str, str]]:
    """Yield the attributes to write for an element."""
    yield from sign.looks
    if sign.tag == "math" and display:
        yield "display", "block"
