"""Asking the user for a missing detail: the tool that models call, and whether a reply in plain text does the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from research.agent import prompts
from research.citations import cited
from research.types import ToolSpec

ASK_USER = "ask_user"
"""The tool whose result is the user's reply."""

LONGEST = 600
"""Characters of a reply that may be a question; longer ones are answers."""

_QUOTED = re.compile(
    r"“[^“”]{0,600}”|\"[^\"\n]{0,600}\"|「[^「」]{0,600}」|『[^『』]{0,600}』|《[^《》]{0,600}》|‘[^‘’\n]{0,600}’|`[^`\n]{0,600}`"
)
"""The words of others: quotations, titles and code."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_CLAUSE = re.compile(r"[,;:—–]\s+|[，；：、]")
_REPORTING = re.compile(
    r"(?:\b(?:is|was|are|were|says?|said|reads?|states?|stated|asks?|asked|writes?|wrote|line|question|words|called|titled)|"
    r"写明|写着|写道|规定|要求|问道|说道|称|是|为)\s*[:：]",
    re.I,
)
"""How a sentence introduces the words of somebody else."""
_SPEAKER = re.compile(r"\b(?:I|I'm|me|my|you|your)\b|[我您你]", re.I)
_OPENS = re.compile(
    r"\W*(?:(?:for|in|on|at|from|to|by|of|with|and|or|but|so|also|sure|okay|ok)\W+){0,3}"
    r"(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|can|could|would|will|should|shall|may|"
    r"have|has|am)\b",
    re.I,
)
"""How an English question begins; a title that ends with a question mark stands behind other words."""
_ASKED = re.compile(r"[?？]\W*\Z")
_ADDRESSED = re.compile(r"\b(?:you|your)\b", re.I)
_OFFER = re.compile(
    r"\b(?:would you like (?:me|to know|to see|more|another|further|any)|do you want (?:me|more|to know)|shall I|can I help|"
    r"anything else|want to know more|want a|want more|if you(?:'d| would)? (?:want|like|need|have))\b|"
    r"(?:需要|想让|希望|要不要|想要|用|要)我|还(?:需要|想|有|要)[^，。]{0,20}(?:吗|么)",
    re.I,
)
_WHICH_ZH = r"(?:哪|什么|谁|多少|几|怎么|怎样|何时|何地)"
_NOT_ANY_ZH = r"(?:(?![都也没不无未任]).)"
"""A character of a question; with these, the word of a question means "none" or "any"."""
_UNMARKED = re.compile(
    r"\W*(?:(?:which|what|who|whom|whose|when|where|why|how)\b.*\b)?"
    r"(?:do|did|are|were|will|would|can|could|should|have)\s+you\b.*[^\s.!?]\s*\Z|"
    rf"\W*(?:请问)?[您你][是在所]?(?:想|要|指|说|问|找|查|希望|需要|打算|准备){_NOT_ANY_ZH}*{_WHICH_ZH}{_NOT_ANY_ZH}*\Z",
    re.I,
)
"""The last clause of a question to the user that has no mark."""
_BARE = re.compile(
    rf"(?:(?:for|in|from|of)\s+)?(?:which|what)\s+(?-i:[a-z]+)|{_NOT_ANY_ZH}{{0,6}}{_WHICH_ZH}(?:(?!。){_NOT_ANY_ZH}){{0,8}}",
    re.I,
)
"""A whole reply that is a question of a few words without a mark."""
_CHOICE = re.compile(r"\bor\b|还是|哪|几|多少|谁", re.I)
"""What an offer does not contain, but a question about what to do does."""
_PLEA = re.compile(
    r"\W*(?:(?:(?:so|then|first|also|but|and|to start|to begin)\W+)?(?:please|kindly)\s+(?:first\s+|also\s+)?"
    r"(?:tell|specify|provide|clarify|give|name|state|share|send|let me know|enter|choose|select|confirm|say|indicate)\b|"
    r"(?:tell me|let me know) (?:which|what|where|when|who|whose|how|whether|the|your|if you mean)\b|"
    r"(?:before .{1,80} )?I(?: still| also| first)? need (?:to know|more|the|your|a|an|some|one|two|at least)\b|"
    r"(?:to .{1,80} )I(?: still| also| first)? need\b|"
    r"I(?:'m| am)(?: still)? missing\b|I (?:cannot|can't|can not) .{1,80} without\b)",
    re.I,
)
_PLEA_ZH = re.compile(
    r"\W*(?:(?:还|就|先|那|那么|所以|因此|另外)?(?:请|烦请|麻烦)(?:您|你)?(?:再|先|也)?"
    r"(?:问|告诉|告知|提供|说明|说出|说一下|说说|明确|指定|指明|补充|选择|给出|确认|输入|描述|列出)|"
    r"(?:我|目前|现在)?(?:还|仍|仍然|首先|先)?(?:需要|得|想)(?:先)?(?:知道|了解|确认|您|你)|"
    r"我(?:还)?不(?:知道|清楚|确定)(?:您|你))"
)


def ask_user_spec(language: str) -> ToolSpec:
    """Return the tool that asks the user."""
    asked = {"type": "string", "description": prompts.text("ask_user_question", language)}
    schema = {"type": "object", "properties": {"question": asked}, "required": ["question"]}
    return ToolSpec(ASK_USER, prompts.text("ask_user", language), schema)


def question_in(arguments: Mapping[str, Any]) -> str:
    """Return the question of a call that asks the user; empty if it has none."""
    question = arguments.get("question")
    return question.strip() if isinstance(question, str) else ""


def asks_user(text: str, question: str = "") -> bool:
    """Return whether a reply to `question` asks the user for something instead of answering.

    It is short, cites nothing, and ends with a question or contains a plea that is addressed to the user, in words of its
    own: what it quotes, titles, the user's question and offers to do more do not count.
    """
    text = text.strip()
    if asked := question.strip(" \n.?!。？！"):
        text = text.replace(asked, "…")
    if not text or len(text) > LONGEST or cited(text):
        return False
    sentences = [own for each in _SENTENCE.split(_QUOTED.sub("…", text)) if (own := _own_words(each)).strip(" …")]
    if not sentences:
        return False
    last = sentences[-1]
    unmarked = _UNMARKED.match(_CLAUSE.split(last)[-1]) or (len(sentences) == 1 and _BARE.fullmatch(last.strip()))
    return bool(unmarked) or _questions(last) or any(map(_pleads, sentences))


def _own_words(sentence: str) -> str:
    """Return a sentence without what it reports of somebody else behind a colon."""
    found = _REPORTING.search(sentence)
    return sentence[: found.start()] if found and not _SPEAKER.search(sentence[: found.end()]) else sentence


def _questions(sentence: str) -> bool:
    if not _ASKED.search(sentence) or _offers(sentence):
        return False
    if re.search(r"[\u4e00-\u9fff]", sentence):
        return True
    return bool(_ADDRESSED.search(sentence) or any(_OPENS.match(clause) for clause in _CLAUSE.split(sentence)))


def _pleads(sentence: str) -> bool:
    if _offers(sentence):
        return False
    return any(_PLEA.match(clause) or _PLEA_ZH.match(clause) for clause in [sentence, *_CLAUSE.split(sentence)])


def _offers(sentence: str) -> bool:
    return bool(_OFFER.search(sentence)) and not _CHOICE.search(sentence)
