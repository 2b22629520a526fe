"""Research prose over several hops: what to search and read next, and when to stop.

The procedure is that of a person with a search box: search the whole question and each name in it; read the best results;
search the words of the best document; look up names in the documents that are close to the question; stop when the
searches find nothing more to cite.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from msgspec import Struct

from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.links import Web
from research.models.extractive.names import Names, is_country, key
from research.models.extractive.passages import Page, Wanted, faint, keys, mentioned, names_in, pages_of
from research.models.extractive.question import parse
from research.models.extractive.verdict import Action
from research.text import clip, content_tokens

NAMES = 4
"""Most names of a question to search individually."""
READ = 14
"""Most documents to open."""
FOLLOWED = 6
"""Most searches for names and words found in documents."""
AT_ONCE = 2
"""Searches per step; research stops after twice as many in a row that found no new document to cite."""
REPORT_PAGES, LINES = 8, 4
"""Documents in a report, and lines of each besides the first."""
_QUERY = 300
"""Longest query made of a document's words, in characters."""


class Bridge(Struct, frozen=True):
    """A name in a document that may lead to further documents."""

    name: str
    page: Page
    near: float
    """Relevance of the line with the name to the question."""


class Prose:
    """The documents of prose in the evidence, and the next steps towards an answer from them."""

    def __init__(self, evidence: Evidence, question: str, *, own: bool = False) -> None:
        """With `own`, only the user's own documents count."""
        self.evidence = evidence
        self.names = _names(question)
        self.pages = tuple(page for page in pages_of(evidence) if not own or page.lines[:1] and page.lines[0].own)
        self.wanted = Wanted(question, self.names, self.pages)

    @cached_property
    def web(self) -> Web:
        """The documents with their links."""
        return Web(self.pages, self.wanted)

    @cached_property
    def chosen(self) -> list[Page]:
        """The documents to cite, the most useful first."""
        return self.web.chosen()

    def opening(self) -> list[Action]:
        """Return searches for the whole question and for each name in it."""
        found = [_search(self.wanted.text, "Find out which documents speak of this.")]
        found += [_search(name, f"Look for {name}.") for name in self.names[:NAMES]]
        return list({action.arguments["query"]: action for action in found if action.arguments["query"]}.values())

    def next(self) -> list[Action]:
        """Return the next searches or visits; empty if more would not help."""
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

    def report_lines(self) -> list[Fact]:
        """Return the lines for a report: of each useful document the first line and the most relevant ones."""
        found: list[Fact] = []
        for page in self.web.chosen(REPORT_PAGES):
            shares = {fact: self.wanted.share(self.wanted.held(page, fact.line)) for fact in page.lines}
            near = sorted(shares, key=shares.__getitem__, reverse=True)[:LINES]
            found += [fact for fact in page.lines if fact in near or fact is page.lines[0]]
        return found

    def bridges(self) -> list[Bridge]:
        """Return names in the chosen documents that are in neither the question nor a title, most relevant first.

        Countries are excluded: they appear everywhere and lead nowhere.
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
        """Return a query of the name and the question's words that its document does not contain."""
        words = self.wanted.words.items()
        left = [word for at, word in words if at not in self.web.held[bridge.page.n] | self.wanted.faint]
        return " ".join([bridge.name, *left[:NAMES]])

    def _beyond(self, page: Page) -> str:
        """Return a query of the document's words that are not in the question; it finds documents with such titles."""
        words = (word for word in page.text.split() if not keys(word) <= self.wanted.words.keys())
        return clip(" ".join(words), _QUERY)

    def _spent(self, followed: frozenset[str]) -> bool:
        """Return whether the last searches found nothing to cite."""
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
    """Return the names in a question, without those that are a part of another."""
    found = [*names_in(question, Names([question])), *parse(question).names]
    found = [name for name in dict.fromkeys(found) if set(content_tokens(name)) - faint()]
    return tuple(n for n in found if not any(n != other and mentioned(n, other) for other in found))


def _search(query: str, why: str) -> Action:
    return Action("search", {"query": plain(query)}, why)


def plain(text: str) -> str:
    """Return the text as a query, without punctuation."""
    return " ".join(re.sub(r"[\"“”«»「」『』《》?？!！,，。;；:：、…]", " ", text).split())
