"""Answer from passages of prose: the best sentence, what other documents add, and what none of them states."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from research.models.extractive.choosing import Choice, choose
from research.models.extractive.evidence import Fact
from research.models.extractive.filling import fill
from research.models.extractive.kinds import Kind, kind_of
from research.models.extractive.links import CITED
from research.models.extractive.names import is_country, key, names
from research.models.extractive.naming import judged, own_name
from research.models.extractive.opposites import sides
from research.models.extractive.passages import Page, Wanted, alike, keys, mentioned
from research.models.extractive.prose import Prose
from research.models.extractive.spans import counted_in, spans, tells_life
from research.models.extractive.verdict import Reading
from research.text import has_cjk
from research.web.table_text import HEAD

_LEAST = 0.4
"""Share of a question without names that the documents must cover."""
_STRANGE = 1 / 3
"""From this share of unknown names in a question on, the documents are about something else."""
_STATED_ASKED = 0.35
"""Share of the words asked about that the best sentence must contain, with the sentence that led to it."""
_STATED_WHOLE = 0.5
"""The same for the whole question: a sentence with less of it is about another thing or another matter."""
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


_READ = 3
"""Sentences in which to look for a name."""
_NEAR = 0.75
"""Lowest score of such a sentence, as a share of the best."""
_FITS = 0.6
"""Bonus for a name that the documents describe as what is asked for, in shares of the best score."""
_LATER = 0.08
"""Penalty for each name that is nearer to the words of the question."""


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


_DEFINES = re.compile(r"^(?!It\b|This\b|He\b|She\b|The\b).{2,90}?\b(?:is|was|are|were) (?:an?|the|one)\b|是|[(（]")
"""Matches a sentence that says what something is."""


class Answer(Struct, frozen=True):
    """A short answer, and the sentence that states it."""

    span: str
    said: Candidate
    sure: bool = True
    facts: tuple[Fact, ...] = ()
    """The lines that decide, if they are others."""


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
    stated = _stated(first, wanted, kind)
    answer = _answer(ranked, prose, kind) if stated and (wanted.asked or kind == "whether") else None
    if kind != "whether" and not has_cjk(wanted.text):
        answer = _filled(prose, kind, answer, stated=stated)
        stated = stated or answer is not None
    if kind in ("year", "date", "number") and not answer:
        stated = False
    beside = [answer.said, first] if answer and answer.said.fact is not first.fact else [first, *beside]
    best = (answer.facts if answer else ()) or tuple(said.fact for said in beside)
    quoted = {fact.n for fact in best}
    others = {said.page.n: said.fact for said in reversed(ranked) if said.page.n not in quoted}
    order = [page.n for page in prose.chosen if page.n in others][: CITED - len(quoted)]
    unsaid = wanted.asked - first.held or (frozenset() if stated else wanted.asked)
    return Reading(
        best=best,
        others=tuple(others[n] for n in order),
        span=answer.span if answer else "",
        sure=answer is None or answer.sure,
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
        if fact.line.startswith("#") or HEAD.match(fact.line) or len(keys(fact.line)) < 2:
            continue
        held = wanted.held(page, fact.line)
        line = f"{fact.line} born died" if fact is page.lines[0] and tells_life(fact.line) else fact.line
        held |= {at for at in wanted.asked - held if sides(wanted.words[at]) & sides(line)}
        have = keys(fact.line) | keys(page.title)
        held |= {at for at in wanted.named - held if any(alike(at, other) for other in have)}
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
    held = {at for at in keys(name) if at in have or any(alike(at, other) for other in have)}
    return prose.wanted.share(held, keys(name)) > 0.6


def _answer(ranked: Sequence[Candidate], prose: Prose, kind: Kind | None) -> Answer | None:
    """Return the short answer from the best sentences: a span of the kind, or `yes` or `no`."""
    first = ranked[0]
    if kind == "whether":
        yes, sure, facts = _whether(prose)
        return Answer(yes, first, sure, facts) if yes else None
    if kind not in ("person", "place", "name"):
        found = spans(kind, first.fact.line, first.page.title, prose.wanted, prose.web.known)
        return Answer(found[0], first) if found else None
    best: tuple[float, Answer] | None = None
    for said in ranked[:_READ]:
        if said.worth < _NEAR * first.worth:
            break
        line = said.fact.line
        names = spans(kind, line, said.page.title, prose.wanted, prose.web.known)
        own = own_name(said.page, prose.wanted) if said.fact is said.page.lines[0] else ""
        for rank, name in enumerate([*names, own] if own and own not in names and kind != "place" else names):
            fits = judged(name, kind, line, prose.pages, prose.wanted)
            whole = kind != "name" and prose.wanted.asked <= said.own and name != own
            if fits is False or not (fits or whole):  # not clearly the one: the sentences themselves have to do
                continue
            worth = said.worth / first.worth + _FITS * bool(fits) - _LATER * rank
            if best is None or worth > best[0]:
                best = worth, Answer(name, said)
    return best[1] if best else None


def _filled(prose: Prose, kind: Kind | None, nearest: Answer | None, *, stated: bool) -> Answer | None:
    """Return the span that fills the blank of the question; None if no sentence covers it and the span is not likely.

    It is sure by itself, or if it is also the `nearest` to the question's words in a sentence that covers the question.
    """
    cited = {page.n for page in prose.chosen}
    pages = [page for page in prose.pages if page.lines and (page.read or page.n in cited)]
    ways = _ways(pages, prose)
    found = fill(prose, pages, ways)
    if found is None or not found.likely(stated=stated):
        return None
    sentences = _sentences(found.page, ways.get(found.page.n), prose, kind)
    said = next((each for each in sentences if each.fact is found.fact), None)
    if said is None:
        return None
    agreed = nearest is not None and nearest.span.casefold() == found.text.casefold()
    return Answer(found.text, said, agreed or found.sure(stated=_stated(said, prose.wanted, kind)))


def _whether(prose: Prose) -> tuple[str, bool, tuple[Fact, ...]]:
    """Return whether two things have something in common: `yes` or `no`, whether that is sure, and a line of each.

    The answer is empty if they do not show it.  That a document does not say something makes a `no` unsure.
    """
    text, wanted = prose.wanted.text, prose.wanted
    both = re.search(r"\bboth\b|\bsame\b|都|相同|同一", text, re.I)
    named = {name: page for name in prose.names if (page := _home(name, prose)) is not None}
    pair = list(named)[:2]
    if both is None or len(pair) < 2:
        return "", False, ()
    homes = [named[name] for name in pair]
    lands = [_countries(page) for page in homes]
    facts = tuple(_definition(page) for page in homes)
    if re.search(r"\bsame (?:country|nation\w*)\b|[同一]个?国", text, re.I):
        return ("yes" if lands[0] & lands[1] else "no", True, facts) if all(lands) else ("", False, ())
    tail = text[max(both.start(), *(text.find(name) + len(name) for name in pair)) :] if not has_cjk(text) else text
    codes = {code for _, _, code in names(tail) if is_country(code)}
    said = {at for at in (wanted.asked | wanted.named) & keys(tail) if not is_country(key(wanted.words[at]))}
    said -= keys(" ".join(pair))
    if not codes and not said:
        return "", False, ()
    if said:
        facts = tuple(max(page.lines, key=lambda fact: len(said & wanted.held(page, fact.line))) for page in homes)
    fits = [
        said <= wanted.held(page) and (not codes or bool(codes & land)) for page, land in zip(homes, lands, strict=True)
    ]
    if all(fits):
        return "yes", all(any(said <= wanted.held(page, fact.line) for fact in page.lines) for page in homes), facts
    named_in_both = bool(said & wanted.named) and all(said & wanted.named <= wanted.held(page) for page in homes)
    if any(fits) and not named_in_both:  # otherwise the documents may only use another verb
        return "no", bool(codes) and not said and all(lands), facts
    return "", False, ()


def _home(name: str, prose: Prose) -> Page | None:
    """Return the document about a name, by its title."""
    called = [page for page in prose.pages if mentioned(page.name, name) and page.lines]
    return max(called, key=lambda page: (len(page.name), prose.wanted.share(prose.wanted.held(page))), default=None)


def _countries(page: Page) -> frozenset[str]:
    """Return the countries in the sentence that says what a document is about."""
    return frozenset(code for _, _, code in names(_definition(page).line) if is_country(code))


def _definition(page: Page) -> Fact:
    """Return the sentence that says what a document is about."""
    return next((fact for fact in page.lines if _DEFINES.search(fact.line)), page.lines[0])
