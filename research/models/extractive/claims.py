"""Read a yes-or-no question as a claim about one line: which line decides it, and how."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from research._util.amounts import Amount
from research._util.amounts import amount as read_amount
from research.models.extractive.asked import parts_of
from research.models.extractive.grounding import grounded, subjects
from research.models.extractive.meaning import masked
from research.models.extractive.places import Mention
from research.models.extractive.question import Question, Target, parse

Test = Literal[
    "words",
    "positive",
    "zero",
    "only",
    "first",
    "listed",
    "member",
    "dated",
    "aged",
    "ruled",
    "official",
    "major",
    "above",
    "below",
    "",
]

_OPENS = (
    r"(?:is|are|was|were|do|does|did|has|have|can|could|isn['’]?t|aren['’]?t|wasn['’]?t|doesn['’]?t|don['’]?t|"
    r"didn['’]?t|"
    r"hasn['’]?t|haven['’]?t|can['’]?t)"
)
_CLAUSE = re.compile(
    rf"(?:^|[.:;,!–—]\s{{1,9}}|\s-\s{{1,9}})\W{{0,9}}(?P<said>{_OPENS}\s(?!you\b|i\b).{{1,300}})$", re.I
)
_STATED = re.compile(
    r"^\W*(?:is it (?:true|correct|right|the case) that|true or false\W+|am i right (?:that|in (?:thinking|"
    r"saying|assuming) that)|"
    r"would it be (?:right|correct|true) to say that|can (?:you confirm|i say|it be said) that)\s*(?P<said>.+)$",
    re.I,
)
_RIGHT = re.compile(
    r"^(?P<said>.+?),? (?:right|correct|true|isn['’]t it|doesn['’]t it|is that (?:right|correct|true))\s*\?\W*$", re.I
)
_VERB = re.compile(r"^(?P<subject>.+?) (?P<verb>is|are|was|were|has|have|can)\b ", re.I)
_WH = re.compile(r"\b(?:how|what|which|who|whom|whose|when|why|where)\b", re.I)
_NOT = re.compile(
    r"\b(?:not|never|no longer|without|lacks?|lacking|unable|cannot|neither|nor|only|hardly|barely)\b|不是|没有|从未"
)
"""Words that reverse a claim; such a question is not decided."""
_HALF = re.compile(
    r"\b(?:(?P<more>most(?= (?:of|people|adults|households|homes|inhabitants|residents|citizens|women|men|girls|"
    r"boys|children|kids|"
    r"young\w*|the|\{c\}))(?: of)?(?: the)?|(?:the|a|an)? ?(?:overwhelming |large |clear |"
    r"vast )?majority of(?: the)?|(?:over|more than|at least) (?:a )?half"
    r"(?: of)?(?: the)?|the bulk of(?: the)?)|(?P<less>(?:under|less than|fewer than) (?:a )?half(?: of)?(?: the)?|"
    r"(?:only )?a minority of(?: the)?))\b|大多数|大部分|(?:超过|多于)一半|过半"
)
_UNIT = (
    r"%|per ?cent(?:age points?)?(?: of gdp)?|sq(?:uare)?\.? ?(?:km|kilomet(?:re|er)s?)|km2|km²|km|kilomet(?:re|"
    r"er)s?|met(?:re|er)s?|m|years?(?: old)?|"
    r"children(?: per woman)?|(?:us )?dollars?"
)
_LIMIT = re.compile(
    r"\b(?P<above>more than|over|above|at least|exceed(?:s|ed|ing)?|(?:higher|greater|larger|bigger|longer|"
    r"older|taller|faster|better) than|"
    r"upwards of|in excess of|tops?|topped|surpass(?:es|ed)?|beyond|reach(?:es|ed)?)\s+|"
    r"\b(?P<below>less than|under|below|fewer than|at most|(?:lower|smaller|shorter|younger) than|short of)\s+|"
    r"(?P<zh_above>超过|高于|多于|大于)|(?P<zh_below>低于|少于|不到|小于)"
)
_FIGURE = re.compile(
    rf"\s{{0,9}}(?:about |roughly |even |the )?(?P<number>(?:us ?)?[$€£]?\s?\d[\d,]{{0,40}}(?:\.\d{{1,30}})?|an?(?= (?:million|"
    rf"billion|trillion|hundred))|one(?= million| billion| trillion))"
    rf"\s{{0,9}}(?P<scale>thousand|million|billion|trillion|bn|万亿|千万|百万|万|亿)?\s{{0,9}}(?P<unit>(?:{_UNIT})(?![a-z])|%|年|岁|"
    rf"公里|平方公里|美元)?",
    re.I,
)
_UNITS = (
    (r"%|per ?cent", "%"),
    (r"sq|km2|km²|平方公里", "sq km"),
    (r"k|公里", "km"),
    (r"year|年|岁", "years"),
    (r"m", "m"),
)
_OFFICIAL = re.compile(r"\bofficial(?:ly)?\b|\bnational language|官方语言")
_SPOKEN = re.compile(r"\blanguages?\b|\bspoken\b|\bspeaks?\b|语")
_CHIEFLY = re.compile(
    r"\b(?:main|dominant|largest|biggest|predominant(?:ly)?|mainly|mostly|principal|most|majority|chief|"
    r"number one|widely)\b|主要|最大"
)
_FAITH = re.compile(
    r"\b(?P<n>islam|muslims?|christian(?:ity|s)?|catholic(?:ism|s)?|protestant(?:s|ism)?|orthodox|buddhis(?:m|"
    r"ts?)|hindu(?:ism|s)?|jewish|judaism|jews)\b"
)
_BUYS = re.compile(
    r"\b(?:biggest|largest|main|top|number one|leading|most important|chief)\b.*\b(?P<out>buyer|customer|"
    r"export (?:market|partner|destination|customer)|"
    r"market)|\b(?:biggest|largest|main|top|number one|leading|most important|chief)\b.*\b(?P<in>supplier|"
    r"seller|import (?:source|partner|supplier)|"
    r"source of (?:its |\w+['’]s )?imports)"
)
_COLONY = re.compile(
    r"\b(?:colon(?:y|ies)|colonized|colonised|protectorate|rule|ruled|possession|independen(?:t|ce) from)\b"
)


class Claim(Struct, frozen=True):
    """What a yes-or-no question says about a country."""

    subject: str
    target: Target | None
    """The line that decides; None if it is unknown."""
    test: Test = ""
    """How it decides; empty if that is unknown."""
    said: str = ""
    """The name that the line must have, in lower case."""
    limit: Amount | None = None
    yes: re.Pattern[str] | None = None
    no: re.Pattern[str] | None = None


class _Rule(Struct, frozen=True):
    says: re.Pattern[str]
    unless: re.Pattern[str] | None
    label: str
    test: Test
    yes: str
    no: str


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("claims.toml").read_text("utf-8"))


def words(table: str) -> dict[str, str]:
    """Return a table from words in questions to the words that lines use."""
    return dict(_data()[table])


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(
        _Rule(
            re.compile(entry["says"].replace("{c}", r"\{c\}")),
            re.compile(entry["unless"]) if "unless" in entry else None,
            entry["label"],
            entry.get("figure") or entry.get("names") or "words",
            entry.get("yes", ""),
            entry.get("no", ""),
        )
        for entry in _data()["claim"]
    )


def clause(text: str) -> str:
    """Return the clause of a question that asks for yes or no and nothing else; empty if there is none.

    >>> clause("Quick check: is Chad landlocked?")
    'is Chad landlocked?'
    """
    text = " ".join(text.split()).replace("’", "'")
    if stated := _STATED.match(text) or _RIGHT.match(text):
        return _VERB.sub(r"\g<verb> \g<subject> ", stated["said"]) if not _WH.search(stated["said"]) else ""
    parts = parts_of(text)
    if len(parts) != 1 or parts[0].options:
        return ""
    text = re.sub(
        r"[.!] (?:please |just )?(?:give|tell|state|quote|show|i need|yes or no)\b.{0,300}$|\W{1,9}(?:yes or no|y/n)\W{0,9}$",
        "?",
        text,
        flags=re.I,
    )
    if re.search(r"吗[？?]?$|是否|是不是|有没有", text):
        return text
    match = _CLAUSE.search(text)
    return match["said"] if match and not _WH.search(text) else ""


def claim(question: Question) -> Claim | None:
    """Return the claim about one country that a question asks to confirm; None if it asks for something else."""
    text = clause(question.text)
    found = subjects(text) if text else []
    names = list(dict.fromkeys(name for mention in found for name in mention.names))
    lower = masked(text).lower()
    if len(names) == 2:
        return _traded(found, text.lower())
    if len(names) != 1:
        return None
    own = _masked(text, found)
    return (
        _told(names[0], own.lower(), own) or _listed(names[0], own, lower) or _weighed(names[0], text, lower, question)
    )


def _masked(text: str, found: list[Mention]) -> str:
    """Return the text with {c} for the subject only: languages keep their names."""
    for mention in sorted(found, key=lambda each: -each.place[0]):
        text = text[: mention.place[0]] + "{c}" + text[mention.place[1] :]
    return text


def _told(subject: str, lower: str, own: str) -> Claim | None:
    """Return the claim by the first rule that matches."""
    if _NOT.search(lower.partition(" ")[2]):
        return None
    for rule in _rules():
        match = rule.says.search(lower)
        if match is None or (rule.unless and rule.unless.search(lower)):
            continue
        groups = match.groupdict()
        said = next((value for key, value in groups.items() if value and key != "when"), "")
        said = said.replace("{c}", subject.lower())  # Mount Kenya
        yes = rule.yes.replace("{said}", re.escape(match.group().split()[0])) if rule.yes else ""
        if rule.test == "dated":
            said = f"{groups.get('when') or ''} {said}".strip()
        return Claim(
            subject,
            Target(rule.label, exact=True),
            rule.test,
            re.sub(r"^(?:the|a|an) | \W{0,9}$|[?？]{1,300}$", "", said.strip(" ?？.'\"")),
            None,
            re.compile(yes, re.I) if yes else None,
            re.compile(rule.no, re.I) if rule.no else None,
        )
    return None


def _listed(subject: str, own: str, lower: str) -> Claim | None:
    """Return the claim that a language or a religion is official, spoken, or the main one."""
    if _NOT.search(lower.partition(" ")[2]):
        return None
    if faith := _FAITH.search(own.lower()):
        faiths = words("faiths")
        name = faiths.get(faith["n"]) or faiths[faith["n"].rstrip("s")]
        return Claim(subject, Target("Religions", exact=True), "major" if _CHIEFLY.search(lower) else "", name.lower())
    if not _SPOKEN.search(lower):
        return None
    tongue = next((name for zh, name in words("tongues").items() if zh in own), "")
    tongue = tongue or next(
        (m.group() for m in re.finditer(r"\b[A-ZÀ-Þ][a-zà-ÿ]{2,}\b", own) if m.start() and m.group() != "{c}"), ""
    )
    if not tongue:
        return None
    test: Test = "official" if _OFFICIAL.search(lower) else "major" if _CHIEFLY.search(lower) else "listed"
    return Claim(subject, Target("Languages", exact=True), test, tongue.lower())


def _traded(found: list[Mention], lower: str) -> Claim | None:
    """Return the claim that one country is the main buyer or supplier of another, or ruled it."""
    if any(len(mention.names) > 1 for mention in found) or _NOT.search(lower.partition(" ")[2]):
        return None
    if _COLONY.search(lower):
        ruler = next(
            (
                each
                for each in found
                if re.match(r"['’]s|\s+(?:rule|colony|empire|protectorate|possession)", lower[each.place[1] :])
            ),
            None,
        )
        ruler = ruler or next(
            (
                each
                for each in found
                if re.search(r"\b(?:colony of|ruled by|governed by|part of|from) (?:the )?$", lower[: each.place[0]])
            ),
            None,
        )
        one = [each for each in found if ruler and each.names != ruler.names]
        return (
            Claim(one[0].names[0], Target("Independence", exact=True), "ruled", ruler.names[0].lower())
            if ruler and one
            else None
        )
    match = _BUYS.search(lower)
    if match is None:
        return None
    owners = [
        each
        for each in found
        if lower[each.place[1] :].startswith("'s") or re.search(r"\b(?:of|for) (?:the )?$", lower[: each.place[0]])
    ]
    if len(owners) != 1:
        return None
    other = next(each for each in found if each.names != owners[0].names)
    label = "Exports - partners" if match["out"] else "Imports - partners"
    return Claim(owners[0].names[0], Target(label, exact=True), "first", other.names[0].lower())


def _weighed(subject: str, text: str, lower: str, question: Question) -> Claim:
    """Return the claim that a figure is above or below a limit; without a limit nothing decides."""
    unknown = Claim(subject, next((target for target in question.targets if target.label), None))
    if _NOT.search(lower.partition(" ")[2]):
        return unknown
    if half := _HALF.search(lower):
        rest = _HALF.sub(" ", masked(text).lower(), count=1).replace("{c}", subject)
        return _of(subject, rest, "below" if half["less"] else "above", Amount(Decimal(50), "%", "%"), unknown)
    match = _LIMIT.search(text.lower())
    figure = _FIGURE.match(text, match.end()) if match else None
    limit = read_amount(_written(figure)) if figure else None
    if match is None or figure is None or limit is None:
        return unknown
    rest = f"{text[: match.start()]} {text[figure.end() :]}"
    return _of(subject, rest, "above" if match["above"] or match["zh_above"] else "below", limit, unknown)


def _of(subject: str, rest: str, test: Test, limit: Amount, unknown: Claim) -> Claim:
    """Return the claim about the line that the words without the limit ask for."""
    q = grounded(parse(" ".join(rest.split())))
    targets = [target for target in q.targets if target.label and not target.lost]
    if limit.unit == "sq km" and not targets:
        targets = [Target("Area, total")]
    if len(targets) != 1:
        return unknown
    return Claim(subject, targets[0], test, limit=limit)


def _written(figure: re.Match[str]) -> str:
    """Return a limit as sources write amounts."""
    number = figure["number"].replace("us", "").strip()
    number = "1" if number in ("a", "an", "one") else number
    scale = {"bn": "billion"}.get((figure["scale"] or "").lower(), (figure["scale"] or "").lower())
    unit = (figure["unit"] or "").lower()
    if re.search(r"dollar|美元", unit):
        return f"${number.lstrip('$')} {scale}"
    unit = next((short for pattern, short in _UNITS if re.match(pattern, unit)), "")
    return f"{number} {scale} {unit}".strip().replace("  ", " ") if unit != "%" else f"{number}%"
