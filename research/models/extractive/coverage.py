"""Which words of a part of a question neither a statement nor its evidence contains."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct

from research.models.extractive.asked import Asked, named
from research.models.extractive.kinds import selects
from research.models.extractive.names import contains_name, is_country, key
from research.models.extractive.opposites import sides, stem
from research.models.extractive.words import filler, opposite, senses
from research.quantities import quantities
from research.text import content_tokens, has_cjk, tokens

ENOUGH = 0.5
"""Share of the words of a part that a statement and its evidence must contain."""
MOST = 0.6
"""The same for a question for yes or no and for the one with the most of something, where each word counts."""
_ALIKE = 0.8
"""Similarity of two spellings of a name."""
_FUTURE = re.compile(
    r"(?<!for )\btomorrow\b(?!.s)|\bnext (?:week|month|year)\b|\bwho will\b|"
    r"\b(?:going|likely|bound|poised) to (?:win|be(?:come)?|lead|rule|replace|succeed)\b|明天(?!然)|明年|下周|谁[会将]",
    re.I,
)
_REGION = re.compile(
    r"(?:the )?(?:world|earth|globe|(?:(?:north|south|central|latin|east|west|southeast|"
    r"sub-saharan)(?:ern)?[- ])?(?:africa|asia|europe|"
    r"america)n?s?|oceania|middle east|european union|eu|caribbean|balkans|scandinavian?|nordic)",
    re.I,
)
_AGES = re.compile(
    r"\bage[ds]? (?:of )?(?P<a>\d{1,2})(?: ?(?:to|and|-|–) ?(?P<b>\d{1,2}))?\b|\b(?P<c>\d{1,2}) ?(?:to|-|"
    r"–) ?(?P<d>\d{1,2})[- ]year|"
    r"\b(?P<e>\d{1,2}) (?:and|or) (?:over|older|above)\b|(?P<f>\d{1,2}) ?[-–至到] ?(?P<g>\d{1,2}) ?岁",
    re.I,
)
_YES_NO = re.compile(r"\W{0,9}(?:yes|no|是的|是|否|不是|对|没有)\b[,.:;，。：；]?", re.I)
_NO = re.compile(r"\W{0,9}(?:no|否|不是|没有)\b[,.:;，。：；]?", re.I)
_LIMIT_YEAR = re.compile(r"\b(?:before|after|by|prior to|earlier than|later than) (?:1\d{3}|20\d\d)\b", re.I)
_NOT_YEARS = re.compile(r"\b(?:as of|until|up to|by)\s+(?:early |late |mid-?)?(?:1\d{3}|20\d\d)|截至", re.I)


class Told(Struct, frozen=True, dict=True):
    """A statement of a report with what it is based on."""

    text: str
    """The statement, with the heading above it."""
    evidence: str
    """The quoted lines and the titles of the cited sources."""
    pages: str = ""
    """All that was seen of the cited sources."""

    openings: str = ""
    """The first sentence of each passage of the cited sources, which tells what it is about."""

    formulas: str = ""
    """The formulas of its calculated figures, as the rules write them."""

    vouched: bool = True
    """Whether a judge has found support for the statement; if not, its names must be in its sources."""

    @property
    def all(self) -> str:
        return f"{self.text}\n{self.evidence}"


class Gaps(Struct, frozen=True):
    """The words of a part that a statement does not cover."""

    names: tuple[str, ...] = ()
    years: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    share: float = 1.0
    """Share of the words, without names and years, that are covered."""
    needed: float = ENOUGH
    """Share that is enough."""
    opposite: bool = False
    """Whether the statement is about the opposite: exports where imports are asked for."""
    labelled: bool = False
    """Whether its evidence is a labelled line that the question asks for."""
    worked: bool = False
    """Whether it is calculated from the lines, and by the operation, that the question asks for."""

    @property
    def closed(self) -> bool:
        """Whether the statement covers enough."""
        return not (self.names or self.years or self.opposite) and self.share >= self.needed

    @property
    def uncovered(self) -> tuple[str, ...]:
        """All words that are not covered: names first."""
        return tuple(dict.fromkeys([*self.names, *self.years, *self.words]))


AsksFor = Callable[[str, str], str]
"""Returns whether a question asks for what a labelled line such as `Median age, total: 42.7 years` states.

Empty if it does not.  If the question wants something calculated from several lines, the sign of the operation, the place
of this line and how many there are: `÷0/2` for the first of two.
"""


def gaps(asked: Asked, told: Told, asks_for: AsksFor | None = None) -> Gaps:
    """Compare a part of a question with a statement and its evidence.

    `asks_for` knows which wordings ask for a labelled line, so that such a line covers words that it does not contain.
    """
    words = telling(asked)
    missing = [word for word in words if not has(told.all, word)]
    lines = dict.fromkeys(told.evidence.splitlines()) if asks_for else ()
    found = {line: wanted for line in lines if asks_for and (wanted := asks_for(asked.text, line))}
    worked = _worked(told.formulas, found)
    labelled = worked or any(not _INPUT.fullmatch(wanted) for wanted in found.values())
    missing = [] if labelled else missing
    share = 1 - len(missing) / len(words) if words else 1.0
    if told.formulas and not labelled and found:
        missing, share = words, 0.0  # something else was calculated from these lines
    return Gaps(
        tuple(missing_names(asked, told)),
        (*_missing_years(asked, told.all), *_missing_ages(asked, told.all)),
        tuple(missing),
        share,
        _needed(asked, told),
        opposite(asked.text, told.all),
        labelled,
        worked,
    )


_INPUT = re.compile(r"(?P<sign>[+−×÷])(?P<place>\d+)/(?P<count>\d+)")
_SIGN = re.compile(r"[()]|\s[+−×÷]\s")
_SCALE = frozenset(["100%", "100", "1,000", "100,000", "1,000,000"])
"""What a formula has beside the figures of the lines."""


def _worked(formulas: str, found: dict[str, str]) -> bool:
    """Return whether a formula takes its figures from the lines that a question wants, from all of them and no others.

    A quotient must begin with the first line.
    """
    lines = [(match, line) for line, wanted in found.items() if (match := _INPUT.fullmatch(wanted))]
    for formula in formulas.splitlines() if lines else ():
        count, sign = int(lines[0][0]["count"]), lines[0][0]["sign"]
        given = [each.strip() for each in _SIGN.split(formula.rpartition(" = ")[0])]
        given = [each for each in given if each and each not in _SCALE]
        used = {
            each: {
                int(match["place"]) for match, line in lines if re.search(rf"(?<![\d.,]){re.escape(each)}(?!\d)", line)
            }
            for each in given
        }
        if not given or sign not in formula or not all(used.values()):
            continue
        ordered = sign != "÷" or 0 in used[given[0]]
        if ordered and set().union(*used.values()) == set(range(count)):
            return True
    return False


def _needed(asked: Asked, told: Told) -> float:
    """Return the share of the words that is enough."""
    if asked.kind == "whether" and any(_YES_NO.match(line) for line in told.text.splitlines()):
        return 0.0  # `No, it closed in 2009` need not repeat the words of the question
    return MOST if asked.kind in ("whether", "person", "place", "year", "date") or over_all(asked) else ENOUGH


def telling(asked: Asked) -> list[str]:
    """Return the words of a part that say what it asks for, without names, years and fillers."""
    text = asked.text
    for q in reversed(quantities(text)):
        text = f"{text[: q.start]} {text[q.end :]}" if q.kind in ("year", "date") else text
    called = {stem(token) for name in (*named(asked.text), *asked.options) for token in tokens(name)}
    found = [
        token
        for token in content_tokens(text)
        if token not in filler()
        and stem(token) not in called
        and not token[0].isdigit()
        and (len(token) > 1 or has_cjk(token))
    ]
    if has_cjk(text):
        chinese = "".join(name for name in named(asked.text) if has_cjk(name))
        found = [token for token in found if token not in chinese and (len(token) > 1 or senses(token))]
        # The segmenter gives both a compound and its parts.
        found = [t for t in found if not any(t != other and t in other for other in found)]
    rest = [t for t in content_tokens(text) if senses(t) and stem(t) not in called]
    degrees = set(re.findall(r"\bhow (\w+)", text.lower()))  # `how large is its population` asks for the population
    return list(dict.fromkeys(found)) or [t for t in rest if t not in degrees] or rest


def missing_names(asked: Asked, told: Told) -> list[str]:
    """Return the names of a part that are neither in the statement nor in its evidence.

    A place beside a name that is there, as in `Paul Biya in Yaoundé`, may be anywhere in the source.
    """
    wanted = [name for name in _asked_about(asked.text) if name not in asked.options and not re.match(r"I['’]", name)]
    if asked.kind == "whether" and any(_NO.match(line) for line in told.text.splitlines()):
        wanted = [name for name in wanted if is_country(key(name))]  # `No, it is Canberra` need not name Sydney
    if not wanted and len(before := {key(name): name for name in named(asked.about)}) == 1:
        wanted = list(before.values())  # `and what is its capital?`
    stated = told.all if told.vouched else f"{told.evidence}\n{told.openings}"
    subject = f"{stated}\n{told.openings}"
    missing = [name for name in wanted if not _names(stated if is_country(key(name)) else subject, name)]
    others = [name for name in wanted if name not in missing and not is_country(key(name))]
    if others:
        missing = [name for name in missing if is_country(key(name)) or not _names(told.pages, name)]
    return missing


_ASIDE = re.compile(r"(?:[^.?!:。？！：]{2,300}[.!。！] {0,9}|[^.?!:]{2,60}:\s)", re.I)
"""Matches a sentence or a heading before the question: `Planning a call with Kathmandu:`."""


_BRACKETS = re.compile(r"[(（][^()（）]{0,80}[)）]")


def _asked_about(text: str) -> list[str]:
    """Return the names in a part; without those in the sentences before the question, if it names a country itself."""
    outside = _BRACKETS.sub(" ", text)  # *Georgia (the Caucasus one)*
    text = outside if any(is_country(key(name)) for name in named(outside)) else text
    rest = text
    while match := _ASIDE.match(rest):
        rest = rest[match.end() :]
        found = named(f"- {rest}")  # behind a dash the first word is no start of a sentence
        if rest.rstrip().endswith(("?", "？")) and any(is_country(key(name)) for name in found):
            return found
    return named(text)


def _names(text: str, name: str) -> bool:
    code = key(name)
    if contains_name(text, code) or (
        has_cjk(name) and is_country(key(name.removesuffix("国"))) and contains_name(text, key(name.removesuffix("国")))
    ):
        return True
    if not is_country(code) and all(has(text, token) for token in tokens(name)):
        return True  # capitals of a title: `Gross National Income`
    if len(name) < 5 or has_cjk(name) or is_country(code):
        return has_cjk(name) and not has_cjk(text) and not is_country(code)
    plain = name.casefold()
    words = re.findall(r"\b[A-ZÀ-Þ][\w'-]+(?: [A-ZÀ-Þ][\w'-]+)?", text)
    return any(difflib.SequenceMatcher(None, plain, word.casefold()).ratio() >= _ALIKE for word in dict.fromkeys(words))


@lru_cache(maxsize=65_536)
def years(text: str) -> frozenset[int]:
    """Return the years in a text, including those of dates."""
    found = quantities(text)
    return frozenset(
        {int(q.value) for q in found if q.kind == "year"} | {q.date[0] for q in found if q.kind == "date" and q.date[0]}
    )


def _missing_years(asked: Asked, text: str) -> list[str]:
    if asked.kind in ("year", "date") or _NOT_YEARS.search(asked.text):
        return []
    if asked.kind == "whether" and any(_YES_NO.match(line) for line in text.splitlines()):
        asked = msgspec.structs.replace(asked, text=_LIMIT_YEAR.sub(" ", asked.text))
    there = years(text)
    return [str(year) for year in sorted(years(asked.text) - there)] if there else []


def _missing_ages(asked: Asked, text: str) -> list[str]:
    """Return the ages of a group that is asked about and that the text does not mention."""
    ages = [age for match in _AGES.finditer(asked.text) for age in match.groups() if age]
    return [age for age in dict.fromkeys(ages) if not re.search(rf"(?<!\d){age}(?!\d)", text)] if len(ages) > 1 else []


def over_all(asked: Asked) -> bool:
    """Return whether a part asks for the one with the most or least of something in the world or a part of it."""
    return selects(asked.text) and all(_REGION.fullmatch(name) for name in named(asked.text))


def has(text: str, word: str) -> bool:
    """Return whether a text contains a word, an inflection of it, or a word for the same thing."""
    if not word.isascii():
        return all(char in text for char in word) or bool(senses(word) & senses(text))
    root = stem(word)
    if any(root == stem(token) or _inflected(word, token) for token in tokens(text)):
        return True
    return bool(senses(word) & senses(text)) or bool(sides(word) & sides(text))


def _inflected(one: str, other: str) -> bool:
    """Return whether two words share all but a short ending."""
    n = min(len(one), len(other), 5)
    return n == 5 and one[:n] == other[:n] and abs(len(one) - len(other)) <= 4


def joined(all_told: Sequence[Told]) -> Told:
    """Return several statements as one."""
    return Told(
        "\n".join(told.text for told in all_told),
        "\n".join(dict.fromkeys(told.evidence for told in all_told)),
        "\n".join(dict.fromkeys(told.pages for told in all_told)),
        "\n".join(dict.fromkeys(told.openings for told in all_told)),
        "\n".join(dict.fromkeys(told.formulas for told in all_told)),
        all(told.vouched for told in all_told),
    )


def future(text: str) -> bool:
    """Return whether a question is about the days to come, which no source can state."""
    return _FUTURE.search(text) is not None
