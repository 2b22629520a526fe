"""A report as a small closed tree, parsed once, from which HTML, DOCX and PDF are drawn.

The Markdown comes from a model, so the tree contains nothing active: no HTML, no pictures, only web links, no control or
direction characters.  Unknown markup stays as text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from research.citations import MARK, normalised, statements, without_marks
from research.citations.marks import FORMULA
from research.exports.csl_json import web
from research.exports.formulas import formula
from research.text import clip
from research.types import Citation, Verdict

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode


DEEPEST = 6
"""Maximum nesting of lists and quotations; deeper content is flattened to this depth."""
_NESTED = 120
"""Nesting limit of the parser, above that of `_shallow`: each step takes two levels."""
_BRACKETS = 2_000
"""Maximum number of `[` in a paragraph: parsing time grows with their square."""
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\ufdd0-\ufdef\ufffe\uffff\ue000-\uf8ff\U000e0000-\U0010ffff]"
)
"""Controls that XML forbids, characters that reorder or hide text, and characters without meaning."""
_END_OF_LINE = "\x0b"
_UNCITED = "uncited"
"""Key of the statements without a source in the parser's environment."""
_UNSOURCED = "\ue003"
"""Follows a statement without a source; `visible` removes it from other text."""
_LINES = 60
"""Maximum number of lines of a formula."""
_LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""Letters that number footnotes, without q: no font has a superscript q."""
_NUMBERED = re.compile(r"\[[\d\s,，、^-]*\]")
"""A possible citation mark."""
_BOX = re.compile(r"\[([ xX])\](?: |$)")
_BARE = re.compile(
    r"https?://(?:[^\s\x0b<>()\[\]{}\"`“”‘’|\\\u3000-\u303f\uff00-\uff60]|\([^\s\x0b<>()]{0,200}\)){1,2000}(?<![.,;:!?'*_~])",
    re.IGNORECASE,
)
"""An address in the text, without the punctuation after it."""
UNSOURCED = "[?]"
"""The mark of a statement without a source."""
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
    formula: Literal["", "inline", "display"] = ""
    """Whether `text` is LaTeX, within a line or on a line of its own; `formulas.formula` draws it."""
    cites: int = 0
    """The number that a citation mark such as `[3]` cites; `text` is the mark."""
    status: Verdict | Literal[""] = ""
    """`Citation.status` of the statement before the mark; empty if unknown."""
    claim: str = ""
    """The statement of a mark, without its marks: `Citation.claim` if it was checked."""
    unsourced: bool = False
    """Whether `text` marks the statement before it as unsourced."""


class Heading(Struct, frozen=True):
    level: int
    spans: tuple[Span, ...]


class Paragraph(Struct, frozen=True):
    spans: tuple[Span, ...]


class Code(Struct, frozen=True):
    text: str
    language: str = ""
    """A short name such as `python`, or empty."""


class Rule(Struct, frozen=True):
    pass


class Quote(Struct, frozen=True):
    blocks: tuple[Block, ...]


class Items(Struct, frozen=True):
    items: tuple[tuple[Block, ...], ...]
    start: int | None = None
    """The first number; None for bullets."""


Align = Literal["left", "center", "right"]


class Table(Struct, frozen=True):
    head: tuple[tuple[Span, ...], ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    """Rows have as many cells as the head."""
    align: tuple[Align, ...] = ()
    """How each column is aligned."""


Block = Heading | Paragraph | Code | Rule | Quote | Items | Table


def headings(blocks: Iterable[Block]) -> Iterator[Heading]:
    """Yield all headings, also those in quotes and lists."""
    for block in blocks:
        match block:
            case Heading():
                yield block
            case Quote(blocks=inner):
                yield from headings(inner)
            case Items(items=items):
                yield from headings(each for item in items for each in item)


def parse(
    text: str, citations: Sequence[Citation] = (), *, cited: bool = True, uncited: Collection[str] = ()
) -> tuple[Block, ...]:
    """Parse Markdown into blocks; the citation marks of a report get the verdicts of `citations`.

    The statements `uncited`, as `citations.uncited` returns them, get their own mark.

    With `cited` false, text keeps its brackets, and its numbered footnotes are footnotes.
    """
    from markdown_it.tree import SyntaxTreeNode

    text = visible(_shallow(text))
    tokens = _parser().parse(normalised(text) if cited else text, {_UNCITED: frozenset(uncited)})
    return tuple(_Reader(citations, cited).blocks(SyntaxTreeNode(tokens).children, 0))


_APART = re.compile(r"\n[ \t]*\n(?=[^\s>])(?![*+-](?:\s|\Z)|\d{1,9}(?:[.)]|\Z))")
"""Blank lines before a line outside lists and quotations."""
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_NOTE = re.compile(r"^ {0,3}\[\^[^\]\n]{1,100}\]:", re.MULTILINE)


def passages(report: str) -> Iterator[str]:
    """Cut Markdown into passages that can be parsed one by one; appended text changes only the last one.

    Text with footnotes stays whole: a mark may refer to a note anywhere in it.
    """
    if _NOTE.search(report):
        yield report
        return
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


@cache
def _parser() -> MarkdownIt:
    """Return the parser: CommonMark with GitHub's tables and strikethrough, footnotes and formulas."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import reference
    from markdown_it.rules_inline import StateInline
    from markdown_it.rules_inline.state_inline import Scanned
    from markdown_it.token import Token
    from mdit_py_plugins.footnote import footnote_plugin

    class Inline(StateInline):
        """Finds emphasis beside Chinese, which has no spaces around it: `**“引文”**中文` is bold."""

        def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - the parser's name
            found = super().scanDelims(start, canSplitWord)
            end = start + found.length
            before, after = self.src[start - 1 : start] if start else "", self.src[end : min(end + 1, self.posMax)]
            if canSplitWord and (WIDE.match(before) or WIDE.match(after)):
                return Scanned(bool(after.strip()), bool(before.strip()), found.length)
            return found

    def inline(state: StateCore) -> None:
        """Replace the parser's inline step: a paragraph that would take minutes stays plain text."""

        def tokens(text: str) -> list[Token]:
            if text.count("[") > _BRACKETS:
                return [Token("text", "", 0, content=text)]
            within = Inline(text, state.md, state.env, [])
            state.md.inline.tokenize(within)
            for rule in state.md.inline.ruler2.getRules(""):
                rule(within)
            return within.tokens

        for token, marked in _with_uncited(state.tokens, state.env[_UNCITED]):
            token.children = tokens(marked)
            seen = sum(each.content.count(_UNSOURCED) for each in token.children if each.type == "text")
            if seen < marked.count(_UNSOURCED):  # the sign would fall within code, a formula or an address
                token.children = tokens(token.content)

    def definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        """Read a link's address, but not `[1]: address`, which would redefine a citation mark."""
        place = state.bMarks[start] + state.tShift[start]
        return _NUMBERED.match(state.src, place) is None and reference(state, start, end, silent)

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTED}).enable(["table", "strikethrough"])
    parser.block.ruler.at("reference", definition)
    parser.use(footnote_plugin, inline=False, move_to_end=False)
    parser.core.ruler.at("inline", inline)
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.block.ruler.before("fence", "formula", _display, {"alt": ["paragraph", "blockquote", "list"]})
    return parser


def _with_uncited(tokens: Sequence[Token], uncited: Collection[str]) -> Iterator[tuple[Token, str]]:
    """Yield each paragraph, heading and cell with its text, with a sign after each statement in `uncited`."""
    row: list[Token] = []
    opened = ""
    for token in tokens:
        if token.type in ("tr_open", "tr_close"):
            if row and _bare(" | ".join(cell.content for cell in row)) in uncited:
                last = next((cell for cell in reversed(row) if cell.content), row[-1])
                yield from ((cell, cell.content + _UNSOURCED * (cell is last)) for cell in row)
            else:
                yield from ((cell, cell.content) for cell in row)
            row = []
        elif token.type != "inline":
            opened = token.type
        elif opened in ("td_open", "th_open"):
            row.append(token)
        else:
            yield token, _marked(token.content, uncited if opened == "paragraph_open" else ())


def _marked(text: str, uncited: Collection[str]) -> str:
    """Return a paragraph with a sign behind each statement in `uncited`, within the emphasis that ends there."""
    found, place = "", 0
    for statement in statements(text) if uncited else ():
        at = text.find(statement.text, place)
        if at >= 0 and _bare(statement.text) in uncited:
            end = at + len(statement.text.rstrip("*_ \\"))
            found += text[place:end] + _UNSOURCED
            place = end
    return found + text[place:]


def _bare(statement: str) -> str:
    """Return a statement in the form of `citations.uncited`."""
    return without_marks(statement).strip("*_ ")


def _formula(state: StateInline, silent: bool) -> bool:
    """Read a formula within a paragraph."""
    match = FORMULA.match(state.src, state.pos) if state.src[state.pos] in "$\\" else None
    if match is None or match.end() > state.posMax:
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = next(filter(None, match.groups()))
        token.info = match.group()
        token.markup = "display" if match["shown"] or match["square"] else "inline"
    state.pos = match.end()
    return True


def _display(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a formula on lines of its own, where a sign at the start of a line does not begin a list."""
    place = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith(("$$", "\\["), place):
        return False
    last = start + 1
    while last < min(end, start + _LINES) and not state.isEmpty(last) and state.sCount[last] >= state.blkIndent:
        last += 1
    text = state.getLines(start, last, state.blkIndent, False).lstrip(" \t")
    match = FORMULA.match(text)
    if match is None or text[match.end() :].partition("\n")[0].strip():
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = next(filter(None, match.groups()))
        token.info = match.group()
        token.markup = "display"
    state.line = start + match.group().count("\n") + 1
    return True


def visible(text: str) -> str:
    """Remove characters that files forbid or readers cannot see."""
    return UNSEEN.sub("", re.sub("\r\n?|[\u2028\u2029]", "\n", text))


def words(spans: Iterable[Span]) -> str:
    """Return the text of the spans without style."""
    return "".join(span.text for span in spans)


def content(blocks: Iterable[Block]) -> str:
    """Return the text of blocks without its markup."""
    found: list[str] = []
    for block in blocks:
        match block:
            case Heading(spans=spans) | Paragraph(spans=spans):
                found.append(words(spans))
            case Code(text=text):
                found.append(text)
            case Quote(blocks=inner):
                found.append(content(inner))
            case Items(items=items):
                found += [content(item) for item in items]
            case Table(head=head, rows=rows):
                found += [" | ".join(words(cell) for cell in row) for row in (head, *rows)]
    return "\n".join(found)


_MARKER = r"(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]|\[\^[^\]\s]{1,60}\]:))"
_MARKERS = re.compile(rf"^({_MARKER}{{10}}){_MARKER}+", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]{80,}", re.MULTILINE)


def _shallow(text: str) -> str:
    """Limit the nesting of each line, because the parser would drop lines that are nested too deep."""
    return _INDENT.sub(" " * 80, _MARKERS.sub(r"\1", text))


class _Reader:
    def __init__(self, citations: Sequence[Citation], cited: bool) -> None:
        self._cited = cited
        self._notes: dict[str, str] = {}
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
                    yield Code(node.content.rstrip("\n"), language(node.info))
                case "formula" if node.token is not None:
                    yield Paragraph((_drawn(node.token, Span("")),))
                case "footnote_reference":
                    yield from self._note(str(node.meta["label"]), tuple(self.blocks(node.children, depth)))
                case "hr":
                    yield Rule()
                case "blockquote" if depth < DEEPEST:
                    yield Quote(tuple(self.blocks(node.children, depth + 1)))
                case "bullet_list" | "ordered_list" if depth < DEEPEST:
                    start = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
                    yield Items(
                        tuple(_task(tuple(self.blocks(item.children, depth + 1))) for item in node.children), start
                    )
                case "table":
                    yield self._table(node)
                case _:  # too deep: flatten its content
                    yield from self.blocks(node.children, depth)

    def _table(self, node: SyntaxTreeNode) -> Table:
        head, *rows = (row for part in node.children for row in part.children)
        named = " | ".join(_written(cell) for cell in head.children)
        cells: list[tuple[tuple[Span, ...], ...]] = []
        for row in rows:  # a statement may need all cells
            said = " | ".join(_written(cell) for cell in row.children)
            found = self._claims(f"| {named} |\n| {said} |" if "[" in said else "")
            cells.append(tuple(self._inline(cell, found) for cell in row.children))
        return Table(tuple(map(self._inline, head.children)), tuple(cells), tuple(map(_align, head.children)))

    def _note(self, label: str, blocks: tuple[Block, ...]) -> Iterable[Block]:
        """Yield a footnote in place, with the letter of its references."""
        letter = self._letter(label)
        match blocks:
            case (Paragraph(spans=spans), *rest):
                yield Paragraph(tuple(_merged((Span(f"{letter} "), *spans))))
                yield from rest
            case _:
                yield Paragraph((Span(letter),))
                yield from blocks

    def _letter(self, label: str) -> str:
        """Return the raised letters of a footnote; its numbers would look like those of sources."""
        number = len(self._notes)
        return self._notes.setdefault(label, _LETTERS[number % len(_LETTERS)] * (1 + number // len(_LETTERS)))

    def _claims(self, text: str) -> dict[int, deque[str]]:
        """Return the statements of each number's marks, in order."""
        found: dict[int, deque[str]] = {}
        for statement in statements(text) if self._cited and "[" in text else ():
            claim = without_marks(statement.text)
            for n in _numbers(statement.text):
                found.setdefault(n, deque()).append(claim)
        return found

    def _inline(self, node: SyntaxTreeNode, found: dict[int, deque[str]] | None = None) -> tuple[Span, ...]:
        """Return the spans of a paragraph, a heading or a cell; `found` are the statements of a row's marks."""
        inline = node.children[0] if node.children else None
        if inline is None or inline.token is None:
            return ()
        claims = self._claims(inline.content) if found is None else found
        return tuple(_merged(self._spans(inline.token.children or (), claims)))

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
                case "formula":
                    yield _drawn(token, look)
                case "footnote_ref":
                    yield replace(look, text=self._letter(str(token.meta["label"])))
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
        for mark in MARK.finditer(text) if self._cited and not look.href else ():
            yield from _noted(text[place : mark.start()], look)
            for n in map(int, re.findall(r"\d+", mark[1])):
                claim = found[n].popleft() if found.get(n) else ""
                status = self._verdicts.get((n, claim)) or self._only.get(n) or ""
                yield replace(look, text=f"[{n}]", cites=n, status=status, claim=claim)
            place = mark.end()
        yield from _noted(text[place:], look)


def _written(cell: SyntaxTreeNode) -> str:
    return cell.children[0].content if cell.children else ""


def _noted(text: str, look: Span) -> Iterable[Span]:
    """Split the signs after unsourced statements from the text."""
    for number, piece in enumerate(text.split(_UNSOURCED)):
        if number:
            yield replace(look, text=UNSOURCED, unsourced=True)
        yield from _linked(piece, look)


def _linked(text: str, look: Span) -> Iterable[Span]:
    """Split bare addresses of the web from the text, as links."""
    place = 0
    for match in _BARE.finditer(text) if not look.href else ():
        yield replace(look, text=text[place : match.start()])
        yield replace(look, text=match.group(), href=_address(match.group()))
        place = match.end()
    yield replace(look, text=text[place:])


def _drawn(token: Token, look: Span) -> Span:
    """Return a formula as a span, or its source if it cannot be drawn."""
    display = token.markup == "display"
    latex = " ".join(token.content.split())
    if formula(latex, display) is None:
        return replace(look, text=" ".join(token.info.split()))
    return replace(look, text=latex, formula="display" if display else "inline")


def _task(item: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return an item of a list with a box in place of the `[ ]` or `[x]` of a task."""
    match item:
        case (Paragraph(spans=(Span() as first, *rest)), *more) if first == Span(first.text) and (
            box := _BOX.match(first.text)
        ):
            named = replace(first, text=("☐ " if box[1] == " " else "☑ ") + first.text[box.end() :])
            return (Paragraph((named, *rest)), *more)
        case _:
            return item


def is_task(item: Sequence[Block]) -> bool:
    """Return whether an item begins with a task's box, which replaces the bullet."""
    return bool(item) and isinstance(item[0], Paragraph) and words(item[0].spans).startswith(("☐ ", "☑ "))


def _align(cell: SyntaxTreeNode) -> Align:
    style = str(cell.attrs.get("style", ""))
    return "right" if "right" in style else "center" if "center" in style else "left"


def language(info: str) -> str:
    """Return the name of a fence's language; empty unless one plain word."""
    found = re.match(r"[A-Za-z][\w+#-]{0,19}(?=\s|$)", info.strip())
    return found.group().lower() if found else ""


def _numbers(text: str) -> list[int]:
    """Return the numbers of all marks in a text, in order, repeated ones too."""
    return [int(n) for mark in MARK.finditer(text) for n in re.findall(r"\d+", mark[1])]


def _merged(spans: Iterable[Span]) -> Iterable[Span]:
    """Join neighbours of the same style."""
    for look, group in groupby(spans, lambda span: replace(span, text="")):
        texts = [span.text for span in group]
        for text in texts if look.cites or look.formula else ["".join(texts)]:
            if text:
                yield replace(look, text=_joined(text))


def _joined(text: str) -> str:
    """Join source lines, spaced except between Chinese characters."""
    first, *rest = text.split(_END_OF_LINE)
    for line in rest:
        first += ("" if WIDE.match(first[-1:]) and WIDE.match(line) else " ") + line
    return first


def _address(url: object) -> str:
    """Return the address of a link; empty unless it leads to the web or to mail."""
    text = str(url or "")
    return text if web(text) or re.fullmatch(r"mailto:[^\s<>\"]{1,300}", text) else ""
