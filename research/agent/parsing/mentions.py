"""Whether the sentence around a call only mentions it: it forbids the call, gives it as an example, or quotes it.

A refusal costs one more request, a wrong call cannot be undone; so whatever is doubtful counts as a mention.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"[.!?](?=\s|\Z)|[。！？]|\n")
_CLAUSE = re.compile(
    r"[,;，；、—–]|\b(?:so|but|therefore|thus|hence|then|let me|let's|I'll|I will|I'm going to|I should|I need to|I must)\b",
    re.I,
)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|without|avoid\w*|instead of|rather than|refus\w+|declin\w+|ignor\w+|forbid\w*|forbade|"
    r"prohibit\w*|skip\w*|unsafe|dangerous|malicious)\b|n['’]t\b|不|没|别|勿|避免|禁止|拒绝|忽略|跳过",
    re.I,
)
_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|e\.g|such as|like|examples?|samples?|the (?:format|syntax|form)|looks? like|written as|"
    r"template|placeholder|if|would|could have)\b|例如|比如|譬如|例子|示例|样例|格式|形如|如果|假如",
    re.I,
)
_REPORTED = re.compile(
    r"\b(?:page|text|document|result|site|website|source|article|passage|observation|message|comment|instructions?|"
    r"injection|attacker)s?\b.{0,80}?\b(?:says?|said|reads?|states?|asks?|asked|tells?|told|writes?|wrote|contains?|"
    r"instruct\w*|wants?|suggest\w*|includes?|tries|tried)\b|(?:网页|页面|文档|文章|来源|原文|它).{0,20}?(?:说|写|要求|包含|让)",
    re.I,
)
_AHEAD = re.compile(
    r"\b(?:following|below|next call|this (?:call|tool|command|action))\b|下面|以下|如下|这个调用", re.I
)
_GOES_ON = re.compile(r"[ \t]{0,8}(?:[a-z,;)?]|[，；、）？]|(?:是|只是|这|的)(?!\n))")
"""How the sentence continues after a call that is a part of it."""
_WINDOW = 400
"""Characters before a call that are looked at."""


def mentioned(text: str, start: int, end: int) -> bool:
    """Return whether the call from `start` to `end` is only mentioned by the sentence around it."""
    return bool(_GOES_ON.match(text, end)) or disowned(text[max(0, start - _WINDOW) : start])


def disowned(before: str) -> bool:
    """Return whether the words that lead up to a call forbid it, give it as an example, or quote it."""
    words = before.rstrip()
    led = words.endswith((":", "："))
    last, previous = _last_sentences(words.rstrip(":： \t"))
    if last and not led and "\n" in before[len(words) :]:
        last, previous = "", last  # the call begins a line of its own
    for sentence in (last, previous):
        if _AHEAD.search(sentence) and (_NEGATED.search(sentence) or _EXAMPLE.search(sentence)):
            return True
    clause = _CLAUSE.split(last)[-1]
    introduced = _EXAMPLE.search(clause) or _REPORTED.search(last)
    return bool(_NEGATED.search(clause) or introduced)


def _last_sentences(words: str) -> tuple[str, str]:
    """Return the last sentence, empty if the words end with a full stop, and the one before it."""
    parts = _SENTENCE.split(words)
    previous = next((part for part in reversed(parts[:-1]) if part.strip()), "")
    return parts[-1], previous
