"""Links between documents, and the choice of the documents to cite.

One document links to another when it mentions its title, as in encyclopaedias, wikis and folders of notes.  The documents
to cite are those that cover the question together, not those that each cover the most of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from research.models.extractive.evidence import Fact
from research.models.extractive.names import Names
from research.models.extractive.passages import Page, Wanted, mentioned, names_in
from research.text import STOP_WORDS

CITED = 5
"""Most documents that an answer cites."""
_LINK = 0.5
"""Weight of a link to a document, times the share of the question's words in the linking sentence."""
_BACK = 0.2
"""The same for a link from it; lower, because many documents mention well-known things."""
_ALSO = 0.7
"""Factor for a link by another name: an abbreviation, or the start of the title."""
_TITLED = 0.25
"""Weight of a title that appears in the question; a third of it for a title of one lower-case word."""
_OWN = 0.3
"""Weight of words of the question that the other documents contain too."""


class Web:
    """The documents with their links, weighted for one question."""

    def __init__(self, pages: Sequence[Page], wanted: Wanted) -> None:
        self.pages, self.wanted = tuple(pages), wanted
        self.known = Names(page.text for page in pages)
        self.held = {page.n: wanted.held(page) for page in pages}
        self._own = {page.n: wanted.share(held) for page, held in zip(pages, self.held.values(), strict=True)}
        named = [page for page in pages if mentioned(page.name, wanted.text)]
        self._titled = {page.n: _titled(page, named, wanted) if page in named else 0.0 for page in pages}
        self._links: dict[tuple[int, int], float] = {}
        self._lines_about: dict[tuple[int, int], list[Fact]] = {}
        for page in pages:
            names = {name for fact in page.lines for name in names_in(fact.line, self.known)}
            names = {name for name in names if not mentioned(name, wanted.text)}
            for other in pages:
                if other is not page:
                    self._connect(page, other, names)

    def worth(self, page: Page) -> float:
        """Return how much of the question the document covers by itself."""
        return self._own[page.n] + _TITLED * self._titled[page.n]

    def link(self, page: Page, other: Page) -> float:
        """Return 0 to 1: how relevant the mention of another document is; 0 if it is not mentioned."""
        return self._links.get((page.n, other.n), 0.0)

    def lines_about(self, page: Page, other: Page) -> Sequence[Fact]:
        """Return the lines of a document that mention another."""
        return self._lines_about.get((page.n, other.n), ())

    def chosen(self, limit: int = CITED) -> list[Page]:
        """Return the documents to cite, most useful first.

        The first two cover most of the question together; each further one adds the most to those before it: words not
        covered yet, or a link.
        """
        if len(self.pages) < 2:
            return list(self.pages)
        best = max(combinations(self.pages, 2), key=lambda pair: self._together(*pair))
        found = sorted(best, key=self.worth, reverse=True)
        while len(found) < min(limit, len(self.pages)):
            left = [page for page in self.pages if page not in found]
            found.append(max(left, key=lambda page: self._adds(page, found)))
        return found

    def _together(self, a: Page, b: Page) -> float:
        both = self.wanted.share(self.held[a.n] | self.held[b.n])
        link = _LINK * max(self.link(a, b), self.link(b, a))
        return both + link + _TITLED * (self._titled[a.n] + self._titled[b.n])

    def _adds(self, page: Page, found: Sequence[Page]) -> float:
        held = frozenset[str]().union(*(self.held[other.n] for other in found))
        to, back = (max(map(link, found)) for link in (lambda o: self.link(o, page), lambda o: self.link(page, o)))
        own = self.wanted.share(self.held[page.n] - held) + _OWN * self._own[page.n]
        return own + _LINK * to + _BACK * back + _TITLED * self._titled[page.n]

    def _connect(self, page: Page, other: Page, names: Iterable[str]) -> None:
        """Record where a document mentions another, and how relevant these lines are."""
        if len(other.name) < 2 or other.name.lower() in STOP_WORDS:
            return
        worth, called = 1.0, [other.name]
        if not mentioned(other.name, page.text):
            start = f"{other.name} ".casefold()
            called = [name for name in names if name in other.aliases or start.startswith(f"{name} ".casefold())]
            called += [name for name in other.aliases if not name.isupper() and mentioned(name, page.text)]
            worth = _ALSO
        if called:
            at = (page.n, other.n)
            self._lines_about[at] = [fact for fact in page.lines if any(mentioned(name, fact.line) for name in called)]
            lines = [fact.line for fact in self._lines_about[at]] or [""]
            self._links[at] = worth * max(self.wanted.share(self.wanted.held(page, line)) for line in lines)


def _titled(page: Page, named: Sequence[Page], wanted: Wanted) -> float:
    """Return the weight of a title in the question; 0 if it is a part of a longer name there."""
    longer = (name for name in (*(other.name for other in named), *wanted.names) if len(name) > len(page.name))
    if any(mentioned(page.name, name) for name in longer):
        return 0.0
    return 1.0 if " " in page.name or not page.name.isascii() or page.name in wanted.text else 1 / 3
