"""Research prose over several hops: what to search and read next, which documents to cite, and when to stop.

Search the whole question and each name in it; read the documents that would be cited; search the names that they mention
close to the question; stop when nothing new is to be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.lexicon import openers
from research.models.extractive.names import Names, is_country, key
from research.models.extractive.passages import Page, Wanted, faint, keys, mentioned, names_in, pages_of
from research.models.extractive.question import parse
from research.models.extractive.verdict import Action
from research.text import content_tokens

CITED = 5
"""Most documents that an answer cites."""
NAMES = 4
"""Most names of a question to search individually."""
READ = 14
"""Most documents to open."""
FOLLOWED, AT_ONCE = 6, 2
"""Most searches for names found in documents, and how many of them in one step."""
REPORT_PAGES, LINES = 8, 4
"""Documents in a report, and lines of each besides the first."""
_TITLED = 0.5
"""Weight of a title that appears in the question."""
_LINK = 0.5
"""Weight of a mention of a document, times the share of the question's words in the sentence that mentions it."""
_OWN = 0.3
"""Weight of words of the question that the documents chosen before contain too."""


class Prose:
    """The documents of prose in the evidence, and the next steps towards an answer from them."""

    def __init__(self, evidence: Evidence, question: str, *, own: bool = False) -> None:
        """With `own`, only the user's own documents count."""
        self.evidence, self.own = evidence, own
        self.names = names_asked(question)
        self.pages = tuple(page for page in pages_of(evidence) if not own or page.lines[:1] and page.lines[0].own)
        self.wanted = Wanted(question, self.names, self.pages, evidence.context)

    @cached_property
    def known(self) -> Names:
        """What the documents show to be names."""
        return Names(page.text for page in self.pages)

    @cached_property
    def chosen(self) -> list[Page]:
        """The documents to cite, the most useful first."""
        return self.useful(CITED)

    def useful(self, limit: int) -> list[Page]:
        """Return the documents that cover the question together: each adds words, or is linked to one before it."""
        found: list[Page] = []
        while len(found) < min(limit, len(self.pages)):
            found.append(max((page for page in self.pages if page not in found), key=lambda p: self._adds(p, found)))
        return found

    def _adds(self, page: Page, found: Sequence[Page]) -> float:
        held = self.wanted.held(page)
        before = frozenset[str]().union(*(self.wanted.held(other) for other in found))
        own = self.wanted.share(held - before) + _OWN * self.wanted.share(held & before)
        link = max((max(self.link(other, page), self.link(page, other)) for other in found), default=0.0)
        return own + _LINK * link + _TITLED * mentioned(page.name, self.wanted.text)

    def link(self, page: Page, other: Page) -> float:
        """Return 0 to 1: how close to the question a document mentions another."""
        return max((self.wanted.share(self.wanted.held(page, f.line)) for f in self.about(page, other)), default=0.0)

    def about(self, page: Page, other: Page) -> list[Fact]:
        """Return the lines of a document that mention another one, which the question does not name."""
        if (page.n, other.n) not in self._about:
            found = [] if mentioned(other.name, page.name) else [f for f in page.lines if mentioned(other.name, f.line)]
            self._about[page.n, other.n] = found
        return self._about[page.n, other.n]

    @cached_property
    def _about(self) -> dict[tuple[int, int], list[Fact]]:
        return {}

    def opening(self) -> list[Action]:
        """Return searches for the whole question and for each name in it."""
        found = [_search(self.wanted.whole, "Find out which documents speak of this.")]
        found += [_search(name, f"Look for {name}.") for name in self.names[:NAMES]]
        return list({action.arguments["query"]: action for action in found if action.arguments["query"]}.values())

    def needed(self) -> list[Action]:
        """Return the searches and visits that come before any answer."""
        if left := [action for action in self.opening() if action.arguments["query"] not in self.evidence.searched]:
            return left
        room = READ * (1 + self.evidence.lessons) - len(self.evidence.visited)
        unread, goal = [page for page in self.chosen if not page.read], self.wanted.text
        return [
            Action("visit", {"url": page.url, "goal": goal}, f"Read {page.title}.") for page in unread[: max(room, 0)]
        ]

    def onward(self) -> list[Action]:
        """Return the next searches for names in the documents; empty if more would not help."""
        searched = self.evidence.searched
        if len(searched) - len(self.opening()) >= FOLLOWED * (1 + self.evidence.lessons):
            return []
        found = (
            _search(f"{name} {self._open_words(page)}", f"{page.title} speaks of {name}: look that up.")
            for name, page in self.bridges()
        )
        return [action for action in found if action.arguments["query"] not in searched][:AT_ONCE]

    def report_lines(self) -> list[Fact]:
        """Return the lines for a report: of each useful document the first line and the most relevant ones."""
        found: list[Fact] = []
        for page in self.useful(REPORT_PAGES):
            shares = {fact: self.wanted.share(self.wanted.held(page, fact.line)) for fact in page.lines}
            near = sorted(shares, key=shares.__getitem__, reverse=True)[:LINES]
            found += [fact for fact in page.lines if fact in near or fact is page.lines[0]]
        return found

    def bridges(self) -> list[tuple[str, Page]]:
        """Return names in the chosen documents that are in neither the question nor a title, nearest to the question first.

        Countries are excluded: they appear everywhere and lead nowhere.
        """
        titles = {page.name.casefold() for page in self.pages}
        best: dict[str, tuple[float, str, Page]] = {}
        for page in self.chosen:
            whole = 0.5 + self.wanted.share(self.wanted.held(page))
            for fact in page.lines:
                near = whole * self.wanted.share(self.wanted.held(page, fact.line))
                for name in names_in(fact.line, self.known) if keys(fact.line) & self.wanted.asked else ():
                    if name.casefold() in titles or is_country(key(name)) or keys(name) <= self.wanted.words.keys():
                        continue
                    best[name.casefold()] = max(
                        best.get(name.casefold(), (0.0, name, page)), (near, name, page), key=lambda each: each[0]
                    )
        return [(name, page) for _, name, page in sorted(best.values(), key=lambda each: -each[0])]

    def _open_words(self, page: Page) -> str:
        """Return some words of the question that a document does not contain."""
        left = self.wanted.words.keys() - self.wanted.held(page) - self.wanted.faint
        return " ".join([word for at, word in self.wanted.words.items() if at in left][:NAMES])


@lru_cache(maxsize=256)
def names_asked(question: str) -> tuple[str, ...]:
    """Return the names in a question, without those that are a part of another."""
    first, _, rest = question.partition(" ")
    asked = rest if first.lower() in openers() else question
    found = [*names_in(asked, Names([asked])), *parse(asked).names]
    found = [name for name in dict.fromkeys(found) if set(content_tokens(name)) - faint()]
    return tuple(n for n in found if not any(n != other and mentioned(n, other) for other in found))


def _search(query: str, why: str) -> Action:
    return Action("search", {"query": plain(query)}, why)


def plain(text: str) -> str:
    """Return the text as a query, without punctuation."""
    return " ".join(re.sub(r"[\"“”«»「」『』《》?？!！,，。;；:：、…]", " ", text).split())
