"""Documents as passages of prose: what was seen of each, the names in it, and the words of a question.

Words count by their rarity among the documents found (inverse document frequency, Spärck Jones 1972).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct

from research.citations.lexicon import WEAK, stem
from research.citations.names import Names
from research.extractive.evidence import Evidence, Fact
from research.extractive.lexicon import filler
from research.text import STOP_WORDS, content_tokens, has_cjk, tokens

_NAMED = 2.0
"""What a word of a name weighs, beside another topic word: a document about something else is no answer."""
_FAINT = 0.35
"""What a word of asking, counting and comparing weighs."""

_QUOTED = re.compile(r"[\"“«「《]([^\"”»」》\n]{2,60})[\"”»」》]")
_ALIAS = re.compile(
    r"[(（]([A-Z][\w.&-]{1,9})[)）]|"
    r"(?:abbreviated(?: as| to)?|also (?:known|called|referred to)(?: as)?(?: the)?|or simply|[简又亦]称为?|又名|缩写为?)"
    r"\s*[“\"「]?([\w.&-]{2,}(?: [A-Z][\w-]+)*)"
)
_ASKING = "谁 哪里 哪儿 哪 何 何时 何地 何处 什么 时候 多少 几 怎样 如何 为何 为什么 是谁 由谁"
_ASKS = re.compile(r"哪|什么")
"""What makes a Chinese word one of asking, however the segmenter cuts it: 哪一年, 什么时候."""
_HEAD = 3
"""Lines of a document that may say by which other names its thing goes."""


@lru_cache(maxsize=65_536)
def keys(text: str) -> frozenset[str]:
    """The topic words of a text, by what their forms share: *directed* and *directs* are one."""
    return frozenset(map(stem, content_tokens(text)))


@lru_cache(maxsize=1)
def faint() -> frozenset[str]:
    """Tokens that say little about the topic."""
    return frozenset(filler() | WEAK)


@lru_cache(maxsize=1)
def _empty() -> frozenset[str]:
    """Tokens that say nothing of it: also `doe`, which *does* is folded to."""
    return frozenset(tokens(f"{' '.join(STOP_WORDS)} {_ASKING}"))


class Page(Struct, frozen=True, dict=True):
    """A document, as far as it was seen."""

    n: int
    title: str
    url: str
    """Empty where only a note of it is left: it cannot be opened."""
    lines: tuple[Fact, ...]
    read: bool
    """It was opened, or cannot be; else only what a search showed of it is known."""

    @cached_property
    def name(self) -> str:
        """The title without what tells it from others of that name: `Mercury (planet)`."""
        return re.sub(r"\s*[(（].*?[)）]\s*$", "", self.title).strip() or self.title

    @cached_property
    def aliases(self) -> frozenset[str]:
        """Other names that its first lines say."""
        head = " ".join(fact.line for fact in self.lines[:_HEAD])
        return frozenset(match.group(1) or match.group(2) for match in _ALIAS.finditer(head))

    @cached_property
    def text(self) -> str:
        return "\n".join(fact.line for fact in self.lines)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The topic words of title and text."""
        return keys(self.title).union(*(keys(fact.line) for fact in self.lines))

    @cached_property
    def record(self) -> bool:
        """A list of labelled values, or a section of one, and not prose."""
        labelled = sum(bool(fact.label) for fact in self.lines)
        return " · " in self.title or (labelled > 2 and 2 * labelled > len(self.lines))


def pages_of(evidence: Evidence) -> tuple[Page, ...]:
    """The documents of prose that were seen, in the order found.  Of one that was opened, its text alone."""
    opened = {fact for step in evidence.steps if step.name == "visit" for fact in step.facts}
    seen: dict[int, list[Fact]] = {}
    for fact in evidence.facts:
        seen.setdefault(fact.n, []).append(fact)
    found = []
    for n, facts in seen.items():
        url = next((fact.url for fact in facts if "://" in fact.url), "")
        lines = _told([fact for fact in facts if fact in opened] or facts)
        found.append(Page(n, facts[0].title, url, lines, url in evidence.visited or not url))
    return tuple(page for page in found if not page.record)


def _told(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Without headings that repeat the title, and lines that stand twice."""
    lines: dict[str, Fact] = {}
    for fact in facts:
        line = fact.line.lstrip("# ").strip()
        if line and line != fact.title:
            lines.setdefault(line, fact)
    return tuple(lines.values())


class Wanted:
    """The topic words of a question and what each weighs: more, the fewer of the documents hold it."""

    def __init__(self, question: str, names: Sequence[str], pages: Sequence[Page]) -> None:
        self.text, self.names = question, tuple(names)
        found = dict.fromkeys(content_tokens(question))
        spoken = [token for token in found if token not in _empty() and not _ASKS.search(token)]
        self.words = {stem(token): token for token in reversed(spoken)}
        """As written, by key."""
        self.named = frozenset[str]().union(*map(keys, names)) & self.words.keys()
        self.faint = {key for key, token in self.words.items() if token in faint()} - self.named
        self.asked = self.words.keys() - self.named - self.faint
        """The keys of what is asked of the things named."""
        self._unspaced = [key for key in self.words if has_cjk(key)]
        frequency = Counter(key for page in pages for key in self.held(page))
        self.weight = {
            key: (_NAMED if key in self.named else _FAINT if key in self.faint else 1.0)
            * math.log(1 + (1 + len(pages)) / (1 + frequency[key]))
            for key in self.words
        }

    def held(self, page: Page, line: str | None = None) -> frozenset[str]:
        """The keys of the question's words that a document holds, or a line of it with the title."""
        have = page.keys if line is None else keys(line) | keys(page.title)
        text = f"{page.title} {page.text if line is None else line}"
        # Where words are not set apart, a segmenter may cut the same one in two ways.
        return frozenset((have & self.words.keys()).union(key for key in self._unspaced if key in text))

    def share(self, held: Iterable[str], of: Iterable[str] | None = None) -> float:
        """The part, 0 to 1 by weight, that these words are of the question, or of some of its words; 1 of none."""
        part, held = self.weight.keys() if of is None else set(of), set(held)
        # In the order of the question: sums that differ in their last digit would break ties now so, now otherwise.
        weights = {key: weight for key, weight in self.weight.items() if key in part}
        total = sum(weights.values())
        return sum(weight for key, weight in weights.items() if key in held) / total if total else 1.0


def mentioned(name: str, text: str) -> bool:
    """Whether a text says a name, as whole words in any case and number."""
    if has_cjk(name):
        return name in text
    bare = _bare(name)
    return bool(bare) and f" {bare} " in f" {_bare(text)} "


@lru_cache(maxsize=16_384)
def _bare(text: str) -> str:
    return " ".join(tokens(text)).removeprefix("the ")


def names_in(line: str, known: Names) -> list[str]:
    """The names in a line: quoted titles, capitalised words, and in Chinese what the segmenter takes for names."""
    found = [match.group(1).strip() for match in _QUOTED.finditer(line)]
    found += [written for _, written, _ in known.of(line) if len(written) > (1 if has_cjk(written) else 2)]
    return list(dict.fromkeys(found))
