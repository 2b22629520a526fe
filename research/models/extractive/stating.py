"""Answer a question for yes or no by the statement that it asks about, as the checker of citations judges it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from research.citations.checking import JUDGED, check_claim
from research.models.extractive import chinese
from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.finding import Finder
from research.models.extractive.fitting import bare
from research.models.extractive.groups import is_group
from research.models.extractive.knowing import Knowing
from research.models.extractive.meaning import figures, masked, probabilities, topics
from research.models.extractive.patterns import DENIES, GROWTH, RATE, SUPERLATIVE, WEIGHS
from research.models.extractive.places import mentions
from research.models.extractive.question import Target
from research.models.extractive.stems import stem
from research.models.extractive.verdict import Finding, Verdict
from research.models.extractive.whether import asks_whether, moved
from research.search.library.country_groups import Group, groups
from research.text import content_tokens, has_cjk
from research.types import HOLDS, Source

_ITEM = re.compile(r"[;,\d%<>.]+")
_FIGURE = re.compile(r"^\W*\d[^()（）]*")
"""Matches a figure with its unit, which a remark in brackets follows."""
_NARROWS = re.compile(
    rf"{DENIES.pattern}|{SUPERLATIVE.pattern}|{WEIGHS.pattern}|\b(?:only|sole|just|still|ever|always)\b|只|仅|唯一|还"
)
_RECORDED = re.compile(r"(?:(yes)|no)\b(?! \w)")
"""Matches a value that is yes or no."""
_LIKELY = 0.1
"""Least probability of the label of a line that answers by one of its items."""
_LONG = 12
"""Most telling words of a part that may say it; others are sentences."""
_USUAL = 20
"""Percent of the values of a label up to which a word in them is not expected, as `official` is of a language."""
_ORGANIZATIONS = "International organization participation"
_PAST = re.compile(r"\b(?:was|were|did|had|ever|once|since|before|until|ago)\b|\b(?:19|20)\d\d\b|曾|以前|过[吗没]")
_AUXILIARY = re.compile(r"^\W*(?:(?P<be>is|are|was|were)|does|do|did|has|have|had|can|could)\s+", re.I)
_ASKS_ZH = re.compile(r"[吗呢]?\W*$|是否")
_EITHER_ZH = re.compile(r"([是有会能])[不没]\1")
"""Matches what says yes and no at once: 是不是, 有没有."""
_LONGEST = 16
"""Most words of a question whose verb is put back between them."""


def decided(evidence: Evidence, found: Verdict, *, acting: bool) -> Verdict | None:
    """Return the answer, or the next steps towards a line that may have it; None if it is no such question, or stays open."""
    text = _EITHER_ZH.sub(r"\1", evidence.question)
    if not asks_whether(evidence.question) or DENIES.search(text.lower()):
        return None
    return _checked(evidence, found) or _said(text, evidence, found, acting=acting)


def _checked(evidence: Evidence, found: Verdict) -> Verdict | None:
    """Return the answer that the checker gives to what the question states."""
    lines: dict[int, list[Fact]] = {}
    for fact in evidence.facts:
        if fact.label and not fact.cut:
            lines.setdefault(fact.n, []).append(fact)
    sources = [
        Source(n, facts[0].url, facts[0].title, "\n".join(fact.line for fact in facts)) for n, facts in lines.items()
    ]
    claims = statements(evidence.question)
    judged = [each for claim in claims for each in check_claim(claim, sources, Knowing()) if each.status in JUDGED]
    if len({each.status in HOLDS for each in judged}) != 1:
        return None
    facts = dict.fromkeys(fact for each in judged for fact in lines[each.n] if fact.line in each.quote.splitlines())
    findings = tuple(Finding(fact.subject, Target(fact.label), fact) for fact in facts)
    return Verdict(found.question, findings=findings, holds=judged[0].status in HOLDS) if findings else None


def _said(text: str, evidence: Evidence, found: Verdict, *, acting: bool) -> Verdict | None:
    """Return the answer of a line that is about what is asked, or the next steps towards one."""
    asked = _Asked.of(text)
    if asked is None:
        return None
    for fact in evidence.facts:
        if (answer := asked.answer(fact)) is not None:
            holds, item = answer
            return Verdict(
                found.question, findings=(Finding(fact.subject, Target(fact.label), fact, item),), holds=holds
            )
    finder = Finder(evidence, found.question, frozenset(), acting=acting)
    for label in asked.labels:
        finder.find_named(asked.name, Target(label, exact=True))
    return finder.more() if finder.actions else None


def statements(question: str) -> Iterator[str]:
    """Yield what a question for yes or no may state; in English, its verb is put back at each place in turn.

    >>> list(statements("Is Lima the capital?"))
    ['Lima is the capital', 'Lima the is capital']
    """
    if has_cjk(question):
        yield _EITHER_ZH.sub(r"\1", _ASKS_ZH.sub("", question))
        return
    verb = _AUXILIARY.match(question)
    rest = question[verb.end() if verb else 0 :].strip(" ?.!")
    words = rest.split()
    if verb is None or not verb["be"] or len(words) > _LONGEST:
        yield rest
        return
    for at in range(1, len(words)):
        yield " ".join([*words[:at], verb["be"].lower(), *words[at:]])


class _Asked(Struct, frozen=True):
    """What a question asks whether one country is or has."""

    text: str
    name: str
    words: frozenset[str]
    """The stems of its other words."""
    likely: Mapping[str, float]
    """The probability of each label."""
    group: Group | None
    """The group of countries, such as NATO, of which it asks whether the country is a member."""
    chinese: bool

    @classmethod
    def of(cls, text: str) -> _Asked | None:
        """Return what a question asks; None if it names another number of countries, or narrows it down: *only*, *most*."""
        found = mentions(text)
        plain = [each for each in found if each.written in each.names] or found  # `French` may be a language
        named, rest = {name for each in plain for name in each.names if not is_group(name)}, text
        for each in plain:
            rest = rest if is_group(each.written) else rest.replace(each.written, " ")
        joined = _joined(rest.lower())
        if len(named) != 1 or _NARROWS.search(GROWTH.sub(" ", text.lower())):
            return None
        words = _stems(rest) - _stems("country nation state 国家")
        return cls(text, named.pop(), words, probabilities(masked(text)), joined, has_cjk(text))

    @property
    def labels(self) -> list[str]:
        """The labels whose lines may say it."""
        if self.group:
            return [_ORGANIZATIONS]
        return [label for label, share in self.likely.items() if label and share >= _LIKELY]

    def answer(self, fact: Fact) -> tuple[bool, str] | None:
        """Return whether it is so by a line with such a label, and the item that says so; None if it does not say.

        `Is Mongolia landlocked?` is what a part of `0 km (landlocked)` says, `Is dual citizenship allowed?` what a line
        with yes or no records, and `Has Chad a coast?` is answered by a length of 0.
        """
        label = bare(fact.label)
        if fact.subject != self.name or fact.cut or label not in self.labels:
            return None
        items = [item.strip() for item in re.split("[;,]", fact.value)]
        if self.group and self.name not in self.group.names:
            return False, next((item for item in items if self.group.pattern.search(item.lower())), "")
        if RATE.search(label) and fact.quantity:
            rises = moved(self.text, float(fact.quantity.written))
            return None if rises is None else (rises, "")
        for item in items:
            if self.group and self.group.pattern.fullmatch(item.lower()):
                return True, item
            if label == _ORGANIZATIONS and "(" in item:
                continue  # an observer is no member
            if any(self._has(part, label) for part in _ITEM.split(item)):
                return True, item
            if any(self._is(part, label) for part in _ITEM.split(_FIGURE.sub("", self._told(item)))):
                return True, item
        holds = self._recorded(fact, label)
        return None if holds is None else (holds, "")

    def _recorded(self, fact: Fact, label: str) -> bool | None:
        """Return what a value that is yes or no says, or a figure, of which 0 says no."""
        own = _stems(f"{label} {chinese.label(label)}")
        if not self.words <= topics(label) | own:
            return None
        if recorded := _RECORDED.match(fact.value):
            return recorded[1] is not None
        if label not in figures():  # the year of a list is no figure
            return None
        some = fact.quantity is not None and float(fact.quantity.written) != 0
        return some if fact.quantity and (self.words <= own or not some) else None

    def _has(self, part: str, label: str) -> bool:
        """Return whether a part of a value says all that is asked beyond the label."""
        said, left = _stems(self._told(part)), self.words - topics(label) - _stems(chinese.label(label))
        return bool(left) and left <= said and len(said) <= _LONG and not DENIES.search(part.lower())

    def _is(self, part: str, label: str) -> bool:
        """Return whether a part of a value is all that is asked, beyond what a list of them usually is."""
        said, own = _stems(part), _stems(chinese.label(label))
        return bool(said) and said <= self.words and self.words - said <= topics(label, _USUAL) | own

    def _told(self, text: str) -> str:
        """Return a part of a value in the language of the question."""
        return chinese.value(text.strip()) if self.chinese else text


def _joined(text: str) -> Group | None:
    """Return the group that one joins if a text asks for no more than whether a country is in it now."""
    group = next((each for each in groups() if not each.region and each.pattern.search(text)), None)
    if group is None or _PAST.search(text):
        return None
    return group if _stems(group.pattern.sub(" ", text)) <= _JOINS else None


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, content_tokens(text)))


_JOINS = _stems(
    "country nation state member members membership part belong join joined 国家 成员国 成员 加入 属于 参加"
)
"""The words by which one asks of a group whether a country is in it."""
