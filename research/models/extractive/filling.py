"""Fill the blank of a question: rank the spans of the documents read, and say how likely the first one is.

The weights were fitted to questions that the authors have seen; decision 0028 names them, and the results on others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from research.models.extractive.blank import WORD, Blank, blank_of, stemmed
from research.models.extractive.candidates import Candidate, candidates, title_of
from research.models.extractive.evidence import Fact
from research.models.extractive.passages import Page, alike, keys, mentioned
from research.models.extractive.prose import Prose
from research.models.extractive.suiting import counted, described, suits, timed

WEIGHTS: dict[str, float] = {
    "linked": 0.65,
    "linked_wide": 2.87,
    "linked_names": 0.83,
    "document": -1.77,
    "named": -2.6,
    "cited": 0.19,
    "rank": 1.86,
    "stated": 0.8,
    "asked": 3.95,
    "focus": -2.85,
    "first": -1.16,
    "near": 8.45,
    "suits": 0.63,
    "name_suits": 1.98,
    "title": 3.35,
    "home_named": 2.51,
    "before": 2.23,
    "two_before": 1.31,
    "after": 2.1,
    "timed": 5.52,
    "length": 1.35,
    "small": 0.96,
    "title_stated": -6.68,
}
SURE = 0.8
"""Probability from which a span is the answer, if the documents that are linked to it contain all names of the question."""
_LIKELY, _LIKELY_WIDE, _LIKELY_NAMES = 8.0, 0.65, 0.5
"""Least worth, and least shares of the question and its names in the linked documents, for a guess not stated."""
_GUESS = 0.2
"""Least probability of a guess."""
_NEAR_BLANK = 3
"""Distance in words from the blank at which a question word counts half."""
_BESIDE = 4
"""Distance in words from the span at which a question word counts half, and how many adjacent words are compared."""


class Filling(Struct, frozen=True):
    """A span that fills the blank, and the sentence that it is from."""

    text: str
    fact: Fact
    page: Page
    share: float
    """Probability among all spans, 0 to 1."""
    worth: float
    """Weighted sum of the signs, comparable across questions."""
    signs: Mapping[str, float]

    def sure(self, *, stated: bool) -> bool:
        """Return whether the span is the answer; `stated` if its sentence covers the question."""
        signs = self.signs
        complete = signs["linked_names"] > 0.99 and signs["reached"] and not signs["described"]
        return stated and self.share >= SURE and bool(complete)

    def likely(self, *, stated: bool) -> bool:
        """Return whether the span may be the answer; `stated` if the best sentence covers the question."""
        linked = (
            self.signs["reached"]
            and self.signs["linked_wide"] >= _LIKELY_WIDE
            and self.signs["linked_names"] >= _LIKELY_NAMES
        )
        return self.share >= _GUESS and (stated or (self.worth >= _LIKELY and bool(linked)))


class _Scene(Struct, frozen=True):
    """What the spans of a document have in common."""

    page: Page
    way: frozenset[str] | None
    """Keys of the sentences that led to the document; None if nothing did."""
    signs: Mapping[str, float]
    fullest: Fact
    """The line that contains most of the question."""


def fill(prose: Prose, pages: Sequence[Page], ways: Mapping[int, frozenset[str]]) -> Filling | None:
    """Return the likeliest span for the blank of a question; None if it has no blank or nothing can fill it."""
    blank = blank_of(prose.wanted.text)
    found = weighed(prose, pages, ways, blank) if blank else []
    if not found:
        return None
    top = max(worth for *_, worth in found)
    mass: dict[str, float] = {}
    for each, _, _, _, worth in found:
        mass[each.text.casefold()] = mass.get(each.text.casefold(), 0.0) + math.exp(worth - top)
    each, fact, page, signs, worth = max(found, key=lambda one: one[-1])
    return Filling(each.text, fact, page, mass[each.text.casefold()] / sum(mass.values()), worth, signs)


def weighed(
    prose: Prose, pages: Sequence[Page], ways: Mapping[int, frozenset[str]], blank: Blank
) -> list[tuple[Candidate, Fact, Page, dict[str, float], float]]:
    """Return all spans with their line, document, signs, and the weighted sum of the signs."""
    focus = _focus(prose, blank)
    found = []
    for page in pages:
        scene = _scene(page, pages, ways.get(page.n), prose)
        for fact in page.lines:
            if fact.line.startswith("#") or len(keys(fact.line)) < 2:
                continue
            own = candidates(fact.line, page, blank, prose.wanted, prose.web.known, pages)
            if fact is scene.fullest and blank.kind not in ("date", "year", "number"):
                own += [title for title in [title_of(page, blank, prose.wanted)] if title]
            line = _of_line(fact, scene, focus, prose) if own else {}
            for each in own:
                signs = {**scene.signs, **line, **_of_span(each, fact, scene, pages, focus, blank, prose)}
                signs["title_stated"] = signs["title"] * signs["stated"]
                found.append((each, fact, page, signs, sum(WEIGHTS.get(k, 0.0) * v for k, v in signs.items())))
    return found


def _focus(prose: Prose, blank: Blank) -> dict[str, float]:
    """Return the weights of the question's words outside the blank, summing to 1, the words near the blank higher."""
    wanted = prose.wanted
    found = {
        key: wanted.weight[key] / (1 + blank.far.get(key, 20) / _NEAR_BLANK)
        for key in wanted.words
        if key not in blank.phrase
    }
    return {key: weight / sum(found.values()) for key, weight in found.items()} if sum(found.values()) else found


def _scene(page: Page, pages: Sequence[Page], way: frozenset[str] | None, prose: Prose) -> _Scene:
    wanted, web = prose.wanted, prose.web
    held = wanted.held(page)
    held |= {at for at in wanted.named - held if any(alike(at, other) for other in page.keys)}
    beside = [held]  # also with documents that mention this one, or that it mentions
    wide = [held]
    for other in pages:
        if other is page:
            continue
        if lines := web.lines_about(other, page):
            beside.append(held.union(*(wanted.held(other, fact.line) for fact in lines)))
        if web.lines_about(page, other):
            beside.append(held | wanted.held(other, other.lines[0].line))
        if lines or web.lines_about(page, other):
            wide.append(held | wanted.held(other))
    order = [each.n for each in prose.chosen]
    signs = {
        "linked": max(map(wanted.share, beside)),
        "linked_wide": max(map(wanted.share, wide)),
        "linked_names": max(wanted.share(keys_, wanted.named) for keys_ in beside),
        "document": wanted.share(held),
        "named": float(mentioned(page.name, wanted.text)),
        "reached": float(way is not None),
        "cited": float(page.n in order),
        "rank": 1 / (1 + order.index(page.n)) if page.n in order else 0.0,
    }
    fullest = max(page.lines, key=lambda fact: wanted.share(wanted.held(page, fact.line)))
    return _Scene(page, way, signs, fullest)


def _of_line(fact: Fact, scene: _Scene, focus: Mapping[str, float], prose: Prose) -> dict[str, float]:
    wanted = prose.wanted
    held = wanted.held(scene.page, fact.line)
    led = held | (scene.way or frozenset())
    return {
        "stated": wanted.share(led),
        "asked": wanted.share(led, wanted.asked),
        "focus": sum(weight for key, weight in focus.items() if key in held),
        "first": float(fact is scene.page.lines[0]),
    }


def _of_span(
    each: Candidate,
    fact: Fact,
    scene: _Scene,
    pages: Sequence[Page],
    focus: Mapping[str, float],
    blank: Blank,
    prose: Prose,
) -> dict[str, float]:
    line, titled = fact.line, each.how == "title"
    words = [(match.start(), match.end(), stemmed(match.group())) for match in WORD.finditer(line)]
    left = [word for _, end, word in words if end <= each.start][::-1]
    right = [word for start, _, word in words if start >= each.end]
    home = scene.page if titled else None
    if each.how == "name":
        home = next((p for p in pages if mentioned(each.text, p.name) or mentioned(p.name, each.text)), None)
    suit = suits(each, home, line, blank)
    if blank.kind == "number":
        suit = counted(each.text, line[each.end :], prose.wanted)
    return {
        "near": 0.0 if titled else sum(_near(key, left, right) * weight for key, weight in focus.items()),
        "suits": suit,
        "name_suits": suit if each.how != "phrase" else 0.0,
        "title": float(titled),
        "described": float(home is not None and described(home, blank, prose.wanted)),
        "home_named": float(home is not None and mentioned(home.name, prose.wanted.text)),
        "before": sum(word in left[:_BESIDE] for word in blank.before if word not in ("the", "a")) / 3,
        "two_before": float(len(blank.before) > 1 and left[:2] == list(blank.before[:2])),
        "after": float(bool(blank.after and right) and blank.after[0] == right[0] and len(blank.after[0]) > 2),
        "timed": timed(each.text, line, fact is scene.page.lines[0], prose.wanted)
        if blank.kind in ("date", "year")
        else 0.0,
        "length": min(len(each.text.split()), 6) / 6,
        "small": float(re.match(r"[a-z]", each.text) is not None),
    }


def _near(key: str, left: Sequence[str], right: Sequence[str]) -> float:
    """Return how near a word is to a span, 1 for next to it; 0 if it is not in the line."""
    places = [side.index(key) for side in (left, right) if key in side]
    return 1 / (1 + min(places) / _BESIDE) if places else 0.0
