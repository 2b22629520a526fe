"""Documents of prose as far as they were read, the names in them, and the weighted words of a question.

A word's weight grows with its rarity in the documents found (inverse document frequency, Spärck Jones 1972).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from msgspec import Struct

from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.lexicon import filler, openers
from research.models.extractive.names import Names
from research.models.extractive.similarity import cosine
from research.models.extractive.stems import WEAK, stem
from research.text import STOP_WORDS, content_tokens, has_cjk, tokens

_NAMED = 2.0
"""Factor for words of names: a document about another thing does not answer the question."""
_FAINT = 0.35
"""Factor for words that ask, count or compare."""

_QUOTED = re.compile(r"[\"“«「《]([^\"”»」》\n]{2,60})[\"”»」》]")
_ASKING = "谁 哪里 哪儿 哪 何 何时 何地 何处 什么 时候 多少 几 怎样 如何 为何 为什么 是谁 由谁"
_SPEAKING = "am my mine our ours may must shall should 我 我们 你 您 能 会 要 可以 能不能"
"""Those who ask and are asked, and verbs that stand beside another."""
_ASKS = re.compile(r"哪|什么")
"""Marks Chinese question words, however the segmenter splits them: 哪一年, 什么时候."""
_ALIKE = 0.8
"""Lowest similarity of two spellings of a name, and of the meanings of two forms of a word."""
_ROOT = 5
"""Letters that two forms of a word begin with."""


@lru_cache(maxsize=65_536)
def keys(text: str) -> frozenset[str]:
    """Return the stems of a text's topic words: *directed* and *directs* have the same."""
    return frozenset(map(stem, content_tokens(text)))


@lru_cache(maxsize=1)
def faint() -> frozenset[str]:
    """Return the tokens that say little about a topic."""
    return frozenset(filler() | WEAK | set(tokens(" ".join(openers()))))


@lru_cache(maxsize=1)
def _empty() -> frozenset[str]:
    """Return the tokens that say nothing about a topic, including `doe`, the folded form of *does*."""
    return frozenset(tokens(f"{' '.join(STOP_WORDS)} {_ASKING} {_SPEAKING}"))


class Page(Struct, frozen=True, dict=True):
    """A document, as far as it was read."""

    n: int
    title: str
    url: str
    """Empty if only a note of the document is left, so that it cannot be opened."""
    lines: tuple[Fact, ...]
    read: bool
    """Whether it was opened or cannot be; if False, only a search result of it is known."""

    @cached_property
    def name(self) -> str:
        """The title without the part in parentheses, as in `Mercury (planet)`."""
        return re.sub(r"\s{0,9}[(（].{0,300}?[)）]\s{0,9}$", "", self.title).strip() or self.title

    @cached_property
    def text(self) -> str:
        return "\n".join(fact.line for fact in self.lines)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The topic words of title and text."""
        return keys(self.title).union(*(keys(fact.line) for fact in self.lines))

    @cached_property
    def heads(self) -> dict[str, str]:
        """The last heading before each line, and the document's first line: a line need not repeat what they say."""
        top = head = self.lines[0].line if self.lines else ""
        found = dict[str, str]()
        for fact in self.lines:
            head = fact.line if fact.line.startswith("#") else head
            found[fact.line] = f"{top}\n{head}"
        return found

    @cached_property
    def record(self) -> bool:
        """Whether it is a list of labelled values, or a section of the Factbook, and not prose."""
        labelled = sum(bool(fact.label) for fact in self.lines)
        return (" · " in self.title and not self.lines[0].own) or (labelled > 2 and 2 * labelled > len(self.lines))


def pages_of(evidence: Evidence) -> tuple[Page, ...]:
    """Return the documents of prose in the order found; one that was opened without its search results."""
    seen: dict[int, list[Fact]] = {}
    for fact in evidence.facts:
        seen.setdefault(fact.n, []).append(fact)
    known, opened = frozenset(evidence.facts), dict[int, list[Fact]]()
    for fact in (fact for step in evidence.steps if step.name == "visit" for fact in step.facts):
        if fact in known:
            opened.setdefault(fact.n, []).append(fact)
    found = []
    for n, facts in seen.items():
        url = next((fact.url for fact in facts if "://" in fact.url), "")
        lines = _without_repeats(opened.get(n, facts))
        found.append(Page(n, facts[0].title, url, lines, url in evidence.visited or not url))
    return tuple(page for page in found if not page.record)


def _without_repeats(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Drop headings that repeat the title, and duplicate lines."""
    lines: dict[str, Fact] = {}
    for fact in facts:
        line = fact.line.lstrip("# ").strip()
        if line and line != fact.title:
            lines.setdefault(line, fact)
    return tuple(lines.values())


class Wanted:
    """The topic words of a question with their weights: the fewer documents contain a word, the higher."""

    def __init__(self, question: str, names: Sequence[str], pages: Sequence[Page], context: str = "") -> None:
        """`context` is what was said before the question; its words count too."""
        self.text, self.names = question, tuple(names)
        self.whole = f"{context} {question}".strip()
        """The question behind its context."""
        found = dict.fromkeys([*content_tokens(question), *content_tokens(context)])
        spoken = [token for token in found if token not in _empty() and not _ASKS.search(token)]
        self.words = {stem(token): token for token in reversed(spoken)}
        """The words as written, by key."""
        self.named = frozenset[str]().union(*map(keys, names)) & self.words.keys()
        self.faint = {key for key, token in self.words.items() if token in faint()} - self.named
        self.asked = self.words.keys() - self.named - self.faint
        """The keys of the words that are neither names nor faint: they say what the question asks for."""
        self._unspaced = [key for key in self.words if has_cjk(key)]
        frequency = Counter(key for page in pages for key in self.held(page))
        self.weight = {
            key: (_NAMED if key in self.named else _FAINT if key in self.faint else 1.0)
            * math.log(1 + (1 + len(pages)) / (1 + frequency[key]))
            for key in self.words
        }

    def held(self, page: Page, line: str | None = None) -> frozenset[str]:
        """Return the keys of the question's words in a document, or in one of its lines together with the title."""
        have = page.keys if line is None else keys(line) | keys(page.title)
        text = f"{page.title} {page.text if line is None else line}"
        # In text without spaces, a segmenter may split the same word in different ways.
        return frozenset((have & self.words.keys()).union(key for key in self._unspaced if key in text))

    def share(self, held: Iterable[str], of: Iterable[str] | None = None) -> float:
        """Return the weight of the words `held` as a share, 0 to 1, of the question's words or of those in `of`.

        Returns 1 if these have no weight.
        """
        part, held = self.weight.keys() if of is None else set(of), set(held)
        # Sum in the order of the question: otherwise rounding would break ties differently from run to run.
        weights = {key: weight for key, weight in self.weight.items() if key in part}
        total = sum(weights.values())
        return sum(weight for key, weight in weights.items() if key in held) / total if total else 1.0


def alike(a: str, b: str) -> bool:
    """Return whether two words are similar spellings of the same word, or forms of it: `penalty` and `penalised`."""
    if min(len(a), len(b)) <= 3 or a[0] != b[0] or not a.isascii():
        return False
    return SequenceMatcher(None, a, b).ratio() >= _ALIKE or (a[:_ROOT] == b[:_ROOT] and cosine(a, b) >= _ALIKE)


def mentioned(name: str, text: str) -> bool:
    """Return whether a text contains a name as whole words, in any case and number."""
    if has_cjk(name):
        return name in text
    bare = _bare(name)
    return bool(bare) and f" {bare} " in f" {_bare(text)} "


@lru_cache(maxsize=16_384)
def _bare(text: str) -> str:
    return " ".join(tokens(text)).removeprefix("the ")


def names_in(line: str, known: Names) -> list[str]:
    """Return the names in a line: quoted titles, capitalised words, and in Chinese what the segmenter marks as names."""
    found = [match.group(1).strip() for match in _QUOTED.finditer(line)]
    found += [written for _, written, _ in known.of(line) if len(written) > (1 if has_cjk(written) else 2)]
    return list(dict.fromkeys(found))
