"""Read books (epub): the chapters in the order of the spine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from research.web import charsets, flow, locators
from research.web.locators import Part
from research.web.packages import BROKEN, Package, resolved

_OPF, _DC = "{http://www.idpf.org/2007/opf}", "{http://purl.org/dc/elements/1.1/}"
_DECLARED = re.compile(rb"(?:encoding|charset)=[\"']?([A-Za-z0-9_-]{1,40})")
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"


class Book(Struct, frozen=True):
    """The parts read of a book."""

    title: str
    chapters: list[Part]
    csl: dict[str, Any]
    notes: tuple[str, ...]


def book(data: bytes, refuse: Callable[[str], Exception]) -> Book:
    """Read a book."""
    try:
        package = Package(data, refuse)
        opf = [each.get("full-path", "") for each in package.xml(_CONTAINER).iter("{*}rootfile")][0]
        root = package.xml(opf)
        title = " ".join((root.findtext(f".//{_DC}title") or "").split())
        authors = [" ".join((each.text or "").split()) for each in root.iter(f"{_DC}creator")]
        items = {each.get("id", ""): unquote(each.get("href", "")) for each in root.iter(f"{_OPF}item")}
        order = [each.get("idref", "") for each in root.iter(f"{_OPF}itemref")]
        names = [name for each in order if each in items and (name := resolved(opf, items[each])) in package.names]
        locked = package.read(_ENCRYPTION).decode("utf-8", "replace") if _ENCRYPTION in package.names else ""
        if any(f'"{name}"' in locked for name in names):
            raise refuse("is protected against copying; use a copy without protection")
        chapters = [_chapter(package.read(name), number) for number, name in enumerate(names, 1)]
    except BROKEN as error:
        raise refuse(f"is a damaged epub ({type(error).__name__}: {str(error)[:160]}); save it again") from error
    csl = {"type": "book", "title": title, "author": [{"literal": name} for name in authors if name]}
    return Book(
        title,
        [part for part, _ in chapters],
        {key: value for key, value in csl.items() if value},
        locators.left_out({"picture": sum(pictures for _, pictures in chapters)}),
    )


def _chapter(data: bytes, number: int) -> tuple[Part, int]:
    """Return a chapter, and how many of its pictures have no description."""
    from lxml import etree

    # A chapter is in UTF-8 unless declared otherwise; the parser alone would assume Latin-1.
    declared = _DECLARED.search(data[:1_000])
    markup = charsets.decoded(data, declared[1].decode() if declared else "") or ""
    parser = etree.HTMLParser(encoding="utf-8", no_network=True)
    root = etree.fromstring(markup.encode("utf-8", "replace"), parser) if markup.strip() else None
    found = flow.blocks(root) if root is not None else []
    name = next((block.text for block in found if block.tag in flow.HEADINGS), f"part {number}")
    return Part(name, flow.markdown(found)), sum(block.pictures for block in found)
