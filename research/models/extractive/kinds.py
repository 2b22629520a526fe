"""The kind of answer that a question asks for, and whether a sentence contains one."""

from __future__ import annotations

import re
from typing import Literal

from research.models.extractive.measured import lacks, without_asides
from research.quantities import quantities
from research.text import has_cjk, readable

Kind = Literal["whether", "year", "date", "number", "person", "place", "name"]

_ASKED: dict[Kind, str] = {
    "whether": r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could)\b(?! you\b)|"
    r"^\W*is it (?:true|correct|right) that\b|, (?:right|correct)\?\W*$|吗\W*$|是否|是不是",
    "year": r"\b(?:what|which) year\b|哪一?年|何年",
    "date": r"\bsince when\b|\bwhen (?:was|were|is|are|did|does|do|has|had)\b|\b(?:what|which) (?:date|day)\b|\bbirthday\b|"
    r"什么时候|什么时间|何时|哪一?天|日期",
    "number": r"\bhow (?:many|much|long|old|far|tall|high|large|big|deep|wide)\b|"
    r"\bwhat (?:is|was|are|were) [^.?!]{0,60}\bworth\b|多少|"
    r"\bwhat (?:is|was|are|were) (?:[\w'’-]{1,30} ){0,4}?(?:budget|costs?|price|sales|revenues?|turnover|profits?|salary|wages?|"
    r"rent|fee|weight|headcount|discount|share|rate|number)(?= (?:of|for|in|per|at|from|to)\b|\W*$)|"
    r"几[个位名座艘条种次岁]|多[长高大远深宽]",
    "person": r"\bwho(?:se|m)?\b|谁|哪位|何人",
    "place": r"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:city|town|village|state|country|county|region|province|island|"
    r"place|continent)\b|哪里|哪儿|何处|何地|什么地方|位于哪|哪[个座一](?:国家|城市|省|市|县|地区|岛)",
    "name": r"\b(?:what|which|name)\b|(?<!为)[什何]|哪",
}
_RELATIVE = re.compile(r"who|when|where|which\b", re.I)
_OPENS = re.compile(r"(?:^|[.,;:!?]|\b(?:and|by|for|from|in|into|of|on|or|than|to|with|at))\W*$", re.I)
"""Matches the text before a question word that starts a question or a clause."""

_CAUSE = re.compile(
    r"^\W*why\b|\bwhy (?:is|are|was|were|do|does|did|has|have)\b|\b(?:causes?|reasons?) (?:of|for|behind|why)\b|"
    r"\bwhat (?:caused|causes|led to|drives|drove|explains|explained|is behind)\b|(?<![称名作认定])为什么|为何|原因",
    re.I,
)
_CAUSE_SAID = re.compile(
    r"\b(?:because|caus\w+|due to|owing|led to|lead(?:s|ing)? to|result\w*|reason\w*|attribut\w+|driv\w+|trigger\w*|"
    r"factor\w*|blam\w+|since|thanks to|stem\w*|explain\w*|spark\w*|contribut\w+|so that|in order to|responsible|after)\b|"
    r"因为|由于|导致|造成|引起|原因|因此|使得|归因|所致",
    re.I,
)
_NAMED = re.compile(
    r"\b(?:which|what|name (?:a|the|one)|whose)\s+(?:\w+[- ]){0,2}?(?:countr(?:y|ies)|nations?|states?|cit(?:y|ies)|towns?|"
    r"compan(?:y|ies)|airlines?|firms?|part(?:y|ies)|rivers?|lakes?|mountains?|peaks?|ports?|islands?|languages?|religions?|"
    r"metals?|people|persons?|artists?|bands?|authors?|films?|movies?|books?|teams?|clubs?|universit(?:y|ies)|actors?)\b|"
    r"哪(?:个|座|一个|家|些|国|几个)(?!月|年)|\bwho\b|谁",
    re.I,
)
"""Asks for something by name, so that a figure alone does not answer."""
_PARTNER = re.compile(
    r"\b(?:no\. ?1|number one|main|top|big(?:gest)?|largest|leading|chief|best|principal|first) (?:[\w-]+ ){0,2}?"
    r"(?:customers?|buyers?|suppliers?|partners?|takers?|destinations?)\b(?!['’])",
    re.I,
)
"""Asks for a trading partner by name, whatever else is said about trade."""
_ONLY_FIGURE = re.compile(r"^\W*\d[\d.,]*\s*(?:[\w%/$²]+[ -]?){0,5}(?:[(（][^()（）]*[)）])?\W*$")
"""A value that is a figure with its unit and nothing else."""
_YES_NO = re.compile(r"\W{0,9}(?:yes|no|是的|是|否|不是|对|没有)\b[,.:;，。：；]?\W{0,9}$", re.I)
_TITLES = (
    re.compile(
        r"\b(?:king|queen|emperor|empress|monarch|sultan|emir|grand duke|tsar)s?\b|国王|女王|天皇|苏丹(?!港)", re.I
    ),
    re.compile(r"\bpresidents?\b|总统|主席", re.I),
)
"""Titles of heads of state; a monarch is no president."""
_WEIGHED = re.compile(
    r"\b(?:more|less|fewer|\w+er|over|under|above|below|at least|exceed|half|as \w+ as|same)\b|\d|更|超过|比", re.I
)
"""A question for yes or no that a figure answers."""
_LENGTH = frozenset(["length"])
_MEASURES = {
    "long": frozenset(["length", "years", "hours"]),
    "tall": _LENGTH,
    "deep": _LENGTH,
    "wide": _LENGTH,
    "far": _LENGTH,
}
"""The dimensions of figures that answer `how tall` and the like."""
_SUPERLATIVE = (
    r"\b(?:most|least|fewest|top|leading|(?!(?:rest|west|east|forest|interest|request|protest|guest|test|latest|"
    r"highest court|"
    r"modest|honest|invest|arrest|harvest|suggest|contest|conquest|budapest|bucharest|nest|"
    r"best[- ]known)\b)\w{3,}est|worst|best)\b|最|第一"
)
_SELECTS = re.compile(
    rf"\b(?:which|what|who|where|name|rank|list)\b.{{0,300}}(?:{_SUPERLATIVE})|(?:{_SUPERLATIVE}).{{0,300}}(?:哪|谁|什么)|(?:哪|谁|"
    rf"什么).{{0,300}}(?:{_SUPERLATIVE})",
    re.I,
)
_SELECTED = re.compile(
    rf"{_SUPERLATIVE}|\b(?:first|main|chief|rank\w*|number one|no\. ?1|more than any|record|maximum|minimum|against|"
    rf"1st|2nd|3rd)\b|首|居",
    re.I,
)
_DEMANDS: tuple[tuple[str, str, str], ...] = (
    (
        r"\bmonth by month\b|\b(?:each|every|by|per) (?:month|quarter|week)\b|\b(?:first|second|third|fourth|last) quarter\b|"
        r"\bmonthly\b|\bquarterly\b|\bweekly\b|\bq[1-4]\b|逐月|每个?月|月度|季度",
        r"\bmonth|\bquarter|\bweek|\bq[1-4]\b|月|季",
        "figures for such periods",
    ),
    (
        r"\bper (?:person|capita|head|inhabitant|citizen|square|sq|\d|hundred|thousand|million)|"
        r"\bfor (?:each|every) \w|\bper (?!cent|se\b|annum|the\b|our\b|your\b)[a-z]|按人头|"
        r"\beach \w+ (?:account|emit|use|consume|"
        r"produce)\w*|\bdensity\b|"
        r"人均|平均每人|每人|每平方|密度",
        r"\bper\b|/|\beach\b|\bdensity\b|\bevery\b|\btimes\b|\bby the\b|人均|每|密度|‰|\brate\b|\baverage\b",
        "a figure per person or area",
    ),
    (
        r"\bhow (?:many|much) (?:more|less|fewer|longer|higher|larger|greater|taller|older)\b(?! than)|"
        r"\bdifference (?:in|between)\b|"
        r"\bgap\b|\bminus\b|\bbalance\b|\bsurplus\b|\bdeficit\b|\bshortfall\b|"
        r"\bhow many (?:percentage )?points\b|\bnet (?:\w+ ){1,3}against\b|"
        r"\bby (?:how (?:much|many)|what (?:amount|margin))\b|"
        r"相差|差多少|差距|差额|[顺逆]差|比(?!.{0,2}(?:19|20)\d\d).{1,14}[多少高低大小短](?:了|出|出来)?(?:多少|几|多大|多久)",
        r"\bdifference\b|\bgap\b|\bmore\b|\bless\b|\bfewer\b|\w+er than\b|\btimes\b|\bminus\b|"
        r"\b(?:r[io]s|f[ae]ll|gr[eo]w|shr[aiu]nk|increas|decreas|declin|drop|gain|chang)\w*|\b(?:up|down) (?:by|\d)|"
        r"\bexceed\w*|[增涨升降跌]|"
        r"\bsurplus\b|\bdeficit\b|"
        r"\bbalance\b|[−-]\s*\d.*=|差|(?<![最更])[多少低]|倍|高出",
        "a difference",
    ),
    (
        r"\b(?:average|mean) of\b|\b(?:average|mean) (?:\w+ ){1,3}of an? (?:single )?\w|\baverage the\b|平均值",
        r"\b(?:average|mean)\b|\bper\b|平均",
        "the mean",
    ),
    (
        r"\bif you (?:total|add|sum)\b|\badd(?:ed|s)? (?:up|together)\b|\btogether\b|\bcombined\b|加起来|合计|总和",
        r"\btogether\b|\bcombined\b|\bsum\b|\bin total\b|\badds? up\b|\btotal of\b|合计|总共|加起来|总和|\+",
        "the sum",
    ),
    (
        r"\bleft over\b|\bremain(?:s|ing|der)\b|\bset(?:ting)? aside\b|\bleaving out\b|\bto spare\b|剩下|剩余|其余",
        r"\bremain\w*|\bleft\b|\bminus\b|\bdifference\b|\bother\b|\brest\b|\bexcept|−|剩|余|减|差",
        "what remains",
    ),
    (
        r"\bset against\b|\brelative to\b|\bin relation to\b|相对于",
        r"%|\bper\b|/|\btimes\b|\bratio\b|倍|比",
        "a figure in relation to it",
    ),
    (
        r"\bhow many times\b|\btimes (?:as|more|less|larger|bigger|higher)\b|\bdivided by\b|多少倍|几倍",
        r"\btimes\b|\bratio\b|÷|倍",
        "a ratio",
    ),
    (
        r"\b(?:apply|multiply|convert|divid(?:e|ing))\b|\bturn (?:it|that|this|the .{1,40}?) into\b|"
        r"\bwork(?:ing)? (?:it )?(?:out )?from\b|换算|乘",
        r"\bcalculated\b|[×*=÷]|算",
        "a calculated figure",
    ),
    (
        r"\bhow many (?:positions|ranks|(?:places|spots) (?:after|ahead|before|behind|below|above|higher|lower))\b|"
        r"(?:多少名|几名)(?![\u4e00-\u9fff])",
        r"\bplaces?\b|\bpositions?\b|\branks?\b|名",
        "a rank",
    ),
    (
        r"\bhow (?:many|much)\b.*\b(?:no|without|lacks?|lacking|not)\b|多少.*没有|没有.*多少",
        r"\b(?:no|not|without|lack\w*|un\w+|non|out of|neither)\b|没有|无|未|缺",
        "what is without it",
    ),
)  # fmt: skip
"""Questions, what their answers contain, and the words for it."""


def kind_of(question: str) -> Kind | None:
    """Return the kind of answer that a question asks for; None if its words do not say.

    The first question word decides; *who*, *when* and *where* inside a sentence are relative pronouns.
    """
    question, found = readable(question), []
    for rank, (kind, words) in enumerate(_ASKED.items()):
        for match in re.finditer(words, question, re.I):
            inside = bool(_RELATIVE.match(match.group())) and not _OPENS.search(question[: match.start()])
            found.append((inside, match.start(), rank, kind))
    return min(found)[3] if found else None


def selects(question: str) -> bool:
    """Return whether a question asks for the one with the most or least of something."""
    return _SELECTS.search(question) is not None


def selected(told: str) -> bool:
    """Return whether a text says that something has the most or least, or its rank."""
    return _SELECTED.search(told) is not None


def asks_why(text: str) -> bool:
    """Return whether a question asks for causes."""
    return _CAUSE.search(text) is not None


def fits(question: str, kind: Kind | None, statement: str, quote: str, *, labelled: bool = False) -> str:
    """Return what a statement and its passage lack to be an answer of the kind; empty if they lack nothing.

    With `labelled` the passage has the label that the question asks for, which need not say what it is in other words.
    """
    told, plain = f"{statement}\n{quote}", without_asides(question)
    for asked, expected, lack in _DEMANDS[:-1] if labelled else _DEMANDS:
        if re.search(asked, plain, re.I) and not re.search(expected, told, re.I):
            return lack
    if any(
        title.search(question) and not title.search(told) and any(t.search(told) for t in _TITLES) for title in _TITLES
    ):
        return "anybody with that title"
    if asks_why(question):
        return "" if _CAUSE_SAID.search(told) else "a cause"
    figures = [q for q in quantities(statement) if q.kind in ("number", "ordinal")]
    if kind == "number" and not (figures or _figure_words(statement)):
        return "a figure"
    if kind == "number" and figures and not labelled and (dimensions := _dimensions(question)):
        return "" if any(q.unit in dimensions for q in figures) else "a figure in the unit that is asked for"
    if kind != "whether" and not selects(question) and (lack := lacks(question, statement, quote)):
        return lack
    if kind in ("year", "date") and not any(q.kind in ("year", "date") for q in quantities(told)):
        return "a date"
    said = any(_YES_NO.match(line) for line in statement.splitlines())
    if kind == "whether" and not said and _ONLY_FIGURE.match(_value(statement)) and not _WEIGHED.search(question):
        return "" if re.search(r"[(（](?![^()（）]*\d{4})|\b0\b", _value(statement)) else "yes or no"
    if _PARTNER.search(question) and _ONLY_FIGURE.match(_value(statement)):
        return "a name"
    named = (
        not labelled and _NAMED.search(question) and kind not in ("number", "year", "date") and not selected(statement)
    )
    if named and _ONLY_FIGURE.match(_value(statement)):
        return "a name"
    return ""


def _value(statement: str) -> str:
    """Return the text after the last label of a line such as `Japan: Airports, number: 280`."""
    return re.split(r"[:：]\s", statement.partition("\n")[0])[-1]


def _dimensions(question: str) -> frozenset[str]:
    match = re.search(r"\bhow (long|tall|deep|wide|far)\b", question, re.I)
    return _MEASURES[match.group(1).lower()] if match else frozenset()


def _figure_words(statement: str) -> bool:
    """Return whether a statement has a quantity in words, such as *none*, *half* or Chinese numerals."""
    return re.search(
        r"\b(?:no|none|zero|half|dozens?|once|twice|never)\b|[零一二三四五六七八九十百千万亿两半]", statement, re.I
    ) is not None or (any(q.kind == "year" for q in quantities(statement)) and not has_cjk(statement))
