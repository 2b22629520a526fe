"""A report as data for the component: the tree that the exports draw too, with one citation mark for each statement."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

from msgspec.structs import replace

from pages.parts.shared import cite
from pages.parts.shared.language import browsers, current, t
from pages.parts.shared.words import VERDICT_NAMES
from research._util.retold import said_lines
from research.compare.diff import Block as Changed
from research.compare.diff import words as compared
from research.events.view import RunView
from research.exports.blocks import (
    UNSOURCED,
    Block,
    Code,
    Heading,
    Items,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
    content,
    parse,
    words,
)
from research.exports.csl_json import web
from research.exports.formulas import Sign, formula, size
from research.exports.progress import quiet
from research.text import clip, language_of
from research.types import WORST, Citation, Source, Verdict

Data = dict[str, Any]

MARKS: Final = 250
"""Maximum number of citation marks that open; later ones show their numbers."""
SPANS: Final = 9_000
"""Maximum number of pieces of text, cells and items that are drawn: a browser has to hold them all."""
LINES: Final = 12
"""Maximum number of lines of a quote beside the text; the card of its source has all of them."""
BEFORE: Final = 2_000
"""Maximum characters of an earlier wording."""
_NONE: Final = (0, "")
"""Placeholder for the source of an unsourced statement."""


class Reader:
    """Collects the blocks of one report with its marks; `view` has the numbers of the reader (`by_first_use`)."""

    def __init__(self, view: RunView, left: tuple[int, int] = (SPANS, MARKS)) -> None:
        """`left` limits the pieces of text and the marks, of a report that is drawn in parts."""
        self._view = view
        self._checked: dict[tuple[int, str], Citation] = {(each.n, each.claim): each for each in view.citations}
        self._of: dict[int, list[Citation]] = defaultdict(list)
        for each in view.citations:
            self._of[each.n].append(each)
        self._codes = {
            _bare(str(call.call.arguments.get("code", "")))
            for current in view.rounds
            for call in current.calls
            if call.call.name == "python"
        } - {""}
        self._marks: list[Data] = []
        self._cites: list[Data] = []
        self._known: dict[tuple[int, str], int] = {}
        self._left, self._most = left

    @property
    def full(self) -> bool:
        """Return whether some of the report was left out."""
        return self._left < 0

    @property
    def left(self) -> tuple[int, int]:
        """Return how many pieces and marks another part of the report may have."""
        return self._left, self._most - len(self._marks)

    def data(self, laid_out: Sequence[Changed]) -> Data:
        """Return the report for the component; changed statements are marked."""
        blocks: list[Data] = []
        joined: list[str] = []
        for each in laid_out:
            if each.state == "removed":
                continue
            if each.state == "same":
                joined.append(each.text)
                continue
            blocks += self._same(joined)
            joined = []
            blocks += self._changed(each)
        blocks += self._same(joined)
        return self._data(blocks, " ".join(each.text[:300] for each in laid_out[:3]))

    def draft(self, passages: Sequence[str]) -> Data:
        """Return passages of an unchecked report for the component; one that was parsed before is not parsed again."""
        blocks = [block for each in passages for block in self._blocks(_parsed(each))]
        return self._data(blocks, " ".join(each[:300] for each in passages[:3]))

    def _data(self, blocks: list[Data], said: str) -> Data:
        return {
            "kind": "report",
            "lang": "zh-CN" if language_of(said) == "zh" else "en",
            "blocks": blocks,
            "marks": self._marks,
            "cites": self._cites,
            "words": {"calculation": t("Show the calculation"), "before": t("Previous wording")},
        }

    def _same(self, texts: Sequence[str]) -> list[Data]:
        return self._blocks(self._tree("\n\n".join(texts))) if texts else []

    def _tree(self, text: str) -> tuple[Block, ...]:
        return parse(text, self._view.citations, uncited=self._view.uncited)

    def _changed(self, each: Changed) -> list[Data]:
        parsed = self._tree(each.text)
        before = content(parse(each.before)) if each.before else ""
        found = self._blocks(parsed, before)
        for block in found[:1]:
            block["state"] = each.state
            block["says"] = t("new") if each.state == "added" else t("changed")
            if before:
                block["before"] = clip(before, BEFORE)
        return found

    def _blocks(self, blocks: Iterable[Block], before: str = "") -> list[Data]:
        found = []
        for block in blocks:
            if self._left < 0:
                break
            found.append(self._block(block, before))
        return found

    def _block(self, block: Block, before: str) -> Data:
        self._left -= 1
        match block:
            case Heading(level=level, spans=spans):
                return {"t": "h", "l": level, "s": self._spans(spans, before)}
            case Paragraph(spans=spans):
                ran = any(span.code and _bare(span.text) in self._codes for span in spans)
                return {"t": "calc" if ran else "p", "s": self._spans(spans, before)}
            case Code(text=text):
                if _bare(text) in self._codes:
                    return {"t": "calc", "s": [{"x": text, "c": 1}]}
                return {"t": "code", "x": text}
            case Rule():
                return {"t": "hr"}
            case Quote(blocks=inner):
                return {"t": "q", "b": self._blocks(inner, before)}
            case Items(items=items, start=start):
                kind: Data = {"t": "ul"} if start is None else {"t": "ol", "start": start}
                return {**kind, "items": [self._blocks(item, before) for item in items if self._left >= 0]}
            case Table(head=head, rows=rows, align=align):
                drawn = [[self._spans(cell) for cell in row] for row in rows if self._left >= 0]
                return {"t": "table", "head": [self._spans(cell) for cell in head], "rows": drawn, "align": list(align)}

    def _spans(self, spans: Sequence[Span], before: str = "") -> list[Any]:
        """Return the pieces of a paragraph; the marks of one statement become one, where its last mark is."""
        pieces = list(_fresh(spans, before)) if before else [(span, False) for span in spans]
        self._left -= 1 + len(pieces)
        groups: dict[int, list[Span]] = {}
        last = -1
        for place, (span, _) in enumerate(pieces):
            if span.cites:
                together = last >= 0 and (groups[last][-1].claim == span.claim or last == place - 1)
                groups[place] = [*groups.pop(last), span] if together else [span]
                last = place
        found: list[Any] = []
        for place, (span, new) in enumerate(pieces):
            if place in groups:
                found.append(self._mark(groups[place]))
            elif span.unsourced:
                found.append(self._unsourced())
            elif not span.cites:
                follows = place + 1 < len(pieces) and pieces[place + 1][0].cites
                text = span.text.rstrip(" ") if follows else span.text
                if follows and place + 1 in groups and text != span.text:
                    text += "\u202f"  # keeps the mark on the line of its statement
                made = formula(span.text, span.formula == "display") if span.formula else None
                if made:
                    self._left -= size(made)
                    found.append({"f": _signs(made), **({"d": 1} if span.formula == "display" else {})})
                else:
                    found += _pieces(replace(span, text=text), new)
        return found

    def _mark(self, group: Sequence[Span]) -> Any:
        numbers = list(dict.fromkeys(span.cites for span in group))
        if len(self._marks) >= self._most:
            return f"[{', '.join(map(str, numbers))}]"
        found = [(n, self._citation(n, next(s.claim for s in group if s.cites == n))) for n in numbers]
        verdict = self._verdict(found)
        named = ", ".join(map(str, numbers))
        label = (
            t("Citation {numbers}: {verdict}", numbers=named, verdict=t(VERDICT_NAMES[verdict]))
            if verdict
            else t("Citation {numbers}", numbers=named)
        )
        cites = [self._cite(n, citation) for n, citation in found]
        self._marks.append({"n": numbers, "v": verdict, "label": label, "c": list(dict.fromkeys(cites))})
        return {"m": len(self._marks) - 1}

    def _unsourced(self) -> Any:
        """Return the mark of a statement without a source."""
        if len(self._marks) >= self._most:
            return UNSOURCED
        if _NONE not in self._known:
            says = t("No source: nothing is cited for this statement.")
            self._known[_NONE] = len(self._cites)
            self._cites.append(
                {"n": 0, "title": "", "quote": [], "v": "unsourced", "says": says, "notes": [], "links": []}
            )
        self._marks.append({"n": [], "v": "unsourced", "label": t("No source"), "c": [self._known[_NONE]]})
        return {"m": len(self._marks) - 1}

    def _citation(self, n: int, claim: str) -> Citation | None:
        own = self._of[n]
        return self._checked.get((n, claim)) or (own[0] if len({each.status for each in own}) == 1 else None)

    def _verdict(self, found: Sequence[tuple[int, Citation | None]]) -> str:
        given = [citation for _, citation in found if citation and not quiet(self._view.outcome, citation)]
        statuses: set[Verdict] = {citation.status for citation in given}
        if any(n not in self._view.sources for n, _ in found):
            statuses.add("dead")
        return next((each for each in WORST if each in statuses), "")

    def _cite(self, n: int, citation: Citation | None) -> int:
        key = (n, citation.claim if citation else "")
        if key not in self._known:
            self._known[key] = len(self._cites)
            self._cites.append(self._details(n, citation))
        return self._known[key]

    def _details(self, n: int, citation: Citation | None) -> Data:
        known = n in self._view.sources
        verdict = "" if known else "dead"
        if citation and not quiet(self._view.outcome, citation):
            verdict = citation.status
        says = cite.sentence(verdict, cite.reason_text(citation) if citation else "") if verdict else ""
        if not known:
            return {"n": n, "title": "", "quote": [], "v": verdict, "says": says, "notes": [], "links": []}
        source = self._view.source(n, citation.quote if citation else "")
        quote = clip(source.quote, cite.QUOTE)
        notes = cite.opinions(citation) if citation and citation.judgements else []
        if source.memory:
            notes.append(t("from memory"))
        notes += cite.notes(source)
        return {
            "n": n,
            "title": clip(source.title, cite.TITLE),
            "quote": said_lines(quote, current())[:LINES],
            "v": verdict,
            "says": says,
            "notes": notes,
            "links": _links(source, quote),
        }


@lru_cache(maxsize=512)
def _parsed(passage: str) -> tuple[Block, ...]:
    return parse(passage)


def _links(source: Source, quote: str) -> list[tuple[str, str]]:
    """Return the links of a source, as (label, address): a page of this app for a document of the library."""
    found = []
    own = {"lang": current()} if current() != browsers() else {}
    for url in source.addresses:
        if url.startswith("library://"):
            found.append((t("Open in the library"), f"library?{urlencode({'doc': url, 'quote': quote, **own})}"))
        elif web(url):
            found.append((clip(url, 80), url))
    if source.memory and cite.may_open_memory():
        found.append((t("Open the memory entry"), f"memory?{urlencode({'entry': source.memory, **own})}"))
    return found


def _pieces(span: Span, new: bool) -> list[Any]:
    """Return the text of a span with its looks, and its line breaks."""
    looks: Data = {
        **({"b": 1} if span.bold else {}),
        **({"i": 1} if span.italic else {}),
        **({"s": 1} if span.strike else {}),
        **({"c": 1} if span.code else {}),
        **({"h": span.href} if span.href else {}),
        **({"new": 1} if new else {}),
    }
    found: list[Any] = []
    for number, line in enumerate(span.text.split("\n")):
        if number:
            found.append({"br": 1})
        if line:
            found.append({"x": line, **looks} if looks else line)
    return found


def _signs(sign: Sign) -> Data:
    """Return a formula as data: an element of MathML with its attributes, its text and its parts."""
    return {
        "t": sign.tag,
        **({"a": dict(sign.looks)} if sign.looks else {}),
        **({"x": sign.text} if sign.text else {}),
        **({"b": [_signs(each) for each in sign.inner]} if sign.inner else {}),
    }


def _fresh(spans: Sequence[Span], before: str) -> Iterable[tuple[Span, bool]]:
    """Yield the spans, cut where words are new compared with an earlier wording."""
    cuts: list[tuple[int, bool]] = []  # where a stretch ends, and whether it is new
    at = 0
    for piece in compared(before, words(spans)):
        if piece.state != "removed":
            at += len(piece.text)
            cuts.append((at, piece.state == "added"))
    at, place = 0, 0
    for span in spans:
        if span.cites or span.formula or span.unsourced:
            at += len(span.text)
            yield span, False
            continue
        start, end = at, at + len(span.text)
        while start < end:
            while place < len(cuts) and cuts[place][0] <= start:
                place += 1
            until, new = cuts[place] if place < len(cuts) else (end, False)
            stop = min(end, until)
            yield replace(span, text=span.text[start - at : stop - at]), new
            start = stop
        at = end


def _bare(code: str) -> str:
    """Return code without white space and semicolons, to recognise it on one line of a report."""
    return re.sub(r"[\s;]+", "", code)
