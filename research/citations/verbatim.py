"""Compare a claim with the sentences of a source word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from research._util.amounts import SCALES
from research._util.glossary import coverage
from research._util.sentences import sentences_of, unwrapped
from research.citations.language import listed, pattern, says, unnamed, words
from research.citations.parts import INNER, led, parts
from research.quantities import quantities
from research.quantities.units import unit_at
from research.text import has_cjk
from research.types import Source

_TOKEN = re.compile(
    r"(?P<number>(?:(?<![\w.)])[-−])?(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,'’]\d+)*))"
    rf"(?:\s?(?P<scale>{'|'.join(SCALES)})(?![a-z]))?|"
    r"(?P<percent>[%％]|per ?cent\b|pct\b)|(?P<word>[^\W\d_\u3040-\u30ff\u3400-\u9fff][^\W_\u3040-\u30ff\u3400-\u9fff]*)|"
    r"(?P<other>[\w$€£¥°±<>≤≥=+~≈×÷/])",
    re.I,
)
_GROUPS = re.compile(r"\d{1,3}(?:[,'’\s]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}")
_PARENTHESIS = re.compile(r"([(（\[][^()（）\[\]]{1,200}[)）\]])")
_WORD_BEFORE = re.compile(r"\w\s$")
_BULLET = re.compile(r"^\s*(?:[-*+•·#>]+\s+|\(?\d{1,3}[.)]\s+)+")
SELF = "Xself"
"""What stands for the subject of a page."""
QUOTES = "\"'“”‘’「」『』"
"""Marks around what someone says."""
_FIGURE_LAST = re.compile(r"\d\D{0,3}$")
_OPENED = re.compile(r"[(（][^)）]*$")
_HEAD = re.compile(r"[^·:：(（|–—]*")
"""The name at the beginning of a title."""
PIECES = re.compile(r"; |；|, and (?=(?:the|an?|its|another) )")
"""Between statements that stand alone."""
_COMMA = re.compile(r"[，；]|[,;](?!\d)")
_STOPS = (".", "。", "!", "?", "！", "？", ";", "；", ",")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d年(?!\d)")
_LARGE = 1_000
"""A number from which it is no name, as in `phase 3 trials`."""
_LEAST = 3
"""Words of the shortest sentence that states something."""


class Token(Struct, frozen=True):
    """A word, a sign or a number, with the place of its end."""

    key: str | Decimal
    text: str
    end: int


class Sentence(Struct, frozen=True, dict=True):
    """A sentence of a source."""

    text: str
    whole: str = ""
    """The sentence that it is the beginning of, if it is not all of it."""
    heading: str = ""
    """The line above its paragraph."""
    opening: str = ""
    """The first sentence of its paragraph."""
    lead: str = ""
    """The Chinese clause whose subject it has, if it has none."""
    bound: bool = False
    """Whether it says something only with that subject."""
    later: bool = False
    """Whether it is a clause whose subject may stand before it, in the whole sentence."""

    @property
    def quoted(self) -> bool:
        """Whether it is, as a whole, what someone said."""
        return self.text[0] in QUOTES and self.text.rstrip(".。")[-1:] in QUOTES

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What it says, also of some instead of all, and without the parentheses that only name something or have a figure."""
        bare = _PARENTHESIS.sub(lambda each: " " * len(each[0]) if _names(each[0]) else each[0], self.text)
        some = self.text if says("denied", self.text) else of_some(self.text)
        return tuple(dict.fromkeys((self.text, bare, some)))


def of_some(text: str) -> str:
    """Return what a text that begins with a word such as `all` says without it."""
    found = pattern("every").match(text)
    return text[found.end() :].lstrip() if found else text


def _names(parenthesis: str) -> bool:
    """Return whether a parenthesis has only names, figures and words such as `of`; any other may take back the sentence."""
    others = (word for word in re.findall(r"[^\W\d_]+", parenthesis) if not word[0].isupper())
    return words(" ".join(others)) <= unnamed() and not says("reserve", parenthesis)


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return what a text says word for word: without articles and punctuation, numbers by their value."""
    found: list[Token] = []
    articles = listed("article")
    for match in _TOKEN.finditer(text):
        key: str | Decimal = match.group().casefold()
        if match.lastgroup in ("number", "scale"):
            key = _value(match["number"], SCALES.get((match["scale"] or "").casefold(), 0))
        elif match.lastgroup == "percent":
            key = "%"
        letter = match.group() == "A" and _WORD_BEFORE.search(text[: match.start()][-2:])  # of `Vitamin A`
        if key not in articles or letter:
            found.append(Token(key, match.group(), match.end()))
    return tuple(found)


def _value(digits: str, scale: int) -> str | Decimal:
    """Return a number; `2.10.1` and `3.10` stay text: versions, which `2.10` and `3.1` are not."""
    plain = digits.replace("−", "-")
    if _GROUPS.fullmatch(plain.lstrip("-")):
        plain = re.sub(r"[,'’\s]", "", plain) if plain.count(".") < 2 else plain.replace(".", "")
    try:
        return digits if not scale and re.search(r"\.\d*0$", plain) else Decimal(f"{plain}e{scale}")
    except InvalidOperation:
        return digits


def subject(title: str, text: str) -> tuple[re.Pattern[str], str]:
    """Return a pattern of the name in a title of at least two words, `the Merrow Bridge` or `the bridge`; and what it is.

    A text that names another bridge may mean that one by `the bridge`.
    """
    found = _HEAD.match(title)
    name = found[0].strip().removeprefix("The ") if found else ""
    head = name.split(" of ")[0].split()
    noun = next((each.casefold() for each in reversed(head) if each.isalpha()), "")
    if len(head) < 2 or has_cjk(name) or len(noun) < _LEAST or " · " in title:  # a country is no kind of thing
        return re.compile(r"(?!)"), ""
    whole = "|".join(dict.fromkeys((re.escape(name), re.escape(" ".join(head)))))
    named = rf"\b(?:[Tt]he )?(?:{whole})\b(?! [A-Z])"
    prose = re.sub(rf"{re.escape(name)}|^\s*\|.*$", "", text, flags=re.M)
    other = re.search(rf"(?!The )\b[A-Z]\w+ {noun.title()}\b|[a-z,] [A-Z]\w+ {noun}\b|\b(?i:{noun}) [A-Z\d]", prose)
    if other:
        return re.compile(named), SELF
    return re.compile(rf"{named}|\b[Tt]he {noun}\b(?! (?:of\b|[A-Z\d]))"), noun


def stated(source: Source) -> Iterator[Sentence]:
    """Yield the sentences that a source states: no question, row of a table, item under a colon, or piece of one."""
    colon = spoken = listed_below = False
    heading, (page, _) = "", subject(source.title, source.quote)
    for line in _lines(source.quote):
        year = ""
        text = _BULLET.sub("", line).strip()
        bullet = text != line.strip()
        inside = (colon and (bullet or spoken)) or (listed_below and bullet) or line.lstrip().startswith("|")
        said = about = ""
        if line.startswith("#") or not (inside or text.endswith(_STOPS)):
            heading = text
        pieces = sentences_of(text) if not inside else []
        rules = sentences_of(text, clauses=False) if "；" in text and not inside else []
        yield from (Sentence(each, "", heading, pieces[0]) for each in rules if each not in pieces)
        for sentence, following in pairwise([*pieces, ""] if pieces else []):
            before, said = said, _open(said + sentence)
            piece = sentence[0].islower() or sentence.endswith(("?", "？", "…", "...", ":", "："))
            if not (before or said or piece or _takes_back(following)):
                yield Sentence(sentence, "", heading, pieces[0])
                named = page.match(about)
                about = f"{named[0]}{sentence[2:]}" if named and sentence.startswith("It ") else sentence
                shorter = (*_parts(about), *_chinese_clauses(sentence, year))
                if about != sentence:
                    shorter = (Sentence(about, sentence), *shorter)
                yield from (replace(each, heading=heading, opening=pieces[0]) for each in shorter)
                if translated := coverage(sentence):
                    yield Sentence(translated, sentence)
                first, _, more = sentence.partition("; ")
                if more[:1].isdigit() and ": " in first:  # `Ships: 3 sold in 2024; 2 without crew`
                    yield Sentence(first, sentence)
            for clause in _COMMA.split(sentence):
                year = _year(clause, year)
        listed_below = bullet and (colon or listed_below)
        colon = text.endswith((":", "："))
        spoken = colon and len(tokens_of(text)) > 1  # not `Observation:`


def _parts(sentence: str) -> Iterator[Sentence]:
    """Yield the statements that parts of an English sentence make, unless a word in it may take them back."""
    if has_cjk(sentence) or sentence[0] in QUOTES or ":" in sentence:
        return
    pieces = PIECES.split(sentence.rstrip("."))
    for at, piece in enumerate(pieces):
        if any(reserved(pattern("limit").sub(" ", each)) or INNER.search(each) for each in pieces[:at]):
            return  # `If the dam breaks, the mill is flooded, and the bridge is closed`
        if len(pieces) > 1:
            yield Sentence(piece, sentence)
        if not (reserved(piece) or says("denied", piece)):
            yield from (Sentence(part, sentence) for part in parts(piece))


def _chinese_clauses(sentence: str, year: str) -> Iterator[Sentence]:
    """Yield how a Chinese sentence begins, up to each comma, and its clauses behind figures: `收入为9万元，利润为2万元`.

    None that a clause behind it may take back or make a condition.  `year` is that of the sentences before it.
    """
    if not has_cjk(sentence) or sentence[0] in QUOTES:
        return
    cuts = list(_COMMA.finditer(sentence))
    starts, ends = [0, *(each.end() for each in cuts)], [*(each.start() for each in cuts), len(sentence)]
    clauses = [sentence[start:end].rstrip("。；") for start, end in zip(starts, ends, strict=True)]
    plain = [bool(re.search(r"\d", each)) or not (reserved(each) or says("denied", each)) for each in clauses]
    sound = [own and not says("contrast", each) for own, each in zip(plain, clauses, strict=True)]
    alone, before = True, year
    for at, (clause, following) in enumerate(pairwise([*clauses, ""])):
        year, begin = _year(clause, year), sentence[: ends[at]]
        condition = says("then", following) or (says("bound", clause) and not says("duty", clause))
        changed = _YEAR.match(following) and not _YEAR.search(begin)
        follows = changed or pattern("is").match(following) or says("back", following) or not all(sound[at + 1 :])
        if not (following and (condition or follows)) and not _open(begin) and not _OPENED.search(begin):
            dated = "" if _YEAR.search(clause) else year
            if following:
                yield Sentence(begin, sentence)
            if before and not _YEAR.search(begin):
                yield Sentence(f"{before}{begin}", sentence, later=True)
            first = max((n for n in range(at) if led(clause) and not led(clauses[n])), default=0)
            bound = any(reserved(each) or says("bound", each) for each in clauses[:at])
            if at and clause and all(sound[:at]) and not bound:
                yield from (
                    Sentence(each + clause.removeprefix("其中"), sentence, lead=clauses[first], bound=True, later=True)
                    for each in dict.fromkeys(("", year))
                )
            if at and clause and alone:
                yield from (
                    Sentence(f"{each}{clause}", sentence, later=True)
                    for each in dict.fromkeys((dated, "" if dated == before else dated))
                )
        ended = _FIGURE_LAST.search(clause)
        alone = alone and bool(ended) and says("is", clause) and not (reserved(clause) or says("season", clause))


def _year(clause: str, year: str) -> str:
    """Return the year that what stands behind a clause is of: that which it begins with, else the one before if it has none."""
    found = _YEAR.findall(clause)
    if says("season", clause):
        return ""
    if not found or says("compared", clause):
        return year
    return found[0] if len(found) == 1 and clause.startswith(found[0]) else ""


def _takes_back(sentence: str) -> bool:
    """Return whether a sentence denies what the one before it says: `This is untrue.`, not `It is untrue that …`."""
    about = pattern("back").match(sentence)
    return about is not None and says("denied", sentence[about.end() :]) and " that " not in sentence


def _open(text: str) -> str:
    """Return the quotation marks that a text leaves open."""
    return '"' * (text.count('"') % 2) + "".join(
        one * max(text.count(one) - text.count(other), 0) for one, other in ("“”", "「」", "『』")
    )


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, those that were broken to fit a page as one."""
    for block in re.split(r"\n\s*\n", text):
        yield from unwrapped([line.rstrip() for line in block.splitlines() if line.strip()])


def contains(lines: Iterable[str], claim: str) -> bool:
    """Return whether lines have the words of a claim, whatever stands around them."""
    text, said = ("".join(f"\n{each.key}\n" for each in tokens_of(own)) for own in ("\n".join(lines), claim))
    return said in text


def reserved(text: str) -> bool:
    """Return whether a word changes what a text says; the May of a date does not."""
    dates = (
        [each.written for each in quantities(text) if each.kind == "date"] if re.search(r"\bmay\b", text, re.I) else []
    )
    if has_cjk(text):
        text = _without_nouns(text)
    return says("reserve", re.sub("|".join(map(re.escape, dates)), " ", text) if dates else text)


@lru_cache(maxsize=16_384)
def _without_nouns(text: str) -> str:
    """Return a Chinese text without longer nouns, in which a character that reserves does not: the 除 of 除草剂."""
    import rjieba

    kept = (
        word for word, tag in rjieba.tag(text) if len(word) < 2 or not tag.startswith("n") or word in listed("reserve")
    )
    return "".join(kept)


def number_refutes(mine: Token, reading: Sequence[Token], at: int, text: str) -> bool:
    """Return whether a sentence that differs in one number refutes the claim.

    The number counts or measures something, or is the year at the end of what happens once: it is no other year, no part
    of a name, and neither rounds the other.
    """
    theirs = reading[at]
    if not (isinstance(mine.key, Decimal) and isinstance(theirs.key, Decimal)) or reserved(text):
        return False
    before, behind = (reading[at - 1].text if at else "", reading[at + 1].text if at + 1 < len(reading) else "")
    year = all(re.fullmatch(r"[12]\d{3}", each.text) for each in (mine, theirs)) and not has_cjk(behind)
    once = year and before == "in" and not behind and says("once", text)
    scaled = theirs.text[-1:].isalpha() and mine.text[-1:].isalpha()  # `412 million`
    money = any(each.unit and each.start < theirs.end - len(theirs.text) < each.end for each in quantities(text))
    named = (
        (before[:1].isupper() and at > 1 and not (scaled or money))
        or before == "第"
        or behind in tuple("年月日号时点章条节版")
    )
    large = min(mine.key, theirs.key) >= _LARGE and behind[:1].islower()
    unit = money or bool(unit_at(text, theirs.end)[0]) or before in tuple("$€£¥")
    written = re.sub(r"\D", "", mine.text) != re.sub(r"\D", "", theirs.text)  # 1.234 may be 1,234
    counted = (
        once or unit or large or scaled or behind.endswith("s") or behind in listed("population") or has_cjk(behind)
    )
    rounded = not once and (rounds(mine.key, theirs.key) or rounds(theirs.key, mine.key))
    return counted and written and not ((year and not once) or named or rounded)


def rounds(one: Decimal, other: Decimal) -> bool:
    """Return whether a number is another with fewer digits."""
    half = Decimal("0.5").scaleb(int(one.normalize().as_tuple().exponent))
    return -half <= other - one < half
