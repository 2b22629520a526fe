"""The pictures of a page of html: their authors' descriptions, and those without one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

_PICTURES = frozenset(("img", "svg", "canvas", "image"))
_SMALL = 100
"""Width or height, in pixels, up to which a picture is an icon or a tracker."""
_SIZE = re.compile(r"\s{0,9}(\d{1,6})(?:\.\d{0,9})?\s{0,9}(?:px)?\s{0,9}", re.I)
_STYLED = re.compile(r"(?:^|;)\s{0,9}(?:width|height)\s{0,9}:\s{0,9}([^;]{1,20})", re.I)
_FILE = re.compile(r"\s*\S{1,200}\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?|avif)\s*", re.I)
"""A file name, which programs write as a description."""
_LABELS = ("aria-label", "aria-labelledby", "title")


def is_untold(element: _Element, link: str) -> bool:
    """Return whether an element is a picture neither described by the page nor declared decoration.

    `link`: the address it leads to. A picture that links to another page represents that page.
    """
    name, target = name_of(element), re.split("[?#]", link)[0]
    if name not in _PICTURES or (target and not _FILE.fullmatch(target) and not target.startswith("javascript:")):
        return False
    alternative = element.get("alt")
    if alternative is not None and not _FILE.fullmatch(alternative) or _is_decoration(element):
        return False
    if any((element.get(label) or "").strip() for label in _LABELS) or "".join(map(str, element.itertext())).strip():
        return False
    sizes = _sizes(element)
    # Drawings within a page are icons unless they say that they are big.
    return min(sizes, default=0 if name == "svg" else _SMALL + 1) > _SMALL and not _caption(element)


def alternative(element: _Element) -> str:
    """Return the alternative text of a picture; empty if its caption says the same."""
    said = " ".join((element.get("alt") or "").split())
    return "" if not said or _FILE.fullmatch(said) or _is_decoration(element) or said in _caption(element) else said


def _is_decoration(element: _Element) -> bool:
    return element.get("role") in ("presentation", "none") or element.get("aria-hidden") == "true"


def _sizes(element: _Element) -> list[int]:
    """Return the width and height that are declared in pixels."""
    said = [
        element.get("width") or "",
        element.get("height") or "",
        *_STYLED.findall((element.get("style") or "")[:500]),
    ]
    return [int(found[1]) for each in said if (found := _SIZE.fullmatch(each))]


def _caption(element: _Element) -> str:
    figure = next((each for each in element.iterancestors() if name_of(each) == "figure"), None)
    captions = [] if figure is None else [each for each in figure.iter() if name_of(each) == "figcaption"]
    return " ".join(" ".join(" ".join(map(str, each.itertext())) for each in captions).split())


def name_of(element: _Element) -> str:
    """Return an element's name in lower case, without its namespace."""
    return str(element.tag).rpartition("}")[2].lower()
