"""Answer from prose: the sentences nearest to the question, by words and by meaning, and a name, number or date in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from research.models.extractive.asked import options
from research.models.extractive.evidence import Fact
from research.models.extractive.kinds import Kind, is_time, kind_of
from research.models.extractive.names import is_country, key
from research.models.extractive.passages import Page, alike, keys, mentioned, names_in
from research.models.extractive.prose import CITED, Prose
from research.models.extractive.verdict import Reading
from research.quantities import quantities
from research.text import content_tokens, has_cjk, tokens
from research.web.table_text import HEAD

_STRANGE = 1 / 3
"""From this share of unknown names in a question on, the documents are about something else."""
_STATED, _CONFIRMED = 0.5, 0.9
"""A sentence that answers contains more than this share of the words asked about, and of all, with the one that led to it.

The second is for yes-or-no questions, where every word counts.
"""
_CLOSE = 0.2
"""Share of all words below which a sentence is not shown as the closest one."""
_INHERITED = 0.5
"""Weight of a word that is only in the sentence that led to the document."""
_MEASURED = {
    "celsius": "temperature 温度",
    "fahrenheit": "temperature 温度",
    "mass": "weight 重量",
    "speed": "speed 速度",
    "area": "area 面积",
}
"""Words for what a unit measures."""
_MEANING = 0.25
"""Weight of the similarity of meaning beside the share of the words."""
_COMPARED = 24
"""Sentences, the best by their words, whose meaning is compared."""
_LEAST = 3
"""Words of the shortest sentence."""
_QUOTED = 3
"""Most sentences to quote."""
_BESIDE = 0.6
"""Least worth of a second sentence, as a share of the best one's."""

_IS = re.compile(r"\b(?:is|are|was|were)\s(?:\w+\s(?:to|at|by)\s)?$|[是为]\s?$")
"""The verb before what something is, or is limited to, set at and the like."""


class Sentence(Struct, frozen=True):
    """A sentence of a document, and how well it answers."""

    fact: Fact
    page: Page
    own: frozenset[str]
    """Keys of the question's words in the sentence or its title."""
    held: frozenset[str]
    """These, and those in the headings over it or in the sentence that led to its document."""
    things: tuple[str, ...]
    """The names, numbers or dates in it that the question asks for."""
    worth: float


def read(prose: Prose) -> Reading | None:
    """Return the answer from the chosen documents; None if they are about something else."""
    wanted = prose.wanted
    pages = [page for page in prose.chosen if page.lines]
    unknown = [name for name in prose.names if not any(_holds(page, name, prose) for page in prose.pages)]
    if wanted.share(frozenset[str]().union(*map(keys, unknown))) >= _STRANGE:
        return None
    kind = kind_of(wanted.text)
    ranked = _ranked(prose, pages, kind)
    if not ranked or _covers(ranked[0], prose) < _CLOSE:
        return None
    first = ranked[0]
    needed = _CONFIRMED if kind == "whether" else _STATED
    stated = min(_covers(first, prose), _says(first, prose)) > needed and not _lacks(first, kind, prose)
    best = [said for said in ranked if said.worth >= _BESIDE * first.worth and _adds(said, first)][:_QUOTED]
    if kind in (None, "whether"):
        best = _section(best)
    rivals = {said.things for said in best if said.things and first.own <= said.own}
    clear = rivals == {_things(kind, first.fact.line, first.page, prose, firm=True)}
    one = stated and clear and len(first.things) == 1 and wanted.asked <= first.own and not options(wanted.text)
    quoted = {said.page.n for said in best}
    others = {said.page.n: said.fact for said in reversed(ranked) if said.page.n not in quoted}
    order = [page.n for page in pages if page.n in others][: CITED - len(quoted)]
    return Reading(
        best=tuple(said.fact for said in best),
        others=tuple(others[n] for n in order),
        span=first.things[0] if one else _figure(first, kind, prose) if stated else "",
        known=tuple(name for name in prose.names if name not in unknown),
        unknown=tuple(unknown),
        stated=stated,
    )


def _ranked(prose: Prose, pages: Sequence[Page], kind: Kind | None) -> list[Sentence]:
    """Return the sentences of the documents that the question leads to, the best first.

    Those that contain something of the kind that is asked for precede the others.
    """
    ways = _ways(pages, prose)
    found = [said for page in pages if page.n in ways for said in _sentences(page, ways[page.n], prose, kind)]
    found = sorted(found, key=lambda said: -said.worth)[:_COMPARED]
    near = _similar(prose.wanted.text, tuple(f"{said.page.name}: {said.fact.line}" for said in found))
    both = [replace(said, worth=said.worth + _MEANING * close) for said, close in zip(found, near, strict=True)]
    return sorted(both, key=lambda said: (_lacks(said, kind, prose), -said.worth))


def _sentences(page: Page, way: frozenset[str], prose: Prose, kind: Kind | None) -> list[Sentence]:
    """Return the sentences of a document with their worth by words; `way` are the keys of those that led to it.

    A sentence has what stands over it only if it has something of the question itself.
    """
    wanted, found = prose.wanted, []
    for fact in page.lines:
        if fact.line.startswith("#") or HEAD.match(fact.line) or len(tokens(fact.line)) < _LEAST or fact.cut:
            continue
        own = wanted.held(page, fact.line)
        have = content_tokens(f"{fact.line} {page.title}")
        own |= {at for at in wanted.words.keys() - own if any(alike(wanted.words[at], word) for word in have)}
        own |= _dimensions(fact.line) & wanted.words.keys()
        led = way | wanted.held(page, page.heads[fact.line]) if own - keys(page.title) else way
        asked = wanted.share(own, wanted.asked) + _INHERITED * wanted.share(led - own, wanted.asked)
        worth = asked + _INHERITED * wanted.share(own | led)
        found.append(Sentence(fact, page, own, own | led, _things(kind, fact.line, page, prose), worth))
    return found


@lru_cache(maxsize=16_384)
def _dimensions(line: str) -> frozenset[str]:
    """Return the keys of the words for what the units in a line measure, which it need not say."""
    return keys(" ".join(_MEASURED.get(figure.unit, "") for figure in quantities(line)))


@lru_cache(maxsize=64)
def _similar(question: str, texts: tuple[str, ...]) -> list[float]:
    """Return how similar the meaning of each text is to that of the question, at most 1."""
    from research.search.embedders import DEFAULT, cached

    if not texts:
        return []
    vectors = cached(DEFAULT).encode([question, *texts])
    return [float(each) for each in vectors[1:] @ vectors[0]]


def _ways(pages: Sequence[Page], prose: Prose) -> dict[int, frozenset[str]]:
    """Return the documents that the question leads to, by number, with the keys of the sentences that led there.

    It leads to the documents that contain one of its names, and from there to those mentioned in words of the question.
    """
    named = [page for page in pages if not prose.names or any(_holds(page, name, prose) for name in prose.names)]
    ways = {page.n: frozenset[str]() for page in named}
    for page in named:  # grows during the loop
        for other in pages:
            lines = prose.about(page, other)
            said = prose.wanted.held(page, " ".join(fact.line for fact in lines)) if lines else frozenset[str]()
            if other.n not in ways and said & prose.wanted.asked:
                ways[other.n] = ways[page.n] | said
                named.append(other)
    return ways


def _holds(page: Page, name: str, prose: Prose) -> bool:
    """Return whether a document contains most of a name by weight, with a similar spelling."""
    have = page.keys | prose.wanted.held(page)
    held = {at for at in keys(name) if at in have or any(alike(at, other) for other in have)}
    return prose.wanted.share(held, keys(name)) > 0.6


def _lacks(said: Sentence, kind: Kind | None, prose: Prose) -> bool:
    """Return whether a sentence has nothing of the kind, or not the word that says what a person did or is.

    Names are not recognised for certain in Chinese.
    """
    if kind == "person" and (asked := [key for key in reversed(prose.wanted.words) if key in prose.wanted.asked]):
        own = keys(said.fact.line)
        if not has_cjk(prose.wanted.text) and not any(word == asked[0] or alike(word, asked[0]) for word in own):
            return True
    needed = kind in ("year", "date", "number") or (kind in ("person", "place") and not has_cjk(said.fact.line))
    return needed and not said.things


def _covers(said: Sentence, prose: Prose) -> float:
    """Return the share of the question that a sentence contains, with the one that led to it."""
    return prose.wanted.share(said.held, prose.wanted.words.keys() - prose.wanted.faint)


def _says(said: Sentence, prose: Prose) -> float:
    """Return the share of the words for what the question asks.

    Words of the title do not count, because they name the thing and not the wanted fact.  They count in Chinese, where the
    remaining word is mostly the kind of the answer (`职业`, `国家`), which an answer does not repeat.
    """
    title = frozenset[str]() if has_cjk(prose.wanted.text) else keys(said.page.title)
    return prose.wanted.share(said.held, prose.wanted.asked - title)


def _adds(said: Sentence, first: Sentence) -> bool:
    """Return whether a sentence says as much of the question as the first, or more of it; titles say nothing."""
    return not first.own - keys(first.page.title) - said.own or not said.own <= first.own


def _figure(said: Sentence, kind: Kind | None, prose: Prose) -> str:
    """Return the figure that a sentence states right behind its verb, whose subject is all that is asked about."""
    if kind not in (None, "name", "number"):
        return ""
    line, asked = said.fact.line, prose.wanted.asked - keys(said.page.title)
    for each in quantities(line):
        verb = _IS.search(line[: each.start])
        if verb and each.kind == "number" and not each.weak and asked <= keys(line[: verb.start()]):
            return line[each.start : each.end]
    return ""


def _section(best: Sequence[Sentence]) -> list[Sentence]:
    """Return those sentences that are in the same section as the first, in the order of the document."""
    lines = best[0].page.lines
    at = lines.index(best[0].fact)
    heads = [0, *(n for n, fact in enumerate(lines) if fact.line.startswith("#")), len(lines)]
    section = lines[max(n for n in heads if n <= at) : min(n for n in heads if n > at)]
    return sorted((said for said in best if said.fact in section), key=lambda said: section.index(said.fact))


def _things(kind: Kind | None, line: str, page: Page, prose: Prose, *, firm: bool = False) -> tuple[str, ...]:
    """Return the names, numbers or dates of a sentence that neither the question nor the title contains.

    With `firm`, words that are numbers only perhaps do not count.
    """
    if kind in ("year", "date", "number"):
        fitting = (
            q for q in quantities(line) if (q.kind == "number" if kind == "number" else is_time(q, prose.wanted.text))
        )
        found = [line[q.start : q.end] for q in fitting if not (firm and q.weak)]
    elif kind in ("person", "place", "name"):
        names = [name for name in names_in(line, prose.known) if kind != "person" or not is_country(key(name))]
        names = [name for name in names if not mentioned(name, page.title)]
        found = [name for name in names if not any(name != other and mentioned(name, other) for other in names)]
    else:
        return ()
    return tuple(each for each in dict.fromkeys(found) if not mentioned(each, prose.wanted.text))
