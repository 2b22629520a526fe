"""Find whom a sentence is about: the names of each clause or, without one, those of the clauses before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from research.citations.lexicon import two_sided
from research.citations.matching import Problem
from research.citations.names import Names, contains_name
from research.citations.reading import Sentence, stems
from research.citations.reasons import because

_SEGMENT = re.compile(
    r"[;；。()（）]|[,，](?!\d)|\band\b(?=\s+(?:[a-z]+\s+){0,3}(?:[A-Z]|[a-z]+(?:ed|est|t)\b))|\b(?:while|"
    r"whereas|but|although)\b|而(?!且)|但(?!是否)"
)
_PRONOUN = re.compile(
    r"^\W*(?:and |but )?(?:he|she|it|they|this|that|these|those|its|his|her|their|the (?:company|firm|team|"
    r"group|former|latter|two)|both|他|她|它|该|其|此|双方|两)",
    re.I,
)

Part = tuple[str, list[tuple[str, str]]]
"""A piece of a sentence, and the names that it is about: (as written, key)."""


def parts(names: Names, line: Sentence) -> Iterator[Part]:
    """Yield the pieces of a sentence with the names they are about; none for a piece that begins with a pronoun."""
    inherited: list[tuple[str, str]] = []
    start = 0
    for end in [*(m.start() for m in _SEGMENT.finditer(line.text)), len(line.text)]:
        piece = line.text[start:end]
        start = end
        own = [(written, key) for _, written, key in names.of(piece)]
        strong = re.match(r"[;；。]|while|whereas|but|但|而", piece)
        if _PRONOUN.match(piece.strip(" ,，")):
            inherited = []
        elif re.match(r"\W*(?:who|whose|whom|which)\b", piece):
            inherited = inherited[-1:]
            own = []
        elif own:
            inherited = own if strong or _leads(piece, own[0][0]) else [*inherited, *own]
        if stems(piece):
            yield piece, list(inherited)


def _leads(piece: str, name: str) -> bool:
    """Return whether a name is the subject of a piece: near its start, and not after a preposition."""
    before = piece[: piece.find(name)].strip(" ,，;；")
    return (
        not re.search(
            r"\b(?:of|in|at|by|from|to|for|with|on|as|than|over|against|near|between)\s*(?:the )?$|"
            r"[在从由被向对与和给]$",
            before,
        )
        and len(before) < 24
    )


def misattributed(names: Names, claim: Sentence, lines: Sequence[Sentence]) -> list[Problem]:
    """Return what the claim says of one name and the source, in the same words, only of another.

    Both names must be in the sources.  The words right after the name, mostly the verb, count twice.
    """
    clauses = list(parts(names, claim))
    found = _in_chinese(claim, lines) if claim.cjk else []
    found += _superlative(claim, lines)
    for piece, owners in clauses:
        if not owners:
            continue
        written, key = owners[0]
        if any(written in other for other, _ in owners[1:]) or not any(contains_name(line.text, key) for line in lines):
            continue
        plain = stems(written)
        keys = [stem for stem in stems(piece) if stem not in plain]
        if len(keys) < (1 if any(map(_top, keys)) else 2):
            continue
        verb = (
            stems(
                " ".join(
                    re.findall(r"\w+", piece[piece.find(written) + len(written) :] if written in piece else piece)[:2]
                )
            )
            - plain
        )
        weight = {k: 2 if k in verb or _top(k) else 1 for k in keys}
        total = sum(weight.values())
        scored = []
        for line in lines:
            if line.cjk != claim.cjk or line.label:
                continue
            for theirs, theirs_owners in parts(names, line):
                there = stems(theirs)
                share = sum(w for k, w in weight.items() if k in there) / total
                if share:
                    own = contains_name(theirs, key) or any(
                        contains_name(w, key) or contains_name(written, k) for w, k in theirs_owners
                    )
                    scored.append((share, own, theirs_owners, line))
        if not scored:
            continue
        top = max(share for share, *_ in scored)
        mine = max((share for share, own, *_ in scored if own), default=0.0)
        best = next(entry for entry in scored if entry[0] == top)
        others = [w for w, k in best[2] if not contains_name(claim.text, k)]
        if top < 0.65 or mine >= top - 0.15 or not others or best[1]:
            continue
        if contains_name(best[3].title, key) and not contains_name(best[3].title, others[0]):
            continue
        found.append(
            Problem(
                because("the source says this of {other}, not of {name}", other=others[0], name=written),
                against=top >= 0.75,
                kind="subject",
            )
        )
    return found


_SUPERLATIVE = re.compile(
    r"\b(?:(?:most|least) (?!of\b)[a-z]{4,}|[a-z]{3,}est|best|worst|(?:the )first|"
    r"(?:the )last)\b(?<!interest)(?<!forest)(?<!request)(?<!protest)(?<!harvest)"
    r"(?<!arrest)(?<!invest)(?<!suggest)(?<!honest)(?<!contest)|最[\u4e00-\u9fff]"
)


def _superlative(claim: Sentence, lines: Sequence[Sentence]) -> list[Problem]:
    """Return superlatives of the claim whose subject is in the source, but never with that superlative."""
    found = []
    for clause in claim.clauses:
        for match in _SUPERLATIVE.finditer(clause):
            word = match.group()
            subject = stems(clause[: match.start()]) or stems(clause[match.end() :])
            places = [
                (line, piece)
                for line in lines
                if line.cjk == claim.cjk
                for piece in re.split(r"[;；,，]|\b(?:and|while|but|whereas)\b", line.text)
                if word in piece
            ]
            if not subject or not places or any(subject & (stems(p) | stems(line.title)) for line, p in places):
                continue
            # a clause without a subject may refer to the one at the start of the sentence
            if any(subject & stems(line.text[: line.text.find(piece)]) for line, piece in places):
                continue
            if all(any(key in line.keys for line in lines) for key in subject):
                line = places[0][1].strip()
                found.append(Problem(because("the source says {words} of another: “{line}”", words=word, line=line)))
    return found


_SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石"
    "姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)


def _in_chinese(claim: Sentence, lines: Sequence[Sentence]) -> list[Problem]:
    """Find another subject before the same words in Chinese text, where the segmenter often misses names.

    Two subjects are comparable if they end in the same character (青木湖, 双龙湖) or both begin with a surname.
    """
    text = claim.text.strip("。 ")
    whole = "".join(line.text for line in lines)
    for n in (4, 3, 2):
        subject, rest = text[:n], text[n:].lstrip("的")
        if len(rest) < 3 or text[n] in "，、和与" or whole.count(subject) < 1:
            continue
        for line in lines:
            at = line.text.find(rest)
            if at < 0 or subject in line.title:
                continue
            part = re.split(r"[；;]", line.text[:at])[-1]
            clause = re.split(r"[，,]", part)[-1]
            if subject in (clause if len(clause) > 1 else part):
                continue
            for other in re.findall(rf"(?=([\u4e00-\u9fff]{{{n}}}))", clause if len(clause) > 1 else part):
                kin = other[-1] == subject[-1] and other[-1] in _KINDS
                people = n < 4 and other[0] in _SURNAMES and subject[0] in _SURNAMES and clause.endswith(other)
                if (kin or people) and other not in text and subject != other:
                    reason = because("the source says this of {other}, not of {name}", other=other, name=subject)
                    return [Problem(reason, against=True, kind="subject")]
    return []


_KINDS = frozenset("湖山河江海岛桥市县区省州国镇村寺庙馆院校厂行社队局部站港路线街楼塔宫城谷")
"""Last characters of names of places and organisations."""


def _top(key: str) -> bool:
    """Return whether a stem is a superlative."""
    return (key.endswith("est") and len(key) > 4 and two_sided(key)) or key.startswith("最")
