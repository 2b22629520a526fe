"""Find the description of a country in a question: `the country whose capital is Windhoek`, `Fiji's main supplier`.

The question splits into two: which country is described, and what is asked of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from research.models.extractive.lexicon import filler
from research.models.extractive.meaning import ACCEPT, masked, read
from research.models.extractive.patterns import LEAST, LESS, MORE, MOST
from research.models.extractive.places import mentions
from research.text import content_tokens, has_cjk

DEEPEST = 3
"""Maximum depth of nested descriptions."""
ANY, ANY_CHINESE = "Fiji", "斐济"
"""Placeholders for the country that is not known yet; which country they name does not matter to the classifier."""
_PLACE = (
    r"(?:country|nation|state|land|republic|kingdom|realm|monarchy|sultanate|emirate|grand duchy|duchy|territory|"
    r"island (?:state|nation|country)|city[- ]state|homeland|place)"
)
RELATED = (
    r"(?:neighbou?r(?:ing (?:country|nation|state))?|(?:(?:export|import|trad(?:e|ing)) )?"
    r"(?:partner|customer|buyer|market|destination|supplier|source|purchaser|provider)|importer|exporter)"
)
"""Words for a country by its relation to another."""
_END = (
    r"(?=[,;:?!]|\.(?:\s|$)| [-–—] | ?->| ?→|\s{1,9}(?:and|but) (?:then |also )?(?:how|what|which|who|whose|when|where|is|are|"
    r"its|their|report|tell|give|name|state|list)\b|$)"
)
"""Matches where a description ends."""
_STARTS = (
    r"(?:whose|that|which|who|where|with|(?:in|from|to|of|on|by|for|under|behind|at|over|into|next) (?:which|whose|whom|to)|"
    r"behind|formerly|once|previously|known|run|\w{3,}(?:ed|ing))\b"
)
_WORD = (
    r"(?:(?!(?:the|an?|in|of|for|is|are|does|do|did|has|by|which|what|how|and|to|from|at|per|that)\b)[\w'’()-]{1,300} )"
)
_REGION = (
    r"(?:world|africa|asia|europe|oceania|(?:north|south|central) america|south asia|central asia|middle east)['’]s"
)
_LARGEST = rf"(?:second|third|\d{{1,30}}(?:nd|rd|th))?[- ]?(?:{MOST}|{LEAST})"
_BY = r"(?: \(?(?:by|in) (?:land |total |surface )?(?:area|population|size|territory)\)?)?"
_PHRASES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b(?:the|that|an?|some) {_WORD}{{0,4}}?(?:{_PLACE}|{RELATED}) (?:{_STARTS}|Ξ).{{1,300}}?{_END}",
        rf"(?<![\w-])(?:country|nation|kingdom|republic) {_STARTS}.{{1,300}}?{_END}",
        rf"\b(?:whichever|whatever) {_WORD}{{0,3}}?(?:{_PLACE}|{RELATED}) .{{1,300}}?{_END}",
        rf"\b(?:the |that )?(?:[\w']{{1,300}} )?[\w'’]{{1,300}}-(?:using|speaking|based) (?:{_PLACE})(?= |[,;:?!.]|$)",
        rf"\b(?:the (?:{_REGION} )?|{_REGION} )(?:[\w-]{{1,300}} ){{0,2}}?(?:{_LARGEST})(?: [\w-]{{1,300}}){{0,2}}? {_PLACE}"
        rf"(?: (?:in|of|on|by) .{{1,300}}?)?{_END}",
        rf"\bthe (?:[\w-]{{1,300}} )?(?:{MOST}|{LEAST}|{MORE}|{LESS})\b[^,;?]{{0,30}}? (?:of|among) (?:the |all )?"
        rf"(?:Ξ{{1,120}}['’]s? )?(?:\w{{1,300}} )?(?:countries|nations|states|neighbou?rs)\b.{{0,300}}?{_END}",
        rf"(?:\bthe )?Ξ{{1,120}}['’]s? {_WORD}{{0,5}}?{RELATED}(?![\w-])(?:{_BY}| {_STARTS}.{{1,300}}?{_END})",
        rf"\b(?:the |that )?{_WORD}{{0,4}}?{RELATED} (?:of|for|to|in) (?:the )?(?:[\w-]{{1,300}} ){{0,3}}?Ξ{{1,120}}"
        rf"(?:['’]s? \w{{1,300}}| (?:goods|exports|imports|products|trade))?{_BY}",
        rf"\b(?:the ){_WORD}{{0,3}}?Ξ{{1,120}} {_WORD}{{0,3}}?{RELATED}(?![\w-])",
    )
)
"""Matches a description; the names of countries are masked with Ξ."""
_CHINESE = re.compile(
    r"(?:Ξ{1,120}的?(?:最大|最小|主要|第[一二三四]大|人口最[多少]|面积最[大小]|唯一)?的?(?:贸易|出口|进口)?"
    r"(?:对象国?|目的[地国]|来源[国地]|伙伴国?|市场|供应国|邻国)|"
    r"(?<![^，。？?：、在])(?:那个)?[^，。？?的]{0,4}(?:首都|货币|最高峰|最高点|国歌|域名|议会)(?:是|为|叫|在)[^，。？?的]{1,16}的(?:那个)?国家|"
    r"以[^，。？?的]{1,16}(?:为|作为?)(?:首都|货币|国歌|最高峰)的(?:那个)?国家)(?=的|，|有|在|使?用|说|讲|是多)"
)
"""The same for Chinese."""
_SAME = re.compile(
    rf"\b(?:(?:that|this|the same|the latter|said) (?:very |latter )?(?:{_PLACE}|{RELATED}|one)\b|"
    rf"the (?:{_PLACE}|{RELATED})(?= (?:is|has|does|have)\b|['’,.?]))(?P<of>['’]s)?",
    re.I,
)
"""Words that refer to a country described before."""
_IT = re.compile(r"\b(?P<of>its|their)\b|\b(?:it|they|them)\b|\b(?P<there>there)\b", re.I)
_SOME = re.compile(
    rf"\b(?:some|a certain|certain|an?|one|exactly one|just one|only one|single|sole|only) (?:\w+ ){{0,2}}?"
    rf"(?:{_PLACE}|{RELATED})\b|"
    r"\bis whose\b|\bsome (?:country|nation|state)['’]s",
    re.I,
)
"""Matches a country that is mentioned without its name."""
_BREAK = re.compile(
    r"[.;!?](?=\s)|\s[-–—]\s|:(?=\s)|,(?=\s)|"
    r",?\s{1,9}and (?=(?:then |also )?(?:report|tell|give|name|how|what|which|who|when|where|state)\b)"
)
_ASKED = re.compile(
    r"\b(?:which|what)(?: \w+){0,2}\s*$|\bamong(?: the)?\s*$|"
    r"\b(?:who|which|what)(?: (?!is\b|was\b)\w+){0,2}(?: is| was|['’]s)\s*$",
    re.I,
)
"""Matches the words before the country that is asked for."""
_HEADED = re.compile(rf"\b(?:{_PLACE}|{RELATED})\b", re.I)
_BETWEEN = re.compile(
    r"\b(?:export\w*|import\w*|trad\w+|borders?|bordering|frontier|boundary|s[eo]ld?|sells|buy\w*|bought|go(?:es)?|"
    r"sen[dt]s?|ship\w*|"
    r"distance|far|shares?)\b[^,;]{0,40}\b(?:to|with|from|towards?|between|against)\s*$",
    re.I,
)
"""Matches the words before a country that is only the other side of a relation."""
_AUXILIARY = re.compile(r"\b(?:do|does|did|has|have|had|is|are|was|were|can|could|will)\s*$", re.I)
_QUOTED = re.compile(r"[\"“«][^\"”»]{2,80}[\"”»]")
_NAMED = re.compile(r"(?<![\w])(?:[A-ZÀ-ÞŠŽČŚŁ][\w.’'-]*|Ξ+|Ψ+)")


class Described(Struct, frozen=True):
    """A description and the question about what it describes."""

    text: str
    """The description."""
    before: str
    """The part of the question before it; may be empty."""
    after: str
    """The part after it, or a question that refers to it."""
    referred: bool = False
    """Whether the rest refers to the description: `that country`, `its`."""

    def outer(self, name: str) -> str:
        """Return the question with a name in place of the description."""
        if not self.referred:
            text = f"{self.before}{name}{self.after}"
            return re.sub(rf"({re.escape(name)}\W{{1,4}}.{{0,300}}?)\bits\b", rf"\g<1>{name}'s", text, count=1)
        if _SAME.search(self.after):
            return _SAME.sub(lambda match: f"{name}{match['of'] or ''}", self.after)

        def put(match: re.Match[str]) -> str:
            return f"in {name}" if match["there"] else f"{name}'s" if match["of"] else name

        return _IT.sub(put, self.after)

    @property
    def between(self) -> bool:
        """Whether the question is about something between the described country and another."""
        return not self.referred and _BETWEEN.search(self.before) is not None


@lru_cache(maxsize=512)
def described(text: str) -> Described | None:
    """Return the innermost description of a country in a question; None if it has none, or asks for nothing else."""
    covered = _QUOTED.sub(lambda match: "Ψ" * len(match.group()), text)
    for each in mentions(text):
        covered = covered[: each.place[0]] + "Ξ" * (each.place[1] - each.place[0]) + covered[each.place[1] :]
    found = [*_referred(text, covered), *_phrases(text, covered)]
    return next((each for each in found if each.text.strip() and _asks(each)), None)


def beyond(text: str) -> str:
    """Return what a question asks of the country that it describes, with a country in place of the description."""
    for _ in range(DEEPEST):
        found = described(text)
        if found is None:
            break
        text = found.outer(ANY_CHINESE if has_cjk(text) else ANY)
    return text


def _phrases(text: str, covered: str) -> Iterator[Described]:
    """Yield the descriptions that are a part of the question's sentence, the innermost first."""
    places = {match.span() for pattern in (*_PHRASES, _CHINESE) for match in pattern.finditer(covered)}
    whole = [
        (a, b) for a, b in places if not any(c < a and b == d and not _HEADED.search(covered[c:a]) for c, d in places)
    ]
    for start, end in sorted(whole, key=lambda place: (-place[0], -place[1])):
        if _ASKED.search(covered[:start]) or covered[:start].rstrip().endswith(("(", "（")):
            continue
        end = _verb(text, covered, start, end)
        yield Described(
            text[start:end].rstrip(),
            text[:start],
            f" {text[end:].lstrip()}" if end < len(text) and text[end - 1] == " " else text[end:],
        )


def _verb(text: str, covered: str, start: int, end: int) -> int:
    """Return where the description ends if the verb of the question comes after it: `does the country … cover`."""
    names = list(_NAMED.finditer(covered, start + 1, end))
    if not _AUXILIARY.search(text[:start]) or not names:
        return end
    ends = [
        end,
        *(match.start() + names[-1].end() + 1 for match in re.finditer(r"\S+", covered[names[-1].end() + 1 : end])),
    ]
    return max(ends, key=lambda at: read(f"{text[:start]}{ANY} {text[at:]}").sure)


def _referred(text: str, covered: str) -> Iterator[Described]:
    """Yield the descriptions in a sentence before the one that asks."""
    for match in islice(_BREAK.finditer(covered), 60):
        head, rest = text[: match.start()], text[match.end() :].strip()
        bare = covered[: match.start()]
        if not re.search(r"\w{2}", head) or not (_SAME.search(rest) or _IT.search(rest)) or mentions(rest):
            continue
        some = _SOME.search(bare) or re.search(rf"\b{RELATED}\b", bare, re.I)
        refers = _SAME.search(rest) or (some and _IT.search(rest))
        if refers and (some or not mentions(head)):
            yield Described(head, "", rest, referred=True)
            return


def _asks(found: Described) -> bool:
    """Return whether the rest of the question asks for something of the country."""
    rest = masked(found.outer(ANY_CHINESE if has_cjk(found.text) else ANY), "Ξ").replace("Ξ's", " ").replace("Ξ", " ")
    return (
        any(token not in filler() and not token.isdigit() for token in content_tokens(rest))
        or read(rest).sure >= ACCEPT
    )
