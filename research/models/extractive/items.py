"""Answer a question about one item of a list: the border with a neighbour, exports to a partner, a religion, a language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from research.models.extractive.arithmetic import items_of, standing
from research.models.extractive.finding import Finder
from research.models.extractive.lexicon import filler
from research.models.extractive.meaning import explained, masked, probabilities
from research.models.extractive.patterns import COMPARATIVE, NUMBER, SUPERLATIVE
from research.models.extractive.places import Mention, usual
from research.models.extractive.question import BORDER, EXPORTS_TO, IMPORTS_FROM, Question, Target
from research.models.extractive.stems import WEAK, stem
from research.models.extractive.table_words import SHARE, rank_of
from research.models.extractive.verdict import Finding, Verdict
from research.models.extractive.whether import asks_whether
from research.models.extractive.words import filler as fillers
from research.text import content_tokens, has_cjk, tokens

_BY_HEAD = {"boundar": BORDER, "xports": EXPORTS_TO, "mports": IMPORTS_FROM}
"""The list with the parts of a measure, by the words of its label."""
_PEOPLE = ("Ethnic groups", "Languages", "Religions")
"""Lists with the shares of a population."""
_PAIR = re.compile(
    r"\bbetween Ξ and Ξ|Ξ(?:['’]s?)?(?: \w+){0,6}? (?:to|from|with|border(?:s|ing)?)(?: on)?(?: the)? Ξ|"
    r"\bΞ and Ξ (?:share|have)\b|Ξ[和与跟同]Ξ(?:之间)?的?(?:陆地|共同)?(?:边界|边境|国界|接壤)|Ξ[^Ξ]*(?:[到向对往从自]|来自)Ξ"
)
"""Matches two countries of which the second is an item of a list about the first."""

_SEVERAL = re.compile(rf"\b(?:are|were|top|list|name)\b|\b(?:{NUMBER}) (?:\w+ )?\w+est\b|哪些|前.{{0,2}}[大名位]", re.I)
"""Matches a question for more than one item."""


def of_pair(question: Question, labels: Sequence[str]) -> Question | None:
    """Return the question as one for what a list about one country says of another; None if it does not ask for that."""
    names, pair = question.names, masked(question.text, "Ξ").replace("the Ξ", "Ξ")
    label = next(filter(None, labels), "")
    target = next((each for head, each in _BY_HEAD.items() if head in label), None)
    if target is None or len(names) < 2 or not _PAIR.search(pair):
        return None
    if not {*map(stem, _words(pair.replace("Ξ", " ")))} <= _said(label) | _said(target.label):
        return replace(question, targets=(), nearest=(target.label,))  # copper, of all exports
    return _as_item(question, names[0], target, names[1:], given=label == BORDER.label)


def lists(label: str) -> bool:
    """Return whether a label is of a list with the shares of a population."""
    return label in _PEOPLE


def of_people(question: Question, found: Sequence[Mention], targets: Sequence[Target]) -> Question | None:
    """Return the question as one for a share of a population; None if it asks for none, or a label explains all its words."""
    if not SHARE.search(question.text) or question.years or question.operation == "growth":
        return None
    plain = [each for each in found if each.written in each.names]  # not `French`, which may be an item
    if len(plain or found) > 1 and (plain or has_cjk(question.text)):
        return None
    owner = next(iter(plain), found[0])
    start, end = owner.place
    words = tuple(_words(f"{question.text[:start]} {question.text[end:]}"))
    shares = probabilities(masked(question.text))
    label = max(_PEOPLE, key=lambda each: (sum(stem(word) in _said(each) for word in words), shares[each]))
    likeliest = max(filter(None, shares), key=lambda each: shares[each])
    # No Chinese word can be found among the English ones of such a list.
    given = any(target.label == label for target in targets) or (likeliest == label and has_cjk(question.text))
    if likeliest != label and not given and all(stem(word) in _said(likeliest) for word in words):
        return None
    return _as_item(question, owner.names[0], Target(label), words, given=given)


def _as_item(
    question: Question, owner: str, target: Target, words: tuple[str, ...], *, given: bool = False
) -> Question:
    target = replace(target, exact=True, item=words, given=given, asked=question.text)
    return replace(
        question,
        names=(owner,),
        targets=(target,),
        operation="lookup",
        relation=None,
        pick=None,
        rank=False,
        doubtful=frozenset(),
    )


def picked(found: Sequence[Finding], text: str) -> list[Finding]:
    """Return findings with the item of their lists that a question asks for: *the second largest city*."""
    superlative = SUPERLATIVE.search(text.lower())
    if superlative is None or _SEVERAL.search(text):
        return list(found)
    most = superlative["most"] is not None
    return [replace(each, item=standing(each.fact.value, rank_of(text), most=most)) for each in found]


def answer(finder: Finder, subject: str, target: Target) -> Verdict:
    """Return the item, or that the list does not have it, or the next step."""
    text, found = finder.question.text, None
    for each in _lists(target):
        found = finder.find(subject, each)
        items = items_of(found.fact.value) if found else {}
        if finder.actions or (hits := {usual(n) or n: item.text for n, item in items.items() if _is_asked(n, target)}):
            break
    if finder.actions or found is None:
        return finder.more() if finder.actions else finder.end()
    whole = target.given and target.label == BORDER.label and bool(items)
    if asks_whether(text):
        if whole and len(target.item) == 1:
            return finder.end([replace(found, item="".join(hits.values()))], holds=bool(hits))
    elif hits and not COMPARATIVE.search(text.lower()) and (len(hits) == 1 or target.label not in _PEOPLE):
        if target.label not in _PEOPLE:
            finder.missing += [name for name in target.item if name not in hits]
        return finder.end([replace(found, item=hit) for hit in hits.values()])
    elif target.given and not whole:
        return finder.end([found])
    finder.missing.append(text)
    return finder.end(closest=(found.fact,))


def _lists(target: Target) -> list[Target]:
    """Return the lists that may have the item: all of a population if no word says which, as of *How many are Hindu?*"""
    open_ = (
        target.label in _PEOPLE and not target.given and not any(stem(w) in _said(target.label) for w in target.item)
    )
    others = [replace(target, label=label) for label in _PEOPLE if open_ and label != target.label]
    return [target, *others]


def _is_asked(name: str, target: Target) -> bool:
    """Return whether a question means the item with this name: all its words, with no others that the label has not."""
    if usual(name) in target.item:
        return True
    called = {*map(stem, tokens(name))}
    said = {*map(stem, target.item)}
    return bool(called) and called <= said and said - called <= _said(target.label)


def _words(text: str) -> list[str]:
    """Return the words of a question for a share that may name what it is the share of."""
    ignored = filler() | fillers() | WEAK
    said = content_tokens(SHARE.sub(" ", text))  # the segmenter may take two words that say nothing for one: 中有
    return [word for word in said if word not in ignored and not (has_cjk(word) and ignored.issuperset(word))]


def _said(label: str) -> frozenset[str]:
    """Return the stems in the wordings of a label."""
    return explained()[0].get(label, frozenset())
