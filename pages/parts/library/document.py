"""A document of the library with its quoted passage highlighted."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from urllib.parse import unquote

import streamlit as st

from pages.parts.library import collections
from pages.parts.shared import address, cite, component
from pages.parts.shared.language import current, spoken, t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import count
from research._util.retold import retold, said_line
from research._util.sentences import unwrapped
from research.citations.marks import around_code
from research.defaults import FACTBOOK
from research.errors import ToolError
from research.search.library.documents import Library
from research.search.library.factbook import Document

MARKDOWN, PLAIN = (".md", ".markdown"), (".txt",)
"""Suffixes of documents whose lines are drawn as written: as Markdown, or as text. Other files are read as Markdown,
with the lines of their pages.
"""
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Suffixes of workbooks, whose sheets are headed by their names."""
_BLOCK = re.compile(r"\s*(?:[|#>`~*+-]|\d+[.)]\s|$)")
"""A line that is not a separate paragraph."""
_MARKUP = re.compile(r"[*_`$<>\[\]]")
_OPENING = re.compile(r"[ \t]*(?:(?:#{1,6}|[-*+]|\d+[.)]|>)[ \t]+)*")
"""Marks of a heading, a list item or a quotation."""
_FROM, _TO = "\u2e28", "\u2e29"
"""Signs around highlighted words during parsing: brackets, removed from the document before."""
_SIDES = re.compile(f"[{_FROM}{_TO}]")
PART = 30_000
"""Characters drawn at a time."""


def draw(library: Library, url: str, quote: str = "") -> None:
    """Draw one part of the document, at first the one with the quote, with the quoted lines highlighted."""
    head = st.container(key="document-head", gap="xxsmall")  # stays in sight, because the page scrolls to the quote
    with head:
        address.link(t("Back to the library"), "document-back", ":material/arrow_back:", doc="", quote="", part="")
    try:
        document = library.open(url)
    except ToolError as error:
        st.error(plain(spoken(error)), title=t("Document not found"))
        return
    head.title(plain(document.title), anchor=False)
    collection = collections.title(library.collection_of(url))
    said = [collection, *_file(document.url), *(retold(note, current()) for note in document.notes.splitlines())]
    st.caption(plain(" · ".join(said)))
    of_book = url.startswith(f"library://{FACTBOOK}/")
    formatted = not of_book and not url.lower().endswith(PLAIN)
    lines = _with_sheets(library, document).splitlines()
    if not url.lower().endswith(MARKDOWN):
        lines = [" ".join(line.split()) for line in lines]
        lines = lines if of_book else _paragraphs(unwrapped(lines))
    if formatted and lines and lines[0].lstrip("# ") == document.title:
        lines = lines[1:]  # it is the title of the page
    lines = [piece for line in lines for piece in _pieces(line)]
    wanted = [" ".join(line.split()) for line in [*quote.splitlines(), quote] if line.strip()]
    marked = {index for index, line in enumerate(lines) for want in wanted if _holds(" ".join(line.split()), want)}
    parts = _parts(lines)
    of_quote = next((place for place, part in enumerate(parts) if marked.intersection(part)), 0)
    chosen = min(address.number("part"), len(parts) - 1) if "part" in st.query_params else of_quote
    if wanted and marked:
        note = t(
            "The quoted passage is highlighted ({marked} of {n}).",
            marked=count(len(marked), "line"),
            n=f"{len(lines):,}",
        )
        st.caption(note if chosen == of_quote else f"{note} {t('It starts in part {part}.', part=of_quote + 1)}")
    elif wanted:
        st.caption(t("Quoted passage:"))
        cite.quoted(quote)
    _turn(chosen, len(parts), "top")
    with st.container(key="document", width=760):
        if formatted:
            st.markdown(_formatted(lines, marked, parts[chosen], wanted), anchors=False)
        else:
            # Two spaces keep the line breaks of the source; an empty line still separates paragraphs.
            texts = (_highlighted(lines[n], wanted) if n in marked else _SIDES.sub("", lines[n]) for n in parts[chosen])
            st.markdown(_drawn("  \n".join(map(plain, texts))))
    if marked.intersection(parts[chosen]):
        component.draw(f"document-quote-{chosen}", {"kind": "quote"})
    _turn(chosen, len(parts), "bottom")


def _with_sheets(library: Library, document: Document) -> str:
    """Return the text of a document; of a workbook, with the name of each of its sheets above it."""
    text = document.text
    if document.url.lower().endswith(SHEETS):
        for start, name in reversed(library.places(document.url)):
            text = f"{text[:start]}## {name}\n\n{text[start:]}"
    return text


def _file(url: str) -> list[str]:
    """Return a file's path in its folder, as its user named it, or a web page's address; empty for the Factbook."""
    if not url.startswith("library://"):
        return [url]
    return [] if url.startswith(f"library://{FACTBOOK}/") else [unquote(url.partition("://")[2].partition("/")[2])]


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Return lines of text separated by empty lines, except in code, because Markdown would join them."""
    found: list[str] = []
    code = False
    for line in lines:
        if found and not code and not _BLOCK.match(line) and not _BLOCK.match(found[-1]):
            found.append("")
        code ^= line.startswith(("```", "~~~"))
        found.append(line)
    return found


def _formatted(lines: Sequence[str], marked: Collection[int], part: range, wanted: Sequence[str]) -> str:
    """Return a Markdown document with its formatting; a highlighted line keeps its place in a list, a heading or a table."""
    text = "\n".join(
        said_line(_highlighted(lines[n], wanted) if n in marked else _SIDES.sub("", lines[n]), current()) for n in part
    )
    return around_code(prose(text), _drawn, lambda code: _SIDES.sub("", code))


def _drawn(words: str) -> str:
    return words.replace(_FROM, ":primary-background[").replace(_TO, "]")


def _highlighted(line: str, wanted: Sequence[str]) -> str:
    """Return a line with signs around the quoted words, or all its words, or those of each cell."""
    bare = _SIDES.sub("", line)
    if bare.lstrip().startswith("|"):
        return re.sub(r"(?<=\|)[ \t]*([^|\s](?:[^|]*[^|\s])?)[ \t]*(?=\|)", rf" {_FROM}\1{_TO} ", bare)
    found = _OPENING.match(bare)
    assert found is not None, "the pattern also matches nothing"
    start, end = max((_place(bare, want) for want in wanted), key=lambda each: each[1] - each[0], default=(0, 0))
    if start >= end or start < found.end() or _MARKUP.search(bare[start:end]):  # half of an emphasis cannot be marked
        start, end = found.end(), len(bare)
    return f"{bare[:start]}{_FROM}{bare[start:end]}{_TO}{bare[end:]}"


def _place(line: str, quote: str) -> tuple[int, int]:
    """Return where the quote is in the line, first to last piece; (0, 0) if absent."""
    pieces = _quoted(quote)
    if not pieces or not all(piece in line for piece in pieces):
        return 0, 0
    start = line.index(pieces[0])
    return start, line.find(pieces[-1], start) + len(pieces[-1])


def _pieces(line: str) -> list[str]:
    """Split a line that is longer than a part."""
    return [line[start : start + PART] for start in range(0, len(line), PART)] or [""]


def _parts(lines: list[str]) -> list[range]:
    """Return the line numbers of each part."""
    parts, begin, size = [], 0, 0
    for index, line in enumerate(lines):
        if size + len(line) > PART and index > begin:
            parts.append(range(begin, index))
            begin, size = index, 0
        size += len(line) + 1
    return [*parts, range(begin, len(lines))]


def _turn(chosen: int, total: int, place: str) -> None:
    if total < 2:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            t("Previous part"),
            key=f"part-previous-{place}",
            icon=":material/chevron_left:",
            disabled=not chosen,
            on_click=address.put,
            args=("part", str(chosen)),
        )
        st.caption(t("Part {number} of {total}", number=chosen + 1, total=total), width="content")
        st.button(
            t("Next part"),
            key=f"part-next-{place}",
            icon=":material/chevron_right:",
            disabled=chosen + 1 == total,
            on_click=address.put,
            args=("part", str(chosen + 2)),
        )


def _holds(line: str, quote: str) -> bool:
    """Return whether the line contains the quote, which may be shortened at either end or span several lines."""
    pieces = _quoted(quote)
    return bool(pieces) and (all(piece in line for piece in pieces) or (len(line) > 20 and line in quote))


def _quoted(quote: str) -> list[str]:
    """Return the pieces of a quote between omissions."""
    return [piece.strip() for piece in quote.split("…") if len(piece.strip()) > 3]
