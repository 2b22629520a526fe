"""A report as a small closed tree, parsed once, from which HTML, DOCX and PDF are drawn.

The Markdown comes from a model, so the tree contains nothing active: no HTML, no pictures, only web links, no control or
direction characters.  Unknown markup stays as text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from research.citations import MARK, normalised, statements, without_marks
from research.exports.csl import web
from research.text import clip
from research.types import Citation, Verdict

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode


DEEPEST = 6
"""Maximum nesting of lists and quotations; deeper content is flattened to this depth."""
_NESTED = 120
"""Nesting limit of the parser, above what `_shallow` leaves: each of its steps takes two levels."""
_BRACKETS = 2_000
"""Maximum number of `[` in a paragraph: parsing time grows with their square."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\ufdd0-\ufdef\ufffe\uffff\ue000-\uf8ff\U000e0000-\U0010ffff]"
)
"""Controls that XML forbids, characters that reorder or hide text, and characters without meaning."""
_END_OF_LINE = "\x0b"
WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]")
"""Characters that Chinese and Japanese write without spaces."""
_BREAK = re.compile(r"(?<![ \t])[ \t]*<br\s*/?>[ \t]*", re.IGNORECASE)


class Span(Struct, frozen=True, omit_defaults=True):
    """Text in one style.  `\\n` is a line break."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    href: str = ""
    """An address with `http`, `https` or `mailto`, or empty."""
    cites: int = 0
    """The number that a citation mark such as `[3]` cites; `text` is the mark."""
    status: Verdict | Literal[""] = ""
    """`Citation.status` of the statement before the mark; empty if unknown."""
    claim: str = ""
    """The statement of a mark, without its marks: `Citation.claim` if it was checked."""


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
    """Rows have as many cells as the head."""
    right: tuple[bool, ...] = ()
    """Whether each column is aligned to the right."""


Block = Heading | Paragraph | Code | Rule | Quote | Items | Table


def parse(report: str, citations: Sequence[Citation] = ()) -> tuple[Block, ...]:
    """Parse a Markdown report into blocks; its marks get the verdicts of `citations`."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    # no link definitions: `[1]: address` would redefine a citation mark
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTED}).enable(["table", "strikethrough"])
    reader.disable("reference")
    reader.core.ruler.at("inline", _read_inline)
    tokens = reader.parse(normalised(visible(_shallow(report))))
    return tuple(_Reader(citations).blocks(SyntaxTreeNode(tokens).children, 0))


_APART = re.compile(r"\n[ \t]*\n(?=[^\s>])(?![*+-](?:\s|\Z)|\d{1,9}(?:[.)]|\Z))")
"""Blank lines before a line that no list or quotation contains."""
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


def passages(report: str) -> Iterator[str]:
    """Cut Markdown into passages that can be parsed one by one; appended text changes only the last one."""
    start = seen = 0
    fence = ""
    for apart in _APART.finditer(report):
        for mark in _FENCE.finditer(report, seen, apart.start()):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        seen = apart.end()
        if not fence:
            yield report[start : apart.start()]
            start = apart.end()
    yield report[start:]


def _read_inline(state: StateCore) -> None:
    """Replace the parser's inline step: a paragraph that would take minutes stays plain text."""
    from markdown_it.token import Token

    for token in state.tokens:
        if token.type == "inline" and token.content.count("[") > _BRACKETS:
            token.children = [Token("text", "", 0, content=token.content)]
        elif token.type == "inline":
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def visible(text: str) -> str:
    """Remove characters that files forbid or readers cannot see."""
    return _UNSEEN.sub("", re.sub("\r\n?|[\u2028\u2029]", "\n", text))


def words(spans: Iterable[Span]) -> str:
    """Return the text of the spans without style."""
    return "".join(span.text for span in spans)


_MARKER = r"(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]))"
_MARKERS = re.compile(rf"^({_MARKER}{{10}}){_MARKER}+", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]{80,}", re.MULTILINE)


def _shallow(text: str) -> str:
    """Limit the nesting of each line, because the parser would drop lines that are nested too deep."""
    return _INDENT.sub(" " * 80, _MARKERS.sub(r"\1", text))


class _Reader:
    def __init__(self, citations: Sequence[Citation]) -> None:
        self._verdicts = {(each.n, each.claim): each.status for each in citations}
        statuses: dict[int, set[Verdict]] = {}
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
                case _:  # too deep: flatten its content
                    yield from self.blocks(node.children, depth)

    def _table(self, node: SyntaxTreeNode) -> Table:
        head, *rows = (row for part in node.children for row in part.children)
        cells = [[self._inline(cell) for cell in row.children] for row in (head, *rows)]
        right = tuple("right" in str(cell.attrs.get("style", "")) for cell in head.children)
        return Table(tuple(cells[0]), tuple(map(tuple, cells[1:])), right)

    def _inline(self, node: SyntaxTreeNode) -> tuple[Span, ...]:
        """Return the spans of a paragraph, a heading or a cell."""
        inline = node.children[0] if node.children else None
        if inline is None or inline.token is None:
            return ()
        found: dict[int, deque[str]] = {}  # the statements of each number's marks, in order
        for statement in statements(inline.content) if "[" in inline.content else ():
            claim = without_marks(statement.text)
            for n in _numbers(statement.text):
                found.setdefault(n, deque()).append(claim)
        return tuple(_merged(self._spans(inline.token.children or (), found)))

    def _spans(self, tokens: Sequence[Token], found: dict[int, deque[str]]) -> Iterable[Span]:
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

    def _marked(self, text: str, look: Span, found: dict[int, deque[str]]) -> Iterable[Span]:
        """Split citation marks from the text; `[1, 4]` becomes two spans."""
        place = 0
        for mark in () if look.href else MARK.finditer(text):
            yield replace(look, text=text[place : mark.start()])
            for n in map(int, re.findall(r"\d+", mark[1])):
                claim = found[n].popleft() if found.get(n) else ""
                status = self._verdicts.get((n, claim)) or self._only.get(n) or ""
                yield replace(look, text=f"[{n}]", cites=n, status=status, claim=claim)
            place = mark.end()
        yield replace(look, text=text[place:])


def _numbers(text: str) -> list[int]:
    """Return the numbers of all marks in a text, in order, repeated ones too."""
    return [int(n) for mark in MARK.finditer(text) for n in re.findall(r"\d+", mark[1])]


def _merged(spans: Iterable[Span]) -> Iterable[Span]:
    """Join neighbours of the same style."""
    for look, group in groupby(spans, lambda span: replace(span, text="")):
        texts = [span.text for span in group]
        for text in texts if look.cites else ["".join(texts)]:
            if text:
                yield replace(look, text=_joined(text))


def _joined(text: str) -> str:
    """Join source lines, with a space except between Chinese characters."""
    first, *rest = text.split(_END_OF_LINE)
    for line in rest:
        first += ("" if WIDE.match(first[-1:]) and WIDE.match(line) else " ") + line
    return first


def _address(url: object) -> str:
    """Return the address of a link; empty unless it leads to the web or to mail."""
    text = str(url or "")
    return text if web(text) or re.fullmatch(r"mailto:[^\s<>\"]{1,300}", text) else ""
