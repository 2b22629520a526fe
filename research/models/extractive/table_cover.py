"""Find what a table does not cover: each word and figure of a question is a column, a value, a time or an operation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.models.extractive import table_words as said
from research.models.extractive.similarity import cosine
from research.models.extractive.table_columns import GENERIC, apart, likeness, words_of
from research.models.extractive.table_degrees import is_degree, words_for
from research.models.extractive.table_meant import Meant, titled
from research.models.extractive.table_nouns import added, names_of_rows
from research.models.extractive.table_reading import PColumn
from research.models.extractive.table_synonyms import SYNONYMS, means
from research.models.extractive.table_units import UNITS, is_money, unit_of
from research.quantities import quantities
from research.text import has_cjk

_WORD = (
    r"(?:(?!(?:of|in|at|for|on|from|to|by|with|over|did|was|were|is|are|does|do|has|had|have|that|who|which|than|and|or|"
    r"between|per|during|since|before|after|as|about|the)\b)[^\W_]++[ \-'’]*+)"
)
_SLOT = re.compile(
    rf"\b(?:(?:how (?:many|much)|number of|amount of|the|every|each)\s+(?P<noun>{_WORD}{{1,6}})|"
    rf"(?:what|which)\s+(?:(?:is|are|was|were|all)\s+)?(?P<kind>{_WORD}{{1,2}}))",
    re.I,
)
"""Where nouns stand that name what is asked for."""
_LIGHT = frozenset(
    "work live keep take took taken use used go went gone carry hold contain belong include exist happen put find found see "
    "note tell please know want need come gain receive get obtain done offer list record measure register report count add "
    "start end here there both number figure all together altogether one two three four five six seven eight nine ten second "
    "third fourth fifth ascending descending often among through via throughout bring brought place made make "
    "consume consumed consumption usage show shown our ours us up well term terms record records everything everyone".split()
)
"""Words that do not say what is asked for."""
_BEYOND = re.compile(
    r"^\s*(?:why|how come|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b|"
    r"\b(?:why|ratio|times (?:as|more|larger|higher)|twice|double|half as|correlat\w+|forecast\w*|predict\w*|expected to|"
    r"except|excluding|apart from|other than|besides|neither|nor|without|outside)\b|"
    r"\b(?:last|this|next|past|current|previous) (?:year|month|week|quarter|season|decade)\b|\b(?:today|yesterday|tomorrow|"
    r"currently|recently|nowadays|so far|ago)\b|"
    r"为什么|为何|除了?|以外|之外|倍|预测|预计|去年|今年|明年|上个?月|本月|下个?月|昨天|今天|目前|吗$|(?<!什)么$|是不是|是否",
    re.I,
)
"""What no plan calculates: causes, ratios, exceptions, forecasts, times counted from today, and yes or no."""
WHETHER = re.compile(r"^\s*(?:is|are|was|were|do|does|did|has|have|had)\b|吗$", re.I)
"""What asks for yes or no."""
DENIED = re.compile(r"\b(?:not|never|no|non)\b|n['’]t\b|(?:没有?|未|非|不)(?!足|到|超|低|少)", re.I)
_PER_TIME = re.compile(
    r"\b(?P<ly>dai|week|month|quarter|year|annual)ly\b|\bper (?P<per>day|week|month|quarter|year)\b|"
    r"每个?(?P<zh>[天周月季年])|[月年]均",
    re.I,
)
_LEVELS = re.compile(
    r"stock|inventor|balance|population|headcount|employees|staff|members\b|waiting|backlog|capacity|outstanding|"
    r"库存|存货|余额|人口|人数|在职|等候|员$|师$|床位|教师|职工",
    re.I,
)
"""Columns of what there is at a time: their figures of two times are not added up."""
_NOT_LEVELS = re.compile(r"\bnew\b|joined|hired|新增", re.I)
_SAME = 0.7
"""Least cosine of a Chinese word and an English name that translate each other; `护士` and `doctors` have .51."""
_AHEAD = 0.2
"""How much nearer to a column than to all others a word is that names it in other words; 欠款 is nearer to 应收账款 by .24."""
CLEAR = 0.55
"""Least cosine of a word and the name of a column of the plan that accounts for the word; `home` and `trip` have .44."""
_CHINESE = re.compile(
    r"请问?|在(?:我们|咱们)?(?:公司|单位|这[里儿])|"
    r"还?剩[下余]?|结余|相差|差距|加起来|一共|总共|合计|共有|共|总[额数量]?|平均[分值数]?|均[分值]|中位数|最[高低大小多少长久短快慢早晚新贵重轻好差]|增长|增加|上升|上涨|下降|减少|下跌|变化|增幅|"
    rf"[以之][前后来]|占比?|比(?!例)|比例|百分之几?|分别|更[高低多少大小]|百分|(?:多少|几|哪一?)[{said.CLASSIFIERS}间座辆本张块只栋艘头棵支]?|第?[一二两三四五六七八九十]+[{said.CLASSIFIERS}]?|哪|几|谁|什么|怎[么样]|其中|所有|全部|全体|全|整个?|各|每|些|前|名|个|家|位|次|条|种|所|台|件|笔|项|分|元|"
    r"万|年|月|日|天|季度?|份|的|地?得|是|为|有|了|在|从|到|至|和|与|及其?|或|按|已经?|正在|以|中|里|内|上|下|这|那|将|把|被|对|给|我们?|等|由|来|去|过|着|们|吗|列出|"
    r"超过|高于|大于|多于|不?低于|不少于|至少|小于|少于|不足|不到|不超过|至多|数值|数量|数据|表格?|之间|期间|分别|时|人|达|拿|获得|多|少"
)
"""Chinese words that say what to calculate or only connect."""


def uncovered(meant: Meant, columns: Sequence[PColumn], *, compares: bool = False, whether: bool = False) -> list[str]:
    """Return the words of a question that neither these columns nor its values, times and operations account for.

    `compares` says that a difference is calculated, `whether` that the answer is yes or no.
    """
    negated = DENIED.search(meant.text)
    beyond = _BEYOND.search(meant.text)
    takes = said.DIFFERENCE.search(meant.text) or (
        said.LEFT.search(meant.text) and not any(said.LEFT.search(each.name) for each in columns)
    )
    beyond = None if beyond and whether and WHETHER.search(beyond.group()) else beyond
    if (beyond and not (beyond.start() == 0 and meant.offers())) or (takes and not compares):
        return [meant.text]
    if negated and any(each.value and each.start <= negated.start() < each.end for each in meant.found or ()):
        negated = None  # 未付款 is a value
    if negated and any(each.start <= negated.start() < each.end for _, each in meant.bound):
        negated = None
    if negated and not any(
        abs(each.start - negated.end()) < 12 and (not each.value or _flag(each.column)) for each in meant.found or ()
    ):
        said_no = meant.text[negated.start() : negated.end() + 2]  # 不满 of the column 不满意人数
        if not any(said_no in each.name for each in columns):
            return [negated.group()]
    rest = _rest(meant)
    if figures := [each for each in _figures(rest) if not _known_figure(each, meant, columns)]:
        return figures
    return _chinese(rest, meant, columns) if has_cjk(rest) else _words(rest, meant, columns)


_TIMES = {"dai": "day", "annual": "year", "天": "day", "周": "week", "月": "month", "季": "quarter", "年": "year"}


def per_time(text: str) -> str:
    """Return the period of which a mean is asked, as in `per month`: day, week, month, quarter or year; empty if none is."""
    match = _PER_TIME.search(text)
    if match is None:
        return ""
    word = (match["ly"] or match["per"] or match["zh"] or match.group()[0]).lower()
    return _TIMES.get(word, word)


def uneven(meant: Meant, measure: PColumn | None, aggregate: str) -> bool:
    """Return whether the rows are not what is asked about.

    A mean by month of a table with several rows a month, or the levels of several times that would be added up.
    """
    times = meant.table.times
    if measure is None or not times or any(meant.table.unique(column) for column in meant.table.of_type("text")):
        return False
    if aggregate == "AVG" and per_time(meant.text):
        named = {each.column.sql for each in meant.found or ()}
        return any(column.sql not in named and column.different > 1 for column in meant.table.of_type("text"))
    level = _LEVELS.search(measure.name) and not _NOT_LEVELS.search(measure.name) and added(measure)
    several = any(time.low != time.high for time in times) and not any(each.how == "=" for each in meant.periods)
    return bool(level and several and aggregate == "SUM" and len(meant.periods) < 2)


def _flag(column: PColumn) -> bool:
    return 0 < len(column.values) <= 2


def _rest(meant: Meant) -> str:
    """Return the question without its values, times and limits."""
    text = list(meant.text)
    against = (limit for _, limit in (*meant.against, *meant.bound))
    for each in (*(meant.found or ()), *meant.periods, *meant.limits, *against):
        for i in range(each.start, min(each.end, len(text))):
            text[i] = " "
    return "".join(text).replace(meant.how_words or "\0", " ")


def _figures(rest: str) -> list[str]:
    """Return the figures in digits, and those in words that have a unit: `four years`, but not `the four years`."""
    measured = [each for each in quantities(rest) if each.unit and not re.search(r"\d", each.written)]
    in_words = [each.written for each in measured if not re.search(r"\b(?:the|all|these)\s+$", rest[: each.start])]
    return [*re.findall(r"\d+(?:[.,]\d+)*", rest), *in_words]


def _known_figure(figure: str, meant: Meant, columns: Sequence[PColumn]) -> bool:
    if figure in (str(said.count_of(meant.text)), str(meant.table.rows)) or re.search(
        rf"\b{figure}(?:nd|rd|th)\b", meant.text
    ):
        return True
    names = [*(column.name for column in columns), meant.table.title, meant.table.file]
    return any(re.search(rf"(?<!\d){re.escape(figure)}(?!\d)", name) for name in names)


def _own(meant: Meant, columns: Sequence[PColumn]) -> list[str]:
    """Return the words that name the rows or what is asked of them."""
    key = meant.table.of_type("text")[:1]
    names = [word for column in (*columns, *key) for word in (*column.words, column.said)]
    names += words_for(meant.degree, columns)
    units = [word for column in columns for word in words_of(column.unit)]
    units += ["rate"] if any(re.search(r"%|/|\bper\b", column.unit) for column in columns) else []
    units += ["date"] if any(column.type == "date" for column in columns) else []
    units += ["money"] if any(is_money(column.unit) for column in columns) else []
    short = {unit_of(column.unit) for column in columns if column.unit}
    units += [word for word in words_of(meant.text) if unit_of(word) in short]
    counted = [word for word in meant.noun()[:1] if meant.names_rows(word)]
    counted += [word for each in meant.found or () for word in words_of(each.value)]
    return [*names, *units, *counted, *names_of_rows(meant.table)]


def _named(word: str, own: Sequence[str], head: Sequence[str]) -> bool:
    if (word in GENERIC and word != "rate") or says_how(word) or head_says(word, head):
        return True
    return any(means(word, each) for each in own)


def head_says(word: str, head: Sequence[str]) -> bool:
    """Return whether title or file have a word or its verb: `exported` for `exports.csv`."""
    return any(
        stem in head for stem in (word, word.removesuffix("ed"), word.removesuffix("d"), word.removesuffix("ing"))
    )


def says_how(word: str) -> bool:
    """Return whether a word says how to calculate or only connects, not what is asked for: `highest`, `placed`."""
    return _light(word) or said.calculates(word) or is_degree(word)


def _light(word: str) -> bool:
    """Return whether a word, or the verb that it is a form of, does not say what is asked for."""
    stems = [word, *(word[: -len(end)] for end in ("s", "d", "ed", "ing") if word.endswith(end))]
    return word in _LIGHT or any(len(stem) > 2 and {stem, f"{stem}e"} & _LIGHT for stem in stems)


def _words(rest: str, meant: Meant, columns: Sequence[PColumn]) -> list[str]:
    own = _own(meant, columns)
    key = meant.table.of_type("text")[:1]
    beside, heads = [column.said for column in meant.table.of_type("text")], titled(meant.table)
    nouns = set()
    for match in _SLOT.finditer(rest):
        found = words_of(match["noun"] or match["kind"])
        named = [at for at, word in enumerate(found) if match["kind"] and _named(word, own, meant.head)]
        nouns |= set(found[: named[0]] if named else found)  # a verb comes behind the noun of `which region sold`
    missing = []
    for word in words_of(rest):
        if _named(word, own, meant.head) or (word not in nouns and any(means(word, each) for each in beside)):
            continue
        near = any(likeness(word, each) >= CLEAR for each in (*columns, *key))
        if word in nouns or not (near or any(cosine(word, each) >= _SAME for each in heads)):
            missing.append(word)
    return missing


def _chinese(rest: str, meant: Meant, columns: Sequence[PColumn]) -> list[str]:
    names = [
        *(name for column in (*columns, *meant.table.of_type("text")[:1]) for name in (column.name, *column.also)),
        *meant.head,
        *filter(None, [meant.kind, meant.taken]),
        *words_for(meant.degree, columns),
    ]
    foreign = [name.replace("_", " ") for name in names if not has_cjk(name)]
    names += [word for group in SYNONYMS for word in group if not group.isdisjoint(names)]
    # The title says what the figures are: 销售额 of the sheet 销售.
    if meant.table.by_month or (meant.wide and not meant.kind):
        names += [word for group in SYNONYMS for word in group if word.startswith(tuple(meant.head) or "\0")]
    money = any(not column.unit or is_money(column.unit) for column in columns if column.type == "number")
    units = [*(column.unit for column in columns), *(["钱"] if money else [])]
    units += [word for word, short in UNITS.items() if has_cjk(word) and short in map(unit_of, units)]
    for name in sorted(filter(None, (*names, *units)), key=len, reverse=True):
        rest = rest.replace(name, " ")
    rest = re.sub(
        r"[\u4e00-\u9fff]+", lambda run: _unnamed(run.group(), [each for each in names if has_cjk(each)]), rest
    )
    left = re.findall(r"[\u4e00-\u9fff]+|[A-Za-z]+", _CHINESE.sub(" ", rest))
    pieces = {piece for name in names for piece in (name[:2], name[-2:], name[0], name[-1]) if piece}
    alike = [name for name in names if has_cjk(name)]
    return [
        each
        for each in left
        if each not in pieces
        and not (len(each) > 1 and any(each in name for name in names))
        and not any(cosine(each, name) >= _SAME for name in foreign)
        and not any(set(each) & set(name) and cosine(each, name) >= _SAME for name in alike)
        and not (len(each) > 1 and _nearest(each, meant, columns))
    ]


def _unnamed(run: str, names: Sequence[str]) -> str:
    """Return Chinese characters without the parts of names, of two or more, that they have: 册次 of 借阅册次."""
    at, kept = 0, ""
    while at < len(run):
        end = next((end for end in range(len(run), at + 1, -1) if any(run[at:end] in each for each in names)), 0)
        kept += " " if end else run[at]
        at = end or at + 1
    return kept


def _nearest(word: str, meant: Meant, columns: Sequence[PColumn]) -> bool:
    """Return whether a Chinese word is much nearer in meaning to a column of the plan than to any other of the table."""
    near = {
        column: max(cosine(word, own) for own in (column.name.replace("_", " "), *column.words))
        for column in meant.table.columns
        if not apart(word, column.name)
    }
    own = max((near[each] for each in columns if each in near), default=0.0)
    return own >= CLEAR and own >= _AHEAD + max((near[each] for each in near if each not in columns), default=0.0)
