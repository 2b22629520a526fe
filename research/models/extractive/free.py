"""Answer a question in no known form from the lines that have most of its words."""

from __future__ import annotations

from research.models.extractive.covering import ASKING, names_of, quoted, tokens_of, words_of
from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.patterns import OF_ALL, SUPERLATIVE, YEAR_OF
from research.models.extractive.places import mentions
from research.models.extractive.question import Question
from research.models.extractive.verdict import Verdict
from research.text import tokens

PAGES, SEARCHED = 4, 4
"""Most pages that are read and most searches."""
SHARED = 2
"""Fewest words of the question that a page must have to be read."""


def free(finder: Finder) -> Verdict:
    """Collect lines until they cover the question, and search the names found in them."""
    evidence, words = finder.evidence, words_of(finder.question.text)
    asked = [word for word in words if word not in ASKING]
    chosen, whole = quoted(evidence, asked, finder.question.names)
    if whole and not over_everything(finder.question):
        return finder.end(quotes=tuple(chosen))
    covered = {word for fact in chosen for word in asked if word in tokens_of(fact)}
    searches = [step for step in evidence.steps if step.searches]
    if pages := _promising(finder, asked):
        for page in pages:
            finder.act("visit", {"url": page.url, "goal": finder.question.text}, f"Read {page.title}.")
        return finder.more()
    still = [word for word in asked if word not in covered]
    if len(searches) < SEARCHED and still:
        bridge = [name for fact in chosen for name in names_of(fact) if not set(tokens(name)) <= set(words)]
        for query in [" ".join([name, *still]) for name in bridge[:2]] + [" ".join(still)]:
            if finder.search(query, f"Still open: {' '.join(still)}. Search again."):
                return finder.more()
    finder.missing += still
    return finder.end()


def _promising(finder: Finder, asked: list[str]) -> list[Fact]:
    """Return the pages to read next: at first two, and none after enough of them."""
    evidence = finder.evidence
    visits = sum(step.name == "visit" for step in evidence.steps)
    found = [fact for step in evidence.steps if step.searches for fact in step.results]
    pages = sorted(
        (page for page in dict.fromkeys(found) if page.url not in evidence.visited),
        key=lambda page: -len(tokens_of(page) & set(asked)),
    )
    if visits >= PAGES or not pages or len(tokens_of(pages[0]) & set(asked)) < SHARED:
        return []
    return pages[: 1 if visits else 2]


def over_everything(question: Question) -> bool:
    """Return whether a question asks which of all countries or years is first, which a line about one does not answer."""
    text = question.text.lower()
    of_all = OF_ALL.search(text) is not None and not mentions(question.text)
    return SUPERLATIVE.search(text) is not None and (of_all or YEAR_OF.search(text) is not None)
