"""Answer from passages of prose: the best sentence, what other documents add, and what none of them states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from research.answers.kinds import Kind, kind_of
from research.citations.lexicon import sides
from research.citations.names import is_country, names
from research.models.extractive.choosing import Choice, choose
from research.models.extractive.evidence import Fact
from research.models.extractive.passages import Page, Wanted, keys, mentioned
from research.models.extractive.prose import Prose
from research.models.extractive.spans import counted_in, spans, tells_life
from research.models.extractive.verdict import Reading
from research.text import has_cjk

_LEAST = 0.4
"""Share of a question without names that the documents must cover."""
_STRANGE = 1 / 3
"""From this share of unknown names in a question on, the documents are about something else."""
_STATED_ASKED = 0.35
"""Share of the words asked about that the best sentence must contain, with the sentence that led to it."""
_STATED_WHOLE = 0.5
"""The same for the whole question: a sentence with less of it is about another thing or another matter."""
_ALIKE = 0.8
"""Lowest similarity of two spellings of a name."""
_INHERITED = 0.5
"""Weight of a word that is only in the sentence that led to the document."""
_OF_KIND = 0.25
"""Bonus for a sentence with something of the kind that is asked for."""
_WHOLE = 0.3
"""Weight of the words of the whole question, in addition to those asked about."""
_CUT = 0.5
"""Penalty for a truncated sentence."""
_CLOSE = 0.85
"""A second sentence with at least this share of the best score is quoted too."""


class Candidate(Struct, frozen=True):
    """A sentence with its score as an answer."""

    fact: Fact
    page: Page
    worth: float
    own: frozenset[str]
    """Keys of the question's words in the sentence or its title."""
    held: frozenset[str]
    """These, and those in the sentence that led to its document."""
    reached: bool
    """Whether its document contains a name of the question, or another one mentions it in words of the question."""


def read(prose: Prose) -> Reading | None:
    """Return the answer from the chosen documents; None if they are about something else."""
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
    choice = choose(prose)
    if choice:
        return _chosen(choice, ranked, prose, unknown)
    beside = [s for s in ranked[1:2] if s.worth >= _CLOSE * first.worth and _goes_with(s.page, first.page, prose)]
    quoted = {said.page.n for said in (first, *beside)}
    others = {said.page.n: said.fact for said in reversed(ranked) if said.page.n not in quoted}
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


def _chosen(choice: Choice, ranked: Sequence[Candidate], prose: Prose, unknown: Sequence[str]) -> Reading:
    """Return the answer to a question that offers two things."""
    cited = {fact.n for fact in choice.facts}
    others = {said.page.n: said.fact for said in reversed(ranked) if said.page.n not in cited}
    return Reading(
        best=choice.facts,
        others=tuple(others[page.n] for page in prose.chosen if page.n in others),
        span=choice.answer,
        sure=choice.sure,
        compared=tuple(zip(choice.names, choice.figures, strict=False)),
        known=tuple(name for name in prose.names if name not in unknown),
        unknown=tuple(unknown),
    )


def _stated(said: Candidate, wanted: Wanted, kind: Kind | None) -> bool:
    """Return whether a sentence, with the one that led to it, contains enough of the question to answer it.

    Words of the title do not count, because they name the thing and not the wanted fact.  They count in Chinese, where the
    remaining word is mostly the kind of the answer (`职业`, `国家`), which an answer does not repeat.  A word after `how
    many` must be in the sentence or its title: a garrison of forty is not a number of cannon.  A yes-or-no question need
    not be covered as a whole.
    """
    title = frozenset[str]() if has_cjk(wanted.text) else keys(said.page.title)
    counted = counted_in(wanted)
    return (
        (not counted or bool(counted & said.own))
        and wanted.share(said.held, wanted.asked) >= _STATED_ASKED
        and wanted.share(said.held, wanted.asked - title) >= _STATED_ASKED
        and (kind == "whether" or wanted.share(said.held, wanted.words.keys() - wanted.faint) >= _STATED_WHOLE)
    )


def _ways(pages: Sequence[Page], prose: Prose) -> dict[int, frozenset[str]]:
    """Return the documents that the question leads to, by number, with the keys of the sentences that led there.

    It leads to the documents that contain one of its names, and from there to those mentioned in words of the question.
    """
    ways = {
        page.n: frozenset[str]()
        for page in pages
        if not prose.names or any(_holds(page, name, prose) for name in prose.names)
    }
    reached = [page for page in pages if page.n in ways]
    for page in reached:  # grows during the loop
        for other in pages:
            said = _words_about(page, other, prose)
            if other.n not in ways and said & prose.wanted.asked:
                ways[other.n] = ways[page.n] | said
                reached.append(other)
    for page in reached:  # two documents with names of the question may also be linked
        for other in reached:
            if not ways[page.n] and not ways[other.n] and prose.web.link(other, page):
                ways[page.n] = _words_about(other, page, prose)
    return ways


def _words_about(page: Page, other: Page, prose: Prose) -> frozenset[str]:
    """Return the keys of the question's words in the title of `page` and in its lines that mention `other`."""
    lines = [fact.line for fact in prose.web.lines_about(page, other)]
    return prose.wanted.held(page, " ".join(lines)) if lines else frozenset()


def _sentences(page: Page, led: frozenset[str] | None, prose: Prose, kind: Kind | None) -> list[Candidate]:
    """Score the sentences of a document; `led` are the keys of the sentences that led to it, None if nothing did."""
    wanted = prose.wanted
    way = led or frozenset[str]()
    found = []
    for fact in page.lines:
        if fact.line.startswith("#") or len(keys(fact.line)) < 2:
            continue
        held = wanted.held(page, fact.line)
        line = f"{fact.line} born died" if fact is page.lines[0] and tells_life(fact.line) else fact.line
        held |= {at for at in wanted.asked - held if sides(wanted.words[at]) & sides(line)}
        share = wanted.share(held, wanted.asked) + _INHERITED * wanted.share(way - held, wanted.asked)
        of_kind = _OF_KIND if spans(kind, fact.line, page.title, wanted, prose.web.known) else 0.0
        worth = share + of_kind + _WHOLE * wanted.share(held | way) - (_CUT if fact.cut else 0.0)
        found.append(Candidate(fact, page, worth, held, held | way, led is not None))
    return found


def _goes_with(page: Page, first: Page, prose: Prose) -> bool:
    """Return whether a sentence may be quoted next to the best one: same document, or one that the question names."""
    return page is first or any(mentioned(page.name, name) for name in prose.names)


def _holds(page: Page, name: str, prose: Prose) -> bool:
    """Return whether a document contains most of a name by weight, with a similar spelling."""
    have = page.keys | prose.wanted.held(page)
    held = {at for at in keys(name) if at in have or any(_alike(at, other) for other in have)}
    return prose.wanted.share(held, keys(name)) > 0.6


def _alike(a: str, b: str) -> bool:
    return min(len(a), len(b)) > 3 and a[0] == b[0] and a.isascii() and SequenceMatcher(None, a, b).ratio() >= _ALIKE


def _span(first: Candidate, pages: Sequence[Page], prose: Prose, kind: Kind | None) -> str:
    if kind == "whether":
        return _whether(pages, prose)
    found = spans(kind, first.fact.line, first.page.title, prose.wanted, prose.web.known)
    return found[0] if found else ""


def _whether(pages: Sequence[Page], prose: Prose) -> str:
    """Return `yes` or `no` if the documents show whether two things have something in common; else an empty string."""
    named = [page for page in pages if any(mentioned(page.name, name) for name in prose.names)][:2]
    if len(named) < 2 or not re.search(r"\bboth\b|\bsame\b|都|相同|同一", prose.wanted.text, re.I):
        return ""
    lands = [_countries(page) for page in named]
    asked = {code for _, _, code in names(prose.wanted.text) if is_country(code)}
    if all(lands) and (asked or re.search(r"\bsame (?:country|nation\w*)\b|国", prose.wanted.text)):
        alike = all(asked & land for land in lands) if asked else bool(lands[0] & lands[1])
        return "yes" if alike else "no"
    wanted = prose.wanted
    return "yes" if all(wanted.asked and wanted.asked <= wanted.held(page) for page in named) else ""


def _countries(page: Page) -> frozenset[str]:
    """Return the countries in the first sentence of a document."""
    return frozenset(code for fact in page.lines[:1] for _, _, code in names(fact.line) if is_country(code))
