"""Split a question into the things that it asks for.

The split is conservative: a part starts only where a question word, an asking verb or an item of a short list starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct

from research.models.extractive.kinds import Kind, kind_of
from research.models.extractive.names import is_country, key, names, starts_sentence
from research.models.extractive.phrasebook import entries
from research.models.extractive.table_words import CLASSIFIERS, count_of
from research.models.extractive.words import filler, readable
from research.text import STOP_WORDS, content_tokens, has_cjk

MOST = 8
"""Most parts of one question; more make it one part, such as a research assignment."""
_LONG = 60
"""Words from which a text without question marks is an assignment."""

_SENTENCE = re.compile(r"(?<=[?？!！。])\s*|(?<=[a-z\d)\]][.;])\s+(?=[A-Z\"“(])|\n+")
_VERB = re.compile(
    r"^\W*(?:(?:also|and|then|please|kindly|now|next)[ ,]+)*(?:name|give|list|tell|compare|rank|find|state|calculate|compute|"
    r"add|say|specify|identify|show|provide|look up|let me know|"
    r"(?:i need|need|i want|i would like|i'd like)(?! to (?!know|see|find|learn|hear|compare))|请|告诉|列出|给出|"
    r"比较|说出|写出)\b",
    re.I,
)
_ASKING = (
    r"(?!by how)(?:(?:in|on|at|by|for|from|to|of|with|since|under) )?(?:how|what|which|who|whom|whose|when|where|"
    r"why)\b(?! (?:is|are|was|were)"
    r" (?:called|known))|(?:is|are|was|were|does|do|did|has|have|can) (?:it|its|they|there|he|she|that|this|the)\b"
)
_JOINED = re.compile(
    rf"(?:[,;]\s{{0,9}}(?:and\s{{1,9}}|but\s{{1,9}}|or\s{{1,9}})?|\s{{1,9}}(?:and|but)\s{{1,9}}(?:also\s{{1,9}})?)"
    rf"(?=(?:tell|show|give) (?:me|us) |{_ASKING})",
    re.I,
)
_JOINED_ZH = re.compile(
    r"[，,；;]\s{0,9}(?!相?差|[高多低少大小长短]出?多)(?=[^，,；;？?]{0,300}(?:谁|什么|哪|多少|几[个位年岁号月天点]|何时|多[大长高久远快]|为什么|吗))"
)
_ASKS = re.compile(
    rf"\b{_ASKING}|谁|什么|哪|多少|几[个位年岁成号月天点]|何[时处地年]|多[大长高久远快]|为什么|为何|吗|是否|还是", re.I
)
_ITS = re.compile(r"\s{0,9},?\s{1,9}and (?=(?:its|their|his|her) [\w' -]{1,300}\??$)", re.I)
_POSSESSIVE = re.compile(r"(?:its|their|his|her) ", re.I)
_PAIR = re.compile(r"\w+ and \w+")
_LISTED = re.compile(r"^(?P<head>[^:：?？]{3,80})[:：]\s{0,9}(?P<items>[^:：?？]{1,300}?)[?？.。]?\s{0,9}$")
_SHARED = re.compile(
    r"^(?P<head>\W{0,9}(?:(?:what|who) (?:is|are|was|were)|(?:please )?(?:give|tell|name|find|state|show|compare)(?: me)?|"
    r"i need|i want|i['’]d like|i would like|let me have|can i have|could i get)(?: to know)?(?: both)?\s{1,9})"
    r"(?P<items>the [^?]{1,300}?,? and (?:the )?[^,?]{1,300}?)\s{1,9}"
    r"(?P<tail>(?:of|in|for) (?:the )?[A-Z][^?]{0,300}?)\s{0,9}[?.]?\s{0,9}$",
    re.I,
)
_OWNED = re.compile(
    r"^(?P<head>\W{0,9}(?:(?:what|who) (?:is|are|was|were)|(?:please )?(?:give|tell|name|find|state|show)(?: me)?|"
    r"i need|i want|i['’]d like|i would like|let me have|can i have|could i get)(?: to know)?(?: both)?\s{1,9})"
    r"(?P<owner>[A-Z][\w.' -]{0,300}?['’]s?)\s{1,9}(?P<items>[^?]{1,300}? and [^,?]{1,300}?)\s{0,9}[?.]?\s{0,9}$",
    re.I,
)
_OWNED_ZH = re.compile(
    r"^(?:请?(?:比较|对比)(?:一下)?)?(?P<head>[^，。？?]{0,300}?)的(?P<items>[^的，。？?]{1,200}?(?:和|与|及|以及)[^的，。？?]{1,200}?)"
    r"(?P<tail>(?:分别|各)(?:是|为|有)?多少|分别|[，。].{0,300})?[？?。]?$"
)
_ITEM = re.compile(r"\s{0,9},\s{1,9}(?:and\s{1,9})?|\s{1,9}and\s{1,9}", re.I)
_ITEM_ZH = re.compile(r"、|以及|和|与|(?<!普)及")
_CHOICE = re.compile(r"^(?P<a>.{0,300}?[\w)])(?:,)?\s{1,9}or\s{1,9}(?P<b>[^,?;.]{1,300}?)(?=\s{0,9}[,?;.(]|$)", re.I)
_NO_CHOICE = re.compile(
    r"\b(?:more|less|fewer|larger|smaller|whether|one|two|so|not|percent|\d+) or\b|\bor (?:not|no|so|more|less|fewer|"
    r"otherwise|even|any\w*)\b",
    re.I,
)
_CHOICE_ZH = re.compile(r"(?P<a>[^，。？?是]{1,16}?)(?:，)?还是(?:是)?(?P<b>[^，。？?]{1,16})")
_PREPOSITION = re.compile(
    r"^(?:(?:is|are|was|were|from|in|into|by|to|of|for|on|at|the|a|an|it|either|with|between)\s+)+", re.I
)
_OPEN = re.compile(
    r"^\W*(?:please |kindly |could you |can you )*(?:describe|explain|discuss|analy[sz]e|summari[sz]e|write|outline|"
    r"review|assess|"
    r"evaluate|research|explore|investigate|tell me (?:about|everything)|give (?:me )?(?:an? )?(?:overview|summary|"
    r"report|analysis|"
    r"introduction|account)|provide (?:an? )?(?:\w+ )?(?:overview|summary|report|analysis|introduction)|draft|"
    r"prepare|examine|"
    r"how (?:does|do|did|can|could|should|might|would|to)\b|what about|what do (?:we|you|scientists|experts|"
    r"researchers) (?:know|think)|"
    r"介绍|描述|解释|分析|概述|总结|讨论|撰写|研究|综述|探讨|如何|怎样|怎么)|"
    r"\b(?:overview|in[- ]depth|literature review|state of the art|pros and cons|advantages and disadvantages|implications?|"
    r"history of|future of|role of|impact of)\b|概况|概览|综述|报告|影响|发展历程|优缺点",
    re.I,
)

_CAUSE = re.compile(
    r"(?<=\w)(?:[,;]\s{0,9}(?:and\s|but\s)?|\s{1,9}(?:and|but)\s)\s{0,9}(?P<en>why\b[^,;?]{0,60}\??)\s{0,9}$|"
    r"(?<=\w)[，,；;]\s{0,9}(?P<zh>(?:这|又)?是?(?:为什么|为何|什么原因|原因是什么)[？?]?)$",
    re.I,
)
"""What asks, at the end of a question, for the cause of what is asked before."""


_TOP = r"(?:the )?(?:most|least|\w{3,}est)\b"
_TOP_ZH = r"[^最，。]{1,30}最[高低多少大小长短老年轻富穷]{1,2}"
_TOPS = re.compile(
    rf"^(?P<head>.{{0,200}}?\b(?:which|what)\b.{{1,200}}?)(?P<one>\b{_TOP}(?: \S.{{0,120}}?)?),? (?:and|but)(?: also)?"
    rf"(?: has| have| with)? (?P<top>{_TOP})(?P<rest> .{{1,120}}?)"
    r"(?P<where> (?:in|among|within|of the) (?:the )?(?-i:[A-Z])[^?]*)?[?.]?$",
    re.I,
)
_TOPS_ZH = re.compile(
    rf"^(?P<head>[^最]{{0,60}}哪[^最的]{{0,6}}?(?:国家?|地区|经济体)的?)(?P<one>{_TOP_ZH})"
    rf"[，、]?(?:且|并且|而且|同时|又|和)(?P<two>{_TOP_ZH})[？?]?$"
)
"""Two superlatives of one question: *the highest debt and the oldest population*."""


class Asked(Struct, frozen=True):
    """One thing that a question asks for."""

    text: str
    kind: Kind | None = None
    options: tuple[str, ...] = ()
    """The things between which an `A or B` question lets one choose."""
    many: int = 0
    """How many things are asked for, as in `the three largest`; 0 if the question does not say."""
    open: bool = False
    """Whether it asks for a text rather than a fact."""
    cause: bool = False
    """Whether it asks only why."""


def parts_of(question: str) -> tuple[Asked, ...]:
    """Return what a question asks for, at least one part.

    >>> [part.text for part in parts_of("How large is Lebanon, and what is its capital?")]
    ['How large is Lebanon', 'what is its capital?']
    """
    question = readable(question)
    before, cause = without_cause(question)
    if cause:
        return (*parts_of(before), _asked(cause, assignment=False))
    whole = " ".join(question.split())
    if (
        len(whole.split()) > _LONG
        or (has_cjk(whole) and len(whole) > 3 * _LONG)
        or (_OPEN.search(whole) and not _LISTED.match(whole))
    ):
        return (_asked(whole, assignment=True),)
    pieces = [piece for sentence in _asking_sentences(question) for piece in _split(sentence)]
    pieces = _with_clauses([piece for piece in pieces if _says_something(piece)]) or [whole]
    if len(pieces) > MOST:
        return (_asked(whole, assignment=False),)
    if len(pieces) == 1:
        return (_asked(whole, assignment=False),)
    return tuple(_asked(piece, assignment=False) for piece in pieces)


def asks(text: str) -> bool:
    """Return whether a text begins as a question or a request does."""
    return _VERB.match(text) is not None or re.match(rf"\W*(?:{_ASKING})", text, re.I) is not None or has_cjk(text)


def without_cause(question: str) -> tuple[str, str]:
    """Return a question without the one for the cause at its end, and this, empty if there is none.

    >>> without_cause("Is Japan richer than Italy, and why?")
    ('Is Japan richer than Italy', 'why?')
    """
    match = _CAUSE.search(question)
    return (question[: match.start()], match["en"] or match["zh"]) if match else (question, "")


_CLAUSE = re.compile(
    r"(?:[^,:]{0,40}: )?(?:going|judging|dividing|taking|using|working|assuming|given|based) |"
    r"(?:when|whenever|where|wherever|if|while|as|since|because|although|before|after) "
    r"(?!(?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should|may|of|from|many|much)\b)",
    re.I,
)
"""Matches a subordinate clause: without an auxiliary after the first word, it asks nothing."""


def _with_clauses(pieces: Sequence[str]) -> list[str]:
    """Return the pieces, each with the subordinate clause before it, *When I pay in Peru*, or behind it."""
    found: list[str] = []
    clause = ""
    for piece in pieces:
        if _CLAUSE.match(piece) and piece != pieces[-1]:
            clause = f"{clause}{piece}, "
        elif _CLAUSE.match(piece) and found:
            found[-1] = f"{found[-1]}, {piece}"
        else:
            found.append(clause + piece)
            clause = ""
    return found


def _asking_sentences(question: str) -> list[str]:
    """Return the sentences that ask something; the others give a context."""
    pieces = [piece.strip() for piece in _SENTENCE.split(question) if piece and piece.strip()]
    asking = [piece for piece in pieces if piece.endswith(("?", "？")) or _VERB.match(piece)]
    return asking or [" ".join(question.split())]


def _split(sentence: str) -> Iterator[str]:
    """Yield the parts of one sentence."""
    for joined in _joined(sentence, _JOINED_ZH if has_cjk(sentence) else _JOINED):
        for piece in _tops(joined):
            yield from _its(piece)


def _tops(piece: str) -> Iterator[str]:
    """Yield a question for each of two superlatives, or the question as it is.

    >>> list(_tops("Which country has the highest debt and the oldest population in Asia?"))
    ['Which country has the highest debt in Asia', 'Which country has the oldest population in Asia']
    """
    match = (_TOPS_ZH if has_cjk(piece) else _TOPS).match(piece)
    if match is None or re.search(r"\bbetween\b", match["one"]):
        yield piece
    elif has_cjk(piece):
        yield from (f"{match['head']}{match[each]}" for each in ("one", "two"))
    else:
        where, one = match["where"] or "", match["one"]
        bare = re.fullmatch(_TOP, one, re.I) and match["top"].startswith("the")  # the most and the least oil
        yield f"{match['head']}{one}{match['rest'] if bare else ''}{where}"
        yield f"{match['head']}{match['top']}{match['rest']}{where}"


def _joined(sentence: str, joint: re.Pattern[str]) -> list[str]:
    """Cut a sentence at the joints; what precedes the first question word stays with it."""
    pieces, start = [], 0
    for match in joint.finditer(sentence):
        before = sentence[start : match.start()]
        if kind_of(before) or _ASKS.search(before) or _VERB.match(before):
            pieces.append(before.strip())
            start = match.end()
    return [*pieces, sentence[start:].strip()]


def _its(piece: str) -> Iterator[str]:
    """Yield the items of a list of measures, each with what precedes the list."""
    match = _ITS.search(piece)
    if match and not has_cjk(piece):
        yield piece[: match.start()]
        yield piece[match.end() :]
        return
    listed = _LISTED.match(piece)
    if listed and not has_cjk(piece) and not _ASKS.match(listed["items"]):
        items = _items(listed["items"])
        if len(items) > 1 and not any(named(item) for item in items):
            subject = ", ".join(named(listed["head"])) or listed["head"]
            yield from (f"{subject}: {item}" for item in items)
            return
    for pattern in (_SHARED, _OWNED):
        shared = pattern.match(piece)
        if shared and len(items := _items(shared["items"])) > 1 and not any(named(item) for item in items):
            tail = shared.groupdict().get("tail") or ""
            owner = shared.groupdict().get("owner") or ""
            yield from (" ".join(filter(None, [shared["head"].strip(), owner, item, tail])) for item in items)
            return
    chinese = _OWNED_ZH.match(piece) if has_cjk(piece) else None
    if chinese and "还是" not in piece and not _ASKS.search(chinese["items"]):
        items = [item.strip() for item in _ITEM_ZH.split(chinese["items"]) if item.strip()]
        if len(items) > 1 and all(len(item) <= 10 for item in items) and not any(named(item) for item in items):
            yield from (
                f"{chinese['head']}的{item}{'是多少' if '多少' in (chinese['tail'] or '') else ''}" for item in items
            )
            return
    yield piece


def _items(text: str) -> list[str]:
    """Return the items of a list; none if one is too long to be a measure or says `between`."""
    items = [item.strip() for item in _ITEM.split(text) if item.strip()]
    if {pair.lower() for pair in _PAIR.findall(text)} & _pairs():
        return []  # `foreign exchange and gold` is one measure
    if any(len(item.split()) > 9 or re.match(r"(?:between|from|in|of|the two|both)\b", item, re.I) for item in items):
        return []
    return items


@cache
def _pairs() -> frozenset[str]:
    """Return the words that labels join, such as `exchange and gold`."""
    return frozenset(pair.lower() for entry in entries() for pair in _PAIR.findall(entry.label))


def _says_something(piece: str) -> bool:
    """Return whether a piece names or asks more than *give me both numbers*."""
    if how_much(piece):
        return False
    asks = _ASKS.search(piece) is not None
    content = [token for token in content_tokens(piece) if token not in filler() and not token.isdigit()]
    return bool(asks or named(piece) or len(content) > (0 if _POSSESSIVE.match(piece) else 1))


def how_much(text: str) -> bool:
    """Return whether a Chinese text only asks how much, of what is said before it: 高多少, 多少钱."""
    return re.fullmatch(rf"\W*[是为有]?(?:[高低多少大小长短]出?)?(?:多少|几)[钱{CLASSIFIERS}]?\W*", text) is not None


def _asked(text: str, *, assignment: bool) -> Asked:
    open_ = assignment or _OPEN.search(text) is not None
    count, cause = count_of(text), bool(_CAUSE.search(f"It is, {text}"))
    return Asked(text, kind_of(text), () if open_ else options(text), count if count > 1 else 0, open_, cause)


def options(text: str) -> tuple[str, ...]:
    """Return the things between which a question lets one choose; empty if it does not.

    >>> options("Is the capital of Australia Sydney or Canberra?")
    ('Sydney', 'Canberra')
    """
    if _NO_CHOICE.search(text):
        return ()
    if (chinese := _CHOICE_ZH.search(text)) and has_cjk(text):
        one = names(chinese["a"])
        return (one[-1][1] if one else chinese["a"][-8:], chinese["b"].removesuffix("呢"))
    match = _CHOICE.match(text)
    if match is None or kind_of(text) in ("number", "date", "year") and not named(match["b"]):
        return ()
    second = _PREPOSITION.sub("", match["b"].strip())
    called = named(f"- {match['b']}")
    if called:
        earlier = [(place, name) for place, name, _ in names(match["a"])]
        same = [name for place, name in earlier if place + len(name) >= len(match["a"].rstrip()) - 1]
        listed = [name for place, name in earlier if re.match(r"\s*,", match["a"][place + len(name) :])]
        joined = [name for name in called[1:] if re.search(rf"\bor (?:the )?{re.escape(name)}", match["b"])]
        return (*listed, _without_country(same[0]), called[0], *joined) if same else ()
    words, last = match["a"].split(), second.split()
    if not last or len(last) > 4 or kind_of(text) != "whether":
        return ()
    return (words[-1], " ".join(last))


def named(text: str) -> list[str]:
    """Return the names in a text, without a capital at its start that may mean nothing."""
    return [
        _without_country(_without_opening(name) if starts_sentence(text, place) else name)
        for place, name, code in names(text)
        if is_country(code) or " " in name or not starts_sentence(text, place)
    ]


def _without_opening(name: str) -> str:
    """Return a name without the common word before it that has its capital from the sentence: *Among Bulgarians*."""
    first, _, rest = name.partition(" ")
    return rest if rest and first.lower() in filler() | STOP_WORDS else name


def _without_country(name: str) -> str:
    """Return a name without a country before it, as in the words *the capital of Australia Sydney*."""
    first, _, rest = name.partition(" ")
    return rest if rest and not is_country(key(name)) and is_country(key(first)) else name
