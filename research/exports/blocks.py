"""A report as a small closed tree, parsed once: what HTML, DOCX and PDF draw, each in its own way.

The Markdown is a model's, so the tree holds nothing that could act: no HTML, no picture, no link but to the web, no
control or direction characters.  What is not understood stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from research.citations import MARK, normalised, statements, without_marks
from research.exports.csl import web
from research.text import clip
from research.types import Citation

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

_Status = Literal["supported", "partial", "unsupported", "dead"]

DEEPEST = 6
"""Lists and quotations in each other; what is nested deeper stands at this depth."""
_NESTED = 120
"""As deep as Markdown is read: beyond what `_shallow` leaves, two levels for each of its steps."""
_BRACKETS = 2_000
"""Most `[` of one paragraph: the time to read it grows with their square."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\ufdd0-\ufdef\ufffe\uffff\ue000-\uf8ff\U000e0000-\U0010ffff]"
)
"""Controls that XML forbids, characters that turn or hide text, and those that mean nothing to anybody."""
_END_OF_LINE = "\x0b"
WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]")
"""Characters between which Chinese and Japanese write no space."""
_BREAK = re.compile(r"(?<![ \t])[ \t]*<br\s*/?>[ \t]*", re.IGNORECASE)


class Span(Struct, frozen=True, omit_defaults=True):
    """Text of one look.  `\\n` is a line break."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    href: str = ""
    """`http`, `https` or `mailto`, or empty."""
    cites: int = 0
    """The number that a mark such as `[3]` cites; then `text` is the mark."""
    status: Literal["supported", "partial", "unsupported", "dead", ""] = ""
    """How the statement before the mark stands to that source, as in `Citation`, where it is known."""


class Heading(Struct, frozen=True):
    level: int
    spans: tuple[Span, ...]


class Paragraph(Struct, frozen=True):
    spans: tuple[Span, ...]


class Code(Struct, frozen=True):
    text: str


class Rule(Struct, frozen=True):
    pass


class Quote(Struct, frozen=True):
    blocks: tuple[Block, ...]


class Items(Struct, frozen=True):
    items: tuple[tuple[Block, ...], ...]
    start: int | None = None
    """The first number; None for bullets."""


class Table(Struct, frozen=True):
    head: tuple[tuple[Span, ...], ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    """All as wide as the head."""
    right: tuple[bool, ...] = ()
    """Columns that are set to the right."""


Block = Heading | Paragraph | Code | Rule | Quote | Items | Table


def parse(report: str, citations: Sequence[Citation] = ()) -> tuple[Block, ...]:
    """The blocks of a report in Markdown; marks carry the verdicts of these citations."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    # Definitions of links are off: `[1]: address` would give our numbers a meaning of its own.
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTED}).enable(["table", "strikethrough"])
    reader.disable("reference")
    reader.core.ruler.at("inline", _read_inline)
    tokens = reader.parse(normalised(visible(_shallow(report))))
    return tuple(_Reader(citations).blocks(SyntaxTreeNode(tokens).children, 0))


def _read_inline(state: StateCore) -> None:
    """As the parser's own step; but a paragraph that would keep it busy for minutes shows as it was written."""
    from markdown_it.token import Token

    for token in state.tokens:
        if token.type == "inline" and token.content.count("[") > _BRACKETS:
            token.children = [Token("text", "", 0, content=token.content)]
        elif token.type == "inline":
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def visible(text: str) -> str:
    """The text without what no file may hold and no reader can see."""
    return _UNSEEN.sub("", re.sub("\r\n?|[\u2028\u2029]", "\n", text))


def words(spans: Iterable[Span]) -> str:
    """The text alone."""
    return "".join(span.text for span in spans)


_MARKER = r"(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]))"
_MARKERS = re.compile(rf"^({_MARKER}{{10}}){_MARKER}+", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]{80,}", re.MULTILINE)


def _shallow(text: str) -> str:
    """The text without what nests a line deeper than anybody reads: the parser would drop such lines."""
    return _INDENT.sub(" " * 80, _MARKERS.sub(r"\1", text))


class _Reader:
    def __init__(self, citations: Sequence[Citation]) -> None:
        self._verdicts = {(each.n, each.claim): each.status for each in citations}
        statuses: dict[int, set[_Status]] = {}
        for each in citations:
            statuses.setdefault(each.n, set()).add(each.status)
        self._only = {n: found.pop() for n, found in statuses.items() if len(found) == 1}

    def blocks(self, nodes: Sequence[SyntaxTreeNode], depth: int) -> Iterable[Block]:
        for node in nodes:
            match node.type:
                case "heading":
                    yield Heading(int(node.tag[1]), self._inline(node))
                case "paragraph":
                    yield Paragraph(self._inline(node))
                case "fence" | "code_block":
                    yield Code(node.content.rstrip("\n"))
                case "hr":
                    yield Rule()
                case "blockquote" if depth < DEEPEST:
                    yield Quote(tuple(self.blocks(node.children, depth + 1)))
                case "bullet_list" | "ordered_list" if depth < DEEPEST:
                    start = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
                    yield Items(tuple(tuple(self.blocks(item.children, depth + 1)) for item in node.children), start)
                case "table":
                    yield self._table(node)
                case _:  # deeper than is drawn: its content stands here
                    yield from self.blocks(node.children, depth)

    def _table(self, node: SyntaxTreeNode) -> Table:
        head, *rows = (row for part in node.children for row in part.children)
        cells = [[self._inline(cell) for cell in row.children] for row in (head, *rows)]
        right = tuple("right" in str(cell.attrs.get("style", "")) for cell in head.children)
        return Table(tuple(cells[0]), tuple(map(tuple, cells[1:])), right)

    def _inline(self, node: SyntaxTreeNode) -> tuple[Span, ...]:
        """The spans of a paragraph, a heading or a cell."""
        inline = node.children[0] if node.children else None
        if inline is None or inline.token is None:
            return ()
        found: dict[int, _Status] = {}
        for statement in statements(inline.content) if "[" in inline.content else ():
            claim = without_marks(statement.text)
            found |= {n: self._verdicts[n, claim] for n in statement.numbers if (n, claim) in self._verdicts}
        return tuple(_merged(self._spans(inline.token.children or (), found)))

    def _spans(self, tokens: Sequence[Token], found: dict[int, _Status]) -> Iterable[Span]:
        look = Span("")
        for token in tokens:
            match token.type:
                case "strong_open" | "strong_close":
                    look = replace(look, bold=token.nesting > 0)
                case "em_open" | "em_close":
                    look = replace(look, italic=token.nesting > 0)
                case "s_open" | "s_close":
                    look = replace(look, strike=token.nesting > 0)
                case "link_open":
                    look = replace(look, href=_address(token.attrs.get("href")))
                case "link_close":
                    look = replace(look, href="")
                case "code_inline":
                    yield replace(look, text=token.content, code=True)
                case "softbreak":
                    yield replace(look, text=_END_OF_LINE)
                case "hardbreak":
                    yield replace(look, text="\n")
                case "image":
                    name = clip(" ".join(token.content.split()), 200) or "image"
                    yield replace(look, text=f"[{name}]", href=look.href or _address(token.attrs.get("src")))
                case _:
                    yield from self._marked(_BREAK.sub("\n", token.content), look, found)

    def _marked(self, text: str, look: Span, found: dict[int, _Status]) -> Iterable[Span]:
        """Text with its marks set apart; `[1, 4]` becomes two."""
        place = 0
        for mark in () if look.href else MARK.finditer(text):
            yield replace(look, text=text[place : mark.start()])
            for n in map(int, re.findall(r"\d+", mark[1])):
                status = found.get(n) or self._only.get(n) or ""
                yield replace(look, text=f"[{n}]", cites=n, status=status)
            place = mark.end()
        yield replace(look, text=text[place:])


def _merged(spans: Iterable[Span]) -> Iterable[Span]:
    """Neighbours of one look as one."""
    last: Span | None = None
    for span in spans:
        if last and not last.cites and replace(span, text="") == replace(last, text=""):
            last = replace(last, text=last.text + span.text)
        else:
            if last and last.text:
                yield replace(last, text=_joined(last.text))
            last = span
    if last and last.text:
        yield replace(last, text=_joined(last.text))


def _joined(text: str) -> str:
    """Lines of the source as one line: without a space between Chinese characters."""
    first, *rest = text.split(_END_OF_LINE)
    for line in rest:
        first += ("" if WIDE.match(first[-1:]) and WIDE.match(line) else " ") + line
    return first


def _address(url: object) -> str:
    """Where a link may lead; empty for anything but the web and mail."""
    text = str(url or "")
    return text if web(text) or re.fullmatch(r"mailto:[^\s<>\"]{1,300}", text) else ""
