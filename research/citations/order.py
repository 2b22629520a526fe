"""Compare sentences in one order of words: where the date stands, and who does it, `by` or first, changes nothing.

Every word counts, but for articles and the Chinese words of `loose`; nothing is left out of either sentence.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache, lru_cache

from msgspec import Struct
from msgspec.structs import replace

from research.citations.language import listed, pattern, says, spoken, unnamed
from research.citations.language import words as content
from research.citations.verbatim import PIECES, SELF, Sentence, Token, number_refutes, reserved, subject, tokens_of
from research.quantities import Quantity, quantities
from research.text import has_cjk

_ENDING = re.compile(r"(?<=[a-z]{4})(?:ed|es|s|e)$")
_LEAST = 3
_SUBJECT = 16
"""Words, or Chinese characters, of the longest name of a subject."""
_SEVERAL = re.compile(r"\band\b|[&/,，、和与及]")
"""Matches a heading that may name more than one subject."""
_SIGN = frozenset("%$€£¥°±<>≤≥=+~≈×÷")


class Word(Struct, frozen=True):
    """A word or a figure, with its place in the text."""

    key: str
    text: str
    end: int
    figure: Quantity | None = None


class Ordered(Struct, frozen=True):
    """A text, and its words in one order."""

    text: str
    words: tuple[Word, ...]


@lru_cache(maxsize=16_384)
def ordered(text: str, page: tuple[re.Pattern[str], str] | None = None) -> Ordered:
    """Return the words of a text: the active for the passive, its only date last, the subject of its page always alike."""
    plain = _plain(text, page)
    found = _words(plain)
    times = [at for at, each in enumerate(found) if each.figure and _moves(found, at, plain)]
    if len(times) == 1:
        (at,) = times
        lead = at > 0 and found[at - 1].key in listed("when")
        found = [*found[: at - lead], *found[at + 1 :], *found[at - lead : at + 1]]
    turned = _by_whom(found) if not has_cjk(plain) else _rotated(found)
    return Ordered(plain, tuple(each for each in turned if each.key not in listed("loose")))


def _plain(text: str, page: tuple[re.Pattern[str], str] | None) -> str:
    """Return a text with one word for all that mean the same, and for the subject of its page, which need not be said."""
    meant, known = _meant()
    text = known.sub(lambda found: meant[found[0].casefold()], text)
    return page[0].sub(SELF, text).replace(f" of {SELF}", "").replace(SELF, page[1]) if page else text


@cache
def _meant() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return the word for each that means the same, and a pattern of all of them, the longest first."""
    groups = [each.replace("_", " ").split("|") for each in listed("same")]
    meant = {word: first for first, *others in groups for word in (first, *others)}
    ends = (word if has_cjk(word) else rf"\b{word}\b" for word in sorted(meant, key=len, reverse=True))
    return meant, re.compile("|".join(ends), re.I)


def _words(text: str) -> list[Word]:
    found = [each for each in quantities(text) if (each.unit or each.kind in ("date", "year")) and not each.weak]
    words = [Word(_key(each), each.written, each.end, each) for each in found]
    for token in tokens_of(text):
        inside = any(each.start < token.end <= each.end for each in found)
        unit = token.key == "年" and any(token.end == each.end + 1 for each in found)
        if not (inside or unit):
            words.append(_word(token))
    return sorted(words, key=lambda each: each.end)


def _word(token: Token) -> Word:
    if isinstance(token.key, Decimal):
        start = token.end - len(token.text)
        figure = Quantity("number", token.text, float(token.key), 0.0, "", start, token.end)
        return Word(f"{token.key.normalize():f}", token.text, token.end, figure)
    key = "be" if token.key in listed("is") and not has_cjk(token.key) else _ENDING.sub("", token.key)
    return Word(key, token.text, token.end)


def _key(figure: Quantity) -> str:
    if figure.kind == "date":
        return "{}-{}-{}".format(*figure.date)
    points = any(each in figure.written for each in ("point", "百分点"))
    return f"{figure.value:.12g} {figure.unit}{' points' * points}".strip()


def _moves(words: Sequence[Word], at: int, text: str) -> bool:
    """Return whether a figure is a date that says when all of a sentence is so."""
    figure, before = words[at].figure, words[at - 1].key if at else ""
    if figure is None or figure.kind == "number" or figure.hedge:
        return False
    if figure.kind == "year" and has_cjk(text) and text[figure.end : figure.end + 1] != "年":
        return False
    if not has_cjk(text):
        return before in listed("when")
    behind = text[figure.end : figure.end + 1]
    return before not in listed("toward") and not says("season", behind)


def _by_whom(words: list[Word]) -> list[Word]:
    """Return `K built it in Oslo` for `It was built by K in Oslo`."""
    keys = [each.key for each in words]
    if keys.count("by") != 1 or keys.count("be") != 1 or not 0 < keys.index("be") < keys.index("by") - 1:
        return words
    be, by = keys.index("be"), keys.index("by")
    end = next((at for at in range(by + 2, len(keys)) if keys[at] in listed("place") or words[at].figure), len(keys))
    who = words[by + 1 : end]
    name = next((at for at, each in enumerate(who) if each.text[:1].isupper()), 0)
    if name == 1 and not (who[0].text.endswith("ing") or who[0].text in spoken("link", "place", "reserve")):
        who = who[1:]  # `by the engineer Ruth Alderney`, not `by the father of Ruth Alderney`
    if not who or "and" in keys[be:by]:
        return words
    return [*who, words[be + 1], *words[:be], *words[be + 2 : by], *words[end:]]


def _rotated(words: list[Word]) -> list[Word]:
    """Return `甲公司承建大桥` for `大桥由甲公司承建`."""
    keys = ["", *(each.key for each in words), ""]
    at = next((at for at, key in enumerate(keys[1:-1]) if key in listed("agent") and keys[at + 2] != "于"), -1)
    return [*words[at + 1 :], *words[:at]] if at >= 0 else words


class Hit(Struct, frozen=True):
    """A sentence that says of its subject what a claim says, or the same with another figure."""

    sentence: Sentence
    other: str | None
    """What the source says where it refutes the claim; empty if it does not refute it."""
    subject: str = ""
    """What the claim has and the sentence has not."""
    above: frozenset[str] = frozenset()
    """Words above the sentence: its heading, the start of its paragraph, and the title."""


class Index:
    """The sentences of a page, by their words without the figures."""

    def __init__(self, title: str, text: str, sentences: Iterable[Sentence]) -> None:
        self.title, self._text, self._page = title, text, subject(title, text)
        self._said: dict[tuple[str, ...], list[tuple[Sentence, Ordered]]] = {}
        self._denied: dict[tuple[str, ...], list[tuple[Sentence, Ordered]]] = {}
        for sentence in sentences:
            for text in sentence.texts:
                self._add(sentence, ordered(text, self._page))
        self._heads = {(each[0], len(each)) for each in self._said}

    def _add(self, sentence: Sentence, own: Ordered) -> None:
        for words in (own.words, own.words[_refers(own.words) :]):
            if len(words) >= _LEAST - sentence.bound:
                same = self._said.setdefault(_frame(words), [])
                same += [(sentence, replace(own, words=words))] if (sentence, own) not in same else []
        if sum(each.key in listed("not") for each in own.words) == 1:
            self._denied.setdefault(_frame(own.words, listed("not") | listed("may")), []).append((sentence, own))

    def hits(self, claim: str) -> list[Hit]:
        """Return the sentences that say what a claim says, or otherwise; it may name the subject that is above them."""
        said = ordered(claim, self._page)
        found = []
        for start, end in self._cuts(said.words):
            words, lead = said.words[:start] + said.words[end:], said.words[start:end]
            first = not start or end == len(said.words)
            if _refers(lead) and len(lead) == 1:
                lead, first = (), False
            for sentence, own in self._said.get(_frame(words), ()):
                if self._is_of(sentence, lead, first):
                    same = _keys(words) == _keys(own.words)
                    other = None if same else _other(said.text, words, own, sentence, self._text)
                    refuted = other if other and _plain_of(claim, sentence) else ""
                    above = content(f"{self.title} {sentence.heading} {sentence.opening}")
                    found.append(Hit(sentence, None if same else refuted, " ".join(each.text for each in lead), above))
        return found or [Hit(*each) for each in self._denials(claim, said.words)]

    def _cuts(self, words: Sequence[Word]) -> Iterator[tuple[int, int]]:
        """Yield the place of each few words of a claim without which it may have as many words as a sentence."""
        frame = _frame(words)
        if frame and (frame[0], len(frame)) in self._heads:
            yield 0, 0
        for start in range(len(frame)):
            for end in range(start + 1, min(start + _SUBJECT, len(frame)) + 1):
                head = frame[0] if start else frame[end] if end < len(frame) else ""
                if (head, len(frame) - (end - start)) in self._heads:
                    yield start, end

    def _is_of(self, sentence: Sentence, lead: Sequence[Word], first: bool) -> bool:
        """Return whether words of a claim are the subject of a sentence that has none, or the name of what is above it."""
        if not lead:
            return not sentence.bound
        leads = (sentence.lead,) if sentence.bound else (sentence.lead, self.title)
        if first and has_cjk(sentence.text) and any(_begins(each, lead) for each in leads):
            return True
        text, name = " ".join(each.text for each in lead), sentence.heading or self.title
        own = content(text) - unnamed()
        if sentence.bound or not own or says("reserve", text) or _SIGN & set(text):
            return False
        if any(content(each) - unnamed() <= own <= content(each) for each in (self.title, self.title.split(" · ")[0])):
            return True
        if ":" in sentence.text or "：" in sentence.text:
            return False
        if own <= content(name) and (not _SEVERAL.search(name) or content(name) - unnamed() <= own):
            return True
        keys = [each.key for each in lead if each.key not in listed("back") and not content(each.text) <= unnamed()]
        return keys == _keys(ordered(sentence.opening, self._page).words)[: len(keys)]

    def _denials(self, claim: str, own_words: Sequence[Word]) -> Iterator[tuple[Sentence, str]]:
        """Yield each sentence that denies how a claim begins, with its `not`."""
        words = [each for each in own_words if each.key not in listed("may")]
        if not self._denied or any(each.key in listed("not") for each in words):
            return
        for end in range(_LEAST - 1, len(words) + 1):
            more = " ".join(each.text for each in words[end:])
            for sentence, own in [] if reserved(more) else self._denied.get(_frame(words[:end]), ()):
                said = [each.key for each in own.words if each.key not in listed("not") | listed("may")]
                if _keys(words[:end]) == said and not sentence.bound and _plain_of(claim, sentence):
                    yield sentence, next(each.text for each in own.words if each.key in listed("not"))


def chosen(found: Sequence[tuple[int, Hit]], context: Iterable[str], claim: str) -> Sequence[tuple[int, Hit]]:
    """Return the sentences that are about the subject of a claim, which it names, or a text before it (the nearest first)."""
    if any(each.subject for _, each in found):
        return [(n, each) for n, each in found if each.subject or not _refers(tokens_of(each.sentence.text))]
    names = next(filter(None, map(_names, context)), frozenset[str]())
    own = [(n, each) for n, each in found if names and names <= each.above]
    refer = any(map(_refers, (tokens_of(claim), *(tokens_of(each.sentence.text) for _, each in found))))
    return own or ([] if refer else found)


def _refers(words: Sequence[Word] | Sequence[Token]) -> bool:
    return bool(words) and words[0].text.casefold() in listed("back")


def _names(text: str) -> frozenset[str]:
    """Return the words that name the subject of a text: those of a heading, or with a capital or figure before its amount."""
    if not text.rstrip().endswith((".", "。")):
        return content(text) - unnamed()
    lead = text[: next((each.start for each in quantities(text)), len(text))]
    return content(" ".join(re.findall(r"(?<![\w-])[A-Z\d][\w-]*", lead))) - unnamed() - listed("back")


def _frame(words: Iterable[Word], without: Container[str] = ()) -> tuple[str, ...]:
    """Return the words of a text, its figures and those of a class alike."""
    return tuple("#" if each.figure else _class(each.key) for each in words if each.key not in without)


@cache
def _class(key: str) -> str:
    """Return the class of which only one is true of a thing, as the days of the week are; else the word itself."""
    return next((each for each in listed("class") if key in each.split("|")), key)


def _begins(text: str, words: Sequence[Word]) -> bool:
    """Return whether a text begins with words, at least two."""
    return len(words) > 1 and bool(text) and _keys(words) == _keys(ordered(text).words[: len(words)])


def _keys(words: Sequence[Word]) -> list[str]:
    return [each.key for each in words]


def _plain_of(claim: str, sentence: Sentence) -> bool:
    """Return whether no word takes back or leaves open what a sentence says, and so refutes."""
    texts = [pattern("limit").sub(" ", each) for each in (claim, sentence.text)]
    around = next((each for each in PIECES.split(sentence.whole) if sentence.text in each), "")
    texts.append(around.replace(sentence.text, " "))
    return not (sentence.quoted or any(map(reserved, texts)))


def _other(claim: str, words: Sequence[Word], own: Ordered, sentence: Sentence, page: str) -> str:
    """Return the figure of a sentence where one that refutes it stands in a claim, or the first of two that changed places."""
    pairs = [(a, b) for a, b in zip(words, own.words, strict=True) if a.key != b.key]
    if len(pairs) > 2 or [a.key for a, _ in pairs] != [b.key for _, b in pairs][::-1] and len(pairs) == 2:
        return ""
    if len(pairs) == 1 and not pairs[0][0].figure:
        return pairs[0][1].text
    if any(a.figure and a.figure.kind == "date" and a.text in page for a, _ in pairs):
        return ""  # perhaps it happened twice
    whole = sentence.whole or sentence.text
    years = sum(each.kind != "number" for each in quantities(whole))
    year = pairs[0][0].figure is not None and pairs[0][0].figure.kind == "year"
    if len(pairs) == 1 and years > 1 and not year and pairs[0][0].text in whole.replace(pairs[0][1].text, ""):
        return ""
    return pairs[0][1].text if all(_refutes(a, claim, b, own.text) for a, b in pairs) else ""


def _refutes(mine: Word, claim: str, theirs: Word, text: str) -> bool:
    one, other = mine.figure, theirs.figure
    if one is None or other is None or "date" in {one.kind, other.kind} != {"date"} or one.hedge != other.hedge:
        return False
    if one.kind == "date":
        same = [bool(n) for n in one.date] == [bool(n) for n in other.date]
        return same and not (one.states(other) or other.states(one))
    if one.kind == other.kind == "year" and not (has_cjk(text) and not re.search(rf"{other.value:.0f}年", text)):
        return one.value != other.value and says("once", text)
    if re.sub(r"\D", "", mine.text) == re.sub(r"\D", "", theirs.text):
        units = [re.sub(r"[\d.,\s]", "", each.text) for each in (mine, theirs)]
        return one.value != other.value and units[0] != units[1] and all(units) and bool(one.unit and other.unit)
    if one.unit != other.unit:
        return False
    reading, said = tokens_of(text), tokens_of(claim)
    unlimited = pattern("limit").sub(lambda found: " " * len(found[0]), text)
    return number_refutes(said[_number(said, one)], reading, _number(reading, other), unlimited)


def _number(tokens: Sequence[Token], figure: Quantity) -> int:
    """Return the place of the number of a figure."""
    inside = [at for at, each in enumerate(tokens) if figure.start < each.end <= figure.end]
    return next((at for at in inside if isinstance(tokens[at].key, Decimal)), inside[0])
