"""Read what is drawn in the files of Office: the words of shapes, formulas and diagrams, and the figures of charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from research.text import table_row

if TYPE_CHECKING:
    from lxml.etree import _Element

    from research.web.packages import Package

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
DRAWN = (
    "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart",
    "{http://schemas.microsoft.com/office/drawing/2014/chartex}chart",
    _DIAGRAM,
)
"""Elements that show a chart or a diagram, which is a part of its own."""
SHAPE = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
"""Element of a Word document that describes a shape."""
PICTURES = ("{*}pic", "{*}oleObj", "{*}control", "{*}contentPart")
_KINDS = {"pic": "picture", "oleObj": "embedded object", "control": "form control", "contentPart": "drawing by hand"}
_BETWEEN = {f"{M}f": "/", f"{M}sSup": "^", f"{M}sSub": "_"}
"""Separates the two parts of a formula: without it, a half would be read as 12."""


def is_formula(element: _Element) -> bool:
    """Return whether the parts of an element must be read separately, by `formula`."""
    return element.tag in _BETWEEN


def formula(element: _Element, parts: Iterable[str]) -> str:
    """Return a fraction or a raised or lowered letter on one line, from the texts of its parts."""
    between = _BETWEEN[str(element.tag)]
    return between.join(f"({part})" if len(part) > 1 and not part.isalnum() else part for part in parts)


def paragraphs(root: _Element) -> Iterator[str]:
    """Yield the paragraphs of a shape, a cell, a chart or a diagram."""
    for paragraph in root.iter(f"{A}p"):
        if text := " ".join("".join(_said(paragraph)).split()):
            yield text


def _said(element: _Element) -> Iterator[str]:
    for child in element:
        if child.tag in (f"{A}t", f"{M}t"):
            yield child.text or ""
        elif child.tag == f"{A}br":
            yield " "
        elif is_formula(child):
            yield formula(child, ("".join(_said(part)) for part in child if not str(part.tag).endswith("Pr")))
        else:
            yield from _said(child)


def reference(element: _Element) -> str:
    """Return the id of the part that holds a chart or the data of a diagram."""
    return element.get(f"{R}{'dm' if element.tag == _DIAGRAM else 'id'}", "")


def drawn(package: Package, part: str, element: _Element) -> Iterator[str]:
    """Yield the lines of a chart or a diagram that an element of a part shows."""
    name = package.related(part).get(reference(element), ("", ""))[1]
    if name in package.names:
        yield from chart(package.xml(name))


def chart(root: _Element) -> Iterator[str]:
    """Yield the titles and the labels of a chart or a diagram, then the values of each row of a chart."""
    yield from paragraphs(root)
    yield from filter(None, (" ".join(_values(each)) for each in root.iter("{*}title")))  # a part named by a cell
    series = [{str(part.tag).rpartition("}")[2]: _values(part) for part in each} for each in root.iter("{*}ser")]
    names = next((found for each in series if (found := each.get("cat") or each.get("xVal"))), [])
    heads = [" ".join(each.get("tx", [])) for each in series]
    figures = [each.get("val") or each.get("yVal") or [] for each in series]
    if series:
        yield table_row(["", *heads])
    for row in zip_longest(names, *figures, fillvalue=""):
        yield table_row(row)
    # The charts of Office 2016, such as a waterfall, keep their data apart from the rows.
    yield from filter(None, (" ".join((each.text or "").split()) for each in root.iter("{*}pt") if not len(each)))


def _values(part: _Element) -> list[str]:
    return [" ".join((each.text or "").split()) for each in part.iter("{*}v")]


def described(said: str) -> list[str]:
    """Return the author's description of a picture, chart or shape, in parentheses; empty without one."""
    plain = " ".join(said.split())
    return [f"({plain})"] if plain else []


def pictures(root: _Element) -> Counter[str]:
    """Count shown things that cannot be read."""
    return Counter(_KINDS[str(each.tag).rpartition("}")[2]] for each in root.iter(*PICTURES))
