"""The words of a question about tables: operations, ranks, periods and limits, in English and Chinese."""

from __future__ import annotations

import re

from msgspec import Struct

from research.models.extractive.table_degrees import STEMS, degree_of
from research.models.extractive.table_reading import PColumn
from research.models.extractive.times import YEAR

_NUMBERS = {
    word: number
    for number, words in enumerate(
        "one 一|two 两 二 双|three 三|four 四|five 五|six 六|seven 七|eight 八|nine 九|ten 十".split("|"), 1
    )
    for word in words.split()
}
CLASSIFIERS = "个户样套家位座种所条名款门支些本部台辆张件项只间栋场次届类队层笔份"
"""Chinese words between a number and what it counts."""
_COUNT = rf"(\d+|{'|'.join(_NUMBERS)})"
MOST = re.compile(
    r"\b(?:most|highest|largest|biggest|greatest|top|best|longest|tallest|maximum|max|heaviest|richest|busiest|peak|"
    r"costliest|dearest|priciest|strongest|hottest|warmest|wettest|fastest|steepest|latest|newest|youngest|"
    r"more|higher|larger|bigger|leads?|leading)\b|最(?:高|多|大|长|久|好|重|贵|快|热|强|新|晚)|更(?:高|多|大)|第[一二三四五](?!季)",
    re.I,
)
LEAST = re.compile(
    r"\b(?:least|lowest|fewest|smallest|shortest|minimum|min|lightest|poorest|cheapest|coldest|coolest|driest|weakest|"
    r"slowest|quietest|earliest|oldest|first|less|fewer|lower|smaller|bottom)\b|最(?:低|少|小|短|轻|便宜|慢|冷|弱|早|差)|更(?:低|少|小)",
    re.I,
)
TIME_FIRST = re.compile(r"\b(?:earliest|oldest|first)\b|最早", re.I)
TIME_LAST = re.compile(r"\b(?:latest|newest|youngest|most recent(?:ly)?|last)\b|最(?:新|晚|近)", re.I)
WORST = re.compile(r"\bworst\b|最差", re.I)
BAD = re.compile(
    r"delay|wait|cost|loss|lost|error|defect|complain|crash|accident|crime|fault|late|debt|absen|cancel|fail|death|"
    r"延误|等待|成本|损失|错误|投诉|事故|亏损|故障|缺勤|死亡",
    re.I,
)
MEAN = re.compile(r"\b(?:averages?|averaged|mean|on average|typical(?:ly)?)\b|平均|均值", re.I)
MEDIAN = re.compile(r"\bmedian\b|中位数", re.I)
SUM = re.compile(
    r"\b(?:total(?:s|led)?|sum|altogether|combined|together|overall|in all|add(?:s|ed)? up|all told|aggregate)\b|"
    r"合计|总计|总共|一共|共计|总和|总(?=[^是最])|累计|共(?=[有卖销售])",
    re.I,
)
GROWTH = re.compile(
    r"\b(?:gr[eo]w(?:s|n|ing|th)?|increas\w+|rise[sn]?|rose|rising|climb\w*|chang\w+|declin\w+|decreas\w+|"
    r"f[ae]ll(?:s|en|ing)?|drop\w*|shr[aiu]nk\w*|trend\w*|develop\w*|cut|reduc\w+)\b|增长|增加|上升|上涨|下降|减少|下跌|变化|增幅|降幅|涨幅",
    re.I,
)
DOWN = re.compile(
    r"\b(?:declin\w+|decreas\w+|f[ae]ll(?:s|en|ing)?|drop\w*|shr[aiu]nk\w*|los[te]s?|cut|reduc\w+)\b|下降|减少|下跌|降幅",
    re.I,
)
ABSOLUTE = re.compile(
    r"\b(?:by how much|how much (?:did|has|have)|absolute)\b|增加(?:了)?多少(?!%|百分)|绝对|超[出过]?[^，。？]{1,12}多少\W*$",
    re.I,
)
SHARE = re.compile(
    r"\b(?:percent(?:age)?|share|proportion|fraction|what part)\b|百分之|占比|比例|占.{0,12}(?:多少|几)|%", re.I
)
DIFFERENCE = re.compile(
    rf"\b(?:difference|gap|how much (?:more|less|(?:high|low|{'|'.join(STEMS)})e?r)\b|how many (?:more|fewer))\b|"
    r"相差|差距|差多少|(?<![占分])比(?!例).{1,20}[多少高低]",
    re.I,
)
LEFT = re.compile(r"\b(?:left|remain(?:s|ed|ing)?|unspent|unused)\b|还?剩[下余]?|结余", re.I)
"""What asks how much is left of a figure when another one is taken from it."""
TIMES = re.compile(r"\btimes\b|倍", re.I)
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_RANK = re.compile(
    rf"\b(?:(?P<word>{'|'.join(_ORDINALS[1:])})|(?P<number>\d{{1,2}})(?:nd|rd|th)[\s-]+(?=(?:most|least|best|worst|\w+est)\b))"
    r"(?!\s+quarter)|第(?P<zh>[二三四五六七八九十])(?!季|班|中|小|人|医)",
    re.I,
)
_TOP = re.compile(
    rf"\b(?:top|bottom|first|best|worst)\s+{_COUNT}\b|(?:^\W*|\b(?:the|our|which|what|name|list|give)\s+){_COUNT}\s+(?:\S+\s+){{0,6}}?"
    rf"(?:with|that|which|who|most|least|highest|lowest|largest|smallest|best|busiest|oldest|cheapest|\w+est)\b|"
    rf"前{_COUNT}|哪{_COUNT}[{CLASSIFIERS}]|最\S的?{_COUNT}[{CLASSIFIERS}大]|(?<![第\d]){_COUNT}大",
    re.I,
)
LISTS = re.compile(r"^\W*(?:list|show|give|name)\b|列出|列举|显示", re.I)
WHO = re.compile(r"\bwho\b|谁|哪(?:一)?位", re.I)
_LIMIT = re.compile(
    r"(?P<word>\b(?:above|over|more than|greater than|exceed(?:s|ed|ing)?|higher than|[a-z]{3,8}er than|"
    r"at least|no less than|minimum of|below|under|less than|at most|no more than|"
    r"up to)|超过|高于|大于|多于|不低于|不少于|至少|低于|小于|少于|不足|不到|不超过|至多)\s{0,3}(?:of\s)?[$€£¥]?\s?"
    r"(?P<number>\d[\d,]*(?:\.\d+)?)\s?(?P<scale>million|thousand|billion|k\b|万|亿)?(?P<unit>\s?[%°\w]{1,20})?|"
    r"(?<![\d,.])(?P<after>\d[\d,]{0,20}(?:\.\d{1,10})?)\s?(?P<times>million|thousand|billion|k\b|万|亿)?(?:\S{0,3}\s?)?"
    r"(?P<tail>\bor (?:more|above|over|less|fewer|below)|以上|以下)",
    re.I,
)
AGAINST = re.compile(
    r"\b(?:(?P<more>more|higher|larger|greater|bigger)|(?P<less>less|fewer|lower|smaller))\b(?:\s[^\d?.]{1,40}?)?\sthan\b|"
    r"(?P<over>\b(?:exceed(?:s|ed)?|over|above)\b|超过?|高于|大于|多于)|(?P<under>\b(?:under|below)\b|低于|少于|小于)",
    re.I,
)
"""What compares the figures of two columns."""
_COMPARED = {
    ">": "above|over|more than|greater than|exceed|higher than|longer than|taller than|heavier than|超过|高于|大于|多于",
    ">=": "at least|no less than|minimum of|or more|or above|or over|不低于|不少于|至少|以上",
    "<": "below|under|less than|fewer than|lower than|shorter than|低于|小于|少于|不足|不到",
    "<=": "at most|no more than|up to|or less|or fewer|or below|不超过|至多|以下",
}
_SCALES = {"million": 1e6, "thousand": 1e3, "billion": 1e9, "k": 1e3, "万": 1e4, "亿": 1e8}


class Limit(Struct, frozen=True):
    """A figure that a column has to pass."""

    sign: str
    value: float
    start: int
    end: int
    unit: str = ""
    degree: str = ""
    """The word that compares, if it says by what: `old` in `older than 40`."""
    other: PColumn | None = None
    """The column whose figure in the same row is the limit: the budget of `spent more than its budget`."""


CALCULATIONS = (MOST, LEAST, WORST, MEAN, MEDIAN, SUM, GROWTH, SHARE, DIFFERENCE, LEFT)
"""What a question asks to calculate."""


def calculates(word: str) -> bool:
    """Return whether a word says what to calculate, not of what: `highest`, `grew`, `total`."""
    return any(pattern.fullmatch(word) for pattern in (*CALCULATIONS, DOWN))


def count_of(text: str) -> int:
    """Return how many things a question asks for: 3 in `the top three`; 0 if it does not say."""
    match = _TOP.search(text)
    word = next(filter(None, match.groups()), "") if match else ""
    return int(word) if word.isdigit() else _NUMBERS.get(word.lower(), 0)


def rank_of(text: str) -> int:
    """Return the rank that a question asks for: 2 in `the second largest`; 1 if it does not say."""
    match = _RANK.search(text)
    if match is None:
        return 1
    if match["number"]:
        return int(match["number"])
    return _NUMBERS[match["zh"]] if match["zh"] else _ORDINALS.index(match["word"].lower()) + 1


def ranked(superlative: str, rank: int, *, chinese: bool) -> str:
    """Return how the one at a rank is said: `the second highest`, `第二高`."""
    if rank == 1:
        return superlative
    if chinese:
        return superlative.replace("最", f"第{'一二三四五六七八九十'[rank - 1] if rank <= 10 else rank}")
    ordinal = _ORDINALS[rank - 1] if rank <= len(_ORDINALS) else f"{rank}th"
    return superlative.replace("the ", f"the {ordinal} ", 1)


def limits(text: str) -> list[Limit]:
    """Return the limits in a question, without those that are years."""
    found = []
    for match in _LIMIT.finditer(text):
        word = (match["word"] or match["tail"]).lower()
        number = float((match["number"] or match["after"]).replace(",", ""))
        signs = (sign for sign, words in _COMPARED.items() if re.search(words, word))
        degree = degree_of(word) if match["word"] else ""
        sign = next(signs, ">")
        unit = (match["unit"] or "").strip().lower()
        if match["word"] and (unit[:1] == "月" if unit else YEAR.fullmatch(match["number"])):
            continue
        scale = _SCALES.get((match["scale"] or match["times"] or "").lower(), 1.0)
        found.append(Limit(sign, number * scale, match.start(), match.end(), unit, degree))
    return found


def by_time(text: str) -> bool:
    """Return whether a question asks for what is first or last in time."""
    return any(each.search(text) for each in (TIME_FIRST, TIME_LAST))
