"""What the passages say to a question: the sentence that answers best, what the others add, and what none of them says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from research.citations.lexicon import sides
from research.citations.names import is_country, names
from research.extractive.evidence import Fact
from research.extractive.passages import Page, Wanted, keys, mentioned
from research.extractive.prose import Prose
from research.extractive.spans import Kind, counted_in, kind_of, spans, tells_life
from research.extractive.verdict import Reading
from research.text import has_cjk

_LEAST = 0.4
"""The part of a question without names that the documents have to cover."""
_STRANGE = 1 / 3
"""The part of a question that may be names nobody knows; from there on the documents are about something else."""
_SAID = 0.35
"""The part of what is asked that the best sentence, with the one that led to it, has to hold."""
_TOLD = 0.5
"""The same for the whole question: a sentence that has less of it is about another thing, or another matter."""
_ALIKE = 0.8
"""How alike two spellings of a name have to be."""
_INHERITED = 0.5
"""What a word is worth that the sentence which led to a document holds, and not the document's own."""
_OF_KIND = 0.25
"""What it brings that a sentence holds something of the kind that is asked for."""
_WHOLE = 0.3
"""What holding words of the whole question brings, beside those that are asked."""
_CUT = 0.5
"""What it costs that the end of a sentence was not seen."""
_CLOSE = 0.85
"""A second sentence that comes this near to the best one stands beside it."""


class Said(Struct, frozen=True):
    """A sentence, and how well it answers."""

    fact: Fact
    page: Page
    worth: float
    own: frozenset[str]
    """Keys of the question's words that it holds, or its title."""
    held: frozenset[str]
    """These, and those of the sentence that led to its document."""
    reached: bool
    """Its document holds a name of the question, or is spoken of in words of it; else it is about another thing."""


def read(prose: Prose) -> Reading | None:
    """What the chosen documents say; None when they are not about what is asked."""
    pages = [page for page in prose.chosen if page.lines]
    wanted = prose.wanted
    unknown = [name for name in prose.names if not any(_holds(page, name, prose) for page in prose.pages)]
    strange = wanted.share(frozenset[str]().union(*map(keys, unknown)))
    covered = wanted.share(frozenset[str]().union(*(wanted.held(page) for page in pages)))
    if not pages or strange >= _STRANGE or covered < (0.0 if prose.names else _LEAST):
        return None
    kind = kind_of(wanted.text)
    ways = _ways(pages, prose)
    ranked = sorted(
        (said for page in pages for said in _sentences(page, ways.get(page.n), prose, kind)),
        key=lambda said: (not said.reached, -said.worth),
    )
    if not ranked:
        return None
    first = ranked[0]
    beside = [s for s in ranked[1:2] if s.worth >= _CLOSE * first.worth and _goes_with(s.page, first.page, prose)]
    told = {said.page.n for said in (first, *beside)}
    others = {said.page.n: said.fact for said in reversed(ranked) if said.page.n not in told}
    order = [page.n for page in prose.chosen if page.n in others]
    stated = _stated(first, wanted, kind)
    span = _span(first, pages, prose, kind) if stated and (wanted.asked or kind == "whether") else ""
    if kind in ("year", "date", "number") and not span:
        stated = False
    unsaid = wanted.asked - first.held or (frozenset() if stated else wanted.asked)
    return Reading(
        best=(first.fact, *(said.fact for said in beside)),
        others=tuple(others[n] for n in order),
        span=span,
        known=tuple(name for name in prose.names if name not in unknown),
        unknown=tuple(unknown),
        unsaid=tuple(word for at, word in wanted.words.items() if at in unsaid)[::-1],
        stated=stated,
    )


def _stated(said: Said, wanted: Wanted, kind: Kind | None) -> bool:
    """Whether a sentence, with the one that led to it, holds enough of what is asked, and of the whole question.

    The title's words say which thing is meant, not what is asked of it.  In Chinese they count all the same: the word
    that is left there is mostly the kind of the answer (`职业`, `国家`), which an answer does not repeat.  What is counted
    has to stand in the sentence, or its title: a garrison of forty is no number of cannon.  Of two things that share
    something or do not, no sentence has to hold both.
    """
    title = frozenset[str]() if has_cjk(wanted.text) else keys(said.page.title)
    counted = counted_in(wanted)
    return (
        (not counted or bool(counted & said.own))
        and wanted.share(said.held, wanted.asked) >= _SAID
        and wanted.share(said.held, wanted.asked - title) >= _SAID
        and (kind == "whether" or wanted.share(said.held, wanted.words.keys() - wanted.faint) >= _TOLD)
    )


def _ways(pages: Sequence[Page], prose: Prose) -> dict[int, frozenset[str]]:
    """The documents that the question leads to, by number, with the keys of the sentences on the way.

    It leads to those that hold a name of it, and on from there wherever a sentence in its words mentions another.
    """
    ways = {
        page.n: frozenset[str]()
        for page in pages
        if not prose.names or any(_holds(page, name, prose) for name in prose.names)
    }
    reached = [page for page in pages if page.n in ways]
    for page in reached:  # grows while it is gone through
        for other in pages:
            said = _said(page, other, prose)
            if other.n not in ways and said & prose.wanted.asked:
                ways[other.n] = ways[page.n] | said
                reached.append(other)
    for page in reached:  # what holds a name may be spoken of by another that does
        for other in reached:
            if not ways[page.n] and not ways[other.n] and prose.web.link(other, page):
                ways[page.n] = _said(other, page, prose)
    return ways


def _said(page: Page, other: Page, prose: Prose) -> frozenset[str]:
    """The keys of the question's words in what a document says of another; the title counts for what it is about."""
    lines = [fact.line for fact in prose.web.said(page, other)]
    return prose.wanted.held(page, " ".join(lines)) if lines else frozenset()


def _sentences(page: Page, led: frozenset[str] | None, prose: Prose, kind: Kind | None) -> list[Said]:
    """The sentences of a document with what they are worth as the answer; `led` None: nothing led to it."""
    wanted = prose.wanted
    way = led or frozenset[str]()
    found = []
    for fact in page.lines:
        if fact.line.startswith("#") or len(keys(fact.line)) < 2:
            continue
        held = wanted.held(page, fact.line)
        told = f"{fact.line} born died" if fact is page.lines[0] and tells_life(fact.line) else fact.line
        held |= {at for at in wanted.asked - held if sides(wanted.words[at]) & sides(told)}
        share = wanted.share(held, wanted.asked) + _INHERITED * wanted.share(way - held, wanted.asked)
        of_kind = _OF_KIND if spans(kind, fact.line, page.title, wanted, prose.web.known) else 0.0
        worth = share + of_kind + _WHOLE * wanted.share(held | way) - (_CUT if fact.cut else 0.0)
        found.append(Said(fact, page, worth, held, held | way, led is not None))
    return found


def _goes_with(page: Page, first: Page, prose: Prose) -> bool:
    """Whether a sentence may stand beside the best one: of its document, or of another that the question names."""
    return page is first or any(mentioned(page.name, name) for name in prose.names)


def _holds(page: Page, name: str, prose: Prose) -> bool:
    """Whether a document has most of a name by weight, spelt much the same."""
    have = page.keys | prose.wanted.held(page)
    held = {at for at in keys(name) if at in have or any(_alike(at, other) for other in have)}
    return prose.wanted.share(held, keys(name)) > 0.6


def _alike(a: str, b: str) -> bool:
    return min(len(a), len(b)) > 3 and a[0] == b[0] and a.isascii() and SequenceMatcher(None, a, b).ratio() >= _ALIKE


def _span(first: Said, pages: Sequence[Page], prose: Prose, kind: Kind | None) -> str:
    if kind == "whether":
        return _whether(pages, prose)
    found = spans(kind, first.fact.line, first.page.title, prose.wanted, prose.web.known)
    return found[0] if found else ""


def _whether(pages: Sequence[Page], prose: Prose) -> str:
    """`yes` or `no` where it can be told whether two things share what is asked; else nothing."""
    named = [page for page in pages if any(mentioned(page.name, name) for name in prose.names)][:2]
    if len(named) < 2 or not re.search(r"\bboth\b|\bsame\b|都|相同|同一", prose.wanted.text, re.I):
        return ""
    lands = [_lands(page) for page in named]
    asked = {code for _, _, code in names(prose.wanted.text) if is_country(code)}
    if all(lands) and (asked or re.search(r"\bsame (?:country|nation\w*)\b|国", prose.wanted.text)):
        alike = all(asked & land for land in lands) if asked else bool(lands[0] & lands[1])
        return "yes" if alike else "no"
    wanted = prose.wanted
    return "yes" if all(wanted.asked and wanted.asked <= wanted.held(page) for page in named) else ""


def _lands(page: Page) -> frozenset[str]:
    """The countries that the first sentence of a document names."""
    return frozenset(code for fact in page.lines[:1] for _, _, code in names(fact.line) if is_country(code))
