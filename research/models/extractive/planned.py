"""Make a plan of a question, and read an approved one: the questions to answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from research.models.extractive import chinese
from research.models.extractive.asked import asks, how_much, parts_of
from research.models.extractive.composing import called
from research.models.extractive.followup import refers, says_nothing
from research.models.extractive.grounding import ITS_GROWTH, weighs_only
from research.models.extractive.kinds import kind_of
from research.models.extractive.lexicon import filler
from research.models.extractive.meaning import masked
from research.models.extractive.patterns import COMPARATIVE, SUM, SUPERLATIVE, TOTAL, YEAR
from research.models.extractive.places import mentions, usual
from research.models.extractive.question import Question, Target, parse
from research.models.extractive.rankings import asked as ranking_of
from research.text import content_tokens, has_cjk

if TYPE_CHECKING:
    from research.models.extractive.evidence import Evidence

_MOST = 8
"""Most items of a plan."""
_COMPARED = 4
"""Most countries whose calculated measures are set side by side."""
_TOGETHER = re.compile(rf"{SUM.pattern}|{TOTAL.pattern}|\b(?:average|mean|median)\b|平均|中位", re.I)
"""Matches what several countries have together."""
_BOTH_WAYS = re.compile(r"\b(?:between|with)\b|之间|对", re.I)
"""Matches what two countries have with each other, such as their trade."""


def proposed(question: str) -> tuple[str, ...]:
    """Return the questions that a question consists of: one for each thing and measure, or its own parts."""
    q = parse(question)
    single = [(name, target) for name in q.names for target in q.targets if target.label]
    if q.relation is None and q.pick is None and 1 < len(single) <= _MOST and all(target.label for target in q.targets):
        ask = in_chinese if has_cjk(question) else _in_english
        items = [_understood(ask, q, name, target) for name, target in single]
        if all(items):
            return tuple(dict.fromkeys(items))
    return tuple(part.text for part in parts_of(question))


def _understood(ask: Callable[[Question, str, str], str], q: Question, name: str, target: Target) -> str:
    """Return the question for a measure of a thing, with as little of the label as is needed; empty if it is misread."""
    for label in (target.label.partition(",")[0], target.label):
        read = parse(item := ask(q, name, label))
        if read.names == (name,) and [each.label for each in read.targets] == [target.label]:
            return item
    return ""


def _in_english(q: Question, name: str, label: str) -> str:
    label = label if label[1:2].isupper() else label[:1].lower() + label[1:]
    years = "".join(f" in {year}" for year in q.years[:1]) if len(q.years) == 1 else ""
    return f"What is the {label} of {name}{years}?"


def in_chinese(q: Question, name: str, *labels: str) -> str:
    """Return the question for measures of a thing."""
    years = "、".join(f"{year}年" for year in q.years)
    return f"{name}{years}的{'和'.join(map(chinese.label, labels))}是多少？"


def to_answer(evidence: Evidence) -> tuple[str, ...]:
    """Return the questions of a conversation: the user's, those that a plan adds, or the plan's if it leaves some out."""
    if not evidence.planned:
        return _apart(evidence.question)
    known = proposed(evidence.question)
    if set(known) <= set(evidence.planned):
        return (evidence.question, *(each for each in evidence.planned if each not in (*known, evidence.question)))
    return evidence.planned


def _apart(question: str) -> tuple[str, ...]:
    """Return the questions that a question consists of; what asks nothing of its own stays with what comes before it.

    >>> _apart("What is the capital of Chad, and how many people live in Niger?")
    ('What is the capital of Chad?', 'How many people live in Niger?')
    >>> _apart("Which is larger, Chad or Niger, and by how much?")
    ('Which is larger, Chad or Niger, and by how much?',)
    """
    if each := _of_each(question) or _of_first(question):
        return each
    mark, joint = ("？", "，") if has_cjk(question) else ("?", ", ")
    found: list[str] = []
    for part in parts_of(question):
        text = part.text.strip(" ?？")
        own = part.kind in ("person", "place", "date", "year") and refers(text)
        if found and not own and (part.cause or weighs_only(text) or ITS_GROWTH.match(text) or _bare(text)):
            found[-1] = f"{found[-1]}{joint}{text}"
        else:
            found.append(text[:1].upper() + text[1:])
    return tuple(f"{text}{mark}" for text in found) if len(found) > 1 and _separate(question, found) else (question,)


def _of_each(question: str) -> tuple[str, ...]:
    """Return a question for each of the countries whose calculated measures are set side by side, if it asks no more.

    >>> _of_each("Which is more densely populated, Chad or Niger?")
    ('What is the population density of Chad?', 'What is the population density of Niger?')
    >>> _of_each("What is the trade balance between Chad and Niger?")
    ()
    """
    q, found = parse(question), called(question)
    if (
        found is None
        or not 1 < len(q.names) <= _COMPARED
        or not all(map(usual, q.names))
        or len(parts_of(question)) > 1
    ):
        return ()
    (english, term), rest = found
    rest = COMPARATIVE.sub(" ", SUPERLATIVE.sub(" ", YEAR.sub(" ", masked(rest, " ")).lower()))
    if {*content_tokens(rest)} - filler() or _BOTH_WAYS.search(question):
        return ()
    return tuple(in_chinese(q, name, term) if has_cjk(question) else _in_english(q, name, english) for name in q.names)


_SETS = re.compile(
    r"(?P<ask>.{1,200}?) (?P<by>of|in) (?P<set>the (?:[\w-]+ ){0,6}(?:country|countries|nations?|states?|members?)\b[^,;?]*)\??",
    re.I,
)
_SETS_ZH = re.compile(r"(?P<set>[^，；？]{0,12}最[^，；？的]{1,3}的[^，；？的]{0,8}?国家?)的?(?P<ask>[^？]{1,30})？?")
"""Matches what is asked of the first countries in an order: `the unemployment rate of the three largest EU countries`."""


def _of_first(question: str) -> tuple[str, ...]:
    """Return which countries of a place are the first by something, and what a question asks of them; empty if it does not.

    >>> _of_first("What is the capital of the two smallest countries in Africa?")
    ('Which are the two smallest countries in Africa?', 'What is the capital of each?')
    >>> _of_first("非洲人口最多的国家的首都是哪里？")
    ('非洲人口最多的国家是哪个？', '它的首都是哪里？')
    """
    chinese = has_cjk(question)
    found = (_SETS_ZH if chinese else _SETS).fullmatch(question.strip())
    if found is None or mentions(found["ask"]) or ranking_of(parse(found["ask"])) or _TOGETHER.search(found["ask"]):
        return ()
    order = ranking_of(parse(f"{found['set']}是哪个？" if chinese else f"Which are {found['set']}?"))
    known = any(target.label for target in parse(found["ask"]).targets)
    if order is None or order.kind != "top" or not known:
        return ()
    one = order.first == 1
    if chinese:
        of = "" if found["ask"].startswith("有") else "的"
        return f"{found['set']}是哪{'个' if one else '些'}？", f"{'它' if one else '它们'}{of}{found['ask']}？"
    if one and not order.members:  # a description of a country, which is found first
        return ()
    return f"Which {'is' if one else 'are'} {found['set']}?", f"{found['ask']} {found['by']} {'it' if one else 'each'}?"


def _bare(text: str) -> bool:
    """Return whether a part names neither a thing nor a measure: *and by how much?*"""
    asked = parse(text)
    return how_much(text) or (says_nothing(asked) and not asked.names)


def _separate(question: str, parts: Sequence[str]) -> bool:
    """Return whether parts of a question ask for things of their own, which nothing is calculated from together."""
    names = [{name for mention in mentions(part) for name in mention.names} for part in parts]
    if {name for mention in mentions(question) for name in mention.names} != set().union(*names):
        return False  # what comes before the parts says what they are about
    rankings = (ranking_of(parse(part)) for part in parts)
    of = [own or ({ranking.place} if ranking else own) for own, ranking in zip(names, rankings, strict=True)]
    if all(of) and len(set(map(frozenset, of))) > 1:
        return True
    q, own = parse(question), all(refers(part) or kind_of(part) for part in parts[1:])
    # A change between two years is one thing: `in 2024, and by how much did it grow compared with 2023`.
    operation = "lookup" if q.operation == "growth" and not q.years else q.operation
    return (operation == "lookup" or (operation == "compare" and own)) and all(map(asks, parts))
