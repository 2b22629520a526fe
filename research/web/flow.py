"""The text shown by an html page, block by block: for chapters and messages, and to restore blocks lost by an article."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from research.text import table_row
from research.web import pictures
from research.web.pictures import name_of

if TYPE_CHECKING:
    from lxml.etree import _Element

_UNSEEN = frozenset("head script style template noscript datalist iframe object audio video annotation rp".split())
_INLINE = frozenset(
    "a abbr b bdi bdo big cite code data del dfn em font i img ins kbd label mark math q rb ruby s samp small span strike strong "
    "sub sup time tt u var wbr mi mn mo mrow msup msub mfrac mtext semantics tspan acronym nobr input output".split()
)
"""Every other element begins a block, so the text of unknown ones is not joined to the text before."""
_MARGINS = frozenset("nav footer aside form button dialog menu select textarea fieldset".split())
_ROLES = frozenset("navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar".split())
_NO_DISPLAY = re.compile(r"(?:^|;)\s{0,9}(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden)", re.I)
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_NAMED = HEADINGS | {"li", "tr"}
_RAISED = re.compile(r"</?su[bp]>|(?=[²³¹⁰-₎])|(?<=[²³¹⁰-₎])")
"""Start or end of a raised or lowered character: 10⁶ is two words, not 106."""
_DEEP = 150
_ROW = 2_000
"""Longest row of a table, in characters; a longer one is the layout of a page."""
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_NEAR = 12
"""Words around the end of the last found block searched for a block of one or two words."""
_MOSTLY = 0.5
"""Least share of a block's words in an article that has the block."""


class Block(Struct, frozen=True):
    """A paragraph, a heading, an item of a list, or a row of a table."""

    text: str
    tag: str = ""
    bare: str = ""
    """Its text without its links."""
    margin: bool = False
    """In a menu, a form, the foot of the page or the like."""
    pictures: int = 0
    """Number of undescribed pictures after it, or before the first block."""

    def markdown(self) -> str:
        """Return the block as a line of Markdown."""
        if self.tag in HEADINGS:
            return f"{'#' * int(self.tag[1])} {self.text}"
        return f"- {self.text}" if self.tag == "li" else self.text


def markdown(found: Iterable[Block]) -> str:
    """Return blocks as Markdown; the rows of a table and the items of a list follow each other."""
    text, before = "", ""
    for block in found:
        text += ("\n" if block.tag == before and before in ("tr", "li") else "\n\n") + block.markdown()
        before = block.tag
    return text.strip()


def blocks(root: _Element) -> list[Block]:
    """Return the visible parts of an element."""
    from lxml import etree

    etree.strip_tags(root, etree.Comment, etree.ProcessingInstruction)
    return _Walk().blocks(root)


class _Walk:
    def __init__(self) -> None:
        self._found: list[Block] = []
        self._pieces: list[str] = []
        self._bare: list[str] = []
        """The same without links."""
        self._pictures = 0

    def blocks(self, root: _Element) -> list[Block]:
        self._walk(root, _Around())
        self._flush(_Around())
        self._count(0)
        return self._found

    @property
    def pictures(self) -> int:
        """Number of pictures that the page does not describe."""
        return self._pictures + sum(each.pictures for each in self._found)

    def _walk(self, element: _Element, around: _Around) -> None:
        self._add(element.text, around)
        for child in element:
            name = name_of(child)
            inner = around.with_child(name, child)
            if _is_unseen(child):
                pass
            elif not inner.margin and pictures.is_untold(child, inner.link):
                self._count(1)
            elif around.depth > _DEEP:
                self._add(" ".join(map(str, child.itertext())), inner)
            elif name in _INLINE or (name == "br" and around.tag in HEADINGS):
                self._add(_before(child, name), inner)
                self._walk(child, inner)
            else:
                self._flush(around)
                if name == "tr" and _is_row(child):
                    self._row(child, inner)
                else:
                    self._walk(child, inner)
                self._flush(inner)
            self._add(child.tail, around)

    def _row(self, row: _Element, around: _Around) -> None:
        walks = [(_Walk(), cell) for cell in row if name_of(cell) in ("td", "th")]
        cells = [" ".join(each.text for each in walk.blocks(cell)) for walk, cell in walks]
        if not around.margin:
            self._count(sum(walk.pictures for walk, _ in walks))
        if any(cells):
            self._add(table_row(cells), around)

    def _count(self, more: int) -> None:
        """Add pictures to the latest block; those before the first block count for the first."""
        self._pictures += more
        if self._found:
            last = self._found[-1]
            self._found[-1] = replace(last, pictures=last.pictures + self._pictures)
            self._pictures = 0

    def _add(self, text: str | None, around: _Around) -> None:
        if text:
            text = f"<sup>{text}</sup>" if around.raised and text.strip() else text
            self._pieces.append(text)
            self._bare.append(" " if around.link else text)

    def _flush(self, around: _Around) -> None:
        if text := " ".join("".join(self._pieces).split()):
            bare = " ".join("".join(self._bare).split())
            self._found.append(Block(text, around.tag, bare, around.margin))
        self._pieces, self._bare = [], []


class _Around(Struct, frozen=True):
    """The context of an element's text."""

    tag: str = ""
    link: str = ""
    """Its address; `#` if it has none."""
    raised: bool = False
    margin: bool = False
    depth: int = 0

    def with_child(self, name: str, child: _Element) -> _Around:
        tag = name if name in _NAMED else self.tag
        margin = self.margin or name in _MARGINS or (child.get("role") or "").lower() in _ROLES
        link = self.link or (child.get("href") or "#" if name == "a" else "")
        return _Around(tag, link, self.raised or name == "sup", margin, self.depth + 1)


def _before(element: _Element, name: str) -> str:
    if name == "input" and element.get("type", "text") not in ("checkbox", "radio", "image", "password"):
        return f" {element.get('value', '')} "
    if name == "img" and (said := pictures.alternative(element)):
        return f" ({said}) "
    return " " if name == "br" else ""


def _is_unseen(element: _Element) -> bool:
    name = name_of(element)
    if name == "template":
        return element.get("shadowrootmode") is None  # a visible component
    return (
        name in _UNSEEN
        or element.get("hidden") is not None
        or (name == "input" and element.get("type") == "hidden")
        or (name == "dialog" and element.get("open") is None)
        or bool(_NO_DISPLAY.search((element.get("style") or "")[:1_000]))
    )


def _is_row(row: _Element) -> bool:
    """Return whether a row has cells of a table, not of a page's layout."""
    return next(row.iter("table"), None) is None and len("".join(map(str, row.itertext()))) <= _ROW


class Completed(Struct, frozen=True):
    """An article with its lost blocks."""

    text: str
    beside: int
    """Characters left out beside it."""
    pictures: int
    """Number of its pictures that the page does not describe."""


def completed(article: str, found: Sequence[Block]) -> Completed:
    """Return an article with its lost blocks.

    All blocks between its first and last belong to it, except menus, forms and links.
    """
    lines = article.split("\n")
    said = _Words(lines)
    has = [said.place(block) for block in found]
    kept = [at for at, place in enumerate(has) if place.share >= _MOSTLY and place.certain]
    if not kept:
        return Completed(article, 0, 0)
    shown = sum(each.pictures for each in found[max(0, kept[0] - 1) : kept[-1] + 1])
    if len(lines) < len(kept):  # only words were found: 3 × 10⁶ is 3 × 106 there
        margins = sum(len(each.bare) for each in found if each.margin)
        return Completed(markdown(block for block in found if not block.margin), margins, shown)
    after: dict[int, list[Block]] = defaultdict(list)
    line, beside = 0, 0
    for at, (block, place) in enumerate(zip(found, has, strict=True)):
        if place.share >= _MOSTLY:
            line = place.last
            whole = range(place.first, place.last + 1)
            if place.share < 1 and sum(said.length[each] for each in whole) <= place.length:
                lines[place.first] = _in_place_of(lines[place.first], block)
                lines[place.first + 1 : place.last + 1] = [""] * (len(whole) - 1)
        elif kept[0] < at < kept[-1] and not block.margin and 2 * len(block.bare) > len(block.text):
            after[line].append(block)
        elif at > 0 or block.tag != "h1":
            beside += len(block.bare)
    for line, lost in after.items():
        joint = "\n" if lost[0].tag in ("tr", "li") and lines[line][:1] in "-|" else "\n\n"
        lines[line] += joint + markdown(lost) + ("" if joint == "\n" else "\n")
    return Completed("\n".join(lines), beside, shown)


def _in_place_of(line: str, block: Block) -> str:
    """Return a whole block to replace a line with most of it, keeping the line's mark."""
    mark = re.match(r"\s{0,40}(?:[-*+>]|#{1,6}|\d{1,3}\.)\s", line)
    return (mark[0] if mark else "") + block.text


class _Place(Struct, frozen=True):
    """The place of a block's words in an article."""

    share: float
    length: int
    first: int = 0
    """The line of the first word."""
    last: int = 0
    certain: bool = False


class _Words:
    """The words of an article, indexed by triples."""

    def __init__(self, lines: Sequence[str]) -> None:
        at_line = [(word, at) for at, line in enumerate(lines) for word in words(line)]
        self._words = [word for word, _ in at_line]
        self._lines = [at for _, at in at_line]
        self.length = Counter(self._lines)
        self._at: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in range(len(at_line) - 2):
            self._at[tuple(self._words[at : at + 3])].append(at)
        self._next = 0

    def place(self, block: Block) -> _Place:
        """Return where the next block's words are; blocks come in page order, and links may be missing."""
        found = self._place(words(block.text))
        if found.share < 1 and block.bare and block.bare != block.text:
            found = max(found, self._place(words(block.bare)), key=lambda each: each.share)
        return found

    def _place(self, found: list[str]) -> _Place:
        if len(found) < 3:
            return self._near(found)
        hits: dict[int, int] = {}
        after = self._next
        for at in range(len(found) - 2):
            if places := self._at.get(tuple(found[at : at + 3])):
                where = places[min(bisect_left(places, after), len(places) - 1)]
                after = max(after, where)
                hits.update((at + step, where + step) for step in range(3))
        if not hits:
            return _Place(0, len(found))
        if len(hits) >= _MOSTLY * len(found):
            self._next = max(self._next, max(hits.values()) + 1)
        lines = [self._lines[each] for each in hits.values()]
        return _Place(len(hits) / len(found), len(found), min(lines), max(lines), certain=True)

    def _near(self, found: list[str]) -> _Place:
        for at in range(max(0, self._next - _NEAR), min(self._next + _NEAR, len(self._words))):
            if found and self._words[at : at + len(found)] == found:
                self._next = max(self._next, at + len(found))
                return _Place(1, len(found), self._lines[at], self._lines[at])
        return _Place(0 if found else 1, len(found), self._last_line(), self._last_line())

    def _last_line(self) -> int:
        return self._lines[min(self._next, len(self._lines)) - 1] if self._next and self._lines else 0


def words(text: str) -> list[str]:
    """Return the words of a text, for comparing two versions."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", _RAISED.sub(" ", text)).lower())
