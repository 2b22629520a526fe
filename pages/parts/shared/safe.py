"""Foreign text as Markdown for Streamlit: what models, pages and users wrote never becomes an image, an icon or a diagram.

All Markdown that the workbench did not write itself goes through one of these two functions. Streamlit escapes HTML
by itself; `unsafe_allow_html` is never used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from msgspec.structs import replace

from research.exports.blocks import Block, Code, Heading, Items, Paragraph, Quote, Rule, Span, Table, parse

_JOINER = "\u2060"  # invisible; separates characters that have a meaning only together
_DIRECTIVE = re.compile(r":(?=[\w+\-/]+[:\[{])|:(?=:{1,9}\w)")
_AT_END = re.compile(r":(?=[\w+\-/]*$)|!$")
"""What a link after the text would turn into a directive or a picture."""
_MARKUP = re.compile(rf"([\\`*_\[\]<>#|~$!(){{}}&]|:(?={_JOINER}))|^([+-])|(?<=^\d)([.)])|(?<=^\d\d)([.)])")
_ADDRESS = re.compile(r"(https?)(://)|(?<!\w)(www)(\.)", re.I)
_IN_TEXT = re.compile(rf"[\\`*_\[\]<>~$|]|&(?=#?\w+;)|:(?={_JOINER})")
_OPENING = re.compile(r"^[ \t]*(?:([+\-=#])|(\d{1,9})([.)]))?", re.M)
"""What could make a line a heading, a rule, or an item of a list."""
_TOUCHING = "*~`"
_RULES = {"left": "---", "center": ":---:", "right": "---:"}


def prose(text: str) -> str:
    """Rewrite Markdown from a model or a page, so that Streamlit draws what it says and nothing else.

    The text is parsed into the tree from which reports are drawn, and written again from that. So emphasis, lists, tables,
    code, formulas and links to the web stay, a picture becomes a link, because Streamlit would fetch it, and all else
    shows literally: HTML, `:red[…]`, `:material/…:`, and the names of languages, of which Mermaid's draws a diagram.
    """
    return _blocks(parse(text, cited=False))


def _blocks(blocks: Iterable[Block], within: bool = False) -> str:
    """Return blocks; within an item of a list, a list or code follows its paragraph without an empty line."""
    written, before, other = "", None, False
    for block in blocks:
        # a list after a list of the same kind would continue it
        other = (
            not other
            and isinstance(block, Items)
            and isinstance(before, Items)
            and (block.start is None) == (before.start is None)
        )
        piece = _block(block, other)
        tight = (
            within
            and isinstance(before, Paragraph)
            and piece.startswith(("- ", "1. ", "```"))
            and not isinstance(block, Paragraph)
        )
        if piece:
            written += ("\n" if tight else "\n\n" if written else "") + piece
            before = block
    return written


def _block(block: Block, other: bool) -> str:
    match block:
        case Heading(level=level, spans=spans):
            return f"{'#' * level} {_line(spans)}"
        case Paragraph(spans=(Span(formula="display", text=latex),)) if "$" not in latex:
            return f"$$\n{_latex(latex)}\n$$"
        case Paragraph(spans=spans):
            return _OPENING.sub(_literal, _spans(spans)).strip()
        case Code(text=text):
            fence = _fence(text, 3)
            return f"{fence}\n{text}\n{fence}"
        case Rule():
            return "___"
        case Quote(blocks=inner):
            return "\n".join(f"> {line}".rstrip() for line in _blocks(inner).split("\n"))
        case Items(items=items, start=start):
            bullet = "*" if other else "-"
            marks = (bullet if start is None else f"{start + n}{')' if other else '.'}" for n in range(len(items)))
            return "\n".join(_item(mark, _blocks(item, within=True)) for mark, item in zip(marks, items, strict=True))
        case Table(head=head, rows=rows, align=align):
            cells = [[_cell(cell) for cell in row] for row in (head, *rows)]
            first, *rest = (f"| {' | '.join(row)} |" for row in cells)
            return "\n".join([first, f"| {' | '.join(_RULES[each] for each in align)} |", *rest])


def _item(mark: str, content: str) -> str:
    indent = " " * (len(mark) + 1)
    first, *rest = content.split("\n")
    return "\n".join([f"{mark} {first}".rstrip(), *(f"{indent}{line}" if line else "" for line in rest)])


def _literal(match: re.Match[str]) -> str:
    """Escape the beginning of a line, without the spaces before it."""
    sign, number, stop = match.groups()
    return f"\\{sign}" if sign else f"{number}\\{stop}" if number else ""


def _line(spans: Iterable[Span]) -> str:
    """Return the spans of a heading or a cell, which have no line breaks."""
    return _spans(replace(span, text=span.text.replace("\n", " ")) for span in spans).strip()


def _cell(spans: Iterable[Span]) -> str:
    """Return the spans of a cell, which a bar would end; one in a formula becomes a command."""
    drawn = (
        replace(each, text=each.text.replace("\\|", "\\Vert ").replace("|", "\\vert ")) if each.formula else each
        for each in spans
    )
    return _line(drawn).replace("\\|", "|").replace("|", "\\|")


def _spans(spans: Iterable[Span]) -> str:
    written = ""
    for span, after in pairwise([*spans, Span("")]):
        piece = _span(span, linked=bool(after.href))
        # signs that touch would be one longer sign
        written += _JOINER if written[-1:] in _TOUCHING and piece[:1] in _TOUCHING and written and piece else ""
        written += piece
    return written


def _span(span: Span, linked: bool) -> str:
    """Return one span; `linked` tells whether a link follows it."""
    if span.formula:
        return _escaped(span.text) if "$" in span.text else f"${_latex(span.text)}$"
    if span.href and span.text == span.href and not span.code:
        return f"<{span.href}>"
    if span.code:
        ticks = _fence(span.text, 1)
        room = " " if span.text[:1] in "` " or span.text[-1:] in "` " else ""
        written = f"{ticks}{room}{span.text}{room}{ticks}"
    else:
        written = _escaped(_AT_END.sub(rf"\g<0>{_JOINER}", span.text) if linked and not span.href else span.text)
    for drawn, sign in ((span.italic, "*"), (span.bold, "**"), (span.strike, "~~")):
        if drawn and written.strip():
            # beside letters, a sign is emphasis wherever it stands
            side = (
                ""
                if re.match(r"\w", span.text) and re.search(r"\w$", span.text) and written[0] not in "*`"
                else _JOINER
            )
            written = f"{sign}{side}{written}{side}{sign}"
    return f"[{written}](<{span.href}>)" if re.search(r"[()\\]", span.href) else _link(written, span.href)


def _latex(text: str) -> str:
    """Return a formula without what could begin a tag."""
    return text.replace("<", "\\lt ")


def _link(written: str, href: str) -> str:
    target = re.sub(r"&(?=#?\w+;)", "&amp;", href.replace("|", "%7C"))
    return f"[{written}]({target})" if href else written


def _escaped(text: str) -> str:
    return _IN_TEXT.sub(r"\\\g<0>", _DIRECTIVE.sub(f":{_JOINER}", text.replace("![", f"!{_JOINER}[")))


def _fence(text: str, least: int) -> str:
    """Return a run of backticks that the text does not contain."""
    return "`" * max(least, 1 + max((len(run) for run in re.findall("`+", text)), default=0))


def plain(text: str) -> str:
    """Escape one line of text so that it shows literally wherever Streamlit accepts Markdown: titles, labels, errors."""
    line = _DIRECTIVE.sub(f":{_JOINER}", " ".join(text.split()))
    line = _MARKUP.sub(lambda match: f"\\{match.group()}", line)
    # Addresses are recognized once more after the backslashes are read.
    return _ADDRESS.sub(lambda match: f"{match[1] or match[3]}{_JOINER}{match[2] or match[4]}", line)
