"""A Word document as Markdown with its links, footnotes and superscripts."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_FIELD = re.compile(r'HYPERLINK\s{1,9}"([^"]{1,2000})"')
_NOTES = {"footnotes": "", "endnotes": "e"}


def markdown(data: bytes) -> str:
    """Return the document's text; notes follow as `[^1]: …`."""
    import docx

    document = docx.Document(io.BytesIO(data))
    names = {each.style_id: each.name or "" for each in document.styles}
    counters: Counter[str] = Counter()
    blocks = []
    for child in document.element.body.iterchildren():
        if child.tag == f"{_W}p":
            blocks.append(_paragraph(child, names, counters, document, _links(document.part)))
        elif child.tag == f"{_W}tbl":
            blocks.append(_table(child, _links(document.part)))
    return "\n\n".join([*filter(None, blocks), *_notes(document)])


def _links(part: Any) -> dict[str, str]:
    """Return the targets of a part's links by their id."""
    return {key: rel.target_ref for key, rel in part.rels.items() if rel.is_external}


def _paragraph(
    element: _Element, names: dict[str, str], counters: Counter[str], document: Document, links: dict[str, str]
) -> str:
    text = " ".join("".join(_runs(element, links)).split())
    if not text:
        return ""
    style = next((names.get(each.get(f"{_W}val", ""), "") for each in element.iter(f"{_W}pStyle")), "")
    if style == "Title" or re.fullmatch(r"Heading [1-6]", style):
        return f"{'#' * (1 if style == 'Title' else int(style[-1]))} {text}"
    listed = next((each.get(f"{_W}val", "") for each in element.iter(f"{_W}numId")), "")
    if style.startswith("List Number") or (listed and _numbered(document, listed)):
        counters[listed or style] += 1
        return f"{counters[listed or style]}. {text}"
    return f"- {text}" if style.startswith("List") or listed else text


def _numbered(document: Document, listed: str) -> bool:
    """Return whether the first level of a list counts its items."""
    try:
        numbering = document.part.numbering_part.element
    except (KeyError, NotImplementedError):
        return False
    place = numbering.find(f"{_W}num[@{_W}numId='{listed}']/{_W}abstractNumId") if listed.isdigit() else None
    if place is None:
        return False
    which = place.get(f"{_W}val", "")
    found = numbering.find(f"{_W}abstractNum[@{_W}abstractNumId='{which}']/{_W}lvl/{_W}numFmt")
    return found is not None and found.get(f"{_W}val") == "decimal"


def _runs(element: _Element, links: dict[str, str]) -> Iterator[str]:
    """Yield the text of a paragraph's runs; a link is `[words](target)`."""
    field, shown = "", ""
    for child in element.iterchildren():
        if child.tag == f"{_W}hyperlink":
            words, target = "".join(_runs(child, links)), links.get(child.get(f"{_R}id", ""), "")
            yield f"[{words.strip()}]({target})" if target and words.strip() else words
        elif child.tag in (f"{_W}ins", f"{_W}smartTag", f"{_W}fldSimple", f"{_W}sdt", f"{_W}sdtContent"):
            yield from _runs(child, links)
        elif child.tag == f"{_W}r":
            for code in child.iter(f"{_W}instrText"):
                found = _FIELD.search(code.text or "")
                field = found[1] if found else field
            ends = any(each.get(f"{_W}fldCharType") == "end" for each in child.iter(f"{_W}fldChar"))
            text = _run(child)
            if field and not ends:
                shown += text
                continue
            if field:
                text, field, shown = (f"[{shown.strip()}]({field})" if shown.strip() else "") + text, "", ""
            yield text
    yield shown


def _run(run: _Element) -> str:
    raised = any(each.get(f"{_W}val") == "superscript" for each in run.iter(f"{_W}vertAlign"))
    found = ""
    for child in run.iterchildren():
        if child.tag == f"{_W}t":
            found += child.text or ""
        elif child.tag in (f"{_W}tab", f"{_W}br", f"{_W}cr"):
            found += " "
        elif child.tag in (f"{_W}footnoteReference", f"{_W}endnoteReference"):
            return f"[^{'e' if child.tag.endswith('endnoteReference') else ''}{child.get(f'{_W}id', '')}]"
    return (
        f"<sup>{found.strip()}</sup>"
        if raised and re.fullmatch(r"\s{0,9}\[?\d[\d,;\s–-]{0,40}\]?\s{0,9}", found)
        else found
    )


def _table(element: _Element, links: dict[str, str]) -> str:
    rows = []
    for row in element.iterchildren(f"{_W}tr"):
        cells = []
        for cell in row.iterchildren(f"{_W}tc"):
            words = " ".join("".join(_runs(each, links)) for each in cell.iter(f"{_W}p"))
            cells.append(" ".join(words.split()).replace("|", "/"))
        rows.append(f"| {' | '.join(cells)} |")
    if rows:
        rows.insert(1, "|" + " --- |" * (rows[0].count("|") - 1))
    return "\n".join(rows)


def _notes(document: Document) -> Iterator[str]:
    from lxml import etree

    for rel in document.part.rels.values():
        kind = rel.reltype.rpartition("/")[2]
        if kind not in _NOTES or rel.is_external:
            continue
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        for note in etree.fromstring(rel.target_part.blob, parser):
            text = " ".join("".join("".join(_runs(p, _links(rel.target_part))) for p in note.iter(f"{_W}p")).split())
            if text:
                yield f"[^{_NOTES[kind]}{note.get(f'{_W}id', '')}]: {text}"
