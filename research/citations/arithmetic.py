"""Words that name an operation on figures: sums, differences, ratios, means, changes, and counts of lists."""

from __future__ import annotations

import re

from research.citations.measures import Quantity

SUM = re.compile(
    r"\b(?:total(?:led|ling|s)?|combined|together|sum|altogether|in all|both|jointly|between them|"
    r"all (?:the )?(?:two|three|four))\b|"
    r"合计|总共|总和|一共|总计|共计|共有|加起来|两者|双方",
    re.I,
)
DIFFERENCE = re.compile(
    r"\b(?:more|less|fewer|minus|differ\w*|gap|(?!together\b|altogether\b)\w+er|remain\w*|by|margin|up|down|than|left|rest|others?|lead|not|another|extra|additional|"
    r"shortfall|gain\w*|lost|points)\b|"
    r"减去|相差|差距|差额|多|少|高出|低于|增加|减少|上升|下降|增长|提高|缩短|领先|剩|其余|净增|之差|晚|早",
    re.I,
)
RATIO = re.compile(r"\b(?:times|ratio|-?fold|twice|double|per|each|average|on average)\b|倍|平均|每|人均", re.I)
MEAN = re.compile(r"\b(?:average|mean)\b|平均", re.I)
CHANGE = re.compile(
    r"\b(?:rise|rose|risen|fall|fell|fallen|grew|grow\w*|increas\w*|decreas\w*|declin\w*|drop\w*|cut|jump\w*|"
    r"climb\w*|shr[aiu]nk|more|less|"
    r"higher|lower|gain\w*|lost|loss|up|down|reduc\w*|chang\w*|halv\w*|\w+er than)\b|增|减|升|降|跌|涨|高|低|多|少",
    re.I,
)
OPERANDS = 5
"""Maximum number of figures in a sum."""


_ITEM = r"[^,，、;；:：.()]{1,40}?"
_LIST = re.compile(rf"(?:{_ITEM}(?:, |、|，)){{1,30}}{_ITEM}(?:,? and | or |和|及|与)")


def counts_items(q: Quantity, text: str) -> bool:
    """Return whether a small number counts the items of a list in a text (`timber, grain and coal`: 3)."""
    return q.weak and any(
        len(re.findall(r", (?!and\b|or\b)|、|，", m.group())) + 2 == q.value for m in _LIST.finditer(text)
    )


def equals(q: Quantity, value: float) -> bool:
    """Return whether a value, rounded as the claim writes it, is the claim's figure."""
    return abs(abs(value) - abs(q.value)) <= q.half + 1e-9 * abs(q.value) and value != 0
