"""The kind of answer that a question asks for, and whether a sentence contains one."""

from __future__ import annotations

import re
from typing import Literal

from research.models.extractive.measured import lacks, without_asides
from research.models.extractive.words import readable
from research.quantities import CURRENCIES, quantities

Kind = Literal["whether", "year", "date", "number", "person", "place", "name"]

_ASKED: dict[Kind, str] = {
    "whether": r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|may(?! \d)|must|shall|should|will|would)\b(?! you\b)|"
    r"^\W*is it (?:true|correct|right) that\b|, (?:right|correct)\?\W*$|吗\W*$|[是能可]否|(.)不\1",
    "year": r"\b(?:what|which) year\b|哪一?年|何年",
    "date": r"\b(?:since|by|until) when\b|\bwhen['’]s\b|"
    r"\bwhen (?:was|were|is|are|did|does|do|has|had|may|must|shall|should|will|can)\b|"
    r"\b(?:what|which) (?:date|day|time)\b|\bwhat(?:['’]s| is| was) the (?:[\w-]{1,20} ){0,3}(?:date|deadline)\b|\bbirthday\b|"
    r"什么时候|什么时间|何时|几[点号月]|哪一?天|日期",
    "number": r"\bhow (?:many|much|long|old|far|tall|high|large|big|deep|wide)\b|"
    r"\bwhat (?:is|was|are|were) [^.?!]{0,60}\bworth\b|多少|"
    r"\bwhat (?:is|was|are|were) (?:[\w'’-]{1,30} ){0,4}?(?:budget|costs?|price|sales|revenues?|turnover|profits?|salary|wages?|"
    r"rent|fee|weight|headcount|discount|share|rate|number)(?= (?:of|for|in|per|at|from|to)\b|\W*$)|"
    r"(?<!哪)几(?:[个位名座艘条种次岁天周年]|小时|分钟)|多[长高大远深宽]",
    "person": r"\bwho(?:se|m)?\b|谁|哪位|何人",
    "place": r"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:city|town|village|state|country|county|region|province|island|"
    r"place|continent)\b|哪里|哪儿|何处|何地|什么地方|位于哪|哪[个座一](?:国家|城市|省|市|县|地区|岛)",
    "name": r"\b(?:what|which|name)\b|(?<!为)[什何]|哪",
}
_RELATIVE = re.compile(r"who|when|where|which\b", re.I)
_OPENS = re.compile(r"(?:^|[.,;:!?]|\b(?:and|by|for|from|in|into|of|on|or|than|to|with|at))\W*$", re.I)
"""Matches the text before a question word that starts a question or a clause."""

_PAST = re.compile(r"\b(?:was|were|did|had)\b|[了过]", re.I)
"""Matches a question for something that has been."""
_TITLES = (
    re.compile(
        r"\b(?:king|queen|emperor|empress|monarch|sultan|emir|grand duke|tsar)s?\b|国王|女王|天皇|苏丹(?!港)", re.I
    ),
    re.compile(r"\bpresidents?\b|总统|主席", re.I),
)
"""Titles of heads of state; a monarch is no president."""
_DEMANDS: tuple[tuple[str, str, str], ...] = (
    (
        r"\bper (?:person|capita|head|inhabitant|citizen|square|sq|\d|hundred|thousand|million)|"
        r"\bfor (?:each|every) \w|\bper (?!cent|se\b|annum|the\b|our\b|your\b)[a-z]|按人头|"
        r"\beach \w+ (?:account|emit|use|consume|"
        r"produce)\w*|\bdensity\b|"
        r"人均(?!寿命|预期)|平均每人|每人|每平方|密度",
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
    inside, _, _, kind = min(found, default=(True, 0, 0, "name"))
    return None if inside else kind


_MONEY = re.compile(
    r"\b(?:cost|pay|paid|price|fee|charge|rent|salary|wage|expensive|earn)|钱|费|价|租金|工资|薪|押金", re.I
)
_SPAN = re.compile(
    r"\bhow long\b|\bhow many (?:\w+ )?(?:minutes|hours|days|weeks|months|years)\b|多久|多长时间|几[天日年]|多少[天年]",
    re.I,
)


def is_amount(question: str, written: str) -> bool:
    """Return whether an amount is of the kind that a question for a number asks for: of money, of time, or any other."""
    units = {each.unit for each in quantities(written)}
    if _SPAN.search(question):
        return (
            bool(units & {"years", "hours"}) or re.search(r"\bdays?\b|\bweeks?\b|[日天周月年时]", written) is not None
        )
    if _MONEY.search(question):
        return bool(units & {*CURRENCIES, "%"}) or re.search(r"\bpounds?\b|万|千", written) is not None
    return True


_CLOCK = re.compile(r"\b\d{1,2}(?::\d\d|(?:[:.]\d\d)?\s?[ap]\.?m\b)|[零一二三四五六七八九十\d]{1,3}[点时](?!间)")
"""Matches a time of the day."""
_DAY = re.compile(r"\s(?:[\w-]+\s)?(?:minute|hour|day|week|month|year)s?\b|个?(?:\w{0,2})?[日天周月年]")
"""Matches what makes a time of the figure before it, also behind another word: the fifth *calendar day*."""


def times(text: str, question: str) -> list[str]:
    """Return what says when something is: dates, years, times of the day and, of what is still to come, *within 30 days*."""
    found = [(each.start, each.written.rstrip(".")) for each in quantities(text) if each.kind in ("year", "date")]
    if _PAST.search(question) is None:
        spans = [(each, _DAY.match(text, each.end)) for each in quantities(text)]
        found += [
            (each.start, f"{text[each.start : each.end]}{unit[0] if unit else ''}")
            for each, unit in spans
            if each.unit == "hours" or (unit and not each.unit)
        ]
        found += [(match.start(), match[0]) for match in _CLOCK.finditer(text)]
    return list(dict.fromkeys(written for _, written in sorted(found)))


def fits(question: str, kind: Kind | None, statement: str, quote: str) -> str:
    """Return what a statement and its passage lack to be an answer of the kind; empty if they lack nothing."""
    told, plain = f"{statement}\n{quote}", without_asides(question)
    for asked, expected, lack in _DEMANDS:
        if re.search(asked, plain, re.I) and not re.search(expected, told, re.I):
            return lack
    if any(
        title.search(question) and not title.search(told) and any(t.search(told) for t in _TITLES) for title in _TITLES
    ):
        return "anybody with that title"
    if kind == "number" and not any(q.kind in ("number", "ordinal") for q in quantities(statement)):
        return "a figure"
    if kind in ("year", "date") and not times(told, question):
        return "a date"
    return "" if kind == "whether" else lacks(question, statement, quote)
