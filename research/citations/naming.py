"""Labelled names: lines such as `Capital, name: Nairobi` and texts in rows of tables; and claims about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import groupby
from os.path import commonprefix

from msgspec import Struct
from msgspec.structs import replace

from research._util.glossary import currency_names, terms, used_beside
from research.citations.labelled import BRACKETS, ITEM, label_of, only, split
from research.citations.language import listed, pattern, says, spoken, unnamed, words
from research.citations.verbatim import QUOTES, Sentence, reserved, tokens_of
from research.quantities import Quantity, quantities
from research.text import has_cjk, is_word, tokens
from research.types import Source

_ALIKE = 0.6
"""From which on two names may be spellings of one."""
_PARTICLE = 3
"""Letters of the longest word inside a name that may be in lower case."""
_BESIDES = re.compile(r"; note\b|\s+per (?=[A-Z])")
"""What a line says behind a name: a note, or what a currency is counted for."""
_CODE = re.compile(r"[(（]([A-Z]{3})[)）]")
"""The code of a currency."""
_AND = re.compile(rf"{ITEM.pattern}|\band\b|[和及与]")
_ONE_OF = re.compile(r"(?:an?|one of)\b")


class Named(Struct, frozen=True):
    """What a source names: `value` is the `label` of `subject`."""

    n: int
    line: str
    subject: frozenset[str]
    around: frozenset[str]
    """Words allowed beside the subject: the head of its column."""
    labels: tuple[frozenset[str], ...]
    """The words of a label, whole and of its last part alone; a claim has those of one."""
    value: str
    beside: str
    """What the source says under the same label, in which other names of the value may be."""

    def asked(self, about: str) -> bool:
        """Return whether part of a claim says this label and this subject, and nothing else."""
        said = words(about)
        extra = said - self.subject - self.around - spoken("link", "whole")
        return self.subject <= said and any(label <= said and extra <= label for label in self.labels)

    def says(self, name: str, some: bool = False) -> bool | None:
        """Return whether a name is that of the value, or refuted by it; None if it may be another name of it.

        Of several names nothing is refuted; a claim says all of them, or `some`.
        """
        if name.strip(QUOTES + " ") == self.value.strip():
            return True
        plain = _BESIDES.split(BRACKETS.sub(" ", self.value))[0]
        if len(ITEM.split(plain)) > 1:
            all_of_them, claimed_names = _names(plain), _names(name)
            return True if claimed_names == all_of_them or (some and claimed_names <= all_of_them) else None
        seen, claimed = only(plain), only(name)
        bare, said = _without(plain, seen), _without(name, claimed)
        if (claimed and not seen) or not any(map(str.isalpha, _key(said))):
            return None
        if _key(said) in map(_key, (bare, *BRACKETS.findall(self.value))):
            off = abs(claimed.value - seen.value) > seen.value / 100 if claimed and seen else False
            return True if not claimed or not seen or claimed.states(seen) else False if off else None
        if (same := self._same_currency(said, bare)) is not None:
            return same
        if has_cjk(said) and (known := terms("city").get(bare.strip())):
            return False if _is_place(said) and not set(known) & set(said) else None
        told = not claimed and _is_name(said) and _is_name(bare) and not words(self.beside) & words(said)
        return False if told and SequenceMatcher(None, said.casefold(), bare.casefold()).ratio() < _ALIKE else None

    def _same_currency(self, said: str, bare: str) -> bool | None:
        """Return whether both are one currency; None if either is none or replaced, or if a country uses both."""
        code = _CODE.search(self.value)
        mine, theirs = _codes(said, self.subject), _codes(bare)
        if code and any(code[1] == each for each, _ in currency_names()):
            theirs = {code[1]}
        if mine & theirs or not (mine and theirs):
            return True if mine & theirs else None
        beside = [used_beside(each) for each in theirs]
        return False if all(beside) and not any(mine & each for each in beside) else None


def named_by(source: Source) -> Iterator[Named]:
    """Yield what the labelled lines of a section and the rows of tables name."""
    subject, *section = source.title.split(" · ")
    lines = source.quote.splitlines()
    heads = [label_of(line).split(",") for line in lines]
    for line, head in zip(lines, heads, strict=True):
        parts = [own for part in head if (own := words(part) - unnamed())]
        if section and parts:
            beside = " ".join(each for each, other in zip(lines, heads, strict=True) if other[0] == head[0])
            labels, value = (frozenset[str]().union(*parts), parts[-1]), line[len(",".join(head)) + 1 :]
            named = Named(source.n, line, words(subject), frozenset(), labels, value, beside)
            yield from (named, *_alike(named))
    for table, block in groupby(lines, key=lambda line: line.lstrip().startswith("|")):
        rows = [split(line) for line in block if set(line) - set("|-: \t")] if table else []
        for row in rows[1:]:
            texts = [pair for pair in zip(rows[0], row, strict=False) if pair[1] and not re.match(r"\W*\d", pair[1])]
            quote = "; ".join(f"{name}: {cell}" for name, cell in zip(rows[0], row, strict=False) if cell)
            for name, cell in texts[1:]:
                (around, of), label = texts[0], words(name) - unnamed()
                yield Named(source.n, quote, words(of), words(around), (label,), cell, quote)


def _alike(line: Named) -> Iterator[Named]:
    """Yield together the names of a list of which it says the same in brackets: `French (official), Dutch (official)`."""
    value = BRACKETS.sub(lambda bracket: re.sub("[,，、;；].*[^)）]", " ", bracket.group()), line.value)
    named: dict[frozenset[str], list[str]] = {}
    for item in ITEM.split(value):
        for what in BRACKETS.findall(item)[-1:]:
            named.setdefault(words(what), []).append(re.split("[(（]", item)[0].strip())
    for what, names in named.items():
        yield replace(line, labels=tuple(label | what for label in line.labels), value=", ".join(names))


def match_name(claim: str, known: Iterable[Named]) -> tuple[bool, Named] | None:
    """Return whether the only thing that a claim can be about says so; None if it says anything else or is not clear."""
    found = list(known)
    halves = pattern("is").split(claim.strip(" .。"))
    denied, halves = _denied(halves)
    for about, name in (halves, halves[::-1]) if len(halves) == 2 else ():
        asked = [each for each in found if each.asked(about)]
        held = {each.says(name, _ONE_OF.match(about) is not None) for each in asked}
        if len(held) == 1 and (said := held.pop()) is not None and (said or len({each.line for each in asked}) == 1):
            return said != denied, asked[0]
    return None


def _denied(halves: list[str]) -> tuple[bool, list[str]]:
    """Return whether two halves of a claim are said not to be one, and the halves without the word that says so."""
    if len(halves) != 2:
        return False, halves
    about, name = map(str.strip, halves)
    if no := pattern("not").match(name):
        return True, [about, name[no.end() :].strip()]
    return (True, [about[:-1], name]) if has_cjk(about[-1:]) and says("not", about[-1:]) else (False, [about, name])


def other_person(claim: str, sentence: Sentence) -> str:
    """Return whom a sentence names where a claim names another, if it can be only one: `厂长是…`, `由…负责`."""
    both = tokens_of(claim), tokens_of(sentence.text)
    mine, theirs = ([each.text for each in own] for own in both)
    start = len(commonprefix([mine, theirs]))
    while start and mine[start - 1] not in listed("is") | listed("agent"):
        start -= 1
    behind = len(commonprefix([mine[start:][::-1], theirs[start:][::-1]]))
    only_one = start > 1 and (not behind or mine[start - 1] in listed("agent"))
    if not only_one or sentence.quoted or any(map(reserved, (claim, sentence.whole or sentence.text))):
        return ""
    spans = [(each[start - 1].end, each[len(each) - behind - 1].end) for each in both]
    said, named = (text[a:b].strip() for text, (a, b) in zip((claim, sentence.text), spans, strict=True))
    known = said in sentence.text or said[:1] == named[:1]  # 张厂长 may be 张国华
    return "" if known or not (_is_person(said) and _is_person(named)) else named


def _is_person(text: str) -> bool:
    """Return whether a text is a Chinese name: a surname and one or two characters, together no word."""
    surname = next((each for each in listed("surname") if text.startswith(each)), "")
    return bool(surname) and len(text) - len(surname) in (1, 2) and not (is_word(text) or is_word(text[:2]))


def _is_place(text: str) -> bool:
    """Return whether a Chinese text is one name, of whatever place: 多伦多 is known as a transcription only."""
    import rjieba

    return [tag[:2] for _, tag in rjieba.tag(text.strip())] in (["ns"], ["nr"])


def match_date(claim: str, known: Iterable[Named]) -> tuple[bool, Named] | None:
    """Return whether the label that a claim is about has its date: `Independence: 21 March 1990`; None if it is not clear."""
    dates = quantities(claim)
    if len(dates) != 1 or dates[0].kind not in ("date", "year") or dates[0].hedge or not dates[0].value:
        return None
    (said,) = dates
    about = words(_without(claim, said)) - spoken("link", "whole")
    found = {}
    for each in known:
        own = quantities(each.value)
        dated = len(own) == 1 and own[0].kind == "date" and bool(own[0].value)
        if dated and each.subject <= about and _kin(about - each.subject, each.labels[0]):
            found[each.line] = own[0], each
    if len(found) != 1:
        return None
    ((seen, named),) = found.values()
    return said.states(seen), named


def _kin(said: frozenset[str], label: frozenset[str]) -> bool:
    """Return whether both are one word, but for the last two letters: `independent`, `independence`."""
    (one, *more), (other, *others) = sorted(said) or [""], sorted(label) or [""]
    return not (more or others) and len(commonprefix([one, other])) >= max(len(one), len(other), 8) - 2


def _without(text: str, figure: Quantity | None) -> str:
    return f"{text[: figure.start]} {text[figure.end :]}" if figure else text


def _names(text: str) -> set[frozenset[str]]:
    """Return the words of each name of a list."""
    return {frozenset(own) for each in _AND.split(text) if (own := _key(each))}


def _codes(text: str, subject: frozenset[str] = frozenset()) -> set[str]:
    """Return the codes of the currencies whose name has all words of a text, but for those of whose currency it is."""
    own, chinese = words(text) - subject - spoken("link"), "".join(filter(has_cjk, text))
    if chinese and not all(map(has_cjk, own)):
        return set()  # the peso of another country, whose name is English here
    if chinese:
        return {code for code, name in currency_names() if chinese in name}
    return {code for code, name in currency_names() if own and own <= words(name)}


def _key(text: str) -> list[str]:
    """Return the words of a name in order."""
    return [word for word in tokens(text) if word not in spoken("link")]


def _is_name(text: str) -> bool:
    """Return whether every word of a text begins with a capital, but for those such as `of` and `de`."""
    found = [word for word in re.findall(r"\w+", text) if word.casefold() not in spoken("link")]
    inner = (word for word in found[1:-1] if len(word) > _PARTICLE)
    return bool(found) and all(word[0].isupper() for word in (found[0], *inner, found[-1]))
