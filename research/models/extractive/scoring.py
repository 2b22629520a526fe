"""Score sentences as answers to a question: a softmax over all of them and over the answer that none of them is one.

The weights are fitted by `python -m bench.reading`; what they are worth on other documents is in
docs/decisions/0050-sentences-by-a-fitted-score.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import takewhile, zip_longest

from msgspec import Struct
from msgspec.structs import replace

from research.models.extractive.evidence import Fact
from research.models.extractive.kinds import Kind, is_amount, times
from research.models.extractive.names import Names, is_country, key
from research.models.extractive.passages import Page, Wanted, alike, keys, mentioned, names_in
from research.models.extractive.similarity import cosine
from research.quantities import Quantity, quantities
from research.text import content_tokens, has_cjk, tokens
from research.web.table_text import HEAD

WEIGHTS = {
    "near": 5.3,
    "near_in_place": 4.5,
    "near_by_words": 4.8,
    "shares": 2.0,
    "shares_in_place": 2.2,
    "says": 0.7,
    "says_in_place": 0.9,
    "no_figure": -2.6,
    "no_name": -1.6,
}
"""Of each feature in `features`."""
NONE = 7.5
"""The score of the answer that no sentence is one."""
_MEASURED = {
    "celsius": "temperature 温度",
    "fahrenheit": "temperature 温度",
    "mass": "weight 重量",
    "speed": "speed 速度",
    "area": "area 面积",
}
"""Words for what a unit measures."""
SURE = 0.5
"""Probability above which a sentence is given as the answer."""
BACK = re.compile(r"\W*(?:(?:she|he|they|it|this|these|those|both|her|his|their|its)\b|[她他它其此这该])", re.I)
"""Matches the start of a sentence about what the one before it names."""
_BACK = 3
"""Sentences before such a one in which a name is looked for."""
_COMPARED = 150
"""Sentences, the best by their words, whose meaning is compared."""
_LEAST = 3
"""Words of the shortest sentence."""


class Sentence(Struct, frozen=True):
    """A sentence of a document, and how well it answers."""

    fact: Fact
    page: Page
    own: frozenset[str]
    """Keys of the question's words in the sentence or its title."""
    held: frozenset[str]
    """These, and those in the headings over it or in the sentence that led to its document."""
    left: frozenset[str]
    """Keys of the words that the sentences which led to its document do not say already."""
    things: tuple[str, ...]
    """The names, numbers or dates in it that the question asks for."""
    beside: Fact | None = None
    """The sentence behind it, or before it if it refers back, that has a name which is asked for, if it has none itself."""
    score: float = 0.0

    @property
    def probability(self) -> float:
        """How probable it is, 0 to 1, that it answers, rather than that nothing does."""
        return 1 / (1 + math.exp(NONE - self.score))


class Scorer:
    """Scores sentences for one question."""

    def __init__(self, wanted: Wanted, known: Names, kind: Kind | None) -> None:
        """`known` are the names in all documents, `kind` is the kind of answer that is asked for."""
        self._wanted = wanted
        self._known = known
        self._kind = kind
        self._timed = kind in ("year", "date", "number")

    def scored(self, ways: Mapping[Page, frozenset[str]]) -> list[Sentence]:
        """Return the sentences of documents, the best first; with each document the keys of the sentences that led to it.

        Of those that probably answer, the ones with a figure or date come first if one is asked for.
        """
        scored = [
            replace(said, score=sum(WEIGHTS[name] * value for name, value in self.features(said, *near).items()))
            for said, *near in self.compared(ways)
        ]
        return sorted(scored, key=lambda said: (said.probability <= SURE, self._timed and not said.things, -said.score))

    def compared(self, ways: Mapping[Page, frozenset[str]]) -> list[tuple[Sentence, float, float, float]]:
        """Return the sentences, the best by their words, with their similarities of meaning for `features`.

        Those that say nothing of what is asked about a thing are left out: they are near by its name alone.
        """
        said_of = (said for page, way in ways.items() for said in self._sentences(page, way))
        found = [said for said in said_of if not self._only_names(said)]
        share = self._wanted.share
        found = sorted(found, key=lambda said: -share(said.own) - share(said.held))[:_COMPARED]
        asked = {left: self._asking(left) for left in {said.left for said in found}}
        bare = {left: " ".join(word for at, word in self._wanted.words.items() if at in left) for left in asked}
        return [
            (
                said,
                cosine(asked[said.left], said.fact.line),
                cosine(asked[said.left], _in_place(said)),
                cosine(bare[said.left], said.fact.line),
            )
            for said in found
        ]

    def _asking(self, left: frozenset[str]) -> str:
        """Return the question, or what is left of it behind the sentences that led to a document."""
        if left >= self._wanted.words.keys():
            return self._wanted.whole
        said = {self._wanted.words[at] for at in self._wanted.words.keys() - left}
        return " ".join(word for word in tokens(self._wanted.whole) if word not in said)

    def features(self, said: Sentence, near: float, in_place: float, by_words: float) -> dict[str, float]:
        """Return what the score is made of, each about 0 to 1.

        `near` and `in_place` are the similarities of meaning without and with its title and heading, `by_words` that to
        the topic words of the question alone.
        """
        wanted, kind = self._wanted, self._kind
        return {
            "near": near,
            "near_in_place": in_place,
            "near_by_words": by_words,
            "shares": wanted.share(said.own, said.left),
            "shares_in_place": wanted.share(said.held, said.left),
            "says": self._says(said.own, said),
            "says_in_place": self._says(said.held, said),
            "no_figure": float(self._timed and not said.things),
            # Names are not recognised for certain in Chinese.
            "no_name": float(
                kind in ("person", "place") and not (said.things or said.beside) and not has_cjk(said.fact.line)
            ),
        }

    def _only_names(self, said: Sentence) -> bool:
        """Return whether a sentence has the name of what is asked about, but neither what is asked nor, of *who*, the deed."""
        wanted = self._wanted
        if not (wanted.named | keys(said.page.title)) & said.held:
            return False
        asked = self._asked(said)
        if self._kind == "person" and not has_cjk(wanted.text):
            return bool(asked) and next(at for at in reversed(wanted.words) if at in asked) not in said.own
        return bool(asked) and said.held.isdisjoint(asked)

    def _says(self, held: frozenset[str], said: Sentence) -> float:
        """Return the share of the words for what the question asks."""
        asked = self._asked(said)
        return self._wanted.share(held, asked) if asked else 0.5

    def _asked(self, said: Sentence) -> frozenset[str]:
        """Return the keys of what the question asks, without those of the title: they name the thing."""
        return frozenset(self._wanted.asked & said.left - keys(said.page.title))

    def _sentences(self, page: Page, way: frozenset[str]) -> list[Sentence]:
        """Return the sentences of a document, not scored yet.

        A sentence has what stands over it only if it has something of the question itself.
        """
        wanted, found = self._wanted, []
        for at, (fact, below) in enumerate(zip_longest(page.lines, page.lines[1:])):
            names_columns = fact.line.startswith("|") and below is not None and HEAD.match(below.line)
            if (
                fact.line.startswith("#")
                or names_columns
                or HEAD.match(fact.line)
                or len(tokens(fact.line)) < _LEAST
                or fact.cut
            ):
                continue
            own = wanted.held(page, fact.line)
            have = content_tokens(f"{fact.line} {page.title}")
            own |= {at for at in wanted.words.keys() - own if any(alike(wanted.words[at], word) for word in have)}
            own |= _dimensions(fact.line) & wanted.words.keys()
            led = way | wanted.held(page, page.heads[fact.line]) if own - keys(page.title) else way
            left = frozenset(wanted.words.keys() - (way if wanted.asked - way else frozenset()))
            things = self.things(fact.line, page)
            beside = self._beside(page, at) if self._kind == "person" and not things else None
            found.append(Sentence(fact, page, own, own | led, left, things, beside))
        return found

    def _beside(self, page: Page, at: int) -> Fact | None:
        """Return the sentence with a name that is nearest before one that refers back, else the one behind."""
        back = BACK.match(page.lines[at].line)
        near = page.lines[max(0, at - _BACK) : at][::-1] if back else page.lines[at + 1 : at + 2]
        said = takewhile(lambda fact: not fact.line.startswith("#"), near)
        return next((fact for fact in said if self.things(fact.line, page)), None)

    def things(self, line: str, page: Page, *, firm: bool = False) -> tuple[str, ...]:
        """Return the names, numbers or dates of a sentence that neither the question nor the title contains.

        With `firm`, words that are numbers only perhaps do not count.
        """
        kind, text = self._kind, self._wanted.text
        if self._timed:
            fitting = (q for q in quantities(line) if q.kind == "number" and not (firm and q.weak))
            counted = (amount(line, q) for q in fitting) if kind == "number" else times(line, text)
            found = [each for each in counted if kind != "number" or is_amount(text, each)]
        elif kind in ("person", "place", "name"):
            names = [name for name in names_in(line, self._known) if kind != "person" or not is_country(key(name))]
            names = [name for name in names if not mentioned(name, page.title)]
            found = [name for name in names if not any(name != other and mentioned(name, other) for other in names)]
        else:
            return ()
        return tuple(each for each in dict.fromkeys(found) if not mentioned(each, text))


def amount(line: str, figure: Quantity) -> str:
    """Return a figure as written, with a unit that follows another word: *15 working days*, 30个工作日."""
    said, rest = line[figure.start : figure.end].rstrip("."), line[figure.end :]
    second = re.match(r"\s[\w-]+\s([A-Za-z]+)", rest)
    if second and not figure.unit and any(each.unit for each in quantities(f"{said} {second[1]}")):
        return said + second[0]
    days = None if figure.unit else re.match(r"个\w{0,3}?[日天周月年]", rest)
    return said + (days[0] if days else "")


@lru_cache(maxsize=16_384)
def _dimensions(line: str) -> frozenset[str]:
    """Return the keys of the words for what the units in a line measure, which it need not say."""
    return keys(" ".join(_MEASURED.get(figure.unit, "") for figure in quantities(line)))


def _in_place(said: Sentence) -> str:
    """Return a sentence with the title and the heading that it stands under."""
    head = said.page.heads[said.fact.line].rpartition("\n")[2].lstrip("# ")
    return f"{said.page.name} {'' if head == said.fact.line else head}: {said.fact.line}"
