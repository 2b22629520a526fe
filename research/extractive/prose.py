"""Research free prose over several hops: what to search and to read next, and when to stop.

In the manner of a person with a search box: the whole question first, and each name in it; read what was found best; see
what else there is on the words of the best of it; look up the names met there that stand nearest to what is asked; stop
when that brings nothing more.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from msgspec import Struct

from research.citations.names import Names, is_country, key
from research.extractive.evidence import Evidence, Fact
from research.extractive.links import Web
from research.extractive.passages import Page, Wanted, faint, keys, mentioned, names_in, pages_of
from research.extractive.question import parse
from research.extractive.verdict import Action
from research.text import clip, content_tokens

NAMES = 4
"""Names of a question that are searched by themselves."""
READ = 14
"""Documents opened at most."""
FOLLOWED = 6
"""Searches at most for what was met on the way."""
AT_ONCE = 2
"""Of them at a time; twice as many that bring nothing to cite are enough."""
KEPT, LINES = 8, 4
"""Documents that a report keeps, and lines of each beside the first."""
_QUERY = 300
"""Characters of a query made of a document's words."""


class Bridge(Struct, frozen=True):
    """A name met on the way that may lead on."""

    name: str
    page: Page
    near: float
    """How near to the question it stands."""


class Prose:
    """What the documents of prose among the evidence make of a question."""

    def __init__(self, evidence: Evidence, question: str) -> None:
        self.evidence = evidence
        self.names = _names(question)
        self.pages = pages_of(evidence)
        self.wanted = Wanted(question, self.names, self.pages)

    @cached_property
    def web(self) -> Web:
        return Web(self.pages, self.wanted)

    @cached_property
    def chosen(self) -> list[Page]:
        """The documents to cite, the most useful first."""
        return self.web.chosen()

    def opening(self) -> list[Action]:
        """The whole question, and each name in it."""
        found = [_search(self.wanted.text, "Find out which documents speak of this.")]
        found += [_search(name, f"Look for {name}.") for name in self.names[:NAMES]]
        return list({action.arguments["query"]: action for action in found if action.arguments["query"]}.values())

    def next(self) -> list[Action]:
        """What to search or to read; empty when that would bring nothing more."""
        searched, tries = self.evidence.searched, 1 + self.evidence.lessons
        first = self.opening()
        if left := [action for action in first if action.arguments["query"] not in searched]:
            return left
        room = READ * tries - len(self.evidence.visited)
        if unread := [page for page in self.chosen if not page.read][: max(room, 0)]:
            goal = self.wanted.text
            return [Action("visit", {"url": page.url, "goal": goal}, f"Read {page.title}.") for page in unread]
        followed = searched - {action.arguments["query"] for action in first}
        if len(followed) >= FOLLOWED * tries or self._spent(followed):
            return []
        onward = [
            _search(self._beyond(page), f"See what else there is on what {page.title} speaks of.")
            for page in self.chosen[:1]
        ]
        looked = [_search(self._about(b), f"{b.page.title} speaks of {b.name}: look that up.") for b in self.bridges()]
        new = [action for action in (*onward, *looked) if action.arguments["query"] not in searched]
        return new[: AT_ONCE + any(action in new for action in onward)]

    def kept(self) -> list[Fact]:
        """What is worth keeping of the documents: of the most useful ones the first line and the nearest to the question."""
        found: list[Fact] = []
        for page in self.web.chosen(KEPT):
            shares = {fact: self.wanted.share(self.wanted.held(page, fact.line)) for fact in page.lines}
            near = sorted(shares, key=shares.__getitem__, reverse=True)[:LINES]
            found += [fact for fact in page.lines if fact in near or fact is page.lines[0]]
        return found

    def bridges(self) -> list[Bridge]:
        """Names in the chosen documents that neither the question nor a title says, the nearest to the question first.

        Countries are none: they stand everywhere and lead nowhere.
        """
        titles = {page.name.casefold() for page in self.pages}
        best: dict[str, Bridge] = {}
        for page in self.chosen:
            for fact in page.lines:
                near = self.wanted.share(self.wanted.held(page, fact.line)) * (0.5 + self.web.worth(page))
                for name in names_in(fact.line, self.web.known):
                    folded = name.casefold()
                    if folded in titles or is_country(key(name)) or keys(name) <= self.wanted.words.keys():
                        continue
                    if folded not in best or best[folded].near < near:
                        best[folded] = Bridge(name, page, near)
        return sorted(best.values(), key=lambda bridge: -bridge.near)

    def _about(self, bridge: Bridge) -> str:
        """The name, and what its document leaves open of the question."""
        words = self.wanted.words.items()
        left = [word for at, word in words if at not in self.web.held[bridge.page.n] | self.wanted.faint]
        return " ".join([bridge.name, *left[:NAMES]])

    def _beyond(self, page: Page) -> str:
        """The words of a document that the question does not have: titles among them are found."""
        words = (word for word in page.text.split() if not keys(word) <= self.wanted.words.keys())
        return clip(" ".join(words), _QUERY)

    def _spent(self, followed: frozenset[str]) -> bool:
        """Whether the last searches brought nothing to cite."""
        cited = {page.n for page in self.chosen}
        met: set[int] = set()
        idle = 0
        for step in self.evidence.steps:
            found = {fact.n for fact in step.facts}
            if step.arguments.get("query") in followed:
                idle = 0 if cited & (found - met) else idle + 1
            met |= found
        return idle >= 2 * AT_ONCE


@lru_cache(maxsize=256)
def _names(question: str) -> tuple[str, ...]:
    """The names in a question, without those that are a part of another."""
    found = [*names_in(question, Names([question])), *parse(question).names]
    found = [name for name in dict.fromkeys(found) if set(content_tokens(name)) - faint()]
    return tuple(n for n in found if not any(n != other and mentioned(n, other) for other in found))


def _search(query: str, why: str) -> Action:
    return Action("search", {"query": plain(query)}, why)


def plain(text: str) -> str:
    """Words without marks, as a query."""
    return " ".join(re.sub(r"[\"“”«»「」『』《》?？!！,，。;；:：、…]", " ", text).split())
