"""Compare sentences in one order of words: where the date stands, and who does it, `by` or first, changes nothing.

Every word counts, but for articles and the Chinese words of `loose`; nothing is left out of either sentence.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache, lru_cache

from msgspec import Struct

from research.citations.language import listed, pattern, says
from research.citations.verbatim import Sentence, Token, number_refutes, reserved, subject, tokens_of
from research.quantities import Quantity, quantities
from research.text import has_cjk

_SELF = "Xself"
"""What stands for the subject of a page."""
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ed|es|s|e)$")
_LEAST = 3


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
def ordered(text: str, page: re.Pattern[str] | None = None) -> Ordered:
    """Return the words of a text: the active for the passive, its only date last, the subject of its page always alike."""
    plain = _plain(text, page)
    found = _words(plain)
    times = [at for at, each in enumerate(found) if each.figure and _moves(found, at, plain)]
    if len(times) == 1:
        (at,) = times
        lead = at > 0 and found[at - 1].key in listed("when")
        found = [*found[: at - lead], *found[at + 1 :], found[at]]
    turned = _by_whom(found) if not has_cjk(plain) else _rotated(found)
    return Ordered(plain, tuple(each for each in turned if each.key not in listed("loose")))


def _plain(text: str, page: re.Pattern[str] | None) -> str:
    """Return a text with one word for all that mean the same, and for the subject of its page, which need not be said."""
    for meant in listed("same"):
        first, *others = meant.split("|")
        text = re.sub("|".join(sorted(others, key=len, reverse=True)), first, text)
    return page.sub(_SELF, text).replace(f" of {_SELF}", "") if page else text


def _words(text: str) -> list[Word]:
    found = [each for each in quantities(text) if each.kind != "ordinal" and not each.weak]
    for at, each in enumerate(found):
        if not each.unit and each.kind == "number" and re.search(r"\.\d*0$|\.\d+\.", each.written):
            del found[at:]  # versions
            break
    words = [Word(_key(each), each.written, each.end, each) for each in found]
    inside = [(each.start, each.end) for each in found]
    for token in tokens_of(text):
        if not any(start < token.end <= end for start, end in inside):
            key = str(token.key)
            if key == "年" and words and any(token.end == end + 1 for _, end in inside):
                continue
            words.append(Word("be" if key in listed("is") and not has_cjk(key) else _ENDING.sub("", key), token.text, token.end))
    return sorted(words, key=lambda each: each.end)


def _key(figure: Quantity) -> str:
    if figure.kind == "date":
        return "{}-{}-{}".format(*figure.date)
    points = any(each in figure.written for each in ("point", "百分点"))
    return f"{figure.value:.12g} {figure.unit}{' points' * points}"


def _moves(words: Sequence[Word], at: int, text: str) -> bool:
    """Return whether a figure is a date that says when all of a sentence is so."""
    figure, before = words[at].figure, words[at - 1].key if at else ""
    if figure is None or figure.kind == "number" or figure.hedge:
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
    names = [at for at, each in enumerate(who) if each.text[:1].isupper()]
    who = who[names[0] :] if names else who  # `by the engineer Ruth Alderney`
    if not who or "and" in keys[be:by]:
        return words
    return [*who, words[be + 1], *words[:be], *words[be + 2 : by], *words[end:]]


def _rotated(words: list[Word]) -> list[Word]:
    """Return `甲公司承建大桥` for `大桥由甲公司承建`."""
    keys = ["", *(each.key for each in words), ""]
    at = next((at for at, key in enumerate(keys[1:-1]) if key in listed("agent") and keys[at + 2] != "于"), -1)
    return [*words[at + 1 :], *words[:at]] if at >= 0 else words


class Index:
    """The sentences of a page, by their words without the figures."""

    def __init__(self, title: str, text: str, sentences: Iterable[Sentence]) -> None:
        self.title, self._text, self._page = title, text, subject(title, text)
        self._said: dict[tuple[str, ...], list[tuple[Sentence, Ordered]]] = {}
        self._denied: dict[tuple[str, ...], list[tuple[Sentence, Ordered]]] = {}
        for sentence in sentences:
            own = ordered(sentence.text, self._page)
            if len(own.words) >= _LEAST - sentence.bound:
                self._said.setdefault(_frame(own.words), []).append((sentence, own))
            if sum(each.key in listed("not") for each in own.words) == 1:
                self._denied.setdefault(_frame(own.words, listed("not") | listed("may")), []).append((sentence, own))

    def compared(self, claim: str) -> Iterator[tuple[Sentence, str | None]]:
        """Yield each sentence that says what a claim says; if it says otherwise, with its other figure or word."""
        said = ordered(claim, self._page)
        frame = _frame(said.words)
        for cut in range(len(frame) - _LEAST + 2) if has_cjk(claim) else (0,):
            for start, end in ((cut, len(frame)), (0, len(frame) - cut)):  # whoever acts stands first: `赵明管理仓库`
                words, lead = said.words[start:end], said.words[:start] or said.words[end:]
                for sentence, own in self._said.get(frame[start:end], ()) if cut or not start else ():
                    leads = (sentence.lead,) if sentence.bound else (sentence.lead, self.title)
                    if (cut or sentence.bound) and not any(_begins(each, lead) for each in leads):
                        continue
                    if end < len(frame) and sentence.text[:1] not in listed("agent"):
                        continue
                    if _keys(words) == _keys(own.words):
                        yield sentence, None
                    elif _plain_of(claim, sentence) and (other := _other(said.text, words, own, sentence, self._text)):
                        yield sentence, other
        yield from self._denials(claim, said)

    def _denials(self, claim: str, said: Ordered) -> Iterator[tuple[Sentence, str]]:
        """Yield each sentence that denies how a claim begins, with its `not`."""
        words = [each for each in said.words if each.key not in listed("may")]
        if not self._denied or any(each.key in listed("not") for each in words):
            return
        for end in range(_LEAST - 1, len(words) + 1):
            for sentence, own in self._denied.get(_frame(words[:end]), ()):
                same = _keys(words[:end]) == [e.key for e in own.words if e.key not in listed("not") | listed("may")]
                if same and not sentence.bound and not reserved(" ".join(each.text for each in words[end:])):
                    if _plain_of(claim, sentence):
                        yield sentence, next(each.text for each in own.words if each.key in listed("not"))


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
    around = next((each for each in re.split("; |；", sentence.whole) if sentence.text in each), "")
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
    if one is None or other is None or one.kind != other.kind or one.hedge != other.hedge:
        return False
    if one.kind == "date":
        same = [bool(n) for n in one.date] == [bool(n) for n in other.date]
        return same and not (one.states(other) or other.states(one))
    if one.kind == "year":
        return one.value != other.value and says("once", text)
    if re.sub(r"\D", "", mine.text) == re.sub(r"\D", "", theirs.text):
        units = [re.sub(r"[\d.,\s]", "", each.text) for each in (mine, theirs)]
        return one.value != other.value and units[0] != units[1] and all(units) and bool(one.unit and other.unit)
    if one.unit != other.unit:
        return False
    reading, said = tokens_of(text), tokens_of(claim)
    return number_refutes(said[_number(said, one)], reading, _number(reading, other), pattern("limit").sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _number(tokens: Sequence[Token], figure: Quantity) -> int:
    """Return the place of the number of a figure."""
    inside = [at for at, each in enumerate(tokens) if figure.start < each.end <= figure.end]
    return next((at for at in inside if isinstance(tokens[at].key, Decimal)), inside[0])
