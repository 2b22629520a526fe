"""Questions over all countries of a region: which has the most, the top few, how many, the sum and the mean.

They are answered from comparisons, documents that list the figures of all countries by one measure, sorted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from research._util.amounts import Amount
from research._util.amounts import amount as read_amount
from research.models.extractive import patterns
from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.groups import EDGED, REGIONS, WORLD, place_in
from research.models.extractive.lexicon import filler
from research.models.extractive.meaning import explained, labels, read
from research.models.extractive.narrower import narrower
from research.models.extractive.places import REGIONAL, mentions, usual
from research.models.extractive.question import Question, implied_by, parse
from research.models.extractive.stems import WEAK, stem
from research.models.extractive.table_words import count_of, rank_of
from research.search.library import comparisons
from research.search.library.country_groups import groups
from research.text import STOP_WORDS, has_cjk, tokens

TITLE = f"{comparisons.TITLE} · "
"""Start of the titles of comparisons."""

ALL = 20
"""Most countries of an order, in which all are asked for."""
Kind = Literal["top", "count", "members", "sum", "share", "mean", "median"]
POPULATION = "Population, total"
"""The measure whose lists have every country."""

CLEAR, CERTAIN = 0.6, 0.9
"""Least probability of a label to rank countries by; it is read with and without the words for countries."""
_ELSEWHERE = re.compile(
    r"\b(?:(?:north(?:ern)?|south(?:ern)?|west(?:ern)?|east(?:ern)?|central|sub-?saharan|southeast(?:ern)?|south-east)"
    r"[- ](?:africa|europe|asia|america)n?|latin america|caribbean|balkan|sahel|south africa|african union)|"
    r"东南亚|东亚|西欧|东欧|南欧|拉丁美洲|加勒比|北非|西非|东非|南非|中非"
)
"""Groups of countries for which there is no comparison, and countries with the name of a region in theirs."""
_LISTED = re.compile(r"south[- ](?:asia|america)n?|north[- ]american?|central america(?:n)? and (?:the )?caribbean")
"""Regions with a comparison whose names have those of other groups in them."""
_JOINED = re.compile(r"\{c\}\s*(?:,|、|&|/|\b(?:and|or)\b|[和与及或])\s*(?:the )?\{c\}")
"""Matches places of which all are meant, not what is in both."""
_ASKS = re.compile(
    r"\b(?:which|what|whose|name|list|rank|give|show|find|tell|top)\b.{0,60}?\b(?:countr(?:y|ies)|nations?|states?|"
    rf"economy|economies|places?|land)\b|\bwhere\b|\bwho\b|\btop (?:{patterns.NUMBER})\b|"
    r"\bcountr(?:y|ies) (?:with|that|in)\b|"
    r"^\W*(?:of|among|amongst|within|out of) (?:all )?(?:the )?.{0,60}\b(?:countries|nations|states|economies)\b.*"
    r"\b(?:which|what|who|where)\b|哪个国家|哪些国家|哪国|国家|谁"
)
_OF_COUNTRIES = re.compile(r"\b(?:which|what) (?:\w+ )?(?:countr(?:y|ies)|nations?|state)\b|哪个国家|哪些国家|哪国")
_MOST = re.compile(
    rf"{patterns.START}(?:{patterns.MOST}|worst|most often|maximum|ranks? (?:second|third|fourth|fifth)){patterns.END}|之最|居首|"
    r"第一|前[\d两三四五六七八九十]|排(?:名|在|行)?第"
)
_LEAST = re.compile(rf"{patterns.START}(?:{patterns.LEAST}|least){patterns.END}")
_DEGREE = re.compile(r"\b(?:highest|lowest|most|least|fewest)\b|最[高低多少]")
"""Matches a superlative of a measure, not of a thing."""
_PLAIN = re.compile(
    r"\b(?:which|what|where|who|whose|name|list|rank|give|show|find|tell)\b"
    rf"(?: (?:the|of|are|is|us|me|top|first|{patterns.NUMBER}))*|"
    r"\b(?:in|of|across|among)? ?(?:countr(?:y|ies)|nations?|states?|economy|economies)\b"
    r"(?: (?:with|that|has|have))*|\b(?:the )?(?:most|highest|largest|biggest|greatest|lowest|least|fewest|smallest|top)\b|"
    r"(?:是?哪个国家|哪些国家|哪国)的?|最[高低多少大小]|^\W*列出|[前两三四五六七八九十\d]{1,9}[个名位](?:国家)?|[是？?。]"
)
"""Matches the words of a question that ask for a country, and for the most or least of something."""
_BAD = re.compile(
    r"Inflation|nemployment|mortality|debt|poverty|Obesity|emissions|Death rate|underweight|Tobacco", re.I
)
"""Measures of which more is worse."""
_COUNT = re.compile(r"\b(?:how many|number of) (?:\w+ ){0,3}?(?:countries|nations|states)\b|多少(?:个)?国家|几个国家")
_MEMBERS = re.compile(r"\b(?:countries|nations|states)\b|国家|几国|哪些?国")
"""Matches what asks for the countries of a place, if it names no measure."""
_THRESHOLD = re.compile(
    r"\b(?P<above>more than|over|above|at least|exceed(?:s|ing)?|higher than|greater than|upwards of)|"
    r"\b(?P<below>less than|under|below|fewer than|at most|lower than)|"
    r"(?P<zh_above>超过|高于|多于|大于|以上)|(?P<zh_below>低于|少于|不到|小于)"
)
_SPAN = re.compile(
    r"(?:\bbetween |介于|在)(?P<low>[$€£]?\d[\d,.]*)(?P<scale>[^\d?]{0,12}?)\s?(?:\band|\bto|[到至和与])\s?"
    r"(?P<high>[$€£]?\d[\d,.]*)(?P<unit>[^?？之]*)(?:之间)?"
)
"""Matches the two ends of a span: `between 20,000 and 30,000 dollars`."""
_EACH = re.compile(
    r"\b(?:each|every) (?:of )?(?:the )?(?:\w+ )?(?:countr(?:y|ies)|nations?|states?|members?)\b|\brespectively\b|"
    r"分别|各(?:国|自)"
)
"""Matches what asks for the figures of all countries of a place, not for their sum."""
_SUM = re.compile(
    r"\b(?:total|combined|sum|altogether|together|add(?:ed)? up|all (?:the )?countries)\b|合计|总和|一共|总共|加起来|总"
)
_MEAN = re.compile(r"\b(?:average|mean)\b|平均")
_MEDIAN = re.compile(r"\bmedian\b(?! age)|中位数")
_LINE = re.compile(
    r"(?P<name>.{1,300}) \((?:rank (?P<rank>\d{1,30})(?:, (?:highest|lowest))?|(?P<territory>territory))\)"
)
_SHARE = re.compile(r"(?P<have>\d{1,30}) of \d{1,30} countries have a figure")
_IGNORED = frozenset(
    "host holder home top best worst continent region proven known often burn produce mean altogether across sit "
    "lying under above below 超过 高于 多于 大于 低于 少于 不到 小于 以上 万 亿 千万 百万 "
    "stan stans 谁 按 依次 列出 加 起来 加起来 一共 全球 世界 全世界 哪个国家 "
    "属于 排名 分别 各国 各自 三个 五个 four five six seven eight nine ten 两 三 四 五 六 七 八 九 十 最".split()
)

_STANDS = re.compile(r"\brank(?:s|ed|ing)?\b|排(?:名|在|行)?(?:世界|全球)?(?:的|是)?第几|第几[大多高位名]", re.I)
"""Matches a question for the rank of a country."""
_PORTION = re.compile(
    r"\b(?:share|portion|proportion|percentage|per ?cent|fraction|how (?:much|many|large a part)|what part)\b(?: of)?|"
    r"占|百分之[几多]少?|(?:多大|多少)(?:的?比[例重])?|几成|的?(?:比[例重]|份额)",
    re.I,
)
"""Matches a question for the part that a country has of the whole of a place."""
_TOWARDS = re.compile(r"\b(?:to|into|with|import\w*\b.*\bfrom)\W*(?:the )?$|[到往向给]\W*$|进口.*自\W*$", re.I)
"""Matches before a country that something goes to, or is imported from: its part of the whole is another figure."""
_PLACED = re.compile(r"(?:排名?|位列|位居|居)?(?:前|第[一二三四五六七八九十])[\d两三四五六七八九十]*[个位名]?")
"""Matches a place in an order: 排第二, 前五名."""
_PLACING = re.compile(r"[前第]?[\d两三四五六七八九十]+[个位名国]")


class Bound(Struct, frozen=True):
    """A limit that figures are compared with."""

    above: bool
    amount: Amount | None = None
    upto: Amount | None = None
    """The end of a span that begins at `amount`."""
    name: str = ""
    """The country whose figure it is."""
    without: str = ""
    """The question without that country."""

    def passed_by(self, amount: Amount) -> bool:
        """Return whether a figure is past it."""
        limit = self.amount.value if self.amount else amount.value
        if self.upto:
            return limit <= amount.value <= self.upto.value
        return amount.value > limit if self.above else amount.value < limit


class Ranking(Struct, frozen=True):
    """What is asked of all countries of a place."""

    kind: Kind
    place: str
    label: str
    """The measure as the question names it; empty if only words do."""
    words: tuple[str, ...]
    """The words that the label of the measure must have, if it is not known."""
    most: bool = True
    first: int = 1
    """How many countries are asked for."""
    limit: Bound | None = None
    """What the figures of the countries must be past."""
    worst: bool = False
    """Whether the worst is asked for, which is the highest only where more is worse."""
    sure: bool = False
    """Whether the countries are asked for, so that no other way of answering is tried."""
    rank: int = 1
    """The place in the order that is asked for: 2 for `the second largest`."""
    stands: bool = False
    """Whether the rank of the country is asked for whose figure is the limit."""
    excluded: frozenset[str] = frozenset()
    """Countries that are not asked about."""
    members: frozenset[str] = frozenset()
    """The countries of the group that the place is; empty for a region."""
    within: str = ""
    """A second place in which the countries are, too: Asia, for its landlocked countries."""

    def counts(self, name: str) -> bool:
        """Return whether a country, as a source names it, is one of those that are asked about."""
        return (usual(name) or name) not in self.excluded

    @property
    def places(self) -> tuple[str, ...]:
        """The places whose lists are read: all regions for a count over the world, whose list shows both ends only."""
        if self.within:
            return self.place, self.within
        whole = self.place != WORLD or (self.kind != "count" and self.first <= 20)
        return (
            (self.place,)
            if whole
            else tuple(place for place in comparisons.REGIONS.values() if place != "Antarctica")  # no country
        )


class Row(Struct, frozen=True):
    """One figure of a comparison."""

    name: str
    rank: int
    """The place among the countries of its list; 0 for a territory."""
    amount: Amount
    fact: Fact


class Table(Struct, frozen=True):
    """The rows of a comparison that were read, and how many countries it has."""

    rows: tuple[Row, ...]
    have: int
    heads: tuple[Fact, ...]
    """The lines with the number of countries, the sum and the mean."""


def standing(text: str) -> Ranking | None:
    """Return what is asked of all countries where it is the rank of one; None if the question asks for something else."""
    found = mentions(text)
    if len(found) != 1 or len(found[0].names) > 1 or not _STANDS.search(text):
        return None
    start, end = found[0].place
    behind = re.sub("^['’]s", "", text[end:])
    rest = _STANDS.sub(" ", f"{text[:start]} {behind}")
    order = asked(parse(f"rank all countries by {rest}"))
    if order is None or order.kind != "top" or order.first != ALL:
        return None
    return replace(order, kind="count", limit=Bound(above=True, name=found[0].names[0]), stands=True)


def portion(text: str) -> Ranking | None:
    """Return what is asked of all countries where it is the part that one of them has of the whole; None if nothing is."""
    found = mentions(text)
    if len(found) != 1 or len(found[0].names) > 1 or not _PORTION.search(text):
        return None
    start, end = found[0].place
    behind = re.sub("^['’]s", "", text[end:])
    if _TOWARDS.search(text[:start]) or (
        _PORTION.search(text[:start]) and place_in(text[end:]) and not place_in(text[:start])
    ):
        return None  # `the share of Brazil's exports that goes to South America`
    rest = re.sub(r"\b(?:what|which)\b", " ", _PORTION.sub(" ", f"{text[:start]} {behind}").lower())
    whole = asked(parse(f"the total of all countries: {rest}"))
    if whole is None or whole.kind != "sum":
        return None
    return replace(whole, kind="share", limit=Bound(above=True, name=found[0].names[0]))


def excluded_from(text: str) -> tuple[set[str], str]:
    """Return the countries of a question behind a negation, and the question without them.

    >>> excluded_from("Which countries border Germany but not France?")
    ({'France'}, 'Which countries border Germany but ?')
    """
    found, end, denied, rest = set[str](), 0, None, ""
    for mention in mentions(text):
        between = text[end : mention.place[0]]
        if not re.fullmatch(r"\W*(?:or|nor|and|和|或|、)?\W*", between.lower()):
            denied = patterns.DENIES.search(between.lower())
            rest += between[: denied.start()] if denied else between
        found |= set(mention.names) if denied else set()
        rest += "" if denied else mention.written
        end = mention.place[1]
    return found, rest + re.sub(r"^\s*[之以]?外", "", text[end:]) if found else text


def asked(q: Question) -> Ranking | None:
    """Return what the question asks of all countries of a place; None if it asks for something else."""
    limit = bound_of(q.text)
    text = (limit.without if limit else q.text).lower()
    text = re.sub(r"(?<![a-z])['’‘]?stans\b['’]?|\bmember(?: state)?s\b|\bmember (?=countries)", "countries ", text)
    text = text.replace("成员国", "国家")
    named, plain = _named(text), text
    group = next((each for each in groups() if each.name in named.places[:1]), None)
    several = len(named.places) > (2 if group else 1) or _JOINED.search(named.masked)
    said_of, text = set(tokens(text)) - set(tokens(named.text)), named.text
    if several or q.relation or q.pick or q.years or _ELSEWHERE.search(_LISTED.sub(" ", text)):
        return None
    place, within = (*named.places, "", "")[:2]
    kind, most, first = _kind(named.asking, place)
    bare, masked = (_PLACED.sub(" ", patterns.ORDERED.sub(" ", each)) for each in (named.bare, named.masked))
    if limit and limit.name:
        kind = "count" if _ASKS.search(text) or _COUNT.search(text) else None
    labels = list(dict.fromkeys(target.label for target in q.targets if target.label))
    words = tuple(token for token in dict.fromkeys(tokens(_SPAN.sub(r"\g<unit>", bare))) if _telling(token))
    known = set(tokens(" ".join(labels))) | REGIONAL | said_of
    if any(not set(tokens(name)) <= known for name in q.names if not limit or (usual(name) or name) != limit.name):
        return None  # the name is not a region: the question is about a thing, or about listed countries
    said = labels[0] if len(labels) == 1 and not _unsaid(labels[0], words) else "" if words else implied_by(q.text)
    label = said or _meant(masked)
    if not label and kind == "count" and re.search(r"(?:\d|\ba )\D{0,12}(?:people|inhabitants|residents|人)", text):
        label = POPULATION
    limit = limit if kind == "count" else None
    regional = place not in ("", WORLD) and not (labels or words or limit)
    if regional and kind in (None, "count", "sum") and _MEMBERS.search(plain):
        kind, label = "members", POPULATION
    if kind is None or (group and kind == "sum" and mentions(q.text)):  # a source may state the group's own total
        return None
    if (kind == "count" and limit is None) or (label and _unsaid(label, words)):
        return None
    if label and narrower(q.text, label, amount=False):
        return None
    of_measure = _DEGREE.search(text) and words and {*words} <= {*tokens(label)}
    if kind == "top" and not (of_measure or _ASKS.search(named.asking)):
        return None  # `the largest city in Africa` is no country; `lowest birth rate in Africa` can be nothing else
    sure = bool(place or first > 1 or _OF_COUNTRIES.search(text))
    return Ranking(
        kind,
        place or WORLD,
        label,
        words,
        most,
        first,
        limit,
        "worst" in text,
        sure,
        rank_of(text),
        members=group.names if group and not within else frozenset(),
        within=within,
    )


class _Named(NamedTuple):
    """The places that a question names, groups first, and its text with other words for them."""

    places: tuple[str, ...]
    asking: str
    """With `countries` for the groups."""
    text: str
    """Without the groups."""
    bare: str
    """Without any of the places."""
    masked: str
    """With `{c}` for each place."""


def _named(text: str) -> _Named:
    found, asking, masked = list[str](), text, text
    for group in groups():
        if group.pattern.search(text):
            found.append(group.name)
            asking = group.pattern.sub(lambda name: "国家" if has_cjk(name[0]) else " countries ", asking)
            masked = group.pattern.sub("{c}", masked)
            text = group.pattern.sub(" ", text)
    bare = text = " ".join(text.split())
    for name, pattern in REGIONS:
        edged = EDGED.format(pattern)
        if re.search(edged, bare):
            found += [name] if name != WORLD or not found else []
            bare, masked = re.sub(edged, " ", bare), re.sub(edged, "{c}", masked)
    return _Named(tuple(found), " ".join(asking.split()), text, bare, masked)


def _meant(bare: str) -> str:
    """Return the label that a question means, read with and without the words that only ask for a country, or nothing."""
    text = " ".join(_PLAIN.sub(" ", bare).split())
    words = {token for token in tokens(text) if _telling(token)}
    found = max((read(text), read(bare)), key=lambda each: each.sure)
    # `the most electricity` may be consumed, exported or generated
    open_ = len(words) == 1 and len({label.partition(", ")[0] for label in labels() if words <= set(tokens(label))}) > 1
    return found.label if found.sure >= (CERTAIN if open_ else CLEAR) else ""


def _kind(text: str, place: str) -> tuple[Kind | None, bool, int]:
    """Return what is computed, whether the highest come first, and how many are asked for."""
    if _COUNT.search(text) or (
        _ASKS.search(text)
        and re.search(r"\bcountries\b|国家", text)
        and (_THRESHOLD.search(text) or _SPAN.search(text))
    ):
        return "count", True, 1
    orders = list(patterns.ORDERED.finditer(text))
    if orders and (place or "countries" in text):
        many = count_of(text)
        return (
            "top",
            all(each["ranks"] or each["down"] or each["zh_down"] for each in orders),
            many if many > 1 else ALL,
        )
    if place and _EACH.search(text):
        return "top", True, ALL
    least = _LEAST.search(text)
    most = _MOST.search(text)
    if (most or least) and (place or _ASKS.search(text)):
        highest = most is not None and (least is None or most.start() < least.start())
        return "top", highest, max(1, min(count_of(text), ALL))
    if most or least or _OF_COUNTRIES.search(text) or not place or (place == WORLD and "countries" not in text):
        return None, True, 1
    if _MEDIAN.search(text):
        return "median", True, 1
    if _MEAN.search(text):
        return "mean", True, 1
    return ("sum", True, 1) if _SUM.search(text) or place != WORLD else (None, True, 1)


@lru_cache(maxsize=1)
def _folded() -> frozenset[str]:
    """Return the words that say nothing as `tokens` gives them: `doe` for *does*."""
    return frozenset(tokens(" ".join(STOP_WORDS)))


def _telling(token: str) -> bool:
    known = any(token in words for words in (_IGNORED, STOP_WORDS, _folded(), filler()))
    return not (
        known
        or token[0].isdigit()
        or count_of(token)
        or rank_of(token) > 1
        or _PLACING.fullmatch(token)
        or patterns.SUPERLATIVE.fullmatch(token)
    )


def _unsaid(label: str, words: Sequence[str]) -> bool:
    """Return whether a word narrows what is asked for, so that no wording of the measure has it: *landlocked*, *NATO*."""
    said = {each[:5] for each in explained()[0].get(label, frozenset()) | REGIONAL | WEAK}
    # The segmenter gives Chinese words that overlap, such as 万平方 beside 平方.
    return not all(any(each in word for each in said) if has_cjk(word) else stem(word)[:5] in said for word in words)


_THAN = re.compile(r"\bthan (?:(?:that of|in|the|does|is) )*$|比$", re.I)
"""Matches before the country that the members are compared with."""


def bound_of(text: str) -> Bound | None:
    """Return the limit that a question sets: an amount, or the figure of a country."""
    how = patterns.HOW.search(text.lower())
    for mention in mentions(text) if how else ():
        if how and _THAN.search(text[: mention.place[0]]):
            rest = _THAN.sub("", text[: mention.place[0]]) + text[mention.place[1] :]
            return Bound(above=bool(how["most"] or how["zh_most"]), name=mention.names[0], without=rest)
    if span := _SPAN.search(text.lower()):
        first = _threshold(span["low"] + (span["scale"] if span["scale"].strip() else span["unit"]))
        last = _threshold(span["high"] + span["unit"])
        return Bound(above=True, amount=first, upto=last, without=text) if first and last else None
    match = _THRESHOLD.search(text.lower())
    amount = _threshold(text.lower()[match.end() :]) if match else None
    return (
        Bound(above=bool(match["above"] or match["zh_above"]), amount=amount, without=text)
        if match and amount
        else None
    )


def _threshold(text: str) -> Amount | None:
    """Return the figure at the start of a text, without what it counts."""
    rest = re.sub(r"\b(?:people|inhabitants|residents|countries)\b|\b(?:in|across|within) .*|人口|人|个|的.*", "", text)
    rest = re.sub(r"^\s{0,3}a (?=[mb]illion)", "1 ", rest)
    return read_amount(re.sub(r"\s{0,9}per ?cent\b|\s{0,9}个?百分点", "%", rest.rstrip("?？. ")))


def measure(ranking: Ranking, evidence: Evidence) -> str | None:
    """Return the label of the comparison that is clearly the measure asked for; None if none or several may be."""
    titles = dict.fromkeys(f.title.removeprefix(TITLE) for f in evidence.facts if f.title.startswith(TITLE))
    labels = [title for title in titles if not any(title.endswith(f", {place}") for place in comparisons.PLACES)]
    if ranking.label in labels and not ranking.worst:
        return ranking.label
    wanted = set(tokens(ranking.label)) or {word for word in ranking.words if word not in REGIONAL}
    if not wanted:
        return None
    extra = {
        label: len(set(tokens(label)) - wanted - STOP_WORDS)
        for label in labels
        if wanted - STOP_WORDS <= set(tokens(label))
    }
    least = min(extra.values(), default=0)
    best = [label for label, n in extra.items() if n == least]
    return best[0] if len(best) == 1 and (not ranking.worst or _BAD.search(best[0])) else None


def address(label: str, place: str, page: int = 1) -> str:
    """Return the address of a comparison."""
    part = [] if place == WORLD else [comparisons.PLACES[place]]
    return comparisons.address(label, *part, *([str(page)] if page > 1 else []))


def table(facts: Sequence[Fact], label: str, place: str) -> Table | None:
    """Return the rows of a comparison that were read; None if nothing of it was."""
    title = f"{TITLE}{label}" + ("" if place == WORLD else f", {place}")
    lines = [fact for fact in facts if fact.title == title]
    head = next((match for fact in lines if (match := _SHARE.search(fact.line))), None)
    if head is None:
        return None
    rows = {}
    for fact in lines:
        match = _LINE.fullmatch(fact.label)
        amount = read_amount(fact.value, last=label.startswith("Elevation,")) if match else None
        if match and amount:
            rows[match["name"]] = Row(match["name"], int(match["rank"] or 0), amount, fact)
    heads = tuple(fact for fact in lines if not _LINE.fullmatch(fact.label))
    return Table(tuple(rows.values()), int(head["have"]), heads)
