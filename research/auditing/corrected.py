"""A corrected copy of a report: contradicted statements are struck, and those that are not confirmed are listed once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from research._util.said import say
from research.auditing import styles
from research.auditing.pieces import Line, Piece
from research.citations import without_marks
from research.citations.marks import row_text
from research.errors import ConfigError
from research.events.audit_findings import HOLDS, AuditedStatement
from research.events.view import RunView
from research.text import clip

KINDS = (".md", ".docx")


def kind_of(path: Path) -> str:
    """Return the format of a file's name.  Raises `ConfigError`."""
    if path.suffix.lower() not in KINDS:
        raise ConfigError(f"{path}: a corrected copy is written as {' or '.join(KINDS)}")
    return path.suffix.lower()


def make(view: RunView, kind: str = ".md") -> bytes:
    """Return the corrected copy of the report that a run has checked.  Raises `ConfigError` for any other run."""
    lines = list(corrected(view))
    if kind == ".docx":
        from research.auditing.tracked import document

        return document(lines, view.given.title if view.given else "")
    return ("\n".join(map(_markdown, lines)).rstrip() + "\n").encode()


def corrected(view: RunView) -> Iterator[Line]:
    """Yield the lines of the corrected copy, then the sources.  Raises `ConfigError` if the run checked no report."""
    if view.given is None:
        raise ConfigError(f"run {view.run} did not check a report; only `audit` makes a corrected copy")
    report = styles.read(view.given.text)
    by_text = {each.text: each for each in view.statements.values()}
    wrong: dict[str, AuditedStatement] = {}
    for statement in report.statements:
        found = by_text.get(clip(without_marks(statement.text), 2_000))
        if found is not None and found.verdict == "contradicted":
            wrong[statement.text] = found
    for line in report.body.splitlines():
        yield _line(line, wrong)
    if unsure := [text for text, each in by_text.items() if each.verdict not in (*HOLDS, "contradicted")]:
        yield Line((Piece(""),))
        yield Line((Piece(say("Neither confirmed nor contradicted")),), 2)
        yield Line((Piece(""),))
        yield from (Line((Piece(text),), bullet="- ") for text in unsure)
    if view.audited:
        yield Line((Piece(""),))
        yield Line((Piece(say("Sources")),), 2)
        yield Line((Piece(""),))
        for each in view.audited.values():
            state = "" if each.state in ("reachable", "not_asked") else f" ({each.state.replace('_', ' ')})"
            address = f" {each.url}" if each.url and each.url != each.name else ""
            yield Line((Piece(f"{each.name}{address}{state}"),), bullet=f"[{each.n}] ")


_LEAD = re.compile(r"(\s{0,20}(?:>\s{0,9})*(?:(?:[-*+•·]|\(?\d{1,3}[.)、])\s{1,9})?)(.*)", re.S)


def _line(line: str, wrong: Mapping[str, AuditedStatement]) -> Line:
    heading = re.match(r"\s{0,3}(#{1,6})\s{1,9}(.*)", line)
    if heading:
        found = wrong.get(heading[2].strip())
        pieces = tuple(_pieces(heading[2], found)) if found else (Piece(heading[2]),)
        return Line(pieces, len(heading[1]))
    if line.strip().startswith("|"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        return Line(tuple(_row(cells)) if row_text(cells) in wrong else (Piece(line),))
    lead = _LEAD.fullmatch(line)
    bullet, text = (lead[1], lead[2]) if lead else ("", line)
    return Line(tuple(_sentences(text, wrong)), bullet=bullet)


def _row(cells: list[str]) -> Iterator[Piece]:
    for cell in cells:
        yield Piece("| ")
        yield Piece(cell, "deleted" if re.search(r"\w", cell) else "")
        yield Piece(" ")
    yield Piece("|")


def _sentences(text: str, wrong: Mapping[str, AuditedStatement]) -> Iterator[Piece]:
    """Yield a line with its contradicted sentences changed."""
    from research._util.sentences import sentences_of

    at = 0
    for sentence in sentences_of(text):
        start = text.find(sentence, at)
        found = wrong.get(sentence)
        if start < 0 or found is None:
            continue
        yield Piece(text[at:start])
        yield from _pieces(sentence, found)
        at = start + len(sentence)
    yield Piece(text[at:])


def _pieces(text: str, each: AuditedStatement) -> Iterator[Piece]:
    yield Piece(text, "deleted")
    if each.correction:
        yield Piece(f" [{each.correction}]", "inserted")


def _markdown(line: Line) -> str:
    found = line.bullet
    for piece in line.pieces:
        if piece.change == "deleted" and piece.text.strip():
            found += f"~~{piece.text.strip()}~~"
        elif piece.change == "inserted" and piece.text.strip():
            found += f" **{piece.text.strip()}**"
        else:
            found += piece.text
    return f"{'#' * line.level} {found}" if line.level else found
