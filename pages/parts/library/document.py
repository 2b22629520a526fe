"""A document of the library with its quoted passage highlighted."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import streamlit as st

from pages.parts.library import collections
from pages.parts.shared import address, cite
from pages.parts.shared.language import current, t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import count
from research._util.retold import retold
from research.citations.marks import around_code
from research.errors import ToolError
from research.search.library.library import Library

MARKDOWN = (".md", ".markdown")
"""Ends of the addresses of documents that are shown with their formatting."""
_OPENING = re.compile(r"[ \t]*(?:(?:#{1,6}|[-*+]|\d+[.)]|>)[ \t]+)*")
"""What makes a line a heading, an item of a list or a quotation."""
_FROM, _TO = "\u2e28", "\u2e29"
"""Signs around highlighted words while a document is parsed: brackets that are removed from it before."""
_SIDES = re.compile(f"[{_FROM}{_TO}]")
PART = 30_000
"""Characters drawn at a time."""


def draw(library: Library, url: str, quote: str = "") -> None:
    """Draw one part of the document, at first the one with the quote, with the quoted lines highlighted."""
    address.link(t("Back to the library"), "document-back", ":material/arrow_back:", doc="", quote="", part="")
    try:
        document = library.open(url)
    except ToolError as error:
        st.error(plain(str(error)), title=t("Document not found"))
        return
    st.title(plain(document.title), anchor=False)
    collection = collections.title(library.collection_of(url))
    said = [collection, document.url, *(retold(note, current()) for note in document.notes.splitlines())]
    st.caption(plain(" · ".join(said)))
    formatted = url.lower().endswith(MARKDOWN)
    lines = [
        piece for line in document.text.splitlines() for piece in _pieces(line if formatted else " ".join(line.split()))
    ]
    wanted = [" ".join(line.split()) for line in quote.splitlines() if line.strip()]
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
            st.markdown(_formatted(lines, marked, parts[chosen]), anchors=False)
        else:
            # Two spaces keep the line breaks of the source; an empty line still separates paragraphs.
            st.markdown("  \n".join(_line(lines[index], index in marked) for index in parts[chosen]))
    _turn(chosen, len(parts), "bottom")


def _line(line: str, marked: bool) -> str:
    return f":primary-background[{plain(line)}]" if marked else plain(line)


def _formatted(lines: Sequence[str], marked: Collection[int], part: range) -> str:
    """Return a Markdown document with its formatting; a highlighted line keeps its place in a list, a heading or a table."""
    text = "\n".join(_highlighted(lines[n]) if n in marked else _SIDES.sub("", lines[n]) for n in part)
    return around_code(
        prose(text),
        lambda words: words.replace(_FROM, ":primary-background[").replace(_TO, "]"),
        lambda code: _SIDES.sub("", code),
    )


def _highlighted(line: str) -> str:
    """Return a line with signs around its words, or around those of each of its cells."""
    bare = _SIDES.sub("", line)
    if bare.lstrip().startswith("|"):
        return re.sub(r"(?<=\|)[ \t]*([^|\s](?:[^|]*[^|\s])?)[ \t]*(?=\|)", rf" {_FROM}\1{_TO} ", bare)
    found = _OPENING.match(bare)
    assert found is not None, "the pattern also matches nothing"
    return f"{found[0]}{_FROM}{bare[found.end() :]}{_TO}"


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
    pieces = [piece.strip() for piece in quote.split("…") if len(piece.strip()) > 3]
    return bool(pieces) and (all(piece in line for piece in pieces) or (len(line) > 20 and line in quote))
